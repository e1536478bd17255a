from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit

from emsco import FeatureCosts
from emsco_lab.rivals import CSTC
from emsco_lab.rivals.cstc import ClassifierTree, SoftProblem, on_path, weighted_median


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    weights = rng.uniform(0.5, 2, 12)
    return SoftProblem(
        rng.normal(size=(12, 3)),
        rng.choice([-1.0, 1.0], 12),
        weights / weights.sum(),
        np.array([[1.0, 1, 0], [0, 0, 1]]),
        np.array([1.0, 3.0]),
        penalty=0.3,
        sparsity=0.1,
        sharpness=2.0,
    )


@pytest.fixture
def lines():
    return np.random.default_rng(1).normal(size=(7, 5))


def test_the_objective_is_the_sum_of_the_paper(problem, lines):
    total = 0.1 * np.sqrt(lines[:, :3] ** 2 + 1e-8).sum()
    for x, y, weight in zip(problem.values, problem.targets, problem.weights, strict=True):
        reach = np.zeros(15)
        reach[0] = weight
        for node in range(7):
            score = x @ lines[node, :3] + lines[node, 3]
            up = expit(2.0 * (score - lines[node, 4]))
            reach[2 * node + 1 : 2 * node + 3] = reach[node] * up, reach[node] * (1 - up)
            total += reach[node] * (score - y) ** 2
            if node >= 3:
                squares = (lines[on_path(7)[:, node], :3] ** 2).sum(axis=0)
                costs = np.sqrt(squares[0] + squares[1] + 1e-8), 3 * np.sqrt(squares[2] + 1e-8)
                total += 0.3 * reach[node] * sum(costs)
    assert problem.objective(lines) == pytest.approx(total)


@pytest.mark.parametrize("node", range(7))
def test_terms_of_a_node_differ_from_it_by_a_constant_and_have_the_right_gradient(
    problem, lines, node
):
    around = problem._around(lines, node)
    moved = lines.copy()
    moved[node] += np.array([0.3, -0.2, 0.5, 0.1, -0.4])
    change = problem.terms(moved[node], *around)[0] - problem.terms(lines[node], *around)[0]
    assert change == pytest.approx(problem.objective(moved) - problem.objective(lines))
    numeric = approx_fprime(lines[node], lambda line: problem.terms(line, *around)[0])
    assert np.allclose(problem.terms(lines[node], *around)[1], numeric, atol=1e-5)


def test_without_penalties_one_node_is_least_squares(problem):
    free = replace(problem, penalty=0.0, sparsity=0.0)
    ((*line, _),), _ = free.descend(free.grow(1))
    root = np.sqrt(problem.weights)[:, None]
    inputs = np.column_stack([problem.values, np.ones(12)])
    expected = np.linalg.lstsq(root * inputs, root[:, 0] * problem.targets)[0]
    assert np.allclose(line, expected, atol=1e-3)


def test_the_objective_never_rises_and_cost_falls_as_the_penalty_rises(table):
    X, y = table
    paid = []
    for penalty in (0.0, 0.03, 10.0):
        rival = CSTC([1, 1, 20, 5, 5, 1], penalty=penalty, random_state=0).fit(X, y)
        paid.append(rival.decide(X).cost.mean())
        assert all(after <= before + 1e-12 for before, after in pairwise(rival.objective_))
    assert paid[0] > paid[2] == 0


def test_a_row_pays_for_evaluating_every_classifier_on_its_path():
    X = np.random.default_rng(0).normal(size=(300, 2))
    y = X[:, 0] * X[:, 1] > 0  # which no single line separates
    costs = FeatureCosts(("x0", "x1"), np.ones(2), evaluation=0.25)
    rival = CSTC(costs, penalty=1e-3, sharpness=10, random_state=0).fit(X, y)
    decisions = rival.decide(X)
    bought = decisions.cost - 0.25 * decisions.stage
    assert rival.score(X, y) > 0.8
    assert decisions.stage.max() > 1
    assert np.array_equal(bought, bought.round())


@pytest.mark.parametrize("seed", range(4))
def test_pruning_lets_no_error_rise_and_new_answers_fit_no_worse(seed):
    rng = np.random.default_rng(seed)
    inputs = np.column_stack([rng.normal(size=(60, 4)), np.ones(60)])
    targets, weights = rng.choice([-1.0, 1.0], 60), rng.uniform(0.5, 2, 60)
    tree = ClassifierTree.from_lines(rng.normal(size=(15, 6)))

    def loss(measure):
        answers = (inputs * tree.answers[tree.exits(inputs)]).sum(axis=1)
        return weights @ measure(answers)

    before = loss(lambda answers: (answers > 0) != (targets > 0))
    tree.prune(inputs, targets, weights)
    assert loss(lambda answers: (answers > 0) != (targets > 0)) <= before
    assert tree.kept[0]
    squares, exits = loss(lambda answers: (answers - targets) ** 2), tree.exits(inputs)
    tree.refit(inputs, targets, weights)
    assert loss(lambda answers: (answers - targets) ** 2) <= squares
    assert np.array_equal(tree.exits(inputs), exits)


def test_a_median_lies_between_values_with_half_the_weight_either_side():
    assert weighted_median(np.array([3.0, 1.0, 2.0]), np.array([2.0, 1.0, 1.0])) == 2.5
    assert weighted_median(np.array([4.0, 4.0]), np.ones(2)) == 4.0


def test_two_equal_rows_count_as_one_of_twice_the_weight_in_any_order(table):
    X, y = table[0].to_numpy(), table[1]
    twice = CSTC(random_state=0).fit(np.tile(X, (2, 1)), np.tile(y, 2))
    heavy = CSTC(random_state=0).fit(X[::-1], y[::-1], np.full(len(y), 2.0))
    assert np.allclose(twice.predict_proba(X), heavy.predict_proba(X))
