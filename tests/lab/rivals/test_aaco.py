import numpy as np
import pytest

from emsco.lab.rivals import AACO, aaco
from emsco.lab.rivals.aaco import _log_losses

COSTS = [1.0, 5.0, 20.0]


@pytest.fixture(params=[2, 3])
def problem(request):
    rng = np.random.default_rng(5)
    y = rng.integers(0, request.param, size=240)
    return rng.normal(size=(240, 3)) + y[:, None] * np.array([0.8, 1.2, 2.0]), y


def quick(**settings):
    return AACO(**{"costs": COSTS, "n_neighbours": 20, "random_state": 0, **settings})


def switch(n_rows=600):
    """The first feature tells which of two others has the label."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], size=(n_rows, 3))
    return X, np.where(X[:, 0] > 0, X[:, 1], X[:, 2])


def test_rows_buy_what_their_known_features_call_for():
    X, y = switch()
    rival = quick(costs=[1, 10, 11], price=0.5).fit(X[:400], y[:400])
    decisions = rival.decide(X[400:])
    assert (decisions.guesses == y[400:]).all()
    assert np.array_equal(decisions.cost, np.where(X[400:, 0] > 0, 11, 12))


def test_plans_see_features_that_only_help_together():
    rng = np.random.default_rng(1)
    X = rng.choice([-1.0, 1.0], size=(600, 3))
    y = X[:, 0] * X[:, 1]
    rival = quick(costs=[1, 1, 1], price=0.3).fit(X, y)
    assert rival.score(X, y) == 1.0
    assert set(rival.decide(X).cost) == {2.0}
    assert quick(costs=[1, 1, 1], price=0.3, n_plans=0).fit(X, y).decide(X).cost.max() == 0


def test_cost_falls_as_the_price_rises(problem):
    X, y = problem
    rival = quick(price=0.0).fit(X, y)
    costs = [stage.decide(X).cost.mean() for _, stage in rival.staged()][:-1]
    assert costs[-1] == 0
    assert costs[0] > costs[5] > costs[-1]


def test_losses_that_are_forgotten_change_no_decision(problem, monkeypatch):
    X, y = problem
    rival = quick(price=0.1).fit(X, y)
    before = rival.decide(X)
    monkeypatch.setattr(aaco, "_MOST_KEPT", 4 * len(X))
    after = rival.decide(X)
    assert np.array_equal(after.cost, before.cost)
    assert np.array_equal(after.confidence, before.confidence)
    assert len(rival._oracle.losses) < 20  # of one question


def test_a_row_that_buys_everything_has_the_answer_of_the_whole_model(problem):
    X, y = problem
    rival = quick(price=0.0).fit(X, y)
    whole = rival.decide(X).cost == sum(COSTS)
    assert whole.any()
    assert np.allclose(rival.predict_proba(X)[whole], rival.ensemble_.probabilities(X)[whole])


def test_features_that_were_not_bought_are_not_read(problem):
    X, y = problem
    rival = quick(price=0.3).fit(X, y)
    decisions = rival.decide(X)
    bought = np.stack(
        [decisions.cost % 5 == 1, decisions.cost % 20 >= 5, decisions.cost >= 20], axis=1
    )
    again = rival.decide(np.where(bought, X, 99.0))
    assert bought.any()
    assert not bought.all()
    assert np.array_equal(decisions.confidence, again.confidence)
    assert np.array_equal(decisions.cost, again.cost)


def test_a_stage_equals_a_fit_with_its_price(problem):
    X, y = problem
    stages = list(quick(price=0.3).fit(X, y).staged())
    assert stages[-1][0] == {}
    settings, stage = stages[1]
    fresh = quick(**settings).fit(X, y)
    assert np.array_equal(stage.predict_proba(X), fresh.predict_proba(X))
    assert np.array_equal(stage.decide(X).cost, fresh.decide(X).cost)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_losses_are_those_of_the_true_class(n_outputs):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, n_outputs, 5))
    labels = rng.integers(0, max(2, n_outputs), size=5)
    every = np.concatenate([0 * logits, logits], axis=1) if n_outputs == 1 else logits
    shares = np.exp(every) / np.exp(every).sum(axis=1, keepdims=True)
    expected = -np.log(shares[:, labels, np.arange(5)])
    assert np.allclose(_log_losses(logits, labels), expected)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"price": -1}, r"price must be a number in \[0, inf\), got -1"),
        ({"n_neighbours": 0}, "n_neighbours must be a whole number from 1 up, got 0"),
        ({"n_plans": -1}, "n_plans must be a whole number from 0 up, got -1"),
    ],
)
def test_parameters_outside_their_rules_are_refused(problem, settings, says):
    with pytest.raises(ValueError, match=says):
        quick(**settings).fit(*problem)
