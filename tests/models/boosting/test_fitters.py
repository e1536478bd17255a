"""Boosted stage models: one for every subset, one for each, and those of a cascade's stages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.metrics import log_loss
from threadpoolctl import threadpool_limits

from emsco._base.workers import Workers
from emsco._kernels.boosting import BLANK
from emsco.models.boosting import trainer
from emsco.models.boosting.fitters import BoostingFitter, SharedBoosting
from emsco.models.boosting.trainer import (
    BinnedRows,
    BoostingJob,
    BoostingSize,
    SizeChoice,
    blanked,
)
from emsco.models.boosting.trees import Bins
from emsco.models.rows import FilledRows, SplitData

QUICK = BoostingSize(copies=3, rounds=60, leaves=6, learning_rate=0.1, fewest=10, l2=1.0)
TRAIN, SCORED = np.arange(300), np.arange(300, 400)
FEATURES = np.array([0, 1, 1, 2])  # the second and third input are bought together
FITTERS = [SharedBoosting, BoostingFitter]


def table(n_classes=2, seed=0):
    """Rows whose class depends on the product of two inputs."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(400, 4))
    signal = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=400)
    edges = np.quantile(signal, np.arange(1, n_classes) / n_classes)
    return X, np.searchsorted(edges, signal).astype(np.uint8)


def fitter(kind=SharedBoosting, n_classes=2, X=None, labels=None, **changed):
    made = table(n_classes)
    given = {
        "X": made[0] if X is None else X,
        "labels": made[1] if labels is None else labels,
        "train": TRAIN,
        "scored": SCORED,
        "weights": None,
        "class_weights": None,
        "n_classes": n_classes,
    }
    n_jobs = changed.pop("n_jobs", 1)
    job = BoostingJob(FilledRows.of_split(SplitData(**given | changed)), FEATURES)
    return kind(job, SizeChoice(job), Workers(n_jobs))


def subsets():
    """The first feature, the first two, and all."""
    buys = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]], dtype=bool)
    return buys[:, FEATURES]


def learnt(size):
    """How far the rounds of a size go."""
    return size.rounds * size.learning_rate


def same(first, second):
    return all(map(np.array_equal, first, second))


def binned(X, labels, weights=None):
    """Rows as bins; NaN is an input that is not bought."""
    fill = np.zeros(X.shape[1])
    bins = Bins(tuple(_cuts_of(column[~np.isnan(column)]) for column in X.T))
    rows = coded(bins, np.where(np.isnan(X), fill, X), labels, weights)
    return rows.blanked(np.isnan(X).T[None]), bins


def coded(bins, X, labels, weights=None):
    weights = np.ones(len(X)) if weights is None else weights.astype(float)
    return BinnedRows(bins.code(X), labels.astype(np.int64), weights)


def _cuts_of(column):
    return Bins.learn(column[:, None], 255).cuts[0]


class TestBlanking:
    def rows(self, n_rows, n_inputs):
        zeros = np.zeros(n_rows, dtype=np.int64)
        return BinnedRows(np.zeros((n_inputs, n_rows), dtype=np.uint8), zeros, np.ones(n_rows))

    def test_inputs_of_a_feature_are_blanked_together(self):
        rows = blanked(self.rows(500, 4), FEATURES, 3, np.random.default_rng(0))
        assert (rows.codes.shape, len(rows.labels)) == ((4, 1500), 1500)
        gone = rows.codes == BLANK
        np.testing.assert_array_equal(gone[1], gone[2])
        assert gone.mean(axis=1) == pytest.approx(0.5, abs=0.05)
        assert not gone[:, 0].any()

    def test_all_numbers_of_features_are_equally_likely(self):
        rows = blanked(self.rows(4000, 3), np.arange(3), 2, np.random.default_rng(0))
        counts = np.bincount((rows.codes != BLANK).sum(axis=0))
        assert counts / len(rows.labels) == pytest.approx(0.25, abs=0.02)


class TestBins:
    def test_values_up_to_a_cut_are_in_its_bin(self):
        bins = Bins.learn(np.array([[1.0], [2.0], [4.0]]), 255)
        assert bins.cuts[0].tolist() == [1.5, 3.0]
        assert bins.code(np.array([[0.0], [1.5], [1.6], [3.0], [9.0]]))[0].tolist() == [
            0,
            0,
            1,
            1,
            2,
        ]

    def test_many_values_are_cut_at_quantiles(self):
        bins = Bins.learn(np.arange(10_000.0)[:, None], 255)
        counts = np.bincount(bins.code(np.arange(10_000.0)[:, None])[0])
        assert len(counts) == 255
        assert np.ptp(counts) <= 2

    def test_neighbours_that_no_number_lies_between_are_told_apart(self):
        values = np.array([[1.0], [np.nextafter(1.0, 2)]])
        assert Bins.learn(values, 255).code(values)[0].tolist() == [0, 1]


