import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import emsco_lab.rivals
from emsco import DataError, FeatureCosts
from emsco.metrics import balanced_score, make_selective_scorer
from emsco_lab.rivals import (
    AACO,
    CaCTLasso,
    CostAwareBoosting,
    CostedClassifier,
    CostOrdered,
    FixedSubset,
    OptimalTrees,
    PenalisedCatBoost,
    ThresholdCascade,
)

NAMES = ["age", "pulse", "scan", "blood", "gait", "noise"]
COSTS = dict(zip(NAMES, [1, 1, 20, 5, 5, 0], strict=True))
RIVALS = [
    AACO(random_state=0),
    CaCTLasso(penalty=3.0, min_confidence=0.6),
    CostAwareBoosting(n_trees=20, random_state=0),
    CostOrdered(min_confidence=0.6),
    FixedSubset(n_trees=20, random_state=0),
    ThresholdCascade(n_trees=20, random_state=0),
]
if find_spec("catboost"):
    RIVALS.append(PenalisedCatBoost(n_trees=20, random_state=0))
if find_spec("pystreed"):
    RIVALS.append(OptimalTrees(random_state=0))
BY_NAME = {type(rival).__name__: rival for rival in RIVALS}


def expected_failures(rival):
    if isinstance(rival, (CaCTLasso, CostOrdered, OptimalTrees)):
        return {}
    why = "boosting counts rows in bins, leaves and penalties, whatever they weigh"
    return {"check_sample_weight_equivalence_on_dense_data": why}


@pytest.fixture
def table(small_problem):
    X, y = small_problem
    return pd.DataFrame(X, columns=NAMES), np.where(y == 1, "ill", "well")


@pytest.fixture(params=BY_NAME)
def rival(request):
    return clone(BY_NAME[request.param]).set_params(costs=COSTS)


class Coin(CostedClassifier):
    """Always gives the same answer; rows pay for the first feature if the second is above 0."""

    def __init__(self, costs=None, min_confidence=None):
        self.costs = costs
        self.min_confidence = min_confidence

    def _fit(self, rows, labels, weights):
        self.seen_ = rows, labels, weights
        self.used_ = np.arange(len(self.costs_.names)) < 1

    def _judge(self, rows):
        sure = np.where(rows[:, 1] > 0, 0.9, 0.7)
        return np.column_stack([1 - sure, sure]), (rows[:, 1] > 0) * self.costs_.costs[0]


class TwoClasses(Coin):
    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


# AACO shares all of this with the others, and takes as long as all of them; a fixed subset, like a
# threshold cascade, is LightGBM on some of the features, and takes as long as the rest.
QUICK = [rival for rival in RIVALS if not isinstance(rival, (AACO, FixedSubset))]


@parametrize_with_checks(QUICK, expected_failed_checks=expected_failures)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.thorough
@parametrize_with_checks([BY_NAME["FixedSubset"]], expected_failed_checks=expected_failures)
def test_scikit_learn_contract_of_a_fixed_subset(estimator, check):
    check(estimator)


def test_the_public_names_are_those_of_all():
    for name in emsco_lab.rivals.__all__:
        assert getattr(emsco_lab.rivals, name).__name__ == name
    with pytest.raises(AttributeError, match="no attribute 'Oracle'"):
        emsco_lab.rivals.Oracle  # noqa: B018


