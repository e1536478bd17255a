"""Shards: any cut of the rows gives the same bits, and weights count what they say."""

from __future__ import annotations

import numpy as np
import pytest
from support.banks import logistic_bank

from emsco.models.engine import SplitRows
from emsco.models.logistic import LogisticFitter
from emsco.models.scaling import Scaling
from emsco.models.shard import SplitData, cut_shards

N_FEATURES = 7
EVERY = (np.arange(1, 128)[:, None] >> np.arange(N_FEATURES) & 1).astype(bool)


def problem(n_classes=2, n_rows=2000):
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, size=n_rows).astype(np.uint8)
    return rng.normal(size=(n_rows, N_FEATURES)) + rng.normal(size=(n_classes, N_FEATURES))[y], y


def models_and_answers(split, n_classes):
    """Weights of all subsets, and what their models say about the scored rows."""
    bank = logistic_bank([split], N_FEATURES, n_classes=n_classes)
    numbers = bank.kept(EVERY)
    return [one.tobytes() for one in (numbers, *bank.engine.scored_answers(EVERY, numbers))]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("n_train", [200, 256, 1700])
def test_the_number_of_shards_changes_no_bit(n_train, n_classes):
    X, y = problem(n_classes)
    rows = np.random.default_rng(2).permutation(2000)
    data = SplitData(X, y, rows[:n_train], rows[n_train:], n_classes)
    whole, cut = SplitRows.cut(data), SplitRows.cut(data, rows_per_shard=256)
    assert len(whole.shards) == 1
    assert len(cut.shards) == -(-max(n_train, 2000 - n_train) // 256)
    assert models_and_answers(cut, n_classes) == models_and_answers(whole, n_classes)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_answers_are_the_likeliest_classes_from_a_column_on(n_classes):
    X, y = problem(n_classes, 300)
    rows = np.arange(300)
    (shard,) = cut_shards(SplitData(X, y, rows, rows[100:], n_classes), Scaling.learn(X))
    models = LogisticFitter([shard], N_FEATURES, 300, n_classes=n_classes).fit(EVERY[::9])
    winner, confidence = np.full((15, 205), 9, dtype=np.uint8), np.zeros((15, 205))
    shard.answer(models, 5, winner, confidence)
    coefs = np.ascontiguousarray(models.spread(N_FEATURES))
    plain_winner, plain_confidence = shard.answers(coefs)
    assert shard.n_scored == 200
    assert winner[:, 5:].tolist() == plain_winner.tolist()
    np.testing.assert_allclose(confidence[:, 5:], plain_confidence, rtol=1e-12)
    assert (winner[:, :5] == 9).all()


def test_training_rows_of_weight_0_are_as_good_as_absent():
    X, y = problem(3, 900)
    weights = np.random.default_rng(1).choice([0.0, 0.5, 2.0], size=900)
    rows, results = np.arange(900), []
    for train in (rows, np.flatnonzero(weights)):
        data = SplitData(X, y, train, rows, 3, weights, np.array([1.0, 2.0, 0.5]))
        assert data.train_weight == pytest.approx(weights.sum())
        assert data.with_fit_weights().train_weight == pytest.approx(
            weights @ np.array([1.0, 2.0, 0.5])[y]
        )
        split = SplitRows.cut(data)
        assert split.shards[0].n_train == np.count_nonzero(weights)
        results.append(models_and_answers(split, 3))
    assert results[0] == results[1]


@pytest.mark.parametrize("n_train", [4, 60])
def test_rows_in_few_inputs_span_what_they_span(n_train):
    X, y = problem(2, 100)
    rows, inputs = np.arange(100), np.array([0, 2, 3, 5, 6])
    (shard,) = cut_shards(SplitData(X, y, rows[:n_train], rows), Scaling.learn(X[:n_train]))
    few, directions = shard.in_few_inputs(inputs)
    coordinates, wanted = few._double[0][1:], shard._double[0][1 + inputs]
    assert (directions is None) == (n_train >= len(inputs))
    if directions is not None:
        coordinates = directions @ coordinates
    np.testing.assert_allclose(coordinates, wanted, atol=1e-12)
    assert few._single[0].dtype == np.float32
    assert len(few._double[0]) == 1 + min(n_train, len(inputs))
