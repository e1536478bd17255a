"""Every design of a small space, counted by the rows that it accepts and gets right."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco._kernels.counts import tally_designs
from emsco.scoring.pareto import front_mask
from emsco.scoring.scores import Counts
from emsco.search.subsets import Subsets

_PARTS = 64  # parts of the work, for any number of threads
_UNSEEN = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class Landscape:
    """All designs of a space, with an entry for each pair of accepted and correct rows.

    Attributes
    ----------
    n_rows : int
        Scored rows.
    accepted, correct : ndarray of shape (n_pairs,)
    n_designs : ndarray of shape (n_pairs,)
        Number of designs with this pair.
    lowest, mean : ndarray of shape (n_pairs,)
        The lowest and the mean cost of a row over these designs.
    best : ndarray of bool, shape (n_pairs,)
        Whether the cheapest of them is on the exact front.
    """

    n_rows: int
    accepted: IntArray
    correct: IntArray
    n_designs: IntArray
    lowest: FloatArray
    mean: FloatArray
    best: BoolArray

    @property
    def coverage(self) -> FloatArray:
        """Share of accepted rows, by pair."""
        return self.accepted / self.n_rows

    @property
    def accuracy(self) -> FloatArray:
        """Share of accepted rows that are correct, by pair; 0 where no row is accepted."""
        return self.correct / np.maximum(self.accepted, 1)


def landscape_of(subsets: Subsets, per_one: float, n_jobs: int) -> Landscape:
    """Count every design that buys everything in the end, where costs are whole numbers.

    `per_one` units of costs make a cost of 1. The result does not depend on `n_jobs` threads.
    """
    n_rows = subsets.n_rows
    accepts, errs = subsets.accepts[:, 0], subsets.errs[:, 0]
    costs, n_words = subsets.cost.astype(np.int64), accepts.shape[1]
    max_subsets, full = subsets.space.deepest - 1, len(accepts) - 1
    shape = (n_rows + 1, n_rows + 1)

    def tally(firsts: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        # The kernel walks depth first: line j holds the rows that are left after j stages, as bits.
        rows = np.zeros((max_subsets + 1, n_words), dtype=np.uint64)
        rows[0] = np.packbits(np.arange(64 * n_words) < n_rows, bitorder="little").view("<u8")
        counts = np.zeros((max_subsets + 1, 4), dtype=np.int64)
        counts[0, 0] = n_rows
        chain = np.zeros((2, max_subsets + 1), dtype=np.int64)
        designs, total = np.zeros((2, *shape), dtype=np.int64)
        sums = designs, np.full(shape, _UNSEEN), total
        tally_designs(accepts, errs, costs, firsts, max_subsets, rows, counts, chain, *sums)
        return sums

    # The one design of a single stage, then all others.
    n_accepted, n_wrong = (int(np.bitwise_count(bits[-1]).sum()) for bits in (accepts, errs))
    designs, total = np.zeros((2, *shape), dtype=np.int64)
    lowest = np.full(shape, _UNSEEN)
    pair = n_accepted, n_accepted - n_wrong
    designs[pair], lowest[pair], total[pair] = 1, n_rows * costs[-1], n_rows * costs[-1]
    # Small subsets start the longest chains, so every part gets some of each size.
    firsts = np.arange(1, full if max_subsets else 1, dtype=np.int64)
    parts = [part for i in range(_PARTS) if (part := firsts[i::_PARTS]).size]
    with ThreadPoolExecutor(n_jobs) as threads:
        for more, lower, paid in threads.map(tally, parts):
            designs += more
            np.minimum(lowest, lower, out=lowest)
            total += paid
    accepted, correct = np.nonzero(designs)
    n_designs, cheapest = designs[accepted, correct], lowest[accepted, correct]
    return Landscape(
        n_rows,
        accepted,
        correct,
        n_designs,
        cheapest / per_one / n_rows,
        total[accepted, correct] / n_designs / per_one / n_rows,
        front_mask(Counts(n_rows, accepted[:, None], correct[:, None], cheapest)),
    )
