"""CSTC: its objective and gradient, pruning, answers, and the cost of rows."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from emsco import FeatureCosts
from emsco.errors import DataError, ParameterError
from emsco_lab.rivals import CSTC
from emsco_lab.rivals.classifier_trees import (
    ClassifierTree,
    TreedRows,
    WeakLearners,
    on_path,
    weighted_median,
)
from emsco_lab.rivals.cstc import Block, SoftProblem, SoftTree, descend, grow, without_small

SMOOTHING = 1e-8
COSTS = np.array([1.0, 2.0, 5.0, 0.5])
SHARP = {"penalty": 0.0, "sharpness": 10.0, "random_state": 0}


def bent_problem():
    """600 rows × 2 features of two classes that no single line can separate."""
    X = np.random.default_rng(0).normal(size=(600, 2))
    return X, (X[:, 0] > 0) & (X[:, 1] > 0) | (X[:, 0] < -1)


def problem(seed=0, n_rows=40, penalty=0.05, sparsity=0.01, sharpness=3.0) -> SoftProblem:
    """Five learners of four features; two learners share one feature."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_rows, 5))
    targets = np.where(values[:, 0] + values[:, 2] + rng.normal(size=n_rows) > 0, 1.0, -1.0)
    weights = rng.uniform(0.5, 2.0, size=n_rows)
    reads = np.eye(4)[:, [0, 1, 2, 2, 3]]
    reads[0, 4] = 1.0
    for array in (values, targets, weights, reads):
        array.setflags(write=False)
    return SoftProblem(
        values, targets, weights / weights.sum(), reads, COSTS, penalty, sparsity, sharpness
    )


def random_tree(depth, seed=0) -> SoftTree:
    return SoftTree(np.random.default_rng(seed).normal(scale=0.5, size=(2**depth - 1, 7)))


def hard_tree(depth=3, seed=0, n_learners=5) -> ClassifierTree:
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(2**depth - 1, n_learners)) * rng.integers(
        0, 2, size=(2**depth - 1, n_learners)
    )
    return ClassifierTree.from_weights(
        weights, rng.normal(size=len(weights)), rng.normal(size=len(weights))
    )


