import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install emsco-lab[dime]")

from emsco_lab.rivals import DIME, dime  # noqa: E402 - imports PyTorch when it fits


def test_rows_buy_what_their_known_features_call_for_and_read_nothing_else(monkeypatch):
    monkeypatch.setattr(dime, "_STATES", 2000)
    monkeypatch.setattr(dime, "_BATCH", 64)
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.choice([-1.0, 1.0], 600), rng.integers(0, 3, (600, 2))])
    y = np.where(X[:, 0] > 0, X[:, 1], X[:, 2])  # the first tells which of two others has the label
    settings = {"width": 32, "dropout": 0.1, "learning_rate": 0.01, "max_epochs": 8}
    rival = DIME(costs=[1, 10, 10], price=0.04, random_state=0, **settings).fit(X[:400], y[:400])
    decisions = rival.decide(X[400:])
    assert (decisions.guesses == y[400:]).mean() > 0.97
    assert decisions.cost.mean() < 16  # the switch and one of the others cost 11
    costs = [stage.decide(X).cost.mean() for _, stage in rival.staged()][:-1]
    assert costs == sorted(costs, reverse=True)
    assert costs[0] > costs[-1] == 0
    before = rival.decide(X)
    X[np.ix_((before.cost == 11) & (X[:, 0] > 0), [2])] = 99.0
    assert np.array_equal(rival.decide(X).confidence, before.confidence)
