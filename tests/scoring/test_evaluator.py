"""Scores of designs, checked against plain bits and against a loop that asks scikit-learn."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from support.banks import coefs_of, logistic_bank
from support.leveled import (
    FOLDS,
    ROWS,
    bench_of,
    grid_of,
    plain_counts,
    random_genes,
    tolerant_evaluator,
)

from emsco.costs import FeatureCosts
from emsco.designs.chromosomes import compress, stage_counts, stages_of, with_levels
from emsco.designs.design import Design
from emsco.designs.space import DesignSpace
from emsco.designs.thresholds import ThresholdGrid
from emsco.models.bank import SubsetBank
from emsco.models.engine import SplitRows
from emsco.models.outcome_engine import OutcomeEngine
from emsco.models.shard import SplitData
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.scores import CostLimits, Scores


class Problem:
    """Rows, a split, costs, a threshold, and a bank to score with."""

    def __init__(self, X, y, train, scored, costs, min_confidence, **options):
        self.X, self.y, self.train, self.scored = X, y, train, scored
        self.costs, self.min_confidence = np.asarray(costs), min_confidence
        self.n_features = X.shape[1]
        self.bank = logistic_bank(
            [SplitRows.cut(SplitData(X, y, train, scored))], self.n_features, **options
        )

    def evaluator(self, max_stages=4, min_confidence=None, evaluation=0.0, limits=None):
        threshold = self.min_confidence if min_confidence is None else min_confidence
        costs = replace(FeatureCosts.from_array(self.costs), evaluation=evaluation)
        return Evaluator(self.bank, costs, threshold, max_stages, limits=limits)

    def designs(self, n_designs, max_stages=4, seed=0):
        rng = np.random.default_rng(seed)
        return compress(rng.integers(0, max_stages, size=(n_designs, self.n_features)))


@pytest.fixture(params=["heart", "pima", "small"])
def problem(request, paper_set, small_problem):
    if request.param == "small":
        rows, costs = np.arange(120), [1, 2, 3, 4, 5, 6]
        return Problem(*small_problem, rows[:60], rows[60:], costs, 0.8)
    data = paper_set(request.param)
    threshold = {"heart": 0.75, "pima": 0.65}[request.param]
    return Problem(data.X, data.y, data.train, data.held_out, data.costs, threshold)


@pytest.fixture
def small(small_problem):
    rows = np.arange(120)
    return Problem(*small_problem, rows[:60], rows[60:], [1, 2, 3, 4, 5, 6], 0.75)


def counts_from_plain_bits(problem, design):
    """Exits and correct_exits of one design: whole-array NumPy on the bank's own coefficients."""
    subsets = Design(design, tuple(map(str, range(len(design))))).subsets()
    rows = problem.bank.engine.splits[0].scaling.columns(problem.X[problem.scored])
    logits = coefs_of(problem.bank, subsets)[0] @ rows
    accepted = expit(np.abs(logits)) >= problem.min_confidence
    correct = accepted & ((logits > 0) == problem.y[problem.scored])
    leaves = accepted & ~np.logical_or.accumulate(np.vstack([0 * accepted[:1], accepted[:-1]]))
    return leaves.sum(axis=1), (leaves & correct).sum(axis=1)


class RowByRow:
    """The obvious implementation: for each row, stage after stage, ask scikit-learn."""

    def __init__(self, problem):
        self.problem = problem
        self._probabilities = {}

    def probabilities(self, known):
        """Probabilities of the scored rows, by a model of the features in `known`, fitted once."""
        if known not in self._probabilities:
            columns, problem = list(known), self.problem
            model = make_pipeline(
                StandardScaler(),
                LogisticRegression(solver="newton-cholesky", tol=1e-10, max_iter=1000),
            ).fit(problem.X[problem.train][:, columns], problem.y[problem.train])
            self._probabilities[known] = model.predict_proba(
                problem.X[problem.scored][:, columns]
            ).tolist()
        return self._probabilities[known]

    def score(self, design):
        """Accepted rows, correct rows, and the total cost of all rows."""
        accepted = correct = spent = 0
        for i, truth in enumerate(self.problem.y[self.problem.scored].tolist()):
            for stage in range(max(design) + 1):
                known = tuple(f for f, bought_at in enumerate(design) if bought_at <= stage)
                no, yes = self.probabilities(known)[i]
                if max(no, yes) >= self.problem.min_confidence:
                    accepted += 1
                    correct += (1 if yes > no else 0) == truth
                    break
            spent += sum(self.problem.costs[list(known)].tolist())
        return accepted, correct, spent