def plain_objective(given: SoftProblem, tree: SoftTree) -> float:
    """Compute the objective node by node and row by row, as in the paper."""
    total, first_leaf = 0.0, len(tree.lines) // 2
    for node, line in enumerate(tree.lines):
        path = [node]
        while path[0]:
            path.insert(0, (path[0] - 1) // 2)
        reach = np.ones(len(given.targets))
        for upper, lower in pairwise(path):
            above = tree.lines[upper]
            share = expit(given.sharpness * (given.values @ above[:-2] + above[-2] - above[-1]))
            reach *= share if lower == 2 * upper + 1 else 1 - share
        missed = given.values @ line[:-2] + line[-2] - given.targets
        total += given.row_weights @ (reach * missed**2)
        total += given.sparsity * np.sqrt(line[:-2] ** 2 + SMOOTHING).sum()
        if node >= first_leaf:
            squares = given.reads @ (tree.lines[path, :-2] ** 2).sum(axis=0)
            norm = given.costs @ np.sqrt(squares + SMOOTHING)
            total += given.penalty * (given.row_weights @ reach) * norm
    return total


def plain_terms(block: Block, line):
    """Twin of the kernel: the value of a block, and its gradient."""
    given, weights = block.problem, line[:-2]
    score = given.values @ weights + line[-2]
    up = expit(given.sharpness * (score - line[-1]))
    sizes = np.sqrt(weights**2 + SMOOTHING)
    roots = np.sqrt(block.squares + given.reads @ weights**2 + SMOOTHING)
    below = block.errors + np.einsum("sl,sli->si", given.penalty * roots @ COSTS, block.ends)
    missed, gain = score - given.targets, below[0] - below[1]
    value = block.here @ (missed**2 + below[1] + up * gain) + given.sparsity * sizes.sum()
    turn = given.sharpness * block.here * up * (1 - up) * gain
    slope = 2 * block.here * missed + turn
    reached = np.einsum("sli,si->sl", block.ends, block.here * np.stack([up, 1 - up]))
    pull = given.penalty * COSTS * np.einsum("sl,sla->a", reached, 1 / roots)
    along = slope @ given.values + weights * (pull @ given.reads + given.sparsity / sizes)
    return value, np.r_[along, slope.sum(), -turn.sum()]


@pytest.mark.thorough
@parametrize_with_checks([CSTC(depth=2, weak_learners="trees", random_state=0)])
def test_scikit_learn_contract_with_trees(estimator, check):
    check(estimator)


@parametrize_with_checks([CSTC(depth=2, random_state=0)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


class TestObjective:
    @pytest.mark.parametrize("depth", [1, 2, 4])
    def test_it_is_the_sum_of_the_paper(self, depth):
        given, tree = problem(), random_tree(depth)
        assert tree.objective(given) == pytest.approx(plain_objective(given, tree), rel=1e-12)

    @pytest.mark.parametrize("node", [0, 1, 2, 5, 6])
    def test_a_block_differs_from_it_by_a_constant(self, node):
        given, tree = problem(), random_tree(3)
        block = Block.from_tree(given, tree, node)
        lines = np.random.default_rng(1).normal(size=(4, 7))
        rest = [tree.with_line(node, line).objective(given) - block(line)[0] for line in lines]
        assert np.ptp(rest) < 1e-12

    @pytest.mark.parametrize("node", [0, 1, 2, 5, 6])
    def test_its_gradient_equals_finite_differences(self, node):
        given, tree = problem(), random_tree(3)
        _, gradient = Block.from_tree(given, tree, node)(tree.lines[node])
        for i, step in enumerate(1e-6 * np.eye(7)):
            ends = [
                tree.with_line(node, tree.lines[node] + s).objective(given) for s in (step, -step)
            ]
            assert gradient[i] == pytest.approx((ends[0] - ends[1]) / 2e-6, abs=1e-6)

    @pytest.mark.parametrize("node", [0, 1, 6])
    def test_the_kernel_equals_its_plain_twin(self, node):
        given, tree = problem(seed=3), random_tree(3, seed=4)
        block, line = Block.from_tree(given, tree, node), np.random.default_rng(5).normal(size=7)
        for array in (block.here, block.ends, block.errors, block.squares, line):
            array.setflags(write=False)
        value, gradient = block(line)
        plain_value, plain_gradient = plain_terms(block, line)
        assert value == pytest.approx(plain_value, rel=1e-12)
        np.testing.assert_allclose(gradient, plain_gradient, rtol=1e-9, atol=1e-12)

    @settings(max_examples=10, deadline=None)
    @given(st.integers(0, 1000), st.integers(1, 3), st.sampled_from([0.0, 0.01, 1.0]))
    def test_it_falls_at_every_block_step(self, seed, depth, penalty):
        given = problem(seed, penalty=penalty)
        tree, history = descend(given, grow(given, depth), tol=1e-4, max_sweeps=3)
        assert (np.diff(history) <= 1e-12).all()
        assert history[-1] == tree.objective(given)

    def test_sweeps_end_when_one_brings_little_or_at_their_limit(self):
        given = problem()
        start = grow(given, 2)
        _, history = descend(given, start, tol=1e-3, max_sweeps=50)
        falls = -np.diff(history[::3]) / history[:-1:3]
        assert (falls[:-1] > 1e-3).all()
        assert falls[-1] <= 1e-3
        assert len(descend(given, start, tol=0.0, max_sweeps=2)[1]) == 1 + 2 * 3

    def test_without_penalties_one_node_is_least_squares(self):
        given = problem(penalty=0.0, sparsity=0.0)
        inputs = np.column_stack([given.values, np.ones(40)]) * np.sqrt(given.row_weights)[:, None]
        expected, *_ = np.linalg.lstsq(inputs, given.targets * np.sqrt(given.row_weights))
        np.testing.assert_allclose(grow(given, 1).lines[0, :-1], expected, atol=1e-4)

    def test_the_start_sends_about_half_the_weight_either_way(self):
        given = problem()
        line = grow(given, 2).lines[0]
        above = given.values @ line[:-2] + line[-2] > line[-1]
        assert 0.4 < given.row_weights[above].sum() < 0.6


class TestTree:
    def test_the_score_of_a_row_selects_its_child(self):
        tree = ClassifierTree.from_weights(
            np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0]]), np.zeros(3), np.array([0.5, 0.0, 0.0])
        )
        values = np.array([[1.0, -3.0], [0.5, 4.0]])
        assert tree.exits(values).tolist() == [1, 2]
        assert tree.answers(values, tree.exits(values)).tolist() == [-3.0, 8.0]

    def test_a_path_holds_its_node_and_all_above(self):
        assert np.flatnonzero(on_path(7)[:, 4]).tolist() == [0, 1, 4]

    def test_a_path_buys_the_features_that_its_nodes_read(self):
        weights = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.0]])
        tree = ClassifierTree.from_weights(weights, np.zeros(3), np.zeros(3))
        reads = np.array([[True, False, False], [False, True, True]])
        assert tree.bought(reads).tolist() == [[True, False], [True, True], [True, False]]

    @settings(max_examples=12, deadline=None)
    @given(st.integers(0, 10_000), st.integers(1, 4))
    def test_pruning_never_raises_the_error_of_its_rows(self, seed, depth):
        given, tree = problem(seed), hard_tree(depth, seed)
        rows = given.values, given.targets, given.row_weights
        pruned = tree.prune(*rows)
        assert pruned.error(*rows) <= tree.error(*rows)
        assert pruned.kept[0]
        assert all(pruned.kept[(node - 1) // 2] for node in np.flatnonzero(pruned.kept)[1:])

    def test_nodes_without_a_gain_are_pruned(self):
        tree = ClassifierTree.from_weights(np.ones((7, 5)), np.zeros(7), np.zeros(7))
        given = problem()
        assert tree.prune(given.values, given.targets, given.row_weights).kept.sum() == 1

    @settings(max_examples=12, deadline=None)
    @given(st.integers(0, 10_000))
    def test_new_answers_move_no_row_cost_nothing_and_fit_no_worse(self, seed):
        given, tree = problem(seed), hard_tree(3, seed)
        again = tree.refit(given.values, given.targets, np.ones(40))
        exits = tree.exits(given.values)
        assert np.array_equal(again.exits(given.values), exits)
        reads = given.reads > 0
        assert np.array_equal(again.bought(reads), tree.bought(reads))
        for node in np.unique(exits):
            here = exits == node
            missed = [one.answers(given.values, exits) - given.targets for one in (again, tree)]
            assert (missed[0][here] ** 2).sum() <= (missed[1][here] ** 2).sum() + 1e-9

    def test_a_tree_is_locked(self):
        with pytest.raises(ValueError, match="read-only"):
            hard_tree().weights[0] = 0.0

    def test_a_median_lies_between_values_with_half_the_weight_either_side(self):
        assert weighted_median(np.array([3.0, 1.0, 2.0, 4.0]), np.ones(4)) == 2.5
        assert weighted_median(np.array([1.0, 2.0, 3.0]), np.array([5.0, 1.0, 1.0])) == 1.5
        assert weighted_median(np.array([2.0, 2.0]), np.ones(2)) == 2.0
        assert weighted_median(np.array([]), np.array([])) == 0.0


class TestRows:
    def test_a_fraction_of_each_class_is_held_out(self):
        rows = np.arange(100.0)[:, None]
        labels = (np.arange(100) < 40).astype(np.uint8)
        treed = TreedRows.from_labels(rows, labels, None, 0.25, np.random.RandomState(0))
        assert [(treed.targets[treed.held_out] == side).sum() for side in (-1, 1)] == [15, 10]
        assert len(treed.growing().rows) + len(treed.pruning().rows) == 100

    def test_equal_rows_become_one_in_any_order(self):
        rng = np.random.default_rng(0)
        rows = rng.integers(0, 3, size=(60, 2)).astype(float)
        labels = rng.integers(0, 2, size=60).astype(np.uint8)
        order = rng.permutation(60)
        one = TreedRows.from_labels(rows, labels, None, 0.3, np.random.RandomState(1))
        two = TreedRows.from_labels(rows[order], labels[order], None, 0.3, np.random.RandomState(1))
        assert one.weights.sum() == 60 > len(one.rows)
        assert np.array_equal(one.rows, two.rows)
        assert np.array_equal(one.held_out, two.held_out)

    def test_growing_rows_prune_if_none_are_held_out(self):
        rows = TreedRows.from_labels(
            np.eye(4), np.array([0, 0, 1, 1], np.uint8), None, 0.0, np.random.RandomState(0)
        )
        assert len(rows.pruning().rows) == len(rows.growing().rows) == 4


class TestLearners:
    def test_inputs_have_mean_0_and_deviation_1_with_weights(self):
        rows, weights = np.array([[1.0, 7.0], [3.0, 7.0]]), np.array([3.0, 1.0])
        learners = WeakLearners.from_inputs(rows, weights, np.eye(2, dtype=bool))
        values = learners.values(rows)
        assert weights @ values == pytest.approx([0.0, 0.0])
        assert weights @ values**2 == pytest.approx([4.0, 0.0])

    def test_trees_read_the_features_that_they_split_on(self, small_problem):
        X, y = small_problem
        targets = np.where(y == 1, 1.0, -1.0)
        learners = WeakLearners.from_boosting(X, targets, np.ones(120), np.eye(6, dtype=bool), 0)
        values = learners.values(X)
        assert values.shape == (120, learners.reads.shape[1])
        for feature in range(6):
            shuffled = X.copy()
            shuffled[:, feature] = X[::-1, feature]
            moved = (learners.values(shuffled) != values).any(axis=0)
            assert not moved[~learners.reads[feature]].any()


class TestClassifier:
    @pytest.mark.parametrize("weak_learners", ["features", "trees"])
    def test_a_row_pays_for_features_with_a_weight_on_its_path(self, small_problem, weak_learners):
        X, y = small_problem
        costs = np.array([1.0, 2.0, 4.0, 8.0, 16.0, 32.0])
        rival = CSTC(costs, penalty=0.002, weak_learners=weak_learners, random_state=0).fit(X, y)
        values = rival.learners_.values(X)
        for row, paid in zip(values, rival.decide(X).cost, strict=True):
            node, way = 0, []
            while node < 7 and (node == 0 or rival.tree_.kept[node]):
                way.append(node)
                score = rival.tree_.weights[node] @ row + rival.tree_.intercepts[node]
                node = 2 * node + (1 if score > rival.tree_.thresholds[node] else 2)
            used = (rival.tree_.weights[way] != 0).any(axis=0)
            assert paid == costs[rival.learners_.reads[:, used].any(axis=1)].sum()

    def test_a_row_pays_for_evaluating_every_classifier_on_its_path(self):
        X, y = bent_problem()
        rival = CSTC(FeatureCosts(("a", "b"), [1.0, 2.0], evaluation=0.25), **SHARP).fit(X, y)
        exits = rival.tree_.exits(rival.learners_.values(X))
        met = np.floor(np.log2(exits + 1)) + 1
        assert len(np.unique(met)) > 1
        assert np.array_equal(rival.decide(X).cost, rival.path_costs_[exits] + 0.25 * met)
        assert rival.decide(X).cost.max() <= rival.model_cost_ == 3 + 0.25 * met.max()

    def test_features_that_no_path_has_bought_change_nothing(self, small_problem):
        X, y = small_problem
        rival = CSTC([1, 1, 1, 1, 50, 50], random_state=0).fit(X, y)
        assert 0 < rival.used_.sum() < 6
        noise = np.where(rival.used_, X, 1e6)
        assert np.array_equal(rival.predict_proba(noise), rival.predict_proba(X))

    def test_cost_falls_as_the_penalty_rises_down_to_nothing(self, small_problem):
        X, y = small_problem
        paid = [
            CSTC(penalty=penalty, depth=2, random_state=0).fit(X, y).evaluate(X, y).cost
            for penalty in (0.0, 0.2, 10.0)
        ]
        assert paid[0] > paid[1] > paid[2] == 0.0

    def test_two_equal_rows_count_as_one_of_twice_the_weight(self, small_problem):
        X, y = small_problem
        twice = CSTC(random_state=0).fit(np.r_[X, X[:30]], np.r_[y, y[:30]])
        weighted = CSTC(random_state=0).fit(X, y, np.r_[np.full(30, 2.0), np.ones(90)])
        assert np.array_equal(twice.predict_proba(X), weighted.predict_proba(X))

    def test_answers_become_probabilities_in_between_0_and_1(self, small_problem):
        X, y = small_problem
        rival = CSTC(penalty=0.0, random_state=0).fit(X, y)
        values = rival.learners_.values(3 * X)
        answers = rival.tree_.answers(values, rival.tree_.exits(values))
        assert (np.abs(answers) > 1).any()
        expected = np.clip((answers + 1) / 2, 0, 1)
        assert np.array_equal(rival.predict_proba(3 * X)[:, 1], expected)

    def test_columns_of_a_group_are_paid_for_once(self, small_problem):
        X, y = small_problem
        names = list("abcdef")
        costs = FeatureCosts.from_mapping(
            {"panel": {"cost": 9, "columns": ["a", "b", "c"]}, "d": 1, "e": 1, "f": 1}, names
        )
        rival = CSTC(costs, penalty=0.0, random_state=0).fit(pd.DataFrame(X, columns=names), y)
        assert rival.model_cost_ == 12.0

    def test_the_objective_is_kept_and_never_rises(self, small_problem):
        rival = CSTC(random_state=0).fit(*small_problem)
        assert (np.diff(rival.objective_) <= 1e-12).all()

    def test_a_sharp_tree_separates_classes_that_no_single_line_can(self):
        X, y = bent_problem()
        scores = [CSTC(depth=depth, **SHARP).fit(X, y).score(X, y) for depth in (1, 3)]
        assert scores[1] > scores[0] + 0.05

    def test_the_same_seed_gives_the_same_tree(self, small_problem):
        rival = CSTC(random_state=3).fit(*small_problem)
        again = clone(rival).fit(*small_problem)
        assert np.array_equal(rival.tree_.weights, again.tree_.weights)

    def test_small_weights_become_0(self):
        weights = np.array([[2.0, 0.019, -0.021], [0.0, -1.0, 1e-4]])
        assert without_small(weights).tolist() == [[2.0, 0.0, -0.021], [0.0, -1.0, 0.0]]
        assert without_small(np.array([[9e-4, -2e-3]])).tolist() == [[0.0, -2e-3]]

    def test_the_grid_goes_from_everything_to_next_to_nothing(self, small_problem):
        costs = FeatureCosts.from_array(100.0 * np.arange(1, 7))
        grid = CSTC.grid(costs, 120)
        penalties = sorted({setting["penalty"] for setting in grid})
        paid = [
            CSTC(costs, penalty=penalty, depth=2, random_state=0).fit(*small_problem).model_cost_
            for penalty in (penalties[0], penalties[-1])
        ]
        assert paid[0] == costs.total
        assert paid[1] <= 100.0

    def test_more_than_two_classes_are_refused(self):
        with pytest.raises(DataError, match="y must hold two classes, got 3"):
            CSTC().fit(np.eye(6), [0, 0, 1, 1, 2, 2])

    @pytest.mark.parametrize(
        ("setting", "rule"),
        [
            ({"penalty": -1}, r"penalty must be a number in \[0, 1e\+100\], got -1"),
            ({"sparsity": "much"}, "sparsity must be a number"),
            ({"depth": 0}, "depth must be a whole number from 1 to 8, got 0"),
            ({"weak_learners": "stumps"}, 'weak_learners must be one of "features", "trees"'),
            ({"sharpness": 0}, r"sharpness must be a number in \(0, 1e\+06\], got 0"),
            ({"validation_fraction": 1}, r"validation_fraction must be a number in \[0, 1\)"),
            ({"tol": -0.1}, r"tol must be a number in \[0, 1\]"),
            ({"max_sweeps": 1.5}, "max_sweeps must be a whole number from 0 up"),
        ],
    )
    def test_a_parameter_outside_its_rule_is_refused(self, small_problem, setting, rule):
        with pytest.raises(ParameterError, match=rule):
            CSTC(**setting).fit(*small_problem)
