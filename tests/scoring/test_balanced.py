"""Balanced accuracy as the objective: counts by class, exact ranks, fits, checkpoints."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier

from emsco import EMSCOClassifier
from emsco.costs import FeatureCosts
from emsco.designs.chromosomes import compress, stage_counts
from emsco.designs.thresholds import ThresholdGrid
from emsco.errors import CheckpointError, ParameterError
from emsco.fitting.workbench import Workbench
from emsco.models.bank import SubsetBank, logistic_bank
from emsco.models.engine import SplitRows
from emsco.models.outcome_engine import OutcomeEngine
from emsco.models.shard import SplitData
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import balanced_accuracy_ranks, front_mask, tie_groups
from emsco.scoring.scores import Scores
from emsco.search.progress import SearchProgress
from emsco.stats.by_class import ByClass

N_FEATURES, MAX_STAGES, THRESHOLD = 4, 3, 0.6


# Counts


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


def test_a_bank_that_counts_classes_also_serves_plain_accuracy():
    drawn = Drawn(100, 3, weighted=True, gaps=True, n_splits=2, seed=0)
    costs = FeatureCosts.from_array(np.ones(N_FEATURES))
    designs = np.array([[0, 1, 1, 2], [0, 0, 0, 0]], dtype=np.int16)
    plain = Evaluator(drawn.bank, costs, THRESHOLD, MAX_STAGES).score(designs)
    assert (plain.metric, plain.by_class) == ("accuracy", None)
    assert plain.accuracy.tolist() == (plain.correct / plain.accepted).tolist()


def test_a_bank_that_counts_no_classes_refuses_balanced_accuracy(small_problem):
    bank = logistic_bank(
        [SplitRows.cut(SplitData(*small_problem, np.arange(60), np.arange(60, 120)))], 6
    )
    said = "metric must be \"accuracy\" for a bank that counts no classes, got 'balanced_accuracy'"
    with pytest.raises(ParameterError, match=said):
        Evaluator(bank, FeatureCosts.from_array(np.ones(6)), 0.75, 3, metric="balanced_accuracy")


# Scores and ranks


def scores_of(accepted, correct, spent=None):
    """Scores whose designs have these rows of each class."""
    by_class = np.stack([accepted, correct], axis=1)
    exits, correct_exits = by_class.sum(axis=2).T
    spent = np.ones(len(exits), dtype=np.int64) if spent is None else spent
    return Scores(1000, exits[:, None], correct_exits[:, None], spent, by_class=by_class)


def test_scores_keep_their_classes_when_they_are_cut_and_joined():
    scores = scores_of(np.array([[9, 3], [8, 0], [5, 5]]), np.array([[9, 1], [8, 0], [4, 5]]))
    assert scores.accuracy.tolist() == pytest.approx([2 / 3, 1 / 2, 9 / 10])
    parts = [scores[np.array([2])], scores[np.array([True, True, False])]]
    joined = Scores.concatenate(parts)
    assert joined.by_class.tolist() == scores.by_class[[2, 0, 1]].tolist()
    assert joined.metric == scores[np.array([0])].metric == "balanced_accuracy"


COUNTS = st.tuples(st.integers(0, 12), st.integers(0, 12)).map(sorted)


@given(st.lists(st.lists(COUNTS, min_size=3, max_size=3), min_size=1, max_size=40))
def test_ranks_are_those_of_exact_means(drawn):
    correct, accepted = np.moveaxis(np.array(drawn), 2, 0)
    exact = [sum(Fraction(c, a or 1) for c, a in line) for line in drawn]
    order = sorted(set(exact))
    assert balanced_accuracy_ranks(correct, accepted).tolist() == [order.index(e) for e in exact]


def test_means_nearer_than_rounding_are_told_apart():
    # 1/a + 1/b of these differ by less than the 53 bits of a float can show.
    a, b = 2**31 - 1, 2**31 - 19
    accepted = np.array([[a, b], [a - 1, b + 1]])
    ranks = balanced_accuracy_ranks(accepted // 2, accepted)
    exact = [sum(Fraction(int(one) // 2, int(one)) for one in line) for line in accepted]
    assert sorted(ranks.tolist()) == [0, 1]
    assert (ranks[0] < ranks[1]) == (exact[0] < exact[1])


def test_equal_means_of_other_shares_tie_though_floats_differ():
    accepted = np.full((3, 3), 10)
    correct = np.array([[1, 2, 3], [3, 2, 1], [0, 1, 5]])  # 0.1 + 0.2 + 0.3 is not 0.3 + 0.2 + 0.1
    scores = scores_of(accepted, correct)
    assert len(set(scores.accuracy.tolist())) > 1
    assert tie_groups(scores).tolist() == [0, 0, 0]
    assert front_mask(scores).all()


def test_a_design_with_more_of_a_rare_class_is_not_dominated_by_one_with_more_rows_correct():
    scores = scores_of(np.array([[90, 10], [90, 10]]), np.array([[90, 0], [70, 8]]))
    assert front_mask(scores).tolist() == [False, True]
    plain = Scores(1000, scores.exits, scores.correct_exits, scores.spent)
    assert front_mask(plain).tolist() == [True, False]


# Fits


def rare(n_rows=1500, seed=0):
    """6 % positives: alarms find most of them with false ones, proofs find few with none."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n_rows) < 0.06).astype(int)
    alarm = rng.random(n_rows) < np.where(y, 0.95, 0.15)
    alarms = alarm[:, None] ^ (rng.random((n_rows, 4)) < 0.03)
    proofs = (rng.random((n_rows, 4)) < 0.1) & (y == 1)[:, None]
    return np.column_stack([alarms, proofs]).astype(float), y