class TestCounts:
    def test_exits_and_correct_exits_equal_those_of_plain_bits(self, problem):
        designs = problem.designs(200)
        scores = problem.evaluator().score(designs)
        for i, design in enumerate(designs):
            exits, correct_exits = counts_from_plain_bits(problem, design)
            assert scores.exits[i, : len(exits)].tolist() == exits.tolist()
            assert scores.correct_exits[i, : len(correct_exits)].tolist() == correct_exits.tolist()
            assert not scores.exits[i, len(exits) :].any()

    def test_scores_equal_those_of_a_loop_over_rows_and_stages(self, problem):
        designs = problem.designs(40, seed=1)
        scores, loop = problem.evaluator().score(designs), RowByRow(problem)
        for i, design in enumerate(designs.tolist()):
            accepted, correct, spent = loop.score(design)
            assert [scores.accepted[i], scores.correct[i]] == [accepted, correct]
            assert scores.spent[i] / scores.per_one == spent

    def test_several_splits_count_every_pair_of_split_and_row(self, small):
        folds = [(np.flatnonzero(np.arange(120) % 4 != i), np.arange(i, 120, 4)) for i in range(4)]
        bank = logistic_bank(
            [SplitRows.cut(SplitData(small.X, small.y, *fold)) for fold in folds], 6
        )
        costs = FeatureCosts.from_array(small.costs)
        together = Evaluator(bank, costs, 0.75, 4).score(small.designs(30))
        parts = [
            Problem(small.X, small.y, *fold, small.costs, 0.75).evaluator().score(small.designs(30))
            for fold in folds
        ]
        assert together.accepted.tolist() == sum(part.accepted for part in parts).tolist()
        assert together.correct.tolist() == sum(part.correct for part in parts).tolist()
        assert together.spent.tolist() == sum(part.spent for part in parts).tolist()

    def test_thresholds_of_one_bank_do_not_mix(self, small):
        designs = small.designs(50)
        strict, loose = small.evaluator(min_confidence=0.95), small.evaluator(min_confidence=0.6)
        first = strict.score(designs).exits.tolist()
        assert loose.score(designs).exits.tolist() != first
        assert small.evaluator(min_confidence=0.95).score(designs).exits.tolist() == first


class TestObjectives:
    def test_coverage_accuracy_and_cost_are_shares_and_a_mean(self, small):
        scores = small.evaluator().score(small.designs(50))
        assert scores.coverage.tolist() == (scores.exits.sum(axis=1) / 60).tolist()
        np.testing.assert_allclose(
            scores.accuracy * scores.accepted, scores.correct_exits.sum(axis=1), rtol=1e-14
        )
        np.testing.assert_allclose(scores.cost * 60, scores.spent / scores.per_one, rtol=1e-14)

    def test_where_nothing_is_accepted_accuracy_is_0_and_every_row_pays_for_everything(self, small):
        scores = small.evaluator(min_confidence=1.0).score(small.designs(20))
        assert not scores.coverage.any()
        assert not scores.accuracy.any()
        assert scores.cost.tolist() == [21.0] * 20

    def test_at_one_half_every_row_leaves_at_the_first_stage_and_pays_for_it(self, small):
        designs = small.designs(20)
        scores = small.evaluator(min_confidence=0.5).score(designs)
        assert scores.coverage.tolist() == [1.0] * 20
        assert scores.cost.tolist() == ((designs == 0) @ small.costs).tolist()

    def test_rejected_rows_pay_for_all_features(self, small):
        evaluator, design = small.evaluator(), np.array([[0, 1, 1, 1, 1, 1]], dtype=np.int16)
        scores = evaluator.score(design)
        n_first, n_second = scores.exits[0, :2]
        assert 0 < n_first + n_second < 60
        assert scores.spent.tolist() == [n_first * 1 + (60 - n_first) * 21]

    def test_free_features_add_nothing(self, small_problem):
        rows = np.arange(120)
        free = Problem(*small_problem, rows[:60], rows[60:], [0, 2, 0, 4, 0, 0], 0.75)
        designs = free.designs(40)
        scores, loop = free.evaluator().score(designs), RowByRow(free)
        assert scores.spent.tolist() == [loop.score(design)[2] for design in designs.tolist()]
        first_free = np.array([[0, 1, 0, 1, 0, 0]], dtype=np.int16)
        assert free.evaluator(min_confidence=0.5).score(first_free).cost.tolist() == [0.0]

    @pytest.mark.parametrize(
        ("costs", "unit", "whole"),
        [([1, 2, 3, 4, 5, 6], 1.0, True), ([0.25] * 6, 0.01, True), ([np.pi] * 6, 1.0, False)],
    )
    def test_totals_are_whole_numbers_of_a_unit_where_the_costs_allow(
        self, small_problem, costs, unit, whole
    ):
        rows = np.arange(120)
        problem = Problem(*small_problem, rows[:60], rows[60:], costs, 0.75)
        designs = problem.designs(20)
        scores, loop = problem.evaluator().score(designs), RowByRow(problem)
        assert scores.per_one == round(1 / unit)
        assert np.issubdtype(scores.spent.dtype, np.integer) == whole
        spent = [loop.score(design)[2] for design in designs.tolist()]
        np.testing.assert_allclose(scores.spent / scores.per_one, spent, rtol=1e-12)


