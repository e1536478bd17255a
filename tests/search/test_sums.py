"""Sums of fronts: what they add up to, that none beats another, and what is kept of them."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emsco.search.sums import added_up, best_sums, in_layers, order_by_distance, spread


def figures_of(seed, n_designs, n_rows=40):
    """Figures of some designs of a part: accepted and wrong rows, and costs."""
    rng = np.random.default_rng(seed)
    accepted = rng.integers(n_rows // 2, n_rows + 1, size=n_designs)
    accepted[0] = n_rows
    wrong = rng.integers(0, accepted // 3 + 1)
    return np.column_stack([accepted, -wrong, -rng.integers(1, 60, size=n_designs)]).astype(float)


def beats(some, others):
    """Whether each figure of some beats each of the others."""
    some, others = some[:, None], others[None]
    return (some >= others).all(axis=2) & (some > others).any(axis=2)


@given(st.integers(0, 999), st.lists(st.integers(1, 6), min_size=2, max_size=3))
def test_sums_of_small_fronts_are_those_of_brute_force(seed, sizes):
    parts = [figures_of(seed + k, n) for k, n in enumerate(sizes)]
    levels = [np.arange(n) % 2 for n in sizes]
    figures, chosen = added_up(parts, sizes, levels)
    added = sum(part[chosen[:, k]] for k, part in enumerate(parts))
    assert np.array_equal(figures, added)
    every = np.array([np.sum(one, axis=0) for one in product(*parts)])
    front = {tuple(one) for one in every[~beats(every, every).any(axis=0)].tolist()}
    assert front <= {tuple(one) for one in figures.tolist()}


def test_only_the_best_ones_are_added_up_across_levels():
    parts = [figures_of(k, 6) for k in range(2)]
    levels = [np.array([1, 1, 1, 2, 2, 3])] * 2
    _, chosen = added_up(parts, [2, 2], levels)
    full = [np.flatnonzero(part[:, 0] == part[:, 0].max()).tolist() for part in parts]
    for one, other in chosen.tolist():
        are_full = one in full[0] and other in full[1]
        assert max(one, other) < 2 or are_full or levels[0][one] == levels[1][other]
    assert (levels[0][chosen] == 3).all(axis=1).any()


def test_many_sums_are_thinned_and_keep_the_most_accurate():
    parts = [figures_of(k, 60, n_rows=4000) for k in range(3)]
    figures, _ = added_up(parts, [60] * 3, [np.zeros(60)] * 3)
    assert len(figures) <= 3 * 400
    assert figures[:, 1].max() == sum(part[:, 1].max() for part in parts)


@given(st.integers(0, 999), st.integers(1, 300))
def test_trees_to_judge_are_of_all_coverages_and_none_beats_another(seed, n_designs):
    figures = figures_of(seed, n_designs)
    kept = best_sums(figures, 40.0)
    assert np.array_equal(kept, np.unique(kept))
    full = figures[:, 0] == 40
    assert not beats(figures[full], figures[kept[full[kept]]]).any()
    assert figures[full, 1].max() == figures[kept[full[kept]], 1].max()
    figures[:, 1] /= figures[:, 0]  # among those that reject rows, shares of wrong labels count
    rejecting = kept[~full[kept]]
    others = figures[~full]
    assert not (others[:, None] > figures[rejecting]).all(axis=2).any()
    for coverage in (0.9, 0.5):
        enough = others[others[:, 0] >= coverage * 40, 1]
        assert not enough.size or enough.max() in figures[rejecting, 1]


@given(st.integers(0, 999), st.integers(1, 40), st.integers(1, 40))
def test_different_figures_are_told_apart(seed, n, n_kept):
    figures = figures_of(seed, n)
    kept = spread(figures, n_kept)
    assert len(kept) == min(n, n_kept)
    assert figures[kept, 1].max() == figures[:, 1].max()
    assert (np.diff(kept) > 0).all()


def test_each_is_as_far_as_possible_from_those_before_it():
    figures = np.random.default_rng(0).random((30, 3))
    order = order_by_distance(figures, first=4, max_kept=12)
    assert order[0] == 4
    assert len(set(order.tolist())) == 12
    scaled = (figures - figures.min(axis=0)) / np.ptp(figures, axis=0)
    for n in range(1, 12):
        distance = np.linalg.norm(scaled[:, None] - scaled[order[:n]], axis=2).min(axis=1)
        assert distance[order[n]] == pytest.approx(distance.max())
    assert order_by_distance(figures[:0]).size == 0


@given(st.integers(0, 999), st.integers(1, 30), st.integers(1, 40))
def test_layers_are_fronts_without_those_before(seed, n, n_wanted):
    rng = np.random.default_rng(seed)
    right, paid = rng.integers(0, 9, size=(2, n)).astype(float)
    order = in_layers(right, paid, n_wanted)
    assert len(set(order.tolist())) == len(order)
    assert len(order) >= min(n, n_wanted)
    left, figures = np.ones(n, dtype=bool), np.column_stack([right, -paid])
    for i in order[: n_wanted if len(order) < n else n].tolist():
        assert not beats(figures[left], figures[[i]]).any()
        left[i] = False
