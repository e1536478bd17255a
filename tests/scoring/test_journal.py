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
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB
from support.settings import PAPER_SPACE, PLAIN

from emsco import EMSCOClassifier, PaperSearch
from emsco._base import store
from emsco._base.digests import fingerprint
from emsco.costs import FeatureCosts
from emsco.designs.chromosomes import compress, with_levels
from emsco.designs.thresholds import ThresholdGrid
from emsco.errors import CheckpointError, ParameterError
from emsco.fitting import fit
from emsco.fitting.workbench import Workbench
from emsco.models.bank import SubsetBank, logistic_bank
from emsco.models.engine import SplitRows
from emsco.models.shard import SplitData
from emsco.scoring import journal
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.journal import EntryRules, Journal, stored_seed
from emsco.search.links import Linker
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


def test_a_new_journal_knows_nothing(path):
    with opened(path) as new:
        places, known = new.find(entries(5)[0])
    assert places.size == 0
    assert known.shape == (2, 0, MAX_STAGES)


def test_counts_are_written_once_an_interval_has_passed(path, monkeypatch):
    designs, counts = entries(30)
    now = [0.0]
    monkeypatch.setattr(journal, "monotonic", lambda: now[0])
    with opened(path) as written:
        for second, wanted in ((1.9, 0), (2.0, 20), (3.9, 20), (4.0, 40)):
            now[0] = second
            written.add(designs[:10], counts[:, :10])
            assert sum(sizes(path)) == wanted


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


def test_a_large_write_is_cut_into_batches(path, monkeypatch):
    monkeypatch.setattr(store, "_BYTES", 8 * 2 * (MAX_STAGES + 1) * 8)
    designs, counts = entries(60)
    with opened(path) as written:
        written.add(designs, counts)
    assert sizes(path) == [8] * 7 + [4]
    with opened(path) as later:
        assert np.array_equal(later.find(designs)[1], counts)


def test_a_design_that_was_written_twice_has_its_counts(path):
    designs, counts = entries(40)
    with opened(path) as repeating:
        repeating.add(designs, counts)
        repeating.add(designs[:20], counts[:, :20])
    with opened(path) as later:
        assert np.array_equal(later.find(designs)[1], counts)


def test_only_designs_that_are_not_known_are_counted(path):
    designs, counts = entries(300)
    with opened(path) as first:
        first.add(designs[::2], counts[:, ::2])
    asked = []

    def count(which):
        asked.extend(which.tolist())
        return counts[:, which]

    with opened(path) as second:
        assert np.array_equal(second.complete(designs, count), counts)
    assert asked == list(range(1, 300, 2))
    with opened(path) as third:
        assert np.array_equal(third.find(designs)[1], counts)


def test_slow_counts_are_asked_for_in_portions_of_an_interval(path, monkeypatch):
    designs, counts = entries(700)
    now, portions = [0.0], []
    monkeypatch.setattr(journal, "monotonic", lambda: now[0])

    def count(which):
        portions.append(len(which))
        now[0] += len(which) / 128  # 128 designs a second
        return counts[:, which]

    with opened(path) as paced:
        assert np.array_equal(paced.complete(designs, count), counts)
    assert portions == [64, 256, 256, 124]


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
        with pytest.raises(CheckpointError, match=r"written, got '.*' \(database or disk is full"):
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
    ("damage", "message"),
    [
        (cut_to(0.99), "does not fit its checksums"),
        (cut_to(0.5), "cannot be read"),
        (flipped, "does not fit its checksums"),
        (lambda file: file.write_bytes(b"garbage" * 99), r"cannot be read \(file is not a datab"),
        (altered("UPDATE batches SET rows = 'text'"), "does not fit its checksums"),
        (altered("UPDATE batches SET rows_crc = NULL"), "does not fit its checksums"),
        (altered("UPDATE batches SET rows = x'', rows_crc = 0"), "has more keys than rows"),
        (altered("ALTER TABLE batches ADD COLUMN more"), "has other tables"),
        (altered("CREATE TRIGGER t AFTER INSERT ON batches BEGIN DELETE FROM about; END"), "other"),
        (altered("PRAGMA application_id = 7"), "is something else's"),
        (altered("UPDATE about SET text = '[]'"), "does not say what it is of"),
        (altered('UPDATE about SET text = \'{"seed": -3, "problem": {}}\''), "does not say what"),
        (altered("UPDATE about SET text = '{\"seed\": 3}'"), "does not say what it is of"),
        (altered("UPDATE about SET text = 'nothing'"), "does not say what it is of"),
        (of_shape(N_FEATURES + 1, MAX_STAGES), "rows of another type or shape"),
        (of_shape(N_FEATURES, MAX_STAGES + 1), "more keys than rows, or fewer"),
    ],
)
def test_a_damaged_file_is_refused_by_name(path, damage, message):
    with opened(path) as first:
        first.add(*entries(5))
    file = path / "journal.sqlite"
    damage(file)
    with pytest.raises(CheckpointError, match=f"sqlite', which .*{message}.*; delete that file"):
        opened(path)
    file.unlink()
    with opened(path) as again:
        assert again.find(entries(5)[0])[0].size == 0


