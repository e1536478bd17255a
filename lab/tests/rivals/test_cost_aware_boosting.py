import sys

import numpy as np
import pytest

from emsco import EMSCOError
from emsco_lab.rivals import CostAwareBoosting

COSTS = np.array([1.0, 5.0, 20.0, 100.0])


@pytest.fixture(params=[2, 3])
def problem(request):
    rng = np.random.default_rng(11)
    y = rng.integers(0, request.param, size=250)
    return rng.normal(size=(250, 4)) + y[:, None] * np.array([0.4, 0.6, 0.8, 1.2]), y


def quick(**settings):
    return CostAwareBoosting(COSTS, **{"n_trees": 15, "random_state": 0, **settings})


def walked_costs(rival, rows):
    """Walk every row down every tree, and collect the features it meets."""
    trees = rival.booster_.dump_model(num_iteration=rival.n_trees)["tree_info"]
    paid = []
    for row in rows:
        met = set()
        for tree in trees:
            node = tree["tree_structure"]
            while "split_feature" in node:
                met.add(node["split_feature"])
                below = row[node["split_feature"]] <= node["threshold"]
                node = node["left_child" if below else "right_child"]
        paid.append(sum(COSTS[i] for i in met))
    return np.array(paid)


@pytest.mark.parametrize("penalty", ["lazy", "coupled"])
@pytest.mark.parametrize("strength", [0.0, 0.03, 0.3])
def test_a_row_pays_for_the_features_on_its_paths(problem, penalty, strength):
    X, y = problem
    rival = quick(penalty=penalty, strength=strength).fit(X, y)
    for _, stage in rival.staged():
        assert np.array_equal(stage.decide(X).cost, walked_costs(stage, X))


def test_the_leaves_tell_the_probabilities_of_lightgbm(problem):
    X, y = problem
    for _, stage in quick().fit(X, y).staged():
        own = stage.booster_.predict(X, num_iteration=stage.n_trees)
        own = own if own.ndim == 2 else np.column_stack([1 - own, own])
        np.testing.assert_allclose(stage.predict_proba(X), own, rtol=0, atol=1e-14)


@pytest.mark.parametrize("penalty", ["lazy", "coupled"])
def test_cost_falls_as_the_penalty_grows_stronger(problem, penalty):
    X, y = problem
    costs = [
        quick(penalty=penalty, strength=strength).fit(X, y).decide(X).cost.mean()
        for strength in (0, 0.3, 10)
    ]
    assert costs[0] > costs[1] > costs[2] == 0


@pytest.mark.parametrize("penalty", ["lazy", "coupled"])
def test_a_first_split_must_gain_the_strength_for_each_row_and_share_of_the_mean_cost(penalty):
    rng = np.random.default_rng(0)
    column = rng.integers(0, 20, size=400).astype(float)
    y = (column + rng.normal(scale=6, size=400) > 10).astype(int)
    X = np.column_stack([column, np.zeros((400, 3))])
    slopes, bend = y.mean() - y, y.mean() * (1 - y.mean())
    gain = max(
        sum(slopes[side].sum() ** 2 / (bend * side.sum()) for side in (column <= cut, column > cut))
        for cut in range(19)
    )
    just = gain / (400 * COSTS[0] / COSTS.mean())
    bought = [
        quick(strength=just * by, penalty=penalty, n_trees=1, max_leaves=2).fit(X, y).used_[0]
        for by in (0.99, 1.01)
    ]
    assert bought == [True, False]


def test_costs_in_another_unit_change_nothing_but_the_unit(problem):
    X, y = problem
    plain = quick(strength=0.05).fit(X, y)
    expensive = quick(strength=0.05).set_params(costs=COSTS * 64).fit(X, y)
    assert np.array_equal(plain.predict_proba(X), expensive.predict_proba(X))
    assert np.allclose(expensive.decide(X).cost, plain.decide(X).cost * 64)


def test_a_stage_equals_a_fit_with_fewer_trees(problem):
    X, y = problem
    stages = {rival.n_trees: (settings, rival) for settings, rival in quick().fit(X, y).staged()}
    assert list(stages) == [1, 2, 5, 10, 15]
    settings, stage = stages[5]
    fresh = quick(n_trees=5).fit(X, y)
    assert settings == {"n_trees": 5}
    assert np.array_equal(stage.predict_proba(X), fresh.predict_proba(X))
    assert np.array_equal(stage.decide(X).cost, fresh.decide(X).cost)
    assert np.array_equal(stage.used_, fresh.used_)


def test_the_model_costs_all_features_that_rows_may_meet(problem):
    X, y = problem
    rival = quick(strength=0.2).fit(X, y)
    splits = rival.booster_.feature_importance() > 0
    assert np.array_equal(rival.used_, splits)
    assert rival.model_cost_ == COSTS[splits].sum()


def test_the_same_seed_gives_the_same_rival_on_any_number_of_threads(problem):
    X, y = problem
    one, two = quick().fit(X, y), quick(n_jobs=2).fit(X, y)
    assert np.array_equal(one.predict_proba(X), two.predict_proba(X))


def test_every_row_is_accepted(problem):
    assert quick().fit(*problem).evaluate(*problem).coverage == 1.0


def test_too_few_rows_for_a_split_cost_nothing():
    rival = quick().fit(np.arange(16.0).reshape(4, 4), [0, 1, 0, 1])
    assert rival.decide(np.ones((2, 4))).cost.tolist() == [0, 0]
    assert not rival.used_.any()


@pytest.mark.parametrize("grid", [CostAwareBoosting.grid, CostAwareBoosting.comparison_grid])
def test_the_grids_have_both_penalties_and_none_at_all(grid):
    settings = grid(None, 0)
    assert {one["penalty"] for one in settings} == {"lazy", "coupled"}
    assert min(one["strength"] for one in settings) == 0


def test_a_comparison_fits_without_a_penalty_once_for_each_size_of_trees():
    settings = CostAwareBoosting.comparison_grid(None, 0)
    free = [one["max_leaves"] for one in settings if one["strength"] == 0]
    assert free == [8, 31]


def test_without_lightgbm_the_error_says_how_to_install_it(problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(EMSCOError, match="must be installed for this: pip install lightgbm"):
        quick().fit(*problem)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"penalty": "eager"}, 'penalty must be one of "lazy", "coupled", got \'eager\''),
        ({"strength": -1}, "strength must be a number in"),
        ({"n_trees": 0}, "n_trees must be a whole number from 1 up, got 0"),
        ({"max_leaves": 1}, "max_leaves must be a whole number from 2"),
        ({"min_rows": 0}, "min_rows must be a whole number from 1 up"),
        ({"learning_rate": 0}, "learning_rate must be a number in"),
    ],
)
def test_parameters_outside_their_rules_are_refused(problem, settings, says):
    with pytest.raises(ValueError, match=says):
        quick(**settings).fit(*problem)
