"""Sums of fronts: the best designs that branch, from figures of the designs of each part.

Rows that are accepted, rows with a wrong label and costs are sums over rows. So what a tree scores
is the sum of what its parts score, and the front of all trees is the sum of the fronts of the
parts, thinned. Figures have three columns, each the larger the better: accepted rows, wrong labels
as a negative number, and cost as one. Wrong labels, not correct ones, tell a tree that rejects rows
from one that answers them badly: a row without a label is neither.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emsco._base.typing import AnyArray, FloatArray, IntArray

_SUMS = 400  # of several parts that are kept
# Trees that are judged row by row: so many that answer everyone, and so many for each coverage.
_TREES = 75
_COVERAGES = (0.98, 0.95, 0.9, 0.8, 0.7, 0.5, 0.2)
_REJECTING = 40


def added_up(
    figures: Sequence[FloatArray], n_best: Sequence[int], levels: Sequence[AnyArray]
) -> tuple[FloatArray, IntArray]:
    """Add up designs of all parts; return what the best sums are, and the design of each part.

    Parameters
    ----------
    figures : sequence of ndarray of shape (n_designs, 3)
        Of the designs of each part.
    n_best : sequence of int
        So many designs of each part, the first, are the best ones; others only vary these.
    levels : sequence of ndarray of shape (n_designs,)
        Level of the last stage of each design.
    """
    common = set.intersection(*(set(one.tolist()) for one in levels))
    families = [
        [np.arange(n) for n in n_best],
        # Sums that accept all rows are few among all, and users ask for them most.
        [np.flatnonzero(one[:, 0] >= one[:, 0].max()) for one in figures],
        # Whom to reject is best decided at one confidence for all parts.
        *([np.flatnonzero(one == level) for one in levels] for level in sorted(common)),
    ]
    sums, chosen = [], []
    for places in families:
        total, which = np.zeros((1, 3)), np.zeros((1, 0), dtype=np.int64)
        for one, some in zip(figures, places, strict=True):
            total = (total[:, None] + one[some]).reshape(-1, 3)
            before, design = np.divmod(np.arange(len(total)), len(some))
            which = np.column_stack([which[before], some[design]])
            kept = _thinned(total, _SUMS)
            total, which = total[kept], which[kept]
        sums.append(total)
        chosen.append(which)
    return np.concatenate(sums), np.concatenate(chosen)


def best_sums(figures: FloatArray, n_rows: float) -> IntArray:
    """Return the places of the trees to judge, of `n_rows` rows by weight.

    They are the best that accept all rows, and for each of several shares of rows the most accurate
    ones, from cheap to dear, that accept as many.
    """
    accepted = figures[:, 0]
    accepts_all = accepted >= n_rows * (1 - 1e-9)
    everyone = np.flatnonzero(accepts_all)
    kept = [everyone[_thinned(figures[everyone], _TREES)]]
    share_right = figures[:, 1] / np.where(accepted > 0, accepted, 1)
    for coverage in _COVERAGES:
        places = np.flatnonzero(~accepts_all & (accepted >= coverage * n_rows))
        places = places[_unbeaten(np.column_stack([share_right, figures[:, 2]])[places])]
        kept.append(places[spread(figures[places], _REJECTING)])
    return np.unique(np.concatenate(kept))


def spread(figures: FloatArray, max_kept: int) -> IntArray:
    """Return the places of figures that are as different as possible from each other."""
    if len(figures) <= max_kept:
        return np.arange(len(figures))
    # Roots tell those apart that reject few rows, and cheap ones.
    rejected = np.sqrt(figures[:, 0].max() - figures[:, 0])
    cost = np.sqrt(np.maximum(-figures[:, 2], 0.0))
    told_apart = np.column_stack([rejected, figures[:, 1], cost])
    return np.sort(order_by_distance(told_apart, int(figures[:, 1].argmax()), max_kept))


def order_by_distance(figures: FloatArray, first: int = 0, max_kept: int | None = None) -> IntArray:
    """Order lines of figures so that each is as far as possible from those before it.

    The line `first` leads, and at most `max_kept` are ordered.
    """
    if not len(figures):
        return np.zeros(0, dtype=np.int64)
    # Each figure from 0 to 1, so that no unit weighs more than another.
    figures = (figures - figures.min(axis=0)) / np.maximum(np.ptp(figures, axis=0), 1e-12)
    order = [first]
    nearest = np.full(len(figures), np.inf)  # distance to those ordered; -1 for these themselves
    for _ in figures[1:max_kept]:
        here = order[-1]
        nearest = np.minimum(nearest, np.linalg.norm(figures - figures[here], axis=1))
        nearest[here] = -1.0
        order.append(int(nearest.argmax()))
    return np.array(order)


def in_layers(right: FloatArray, paid: FloatArray, n_wanted: int) -> IntArray:
    """Order subsets: those that none beats come first, then those beaten by these alone, and so on.

    A subset is beaten by one that gets more rows right and costs no more. Within a layer, each is
    as different as possible from those before it. At least `n_wanted` are ordered, or all.
    """
    left, layers = np.lexsort((-right, paid)), [np.zeros(0, dtype=np.int64)]
    while left.size and sum(map(len, layers)) < n_wanted:
        best = np.maximum.accumulate(right[left])
        is_step = np.append(True, best[1:] > best[:-1])
        steps = left[is_step]
        figures = np.column_stack([np.zeros(len(steps)), right[steps], -paid[steps]])
        layers.append(steps[spread(figures, n_wanted)])
        left = left[~is_step]
    return np.concatenate(layers)


def _thinned(figures: FloatArray, max_kept: int) -> IntArray:
    """Return the places of the most different figures that no others beat."""
    best = _unbeaten(figures)
    return best[spread(figures[best], max_kept)]


def _unbeaten(figures: FloatArray) -> IntArray:
    """Return the places of the figures that no others beat, the first of equal ones alone."""
    from moocore import is_nondominated

    if not len(figures):
        return np.zeros(0, dtype=np.int64)
    return np.flatnonzero(is_nondominated(figures, maximise=True, keep_weakly=False))
