"""Allowances: the most that a design may cost to be worth knowing, given designs known before."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from emsco._base.typing import FloatArray, IntArray, SmallIntArray
from emsco.scoring.pareto import SAME_COST
from emsco.scoring.scores import Scores

Counts: TypeAlias = IntArray | SmallIntArray

_LINES = 1024  # most lines of the allowances


def shift_of(n_rows: int) -> int:
    """Return s, where allowances have a line and a column for every 2ˢ rows."""
    return max(0, (n_rows // _LINES).bit_length())


def slack_of(costs: FloatArray | IntArray) -> float:
    """Return the relative difference up to which costs count as equal; 0 for whole numbers."""
    return 0.0 if costs.dtype.kind == "i" else SAME_COST


def allowances(
    n_rows: int,
    most_spent: float,
    accepted: Counts,
    wrong: Counts,
    spent: Counts | FloatArray,
    known: Scores | None = None,
) -> FloatArray:
    """Least cost of these designs at no less coverage and accuracy, by line and column.

    No design may cost more than `most_spent`. Line u and column v stand for u 2ˢ accepted rows,
    v 2ˢ of them wrong, with the shift s. A design counts at a place only if it is no worse than
    the place itself. The kernels round the counts that they look up to a better place, so they
    never give up a chain that no design beats. Feasible designs of `known` count as well.
    """
    if known is not None:
        known = known[known.feasible]
        accepted = np.concatenate([accepted, known.accepted])
        wrong = np.concatenate([wrong, known.accepted - known.correct])
        spent = np.concatenate([spent, known.spent])
    shift = shift_of(n_rows)
    n_lines = (n_rows >> shift) + 2
    cheapest = np.full((n_lines, n_lines), most_spent)
    lines = np.arange(n_lines, dtype=np.int64) << shift
    for a, w, s in set(zip(accepted.tolist(), wrong.tolist(), spent.tolist(), strict=True)):
        reached = np.flatnonzero(lines <= a)
        # Fewest wrong rows among lines[u] accepted at which this design is no less accurate.
        # With nothing accepted its accuracy is 0, so all of them have to be wrong.
        fewest = -(-lines[reached] * w // a) if a else lines[reached]
        np.minimum.at(cheapest, (reached, -(-fewest >> shift)), s)
    # A design that beats a place also beats those with more wrong rows on the same line.
    return np.minimum.accumulate(cheapest, axis=1)


def allowances_of_point(front: Scores, point: int, most_spent: float) -> FloatArray:
    """Allowances that leave only the chains which may end in the objectives of one point."""
    wrong = front.accepted - front.correct
    allowed = allowances(front.n_rows, most_spent, front.accepted, wrong, front.spent)
    lines = np.arange(len(allowed)) << shift_of(front.n_rows)
    matches = (lines[:, None] >= front.accepted[point]) & (lines <= wrong[point])
    return np.where(matches, np.minimum(allowed, float(front.spent[point])), -np.inf)
