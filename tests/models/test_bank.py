"""The bank: it fits every subset once, keeps its memory limit, and survives interruptions."""

from __future__ import annotations

import re
import tracemalloc
from time import sleep

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ShuffleSplit
from support.banks import coefs_of, logistic_bank, sure
from support.brute import unpack
from support.chains import Chains
from support.leveled import FOLDS, ROWS, bench_of, grid_of, plain_counts, random_genes, tolerant

from emsco import EMSCOClassifier
from emsco.designs.chromosomes import compress, levels_of, stage_counts, stages_of
from emsco.designs.thresholds import ThresholdGrid
from emsco.errors import ParameterError
from emsco.models.bank import unsteady
from emsco.models.engine import SplitRows
from emsco.models.logistic import LogisticFitter
from emsco.models.shard import SplitData

N_FEATURES = 6
TRAIN, HELD_OUT = np.arange(60), np.arange(60, 120)


@pytest.fixture(autouse=True)
def several_batches(monkeypatch):
    """Fit even small problems in several batches, in threads if there are any."""
    monkeypatch.setattr("emsco.models.engine._WORTH_FITTING", 0)


def bank_of(problem, splits=((TRAIN, HELD_OUT),), **options):
    X, y = problem
    return logistic_bank(
        [SplitRows.cut(SplitData(X, y, *split)) for split in splits], X.shape[1], **options
    )


def some_chains(n_designs=80, n_features=N_FEATURES, seed=0):
    draws = np.random.default_rng(seed).integers(0, 4, size=(n_designs, n_features))
    return Chains.from_designs(compress(draws))


def all_subsets(n_features):
    return (np.arange(1, 2**n_features)[:, None] >> np.arange(n_features) & 1).astype(bool)


class TestFitsOnce:
    def test_a_subset_is_fitted_when_first_asked_for_and_never_again(self, small_problem):
        bank, chains = bank_of(small_problem), some_chains()
        first = bank.count(*chains, sure(0.7))
        assert bank.n_fits == len(chains.keys)
        assert bank.count(*chains, sure(0.7)).tolist() == first.tolist()
        coefs_of(bank, chains.subsets(N_FEATURES))
        assert bank.n_fits == len(chains.keys)


class TestCounts:
    @pytest.mark.parametrize("min_confidence", [0.5, 0.65, 0.8, 0.95])
    def test_bits_are_what_scikit_learn_accepts(self, paper_set, min_confidence):
        data = paper_set("pima")
        subsets = all_subsets(8)[::3]
        bank = bank_of((data.X, data.y), [(data.train, data.held_out)])
        counts = bank.count(*Chains.from_subsets(subsets), sure(min_confidence))[:, :, 0]
        mean, deviation = data.X[data.train].mean(axis=0), data.X[data.train].std(axis=0)
        Z = (data.X - mean) / deviation
        for subset, (accepted, correct) in zip(subsets, counts.T.tolist(), strict=True):
            peer = LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000)
            peer.fit(Z[data.train][:, subset], data.y[data.train])
            p = peer.predict_proba(Z[data.held_out][:, subset])
            leaves = p.max(axis=1) >= min_confidence
            assert accepted == leaves.sum()
            assert correct == (leaves & (p.argmax(axis=1) == data.y[data.held_out])).sum()

    def test_every_pair_of_split_and_row_is_counted(self, small_problem):
        folds = [(np.flatnonzero(np.arange(120) % 3 != i), np.arange(i, 120, 3)) for i in range(3)]
        together, chains = bank_of(small_problem, folds), some_chains()
        alone = [bank_of(small_problem, [fold]) for fold in folds]
        counts = sum(bank.count(*chains, sure(0.7)) for bank in alone)
        assert together.count(*chains, sure(0.7)).tolist() == counts.tolist()
        coefs = np.concatenate([coefs_of(bank, chains.subsets(N_FEATURES)) for bank in alone])
        assert coefs_of(together, chains.subsets(N_FEATURES)).tobytes() == coefs.tobytes()


def row_bits(words):
    """Unpack words of bits into booleans."""
    return np.unpackbits(words.view(np.uint8), axis=-1, bitorder="little") != 0