class TestMemory:
    def test_a_design_is_counted_once_however_often_it_is_asked_for(self, monkeypatch, small):
        evaluator, designs, counted = small.evaluator(), small.designs(30), []
        count = small.bank.count
        monkeypatch.setattr(
            small.bank,
            "count",
            lambda designs, *given: counted.append(len(designs)) or count(designs, *given),
        )
        repeated = designs[np.random.default_rng(0).integers(0, 30, size=200)]
        evaluator.score(repeated)
        evaluator.score(designs)
        evaluator.score(designs[::-1].copy())
        assert sum(counted) == evaluator.n_designs == len(np.unique(designs, axis=0))

    def test_the_whole_space_is_scored_as_its_designs_are_one_by_one(self, small):
        grid = np.indices((3,) * 6).reshape(6, -1).T
        designs = np.unique(compress(grid), axis=0)
        assert len(designs) == DesignSpace(6, 3).size == 603
        together, evaluator = small.evaluator(3).score(designs), small.evaluator(3)
        alone = Scores.concatenate([evaluator.score(design[None]) for design in designs])
        assert together.exits.tolist() == alone.exits.tolist()
        assert together.spent.tolist() == alone.spent.tolist()

    def test_a_count_that_fails_is_not_remembered(self, monkeypatch, small):
        evaluator, designs = small.evaluator(), small.designs(30)
        evaluator.score(designs[:5])
        known = evaluator.n_designs

        def failing(*given):
            raise KeyboardInterrupt("midway")

        with monkeypatch.context() as patch:
            patch.setattr(small.bank, "count", failing)
            with pytest.raises(KeyboardInterrupt, match="midway"):
                evaluator.score(designs)
        assert evaluator.n_designs == known
        wanted = small.evaluator().score(designs)
        assert evaluator.score(designs).exits.tolist() == wanted.exits.tolist()
        assert evaluator.n_designs == len(np.unique(designs, axis=0))

    def test_designs_that_need_more_subsets_than_the_bank_holds_are_scored_in_parts(
        self, small, small_problem
    ):
        rows = np.arange(120)
        tight = Problem(*small_problem, rows[:60], rows[60:], small.costs, 0.75, memory_limit=2**12)
        designs = np.vstack([np.zeros((1, 6), np.int16), small.designs(300, max_stages=6)])
        assert tight.bank.capacity < 10
        scores, wanted = tight.evaluator(6).score(designs), small.evaluator(6).score(designs)
        assert scores.exits.tolist() == wanted.exits.tolist()
        assert scores.correct_exits.tolist() == wanted.correct_exits.tolist()
        assert tight.bank.n_fits > small.bank.n_fits

    def test_a_selection_and_a_concatenation_keep_the_rest(self, small):
        scores = small.evaluator().score(small.designs(20))
        halves = Scores.concatenate([scores[np.arange(10)], scores[np.arange(10, 20)]])
        assert len(scores) == len(halves) == 20
        assert halves.n_rows == 60
        assert halves.per_one == scores.per_one
        for name in ("exits", "correct_exits", "spent", "cost"):
            assert getattr(halves, name).tolist() == getattr(scores, name).tolist()


