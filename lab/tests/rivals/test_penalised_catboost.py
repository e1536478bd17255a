import json
import sys

import numpy as np
import pytest

from emsco import DataError, EMSCOError
from emsco_lab.rivals import PenalisedCatBoost

pytest.importorskip("catboost")

COSTS = np.array([1.0, 5.0, 20.0, 100.0])
KINDS = [("per_row", "depthwise"), ("first_use", "symmetric"), ("per_row", "symmetric")]


@pytest.fixture(params=[2, 3])
def problem(request):
    rng = np.random.default_rng(11)
    y = rng.integers(0, request.param, size=250)
    return rng.normal(size=(250, 4)) + y[:, None] * np.array([0.4, 0.6, 0.8, 1.2]), y


def quick(**settings):
    return PenalisedCatBoost(COSTS, **{"n_trees": 12, "random_state": 0, **settings})


def model_of(rival, folder):
    rival.booster_.save_model(str(folder / "model.json"), format="json")
    return json.loads((folder / "model.json").read_text())


def met_by(tree, row):
    """Features that one row meets in one tree, walked split by split."""
    if "splits" in tree:
        return {split["float_feature_index"] for split in tree["splits"] or []}
    met, node = set(), tree
    while "split" in node:
        split = node["split"]
        met.add(split["float_feature_index"])
        above = np.float32(row[split["float_feature_index"]]) > np.float32(split["border"])
        node = node["right" if above else "left"]
    return met


@pytest.mark.parametrize(("penalty", "policy"), KINDS)
@pytest.mark.parametrize("strength", [0.0, 0.05, 0.3])
def test_a_row_pays_for_the_features_on_its_paths(problem, tmp_path, penalty, policy, strength):
    X, y = problem
    rival = quick(penalty=penalty, policy=policy, strength=strength).fit(X, y)
    model = model_of(rival, tmp_path)
    trees = model["trees" if "trees" in model else "oblivious_trees"]
    for _, stage in rival.staged():
        met = [set().union(*(met_by(tree, row) for tree in trees[: stage.n_trees])) for row in X]
        assert stage.decide(X).cost.tolist() == [COSTS[list(one)].sum() for one in met]
        assert set(np.flatnonzero(stage.used_)) >= set().union(*met)


@pytest.mark.parametrize(("penalty", "policy"), KINDS[:2])
def test_cost_falls_as_the_penalty_grows_stronger(problem, penalty, policy):
    X, y = problem
    costs = [
        quick(penalty=penalty, policy=policy, strength=strength).fit(X, y).decide(X).cost.mean()
        for strength in (0, 0.2, 10)
    ]
    assert costs[0] > costs[1] > costs[2]


def test_depthwise_trees_can_buy_nothing(problem):
    rival = quick(strength=10).fit(*problem)
    assert not rival.used_.any()
    assert rival.decide(problem[0]).cost.max() == 0


def test_costs_in_another_unit_change_nothing_but_the_unit(problem):
    X, y = problem
    plain = quick(strength=0.05).fit(X, y)
    expensive = quick(strength=0.05).set_params(costs=COSTS * 64).fit(X, y)
    assert np.array_equal(plain.predict_proba(X), expensive.predict_proba(X))
    assert np.allclose(expensive.decide(X).cost, plain.decide(X).cost * 64)


def test_a_stage_equals_a_fit_with_fewer_trees(problem):
    X, y = problem
    stages = {rival.n_trees: (settings, rival) for settings, rival in quick().fit(X, y).staged()}
    assert list(stages) == [1, 2, 5, 10, 12]
    settings, stage = stages[5]
    fresh = quick(n_trees=5).fit(X, y)
    assert settings == {"n_trees": 5}
    assert np.allclose(stage.predict_proba(X), fresh.predict_proba(X), rtol=0, atol=1e-9)
    assert np.array_equal(stage.decide(X).cost, fresh.decide(X).cost)
    assert np.array_equal(stage.used_, fresh.used_)


@pytest.mark.parametrize(("penalty", "policy"), KINDS[:2])
def test_the_same_seed_gives_the_same_rival_on_any_number_of_threads(problem, penalty, policy):
    X, y = problem
    made = [quick(penalty=penalty, policy=policy, n_jobs=n).fit(X, y) for n in (1, 1, 2)]
    first, *others = (rival.predict_proba(X) for rival in made)
    for other in others:
        assert np.allclose(first, other, rtol=0, atol=1e-9)


def test_no_files_are_left_behind(problem, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    quick().fit(*problem).decide(problem[0])
    assert not list(tmp_path.iterdir())


def test_columns_that_are_all_constant_are_refused():
    with pytest.raises(DataError, match="must have a column that is not constant"):
        quick().fit(np.ones((4, 4)), [0, 1, 1, 1])


def test_the_grid_has_both_penalties_and_none_at_all():
    grid = PenalisedCatBoost.grid(None, 0)
    assert {one["penalty"] for one in grid} == {"per_row", "first_use"}
    assert min(one["strength"] for one in grid) == 0


def test_without_catboost_the_error_says_how_to_install_it(problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "catboost", None)
    with pytest.raises(EMSCOError, match="must be installed for this: pip install catboost"):
        quick().fit(*problem)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"penalty": "lazy"}, 'penalty must be one of "first_use", "per_row", got \'lazy\''),
        ({"policy": "wild"}, 'policy must be one of "symmetric", "depthwise", got \'wild\''),
        ({"strength": -1}, "strength must be a number in"),
        ({"n_trees": 0}, "n_trees must be a whole number from 1 up, got 0"),
        ({"depth": 17}, "depth must be a whole number from 1 to 16"),
        ({"learning_rate": 0}, "learning_rate must be a number in"),
    ],
)
def test_parameters_outside_their_rules_are_refused(problem, settings, says):
    with pytest.raises(ValueError, match=says):
        quick(**settings).fit(*problem)
