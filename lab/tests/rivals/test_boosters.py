"""Libraries of boosted trees with penalties on features."""

import numpy as np
import pytest
from sklearn.base import clone

from emsco_lab.rivals import CostAwareBoosting, PenalisedCatBoost

COSTS = [1, 1, 20, 5, 5, 1]
RIVALS = [
    CostAwareBoosting(COSTS, n_trees=15, random_state=0),
    CostAwareBoosting(COSTS, n_trees=15, penalty="coupled", random_state=0),
    PenalisedCatBoost(COSTS, n_trees=15, random_state=0),
    PenalisedCatBoost(COSTS, n_trees=15, penalty="first_use", policy="symmetric", random_state=0),
]


@pytest.fixture(params=RIVALS, ids=lambda rival: f"{type(rival).__name__} {rival.penalty}")
def rival(request):
    for module in request.param.needs:
        pytest.importorskip(module)
    return clone(request.param)


def test_cost_falls_as_the_penalty_grows_stronger(table, rival):
    X, y = table
    paid = [
        rival.set_params(strength=strength).fit(X, y).decide(X).cost.mean()
        for strength in (0.0, 0.03, 10.0)
    ]
    assert paid[0] > paid[1] > paid[2]


def test_costs_in_another_unit_change_nothing_but_the_unit(table, rival):
    X, y = table
    dear = clone(rival).set_params(costs=[1000 * cost for cost in COSTS]).fit(X, y).decide(X)
    ours = rival.fit(X, y).decide(X)
    assert np.allclose(dear.cost, 1000 * ours.cost)
    assert np.allclose(dear.confidence, ours.confidence)


def test_the_number_of_threads_changes_nothing(table, rival):
    X, y = table
    two = clone(rival).set_params(n_jobs=2).fit(X, y).predict_proba(X)
    assert np.array_equal(two, rival.fit(X, y).predict_proba(X))


def test_a_first_split_of_lightgbm_must_gain_the_strength_for_each_row():
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.repeat([0, 1], 50)
    for strength, buys in ((0.9, True), (1.1, False)):  # half the squared gradient of a row is 1
        rival = CostAwareBoosting(strength=strength, n_trees=1, random_state=0).fit(X, y)
        assert rival.used_.tolist() == [buys]
        assert rival.decide(X).cost.tolist() == [float(buys)] * 100


def test_catboost_refuses_columns_that_are_all_constant():
    pytest.importorskip("catboost")
    with pytest.raises(ValueError, match="X must have a column that is not constant"):
        PenalisedCatBoost().fit(np.ones((6, 2)), [0, 1] * 3)
