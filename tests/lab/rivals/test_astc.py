"""ASTC: the features that a node takes, and the budget of every row."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.utils.estimator_checks import parametrize_with_checks

from emsco import FeatureCosts
from emsco.costs import Fees
from emsco.errors import DataError, ParameterError
from emsco.lab.rivals import ASTC
from emsco.lab.rivals.astc import pick_features
from emsco.lab.rivals.set_costs import SetCosts


def squared_error(inputs, targets, weights) -> float:
    table = np.column_stack([np.ones(len(targets)), inputs]) * np.sqrt(weights)[:, None]
    scaled = targets * np.sqrt(weights)
    coefs, *_ = np.linalg.lstsq(table, scaled)
    return float(((scaled - table @ coefs) ** 2).sum())


def plain_pick(inputs, targets, weights, features, prices, bought, budget) -> list[int]:
    """Pick features the plain way, with a regression and a bill for every candidate."""
    picked, known = [], set(np.flatnonzero(bought).tolist())

    def bill(some):
        fees = zip(prices.fees.amounts, prices.fees.members, strict=True)
        return sum(prices.features[list(some)]) + sum(
            fee for fee, of in fees if of[list(some)].any()
        )

    def error(some):
        return squared_error(inputs[:, features[some].any(axis=0)], targets, weights)

    while True:
        best, highest = None, (False, 0.0)
        bills = np.array([bill({*known, f}) for f in range(len(features))])
        new = bills - bill(known)
        open_to = (new == 0) | (bills <= budget)
        for f in (f for f in np.flatnonzero(open_to).tolist() if f not in picked):
            after, now = error([*picked, f]), error(picked)
            lower = weights.sum() * np.log(after / now) + 2 * features[f].sum() < 0
            rank = (new[f] == 0, (now - after) / (new[f] or 1.0))
            if lower and rank > highest:
                best, highest = f, rank
        if best is None:
            return picked
        picked.append(best)
        known.add(best)


@parametrize_with_checks([ASTC(random_state=0)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_a_node_takes_what_a_regression_for_every_candidate_would(seed):
    rng = np.random.default_rng(seed)
    inputs, weights = rng.normal(size=(50, 6)), rng.uniform(0.5, 2, size=50)
    targets = np.sign(inputs @ rng.normal(size=6) + rng.normal(size=50))
    features = np.eye(5, dtype=bool)[:, [0, 1, 1, 2, 3, 4]]
    costs, bought = rng.integers(0, 9, size=5) + 0.5, rng.random(5) < 0.3
    n_fees = rng.integers(0, 3)
    fees = Fees(rng.integers(0, 9, size=n_fees) + 0.0, rng.random((n_fees, 5)) < 0.5)
    for array in (inputs, weights, targets, features, costs, bought):
        array.setflags(write=False)
    budget = float(rng.integers(5, 30))
    given = inputs, targets, weights, features, SetCosts(costs, fees), bought, budget
    assert pick_features(*given).tolist() == plain_pick(*given)


def test_paid_features_come_first_then_the_best_gain_per_cost():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(400, 3))
    targets = inputs @ [3.0, 2.0, 1.0]
    prices = SetCosts(np.array([9.0, 1.0, 1.0]), Fees.from_fees([], "abcd"[:3]))
    rest = inputs, targets, np.ones(400), np.eye(3, dtype=bool), prices
    assert pick_features(*rest, np.zeros(3, bool), 99.0).tolist() == [1, 2, 0]
    assert pick_features(*rest, np.array([False, False, True]), 99.0).tolist() == [2, 1, 0]
    assert pick_features(*rest, np.zeros(3, bool), 9.0).tolist() == [1, 2]


def test_noise_and_copies_are_not_picked():
    rng = np.random.default_rng(1)
    signal = rng.normal(size=(1000, 1))
    inputs = np.column_stack([signal, signal, np.full(1000, 3.0), rng.normal(size=1000)])
    targets = signal[:, 0] + 0.1 * np.tile([1.0, -1.0], 500)
    prices = SetCosts(np.ones(4), Fees.from_fees([], "abcd"[:4]))
    rest = np.ones(1000), np.eye(4, dtype=bool), prices, np.zeros(4, bool)
    assert pick_features(inputs, targets, *rest, 9.0).tolist() == [0]


@pytest.mark.parametrize("depth", [1, 2, 4])
@pytest.mark.parametrize("budget", [0, 3, 12, 40])
def test_no_row_pays_more_than_the_budget(small_problem, depth, budget):
    X, y = small_problem
    costs = [1, 2, 4, 8, 16, 32]
    rival = ASTC(costs, budget=budget, depth=depth, random_state=0).fit(X, y)
    assert rival.decide(5 * X).cost.max() <= budget
    assert (rival.path_costs_ <= budget).all()


def test_lower_levels_may_spend_more(small_problem):
    X, y = small_problem
    rival = ASTC(budget=3, depth=3, validation_fraction=0.0, random_state=0).fit(X, y)
    levels = [rival.path_costs_[2**level - 1 : 2 ** (level + 1) - 1] for level in range(3)]
    assert [bool((costs <= level + 1).all()) for level, costs in enumerate(levels)] == [True] * 3
    assert levels[0].max() == 1.0


def test_half_the_rows_go_either_way_at_the_root(small_problem):
    X, y = small_problem
    rival = ASTC(depth=2, validation_fraction=0.0).fit(X, y)
    values = rival.learners_.values(X)
    above = values @ rival.tree_.weights[0] + rival.tree_.intercepts[0] > rival.tree_.thresholds[0]
    assert above.sum() == 60


def test_features_that_were_not_bought_change_nothing(small_problem):
    X, y = small_problem
    rival = ASTC(budget=2, random_state=0).fit(X, y)
    assert 0 < rival.used_.sum() < 6
    noise = np.where(rival.used_, X, 1e6)
    assert np.array_equal(rival.predict_proba(noise), rival.predict_proba(X))


def test_the_grid_goes_from_everything_to_next_to_nothing():
    costs = FeatureCosts.from_array([10.0, 100.0, 1000.0])
    budgets = {setting["budget"] for setting in ASTC.grid(costs, 100)}
    assert max(budgets) == 1110.0
    assert min(budgets) < 10.0


def test_more_than_two_classes_are_refused():
    with pytest.raises(DataError, match="y must hold two classes, got 3"):
        ASTC().fit(np.eye(6), [0, 0, 1, 1, 2, 2])


@pytest.mark.parametrize(
    ("setting", "rule"),
    [
        ({"budget": -1}, r"budget must be a number in \[0, 1e\+100\], got -1"),
        ({"depth": 9}, "depth must be a whole number from 1 to 8, got 9"),
        ({"validation_fraction": None}, r"validation_fraction must be a number in \[0, 1\)"),
    ],
)
def test_a_parameter_outside_its_rule_is_refused(small_problem, setting, rule):
    with pytest.raises(ParameterError, match=rule):
        ASTC(**setting).fit(*small_problem)
