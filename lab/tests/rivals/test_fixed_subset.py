from itertools import combinations

import numpy as np
import pytest

from emsco import FeatureCosts
from emsco_lab.rivals import FixedSubset


@pytest.mark.parametrize("budget", [0.0, 0.1, 0.5, 1.0])
def test_every_row_pays_for_the_subset_within_the_budget(table, budget):
    X, y = table
    rival = FixedSubset([1, 1, 20, 5, 5, 3], budget=budget, n_trees=5, random_state=0).fit(X, y)
    assert set(rival.decide(X).cost) == {float(rival.used_ @ [1, 1, 20, 5, 5, 3])}
    assert rival.decide(X).cost[0] <= 35 * budget
    assert rival.used_.all() == (budget == 1)
    if budget == 0:
        assert np.allclose(rival.predict_proba(X), np.bincount(y) / len(y))


def test_the_subset_is_the_best_of_its_price():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(600, 5))
    y = (X @ [1.0, 0.9, 0.8, 0.1, 0.0] > 0).astype(int)
    costs = np.array([3.0, 2.0, 2.0, 1.0, 1.0])
    rival = FixedSubset(costs, budget=4 / 9, n_trees=20, random_state=0).fit(X[:400], y[:400])
    scores = {
        pair: FixedSubset(n_trees=20, random_state=0)
        .fit(X[:400, pair], y[:400])
        .score(X[400:, pair], y[400:])
        for pair in combinations(range(5), 2)
        if costs[list(pair)].sum() <= 4
    }
    assert tuple(np.flatnonzero(rival.used_)) == max(scores, key=scores.get) == (1, 2)


def test_a_paid_fee_leaves_the_budget_room_for_its_other_features():
    X = np.random.default_rng(0).normal(size=(400, 3))
    fees = {"draw": (10, ["blood", "gait"])}
    costs = FeatureCosts.from_mapping({"scan": 20, "blood": 1, "gait": 1}, fees=fees)
    rival = FixedSubset(costs, budget=0.4, n_trees=5, random_state=0).fit(X, X[:, 1] + X[:, 2] > 0)
    assert rival.used_.tolist() == [False, True, True]
    assert rival.decide(X).cost[0] == 12
