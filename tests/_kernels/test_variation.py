"""Whole populations of designs, beside plain twins."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernels import frozen

from emsco._kernels import variation


def random_designs(n_designs=200, n_features=9, max_stages=5, seed=9):
    draws = np.random.default_rng(seed).integers(0, max_stages, size=(n_designs, n_features))
    return np.array([np.unique(row, return_inverse=True)[1] for row in draws], dtype=np.int16)


def compressed(genes):
    used = sorted({gene for gene in genes.tolist() if gene >= 0})
    return [used.index(gene) if gene >= 0 else -1 for gene in genes.tolist()]


def half_up(x):
    return int(np.floor(x + 0.5))


class TestBreeding:
    def test_stages_are_renumbered_in_their_order(self):
        rows = np.random.default_rng(0).integers(-1, 40, size=(100, 6)).astype(np.int16)
        plain = [compressed(row) for row in rows]
        variation.compress_rows(rows, np.full(100, -7))
        assert rows.tolist() == plain

    def test_sums_over_stages_equal_the_plain_ones(self):
        designs, values = random_designs(), np.random.default_rng(1).integers(0, 99, size=9) / 4
        designs[100:, 3:5] = -1
        totals = np.zeros((200, 6))
        variation.add_up_stages(*frozen(designs, values), totals)
        known = designs[:, None, :] <= np.arange(6)[None, :, None]
        known &= (designs >= 0)[:, None, :]
        assert totals.tolist() == (known @ values).tolist()

    @pytest.mark.parametrize("rate", [0.0, 0.8, 1.0])
    @pytest.mark.parametrize("left_out", [0.0, 0.3, 0.9])
    def test_children_equal_the_plain_ones(self, rate, left_out):
        first, second = random_designs(), random_designs(seed=10)
        draws = np.random.default_rng(2).random((200, 12))
        for parents in (first, second):  # all but their last feature may be left out
            parents[:, :8][np.random.default_rng(6).random((200, 8)) < left_out] = -1
            parents[:] = [compressed(row) for row in parents]
        second[second[:, :8].max(axis=1) >= 0, 8] = -1
        second[:] = [compressed(row) for row in second]
        children = np.empty_like(first)
        variation.cross_rows(*frozen(first, second, draws), rate, children)
        for a, b, u, child in zip(first, second, draws, children, strict=True):
            n_a, n_b = a.max() + 1, b.max() + 1
            n_child = (n_a, n_b, half_up((n_a + n_b) / 2))[int(3 * u[1])]
            takes_a = u[3:] < 0.5 if u[0] < rate else np.full(9, u[2] < 0.5)
            plain = np.where(takes_a, a, b)
            if u[0] < rate:
                ratios = (plain + 1) / np.where(takes_a, n_a, n_b)
                crossed = [max(0, half_up(ratio * n_child) - 1) for ratio in ratios]
                plain = np.where(plain < 0, -1, crossed)
            if plain.max() < 0:
                plain = a
            assert child.tolist() == plain.tolist()

    @pytest.mark.parametrize("rate", [0.1, 1.0])
    @pytest.mark.parametrize("exclusion", [False, True])
    @pytest.mark.parametrize("first", [-1, 4])
    def test_mutants_equal_the_plain_ones(self, rate, exclusion, first):
        designs, draws = random_designs(), np.random.default_rng(3).random((200, 9))
        draws[5] /= 1000 * rate  # all genes become -1 where that is a place
        cumulative = np.ones((4, 4))  # stages 0..3: the cap of four stages bites
        for highest in range(4):
            cumulative[highest, : highest + 1] = np.linspace(0, 1, highest + 2)[1:] ** 0.5
        mutants = np.empty_like(designs)
        scratch = np.full(len(cumulative) + 5, -7)
        given = (*frozen(designs, draws), rate, *frozen(cumulative))
        variation.mutate_rows(*given, exclusion, first, mutants, scratch)
        for design, u, mutant in zip(designs, draws, mutants, strict=True):
            highest = min(design.max() + 1, 3)
            never = exclusion / (highest + 2)
            level = (u / rate - never) / (1 - never)
            drawn = np.minimum(np.searchsorted(cumulative[highest], level, side="right"), 3)
            genes = np.where(u < rate, np.where(level < 0, -1, drawn), design)
            if first >= 0:
                genes[first] = 0
            if genes.max() < 0:
                genes = design
            assert mutant.tolist() == compressed(genes)

    @pytest.mark.parametrize("slope", [0.0, 0.1])
    def test_gaps_equal_the_plain_ones(self, slope):
        rng = np.random.default_rng(4)
        points, front = (rng.integers(0, 9, size=(n, 3)) / 8 for n in (300, 12))
        distances = np.full(300, np.nan)
        variation.measure_distances(*frozen(points, front), slope, distances)
        shortfall = front - points[:, None]
        behind = shortfall.min(axis=2) + slope * shortfall.sum(axis=2)
        plain = np.where((shortfall >= 0).all(axis=2), behind, 0.0).max(axis=1)
        assert (plain == 0).any()
        assert (plain > 0.25).any()
        np.testing.assert_allclose(distances, plain, rtol=1e-12, atol=0)

    def test_no_gap_lies_behind_an_empty_front(self):
        distances = np.full(2, np.nan)
        variation.measure_distances(*frozen(np.zeros((2, 3)), np.zeros((0, 3))), 0.1, distances)
        assert distances.tolist() == [0.0, 0.0]
