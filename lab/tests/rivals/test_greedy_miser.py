"""Greedy Miser: its trees beside plain ones, its costs and its answers."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from emsco import FeatureCosts
from emsco._kernels import rivals as kernels
from emsco.errors import ParameterError
from emsco_lab.rivals import tune
from emsco_lab.rivals.greedy_miser import BoostedTrees, GreedyMiser

LOSSES = ["logistic", "squared"]
COSTS = np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])


def grow(rows, residuals, depth, penalties=None, weights=None):
    """Grow a compiled tree: columns, cuts and values by node, and the leaf of each row."""
    order = np.argsort(rows.T, axis=1, kind="stable")
    given = (
        np.ascontiguousarray(rows),
        order.astype(np.int32),
        np.take_along_axis(rows.T, order, axis=1),
        residuals,
        np.ones(len(rows)) if weights is None else weights,
        np.zeros(rows.shape[1]) if penalties is None else penalties,
    )
    for array in given:
        array.setflags(write=False)
    n_nodes = 2 ** (depth + 1) - 1
    tree = np.full(n_nodes, 99, dtype=np.int32), np.full(n_nodes, np.nan), np.full(n_nodes, np.nan)
    leaf = np.full(len(rows), 99, dtype=np.int32)
    kernels.grow_tree(*given, *tree, leaf, np.full((3, 3, 2**depth), np.nan))
    return *tree, leaf


def plain_cut(rows, residuals, weights, penalties):
    """Find the best column and cut; in a tie the smaller column, then the smaller cut."""
    cuts = []
    for column, penalty in enumerate(penalties):
        for low, high in pairwise(np.unique(rows[:, column])):
            cut = (low + high) / 2
            gain = 0.0
            for side in (rows[:, column] <= cut, rows[:, column] > cut):
                gain += (weights[side] @ residuals[side]) ** 2 / weights[side].sum()
            cuts.append((penalty - gain, column, cut))
    least = min((score for score, _, _ in cuts), default=0.0)
    return next((cuts[1:] for cuts in cuts if cuts[0] <= least + 1e-9), None)


def plain_tree(rows, residuals, weights, penalties, depth):
    """Grow a plain tree, node by node and cut by cut."""
    n_nodes = 2 ** (depth + 1) - 1
    columns, cuts, values = np.full(n_nodes, -1), np.zeros(n_nodes), np.zeros(n_nodes)
    leaf = np.zeros(len(rows), dtype=int)
    for k in range(n_nodes):
        here = np.flatnonzero(leaf == k)
        if len(here):
            values[k] = np.average(residuals[here], weights=weights[here])
        if k < n_nodes // 2:
            best = plain_cut(rows[here], residuals[here], weights[here], penalties)
            if best is not None:
                columns[k], cuts[k] = best
                leaf[here] = 2 * k + 1 + (rows[here, columns[k]] > cuts[k])
    return columns, cuts, values, leaf


def plain_scores(X, y, costs, penalty, n_trees, depth, loss, rate=0.1):
    """Scores of the training rows, and the features that they pay for together."""
    n_classes = y.max() + 1
    classes = [1] if n_classes == 2 else range(n_classes)
    targets = np.array([np.where(y == k, 1.0, -1.0) for k in classes])
    scores, used, weights = np.zeros_like(targets), np.zeros(len(costs), bool), np.ones(len(y))
    for _ in range(n_trees):
        residuals = targets - scores
        if loss == "logistic" and n_classes == 2:
            residuals = targets / (1 + np.exp(targets * scores))
        elif loss == "logistic":
            residuals = (targets > 0) - np.exp(scores) / np.exp(scores).sum(axis=0)
        for s in range(len(scores)):
            penalties = np.where(used, 0.0, penalty * costs)
            columns, _, values, leaf = plain_tree(X, residuals[s], weights, penalties, depth)
            scores[s] += rate * values[leaf]
            used[columns[columns >= 0]] = True
    return scores.T, used


def walk(clf, X):
    """Scores of a fitted miser, and the features that rows meet."""
    return clf.trees_.walk(X, clf.encoding_.input_feature, len(clf.costs_.names))


@st.composite
def small_tables(draw):
    """Whole numbers, so that ties abound and sums are exact."""
    n_rows, n_columns = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = rng.integers(0, draw(st.integers(1, 5)), size=(n_rows, n_columns)).astype(float)
    residuals = rng.integers(-3, 4, size=n_rows).astype(float)
    weights = rng.integers(1, 4, size=n_rows).astype(float)
    penalties = rng.integers(0, 6, size=n_columns).astype(float)
    return rows, residuals, weights, penalties


class TestTrees:
    @settings(deadline=None)
    @given(small_tables(), st.integers(1, 4))
    def test_a_compiled_tree_is_the_plain_one_ties_included(self, table, depth):
        rows, residuals, weights, penalties = table
        tree = grow(rows, residuals, depth, penalties, weights)
        plain = plain_tree(rows, residuals, weights, penalties, depth)
        assert tree[0].tolist() == plain[0].tolist()
        assert tree[1].tolist() == plain[1].tolist()
        assert np.allclose(tree[2], plain[2], rtol=0, atol=1e-12)
        assert tree[3].tolist() == plain[3].tolist()

    @pytest.mark.parametrize("depth", [1, 2, 3, 6])
    def test_without_penalties_a_tree_predicts_as_scikit_learns(self, depth):
        rng = np.random.default_rng(depth)
        rows, residuals = rng.normal(size=(200, 5)), rng.normal(size=200)
        _, _, values, leaf = grow(rows, residuals, depth)
        other = DecisionTreeRegressor(max_depth=depth, random_state=0).fit(rows, residuals)
        np.testing.assert_allclose(values[leaf], other.predict(rows), rtol=0, atol=1e-13)

    def test_a_huge_penalty_keeps_the_order_of_gains(self):
        rng = np.random.default_rng(0)
        rows, residuals = rng.normal(size=(50, 4)), rng.normal(size=50)
        free, penalised = grow(rows, residuals, 3), grow(rows, residuals, 3, np.full(4, 1e60))
        assert free[0].tolist() == penalised[0].tolist()
        assert free[1].tolist() == penalised[1].tolist()

    def test_a_mirrored_column_ties_despite_rounding(self):
        rng = np.random.default_rng(1)
        column, residuals = rng.normal(size=500), rng.normal(size=500)
        for rows in ([column, -column], [-column, column]):
            assert grow(np.array(rows).T, residuals, 3)[0].max() == 0

    def test_a_cut_between_neighbouring_numbers_parts_them(self):
        rows = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
        columns, cuts, values, leaf = grow(rows, np.array([-1.0, 1.0]), 1)
        assert (columns.tolist(), cuts[0], leaf.tolist()) == ([0, -1, -1], 1.0, [1, 2])
        assert values.tolist() == [0.0, -1.0, 1.0]

    def test_a_node_whose_rows_are_all_alike_is_a_leaf(self):
        columns, _, values, leaf = grow(np.ones((4, 3)), np.arange(4.0), 2)
        assert (columns == -1).all()
        assert (values[0], leaf.tolist()) == (1.5, [0, 0, 0, 0])

    def test_a_row_too_light_to_be_told_from_rounding_is_not_cut_off(self):
        rows, residuals = np.arange(3.0)[:, None], np.array([1.0, -1.0, 9.0])
        _, cuts, _, _ = grow(rows, residuals, 1, weights=np.array([1.0, 1.0, 1e-20]))
        assert cuts[0] == 0.5

    def test_rows_walk_to_the_leaves_they_grew_in(self):
        rng = np.random.default_rng(2)
        rows, residuals = rng.integers(0, 9, size=(80, 4)).astype(float), rng.normal(size=80)
        columns, cuts, values, leaf = grow(rows, residuals, 3)
        trees = BoostedTrees(*(array[None, None] for array in (columns, cuts, values)))
        scores, met = trees.walk(rows, np.arange(4), 4)
        assert scores[:, 0].tolist() == values[leaf].tolist()
        for i, k in enumerate(leaf.tolist()):
            path = set()
            while k:
                k = (k - 1) // 2
                path.add(int(columns[k]))
            assert set(np.flatnonzero(met[i]).tolist()) == path

    def test_rows_in_parts_walk_as_all_rows_do(self, small_problem):
        X, y = small_problem
        clf = GreedyMiser(COSTS, n_trees=3).fit(X, y)
        scores, met = walk(clf, np.tile(X, (900, 1)))  # enough for threads
        assert np.array_equal(scores, np.tile(walk(clf, X)[0], (900, 1)))
        assert np.array_equal(met, np.tile(walk(clf, X)[1], (900, 1)))


class TestBoosting:
    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("penalty", [0.0, 0.3, 20.0])
    def test_scores_are_those_of_a_plain_miser(self, loss, n_classes, penalty):
        rng = np.random.default_rng(3)
        X, y = rng.normal(size=(40, 6)), np.arange(40) % n_classes
        clf = GreedyMiser(COSTS, penalty=penalty, n_trees=6, depth=2, loss=loss).fit(X, y)
        scores, used = plain_scores(X, y, COSTS, penalty, 6, 2, loss)
        np.testing.assert_allclose(walk(clf, X)[0], scores, rtol=0, atol=1e-12)
        assert clf.used_.tolist() == used.tolist()

    def test_without_a_penalty_it_is_scikit_learns_gradient_boosting(self):
        X, y = load_breast_cancer(return_X_y=True)
        clf = GreedyMiser(penalty=0, n_trees=20, loss="squared").fit(X, y)
        other = GradientBoostingRegressor(n_estimators=20, init="zero", random_state=0)
        scores = other.fit(X, 2.0 * y - 1).predict(X)
        np.testing.assert_allclose(walk(clf, X)[0][:, 0], scores, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("penalty", [0.0, 0.1, 1.0, 3.0])
    def test_stumps_are_those_of_lightgbm_with_a_penalty_on_features(self, penalty):
        lightgbm = pytest.importorskip("lightgbm")
        X, y = load_breast_cancer(return_X_y=True)
        costs = np.random.default_rng(0).integers(1, 6, size=30).astype(float)
        clf = GreedyMiser(costs, penalty=penalty, n_trees=30, depth=1, loss="squared").fit(
            X[:300], y[:300]
        )
        other = lightgbm.train(
            lightgbm_settings(1, penalty, costs), lightgbm.Dataset(X[:300], 2.0 * y[:300] - 1), 30
        )
        np.testing.assert_allclose(walk(clf, X)[0][:, 0], other.predict(X), rtol=0, atol=1e-6)
        assert clf.used_.tolist() == (other.feature_importance() > 0).tolist()

    def test_deeper_trees_answer_much_like_those_of_lightgbm(self):
        lightgbm = pytest.importorskip("lightgbm")
        X, y = load_breast_cancer(return_X_y=True)
        costs = np.random.default_rng(0).integers(1, 6, size=30).astype(float)
        clf = GreedyMiser(costs, penalty=1.0, n_trees=30, loss="squared").fit(X, y)
        other = lightgbm.train(
            lightgbm_settings(3, 1.0, costs), lightgbm.Dataset(X, 2.0 * y - 1), 30
        )
        assert np.corrcoef(walk(clf, X)[0][:, 0], other.predict(X))[0, 1] > 0.98

    @pytest.mark.parametrize("loss", LOSSES)
    def test_whole_weights_are_repeated_rows(self, small_problem, loss):
        X, y = small_problem
        weights = np.random.default_rng(4).integers(0, 4, size=len(y))
        weighted = GreedyMiser(COSTS, n_trees=10, loss=loss).fit(X, y, weights)
        repeated = GreedyMiser(COSTS, n_trees=10, loss=loss)
        repeated.fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
        assert np.array_equal(weighted.trees_.columns, repeated.trees_.columns)
        np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-12)


def lightgbm_settings(depth, penalty, costs):
    """LightGBM, plain except for the order of its splits and its stopping."""
    return {
        "objective": "regression",
        "boost_from_average": False,
        "max_depth": depth,
        "num_leaves": 2**depth,
        "min_data_in_leaf": 1,
        "min_sum_hessian_in_leaf": 0,
        "min_data_in_bin": 1,
        "max_bin": 1000,
        "feature_pre_filter": False,
        "cegb_tradeoff": penalty,
        "cegb_penalty_feature_coupled": costs.tolist(),
        "num_threads": 1,
        "verbose": -1,
    }


class TestCosts:
    @pytest.mark.parametrize("name", ["credit", "heart", "pima"])
    def test_cost_falls_as_the_penalty_rises_on_the_papers_data(self, paper_set, name):
        data = paper_set(name)
        X, y, costs = data.X[data.train], data.y[data.train], FeatureCosts.from_array(data.costs)
        path = [
            GreedyMiser(costs, **setting, n_trees=50).fit(X, y)
            for setting in GreedyMiser.grid(costs, len(X))
        ]
        whole = np.array([clf.model_cost_ for clf in path])
        spent = np.array([clf.decide(data.X[data.held_out]).cost.mean() for clf in path])
        assert (np.diff(whole) <= 0).all()
        assert (np.diff(spent) <= 0.02 * costs.total).all()  # fewer features, yet on more paths
        assert (spent[-1] < 0.3 * spent[0]) & (whole[-1] < 0.3 * whole[0])

    @pytest.mark.parametrize("loss", LOSSES)
    def test_a_row_pays_once_for_each_feature_on_its_own_paths(self, small_problem, loss):
        X, y = small_problem
        clf = GreedyMiser(COSTS, penalty=2.0, n_trees=30, loss=loss).fit(X, y)
        met = walk(clf, X)[1]
        assert clf.decide(X).cost.tolist() == [COSTS[row].sum() for row in met]
        assert (clf.trees_.columns >= 0).sum() > 10 * clf.used_.sum()
        assert clf.decide(X).cost.max() <= clf.model_cost_ == COSTS[clf.used_].sum()

    def test_a_feature_that_was_paid_for_is_free_in_later_trees(self):
        rng = np.random.default_rng(5)
        X = rng.normal(size=(200, 2))
        y = (X @ [1.0, 0.9] > 0).astype(int)
        clf = GreedyMiser([1.0, 1.0], penalty=5.0, n_trees=40, depth=1).fit(X, y)
        tops = clf.trees_.columns[:, 0, 0].tolist()
        bought = tops.index(1)
        assert bought > 5  # the second column must first explain more than its cost
        assert tops[bought:].count(0) > 5  # from then on both are free
        assert tops[bought:].count(1) > 5

    def test_trees_of_a_round_share_paid_features(self):
        X, y = load_iris(return_X_y=True)
        clf = GreedyMiser([1.0, 1.01, 1.02, 1.03], penalty=1e4, n_trees=2, depth=1).fit(X, y)
        assert clf.used_.tolist() == [True, False, False, False]
        assert (clf.trees_.columns[:, :, 0] == 0).all()

    def test_equal_costs_do_not_change_the_first_tree(self, small_problem):
        free, miser = (GreedyMiser(penalty=p, n_trees=20).fit(*small_problem) for p in (0, 1e6))
        assert np.array_equal(free.trees_.columns[0], miser.trees_.columns[0])
        assert miser.used_.tolist() == miser.trees_.first(1).used(np.arange(6), 6).tolist()

    def test_columns_bought_together_are_paid_for_together(self, small_problem):
        X, y = small_problem
        names = [f"x{i}" for i in range(6)]
        panel = FeatureCosts.from_mapping(
            {"x0": 1, "panel": 4}, names, {"panel": [f"x{i}" for i in range(1, 6)]}
        )
        clf = GreedyMiser(panel, penalty=0.1, n_trees=10).fit(X, y)
        assert set(np.unique(clf.decide(X).cost)) <= {1.0, 4.0, 5.0}
        assert clf.model_cost_ == 5.0

    def test_the_grid_scales_with_rows_and_costs(self):
        few, many = (
            [setting["penalty"] for setting in GreedyMiser.grid(FeatureCosts.from_array(costs), n)]
            for costs, n in (([1.0, 3.0], 100), ([10.0, 30.0], 2000))
        )
        assert np.allclose(few, np.array([0, *np.logspace(-4, 1, 11)]) * 100 / 2)
        assert np.allclose(many, 2 * np.array(few))


class TestAnswers:
    def test_it_never_declines(self, small_problem):
        report = GreedyMiser(COSTS, n_trees=5).fit(*small_problem).evaluate(*small_problem)
        assert report.coverage == 1.0
        assert report.accuracy > 0.75

    @pytest.mark.parametrize("loss", LOSSES)
    def test_more_than_two_classes_are_told_apart(self, loss):
        X, y = load_iris(return_X_y=True)
        clf = GreedyMiser(n_trees=20, loss=loss).fit(X[::2], y[::2])
        probabilities = clf.predict_proba(X[1::2])
        assert np.allclose(probabilities.sum(axis=1), 1)
        assert ((probabilities >= 0) & (probabilities <= 1)).all()
        assert clf.score(X[1::2], y[1::2]) > 0.9

    def test_squared_scores_are_cut_and_moved_to_probabilities(self, small_problem):
        X, y = small_problem
        clf = GreedyMiser(n_trees=200, learning_rate=0.5, loss="squared").fit(X, y)
        scores = walk(clf, 3 * X)[0][:, 0]
        assert np.abs(scores).max() > 1
        expected = (np.clip(scores, -1, 1) + 1) / 2
        np.testing.assert_allclose(clf.predict_proba(3 * X)[:, 1], expected, rtol=0, atol=1e-12)

    def test_logistic_scores_are_log_odds(self, small_problem):
        X, y = small_problem
        clf = GreedyMiser(n_trees=20).fit(X, y)
        p = clf.predict_proba(X)
        np.testing.assert_allclose(np.log(p[:, 1] / p[:, 0]), walk(clf, X)[0][:, 0], atol=1e-12)

    def test_classes_are_equally_likely_if_every_score_is_at_its_minimum(self):
        X, y = load_iris(return_X_y=True)
        clf = GreedyMiser(n_trees=1, learning_rate=1.0, depth=1, loss="squared").fit(X, y)
        clf.trees_ = BoostedTrees(clf.trees_.columns, clf.trees_.cuts, clf.trees_.values - 9)
        assert np.array_equal(clf.predict_proba(X[:1]), np.full((1, 3), 1 / 3))

    def test_classes_tie_despite_rounding(self):
        X, y = np.arange(6.0)[:, None], np.array([0, 1, 2, 2, 1, 0])
        clf = GreedyMiser(n_trees=30, depth=1).fit(X, y)
        noise = np.random.default_rng(6).normal(scale=1e-16, size=clf.trees_.values.shape)
        clf.trees_ = BoostedTrees(clf.trees_.columns, clf.trees_.cuts, noise)
        assert clf.predict(X).tolist() == [0] * 6

    def test_equal_rows_get_the_class_shares_for_free(self):
        X, y = np.ones((8, 2)), np.array([0, 0, 0, 0, 0, 0, 1, 1])
        clf = GreedyMiser(n_trees=400, loss="squared").fit(X, y)
        assert np.allclose(clf.predict_proba(X[:1]), [[0.75, 0.25]])
        assert clf.decide(X).cost.tolist() == [0.0] * 8
        assert clf.model_cost_ == 0.0


class TestStages:
    @pytest.mark.parametrize("loss", LOSSES)
    def test_each_stage_equals_a_fit_with_fewer_trees(self, small_problem, loss):
        X, y = small_problem
        clf = GreedyMiser(COSTS, penalty=2.0, n_trees=12, loss=loss).fit(X, y)
        stages = list(clf.staged())
        assert [setting.get("n_trees", 12) for setting, _ in stages] == list(range(1, 13))
        for setting, stage in stages:
            alone = GreedyMiser(**{**clf.get_params(), **setting}).fit(X, y)
            assert stage.get_params() == alone.get_params()
            assert np.array_equal(stage.predict_proba(X), alone.predict_proba(X))
            assert np.array_equal(stage.decide(X).cost, alone.decide(X).cost)
            assert stage.model_cost_ == alone.model_cost_

    def test_tuning_tries_every_number_of_trees_at_every_penalty(self, small_problem):
        X, y = small_problem
        tuned = tune(GreedyMiser(COSTS, n_trees=7), (X[:80], y[:80]), (X[80:], y[80:]))
        tried = [
            (trial.settings["penalty"], trial.settings.get("n_trees", 7)) for trial in tuned.trials
        ]
        assert len(set(tried)) == len(tried) == 12 * 7
        alone = GreedyMiser(**tuned.rival.get_params()).fit(X[:80], y[:80])
        assert alone.evaluate(X[80:], y[80:]) == tuned.best.evaluation

    def test_the_last_stage_is_the_unchanged_rival(self, small_problem):
        clf = GreedyMiser(COSTS, n_trees=5).fit(*small_problem)
        setting, last = list(clf.staged())[-1]
        assert last is clf
        assert (setting, clf.n_trees, len(clf.trees_.columns)) == ({}, 5, 5)

    def test_trees_cannot_be_changed(self, small_problem):
        clf = GreedyMiser(n_trees=2).fit(*small_problem)
        with pytest.raises(ValueError, match="read-only"):
            clf.trees_.values[0, 0, 0] = 1.0


@pytest.mark.thorough
@parametrize_with_checks([GreedyMiser(n_trees=15, loss="squared")])
def test_scikit_learn_contract_with_squared_loss(estimator, check):
    check(estimator)


@parametrize_with_checks([GreedyMiser(n_trees=15)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ({"penalty": -1}, r"penalty must be a number in \[0, 1e\+100\], got -1"),
        ({"penalty": float("nan")}, "penalty must be a number in .*, got nan"),
        ({"n_trees": 0}, "n_trees must be a whole number from 1 up, got 0"),
        ({"learning_rate": 0}, r"learning_rate must be a number in \(0, 1\], got 0"),
        ({"depth": 13}, "depth must be a whole number from 1 to 12, got 13"),
        ({"loss": "hinge"}, 'loss must be one of "logistic", "squared", got \'hinge\''),
    ],
)
def test_a_bad_setting_gets_one_clear_sentence(small_problem, setting, message):
    with pytest.raises(ParameterError, match=message):
        GreedyMiser(**setting).fit(*small_problem)
