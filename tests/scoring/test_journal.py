"""Checkpoints: they survive kills, continue a search, and refuse other problems."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from support.settings import PAPER_SPACE, PLAIN

from emsco import EMSCOClassifier
from emsco.costs import FeatureCosts
from emsco.designs.chromosomes import compress, with_levels
from emsco.designs.thresholds import ThresholdGrid
from emsco.errors import CheckpointError
from emsco.fitting.workbench import Workbench
from emsco.models.bank import SubsetBank
from emsco.scoring import journal
from emsco.scoring.journal import EntryRules, Journal, stored_seed
from emsco.search.progress import SearchProgress

N_FEATURES, MAX_STAGES = 6, 4
KEYS = "SELECT keys FROM batches ORDER BY number"
PROBLEM = {"X": "sha256:1", "costs": [1.0, 2.0], "min_confidence": 0.75, "patience": None}


def rules(max_stages=MAX_STAGES, **more):
    """Rules for a million rows and one threshold."""
    return EntryRules(10**6, max_stages, ThresholdGrid.single(np.full(2, 0.75)), **more)


def opened(path, problem=PROBLEM, seed=5):
    return Journal.open(path, problem, seed, N_FEATURES, rules())


def entries(n, seed=0):
    """Distinct designs with distinct counts."""
    rng = np.random.default_rng(seed)
    draws = compress(rng.integers(0, MAX_STAGES, size=(20 * n, N_FEATURES)))
    designs = rng.permutation(np.unique(draws, axis=0))[:n]
    assert len(designs) == n
    exits = rng.integers(0, 10**6 // MAX_STAGES, size=(n, MAX_STAGES))
    exits[np.arange(MAX_STAGES) > designs.max(axis=1)[:, None]] = 0
    return designs, np.stack([exits, exits // 2])


def sizes(path):
    """Designs in each batch on disk; reads a copy, because the file is locked."""
    with TemporaryDirectory() as folder:
        for file in path.glob("journal.sqlite*"):
            shutil.copy(file, folder)
        with closing(sqlite3.connect(Path(folder, "journal.sqlite"))) as copied:
            return [len(keys) // (2 * N_FEATURES) for (keys,) in copied.execute(KEYS)]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "runs" / "checkpoint"


@pytest.fixture
def slow(monkeypatch):
    """Nothing is written before it is flushed."""
    monkeypatch.setattr(journal, "_SECONDS", 1e9)


@pytest.fixture
def eager(monkeypatch):
    """Everything is written at once."""
    monkeypatch.setattr(journal, "_SECONDS", 0.0)


# Entries


def test_what_was_added_is_found_in_a_later_process(path):
    designs, counts = entries(50)
    with opened(path) as first:
        first.add(designs[:30], counts[:, :30])
    with opened(path) as second:
        places, known = second.find(designs)
    assert places.tolist() == list(range(30))
    assert np.array_equal(known, counts[:, :30])


def test_a_journal_is_flushed_however_its_block_ends(path, slow):
    designs, counts = entries(5)
    interrupted = opened(path)
    interrupted.add(designs, counts)
    with pytest.raises(KeyboardInterrupt, match="midway"), interrupted:
        raise KeyboardInterrupt("midway")
    with opened(path) as later:
        assert later.find(designs)[0].size == 5


def test_many_writes_leave_one_file_and_lose_nothing(path, eager):
    designs, counts = entries(300)
    with opened(path) as first:
        for i in range(0, 200, 2):
            first.add(designs[i : i + 2], counts[:, i : i + 2])
    with opened(path) as second:
        second.add(designs[200:], counts[:, 200:])
    assert [file.name for file in path.iterdir()] == ["journal.sqlite"]
    with opened(path) as third:
        places, known = third.find(designs)
    assert places.size == 300
    assert np.array_equal(known, counts)


# Files


def test_a_file_that_was_killed_while_being_made_is_used(path):
    path.mkdir(parents=True)
    (path / "journal.sqlite").touch()
    assert stored_seed(path) is None
    with opened(path):
        pass
    assert stored_seed(path) == 5


def test_a_log_that_a_kill_left_behind_is_read(path, tmp_path):
    designs, counts = entries(10)
    with opened(path) as writing:
        writing.add(designs, counts)
        writing.flush()
        killed = shutil.copytree(path, tmp_path / "as a kill leaves it")
    assert (killed / "journal.sqlite-wal").stat().st_size > 0
    with opened(killed) as later:
        assert np.array_equal(later.find(designs)[1], counts)


def test_a_log_that_ends_in_the_middle_of_a_write_leaves_the_writes_before(path, tmp_path):
    designs, counts = entries(10)
    with opened(path) as writing:
        for i in (0, 5):
            writing.add(designs[i : i + 5], counts[:, i : i + 5])
            writing.flush()
        killed = shutil.copytree(path, tmp_path / "as a kill leaves it")
    log = killed / "journal.sqlite-wal"
    log.write_bytes(log.read_bytes()[:-2000])
    with opened(killed) as later:
        assert later.find(designs)[0].tolist() == list(range(5))


def test_a_write_that_fails_says_why_and_leaves_what_was_there(path, eager):
    designs, counts = entries(100)
    with opened(path) as first:
        first.add(designs[:5], counts[:, :5])
    with opened(path) as second:
        limit = second._store._file.execute
        limit("PRAGMA max_page_count = 1")
        with pytest.raises(CheckpointError):
            second.add(designs[5:], counts[:, 5:])
        assert sizes(path) == [5]
        limit("PRAGMA max_page_count = 1000")
    with opened(path) as third:  # the end of the block has written the rest
        assert np.array_equal(third.find(designs)[1], counts)


def altered(statement):
    def damage(file):
        with closing(sqlite3.connect(file)) as opened, opened:
            opened.execute(statement)

    return damage


def cut_to(share):
    def damage(file):
        content = file.read_bytes()
        file.write_bytes(content[: int(share * len(content))])

    return damage


def flipped(file):
    content = bytearray(file.read_bytes())
    content[content.rindex(entries(5)[0][0].tobytes())] ^= 1
    file.write_bytes(content)


def of_shape(n_features, max_stages):
    """A journal of another problem under our description."""

    def damage(file):
        file.unlink()
        designs, counts = np.zeros((5, n_features), np.int16), np.ones((2, 5, max_stages), np.int64)
        with Journal.open(file.parent, PROBLEM, 5, n_features, rules(max_stages)) as other:
            other.add(designs, counts)

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        cut_to(0.99),
        cut_to(0.5),
        flipped,
        lambda file: file.write_bytes(b"garbage" * 99),
        altered("UPDATE batches SET rows = 'text'"),
        altered("UPDATE batches SET rows_crc = NULL"),
        altered("UPDATE batches SET rows = x'', rows_crc = 0"),
        altered("ALTER TABLE batches ADD COLUMN more"),
        altered("CREATE TRIGGER t AFTER INSERT ON batches BEGIN DELETE FROM about; END"),
        altered("PRAGMA application_id = 7"),
        altered("UPDATE about SET text = '[]'"),
        altered('UPDATE about SET text = \'{"seed": -3, "problem": {}}\''),
        altered("UPDATE about SET text = '{\"seed\": 3}'"),
        altered("UPDATE about SET text = 'nothing'"),
        of_shape(N_FEATURES + 1, MAX_STAGES),
        of_shape(N_FEATURES, MAX_STAGES + 1),
    ],
)
def test_a_damaged_file_is_refused_by_name(path, damage):
    with opened(path) as first:
        first.add(*entries(5))
    file = path / "journal.sqlite"
    damage(file)
    with pytest.raises(CheckpointError):
        opened(path)
    file.unlink()
    with opened(path) as again:
        assert again.find(entries(5)[0])[0].size == 0


AT_LEVEL_ONE = with_levels(np.zeros((1, 6), np.int16), np.ones((1, 1), np.int64))


def put(where, value):
    """Return a change of one entry: a gene, or a count of the first design."""

    def change(designs, counts):
        (designs if len(where) == 2 else counts)[where] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        put((0, 0), -2),
        put((0, 0), 30_000),
        put((0, slice(None)), -1),
        put((0, slice(None)), 1),  # nothing is bought at stage 0
        put((0, slice(None)), AT_LEVEL_ONE),
        put((0, 0, 0), -1),
        put((1, 0, 0), 999_999),
        put((0, 0, 0), 2**62),
        put((0, 0, slice(2)), 600_000),
    ],
)
def test_entries_that_no_search_makes_are_refused_by_the_name_of_the_file(path, change):
    designs, counts = entries(5)
    designs[0] = [0, 0, 1, 1, 1, 1]
    change(designs, counts)
    with opened(path) as first:
        first.add(designs, counts)
    with pytest.raises(CheckpointError):
        opened(path)


# Folders


def test_a_folder_with_other_files_is_refused_and_left_as_it_is(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(CheckpointError, match=r"'thesis\.tex'"):
        opened(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_second_writer_is_refused_until_the_first_ends(path):
    with opened(path), pytest.raises(CheckpointError):
        opened(path)
    opened(path).__exit__(None, None, None)


def test_a_file_system_without_locks_is_used_without(path, monkeypatch):
    addresses, connect = [], sqlite3.connect

    def without_locks(address, *given, **settings):
        addresses.append(address)
        if len(addresses) == 1:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorname = "SQLITE_IOERR_LOCK"
            raise error
        return connect(address, *given, **settings)

    with monkeypatch.context() as patch:
        patch.setattr(sqlite3, "connect", without_locks)
        with opened(path) as first:
            first.add(*entries(5))
    assert addresses[1].endswith("journal.sqlite?nolock=1")
    with opened(path) as second:
        assert second.find(entries(5)[0])[0].size == 5


# Fits


def quick(path=None, **settings):
    common = {"generations": 8, "population_size": 30, "random_state": 0}
    options = {**PAPER_SPACE, **common, "min_confidence": 0.9, "checkpoint": path}
    return EMSCOClassifier(**{**options, **settings})


def front(clf):
    """Designs, exits, correct_exits and ties of a front, in order."""
    return [(p.design.stages.tolist(), p.exits, p.correct_exits, p.n_tied) for p in clf.front_]


def timeless(history):
    return [replace(generation, seconds=0.0) for generation in history]


@pytest.fixture
def counted(monkeypatch):
    """Number of designs that the bank had to count for searches."""
    numbers, count, search = [], SubsetBank.count, Workbench.search

    def counting(self, designs, *given):
        numbers.append(len(designs))
        return count(self, designs, *given)

    def searching(*given, **settings):
        with monkeypatch.context() as patch:
            patch.setattr(SubsetBank, "count", counting)
            return search(*given, **settings)

    monkeypatch.setattr(Workbench, "search", searching)
    return numbers


@pytest.mark.parametrize("search", ["paper", "evolution", "exact", "auto"])
def test_a_fit_on_its_own_checkpoint_counts_nothing_and_ends_alike(
    path, small_problem, search, counted
):
    plain = quick(search=search).fit(*small_problem)
    first = quick(path, search=search).fit(*small_problem)
    n_counted = sum(counted)
    again = quick(path, search=search).fit(*small_problem)
    assert sum(counted) == n_counted > 0
    for clf in (first, again):
        assert front(clf) == front(plain)
        assert timeless(clf.history_) == timeless(plain.history_)
        assert str(clf.stop_reason_).split(";")[0] == str(plain.stop_reason_).split(";")[0]
    X = small_problem[0]
    assert np.array_equal(again.predict_proba(X), plain.predict_proba(X))


@pytest.mark.parametrize(
    ("search", "min_confidence"),
    [
        ("evolution", "auto"),
        ("exact", 0.75),
        pytest.param("evolution", 0.75, marks=pytest.mark.thorough),
        pytest.param("exact", "auto", marks=pytest.mark.thorough),
        pytest.param("paper", 0.75, marks=pytest.mark.thorough),
        pytest.param("auto", "auto", marks=pytest.mark.thorough),
        pytest.param("auto", 0.75, marks=pytest.mark.thorough),
    ],
)
def test_a_fit_with_defaults_on_its_own_checkpoint_ends_alike(
    path, small_problem, search, min_confidence
):
    settings = {"generations": 8, "population_size": 30, "random_state": 0, "search": search}
    settings |= {**PLAIN, "min_confidence": min_confidence}
    plain = EMSCOClassifier(**settings).fit(*small_problem)
    for _ in range(2):
        kept = EMSCOClassifier(**settings, checkpoint=path).fit(*small_problem)
        assert kept.front_.points == plain.front_.points
        assert kept.point_ == plain.point_


def test_a_fit_that_chose_repeated_folds_goes_on(path, counted):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 3))
    y = X @ [1, 2, 0] + rng.normal(size=150) > 0
    settings = {"generations": 4, "population_size": 12, "random_state": 0, "checkpoint": path}
    first = EMSCOClassifier([1, 2, 3], **settings).fit(X, y)
    n_counted = sum(counted)
    again = EMSCOClassifier([1, 2, 3], **settings).fit(X, y)
    assert first.model_choice_.family == "logistic"  # boosted trees have no repeated folds
    assert first.n_splits_ > 5
    assert sum(counted) == n_counted > 0
    assert again.front_.points == first.front_.points


@pytest.mark.parametrize("search", ["paper", "evolution"])
def test_an_interrupted_search_goes_on_to_where_it_would_have_ended(
    path, small_problem, search, monkeypatch, slow
):
    def interrupted(self, record):
        if record.generation == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SearchProgress, "generation", interrupted)
        with pytest.warns(UserWarning, match="nterrupted"):
            quick(path, search=search).fit(*small_problem)
    assert (path / "journal.sqlite").exists()
    resumed = quick(path, search=search).fit(*small_problem)
    assert front(resumed) == front(quick(search=search).fit(*small_problem))


def test_what_was_scored_before_a_failure_is_kept(path, small_problem, monkeypatch, counted, slow):
    def failing(self, record):
        raise RuntimeError("no more")

    with monkeypatch.context() as patch:
        patch.setattr(SearchProgress, "generation", failing)
        with pytest.raises(RuntimeError, match="no more"):
            quick(path).fit(*small_problem)
    n_first = sum(counted)
    quick(path).fit(*small_problem)
    n_all = sum(counted)
    quick().fit(*small_problem)
    assert sum(counted) - n_all == n_all
    assert n_first > 0


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(3)])
def test_without_a_given_seed_the_checkpoint_provides_it(path, small_problem, random_state):
    first, again = (quick(path, random_state=random_state).fit(*small_problem) for _ in range(2))
    assert front(first) == front(again)
    assert stored_seed(path) is not None


def test_a_fit_of_other_rows_labels_or_names_is_refused(path, small_problem):
    X, y = small_problem
    quick(path).fit(X, y)
    for other in ((X * 2, y), (X, 1 - y)):
        with pytest.raises(CheckpointError):
            quick(path).fit(*other)
    with pytest.raises(CheckpointError, match="sample_weight"):
        quick(path).fit(X, y, sample_weight=np.full(120, 2.0))
    costs = FeatureCosts.from_array([1] * 6, list("abcdef"))
    with pytest.raises(CheckpointError, match="feature names"):
        quick(path, costs=costs).fit(X, y)


def test_what_shapes_no_search_may_change(path, small_problem, counted):
    quick(path).fit(*small_problem)
    n_counted = sum(counted)
    others = {"n_jobs": 2, "memory_limit": "64MiB", "time_limit": 99, "prefer": "knee"}
    quick(path, **others, refit=True, verbose=1).fit(*small_problem)
    assert sum(counted) == n_counted


# Kills

KILLED = '''
"""Fit undisturbed, then in processes that are killed until one ends; print both fronts."""

import json, os, random, signal, sys, time, traceback
from sklearn.datasets import make_classification
import emsco._base.store
import emsco.scoring.journal
from emsco import EMSCOClassifier
from emsco.search.progress import SearchProgress

SEARCH, FOLDER, MOST_KILLS = sys.argv[1], sys.argv[2], int(sys.argv[3])
X, y = make_classification(200, 10, n_informative=5, random_state=0)


def fit(checkpoint):
    clf = EMSCOClassifier(
        range(1, 11), min_confidence=0.9, max_stages=10, search=SEARCH, population_size=40,
        generations=15, checkpoint=checkpoint, random_state=0, cv=1 / 3, estimator="logistic",
    ).fit(X, y)
    return [(p.design.stages.tolist(), p.exits, p.correct_exits, p.n_tied) for p in clf.front_]


def tell(owner, name, pipe):
    """Report every call, and wait so that the parent can kill in the middle of it."""
    called = getattr(owner, name)

    def telling(*given):
        os.write(pipe, b".")
        time.sleep(0.003)
        return called(*given)

    setattr(owner, name, telling)


def child(pipe):
    emsco.scoring.journal._SECONDS = 0.0
    for owner, name in (
        (SearchProgress, "generation"), (SearchProgress, "exact"),
        (emsco.scoring.journal.Journal, "add"), (emsco._base.store.Store, "add"),
    ):
        tell(owner, name, pipe)
    with open(FOLDER + ".front", "w") as file:
        json.dump(fit(FOLDER), file)


def killed(n_calls, delay):
    """Kill a process `n_calls` calls after its start and a little later; return whether it was."""
    ours, theirs = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            os.close(ours)
            child(theirs)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    os.close(theirs)
    while n_calls and os.read(ours, 1):
        n_calls -= 1
    time.sleep(delay)
    if not n_calls:
        os.kill(pid, signal.SIGKILL)
    os.close(ours)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (0, -signal.SIGKILL), status
    return status != 0


wanted = fit(None)
rng = random.Random(0)
n_kills = 0
while killed(rng.randint(1, 15) if n_kills < MOST_KILLS else -1, rng.uniform(0, 0.006)):
    n_kills += 1
with open(FOLDER + ".front") as file:
    print(json.dumps([n_kills, json.loads(json.dumps(wanted)), json.load(file)]))
'''


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are made by fork here")
@pytest.mark.parametrize(
    "search",
    [
        pytest.param("paper", marks=pytest.mark.thorough),
        "evolution",
        pytest.param("exact", marks=pytest.mark.thorough),
    ],
)
def test_a_search_that_is_killed_at_random_moments_ends_with_the_same_front(tmp_path, search):
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    command = [sys.executable, script, search, tmp_path / "checkpoint", "7"]
    ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    n_kills, wanted, front = json.loads(ended.stdout)
    assert n_kills >= 5
    assert len(wanted) > 3
    assert front == wanted
