import sys
from itertools import combinations

import numpy as np
import pytest

from emsco import EMSCOError, FeatureCosts
from emsco_lab.rivals import FixedSubset

COSTS = np.array([1.0, 5.0, 20.0, 100.0])
GAINS = np.array([0.4, 0.8, 1.2, 1.6])


@pytest.fixture(params=[2, 3])
def problem(request):
    rng = np.random.default_rng(7)
    y = rng.integers(0, request.param, size=300)
    return rng.normal(size=(300, 4)) + y[:, None] * GAINS, y


def quick(**settings):
    return FixedSubset(**{"costs": COSTS, "n_trees": 15, "random_state": 0, **settings})


def test_all_features_are_bought_if_the_budget_affords_them(problem):
    rival = quick(budget=1.0).fit(*problem)
    assert rival.used_.all()
    assert set(rival.decide(problem[0]).cost) == {COSTS.sum()}


def test_it_is_lightgbm_on_the_subset(problem):
    lightgbm = pytest.importorskip("lightgbm")
    X, y = problem
    rival = quick(budget=0.3).fit(X, y)
    params = {"num_leaves": 8, "min_data_in_leaf": 5, "num_threads": 1, "verbosity": -1}
    params |= (
        {"objective": "multiclass", "num_class": 3} if y.max() > 1 else {"objective": "binary"}
    )
    plain = lightgbm.train(params, lightgbm.Dataset(X[:, rival.used_], y), 15)
    expected = plain.predict(X[:, rival.used_])
    probabilities = rival.predict_proba(X)
    assert np.allclose(
        probabilities if y.max() > 1 else probabilities[:, 1], expected, rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("budget", [0.0, 0.005, 0.05, 0.21, 0.9])
def test_every_row_pays_for_the_subset_and_stays_within_the_budget(problem, budget):
    rival = quick(budget=budget).fit(*problem)
    (cost,) = set(rival.decide(problem[0]).cost)
    assert cost == COSTS[rival.used_].sum() == rival.model_cost_
    assert cost <= budget * COSTS.sum()


def test_without_money_the_shares_of_the_classes_are_the_answer(problem):
    X, y = problem
    rival = quick(budget=0.0).fit(X, y)
    assert not rival.used_.any()
    assert np.allclose(rival.predict_proba(X), np.bincount(y) / len(y), atol=1e-6)


def test_an_expensive_feature_is_no_obstacle_to_cheap_ones(problem):
    X, y = problem
    X = np.column_stack([X, 10.0 * y])  # beats all others, also per unit of cost
    rival = quick(costs=[*COSTS, 200.0], budget=0.02).fit(X, y)
    assert rival.used_[1]
    assert not rival.used_[2:].any()


def test_both_ways_of_taking_features_are_tried():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, size=400)
    X = rng.normal(size=(400, 2)) + y[:, None] * [0.7, 3.0]
    by_gain = quick(costs=[1.0, 10.0], budget=0.95).fit(X, y)  # per unit of cost: the first
    assert by_gain.used_.tolist() == [False, True]


def test_useless_features_are_left_even_if_there_is_money():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, size=1200)
    X = np.column_stack([y + rng.normal(scale=0.01, size=1200), np.zeros((1200, 3))])
    assert quick(budget=0.99).fit(X, y).used_.tolist() == [True, False, False, False]


def test_free_features_are_taken_with_any_budget(problem):
    rival = quick(costs=[0.0, 5.0, 20.0, 100.0], budget=0.0).fit(*problem)
    assert rival.used_.tolist() == [True, False, False, False]


def test_the_subset_is_among_the_best_of_its_price():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, size=900)
    X = rng.normal(size=(900, 5)) + y[:, None] * [1.0, 0.9, 0.3, 0.2, 0.1]
    rival = quick(costs=np.ones(5), budget=0.4).fit(X[:600], y[:600])
    scores = {
        pair: quick(costs=np.ones(2)).fit(X[:600, pair], y[:600]).score(X[600:, pair], y[600:])
        for pair in map(list, combinations(range(5), 2))
        for pair in [tuple(pair)]
    }
    assert rival.score(X[600:], y[600:]) >= sorted(scores.values())[-2] - 0.02


def test_columns_of_a_group_are_bought_together(problem):
    X, y = problem
    groups = {"panel": ["x2", "x3"]}
    costs = FeatureCosts.from_mapping(
        {"x0": 1, "x1": 5, "panel": 4}, [f"x{i}" for i in range(4)], groups
    )
    rival = quick(costs=costs, budget=0.4).fit(X, y)
    assert rival.used_.tolist() == [False, False, True]
    assert rival.booster_.num_feature() == 2


def test_a_stage_equals_a_fit_of_its_settings(problem):
    X, y = problem
    stages = list(quick().fit(X, y).staged())
    assert [settings for settings, _ in stages][-3:] == [
        {"budget": 1.0, "max_leaves": 4, "n_trees": 15},
        {"budget": 1.0, "max_leaves": 8, "n_trees": 10},
        {},
    ]
    for settings, stage in stages[::7]:
        fresh = quick(**settings).fit(X, y)
        assert np.array_equal(stage.used_, fresh.used_)
        assert np.array_equal(stage.predict_proba(X), fresh.predict_proba(X))
        assert np.array_equal(stage.decide(X).cost, fresh.decide(X).cost)


def test_the_same_seed_gives_the_same_rival_on_any_number_of_threads(problem):
    X, y = problem
    one, two = quick(budget=0.5).fit(X, y), quick(budget=0.5, n_jobs=2).fit(X, y)
    assert np.array_equal(one.predict_proba(X), two.predict_proba(X))


def test_subsets_are_scored_on_some_of_many_rows(problem):
    X, y = (np.repeat(part, 12, axis=0) for part in problem)
    assert quick(budget=0.3).fit(X, y).score(X, y) > 1.4 / len(set(y))


def test_without_lightgbm_the_error_says_how_to_install_it(problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(EMSCOError, match="must be installed for this: pip install lightgbm"):
        quick().fit(*problem)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"budget": 20}, r"budget must be a number in \[0, 1\], got 20; did you mean 0.2\?"),
        ({"n_trees": 0}, "n_trees must be a whole number from 1 up, got 0"),
        ({"max_leaves": 1}, "max_leaves must be a whole number from 2"),
        ({"min_rows": 0}, "min_rows must be a whole number from 1 up"),
        ({"learning_rate": 0}, "learning_rate must be a number in"),
    ],
)
def test_parameters_outside_their_rules_are_refused(problem, settings, says):
    with pytest.raises(ValueError, match=says):
        quick(**settings).fit(*problem)