class TestTraining:
    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("weighted", [False, True])
    def test_trees_say_what_scikit_learn_says(self, n_classes, weighted):
        X, labels = table(n_classes)
        X, labels = X[:240].round(2), labels[:240]  # so few values that no quantiles are needed
        X[np.random.default_rng(1).random(X.shape) < 0.3] = np.nan
        weights = np.random.default_rng(2).integers(1, 4, 240).astype(float) if weighted else None
        rows, bins = binned(X, labels, weights)
        for rounds, allowed in ((1, 1e-6), (12, None)):  # later, ties may go another way
            size = replace(QUICK, rounds=rounds)
            ours = trainer.train_trees(rows, bins, n_classes, np.zeros(4), size).probabilities(X)
            model = HistGradientBoostingClassifier(
                max_iter=rounds,
                max_leaf_nodes=6,
                min_samples_leaf=10,
                l2_regularization=1.0,
                early_stopping=False,
            )
            with threadpool_limits(1):
                said = model.fit(X, labels, sample_weight=weights).predict_proba(np.nan_to_num(X))
            if allowed:
                np.testing.assert_allclose(ours, said, atol=allowed)
            assert log_loss(labels, ours) == pytest.approx(log_loss(labels, said), rel=0.01)

    def test_the_first_split_gains_most_of_all(self):
        X, labels = table()
        rows, bins = binned(X.round(1), labels)
        size = replace(QUICK, rounds=1, leaves=2)
        tree = trainer.train_trees(rows, bins, 2, np.zeros(4), size)
        share = labels.mean()
        slopes, curve = share - labels, share * (1 - share)
        gains = {}
        for a, cuts in enumerate(bins.cuts):
            for b, cut in enumerate(cuts):
                sides = [slopes[rows.codes[a] <= b], slopes[rows.codes[a] > b]]
                if min(map(len, sides)) >= size.fewest:
                    parts = [s.sum() ** 2 / (len(s) * curve + size.l2) for s in sides]
                    gains[a, cut] = sum(parts)
        best = max(gains, key=gains.get)
        assert (tree.inputs.tolist(), tree.cuts.tolist()) == ([best[0]], [best[1]])
        left = slopes[X[:, best[0]].round(1) <= best[1]]
        value = -size.learning_rate * left.sum() / (len(left) * curve + size.l2)
        assert tree.leaves[0] == pytest.approx(value, rel=1e-5)

    def test_the_loss_on_other_rows_is_that_of_the_model_so_far(self):
        X, labels = table()
        rows, bins = binned(X[:300], labels[:300])
        held = coded(bins, X[300:], labels[300:])
        losses = trainer.loss_by_round(rows, held, bins, 2, QUICK)
        for rounds in (1, 5):
            size = replace(QUICK, rounds=rounds)
            model = trainer.train_trees(rows, bins, 2, np.zeros(4), size)
            said = model.probabilities(X[300:])
            assert losses[rounds - 1] == pytest.approx(log_loss(labels[300:], said), rel=1e-5)

    @pytest.mark.parametrize("kind", FITTERS)
    def test_a_class_without_training_rows_has_no_probability(self, kind):
        _, labels = table()
        for present in ([0, 2], [1]):
            given = np.array(present, dtype=np.uint8)[labels % len(present)]
            (model,) = fitter(kind, 3, labels=given).models(subsets()[-1:])
            probabilities = model.probabilities(table()[0])
            assert probabilities.sum(axis=1) == pytest.approx(1.0)
            assert np.delete(probabilities, present, axis=1).max() < 1e-12


class TestShared:
    def test_several_are_trained_side_by_side_as_alone(self):
        alone = [fitter(seed=seed).ensemble for seed in (0, 1)]
        together, done = [fitter(seed=seed) for seed in (0, 1)], []
        SharedBoosting.prepare(together, lambda *counts: done.append(counts))
        assert done == [(1, 2), (2, 2)]
        for one, expected in zip(together, alone, strict=True):
            assert same(one.ensemble.arrays, expected.arrays)


class TestSizes:
    def test_rounds_stop_where_others_rows_gain_nothing_more(self):
        rng = np.random.default_rng(0)
        noise = fitter(labels=rng.integers(2, size=400).astype(np.uint8))
        clear = fitter()
        for choose in (lambda size: size.shared, lambda size: size.for_subset(subsets()[-1])):
            assert learnt(choose(noise.size)) < learnt(choose(clear.size)) / 2

    def test_a_subset_that_says_nothing_has_few_rounds(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(1000, 4))
        labels = (X[:, 0] * X[:, 1] > 0).astype(np.uint8)
        size = fitter(X=X, labels=labels, train=np.arange(900)).size
        noise = np.array([True, False, False, True])  # the first input says nothing alone
        assert learnt(size.for_subset(noise)) < learnt(size.for_subset(subsets()[1])) / 4

    def test_rows_are_held_out_in_turn_until_they_are_enough(self):
        for n_rows, n_parts in ((300, 5), (800, 3), (2000, 1)):
            X = np.tile(table()[0], (6, 1))
            labels = np.tile(table()[1], 6)
            size = fitter(X=X, labels=labels, train=np.arange(n_rows)).size
            held = sum(len(rest.labels) for _, rest in size.parts)
            assert len(size.parts) == n_parts
            assert held == n_rows * n_parts / 5