NO_DESIGN = "has designs that no search of this problem makes"
BELOW, MANY = "has counts below 0, or more correct", "counts more than the 1,000,000 rows"
AT_LEVEL_ONE = with_levels(np.zeros((1, 6), np.int16), np.ones((1, 1), np.int64))
CHAINS = "has chains of a generation that there is not"


def put(where, value):
    """Return a change of one entry: a gene, or a count of the first design."""

    def change(designs, counts):
        (designs if len(where) == 2 else counts)[where] = value

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (put((0, 0), -2), NO_DESIGN),
        (put((0, 0), 30_000), NO_DESIGN),
        (put((0, slice(None)), -1), NO_DESIGN),
        (put((0, slice(None)), 1), NO_DESIGN),  # nothing is bought at stage 0
        (put((0, slice(None)), AT_LEVEL_ONE), NO_DESIGN),
        (put((0, 0, 0), -1), BELOW),
        (put((1, 0, 0), 999_999), BELOW),
        (put((0, 0, 0), 2**62), MANY),
        (put((0, 0, slice(2)), 600_000), MANY),
    ],
)
def test_entries_that_no_search_makes_are_refused_by_the_name_of_the_file(path, change, message):
    designs, counts = entries(5)
    designs[0] = [0, 0, 1, 1, 1, 1]
    change(designs, counts)
    with opened(path) as first:
        first.add(designs, counts)
    with pytest.raises(CheckpointError, match=f"sqlite', which {message}.*; delete that file"):
        opened(path)


def test_counts_that_contradict_each_other_are_refused():
    designs, rule = np.array([[0, 0, 1]], dtype=np.int16), rules(n_counted=2, most_spent=50)
    whole = np.array([[[40, 5, 4, 6, 3, 0, 0]], [[0, 4, 3, 5, 2, 0, 0]]])
    assert rule.n_ahead == 3
    assert rule.breach(designs, whole) is None
    for place, value, message in (
        ((0, 0, 5), 1, "contradict each other"),  # at a stage that the design does not have
        ((0, 0, 1), 6, "contradict each other"),  # more rows of a class than leave
        ((0, 0, 0), 51, "counts more than"),  # spent by prices of the rows
    ):
        changed = whole.copy()
        changed[place] = value
        assert message in rule.breach(designs, changed)


def test_a_chain_of_a_generation_that_there_is_not_is_refused(path):
    with opened(path) as first:
        first.add_chains(-4, *entries(5))
    with pytest.raises(CheckpointError, match=f"which {CHAINS}"):
        opened(path)


# Folders


def test_a_file_is_refused(tmp_path):
    (tmp_path / "notes").touch()
    with pytest.raises(CheckpointError, match=r"must be a folder, got the file .*notes'"):
        opened(tmp_path / "notes")


def test_a_folder_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "notes").touch()
    with pytest.raises(CheckpointError, match=r"read and written, got .* \(Not a directory\)"):
        opened(tmp_path / "notes" / "below")


def test_a_file_that_cannot_be_opened_is_refused(path):
    (path / "journal.sqlite").mkdir(parents=True)
    with pytest.raises(CheckpointError, match=r"read and written, got .* \(unable to open"):
        opened(path)