class TestBits:
    @pytest.mark.parametrize("min_confidence", [0.5, 0.7, 0.95])
    def test_are_as_many_as_are_counted_of_each_subset(self, small_problem, min_confidence):
        bank = bank_of(small_problem)
        bits = np.array(bank.bits(sure(min_confidence)))
        subsets = Chains.from_subsets(all_subsets(N_FEATURES))
        assert bits.shape == (2, 64, 1)
        counts = bank.count(*subsets, sure(min_confidence))[:, :, 0]
        assert row_bits(bits)[:, 1:].sum(axis=2).tolist() == counts.tolist()

    def test_are_those_of_the_same_rows_for_all_subsets(self, small_problem):
        bank, (first, second) = bank_of(small_problem), (0b000101, 0b110101)
        accepted, correct = map(row_bits, bank.bits(sure(0.8)))
        design = np.array([[0, 2, 0, 2, 1, 1]], dtype=np.int16)
        exits, correct_exits = bank.count(*Chains.from_designs(design), sure(0.8))
        later = accepted[second] & ~accepted[first]
        assert exits[0, :2].tolist() == [accepted[first].sum(), later.sum()]
        assert correct_exits[0, :2].tolist() == [
            correct[first].sum(),
            (later & correct[second]).sum(),
        ]
        assert later.any()

    def test_no_features_accept_nothing_and_what_is_right_is_accepted(self, small_problem):
        accepted, correct = bank_of(small_problem).bits(sure(0.5))
        assert not accepted[0].any()
        assert not (correct & ~accepted).any()
        assert row_bits(accepted)[1:, :60].all()
        assert not row_bits(accepted)[:, 60:].any()

    def test_a_bank_too_small_for_all_subsets_finds_the_same(self, small_problem):
        tight = smallest_bank(small_problem)
        assert tight.capacity < 63
        for threshold in (0.7, 0.9):
            wanted = np.array(bank_of(small_problem).bits(sure(threshold)))
            assert np.array(tight.bits(sure(threshold))).tolist() == wanted.tolist()


class TestThreads:
    def test_threads_change_no_bit(self, small_problem):
        chains = some_chains(400)
        results = []
        for n_jobs in (1, 2, 3):
            bank = bank_of(small_problem, n_jobs=n_jobs)
            counts = bank.count(*chains, sure(0.7)).tolist()
            results.append(
                (counts, coefs_of(bank, chains.subsets(N_FEATURES)).tobytes(), bank.n_fits)
            )
        assert results[0] == results[1] == results[2]


def smallest_bank(problem, **options):
    """A bank with room for one design at a time."""
    with pytest.raises(ParameterError) as refused:
        bank_of(problem, memory_limit=1)
    least = int(re.search(r"at least ([\d,]+) bytes", str(refused.value))[1].replace(",", ""))
    return bank_of(problem, memory_limit=least, **options)


class TestMemory:
    @pytest.mark.parametrize("n_scored", [1, 65, 1000, 1100, 1150, 5000])
    @pytest.mark.parametrize("n_features", [1, 2, 5, 40])
    def test_the_limit_that_the_error_names_is_enough(self, n_features, n_scored):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(10 + n_scored, n_features))
        y = (np.arange(len(X)) % 2).astype(np.uint8)
        split = SplitRows.cut(SplitData(X, y, np.arange(10), np.arange(10, len(X))))
        with pytest.raises(ParameterError) as refused:
            logistic_bank([split], n_features, memory_limit=1)
        least = int(re.search(r"at least ([\d,]+) bytes", str(refused.value))[1].replace(",", ""))
        assert logistic_bank([split], n_features, memory_limit=least).capacity >= n_features

    def test_a_full_bank_drops_subsets_and_counts_the_same(self, small_problem):
        roomy, tight = bank_of(small_problem), smallest_bank(small_problem)
        designs = compress(np.random.default_rng(0).integers(0, 4, size=(60, N_FEATURES)))
        for threshold in (0.6, 0.8, 0.6):
            for design in designs:
                chain = Chains.from_designs(design[None])
                wanted = roomy.count(*chain, sure(threshold)).tolist()
                assert tight.count(*chain, sure(threshold)).tolist() == wanted
        assert tight.capacity < 2 * N_FEATURES
        assert tight.n_fits > roomy.n_fits

    def test_what_it_holds_is_what_the_limit_allows(self):
        rng, limit = np.random.default_rng(0), 2**21
        X = rng.normal(size=(10_100, 10))
        y = (X.sum(axis=1) + rng.normal(size=len(X)) > 0).astype(np.uint8)
        split = SplitRows.cut(SplitData(X, y, np.arange(100), np.arange(100, len(X))))
        tracemalloc.start()
        bank = logistic_bank([split], 10, memory_limit=limit)
        for subsets in np.array_split(all_subsets(10), 50):
            bank.count(*Chains.from_subsets(subsets), sure(0.7))
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert bank.n_fits > bank.capacity  # so it is full
        assert 0.7 * limit < held < 1.1 * limit


