import numpy as np
import pytest
from sklearn.tree import DecisionTreeRegressor

from emsco import FeatureCosts
from emsco_lab.rivals import GreedyMiser
from emsco_lab.rivals.kernels import grow_tree


def grown(rows, residuals, weights, penalties, depth):
    order = np.argsort(rows.T, axis=1, kind="stable")
    return grow_tree(rows, order, residuals, weights, penalties, depth)


def plain_tree(rows, residuals, weights, penalties, depth):
    """The same tree, node by node and cut by cut, in whole numbers."""
    n_nodes = 2 ** (depth + 1) - 1
    columns, leaf = np.full(n_nodes, -1), np.zeros(len(rows), dtype=int)
    for k in range(n_nodes // 2):
        here = np.flatnonzero(leaf == k)
        best = None
        for c in range(rows.shape[1]):
            for low in np.unique(rows[here, c])[:-1]:
                left = rows[here, c] <= low
                parts = [(weights[here][side], residuals[here][side]) for side in (left, ~left)]
                gain = sum((w @ r) ** 2 / w.sum() for w, r in parts) - penalties[c]
                if best is None or gain > best[0] + 1e-9:
                    best = gain, c, left
        if best is not None:
            columns[k] = best[1]
            leaf[here] = 2 * k + 1 + ~best[2]
    return columns, leaf


@pytest.mark.parametrize("seed", range(6))
def test_a_tree_makes_the_best_split_of_every_node_ties_included(seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 4, size=(30, 3)).astype(float)
    residuals, weights = rng.integers(-2, 3, 30).astype(float), rng.integers(1, 4, 30).astype(float)
    given = rows, residuals, weights, np.array([0.0, 2.0, 5.0]), 3
    columns, _, values, leaf = grown(*given)
    expected_columns, expected_leaf = plain_tree(*given)
    assert np.array_equal(columns, expected_columns)
    assert np.array_equal(leaf, expected_leaf)
    for k in set(leaf.tolist()):
        here = leaf == k
        assert values[k] == pytest.approx(np.average(residuals[here], weights=weights[here]))


def test_without_penalties_a_tree_predicts_as_scikit_learns():
    rng = np.random.default_rng(1)
    rows, residuals = rng.normal(size=(200, 4)), rng.normal(size=200)
    _, _, values, leaf = grown(rows, residuals, np.ones(200), np.zeros(4), 3)
    twin = DecisionTreeRegressor(max_depth=3, random_state=0).fit(rows, residuals)
    assert np.allclose(values[leaf], twin.predict(rows))


def test_a_cut_between_neighbouring_numbers_parts_them():
    rows = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    _, _, _, leaf = grown(rows, np.array([-1.0, 1.0]), np.ones(2), np.zeros(1), 1)
    assert leaf.tolist() == [1, 2]


def test_later_trees_pay_no_fee_again():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = X @ [1.0, 0.7] > 0
    shared = FeatureCosts.from_mapping({"x0": 1, "x1": 1}, fees={"draw": (100, ["x0", "x1"])})
    settings = {"penalty": 0.5, "n_trees": 30, "depth": 1, "learning_rate": 0.5}
    assert GreedyMiser(shared, **settings).fit(X, y).used_.all()
    assert GreedyMiser([101, 101], **settings).fit(X, y).used_.sum() == 1


def test_cost_falls_as_the_penalty_rises(table):
    X, y = table
    costs = FeatureCosts.from_array([1, 1, 20, 5, 5, 1], list(X))
    paid = [
        GreedyMiser(costs, n_trees=10, **setting).fit(X, y).decide(X).cost.mean()
        for setting in GreedyMiser.grid(costs, len(y))
    ]
    assert paid[0] > 25
    assert paid[-1] < 3


def test_three_classes_are_told_apart_and_ties_stay_ties():
    X = np.repeat(np.eye(3), 4, axis=0)
    rival = GreedyMiser(penalty=0, n_trees=40).fit(X, np.repeat([0, 1, 2], 4))
    assert rival.score(X, np.repeat([0, 1, 2], 4)) == 1
    alike = GreedyMiser().fit(np.ones((6, 1)), [0, 1, 2] * 2)
    assert alike.predict_proba([[1.0]])[0].tolist() == pytest.approx([1 / 3] * 3)
    assert alike.decide([[1.0]]).cost.tolist() == [0]