def test_a_folder_with_other_files_is_refused_and_left_as_it_is(tmp_path):
    (tmp_path / "thesis.tex").touch()
    with pytest.raises(CheckpointError, match=r"has 'thesis.tex' and no journal.sqlite; name"):
        opened(tmp_path)
    assert [file.name for file in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_second_writer_is_refused_until_the_first_ends(path):
    with opened(path), pytest.raises(CheckpointError, match="that no other fit is writing to"):
        opened(path)
    opened(path).__exit__(None, None, None)


def test_a_seed_is_not_read_while_another_fit_is_writing(path):
    with opened(path), pytest.raises(CheckpointError, match="that no other fit is writing to"):
        stored_seed(path)


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


def test_a_newer_format_is_refused(path):
    opened(path).__exit__(None, None, None)
    altered("PRAGMA user_version = 4")(path / "journal.sqlite")
    with pytest.raises(CheckpointError, match=r"must have format 3, got 4 in .* with a newer"):
        opened(path)


def test_a_format_without_chains_is_refused(path):
    opened(path).__exit__(None, None, None)
    altered("PRAGMA user_version = 2")(path / "journal.sqlite")
    with pytest.raises(CheckpointError, match=r"must have format 3, got 2 in .* with an older"):
        opened(path)


@pytest.mark.parametrize("use", [opened, stored_seed])
def test_the_first_format_is_refused(path, use):
    path.mkdir(parents=True)
    (path / "problem.json").write_text('{"format": 1, "seed": 3, "problem": {}}')
    with pytest.raises(CheckpointError, match=r"must have format 3, got 1 in .* with an older"):
        use(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": "sha256:2"}, "differs in X;"),
        ({"costs": [1.0, 3.0]}, "differs in costs;"),
        ({"min_confidence": 0.8}, r"differs in min_confidence \(0.75 there, 0.8 here\);"),
        ({"patience": 3, "X": "sha256:2"}, r"differs in X, patience \(None there, 3 here\);"),
        ({"growth": 2}, r"differs in growth \(None there, 2 here\);"),
        ({"thresholds": [[0.5]]}, r"differs in thresholds;"),
        ({"thresholds": [[0.5]], "X": "sha256:2"}, r"differs in X;"),  # from which they follow
    ],
)
def test_a_checkpoint_of_another_problem_is_refused_and_says_what_differs(path, change, message):
    opened(path).__exit__(None, None, None)
    with pytest.raises(CheckpointError, match=message):
        opened(path, {**PROBLEM, **change})
    with opened(path):  # the refused one has let it go
        pass


def test_another_seed_is_refused(path):
    opened(path).__exit__(None, None, None)
    with pytest.raises(CheckpointError, match="differs in random_state;"):
        opened(path, {**PROBLEM, "X": "sha256:2"}, seed=6)


def test_a_fingerprint_is_of_type_shape_and_values_not_of_how_they_lie():
    rows = np.arange(6.0).reshape(2, 3)
    same = [rows.copy(order="F"), rows[::-1][::-1], rows.astype(">f8")]
    other = [rows.T, rows.astype(np.float32), rows.reshape(3, 2), rows + 1]
    assert {fingerprint(array) for array in same} == {fingerprint(rows)}
    assert fingerprint(rows) not in {fingerprint(array) for array in other}
    assert fingerprint(rows[0], rows[1]) != fingerprint(rows[0, :2], rows[1])


# Chains


def test_chains_are_found_by_the_generation_after_which_they_were_made(path):
    designs, counts = entries(12)
    with opened(path) as first:
        first.add(designs[:5], counts[:, :5])
        first.add_chains(0, designs[5:7], counts[:, 5:7])
        first.add_chains(4, designs[7:], counts[:, 7:])
        assert first.chains(0) is None  # what is made is kept for later processes
    with opened(path) as again:
        assert again.chains(0).tolist() == designs[5:7].tolist()
        assert again.chains(4).tolist() == designs[7:].tolist()
        assert again.chains(1) is None
        places, known = again.find(designs)
        assert places.tolist() == list(range(12))
        assert np.array_equal(known, counts)


