"""Shards: any cut of the rows and any back end give the same bits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.banks import coefs_of, logistic_bank, sure
from support.chains import Chains

from emsco.designs.chromosomes import compress
from emsco.models.engine import SplitRows
from emsco.models.logistic import LogisticFitter
from emsco.models.scaling import Scaling
from emsco.models.shard import SplitData, cut_shards
from emsco.models.stage_models import LinearModels


def problem(n_rows=2000, n_features=7, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n_rows).astype(np.uint8)
    X = rng.normal(size=(n_rows, n_features)) + y[:, None] * np.linspace(1, 0, n_features)
    return X, y


def coefs_counts_and_bits(split):
    """Coefficients and bits of all 127 subsets, and counts of 60 designs."""
    bank = logistic_bank([split], 7)
    subsets = (np.arange(1, 128)[:, None] >> np.arange(7) & 1).astype(bool)
    designs = compress(np.random.default_rng(1).integers(0, 4, size=(60, 7)))
    counts = bank.count(*Chains.from_designs(designs), sure(0.7)).tolist()
    return coefs_of(bank, subsets).tobytes(), counts, np.array(bank.bits(sure(0.7))).tolist()


class TestCuts:
    @pytest.mark.parametrize("rows_per_shard", [256, 512])
    @pytest.mark.parametrize("n_train", [200, 256, 1000, 1700])
    def test_the_number_of_shards_changes_no_bit(self, n_train, rows_per_shard):
        X, y = problem()
        rows = np.random.default_rng(2).permutation(2000)
        given = X, y, rows[:n_train], rows[n_train:]
        whole = SplitRows.cut(SplitData(*given))
        cut = SplitRows.cut(SplitData(*given), rows_per_shard=rows_per_shard)
        assert len(whole.shards) == 1
        assert len(cut.shards) == -(-max(n_train, 2000 - n_train) // rows_per_shard)
        assert coefs_counts_and_bits(cut) == coefs_counts_and_bits(whole)


def problem_of_classes(n_classes=3, n_rows=900, seed=3):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, size=n_rows).astype(np.uint8)
    return rng.normal(size=(n_rows, 7)) + rng.normal(size=(n_classes, 7))[y], y


def bits_and_counts(shards, models, thresholds, designs=None):
    """Bits of models that stand for a chain of nested subsets, and counts of that one design."""
    exits, correct_exits = np.zeros((2, 1, len(models.sizes)), dtype=np.int64)
    chain, n_stages = np.arange(len(models.sizes))[None], np.array([len(models.sizes)])
    designs = np.zeros((1, 7), dtype=np.int16) if designs is None else designs
    for shard in shards:
        shard.bits.reserve(len(models.sizes))
        shard.judge(models, chain[0], thresholds)
        shard.bits.add_counts(designs, chain, n_stages, exits, correct_exits)
    bits = np.concatenate([shard.bits.get(chain[0]) for shard in shards], axis=2)
    return bits, exits[0].tolist(), correct_exits[0].tolist()


def classifiers_of(models, scaling):
    """Use the models as the stages of a cascade."""
    spread = models.spread(7)
    coefs = spread if spread.ndim == 3 else spread[:, None]
    return LinearModels(scaling, (spread.reshape(len(spread), -1, 8)[:, 0, 1:] != 0), coefs)


class TestClasses:
    def test_cuts_change_no_bit(self):
        X, y = problem_of_classes()
        train, scored, results = np.arange(600), np.arange(600, 900), []
        scaling, nested = Scaling.learn(X[train]), np.tri(7, dtype=bool)
        for rows_per_shard in (2**20, 256):
            shards = cut_shards(SplitData(X, y, train, scored, 3), scaling, rows_per_shard)
            models = LogisticFitter(shards, 7, 600, n_classes=3).fit(nested)
            bits, *counts = bits_and_counts(shards, models, np.array([0.5, 0.6, 0.7]))
            results.append((models.spread(7).tobytes(), bits.tolist(), counts))
        assert results[0] == results[1]

    def test_rows_of_a_likely_class_are_held_to_that_classs_threshold(self):
        X, y = problem_of_classes()
        rows = np.arange(900)
        shards = cut_shards(SplitData(X, y, rows, rows, 3), Scaling.learn(X))
        models = LogisticFitter(shards, 7, 900, n_classes=3).fit(np.ones((1, 7), dtype=bool))
        p = classifiers_of(models, Scaling.learn(X)).probabilities(X, 0)
        thresholds = np.array([0.4, 2.0, 0.8])
        _, exits, correct_exits = bits_and_counts(shards, models, thresholds)
        wanted = p.max(axis=1) >= thresholds[p.argmax(axis=1)]
        assert exits == [wanted.sum()]
        assert correct_exits == [(wanted & (p.argmax(axis=1) == y)).sum()]


class TestWeights:
    @settings(deadline=None, max_examples=40, derandomize=True)
    @given(
        counts=st.lists(
            st.sampled_from([0, 1, 1, 1, 2, 3, 7, 1000, 2**40]), min_size=1, max_size=300
        ),
        n_classes=st.sampled_from([2, 3]),
    )
    def test_a_scored_row_counts_as_often_as_its_weight(self, counts, n_classes):
        X, y = problem_of_classes(n_classes, n_rows=300)
        counts = np.array(counts)
        scored, every = np.arange(len(counts)), np.ones(300, dtype=np.int64)
        every[: len(counts)] = counts
        data = SplitData(X, y, np.arange(300), scored, n_classes, counts=every)
        shards = cut_shards(data, Scaling.learn(X), 128)
        models = LogisticFitter(shards, 7, 300, n_classes=n_classes).fit(np.tri(7, dtype=bool)[2:5])
        _, exits, correct_exits = bits_and_counts(shards, models, np.full(n_classes, 0.7))
        stage, winner, _ = classifiers_of(models, Scaling.learn(X)).judge(
            X[scored], 0, 3, np.full((3, n_classes), 0.7)
        )
        correct = winner == y[scored]
        assert exits == [counts[stage == j].sum() for j in range(3)]
        assert correct_exits == [counts[(stage == j) & correct].sum() for j in range(3)]

    def test_training_rows_of_weight_0_are_as_good_as_absent(self):
        X, y = problem_of_classes()
        weights = np.random.default_rng(1).choice([0.0, 0.5, 2.0], size=900)
        rows, kept = np.arange(900), np.flatnonzero(weights)
        results = []
        for train in (rows, kept):
            scaling = Scaling.learn(X[train], weights[train])
            shards = cut_shards(SplitData(X, y, train, rows, 3, weights), scaling)
            fitter = LogisticFitter(shards, 7, weights.sum(), n_classes=3)
            results.append(fitter.fit(np.tri(7, dtype=bool)).spread(7).tobytes())
        assert results[0] == results[1]


class TestGaps:
    @pytest.mark.parametrize("counts", [None, np.arange(2000) % 3])
    def test_a_row_passes_a_stage_that_buys_what_it_lacks(self, counts):
        X, y = problem()
        rng, rows, scaling = np.random.default_rng(4), np.arange(2000), Scaling.learn(X)
        missing = rng.random((2000, 3)) < 0.2
        shards = cut_shards(
            SplitData(X, y, rows, rows, counts=counts, missing=missing), scaling, 512
        )
        designs = np.array([[1, 0, -1]], dtype=np.int16)
        models = LogisticFitter(shards, 7, 2000).fit(np.tri(7, dtype=bool)[[2, 5]])
        _, exits, correct_exits = bits_and_counts(shards, models, np.full(2, 0.7), designs)
        count = np.ones(2000, dtype=int) if counts is None else counts
        left, stages = np.ones(2000, dtype=bool), classifiers_of(models, scaling)
        for j, lacking in enumerate(missing[:, [1, 0]].T):
            stage, winner, _ = stages.judge(X, j, j + 1, np.full((2, 2), 0.7))
            leaves = left & (stage == j) & ~lacking
            assert exits[j] == count[leaves].sum() > 0
            assert correct_exits[j] == count[leaves & (winner == y)].sum()
            left &= ~leaves
