"""Bits through designs, and rows through stages: as NumPy says, and as uncompiled."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernels import frozen
from support.plain import plain

from emsco._kernels import counts

N_CLASSES = 3
NO_CLASSES = np.zeros(0, dtype=np.int64)  # rows are not counted by class


def plain_exits(accepted, correct, chain, weights=None, blocked=None):
    """`blocked`: rows that each stage lets pass."""
    weights = np.ones(accepted.shape[1], dtype=int) if weights is None else weights
    undecided, exits = np.ones(accepted.shape[1], dtype=bool), []
    for j, slot in enumerate(chain):
        leaving = undecided & accepted[slot] & (True if blocked is None else ~blocked[j])
        exits.append((weights[leaving].sum(), weights[leaving & correct[slot]].sum()))
        undecided &= ~leaving
    return np.array(exits).T


def words_of(bits):
    padded = np.zeros((*bits.shape[:-1], -(-bits.shape[-1] // 64) * 64), dtype=bool)
    padded[..., : bits.shape[-1]] = bits
    return np.packbits(padded, axis=-1, bitorder="little").view(np.uint64)


class TestCountExits:
    @pytest.mark.parametrize("n_rows", [1, 64, 65, 200])
    def test_counts_equal_the_plain_ones_and_are_added(self, n_rows):
        rng = np.random.default_rng(3)
        accepted = rng.random((12, n_rows)) < 0.4
        correct = accepted & (rng.random((12, n_rows)) < 0.7)
        words = words_of(np.array([accepted, correct]))
        chains, n_stages = rng.integers(0, 12, size=(50, 4)), rng.integers(1, 5, size=50)
        exits, correct_exits = np.full((2, 50, 4), 1000)
        scratch = np.full((2, words.shape[2]), 7, dtype=np.uint64)
        unweighted = np.zeros(0, dtype=np.int64), np.zeros((0, words.shape[2]), dtype=np.uint64)
        designs = np.zeros((50, 0), dtype=np.int16)
        inputs = frozen(words[0], words[1], *unweighted, designs, chains, n_stages, NO_CLASSES)
        counts.count_exits(*inputs, exits, correct_exits, *scratch)
        for d, n in enumerate(n_stages):
            wanted = np.zeros((2, 4), dtype=int)
            wanted[:, :n] = plain_exits(accepted, correct, chains[d, :n])
            assert [exits[d].tolist(), correct_exits[d].tolist()] == (wanted + 1000).tolist()

    @pytest.mark.parametrize("n_features", [0, 5])
    def test_weights_and_gaps_equal_the_plain_ones(self, n_features):
        rng = np.random.default_rng(13)
        accepted = rng.random((12, 256)) < 0.4
        correct, missing = (
            accepted & (rng.random((12, 256)) < 0.7),
            rng.random((n_features, 256)) < 0.2,
        )
        weights, designs = rng.integers(1, 9, size=4), rng.integers(-1, 4, size=(50, n_features))
        chains, n_stages = rng.integers(0, 12, size=(50, 4)), rng.integers(1, 5, size=50)
        exits, correct_exits = np.zeros((2, 50, 4), dtype=np.int64)
        tables = words_of(accepted), words_of(correct), weights, words_of(missing)
        inputs = frozen(*tables, designs.astype(np.int16), chains, n_stages, NO_CLASSES)
        counts.count_exits(*inputs, exits, correct_exits, *np.full((2, 4), 7, dtype=np.uint64))
        for d, n in enumerate(n_stages):
            blocked = [missing[designs[d] == j].any(axis=0) for j in range(n)]
            wanted = plain_exits(accepted, correct, chains[d, :n], weights.repeat(64), blocked)
            assert [exits[d, :n].tolist(), correct_exits[d, :n].tolist()] == wanted.tolist()

    @pytest.mark.parametrize("weighted", [False, True])
    def test_counts_by_class_equal_the_plain_ones_of_the_words_of_each_class(self, weighted):
        rng, ends = np.random.default_rng(5), np.array([0, 1, 1, 4])  # the second class has no row
        accepted = rng.random((12, 256)) < 0.4
        correct, missing = accepted & (rng.random((12, 256)) < 0.7), rng.random((5, 256)) < 0.2
        designs = rng.integers(-1, 4, size=(50, 5))
        weights = rng.integers(1, 9, size=4) if weighted else np.ones(4, dtype=np.int64)
        missing &= weighted
        chains, n_stages = rng.integers(0, 12, size=(50, 4)), rng.integers(1, 5, size=50)
        exits, correct_exits = np.full((2, 50, 3 + 4), 1000)
        given = weights[: 4 * weighted], words_of(missing)
        tables = words_of(accepted), words_of(correct), *given, designs.astype(np.int16)
        inputs, scratch = (
            frozen(*tables, chains, n_stages, ends),
            np.full((2, 4), 7, dtype=np.uint64),
        )
        counts.count_exits(*inputs, exits, correct_exits, *scratch)
        for d, n in enumerate(n_stages):
            blocked = [missing[designs[d] == j].any(axis=0) for j in range(n)]
            wanted = np.full((2, 3 + 4), 1000)
            for c in range(3):
                of_class = slice(64 * ends[c], 64 * ends[c + 1])
                parts = (
                    accepted[:, of_class],
                    correct[:, of_class],
                    chains[d, :n],
                    weights.repeat(64)[of_class],
                )
                of_stages = plain_exits(*parts, [some[of_class] for some in blocked])
                wanted[:, c] += of_stages.sum(axis=1)
                wanted[:, 3 : 3 + n] += of_stages
            assert [exits[d].tolist(), correct_exits[d].tolist()] == wanted.tolist()


def random_answers(seed, n_stages=3, n_rows=200):
    rng = np.random.default_rng(seed)
    winner = rng.integers(0, N_CLASSES, (n_stages, n_rows)).astype(np.uint8)
    sure = rng.uniform(0.3, 1, (n_stages, n_rows))
    least = rng.uniform(0.5, 1, (n_stages, N_CLASSES))
    missing = rng.random((n_stages, n_rows)) < 0.2
    for array in (winner, sure, least, missing):
        array.setflags(write=False)
    return winner, sure, least, missing


def follow(winner, sure, least, missing):
    n_rows = winner.shape[1]
    given = np.full(n_rows, N_CLASSES, dtype=np.uint8)
    stage, confidence = np.zeros(n_rows, dtype=np.int64), np.zeros(n_rows, dtype=np.float32)
    for j in range(len(winner)):
        lacks = missing[j] if len(missing) else np.zeros(0, dtype=bool)
        counts.follow_stage(j, winner[j], sure[j], least[j], lacks, given, stage, confidence)
    return given, stage, confidence


@pytest.mark.parametrize("seed", range(3))
def test_a_row_leaves_at_the_first_stage_that_is_sure_and_misses_nothing(seed):
    winner, sure, least, missing = random_answers(seed)
    leaves = (sure >= np.take_along_axis(least, winner.astype(int), axis=1)) & ~missing
    accepted, rows = leaves.any(axis=0), np.arange(winner.shape[1])
    stage = np.where(accepted, leaves.argmax(axis=0), len(winner) - 1)
    left = follow(winner, sure, least, missing)
    assert np.array_equal(left[0], np.where(accepted, winner[stage, rows], N_CLASSES))
    assert np.array_equal(left[1], stage)
    assert np.array_equal(left[2], sure[stage, rows].astype(np.float32))


def test_no_line_of_gaps_means_no_gap():
    winner, sure, least, missing = random_answers(3)
    none = follow(winner, sure, least, missing[:0])
    assert np.array_equal(none[0], follow(winner, sure, least, missing & False)[0])


@pytest.mark.parametrize("kernels", [counts, plain("counts")])
def test_a_row_with_no_likeliest_class_stays_undecided(kernels):
    given, stage = np.full(1, N_CLASSES, dtype=np.uint8), np.zeros(1, dtype=np.int64)
    winner, confidence = np.array([255], dtype=np.uint8), np.zeros(1, dtype=np.float32)
    # Past the thresholds lie zeros, which any confidence reaches.
    least, no_gaps = np.zeros(256)[:N_CLASSES], np.zeros(0, dtype=bool)
    kernels.follow_stage(1, winner, np.ones(1), least, no_gaps, given, stage, confidence)
    assert [*given, *stage] == [N_CLASSES, 1]


def test_decisions_about_a_row_add_up():
    given, stage, _ = follow(*random_answers(4))
    rng = np.random.default_rng(5)
    truth, rows = rng.integers(0, N_CLASSES, 200), rng.integers(0, 40, 200)
    share, paid = rng.random(200).astype(np.float32), np.array([1.0, 4.0, 9.0])
    sums = np.zeros((3, 40), dtype=np.float32)
    counts.add_shares(given, stage, truth, rows, share, paid, N_CLASSES, sums)
    for line, values in zip(sums, (given < N_CLASSES, given == truth, paid[stage]), strict=True):
        assert line == pytest.approx(np.bincount(rows, share * values, 40), rel=1e-5)


def compare_with_plain(kernel, inputs, *outputs):
    """Run a kernel compiled and uncompiled, and return what it leaves in its outputs."""
    twins = [output.copy() for output in outputs]
    getattr(counts, kernel)(*frozen(*inputs), *outputs)
    getattr(plain("counts"), kernel)(*inputs, *twins)
    for output, twin in zip(outputs, twins, strict=True):
        assert output.tobytes() == twin.tobytes()
    return outputs


def random_words(rng, *shape):
    words = rng.integers(0, 2**64, size=(2, *shape), dtype=np.uint64)
    return words[0] & words[1]


class TestCompiledKernelsCountAsUncompiled:
    @pytest.mark.parametrize("n_words", [1, 3])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("by_class", [False, True])
    def test_exits(self, n_words, weighted, by_class):
        rng = np.random.default_rng(n_words)
        accepted, missing = random_words(rng, 8, n_words), random_words(rng, 4, n_words)
        weights = rng.integers(1, 9, size=n_words * weighted)
        designs = rng.integers(-1, 3, size=(20, 4)).astype(np.int16)
        chains, n_stages = rng.integers(0, 8, size=(20, 3)), rng.integers(0, 4, size=20)
        ends = np.array([0, 1, n_words]) if by_class else NO_CLASSES
        rows = accepted, accepted & random_words(rng, 8, n_words), weights, missing
        exits = np.zeros((2, 20, 5), dtype=np.int64)
        scratch = np.zeros((2, n_words), dtype=np.uint64)
        compare_with_plain(
            "count_exits", (*rows, designs, chains, n_stages, ends), *exits, *scratch
        )
        assert exits[0].any()

    def test_prices(self):
        rng = np.random.default_rng(6)
        accepted, missing = random_words(rng, 8, 2), random_words(rng, 4, 2)
        prices, priced = rng.integers(0, 99, size=(2, 128)), np.array([1, 3])
        designs = rng.integers(-1, 3, size=(20, 4)).astype(np.int16)
        chains = rng.integers(0, 8, size=(20, 3))
        inputs = accepted, missing, prices, priced, designs, chains
        spent, scratch = np.zeros(20, dtype=np.int64), np.zeros(2, dtype=np.uint64)
        compare_with_plain("add_prices", inputs, spent, scratch)
        # Where the first stage buys both features, and a later one none, every row pays both.
        at_once = (designs[:, priced] == 0).all(axis=1)
        assert at_once.any()
        assert (spent[at_once] == prices.sum()).all()

    def test_codes_and_pairs_of_them(self):
        given, stage, confidence = follow(*random_answers(7))
        truth = np.random.default_rng(7).integers(0, N_CLASSES, 200)
        tables = np.zeros(200, dtype=np.int16), np.zeros((9, N_CLASSES), dtype=np.int64)
        codes, of_codes, _ = compare_with_plain(
            "code_rows", (truth, given, stage, confidence), *tables, np.zeros(3)
        )
        kinds = np.select([given == N_CLASSES, given == truth], [0, 1], 2)
        assert codes.tolist() == (3 * stage + kinds).tolist()
        assert of_codes.sum(axis=0).tolist() == np.bincount(truth).tolist()
        pairs = np.zeros((9, 9, N_CLASSES), dtype=np.int64)
        compare_with_plain("count_pairs", (codes, codes[::-1].copy(), truth), pairs)
        assert pairs.sum(axis=1).tolist() == of_codes.tolist()

    def test_decisions_about_rows(self):
        winner, sure, least, missing = random_answers(8)
        given = np.full(200, N_CLASSES, dtype=np.uint8)
        to = np.zeros(200, dtype=np.int64), np.zeros(200, dtype=np.float32)
        stage = (1, winner[0], sure[0], least[0], missing[0])
        frozen(*stage[1:])
        twins = given.copy(), *(one.copy() for one in to)
        counts.follow_stage(*stage, given, *to)
        plain("counts").follow_stage(*stage, *twins)
        rng = np.random.default_rng(8)
        decisions = given, to[0], *rng.integers(0, N_CLASSES, size=(2, 200))
        # In eighths, so that sums are exact: uncompiled, they are in double precision.
        eighths = rng.integers(1, 9, size=(2, 200)) / 8
        shares = eighths[0].astype(np.float32), eighths[1, :3], N_CLASSES
        sums = np.zeros((2, 3, N_CLASSES), dtype=np.float32)
        counts.add_shares(*decisions, *shares, sums[0])
        plain("counts").add_shares(*decisions, *shares, sums[1])
        for one, twin in zip((given, *to, sums[0]), (*twins, sums[1]), strict=True):
            assert one.tobytes() == twin.tobytes()

    @pytest.mark.parametrize("max_subsets", [1, 2, 3])
    def test_designs_by_what_they_accept(self, max_subsets):
        rng, n_rows, n_features = np.random.default_rng(9), 20, 3
        full = 2**n_features - 1
        accepts = random_words(rng, full + 1, 1) & np.uint64(2**n_rows - 1)
        errs, cost = accepts & random_words(rng, full + 1, 1), rng.integers(1, 99, size=full + 1)
        cost[0] = 0
        rows = np.zeros((max_subsets + 1, 1), dtype=np.uint64)
        n_in = np.zeros((max_subsets + 1, 4), dtype=np.int64)
        rows[0], n_in[0, 0] = 2**n_rows - 1, n_rows
        chain = np.zeros((2, max_subsets + 1), dtype=np.int64)
        tables = np.zeros((3, n_rows + 1, n_rows + 1), dtype=np.int64)
        inputs = accepts, errs, cost, np.arange(1, full)
        twins = rows.copy(), n_in.copy(), chain.copy(), *tables.copy()
        counts.tally_designs(*frozen(*inputs), max_subsets, rows, n_in, chain, *tables)
        plain("counts").tally_designs(*inputs, max_subsets, *twins)
        for one, twin in zip(tables, twins[3:], strict=True):
            assert one.tolist() == twin.tolist()
        # Chains of three features: one subset of six, or two or three nested ones.
        assert tables[0].sum() == {1: 6, 2: 12, 3: 12}[max_subsets]
