"""Bits through designs, and rows through stages: as NumPy says, and as uncompiled."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.kernels import frozen
from support.plain import plain

from emsco._kernels import counts

N_CLASSES, N_SLOTS, N_DESIGNS, N_FEATURES, N_STAGES = 3, 8, 12, 4, 3
SEEDS = st.integers(0, 10**6)


def run(kernel, inputs, *outputs):
    """Run a kernel, and check that it leaves the same as uncompiled."""
    # Bytes that are shifted would overflow there.
    twins = [one.astype(np.uint64 if one.dtype == np.uint8 else one.dtype) for one in outputs]
    getattr(counts, kernel)(*frozen(*inputs), *outputs)
    getattr(plain("counts"), kernel)(*inputs, *twins)
    for output, twin in zip(outputs, twins, strict=True):
        assert output.tolist() == twin.tolist()
    return outputs


def words_of(bits):
    padded = np.zeros((*bits.shape[:-1], -(-bits.shape[-1] // 64) * 64), dtype=bool)
    padded[..., : bits.shape[-1]] = bits
    return np.packbits(padded, axis=-1, bitorder="little").view(np.uint64)


@given(SEEDS, st.sampled_from([1, 40, 64, 65, 150]))
def test_rows_are_marked_that_are_sure_enough_where_their_bits_are(seed, n_rows):
    rng = np.random.default_rng(seed)
    winner = rng.integers(0, N_CLASSES, size=(4, n_rows)).astype(np.uint8)
    confidence = rng.integers(0, 9, size=(4, n_rows)) / 8
    confidence[rng.random((4, n_rows)) < 0.1] = np.nan
    truth, units = rng.integers(0, N_CLASSES, n_rows).astype(np.uint8), rng.integers(0, 4, n_rows)
    ends = np.array([n_rows // 3, n_rows])
    order = rng.permutation(np.concatenate([np.arange(n_rows), np.full(-n_rows % 64, -1)]))
    places, slots = rng.integers(0, 4, size=3), rng.permutation(5)[:3]
    least = rng.integers(0, 9, size=N_CLASSES) / 8
    bits, sums = np.full((2, 5, len(order) // 64), 7, dtype=np.uint64), np.full((3, 2), 7)
    inputs = winner, confidence, truth, units, ends, places, order, least, slots
    accepted, correct, sums, _ = run("mark_rows", inputs, *bits, sums, np.zeros(n_rows, np.uint8))
    for m, slot, of_splits in zip(places, slots, sums, strict=True):
        is_sure = confidence[m] >= least[winner[m]]
        for words, rows in ((accepted, is_sure), (correct, is_sure & (winner[m] == truth))):
            assert words[slot].tolist() == words_of(rows[order] & (order >= 0)).tolist()
        weighed = is_sure * units
        assert of_splits.tolist() == [weighed[: ends[0]].sum(), weighed[ends[0] :].sum()]
    others = np.setdiff1d(np.arange(5), slots)
    assert (accepted[others] == 7).all()
    assert (correct[others] == 7).all()


class Bits:
    """Bits of models in slots, some of them refused, and designs that they are the stages of."""

    def __init__(self, seed, *, is_plain=False):
        rng = np.random.default_rng(seed)
        n = 192
        self.valid = rng.random(n) < 0.9
        self.accepted = (rng.random((N_SLOTS, n)) < 0.4) & self.valid
        self.correct = self.accepted & (rng.random((N_SLOTS, n)) < 0.7)
        self.missing = (rng.random((N_FEATURES, n)) < 0.2) & self.valid
        self.refused = rng.random(N_SLOTS) < 0.3
        self.weights = rng.integers(1, 9, size=3)
        self.designs = rng.integers(-1, N_STAGES, size=(N_DESIGNS, N_FEATURES)).astype(np.int16)
        self.chains = rng.integers(0, N_SLOTS, size=(N_DESIGNS, N_STAGES))
        self.n_stages = rng.integers(0, N_STAGES + 1, size=N_DESIGNS)
        if is_plain:
            self.missing, self.weights = self.missing[:0], self.weights[:0]
        self.scratch = np.full((2, 3), 7, dtype=np.uint64)

    def leaving(self, d):
        """Rows that leave at each stage of a design, and those of them that do correctly."""
        left = self.valid.copy()
        for j, slot in enumerate(self.chains[d, : self.n_stages[d]]):
            leaves = left & (self.refused[slot] | self.accepted[slot])
            if len(self.missing):
                leaves &= ~self.missing[self.designs[d] == j].any(axis=0)
            left &= ~leaves
            yield leaves, leaves & self.correct[slot] & (not self.refused[slot])


@given(SEEDS, st.booleans(), st.booleans(), st.booleans())
def test_exits_and_what_is_paid_are_those_of_rows_one_by_one(seed, is_plain, by_class, has_prices):
    bits, rng = Bits(seed, is_plain=is_plain), np.random.default_rng(seed)
    prices, priced = rng.integers(0, 99, size=(2, 192)) * bits.valid, np.array([1, 3])
    if not has_prices:
        prices, priced = prices[:0], priced[:0]
    ends = np.array([0, 1, 1, 3] if by_class else [], dtype=np.int64)  # the second has no row
    n_counted, n_ahead = max(0, len(ends) - 1), has_prices + max(0, len(ends) - 1)
    exits = np.full((2, N_DESIGNS, n_ahead + N_STAGES), 1000)  # counts are added to what is there
    tables = bits.accepted, bits.correct, bits.valid
    run(
        "count_exits",
        (
            *map(words_of, tables),
            bits.refused.view(np.uint8),
            bits.weights,
            words_of(bits.missing) if not is_plain else np.zeros((0, 3), np.uint64),
            prices,
            priced,
            bits.designs,
            bits.chains,
            bits.n_stages,
            ends,
        ),
        *exits,
        *bits.scratch,
    )
    weights = np.ones(192, dtype=int) if is_plain else bits.weights.repeat(64)
    wanted = np.full_like(exits, 1000)
    for d in range(N_DESIGNS):
        left = bits.valid.copy()
        for j, both in enumerate(bits.leaving(d)):
            paid = prices[bits.designs[d, priced] == j][:, left].sum()
            wanted[0, d, :has_prices] += paid
            left &= ~both[0]
            for k, rows in enumerate(both):
                wanted[k, d, n_ahead + j] += weights[rows].sum()
                for c in range(n_counted):
                    part = slice(64 * ends[c], 64 * ends[c + 1])
                    wanted[k, d, has_prices + c] += weights[part][rows[part]].sum()
    assert exits.tolist() == wanted.tolist()


@given(SEEDS, st.booleans())
def test_a_row_leaves_at_the_first_stage_that_is_sure_and_misses_nothing(seed, has_gaps):
    rng, n = np.random.default_rng(seed), 50
    winner = rng.integers(0, N_CLASSES, (N_STAGES, n)).astype(np.uint8)
    sure, least = rng.integers(0, 9, (2, N_STAGES, n)) / 8
    least, missing = least[:, :N_CLASSES], (rng.random((N_STAGES, n)) < 0.2) & has_gaps
    given, stage = np.full(n, N_CLASSES, dtype=np.uint8), np.zeros(n, dtype=np.int64)
    confidence = np.zeros(n, dtype=np.float32)
    for j in range(N_STAGES):
        lacks = missing[j] if has_gaps else missing[j, :0]
        inputs = np.array(j), winner[j], sure[j], np.ascontiguousarray(least[j]), lacks
        run("follow_stage", inputs, given, stage, confidence)
    leaves = (sure >= np.take_along_axis(least, winner.astype(int), axis=1)) & ~missing
    accepted, rows = leaves.any(axis=0), np.arange(n)
    last = np.where(accepted, leaves.argmax(axis=0), N_STAGES - 1)
    assert given.tolist() == np.where(accepted, winner[last, rows], N_CLASSES).tolist()
    assert stage.tolist() == last.tolist()
    assert confidence.tolist() == sure[last, rows].tolist()
    # Decisions about a row add up; in eighths, so that sums are exact in any precision.
    truth, at = rng.integers(0, N_CLASSES, n).astype(np.uint8), rng.integers(0, 9, n)
    share, paid = rng.integers(1, 9, n).astype(np.float32) / 8, rng.integers(0, 9, n) / 8
    sums, twin = np.zeros((2, 3, 9), dtype=np.float32)
    given_ones = *frozen(given, truth, paid, at, share), N_CLASSES
    counts.add_shares(*given_ones, sums)
    plain("counts").add_shares(*given_ones, twin)
    figures = given < N_CLASSES, given == truth, paid
    wanted = [np.bincount(at, share * figure, 9).tolist() for figure in figures]
    assert sums.tolist() == twin.tolist() == wanted


@pytest.mark.parametrize("kernels", [counts, plain("counts")])
def test_a_row_with_no_likeliest_class_stays_undecided(kernels):
    given, stage = np.full(1, N_CLASSES, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    winner, confidence = np.array([255], dtype=np.uint8), np.zeros(1, dtype=np.float32)
    # Past the thresholds lie zeros, which any confidence reaches.
    least, no_gaps = np.zeros(256)[:N_CLASSES], np.zeros(0, dtype=bool)
    kernels.follow_stage(1, winner, np.ones(1), least, no_gaps, given, stage, confidence)
    assert [*given, *stage] == [N_CLASSES, 1]


@pytest.mark.parametrize("max_subsets", [1, 2, 3])
def test_designs_are_tallied_by_what_they_accept(max_subsets):
    rng, n_rows, full = np.random.default_rng(9), 20, 7
    drawn = rng.integers(0, 2**n_rows, size=(2, full + 1, 1), dtype=np.uint64)
    accepts, cost = drawn[0], rng.integers(1, 99, size=full + 1)
    cost[0] = 0
    rows, n_in = (
        np.zeros((max_subsets + 1, 1), dtype=np.uint64),
        np.zeros((max_subsets + 1, 4), int),
    )
    rows[0], n_in[0, 0] = 2**n_rows - 1, n_rows
    chain = np.zeros((2, max_subsets + 1), dtype=np.int64)
    tables = np.zeros((3, n_rows + 1, n_rows + 1), dtype=np.int64)
    inputs = accepts, accepts & drawn[1], cost, np.arange(1, full), np.array(max_subsets)
    run("tally_designs", inputs, rows, n_in, chain, *tables)
    # Chains of three features: one subset of six, or two or three nested ones.
    assert tables[0].sum() == {1: 6, 2: 12, 3: 12}[max_subsets]