class TestLeavingOut:
    def test_rejected_rows_pay_for_what_is_bought_and_no_more(self, small):
        design = np.array([[0, -1, 1, -1, -1, -1]], dtype=np.int16)
        scores = small.evaluator().score(design)
        n_first = scores.exits[0, 0]
        assert scores.accepted[0] < 60
        assert scores.spent.tolist() == [n_first * 1 + (60 - n_first) * 4]

    def test_stages_count_as_if_features_left_out_did_not_exist(self, small):
        designs = np.array([[0, 1, -1, 0, 1, -1]], dtype=np.int16)
        columns = [0, 1, 3, 4]
        fewer = Problem(
            small.X[:, columns], small.y, small.train, small.scored, small.costs[columns], 0.75
        )
        scores = small.evaluator().score(designs)
        expected = fewer.evaluator().score(designs[:, columns])
        for name in ("exits", "correct_exits", "spent"):
            assert getattr(scores, name).tolist() == getattr(expected, name).tolist()


class TestLimits:
    @pytest.mark.parametrize("evaluation", [0.0, 0.5])
    def test_designs_within_both_limits_are_feasible(self, small, evaluation):
        designs, free = small.designs(60), small.evaluator(evaluation=evaluation)
        scores, worst = free.score(designs), free.worst_costs(designs)
        mean_limit, worst_limit = np.median(scores.cost), np.median(worst)
        limits = CostLimits(mean=float(mean_limit), worst=float(worst_limit))
        limited = small.evaluator(evaluation=evaluation, limits=limits).score(designs)
        expected = (scores.cost <= mean_limit) & (worst <= worst_limit)
        assert limited.feasible.tolist() == expected.tolist()
        assert 0 < expected.sum() < 60
        over = np.maximum(scores.cost - mean_limit, 0) + np.maximum(worst - worst_limit, 0)
        np.testing.assert_allclose(limited.excess, over / (21 + evaluation), rtol=1e-6, atol=1e-7)

    def test_the_worst_cost_is_that_of_everything_bought_and_every_stage_run(self, small):
        designs = np.array([[0, 1, -1, -1, -1, 2], [0] * 6], dtype=np.int16)
        assert small.evaluator(evaluation=0.5).worst_costs(designs).tolist() == [10.5, 21.5]

    def test_limits_follow_designs_that_are_picked_and_joined(self, small):
        designs = small.designs(30)
        limited = small.evaluator(limits=CostLimits(mean=15.0)).score(designs)
        picked = np.array([7, 3, 3, 28])
        assert limited[picked].feasible.tolist() == limited.feasible[picked].tolist()
        unlimited = small.evaluator().score(designs)
        joined = Scores.concatenate([limited[picked], unlimited[picked]])
        assert joined.feasible.tolist() == [*limited.feasible[picked].tolist(), *[True] * 4]

    def test_a_cost_at_its_limit_is_within_it_despite_rounding(self, small_problem):
        rows = np.arange(120)
        problem = Problem(*small_problem, rows[:60], rows[60:], [0.1] * 6, 0.75)
        design = np.array([[0, 0, 0, -1, -1, -1]], dtype=np.int16)
        evaluator = problem.evaluator(limits=CostLimits(mean=0.1 + 0.1 + 0.1, worst=0.3))
        assert evaluator.score(design).feasible.all()

    def test_delays_are_those_of_a_walk_over_rows_and_limited(self, small):
        waits, designs = np.array([0, 1, 0.5, 0.5, 3, 3]), small.designs(60)
        costs = FeatureCosts.from_array(small.costs).with_delays(waits)
        limits = CostLimits(mean_delay=3.0, worst_delay=4.5)
        evaluator = Evaluator(small.bank, costs, 0.75, 4, limits=limits)
        scores, plain = evaluator.score(designs), []
        for design, exits in zip(designs, scores.exits, strict=True):
            after = np.cumsum([waits[design == j].max() for j in range(max(design) + 1)])
            rejected = scores.n_rows - exits.sum()
            total = exits[: len(after)] @ after + rejected * after[-1]
            plain.append((total / scores.n_rows, after[-1]))
        mean, worst = evaluator.delays(designs, scores.exits)
        np.testing.assert_allclose(np.column_stack([mean, worst]), plain)
        within = (mean <= 3.0) & (worst <= 4.5)
        assert 0 < within.sum() < 60
        assert scores.feasible.tolist() == within.tolist()


MAX_STAGES = 3