SCORED = np.arange(750, 1500)


def fitted(metric="balanced_accuracy", data=None, sample_weight=None, **more):
    common = {"generations": 12, "population_size": 50, "max_stages": 2, "random_state": 0}
    common |= {"min_confidence": 0.51, "class_weight": "balanced", "search": "evolution"}
    common |= {"cv": [(np.arange(750), SCORED)], "allow_exclusion": False, "prefer": "balanced"}
    common |= {"estimator": "logistic"}
    X, y = rare() if data is None else data
    return EMSCOClassifier(metric=metric, **{**common, **more}).fit(X, y, sample_weight)


def balanced(front, i, X, y):
    """Balanced accuracy of a point on labelled rows, by its cascade."""
    decisions = front.cascade(i).decide(X)
    given = np.where(decisions.accepted, decisions.guesses, 2)
    return ByClass.from_labels((0, 1), y, given).balanced_accuracy


def test_it_finds_designs_for_rare_positives_that_plain_accuracy_misses():
    X, y = rare()
    best = {}
    for metric in ("accuracy", "balanced_accuracy"):
        front = fitted(metric).front_
        accuracies = [balanced(front, i, X[SCORED], y[SCORED]) for i in range(len(front))]
        best[metric] = max(accuracies)
        if metric == "balanced_accuracy":
            assert accuracies == pytest.approx([point.accuracy for point in front], abs=1e-12)
    assert best["balanced_accuracy"] > best["accuracy"] + 0.1


@pytest.mark.parametrize(
    "more",
    [
        {"search": "paper"},
        {"estimator": DecisionTreeClassifier(max_depth=2), "generations": 2},
        {"calibration": "sigmoid", "generations": 2},
        {"cv": 3, "min_confidence": 0.8},
        {"constraints": {"together": [["x0", "x4"]], "first": ["x1"]}},
    ],
    ids=lambda more: next(iter(more)),
)
def test_every_way_to_fit_has_points_with_balanced_accuracies(more):
    clf = fitted(**more)
    assert clf.front_.metric == clf.point_.metric == "balanced_accuracy"
    assert all(record.best.metric == "balanced_accuracy" for record in clf.history_)
    if "cv" not in more:
        X, y = rare()
        first = balanced(clf.front_, 0, X[SCORED], y[SCORED])
        assert clf.front_[0].accuracy == pytest.approx(first, abs=1e-12)


