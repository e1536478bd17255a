"""Shards: wherever rows are cut and whoever holds them, the same bits come out."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from banks import coefs_of, logistic_bank, sure
from chains import Chains

from emsco.design import compress
from emsco.kernels import fitting
from emsco.subsets.engine import SplitRows
from emsco.subsets.logistic import LogisticFits
from emsco.subsets.scaling import Scaling
from emsco.subsets.shard import ROWS_PER_SHARD, cut_shards


def problem(n_rows=2000, n_features=7, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, size=n_rows).astype(np.uint8)
    X = rng.normal(size=(n_rows, n_features)) + y[:, None] * np.linspace(1, 0, n_features)
    return X, y


def coefs_counts_and_bits(split):
    """Of all 127 subsets, coefficients and bits; counts of 60 designs."""
    bank = logistic_bank([split], 7)
    subsets = (np.arange(1, 128)[:, None] >> np.arange(7) & 1).astype(bool)
    designs = compress(np.random.default_rng(1).integers(0, 4, size=(60, 7)))
    counts = bank.count(*Chains.of(designs), sure(0.7)).tolist()
    return coefs_of(bank, subsets).tobytes(), counts, np.array(bank.bits(sure(0.7))).tolist()


def one_stage_each(n):
    """Designs that buy one feature each, their chains of slots, and their numbers of stages."""
    subsets = np.eye(n, dtype=bool)
    return Chains.of_subsets(subsets).designs, np.arange(n)[:, None], np.ones(n, dtype=np.int64)


class Wire:
    """Takes copies there and back, and counts the messages."""

    def __init__(self):
        self.n_messages = 0

    def over(self, *message):
        self.n_messages += 1
        return pickle.loads(pickle.dumps(message))


class RemoteTable:
    """Bits that live elsewhere."""

    def __init__(self, local, wire):
        self._local, self._wire = local, wire

    @property
    def bytes_per_slot(self):
        return self._local.bytes_per_slot

    @property
    def n_rows(self):
        return self._local.n_rows

    @property
    def word_weights(self):
        return self._local.word_weights

    @property
    def gaps(self):
        return self._local.gaps

    def reserve(self, n_slots):
        self._local.reserve(*self._wire.over(n_slots))

    def bits(self, slots):
        return self._wire.over(self._local.bits(*self._wire.over(slots)))[0]

    def add_counts(self, designs, chains, n_stages, exits, hits):
        *given, more_exits, more_hits = self._wire.over(
            designs, chains, n_stages, 0 * exits, 0 * hits
        )
        self._local.add_counts(*given, more_exits, more_hits)
        exits += more_exits
        hits += more_hits


class RemoteShard:
    """Rows that live elsewhere: all that goes there and comes back has been through a wire."""

    def __init__(self, local):
        self._local, self.wire = local, Wire()
        self.table = RemoteTable(local.table, self.wire)

    def add_terms(self, batch, live):
        theirs, live = self.wire.over(batch, live)
        self._local.add_terms(theirs, live)
        batch.gradient[live], batch.hessian[live] = theirs.gradient[live], theirs.hessian[live]

    def judge(self, models, slots, thresholds):
        self._local.judge(*self.wire.over(models, slots, thresholds))


class TestCuts:
    @pytest.mark.parametrize("rows_per_shard", [256, 512])
    @pytest.mark.parametrize("n_train", [200, 256, 1000, 1700])
    def test_the_number_of_shards_changes_no_bit(self, n_train, rows_per_shard):
        X, y = problem()
        rows = np.random.default_rng(2).permutation(2000)
        given = X, y, rows[:n_train], rows[n_train:]
        whole = SplitRows.cut(*given)
        cut = SplitRows.cut(*given, rows_per_shard=rows_per_shard)
        assert len(whole.shards) == 1
        assert len(cut.shards) == -(-max(n_train, 2000 - n_train) // rows_per_shard)
        assert coefs_counts_and_bits(cut) == coefs_counts_and_bits(whole)

    def test_the_default_cut_falls_between_blocks(self):
        assert ROWS_PER_SHARD % fitting.BLOCK == 0

    def test_rows_without_a_held_out_part_can_be_fitted_and_counted(self):
        X, y = problem(300)
        split = SplitRows.cut(X, y, np.arange(300), np.arange(0))
        coefs, counts, bits = coefs_counts_and_bits(split)
        assert not np.any(counts)
        assert np.array(bits).size == 0
        assert coefs == coefs_counts_and_bits(SplitRows.cut(X, y, np.arange(300), np.arange(9)))[0]

    def test_a_shard_counts_the_bytes_of_its_bits(self):
        X, y = problem(300)
        split = SplitRows.cut(X, y, np.arange(100), np.arange(100, 300), rows_per_shard=128)
        assert [shard.table.bytes_per_slot for shard in split.shards] == [32, 32]  # 128 and 72 rows

    def test_making_room_keeps_the_bits_that_are_there(self):
        X, y = problem(300)
        split = SplitRows.cut(X, y, np.arange(200), np.arange(200, 300))
        (shard,) = split.shards
        models = split.fits.fit(np.eye(7, dtype=bool))
        shard.table.reserve(7)
        shard.judge(models, np.arange(7), sure(0.6))
        before, after = np.zeros((2, 2, 7, 1), dtype=np.int64)
        chains = one_stage_each(7)
        shard.table.add_counts(*chains, *before)
        shard.table.reserve(100)
        shard.table.reserve(3)
        shard.table.add_counts(*chains, *after)
        assert before.any()
        assert after.tolist() == before.tolist()

    def test_bits_are_copies_of_those_in_the_slots_asked_for(self):
        X, y = problem(300)
        split = SplitRows.cut(X, y, np.arange(200), np.arange(200, 300))
        (shard,) = split.shards
        shard.table.reserve(7)
        shard.judge(split.fits.fit(np.eye(7, dtype=bool)), np.arange(7), sure(0.6))
        exits, hits = np.zeros((2, 7, 1), dtype=np.int64)
        shard.table.add_counts(*one_stage_each(7), exits, hits)
        slots = np.array([5, 0, 5])
        bits = shard.table.bits(slots)
        assert bits.shape == (2, 3, 2)
        counts = np.bitwise_count(bits).sum(axis=2).tolist()
        assert counts == [exits[slots, 0].tolist(), hits[slots, 0].tolist()]
        bits[:] = 0
        assert np.bitwise_count(shard.table.bits(slots)).sum(axis=2).tolist() == counts


class TestRemote:
    def split_of(self, wrap):
        X, y = problem()
        train, held_out = np.arange(1100), np.arange(1100, 2000)
        scaling = Scaling.learn(X[train])
        shards = [wrap(shard) for shard in cut_shards(X, y, train, held_out, scaling, 512)]
        return SplitRows(shards, LogisticFits(shards, 7, len(train)), scaling, len(train))

    def test_shards_of_another_kind_give_the_same_bits(self):
        remote, local = self.split_of(RemoteShard), self.split_of(lambda shard: shard)
        assert coefs_counts_and_bits(remote) == coefs_counts_and_bits(local)
        assert all(shard.wire.n_messages > 5 for shard in remote.shards)

    def test_kinds_of_shards_can_be_mixed(self):
        kinds = iter([RemoteShard, lambda shard: shard, RemoteShard])
        mixed = self.split_of(lambda shard: next(kinds)(shard))
        assert coefs_counts_and_bits(mixed) == coefs_counts_and_bits(
            self.split_of(lambda shard: shard)
        )