# Scores


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weights", [None, ROWS % 4, np.sqrt(1 + ROWS)], ids=["", "whole", "any"])
@pytest.mark.parametrize("gaps", ["refuse", "impute", "skip"])
def test_scores_are_those_of_a_loop_over_rows_and_stages(n_classes, weights, gaps):
    bench, grid = bench_of(n_classes, weights, gaps, splits=FOLDS[:2]), grid_of(n_classes)
    genes = random_genes(grid, n_designs=8)
    scores = tolerant_evaluator(bench, grid, MAX_STAGES).score(genes)
    exits, correct_exits = plain_counts(bench, genes, grid, MAX_STAGES)
    assert scores.exits.tolist() == exits.tolist()
    assert scores.correct_exits.tolist() == correct_exits.tolist()
    assert 0 < scores.correct.sum() < scores.accepted.sum() < 8 * scores.n_rows


def test_a_row_pays_for_the_stages_that_it_reaches():
    bench, grid, costs = bench_of(), grid_of(), np.array([1, 2, 3, 4, 5])
    genes = random_genes(grid, n_designs=20)
    scores = bench.evaluator(MAX_STAGES, grid).score(genes)
    for design, exits, spent in zip(stages_of(genes), scores.exits, scores.spent, strict=True):
        paid = [costs[(design >= 0) & (design <= stage)].sum() for stage in range(MAX_STAGES)]
        rejected = scores.n_rows - exits.sum()
        assert spent / scores.per_one == exits @ paid + rejected * paid[-1]


def test_one_design_has_as_many_scores_as_its_stages_have_levels():
    grid, evaluator = grid_of(), bench_of().evaluator(MAX_STAGES, grid_of())
    stages = np.tile(np.array([[0, 1, 1, 0, -1]], dtype=np.int16), (6, 1))
    levels = np.array([[early, last] for early in grid.early for last in grid.last])
    scores = evaluator.score(with_levels(stages, levels))
    assert evaluator.n_designs == 6
    assert evaluator.n_subsets == 2
    accepted = scores.accepted.reshape(3, 2)
    assert (accepted[:, 1] == scores.n_rows).all()  # the last level labels everyone
    assert (np.diff(scores.exits[:, 0].reshape(3, 2), axis=0) < 0).all()  # stricter and stricter


def test_a_grid_of_one_threshold_scores_as_the_threshold_itself():
    bench, stages = bench_of(3), stages_of(random_genes(grid_of(3)))
    plain = bench.evaluator(MAX_STAGES, 0.7)
    single = bench.evaluator(MAX_STAGES, ThresholdGrid.single(np.full(3, 0.7)))
    assert plain.score(stages).exits.tolist() == single.score(stages).exits.tolist()
    assert single.grid.thresholds.tolist() == [[0.7] * 3]


# Balanced accuracy: counts by class

N_FEATURES, THRESHOLD = 4, 0.6


class DrawnAnswers:
    """A fitter whose answers for a subset are drawn from a generator of the subset's own."""

    def __init__(self, n_scored, n_classes, seed):
        self.n_train, self.n_scored = 1, n_scored
        self._n_classes, self._seed = n_classes, seed

    def answer(self, subset):
        rng = np.random.default_rng([self._seed, *subset.astype(int)])
        return rng.integers(self._n_classes, size=self.n_scored), rng.random(self.n_scored)

    def outcomes(self, subsets, _report=None):
        winner, confidence = zip(*map(self.answer, subsets), strict=True)
        return np.array(winner), np.array(confidence)