# Evaluators


def test_an_evaluator_with_a_journal_scores_and_counts_as_one_without(path, small_problem, eager):
    rows = np.arange(120)
    bank = logistic_bank(
        [SplitRows.cut(SplitData(*small_problem, rows[:60], rows[60:]))], N_FEATURES
    )
    common = bank, FeatureCosts.from_array([1, 2, 3, 4, 5, 6]), 0.75, MAX_STAGES
    designs, _ = entries(200)
    for known in (0, 120, 200):
        plain = Evaluator(*common)
        with opened(path) as kept:
            journaled = Evaluator(*common, kept)
            for part in (designs[:50], designs[: max(known, 60)]):
                ours, wanted = journaled.score(part), plain.score(part)
                for name in ("exits", "correct_exits", "spent"):
                    assert np.array_equal(getattr(ours, name), getattr(wanted, name))
                assert journaled.n_designs == plain.n_designs
                assert journaled.n_subsets == plain.n_subsets


def test_chains_that_the_journal_has_are_not_made_again(path, small_problem):
    rows = np.arange(120)
    bank = logistic_bank(
        [SplitRows.cut(SplitData(*small_problem, rows[:60], rows[60:]))], N_FEATURES
    )
    common = bank, FeatureCosts.from_array([1, 2, 3, 4, 5, 6]), 0.75, MAX_STAGES
    designs, calls = entries(10)[0], []

    def make(which=designs):
        calls.append(len(which))
        return which

    assert Evaluator(*common).made_after(3, make).tolist() == designs.tolist()
    for _ in range(2):
        with opened(path) as kept:
            evaluator = Evaluator(*common, kept)
            assert evaluator.made_after(3, make).tolist() == designs.tolist()
            assert not len(evaluator.made_after(5, lambda: make(designs[:0])))
    assert calls == [10, 10, 0]


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


def test_a_checkpoint_that_has_lost_a_batch_leads_to_the_same_front(path, small_problem, eager):
    plain = quick(path, search="evolution").fit(*small_problem)
    altered("DELETE FROM batches WHERE number = 2")(path / "journal.sqlite")
    assert front(quick(path, search="evolution").fit(*small_problem)) == front(plain)


@pytest.mark.parametrize("search", ["paper", "evolution"])
def test_an_interrupted_search_goes_on_to_where_it_would_have_ended(
    path, small_problem, search, monkeypatch, slow
):
    def interrupted(self, record):
        if record.generation == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SearchProgress, "generation", interrupted)
        with pytest.warns(UserWarning, match="interrupted after 3 generations"):
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


def test_time_counts_anew_after_a_time_limit(path, small_problem):
    limited = quick(path, search="paper", time_limit=1e-9).fit(*small_problem)
    assert str(limited.stop_reason_).startswith("the time limit")
    resumed = quick(path, search="paper", time_limit=600).fit(*small_problem)
    assert front(resumed) == front(quick(search="paper").fit(*small_problem))


def test_a_time_limit_that_tries_other_stage_models_is_refused(path, small_problem, monkeypatch):
    def failing(*_):
        raise RuntimeError("no more")

    monkeypatch.setattr(fit._Steps, "choose_models", failing)
    with pytest.raises(RuntimeError, match="no more"):
        quick(path, estimator="auto", time_limit=20).fit(*small_problem)
    with pytest.raises(CheckpointError, match="differs in stage models to try"):
        quick(path, estimator="auto", time_limit=99).fit(*small_problem)


@pytest.mark.parametrize("random_state", [None, np.random.RandomState(3)])
def test_without_a_given_seed_the_checkpoint_provides_it(path, small_problem, random_state):
    first, again = (quick(path, random_state=random_state).fit(*small_problem) for _ in range(2))
    assert front(first) == front(again)
    assert stored_seed(path) is not None


def test_a_number_as_seed_must_be_the_one_it_was_begun_with(path, small_problem):
    quick(path, random_state=np.int64(0)).fit(*small_problem)
    with pytest.raises(CheckpointError, match="differs in random_state;"):
        quick(path, random_state=1).fit(*small_problem)


