"""What all rivals share: scikit-learn's contract, tables, decisions, costs of rows."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import emsco_lab.rivals
from emsco import DataError, EMSCOError, FeatureCosts, ParameterError
from emsco.metrics import balanced_score
from emsco_lab.rivals import (
    CSTC,
    DIME,
    CaCTLasso,
    CostAwareBoosting,
    CostedClassifier,
    CostOrdered,
    FixedSubset,
    GreedyMiser,
    OptimalTrees,
    PenalisedCatBoost,
    ThresholdCascade,
)
from emsco_lab.rivals.set_costs import buying_order

FEES = {"visit": (32, ["scan", "blood", "gait"]), "draw": (64, ["blood", "gait"])}
# Powers of two, so that the cost of a row tells which features it bought.
COSTS = {"age": 1, "pulse": 2, "scan": 4, "blood": 8, "gait": 16, "noise": 0.5}
NAMES = list(COSTS)
RIVALS = [
    CSTC(penalty=0.01, depth=2, sharpness=10.0, random_state=0),
    CaCTLasso(penalty=5.0, min_confidence=0.6),
    CostAwareBoosting(strength=0.05, n_trees=10, random_state=0),
    CostOrdered(min_confidence=0.6),
    DIME(price=0.1, width=16, max_epochs=3, random_state=0),
    FixedSubset(budget=0.9, n_trees=10, random_state=0),
    GreedyMiser(penalty=0.02, n_trees=10, depth=2),
    OptimalTrees(error_cost=3.0, random_state=0),
    PenalisedCatBoost(strength=0.1, n_trees=10, random_state=0),
    ThresholdCascade(threshold=0.8, n_trees=10, random_state=0),
]


@pytest.fixture(params=RIVALS, ids=lambda rival: type(rival).__name__)
def rival(request):
    for module in request.param.needs:
        pytest.importorskip(module)
    return clone(request.param)


class Coin(CostedClassifier):
    """Rows that have the second input above 0 buy the first feature, and are more certain."""

    def __init__(self, costs=None, min_confidence=None, gaps="refuse"):
        self.costs, self.min_confidence, self.gaps = costs, min_confidence, gaps

    def _fit(self, rows, labels, weights):
        self.seen_ = rows
        return np.arange(len(self.costs_.names)) < 1

    def _judge(self, rows):
        above = rows[:, 1] > 0
        sure = np.where(above, 0.9, 0.7)
        return np.column_stack([1 - sure, sure]), above[:, None] & self.used_, 1 + 0 * rows[:, 0]


@parametrize_with_checks([CaCTLasso(penalty=3.0, min_confidence=0.6)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_a_row_pays_for_what_its_answer_needs_and_each_fee_once(table, rival):
    X, y = table
    costs = FeatureCosts.from_mapping(COSTS, NAMES, fees=FEES)
    rival.set_params(costs=costs).fit(X, y)
    bought_for = {
        costs.cost_of(np.array(NAMES)[list(bought)]): bought
        for bought in product([False, True], repeat=len(NAMES))
    }
    paid = rival.decide(X).cost
    bought = np.array([bought_for[cost] for cost in paid])  # no other cost is right
    assert paid.max() > 32
    assert not (bought & ~rival.used_).any()
    others = X.where(bought, X.to_numpy()[::-1])
    assert np.allclose(rival.predict_proba(others), rival.predict_proba(X))
    assert np.array_equal(rival.decide(others).cost, paid)


def test_the_last_stage_is_the_rival_and_every_stage_a_fit_of_its_settings(table, rival):
    X, y = table
    if "n_trees" in rival.get_params():
        rival.set_params(n_trees=3)
    *stages, (differs, last) = rival.fit(X, y).staged()
    assert differs == {}
    assert last is rival
    for differs, stage in stages[::5]:
        again = clone(rival).set_params(**differs).fit(X, y)
        assert np.allclose(stage.predict_proba(X), again.predict_proba(X))
        assert np.array_equal(stage.decide(X).cost, again.decide(X).cost)
        assert np.array_equal(stage.used_, again.used_)


def test_categories_groups_gaps_and_columns_in_any_order(table, rival):
    X, y = table
    gait = np.where(y == 1, "slow", np.where(X["gait"] > 0, "fast", None))
    X = X.assign(gait=gait, scan=X["scan"].mask(X["scan"] > 1.5), age=X["age"] > 0)
    prices = {"age": 1, "pulse": 1, "panel": 20, "gait": 5, "noise": 0}
    costs = FeatureCosts.from_mapping(prices, NAMES, {"panel": ["scan", "blood"]})
    with pytest.raises(DataError, match="X must have no missing value"):
        rival.set_params(costs=costs).fit(X, y)
    rival.set_params(gaps="impute").fit(X, y)
    assert rival.score(X, y) > 0.75
    assert rival.used_.shape == (5,)
    assert set(rival.decide(X).cost) <= {
        a + b + c for a in (0, 1, 2) for b in (0, 20) for c in (0, 5)
    }
    assert np.array_equal(rival.predict_proba(X[NAMES[::-1]]), rival.predict_proba(X))
    assert np.isfinite(rival.predict_proba(X.assign(pulse=np.nan, gait="odd"))).all()


def test_grids_have_settings_that_fit_and_cost_no_division_by_0(table, rival):
    costs = FeatureCosts.from_mapping(dict.fromkeys(NAMES, 0), NAMES, fees=FEES)
    for setting in (*rival.grid(costs, 120), *rival.comparison_grid(costs, 120)):
        clone(rival).set_params(**setting)._check_choices()


def test_decisions_reject_below_the_threshold_and_an_evaluation_agrees(table):
    X, y = table
    costs = FeatureCosts(tuple(NAMES), np.arange(1, 7), evaluation=0.5)
    rival = Coin(costs, 0.8).fit(X, np.where(y, "ill", "well"))
    decisions, above = rival.decide(X), X["pulse"].to_numpy() > 0
    assert np.array_equal(decisions.accepted, above)
    assert np.array_equal(decisions.cost, np.where(above, 1.5, 0.5))
    assert set(decisions.guesses) == set(rival.predict(X)) == {"well"}
    weights = np.arange(len(y)) % 3
    seen = rival.evaluate(X, np.where(y, "ill", "well"), weights)
    assert seen.coverage == pytest.approx(np.average(above, weights=weights))
    assert seen.accuracy == pytest.approx(np.average(y[above] == 0, weights=weights[above]))
    assert seen.cost == pytest.approx(np.average(decisions.cost, weights=weights))
    assert balanced_score(np.where(y, "ill", "well"), decisions, total_cost=21.5) > 0


def test_a_gap_counts_as_the_weighted_mean_of_the_rows_that_have_a_weight():
    X = np.array([[0.0, 1.0], [np.nan, 1.0], [4.0, 3.0], [7.0, 2.0]])
    rival = Coin(gaps="impute").fit(X, [0, 1, 0, 1], [3, 1, 1, 0])
    assert rival.seen_.tolist() == [[0, 0, 1], [1, 1, 1], [4, 0, 3]]
    assert rival.encoding_.input_feature.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"sample_weight": [1, 1, 0, 0]}, DataError, "y must hold two classes or more, got 1"),
        ({"sample_weight": [1, 1, -1, 1]}, DataError, "sample_weight must be at least 0"),
        ({"X": [[0, np.nan], [1, 1]] * 2}, DataError, "X must have no missing value .* in 'x1'"),
        ({"X": [[0, 1e200]] * 4}, DataError, "X must be finite"),
        ({"X": pd.DataFrame({"a": [None] * 4})}, DataError, "X must have values in column 'a'"),
        ({"gaps": "skip"}, ParameterError, 'gaps must be one of "refuse", "impute", got \'skip\''),
        ({"min_confidence": 0.5}, ParameterError, "min_confidence must be above chance"),
    ],
)
def test_what_cannot_be_used_is_refused(change, error, says):
    given = {"X": np.eye(4)[:, :2], "y": [0, 0, 1, 1]} | change
    settings = {name: given.pop(name) for name in ("gaps", "min_confidence") if name in given}
    with pytest.raises(error, match=says):
        Coin(**settings).fit(**given)


def test_two_classes_are_all_that_some_rivals_take(table):
    with pytest.raises(DataError, match="y must hold two classes, got 3"):
        CSTC().fit(table[0], np.arange(120) % 3)


def test_a_rival_without_its_package_says_what_to_install(monkeypatch):
    monkeypatch.setattr("emsco_lab.rivals.base.find_spec", lambda _: None)
    for name in emsco_lab.rivals.__all__:
        if getattr(getattr(emsco_lab.rivals, name), "needs", {}):
            with pytest.raises(EMSCOError, match="must be installed for this: pip install"):
                getattr(emsco_lab.rivals, name).check_installed()


def test_features_of_a_paid_fee_come_next_in_the_order_of_costs():
    costs = dict(zip(NAMES, [1, 40, 90, 2, 3, 1], strict=True))
    # age and noise; pulse; blood, which pays both fees; gait; scan
    order = buying_order(FeatureCosts.from_mapping(costs, NAMES, fees=FEES))
    assert order.tolist() == [0, 1, 4, 2, 3, 0]
    rounding = FeatureCosts.from_mapping({"a": 17.61, "b": 15.51}, fees={"draw": (2.1, ["b"])})
    assert buying_order(rounding).tolist() == [0, 0]