def test_a_row_of_weight_3_counts_as_three_rows():
    X, y = rare()
    weights = np.random.default_rng(0).integers(0, 4, size=len(y))
    rows = np.repeat(np.arange(len(y)), weights)
    cut = int(weights[:750].sum())
    repeated = [(np.arange(cut), np.arange(cut, len(rows)))]
    weighted = fitted(sample_weight=weights)
    longer = fitted(data=(X[rows], y[rows]), cv=repeated)
    assert [point.accuracy for point in weighted.front_] == pytest.approx(
        [point.accuracy for point in longer.front_], abs=1e-12
    )


@pytest.mark.parametrize("gaps", ["skip", "impute"])
def test_missing_values_are_scored_as_they_are_decided(gaps):
    X, y = rare()
    X[np.random.default_rng(0).random(X.shape) < 0.05] = np.nan
    front = fitted(data=(X, y), gaps=gaps).front_
    for i, point in enumerate(front):
        assert point.accuracy == pytest.approx(balanced(front, i, X[SCORED], y[SCORED]), abs=1e-12)


def test_the_number_of_threads_changes_nothing():
    assert fitted(n_jobs=2).front_.points == fitted(n_jobs=1).front_.points


# Searches that cannot do it


def test_exact_search_is_refused_before_it_writes_anything(tmp_path):
    others = '"evolution", "paper" or "auto" with metric "balanced_accuracy"'
    said = rf'^search must be {others}, got "exact"\.$'
    with pytest.raises(ParameterError, match=said):
        fitted(search="exact", checkpoint=tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_auto_is_evolution_and_says_why():
    reason = fitted(search="auto", generations=1).stop_reason_
    assert reason.note == "exact search does not support balanced accuracy"


def test_an_unknown_metric_is_refused():
    said = '^metric must be one of "accuracy", "balanced_accuracy", got \'f1\''
    with pytest.raises(ParameterError, match=said):
        fitted("f1")


# Checkpoints


@pytest.mark.parametrize("search", ["evolution", "paper"])
def test_an_interrupted_search_goes_on_to_the_same_front(tmp_path, search, monkeypatch):
    def interrupted(self, record):
        if record.generation == 3:
            raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(SearchProgress, "generation", interrupted)
        with pytest.warns(UserWarning, match="interrupted after 3 generations"):
            fitted(search=search, checkpoint=tmp_path / "kept")
    resumed = fitted(search=search, checkpoint=tmp_path / "kept")
    assert resumed.front_.points == fitted(search=search).front_.points


def test_a_finished_checkpoint_has_all_counts(tmp_path, monkeypatch):
    settings = {"checkpoint": tmp_path / "kept", "prefer": "balanced"}  # none is simplified
    first = fitted(**settings)

    def never(*_given):
        raise AssertionError("a design is counted again")

    def searched(*args, search=Workbench.search, **settings):
        with monkeypatch.context() as patch:
            patch.setattr(SubsetBank, "count", never)
            return search(*args, **settings)

    monkeypatch.setattr(Workbench, "search", searched)
    assert fitted(**settings).front_.points == first.front_.points


@pytest.mark.parametrize(
    ("there", "here"), [("accuracy", "balanced_accuracy"), ("balanced_accuracy", "accuracy")]
)
def test_a_checkpoint_of_the_other_metric_is_refused(tmp_path, there, here):
    fitted(there, generations=1, checkpoint=tmp_path / "kept")
    said = rf"differs in metric \('{there}' there, '{here}' here\)"
    with pytest.raises(CheckpointError, match=said):
        fitted(here, generations=1, checkpoint=tmp_path / "kept")