@pytest.fixture(scope="module")
def finished(small_problem, tmp_path_factory):
    """A checkpoint of a fit that has ended, for tests to copy."""
    path = tmp_path_factory.mktemp("finished") / "checkpoint"
    quick(path).fit(*small_problem)
    return path


@pytest.fixture(scope="module")
def finished_paper(small_problem, tmp_path_factory):
    """The same of the paper's search."""
    path = tmp_path_factory.mktemp("finished") / "checkpoint"
    quick(path, search="paper").fit(*small_problem)
    return path


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"costs": [1, 1, 1, 1, 1, 2]}, "costs"),
        ({"min_confidence": 0.8}, r"min_confidence \(0.9 there, 0.8 here\)"),
        ({"min_confidence": "auto"}, r"min_confidence \(0.9 there, 'auto' here\)"),
        ({"min_confidence": {0: 0.9, 1: 0.8}}, "min_confidence"),
        ({"reject_below": 0.6}, r"reject_below \(None there, 0.6 here\)"),
        ({"always_answer": True}, r"always_answer \(False there, True here\)"),
        ({"max_stages": 2}, r"max_stages \(3 there, 2 here\)"),
        ({"search": "paper"}, r"search \('auto' there, 'paper' here\)"),
        ({"cv": 3}, "cv"),
        ({"gaps": "impute"}, r"gaps \('refuse' there, 'impute' here\)"),
        ({"evaluation_cost": 2}, r"evaluation_cost \(0.0 there, 2.0 here\)"),
        ({"constraints": {"max_mean_cost": 5}}, "constraints"),
        ({"estimator": GaussianNB()}, "estimator"),
        ({"calibration": "sigmoid"}, r"calibration \(None there, 'sigmoid' here\)"),
        ({"class_weight": "balanced"}, "class_weight"),
        ({"class_weight": {0: 2.0}}, "class_weight"),
        ({"allow_exclusion": True}, "allow_exclusion"),
        ({"population_size": 20}, "population_size"),
        ({"generations": 9}, "generations"),
        ({"patience": 1}, "patience"),
    ],
)
def test_a_fit_with_other_settings_is_refused(finished, path, small_problem, settings, named):
    shutil.copytree(finished, path)
    with pytest.raises(CheckpointError, match=f"which differs in {named}( \\(.*\\))?; use the"):
        quick(path, **settings).fit(*small_problem)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("mutation_rate", 0.5),
        ("crossover_rate", 0.5),
        ("elite_fraction", 0.5),
        ("stage_bias", 1.0),
        ("epsilon", 0.1),
        ("growth", 1),
    ],
)
def test_a_paper_search_with_other_settings_is_refused(
    finished_paper, path, small_problem, name, value
):
    shutil.copytree(finished_paper, path)
    other = quick(path, search=PaperSearch(**{name: value}))
    with pytest.raises(CheckpointError, match=f"which differs in {name} \\(.*\\); use the"):
        other.fit(*small_problem)


def test_a_fit_of_other_rows_labels_or_names_is_refused(path, small_problem):
    X, y = small_problem
    quick(path).fit(X, y)
    for other, named in (((X * 2, y), "X"), ((X, 1 - y), "y, cv")):
        with pytest.raises(CheckpointError, match=f"differs in {named};"):
            quick(path).fit(*other)
    with pytest.raises(CheckpointError, match="differs in sample_weight;"):
        quick(path).fit(X, y, sample_weight=np.full(120, 2.0))
    costs = FeatureCosts.from_array([1] * 6, list("abcdef"))
    with pytest.raises(CheckpointError, match="differs in feature names, columns;"):
        quick(path, costs=costs).fit(X, y)


def test_what_shapes_no_search_may_change(path, small_problem, counted):
    quick(path).fit(*small_problem)
    n_counted = sum(counted)
    others = {"n_jobs": 2, "memory_limit": "64MiB", "time_limit": 99, "prefer": "knee"}
    quick(path, **others, refit=True, verbose=1).fit(*small_problem)
    assert sum(counted) == n_counted


