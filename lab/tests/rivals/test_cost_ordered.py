import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from support.settings import PAPER_SPACE

from emsco import Design, EMSCOClassifier, ParameterError
from emsco_lab.rivals import CostOrdered


@pytest.fixture(params=[2, 3])
def problem(request):
    rng = np.random.default_rng(3)
    y = rng.integers(0, request.param, size=300)
    return rng.normal(size=(300, 4)) + y[:, None] * np.array([1.0, 0.7, 0.4, 0.1]), y


COSTS = [7, 1, 7, 3]


def test_every_distinct_cost_has_a_stage_and_the_cheapest_is_first(problem):
    rival = CostOrdered(COSTS).fit(*problem)
    assert rival.design_ == Design([2, 0, 2, 1], ("x0", "x1", "x2", "x3"))
    assert rival.cascade_.stage_costs.tolist() == [1, 4, 18]
    assert rival.model_cost_ == 18


def test_it_is_the_cascade_of_its_design(problem):
    (X, y), costs = problem, [1, 9, 9, 9]
    train, rest = np.arange(150), np.arange(150, 300)
    rival = CostOrdered(costs).fit(X[train], y[train])
    only = {"first": ["x0"], "together": [["x1", "x2", "x3"]]}  # or all features in one stage
    settings = {**PAPER_SPACE, "max_stages": 2, "constraints": only, "cv": [(train, rest)]}
    searched = EMSCOClassifier(costs, **settings).fit(X, y)
    (point,) = (point for point in searched.front_ if point.design == rival.design_)
    cascade = searched.choose(point).cascade_
    ours, theirs = rival.decide(X), cascade.decide(X)
    for name in ("guesses", "accepted", "confidence", "stage", "cost"):
        assert np.array_equal(getattr(ours, name), getattr(theirs, name))
    assert np.array_equal(rival.predict_proba(X), cascade.predict_proba(X))
    assert (
        rival.evaluate(X[rest], y[rest]).to_dict() == cascade.evaluate(X[rest], y[rest]).to_dict()
    )


def test_a_cascade_needs_a_threshold(problem):
    with pytest.raises(ParameterError, match="min_confidence must be a number in"):
        CostOrdered(min_confidence=None).fit(*problem)


def test_equal_costs_make_one_stage(problem):
    X, y = problem
    rival = CostOrdered(min_confidence=0.9).fit(X, y)
    assert rival.design_.n_stages == 1
    assert set(rival.decide(X).cost) == {4}


def test_free_features_come_first(problem):
    rival = CostOrdered([0, 1, 0, 2]).fit(*problem)
    assert rival.design_.buys[0] == ("x0", "x2")
    assert rival.decide(problem[0]).cost.min() == 0


def test_stages_may_be_of_another_kind(problem):
    X, y = problem
    plain = CostOrdered(COSTS, estimator=LogisticRegression(), random_state=0).fit(X, y)
    assert plain.score(X, y) > 1.2 / len(set(y))
    assert plain.evaluate(X, y).exits[0].features == ("x1",)


def test_more_confidence_costs_more(problem):
    X, y = problem
    costs = [
        CostOrdered(COSTS, min_confidence=p).fit(X, y).decide(X).cost.mean()
        for p in (0.55, 0.75, 0.95)
    ]
    assert costs == sorted(costs)