class TestInterruptions:
    @pytest.mark.parametrize("n_jobs", [1, 2])
    @pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
    def test_a_fit_that_fails_midway_leaves_the_bank_usable(
        self, monkeypatch, small_problem, error, n_jobs
    ):
        bank, chains = bank_of(small_problem, n_jobs=n_jobs), some_chains()
        bank.count(*some_chains(3, seed=5), sure(0.7))  # so that the tables hold something already
        calls, fit = iter(range(10**6)), LogisticFitter.fit

        def failing(self, subsets):
            if next(calls) == 2:
                raise error("midway")
            return fit(self, subsets)

        with monkeypatch.context() as patch:
            patch.setattr(LogisticFitter, "fit", failing)
            with pytest.raises(error):
                bank.count(*chains, sure(0.7))
        sound = bank_of(small_problem)
        assert bank.count(*chains, sure(0.7)).tolist() == sound.count(*chains, sure(0.7)).tolist()
        assert (
            coefs_of(bank, chains.subsets(N_FEATURES)).tobytes()
            == coefs_of(sound, chains.subsets(N_FEATURES)).tobytes()
        )

    def test_no_fit_is_still_running_when_one_has_failed(self, monkeypatch, small_problem):
        started, ended = [], []

        def failing(self, subsets):
            started.append(1)
            if len(started) == 3:
                raise MemoryError("midway")
            sleep(0.02)
            ended.append(1)
            return fit(self, subsets)

        fit, bank = LogisticFitter.fit, bank_of(small_problem, n_jobs=2)
        monkeypatch.setattr(LogisticFitter, "fit", failing)
        with pytest.raises(MemoryError):
            coefs_of(bank, all_subsets(N_FEATURES))
        n_started = len(started)
        sleep(0.1)
        assert len(started) == n_started == len(ended) + 1 < 8


# Levels: each stage has a threshold of its own


def counted(bank, genes, grid, max_stages=3):
    """The counts of the stages, for a bank that counts no classes."""
    levels = levels_of(genes, max_stages)
    return bank.count(stages_of(genes), stage_counts(genes), tolerant(grid), levels)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weights", [None, ROWS % 4], ids=["", "weights"])
@pytest.mark.parametrize("gaps", ["refuse", "skip"])
def test_counts_are_those_of_a_loop_over_rows_and_stages(n_classes, weights, gaps):
    bench, grid = bench_of(n_classes, weights, gaps), grid_of(n_classes)
    genes = random_genes(grid, n_designs=15)
    wanted = plain_counts(bench, genes, grid, 3)
    assert counted(bench.bank, genes, grid).tolist() == wanted.tolist()
    assert wanted[0].sum() > wanted[1].sum() > 0


def test_without_levels_every_stage_has_the_first_threshold():
    bank, grid = bench_of().bank, grid_of()
    stages = stages_of(random_genes(grid))
    plain = bank.count(stages, stage_counts(stages), ThresholdGrid.single(grid.thresholds[0]))
    assert bank.count(stages, stage_counts(stages), grid).tolist() == plain.tolist()
    other = bank.count(stages, stage_counts(stages), ThresholdGrid.single(grid.thresholds[1]))
    levels = np.ones((len(stages), 3), dtype=np.int64)
    counts = bank.count(stages, stage_counts(stages), grid, levels)
    assert counts.tolist() == other.tolist() != plain.tolist()


def test_a_bank_that_holds_few_bits_at_a_time_counts_the_same(monkeypatch):
    grid = grid_of()
    genes = random_genes(grid, n_designs=80)
    whole, tight = bench_of().bank, bench_of().bank
    monkeypatch.setattr(type(tight), "capacity", 7)
    assert counted(tight, genes, grid).tolist() == counted(whole, genes, grid).tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_of_each_class_are_counted_with_levels_too(n_classes):
    grid = grid_of(n_classes)
    bench = bench_of(n_classes, ROWS % 3, metric="balanced_accuracy", splits=FOLDS)
    plain = bench_of(n_classes, ROWS % 3, splits=FOLDS)
    genes = random_genes(grid)
    counts, wanted = counted(bench.bank, genes, grid), counted(plain.bank, genes, grid)
    assert counts[:, :, n_classes:].tolist() == wanted.tolist()
    assert counts[:, :, :n_classes].sum(axis=2).tolist() == wanted.sum(axis=2).tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bits_of_a_subset_are_its_answers_at_the_threshold(n_classes):
    bench, grid = bench_of(n_classes, splits=FOLDS), grid_of(n_classes)
    words = np.array([[3], [20], [31]], dtype=np.uint64)
    subsets = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 0, 1], [1] * 5], dtype=bool)
    scored = [rows for _, rows in FOLDS]
    answers = bench.bank.answers(subsets, bench.data.rows, scored)
    for level, least in enumerate(grid.thresholds):
        bits = bench.bank.bits_of(words, tolerant(grid), level)
        for i, ((winner, confidence), rows) in enumerate(zip(answers, scored, strict=True)):
            accepted, correct = unpack(bits[:, :, i : i + 1].copy(), len(rows))  # 40 rows a word
            leaves = confidence >= least[winner]
            assert accepted.tolist() == leaves.tolist()
            assert correct.tolist() == (leaves & (winner == bench.data.labels[rows])).tolist()