def test_optional_packages_are_imported_only_when_needed():
    code = (
        "import sys, emsco_lab.rivals as b; [getattr(b, name) for name in b.__all__]; "
        "print({'catboost', 'lightgbm', 'pystreed', 'skfb', 'torch'} & set(sys.modules))"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert process.stdout.strip() == "set()"


def test_decisions_have_the_costs_of_rows_and_reject_below_the_threshold(table):
    X, y = table
    rival = Coin(FeatureCosts(("age", *NAMES[1:]), np.arange(1, 7), evaluation=0.5), 0.8).fit(X, y)
    decisions = rival.decide(X)
    above = X["pulse"].to_numpy() > 0
    assert np.array_equal(decisions.accepted, above)
    assert np.array_equal(decisions.cost, np.where(above, 1.5, 0.5))
    assert set(decisions.guesses) == {"well"}
    assert rival.model_cost_ == 1.5
    assert isinstance(decisions.to_frame(), pd.DataFrame)


def test_without_a_threshold_every_row_is_accepted(table):
    assert Coin().fit(*table).decide(table[0]).accepted.all()


def test_an_evaluation_agrees_with_decisions(table, rival):
    X, y = table
    weights = np.arange(len(y)) % 3
    decisions, evaluation = rival.fit(X, y).decide(X), rival.evaluate(X, y, weights)
    correct = decisions.accepted & (decisions.guesses == y)
    assert evaluation.coverage == pytest.approx(weights[decisions.accepted].sum() / weights.sum())
    accuracy = weights[correct].sum() / weights[decisions.accepted].sum()
    assert evaluation.accuracy == pytest.approx(accuracy)
    assert evaluation.cost == pytest.approx(np.average(decisions.cost, weights=weights))
    assert sum(leave.n_rows for leave in evaluation.exits) == weights.sum()
    spent = sum(leave.n_rows * leave.cost for leave in evaluation.exits)
    assert spent == pytest.approx(evaluation.cost * evaluation.n_rows)


def test_a_row_costs_at_most_the_model_and_the_model_at_most_everything(table, rival):
    rival.fit(*table)
    assert rival.decide(table[0]).cost.max() <= rival.model_cost_ <= rival.costs_.total


def test_columns_are_found_by_name_in_any_order(table, rival):
    X, y = table
    rival.fit(X, y)
    turned = X[NAMES[::-1]]
    assert np.array_equal(rival.decide(turned).cost, rival.decide(X).cost)
    assert np.array_equal(rival.predict_proba(turned), rival.predict_proba(X))


def test_rows_of_weight_zero_are_ignored(table, rival):
    X, y = table
    weights = (np.arange(len(y)) % 4 > 0).astype(float)
    some = weights > 0
    weighted, kept = clone(rival).fit(X, y, weights), rival.fit(X[some], y[some])
    assert np.allclose(weighted.predict_proba(X), kept.predict_proba(X), rtol=0, atol=1e-6)


def test_categories_and_groups_are_bought_as_one(table, rival):
    X, y = table
    X = X.assign(gait=np.where(y == "ill", "slow", np.where(X["gait"] > 0, "fast", "even")))
    costs = FeatureCosts.from_mapping(
        {"age": 1, "pulse": 1, "panel": 20, "gait": 5, "noise": 0},
        NAMES,
        {"panel": ["scan", "blood"]},
    )
    rival.set_params(costs=costs).fit(X, y)
    assert rival.score(X, y) > 0.8
    assert rival.used_.shape == (5,)
    assert set(rival.decide(X).cost) <= {
        a + b + c for a in (0, 1, 2) for b in (0, 20) for c in (0, 5)
    }


def test_gaps_are_filled_and_marked_and_the_marks_are_bought_with_their_feature(table, rival):
    X, y = table
    X = X.assign(scan=X["scan"].mask(y == "ill"), gait=np.where(X["gait"] > 0, "fast", None))
    with pytest.raises(DataError, match="must have no missing value"):
        rival.fit(X, y)
    rival.set_params(gaps="impute").fit(X, y)
    decisions = rival.decide(X)
    saw = decisions.cost >= COSTS["scan"]
    assert (decisions.guesses == y)[saw].mean() > 0.9  # only the mark of "scan" tells so much
    assert np.isfinite(rival.predict_proba(X.assign(age=np.nan))).all()


@pytest.mark.parametrize("name", [*BY_NAME, "ASTC", "CSTC", "GreedyMiser"])
def test_every_rival_accepts_gaps(table, name):
    X, y = table
    X = X.mask(X > 1.5)
    rival = getattr(emsco_lab.rivals, name)(gaps="impute")
    if "random_state" in rival.get_params():
        rival.set_params(random_state=0)
    assert rival.fit(X, y).score(X, y) > 0.7


def test_a_gap_counts_as_the_weighted_mean_of_the_training_rows():
    X = np.array([[0.0, 1.0], [np.nan, 1.0], [4.0, 3.0], [7.0, 2.0]])
    coin = Coin()
    coin.gaps = "impute"
    rows, *_ = coin.fit(X, [0, 1, 0, 1], [3, 1, 1, 0]).seen_
    assert rows.tolist() == [[0, 0, 1], [1, 1, 1], [4, 0, 3]]


def test_rivals_cannot_skip_gaps(table, rival):
    with pytest.raises(ValueError, match='gaps must be one of "refuse", "impute", got \'skip\''):
        rival.set_params(gaps="skip").fit(*table)


def test_a_scorer_takes_a_rival_for_an_estimator(table, rival):
    X, y = table
    rival.fit(X, y)
    expected = balanced_score(y, rival.decide(X), total_cost=32.0)
    assert make_selective_scorer()(rival, X, y) == pytest.approx(expected)


def test_a_rival_of_two_classes_refuses_a_third():
    X = np.arange(12.0).reshape(6, 2)
    with pytest.raises(DataError, match="y must hold two classes, got 3"):
        TwoClasses().fit(X, [0, 1, 2, 0, 1, 2])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"sample_weight": [1, 1, 0, 0]}, "above 0 for some row of every class, got none of 1"),
        ({"y": [0, 0, 0, 0]}, "y must hold two classes or more, got one class only: 0"),
        ({"X": [[0, np.nan]] * 4}, "X must have no missing value .* in column 'x1', row 0"),
    ],
)
def test_rows_that_cannot_be_used_are_refused(change, says):
    with pytest.raises(DataError, match=says):
        Coin().fit(**{"X": np.eye(4)[:, :2], "y": [0, 0, 1, 1]} | change)


def test_a_threshold_of_chance_is_refused(table, rival):
    knows = "min_confidence" in rival.get_params()
    says = "min_confidence must be a number in" if knows else "Invalid parameter 'min_confidence'"
    with pytest.raises(ValueError, match=says):
        rival.set_params(min_confidence=0.5).fit(*table)


def test_unknown_labels_are_refused_when_evaluating(table, rival):
    X, y = table
    with pytest.raises(DataError, match="y must hold the classes"):
        rival.fit(X, y).evaluate(X, ["dead"] * len(y))
