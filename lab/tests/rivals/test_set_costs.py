"""Rivals and fees: every row pays for the set that it bought, each fee once."""

from importlib.util import find_spec
from itertools import product

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from emsco import FeatureCosts
from emsco_lab.rivals import (
    AACO,
    ASTC,
    CSTC,
    DIME,
    CaCTLasso,
    CostAwareBoosting,
    CostOrdered,
    FixedSubset,
    GreedyMiser,
    OptimalTrees,
    PenalisedCatBoost,
    ThresholdCascade,
)
from emsco_lab.rivals.cstc import _charged
from emsco_lab.rivals.set_costs import SetCosts, buying_order

NAMES = ["age", "pulse", "scan", "blood", "gait", "noise"]
FEES = {"visit": (32, ["scan", "blood", "gait"]), "draw": (64, ["blood", "gait"])}
# Powers of two, so that the cost of a row tells which features it bought.
COSTS = dict(zip(NAMES, [1, 2, 4, 8, 16, 0.5], strict=True))
RIVALS = [
    AACO(price=0.1, random_state=0),
    ASTC(budget=127.5, depth=2, random_state=0),
    CSTC(penalty=0.01, depth=2, sharpness=10.0, random_state=0),
    CaCTLasso(penalty=5.0),
    CostAwareBoosting(strength=0.05, n_trees=10, random_state=0),
    CostOrdered(),
    FixedSubset(budget=0.9, n_trees=10, random_state=0),
    GreedyMiser(penalty=0.02, n_trees=10, depth=2),
    ThresholdCascade(threshold=0.8, n_trees=10, random_state=0),
]
if find_spec("catboost"):
    RIVALS.append(PenalisedCatBoost(strength=0.1, n_trees=10, random_state=0))
if find_spec("pystreed"):
    RIVALS.append(OptimalTrees(error_cost=3.0, random_state=0))
if find_spec("torch"):
    RIVALS.append(DIME(price=0.1, width=16, max_epochs=3, random_state=0))


@pytest.fixture(params=[type(rival).__name__ for rival in RIVALS])
def rival(request):
    return clone(next(one for one in RIVALS if type(one).__name__ == request.param))


@pytest.fixture
def table(small_problem):
    X, y = small_problem
    return pd.DataFrame(X[:, [3, 4, 0, 1, 2, 5]], columns=NAMES), y  # what has fees tells most


def with_fees(costs=COSTS):
    return FeatureCosts.from_mapping(costs, NAMES, fees=FEES)


def test_a_row_pays_for_what_its_answer_needs_and_each_fee_once(table, rival):
    X, y = table
    costs = with_fees()
    rival.set_params(costs=costs).fit(X, y)
    bought_for = {
        costs.cost_of(np.array(NAMES)[list(bought)]): bought
        for bought in product([False, True], repeat=len(NAMES))
    }
    paid = rival.decide(X).cost
    bought = np.array([bought_for[cost] for cost in paid])  # no other cost is right
    assert len(bought_for) == 64
    assert paid.max() > 32
    assert paid.max() <= rival.model_cost_ == costs.cost_of(np.array(NAMES)[rival.used_])
    others = X.where(bought, X.to_numpy()[::-1])
    assert np.allclose(rival.predict_proba(others), rival.predict_proba(X))
    assert np.array_equal(rival.decide(others).cost, paid)


def test_features_may_cost_nothing_beyond_their_fees(table, rival):
    costs = with_fees(dict.fromkeys(NAMES, 0))
    paid = rival.set_params(costs=costs).fit(*table).decide(table[0]).cost
    assert set(paid) <= {0, 32, 96}
    assert rival.grid(costs, 120)  # divides by no mean of 0


def test_features_of_a_paid_fee_come_next_in_the_order_of_costs(table):
    costs = with_fees(dict(zip(NAMES, [1, 40, 90, 2, 3, 1], strict=True)))
    # age and noise; pulse; blood, which pays both fees; gait; scan
    assert buying_order(costs).tolist() == [0, 1, 4, 2, 3, 0]
    design = CostOrdered(costs).fit(*table).design_
    assert np.asarray(design).tolist() == [0, 1, 4, 2, 3, 0]
    groups = ThresholdCascade(costs, n_groups=2, n_trees=5).fit(*table).groups_
    assert groups.tolist() == [0, 0, 1, 1, 1, 0]


def test_equal_costs_are_bought_together_despite_rounding():
    costs = FeatureCosts.from_mapping({"a": 17.61, "b": 15.51}, fees={"draw": (2.1, ["b"])})
    assert buying_order(costs).tolist() == [0, 0]


def test_a_paid_fee_leaves_the_budget_room_for_its_other_features():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(400, 3)), columns=["scan", "blood", "gait"])
    y = (X["blood"] + X["gait"] > 0).to_numpy()
    costs = FeatureCosts.from_mapping(
        {"scan": 20, "blood": 1, "gait": 1}, fees={"draw": (10, ["blood", "gait"])}
    )
    rival = FixedSubset(costs, budget=0.4, n_trees=5, random_state=0).fit(X, y)
    assert rival.used_.tolist() == [False, True, True]
    assert rival.model_cost_ == 12


def test_later_trees_of_a_miser_do_not_pay_a_fee_again():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = X @ [1.0, 0.7] > 0
    fees = {"draw": (100, ["x0", "x1"])}
    shared = FeatureCosts.from_mapping({"x0": 1, "x1": 1}, fees=fees)
    settings = {"penalty": 0.5, "n_trees": 30, "depth": 1, "learning_rate": 0.5}
    assert GreedyMiser(shared, **settings).fit(X, y).used_.all()
    assert GreedyMiser([101, 101], **settings).fit(X, y).used_.sum() == 1


def test_a_fee_is_charged_like_a_feature_that_several_learners_read():
    reads = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=bool)
    costs = FeatureCosts.from_mapping({"a": 1, "b": 2, "c": 3}, fees={"visit": (9, ["a", "c"])})
    lines, prices = _charged(reads, SetCosts.from_costs(costs))
    assert lines.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 0, 1]]
    assert prices.tolist() == [1, 2, 3, 9]
