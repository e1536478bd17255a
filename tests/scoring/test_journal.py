"""Checkpoints: they survive kills, continue a search, and refuse other problems."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from types import MappingProxyType

import numpy as np
import pytest
from support.settings import PAPER_SPACE

from emsco import EMSCOClassifier
from emsco.costs import FeatureCosts
from emsco.designs.chromosomes import compress
from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.errors import CheckpointError
from emsco.fitting.workbench import Workbench
from emsco.scoring import journal
from emsco.scoring.bits import RowBits
from emsco.scoring.journal import EntryRules, Journal, stored_seed
from emsco.search.progress import SearchProgress

N_FEATURES, MAX_STAGES = 6, 4
PROBLEM = {"X": "sha256:1", "costs": [1.0, 2.0], "min_confidence": 0.75, "patience": None}


def rules(max_stages=MAX_STAGES, **more):
    """Rules for a million rows and one threshold."""
    return EntryRules(10**6, max_stages, ThresholdGrid.single(np.full(2, 0.75)), **more)


def opened(path, more=MappingProxyType({})):
    return Journal.open(path, PROBLEM, 0, N_FEATURES, rules(**more))


def entries(n, seed=0):
    """Distinct designs with distinct counts."""
    rng = np.random.default_rng(seed)
    draws = compress(rng.integers(0, MAX_STAGES, size=(20 * n, N_FEATURES)))
    stages = rng.permutation(np.unique(draws, axis=0))[:n]
    assert len(stages) == n
    exits = rng.integers(0, 10**6 // MAX_STAGES, size=(n, MAX_STAGES))
    exits[np.arange(MAX_STAGES) > stages.max(axis=1)[:, None]] = 0
    return Designs.of(stages), np.stack([exits, exits // 2])


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


# Files


def test_a_file_that_was_killed_while_being_made_is_used(path):
    path.mkdir(parents=True)
    (path / "journal.sqlite").touch()
    assert stored_seed(path) is None
    with opened(path):
        pass
    assert stored_seed(path) == 0


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
    content[content.rindex(entries(5)[0].stages[0].tobytes())] ^= 1
    file.write_bytes(content)


def of_shape(n_features, max_stages):
    """A journal of another problem under our description."""

    def damage(file):
        file.unlink()
        designs = Designs.of(np.zeros((5, n_features), np.int16))
        counts = np.ones((2, 5, max_stages), np.int64)
        with Journal.open(file.parent, PROBLEM, 0, n_features, rules(max_stages)) as other:
            other.add(designs, counts)

    return damage


@pytest.mark.parametrize(
    "damage",
    [
        cut_to(0.5),
        flipped,
        lambda file: file.write_bytes(b"garbage" * 99),
        altered("UPDATE batches SET rows = 'text'"),
        altered("UPDATE batches SET rows = x'', rows_crc = 0"),
        altered("CREATE TRIGGER t AFTER INSERT ON batches BEGIN DELETE FROM about; END"),
        altered("PRAGMA application_id = 7"),
        altered('UPDATE about SET text = \'{"seed": -3, "problem": {}}\''),
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


def rows_of(name, where, value):
    """A change of stages, levels or counts; the first design has two stages."""

    def change(designs, counts):
        {"stages": designs.stages, "levels": designs.levels, "counts": counts}[name][where] = value

    return change


@pytest.mark.parametrize(
    ("more", "change"),
    [
        ({}, rows_of("stages", (0, 0), -2)),
        ({}, rows_of("stages", (0, 0), 30_000)),
        ({}, rows_of("stages", 0, -1)),
        ({}, rows_of("stages", 0, 1)),  # nothing is bought at stage 0
        ({}, rows_of("levels", (0, 0), 1)),  # not in the grid
        ({}, rows_of("levels", (0, 2), 1)),  # of a stage that is not there
        ({}, rows_of("counts", (0, 0, 0), -1)),
        ({}, rows_of("counts", (1, 0, 0), 999_999)),
        ({}, rows_of("counts", (0, 0, 0), 2**62)),
        ({}, rows_of("counts", (0, 0, slice(2)), 600_000)),
        ({}, rows_of("counts", (0, 0, 2), 1)),  # after the last stage
        ({"n_counted": 2}, rows_of("counts", (0, 0, 0), 2)),
        ({"most_spent": 10}, rows_of("counts", (0, 0, 0), 11)),
    ],
)
def test_entries_that_no_search_makes_are_refused_by_the_name_of_the_file(path, more, change):
    designs, counts = entries(5)
    designs.stages[0], counts[:, 0] = [0, 0, 1, 1, 1, 1], [3, 4, 0, 0]
    n_ahead = more.get("n_counted", 0) + ("most_spent" in more)
    counts = np.pad(counts, ((0, 0), (0, 0), (n_ahead, 0)))
    if "n_counted" in more:  # all rows are of the first class
        counts[:, :, 0] = counts.sum(axis=2)
    with opened(path, more=more) as first:
        first.add(designs, counts)
    with opened(path, more=more) as sound:
        assert sound.find(designs)[1].tolist() == counts.tolist()
        change(designs, counts)
        sound.add(designs[[0]], counts[:, [0]])
    with pytest.raises(CheckpointError, match=r"journal\.sqlite"):
        opened(path, more=more)


@pytest.mark.parametrize("seconds", [0.0, 1e9])
def test_what_the_journal_lacks_is_counted_part_by_part(path, monkeypatch, seconds):
    monkeypatch.setattr(journal, "_SECONDS", seconds)
    (designs, counts), asked = entries(200), []

    def count(which):
        asked.append(which.tolist())
        return counts[:, which, : designs[which].n_stages.max()]

    with opened(path) as first:
        first.add(designs[50:60], counts[:, 50:60])
    with opened(path) as second:
        assert second.complete(designs, count).tolist() == counts.tolist()
    assert [one for some in asked for one in some] == [*range(50), *range(60, 200)]
    assert len(asked[0]) == 64
    with opened(path) as third:
        assert third.find(designs)[1].tolist() == counts.tolist()


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


@pytest.fixture
def counted(monkeypatch):
    """Number of designs that the bank had to count for searches."""
    numbers, count, search = [], RowBits.count, Workbench.search

    def counting(self, designs, *given):
        numbers.append(len(designs))
        return count(self, designs, *given)

    def searching(*given, **settings):
        with monkeypatch.context() as patch:
            patch.setattr(RowBits, "count", counting)
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
    others = {"n_jobs": 2, "memory_limit": "64MiB", "time_limit": 99, "refit": True}
    again = quick(path, search=search, **others).fit(*small_problem)
    assert sum(counted) == n_counted > 0
    for clf in (first, again):
        assert front(clf) == front(plain)
        assert str(clf.stop_reason_).split(";")[0] == str(plain.stop_reason_).split(";")[0]


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


def test_without_a_given_seed_the_checkpoint_provides_it(path, small_problem):
    first, again = (quick(path, random_state=None).fit(*small_problem) for _ in range(2))
    assert front(first) == front(again)
    assert stored_seed(path) is not None


def test_a_fit_of_other_rows_labels_or_names_is_refused(path, small_problem):
    X, y = small_problem
    quick(path).fit(X, y)
    weights, costs = np.full(120, 2.0), FeatureCosts.from_array([1] * 6, list("abcdef"))
    for match, more, rows in (
        ("differs in X;", {}, (X * 2, y)),
        ("differs in y, cv;", {}, (X, 1 - y)),
        ("sample_weight", {}, (X, y, weights)),
        ("feature names", {"costs": costs}, (X, y)),
        ("random_state;", {"random_state": 1}, (X, y)),
        ("min_confidence", {"min_confidence": 0.8}, (X, y)),
    ):
        with pytest.raises(CheckpointError, match=match):
            quick(path, **more).fit(*rows)


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