# Thresholds about which the models of the splits disagree


def test_shares_that_differ_by_chance_are_steady():
    rng = np.random.default_rng(0)
    shares = rng.binomial(200, 0.5, size=(5, 1000)) / 200
    assert unsteady(shares, np.full(5, 200.0)).mean() < 0.01


def test_small_differences_are_steady_however_many_rows():
    shares = np.array([[0.50], [0.53], [0.47], [0.52], [0.48]])
    assert not unsteady(shares, np.full(5, 1e6)).any()


def test_all_or_nothing_is_unsteady():
    shares = np.array([[0.9], [0.0], [0.9], [0.9], [0.0]])
    assert unsteady(shares, np.full(5, 100.0)).all()


def yes_or_no(n_rows, rng):
    """A question, and a dear test that tells nearly all.

    Of nine tenths of the rows, who answer the question alike, seven eighths are well: exactly a
    threshold of the grid. Of the others, half are.
    """
    asked = np.arange(n_rows) % 10 == 0
    y = np.zeros(n_rows, dtype=int)
    y[asked] = np.arange(asked.sum()) % 2
    y[~asked] = np.arange((~asked).sum()) % 8 == 0
    order = rng.permutation(n_rows)
    return np.column_stack([asked, y + rng.normal(scale=0.35, size=n_rows)])[order], y[order]


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(3)
    X, y = yes_or_no(1600, rng)
    clf = EMSCOClassifier([1.0, 20.0], estimator="logistic", random_state=0, always_answer=True)
    return clf.fit(X, y), yes_or_no(20_000, rng)


def test_a_question_near_a_threshold_is_not_half_an_answer(fitted):
    # Nearly all rows have one of two confidences. Folds differ in them by a little, so a threshold
    # close to one looks like a rule that sends some of these rows on. On new rows it cannot.
    clf, (X, y) = fitted
    for i, point in enumerate(clf.front_):
        seen = clf.front_.cascade(i).evaluate(X, y)
        assert seen.cost == pytest.approx(point.cost, abs=1.5)


@pytest.mark.parametrize("weighted", [False, True])
def test_a_design_is_deployed_however_often_rows_are_scored_and_weighted(weighted):
    # Some rows are scored three times and others never. The weight of one row exceeds those of all
    # others so much that these are rounded.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] + 0.5 * X[:, 1] + 0.7 * rng.normal(size=200) > 0
    weights = np.where(np.arange(200) == 5, 1e6, 1 + rng.random(200)) if weighted else None
    cv = ShuffleSplit(3, test_size=0.3, random_state=0)
    clf = EMSCOClassifier([1, 2, 5], estimator="logistic", cv=cv, generations=5, random_state=0)
    assert clf.fit(X, y, weights).point_.is_economical


@pytest.mark.parametrize("least", [0.87, 0.875, 0.88])
def test_no_design_of_the_front_counts_as_wrong_what_it_refused(least):
    X, y = yes_or_no(1600, np.random.default_rng(3))
    clf = EMSCOClassifier(
        [1.0, 20.0], reject_below=least, estimator="logistic", random_state=0, allow_exclusion=False
    ).fit(X, y)
    assert min(point.accuracy for point in clf.front_) > 0.5


def test_a_threshold_that_was_asked_for_is_not_watched():
    searched = ThresholdGrid.searched(np.ones(2), 100, last=np.array([0.8, 0.8]))
    assert searched.searched_levels == searched.early
    assert ThresholdGrid.single(np.array([0.8, 0.8]), last=np.zeros(2)).searched_levels == ()
