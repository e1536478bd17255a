"""Dominance, ties and orders of designs. With whole-number counts, rounding never affects them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from emsco._base.objectives import balanced_length
from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco.designs.population import Designs
from emsco.scoring.scores import Counts

_LENGTH_DECIMALS = 12
_NEAR = 1e-12  # means of shares this near to each other may be equal; rounding errors are smaller
SAME_COST = 1e-9  # relative; costs closer than this are equal, unless they are whole numbers


def accuracy_ranks(correct: IntArray, accepted: IntArray) -> IntArray:
    """Rank means of correct / accepted over the classes exactly; both are (n_designs, n_classes).

    Rounding may separate equal means, and may make different ones equal. So different shares whose
    means come out nearly equal are compared as fractions. A share of nothing is 0.
    """
    divisor = np.maximum(accepted, 1)
    # Shares in lowest terms, so that equal shares have equal numbers.
    common = np.maximum(np.gcd(correct, divisor), 1)
    pairs = np.concatenate([correct // common, divisor // common], axis=1)
    different, place = np.unique(pairs, axis=0, return_inverse=True)
    above, below = np.split(different, 2, axis=1)
    mean = (above / below).mean(axis=1)
    order = np.argsort(mean, kind="stable")
    run = np.empty(len(order), dtype=np.int64)  # of means that are near their neighbours
    run[order] = np.cumsum(np.diff(mean[order], prepend=-1) > _NEAR)
    exact = [Fraction(0)] * len(order)
    for i in np.flatnonzero(np.bincount(run)[run] > 1).tolist():
        exact[i] = sum(map(Fraction, above[i].tolist(), below[i].tolist()), Fraction(0))
    keys = list(zip(run.tolist(), exact, strict=True))
    ranks = {key: rank for rank, key in enumerate(sorted({*keys}))}
    return np.array([ranks[key] for key in keys], dtype=np.int64)[place.reshape(-1)]


def exact_objectives(scores: Counts) -> FloatArray:
    """Coverage, accuracy and cost of each design as float64 columns; larger is better.

    The numbers are ordered exactly as the objectives are, with the same ties.
    """
    # Equal fractions give equal floats. Different fractions with denominators below 2²⁶ give
    # different floats, because they are more than half a unit in the last place apart.
    accuracy: FloatArray | IntArray = scores.accuracy
    if scores.metric != "accuracy" or scores.n_rows >= 2**26:
        accuracy = accuracy_ranks(scores.by_class[:, 1], scores.by_class[:, 0])
    cost: FloatArray | IntArray = scores.spent
    if cost.dtype.kind == "f" or cost.max(initial=0) >= 2**53:
        # Rank them from 0; floats within `SAME_COST` share a rank.
        distinct, cost = np.unique(cost, return_inverse=True)
        if distinct.dtype.kind == "f":
            # Chained: each within rounding of its neighbour, so equality stays transitive in a run.
            rises = np.diff(distinct) > SAME_COST * np.abs(distinct[1:])
            cost = np.concatenate([[0], np.cumsum(rises)])[cost]
    return np.column_stack([scores.accepted, accuracy, -cost]).astype(np.float64)


def front_mask(scores: Counts) -> BoolArray:
    """Whether each design is on the front. Designs with equal objectives share the answer.

    A design within the limits dominates all designs above them. Among the latter, those
    that exceed the limits least dominate the others.
    """
    from moocore import is_nondominated

    nearest = np.flatnonzero(scores.excess == scores.excess.min(initial=np.inf))
    mask = np.zeros(len(scores), dtype=np.bool_)
    # Weakly: designs with equal objectives do not throw each other out.
    objectives = exact_objectives(scores[nearest])
    mask[nearest] = is_nondominated(objectives, maximise=True, keep_weakly=True)
    return mask


def tie_groups(scores: Counts) -> IntArray:
    """Group number of each design; designs with equal objectives share one."""
    objectives = exact_objectives(scores)
    groups: IntArray = np.unique(objectives, axis=0, return_inverse=True)[1].reshape(-1)
    return groups


def simplest_first(designs: Designs) -> IntArray:
    """Sort designs by simplicity: fewer stages first, then the smaller chromosome."""
    order: IntArray = np.lexsort((designs.chromosomes(), designs.n_stages))
    return order


def longest_first(designs: Designs, lengths: FloatArray) -> IntArray:
    """Sort designs by a length, the longest first; equal ones by simplicity."""
    # Lengths that differ only by rounding count as equal.
    rounded = np.round(lengths, _LENGTH_DECIMALS)
    order: IntArray = np.lexsort((designs.chromosomes(), designs.n_stages, -rounded))
    return order


def best_balanced_first(designs: Designs, scores: Counts, total_cost: float) -> IntArray:
    """Sort designs by balanced score, the best first; equal ones by simplicity."""
    return longest_first(designs, balanced_scores(scores, total_cost))


def balanced_scores(scores: Counts, total_cost: float) -> FloatArray:
    """Balanced score of each design."""
    length: FloatArray = balanced_length(scores.coverage, scores.accuracy, scores.cost, total_cost)
    return length


def aggregates(
    coverage: FloatArray, accuracy: FloatArray, cost: FloatArray, smallest_cost: float
) -> FloatArray:
    """The paper's length of (coverage, accuracy, inverse cost), relative to the cheapest design."""
    lowest = cost.min()
    # Beside a design that costs nothing, all ratios would be 0, and its own undefined.
    shift = smallest_cost if lowest == 0 else 0.0
    inverse_cost = (lowest + shift) / (cost + shift)
    length: FloatArray = np.sqrt(coverage**2 + accuracy**2 + inverse_cost**2)
    return length


def knee_of(coverage: FloatArray, accuracy: FloatArray, cost: FloatArray) -> int:
    """Position of the point nearest to the best of all objectives, each scaled to 0..1."""
    objectives = np.column_stack([coverage, accuracy, -cost])
    best, worst = objectives.max(axis=0), objectives.min(axis=0)
    # An objective that all points share does not count.
    missed = (best - objectives) / np.where(best > worst, best - worst, 1.0)
    return int(np.argmin((missed**2).sum(axis=1)))
