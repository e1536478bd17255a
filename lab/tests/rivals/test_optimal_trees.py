import numpy as np
import pytest

from emsco import EMSCOError, FeatureCosts
from emsco_lab.rivals import OptimalTrees
from emsco_lab.rivals.optimal_trees import best_cuts


@pytest.fixture
def switched():
    """Rows whose first input says which of two others tells the class."""
    X = np.random.default_rng(3).integers(0, 2, size=(200, 4)).astype(float)
    return X, np.where(X[:, 0] > 0, X[:, 1], X[:, 2])


def test_no_other_tree_of_two_splits_a_path_has_a_lower_total(switched):
    pytest.importorskip("pystreed")
    X, y = switched
    flipped = y.copy()
    flipped[::7] = 1 - flipped[::7]
    costs = np.array([3.0, 1.0, 2.0, 4.0])
    rival = OptimalTrees(costs, depth=2, error_cost=3.0, random_state=0).fit(X, flipped)
    errors = 3 * costs.sum() * (rival.predict(X) != flipped)
    ours = (rival.decide(X).cost + errors).mean()

    def lowest(rows, n_splits, bought):
        labels = flipped[rows]
        totals = [3 * costs.sum() * min(labels.sum(), (1 - labels).sum())]
        for feature in range(4) if n_splits else ():
            sides = [rows[X[rows, feature] == value] for value in (0, 1)]
            price = 0 if feature in bought else costs[feature] * len(rows)
            below = [lowest(side, n_splits - 1, bought | {feature}) for side in sides]
            totals.append(price + sum(below))
        return min(totals)

    assert ours == pytest.approx(lowest(np.arange(200), 2, frozenset()) / 200)
    assert set(rival.decide(X).cost) == {4, 5}  # each side buys what it needs


def test_a_fee_is_paid_once_by_the_search_too(switched):
    pytest.importorskip("pystreed")
    X, y = switched
    names = ["x0", "x1", "x2", "x3"]
    shared = FeatureCosts.from_mapping(
        dict.fromkeys(names, 1), names, fees={"draw": (100, names[:3])}
    )
    # An error costs 300, so a row without tests 150; the right tests cost 102, or 202 if two pay.
    rivals = [
        OptimalTrees(costs, depth=2, error_cost=300 / total, random_state=0).fit(X, y)
        for costs, total in ((shared, 104), ([101, 101, 101, 1], 304))
    ]
    assert [rival.used_[:3].tolist() for rival in rivals] == [[True] * 3, [False] * 3]


def test_cuts_come_first_that_a_greedy_tree_makes_then_one_of_every_feature():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(1000, 3))
    labels = (rows[:, 1] > np.quantile(rows[:, 1], 0.98)).astype(int)
    inputs, cuts = best_cuts(rows, labels, np.arange(3), 5, seed=0)
    assert set(inputs) == {0, 1, 2}
    assert len(cuts) == 21  # that a search at depth 5 can take in time
    assert np.abs(cuts[inputs == 1] - np.quantile(rows[:, 1], 0.98)).min() < 0.05


def test_weights_repeat_rows_and_must_be_whole(switched):
    pytest.importorskip("pystreed")
    X, y = switched
    counts = np.random.default_rng(0).integers(1, 4, size=len(y))
    repeated = OptimalTrees(random_state=0).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    weighted = OptimalTrees(random_state=0).fit(X, y, counts * 10)
    assert np.allclose(weighted.predict_proba(X), repeated.predict_proba(X))
    with pytest.raises(EMSCOError, match="sample_weight must be whole numbers, since"):
        OptimalTrees().fit(X, y, counts / 2)
