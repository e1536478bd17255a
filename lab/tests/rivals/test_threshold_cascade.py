import sys
from itertools import combinations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from emsco import EMSCOError, FeatureCosts
from emsco_lab.rivals import ThresholdCascade
from emsco_lab.rivals.threshold_cascade import _cuts

COSTS = [7.0, 1.0, 7.0, 3.0]


@pytest.fixture(params=[2, 3])
def problem(request):
    rng = np.random.default_rng(3)
    y = rng.integers(0, request.param, size=300)
    return rng.normal(size=(300, 4)) + y[:, None] * np.array([1.0, 0.7, 0.4, 0.5]), y


def quick(**settings):
    return ThresholdCascade(
        **{"costs": COSTS, "n_trees": 10, "model": "logistic", "random_state": 0, **settings}
    )


@pytest.mark.parametrize(
    ("costs", "n_groups", "groups"),
    [
        ([7, 1, 7, 3], 3, [2, 0, 2, 1]),
        ([7, 1, 7, 3], 2, [1, 0, 1, 0]),
        ([7, 1, 7, 3], 4, [2, 0, 2, 1]),
        ([1] * 5 + [2, 3, 4], 2, [0] * 5 + [1] * 3),
        ([1] * 5 + [2, 3, 4], 3, [0] * 5 + [1, 2, 2]),
        ([4, 4, 4], 3, [0, 0, 0]),
        ([0, 9], 1, [0, 0]),
    ],
)
def test_groups_are_of_about_the_same_size_and_equal_costs_stay_together(costs, n_groups, groups):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, len(costs)))
    rival = quick(costs=costs, n_groups=n_groups).fit(X, X[:, 0] > 0)
    got = rival.groups_.tolist()
    sizes = sorted(np.bincount(got).tolist())
    assert (got, sizes) == (groups, sorted(np.bincount(groups).tolist()))


@pytest.mark.parametrize("n_groups", [1, 2, 3, 4])
def test_cuts_are_the_first_of_the_best_of_all(n_groups):
    def squares(places):
        return (np.add.reduceat(sizes, [0, *places]) ** 2).sum()

    rng = np.random.default_rng(0)
    for n_levels in [4, 7, 12] * 10:
        sizes = rng.integers(1, 5, size=n_levels)
        best = min(combinations(range(1, n_levels), n_groups - 1), key=squares)
        assert _cuts(sizes, n_groups) == list(best)


def test_a_thousand_different_costs_are_cut_at_once():
    assert _cuts(np.ones(1000, dtype=np.int64), 4) == [250, 500, 750]


def test_rows_exit_at_the_first_classifier_that_is_sure(problem):
    X, y = problem
    decisions = quick(threshold=0.7).fit(X, y).decide(X)
    left = np.ones(len(X), dtype=bool)
    for stage, (columns, cost) in enumerate([([1], 1), ([1, 3], 4), ([0, 1, 2, 3], 18)], start=1):
        read = StandardScaler().fit_transform(X[:, columns])
        chances = LogisticRegression(max_iter=1000).fit(read, y).predict_proba(read)
        here = left & ((chances.max(axis=1) >= 0.7) | (stage == 3))
        assert np.array_equal(decisions.stage == stage, here)
        assert np.array_equal(decisions.guesses[here], chances[here].argmax(axis=1))
        assert np.allclose(decisions.confidence[here], chances[here].max(axis=1))
        assert set(decisions.cost[here]) == {cost}
        left &= ~here


@pytest.mark.parametrize("model", ["boosting", "logistic"])
def test_it_answers_and_exits_as_scikit_fallback_does(problem, model):
    ensemble = pytest.importorskip("skfb.ensemble")
    X, y = problem
    rival = quick(model=model, threshold=[0.6, 0.9]).fit(X, y)
    theirs = ensemble.ThresholdCascadeClassifier(
        rival.cascade_.estimators_, [0.6, 0.9], prefit=True
    ).predict_proba(X)
    decisions = rival.decide(X)
    assert np.array_equal(rival.predict_proba(X), np.asarray(theirs))
    counts = np.bincount(decisions.stage, minlength=4)[1:] / len(X)
    assert np.allclose(theirs.acceptance_rates, counts)


def test_more_confidence_costs_more(problem):
    X, y = problem
    costs = [quick(threshold=p).fit(X, y).decide(X).cost.mean() for p in (0, 0.6, 0.8, 1)]
    assert costs == sorted(costs)
    assert (costs[0], costs[-1]) == (1, 18)


def test_every_classifier_that_a_row_meets_is_paid_for(problem):
    X, y = problem
    costs = FeatureCosts(tuple("abcd"), np.array(COSTS), evaluation=0.5)
    rival = quick(costs=costs, threshold=0.7).fit(X, y)
    decisions = rival.decide(X)
    assert np.array_equal(decisions.cost, np.array([1.5, 5.0, 19.5])[decisions.stage - 1])
    assert rival.model_cost_ == 19.5
    exits = rival.evaluate(X, y).exits
    assert [leave.features for leave in exits] == [("b",), ("d",), ("a", "c"), ()]


def test_a_stage_equals_a_fit_with_its_threshold(problem):
    X, y = problem
    stages = list(quick(model="boosting").fit(X, y).staged())
    assert stages[-1][0] == {}
    assert [one["threshold"] for one, _ in stages[:-1]][:2] == [0.0, 0.6]
    settings, stage = stages[4]
    fresh = quick(model="boosting", **settings).fit(X, y)
    for name in ("guesses", "confidence", "stage", "cost"):
        assert np.array_equal(getattr(stage.decide(X), name), getattr(fresh.decide(X), name))


def test_weights_count_as_repeated_rows(problem):
    X, y = problem
    weights = np.arange(len(y)) % 3
    weighted = quick().fit(X, y, weights)
    repeated = quick().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert np.allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-3)


def test_the_grid_has_no_more_groups_than_there_are_costs():
    of = {
        n_levels: {
            one["n_groups"] for one in ThresholdCascade.grid(FeatureCosts.from_array(costs), 100)
        }
        for n_levels, costs in {1: [1, 1], 3: [1, 2, 3, 3], 5: [1, 2, 3, 4, 5]}.items()
    }
    assert of == {1: {2}, 3: {2, 3}, 5: {2, 3, 4}}


def test_without_scikit_fallback_the_error_says_how_to_install_it(problem, monkeypatch):
    monkeypatch.setitem(sys.modules, "skfb", None)
    says = "must be installed for this: pip install scikit-fallback"
    with pytest.raises(EMSCOError, match=says):
        quick().fit(*problem)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"model": "forest"}, 'model must be one of "boosting", "logistic", got \'forest\''),
        ({"n_groups": 5}, "n_groups must be a whole number from 1 to 4, got 5"),
        ({"threshold": 90}, r"threshold must be a number in \[0, 1\], got 90"),
        ({"threshold": [0.9]}, r"threshold must be a number or 2 numbers, one for each group but"),
        ({"model": "boosting", "n_trees": 0}, "n_trees must be a whole number from 1 up, got 0"),
    ],
)
def test_parameters_outside_their_rules_are_refused(problem, settings, says):
    with pytest.raises(ValueError, match=says):
        quick(**settings).fit(*problem)