@pytest.mark.parametrize("value", [3, "", True, ["here"]])
def test_a_checkpoint_must_be_a_path(small_problem, value):
    with pytest.raises(
        ParameterError, match="checkpoint must be the path of a folder or None, got"
    ):
        quick(value).fit(*small_problem)


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


# Fits that search thresholds and are interrupted: they end as if nothing had happened


@pytest.fixture(scope="module")
def rows():
    """200 rows × 7 features of two noisy classes."""
    rng = np.random.default_rng(11)
    y = rng.integers(0, 2, size=200)
    strength = np.array([1.2, 0.9, 0.7, 0.5, 0.3, 0.1, 0.0])
    return rng.normal(size=(200, 7)) + y[:, None] * strength, y


SETTINGS = {**PLAIN, "search": "evolution", "generations": 10, "population_size": 30}


def fitted(rows, path=None, **settings):
    options = {**SETTINGS, "costs": [7, 6, 5, 4, 3, 2, 1], "random_state": 0, "max_stages": 3}
    return EMSCOClassifier(**{**options, "checkpoint": path, **settings}).fit(*rows)


def leveled_front(clf):
    return [
        (p.design.stages.tolist(), p.design.thresholds, p.exits, p.correct_exits, p.n_tied)
        for p in clf.front_
    ]


KINDS = {
    "auto": {},
    "all bought": {"allow_exclusion": False},
    "one threshold": {"min_confidence": 0.75, "allow_exclusion": False},
    "always": {"always_answer": True},
}
kinds = pytest.mark.parametrize("kind", ["auto", "one threshold"])


@pytest.fixture(scope="module")
def uninterrupted(rows):
    """Fronts by kind, each fitted once."""
    return cache(lambda kind: leveled_front(fitted(rows, **KINDS[kind])))


@pytest.mark.parametrize(
    ("kind", "last_generation"),
    [("auto", 4), ("all bought", 7), ("one threshold", 4), ("always", 2)],
)
def test_an_interrupted_search_of_thresholds_goes_on_to_where_it_would_have_ended(
    rows, tmp_path, kind, last_generation, uninterrupted, monkeypatch
):
    def interrupted(self, record):
        if record.generation == last_generation:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SearchProgress, "generation", interrupted)
        with pytest.warns(UserWarning, match=f"interrupted after {last_generation} generations"):
            fitted(rows, tmp_path / "kept", **KINDS[kind])
    resumed = fitted(rows, tmp_path / "kept", **KINDS[kind])
    assert leveled_front(resumed) == uninterrupted(kind)


@kinds
def test_a_search_that_is_interrupted_while_it_makes_chains_ends_alike(
    rows, tmp_path, kind, uninterrupted, monkeypatch
):
    calls, link = [], Linker.link

    def interrupted(self, *given):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return link(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(Linker, "link", interrupted)
        with pytest.warns(UserWarning, match="interrupted after"):
            fitted(rows, tmp_path / "kept", **KINDS[kind])
    resumed = fitted(rows, tmp_path / "kept", **KINDS[kind])
    assert leveled_front(resumed) == uninterrupted(kind)


@kinds
def test_a_fit_on_its_own_checkpoint_makes_no_chains_and_ends_alike(
    rows, tmp_path, kind, uninterrupted, monkeypatch
):
    made, link = [], Linker.link
    monkeypatch.setattr(Linker, "link", lambda *given: made.append(1) or link(*given))
    first = fitted(rows, tmp_path / "kept", **KINDS[kind])
    n_made = len(made)
    again = fitted(rows, tmp_path / "kept", **KINDS[kind])
    assert len(made) == n_made > 1
    assert leveled_front(again) == leveled_front(first) == uninterrupted(kind)


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"always_answer": True}, r"always_answer \(False there, True here\);"),
        ({"reject_below": 0.6}, r"reject_below \(None there, 0\.6 here\);"),
        ({"min_confidence": 0.75}, "min_confidence "),
    ],
)
def test_a_checkpoint_of_other_thresholds_is_refused(rows, tmp_path, other, words):
    fitted(rows, tmp_path / "kept", generations=1)
    with pytest.raises(CheckpointError, match=f"which differs in {words}"):
        fitted(rows, tmp_path / "kept", generations=1, **other)