class Drawn:
    """Splits with drawn labels, weights, gaps and answers."""

    def __init__(self, n_rows, n_classes, weighted, gaps, n_splits, seed):
        rng = np.random.default_rng(seed)
        self.n_classes = n_classes
        self.labels = [rng.integers(n_classes, size=n_rows) for _ in range(n_splits)]
        self.weights = [rng.integers(0, 6, size=n_rows) for _ in range(n_splits)]
        if not weighted:
            self.weights = [np.ones(n_rows, dtype=np.int64)] * n_splits
        self.missing = [rng.random((n_rows, N_FEATURES)) < 0.2 * gaps for _ in range(n_splits)]
        self.fitters = [DrawnAnswers(n_rows, n_classes, [seed, i]) for i in range(n_splits)]
        counts = self.weights if weighted else [None] * n_splits
        rows, nobody = np.arange(n_rows), np.arange(0)
        splits = [
            SplitData(
                None, labels, nobody, rows, n_classes, counts=some, missing=lacks, by_class=True
            )
            for labels, some, lacks in zip(
                self.labels, counts, self.missing if gaps else [None] * n_splits, strict=True
            )
        ]
        engine = OutcomeEngine(self.fitters, splits)
        self.bank = SubsetBank(engine, np.eye(N_FEATURES, dtype=np.bool_))

    def plain_counts(self, design):
        """Accepted and correct rows of each class, and exits by stage: NumPy, row for row."""
        by_class, exits = np.zeros((2, self.n_classes), dtype=int), np.zeros(MAX_STAGES, dtype=int)
        for labels, weights, missing, fitter in zip(
            self.labels, self.weights, self.missing, self.fitters, strict=True
        ):
            undecided = np.ones(len(labels), dtype=np.bool_)
            for stage in range(design.max() + 1):
                winner, confidence = fitter.answer((design >= 0) & (design <= stage))
                leaves = undecided & (confidence >= THRESHOLD)
                leaves &= ~missing[:, design == stage].any(axis=1)
                undecided &= ~leaves
                exits[stage] += weights[leaves].sum()
                for which, rows in enumerate((leaves, leaves & (winner == labels))):
                    by_class[which] += np.bincount(
                        labels[rows], weights[rows], self.n_classes
                    ).astype(int)
        return by_class, exits


@settings(max_examples=60)
@given(
    n_rows=st.sampled_from([1, 20, 63, 64, 65, 200]),
    n_classes=st.integers(2, 5),
    weighted=st.booleans(),
    gaps=st.booleans(),
    n_splits=st.integers(1, 3),
    seed=st.integers(0, 2**16),
)
def test_counts_of_classes_equal_the_plain_ones(n_rows, n_classes, weighted, gaps, n_splits, seed):
    drawn = Drawn(n_rows, n_classes, weighted, gaps, n_splits, seed)
    rng = np.random.default_rng(seed)
    designs = compress(rng.integers(-1, MAX_STAGES, size=(12, N_FEATURES)) * [[0, 1, 1, 1]])
    if not drawn.bank.n_rows:  # every row has drawn a weight of 0
        return
    costs = FeatureCosts.from_array(np.ones(N_FEATURES))
    evaluator = Evaluator(drawn.bank, costs, THRESHOLD, MAX_STAGES, metric="balanced_accuracy")
    scores = evaluator.score(designs)
    for i, design in enumerate(designs):
        by_class, exits = drawn.plain_counts(design)
        assert scores.by_class[i].tolist() == by_class.tolist()
        assert scores.exits[i].tolist() == exits.tolist()
        shares = [c / a if a else 0 for a, c in zip(*by_class.tolist(), strict=True)]
        assert scores.accuracy[i] == pytest.approx(sum(shares) / n_classes, abs=1e-15)
    assert scores.correct.tolist() == scores.by_class[:, 1].sum(axis=1).tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_logistic_shards_count_each_class_as_if_it_were_scored_alone(n_classes, weighted):
    rng = np.random.default_rng(n_classes)
    labels = rng.integers(n_classes, size=900).astype(np.uint8)
    X = rng.normal(size=(900, N_FEATURES)) + labels[:, None]
    folds = [(np.arange(300), np.arange(300, 900)), (np.arange(600, 900), np.arange(600))]
    options = {"n_classes": n_classes, "missing": rng.random(X.shape) < 0.1}
    if weighted:
        options["counts"] = rng.integers(0, 4, size=900)
    designs = compress(rng.integers(0, MAX_STAGES, size=(40, N_FEATURES)))

    def counts(folds, rows_per_shard=256, **more):
        splits = [
            SplitRows.cut(SplitData(X, labels, *f, **options, **more), 1.0, rows_per_shard)
            for f in folds
        ]
        bank = logistic_bank(splits, N_FEATURES, n_classes=n_classes)
        return bank.count(
            designs, stage_counts(designs), ThresholdGrid.single(np.full(n_classes, 0.7))
        )

    by_class = counts(folds, by_class=True)
    assert np.array_equal(by_class[:, :, n_classes:], counts(folds))
    for label in range(n_classes):
        alone = [(train, scored[labels[scored] == label]) for train, scored in folds]
        assert np.array_equal(by_class[:, :, label], counts(alone, 1024).sum(axis=2))
