import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'emsco[cuda]'")

from emsco_lab.rivals import DIME, dime_networks  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def short_epochs():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dime_networks, "_STATES", 2000)
        patch.setattr(dime_networks, "_BATCH", 64)
        yield


def quick(**settings):
    parameters = {"width": 32, "dropout": 0.1, "learning_rate": 0.01, "max_epochs": 8}
    return DIME(**{**parameters, "random_state": 0, **settings})


def switch(n_rows=600):
    """The first feature tells which of two others has the label, out of three classes."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice([-1.0, 1.0], n_rows), rng.integers(0, 3, (n_rows, 2))])
    return X, np.where(X[:, 0] > 0, X[:, 1], X[:, 2])


@pytest.fixture(scope="module")
def fitted(short_epochs):
    X, y = switch()
    return quick(costs=[1, 10, 10], price=0.04).fit(X[:400], y[:400])


def test_rows_buy_what_their_known_features_call_for(fitted):
    X, y = switch()
    decisions = fitted.decide(X[400:])
    assert (decisions.guesses == y[400:]).mean() > 0.97
    assert decisions.cost.mean() < 16  # the switch and one of the others cost 11


def test_cost_falls_as_the_price_rises(fitted):
    X, _ = switch()
    stages = list(fitted.staged())
    costs = [stage.decide(X).cost.mean() for _, stage in stages[:-1]]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-1] == 0
    assert stages[-1] == ({}, fitted)


def test_features_that_were_not_bought_are_not_read(fitted):
    X, _ = switch()
    decisions = fitted.decide(X)
    first_only = decisions.cost == 11
    X[np.ix_(first_only & (X[:, 0] > 0), [2])] = 99.0
    assert np.array_equal(fitted.decide(X).confidence, decisions.confidence)


def test_the_same_seed_gives_the_same_rival_and_leaves_others_their_numbers(fitted):
    X, y = switch()
    torch.manual_seed(3)
    expected = torch.rand(2).tolist()
    torch.manual_seed(3)
    again = quick(costs=[1, 10, 10], price=0.04).fit(X[:400], y[:400])
    assert torch.rand(2).tolist() == expected
    assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
    loaded = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(loaded.decide(X).cost, fitted.decide(X).cost)


def test_free_features_are_bought_at_once_and_rows_count_by_weight():
    X, _ = switch(200)
    counts = np.arange(200) % 2 == 0
    y = (X[:, 1] > 0) == counts  # rows that do not count say the opposite
    rival = quick(costs=[1, 0, 1], price=1e9).fit(X, y, np.where(counts, 1.0, 1e-6))
    assert rival.decide(X).cost.max() == 0
    assert rival.score(X[counts], y[counts]) == 1.0


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"price": -1}, r"price must be a number in \[0, inf\), got -1"),
        ({"dropout": 1}, r"dropout must be a number in \[0, 1\), got 1"),
        ({"width": 0}, "width must be a whole number from 1 up, got 0"),
        ({"device": "tpu"}, 'device must be one of "cpu", "cuda", got \'tpu\''),
    ],
)
def test_parameters_outside_their_rules_are_refused(settings, says):
    with pytest.raises(ValueError, match=says):
        quick(**settings).fit(*switch(20))
