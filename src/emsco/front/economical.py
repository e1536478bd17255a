"""The economical rule, the default of `fit`: the cheapest design as good as buying everything.

Each design is compared row by row with the *yardstick*: buy everything at once and answer every
row, or as many as at the confidence that was given. The cheapest of many designs that look as good
is partly lucky. So a design must look better, by three quarters of a standard error of the paired
difference, in accuracy and in the mean over the classes of the share found: lab/REPORT.md has what
that keeps of both on new rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray

if TYPE_CHECKING:
    from emsco.front.point import ParetoPoint

# Standard errors by which a design must look better: the first of these that some design reaches.
MARGINS = (0.75, 0.5, 0.4, 0.0, -0.5)
# A difference in cost is none below this share of the cost of everything: saving a hundredth is not
# worth another stage or feature.
_SAME_COST = 0.01
_TIE = 1e-6  # shares that differ by less are the same
_ANSWERS = 1 - 1e-5  # coverage of a design that may answer everyone


def lead(gains: FloatArray, errors: FloatArray) -> FloatArray:
    """Return by how many standard errors designs are better than buying everything in all figures.

    A figure that is the same for both is 0 standard errors better, whatever its error is.

    Parameters
    ----------
    gains, errors : ndarray of shape (n_figures, ..., n_designs)
        Differences from buying everything, and their standard errors.
    """
    gains = np.where(abs(gains) <= _TIE, 0.0, gains)
    for_sure = np.where(gains == 0, 0.0, np.copysign(np.inf, gains))
    better: FloatArray = np.divide(gains, errors, out=for_sure, where=errors > 0).min(axis=0)
    return better


def economical(
    gains: FloatArray,
    errors: FloatArray,
    cost: FloatArray,
    size: IntArray,
    total_cost: float,
    is_informative: BoolArray | bool = True,
) -> IntArray:
    """Choose the cheapest design that is as good as buying everything.

    A design must cost less than everything, cover no less, and be better in accuracy and in the
    mean share found by the first of `MARGINS` that some design reaches. Of those that cost next to
    nothing more than the cheapest, the simplest is chosen. If there is none, it is the design that
    loses least: everything itself, if that is among them.

    Parameters
    ----------
    gains : ndarray of shape (3, ..., n_designs)
        Coverage, accuracy and mean share found, each less that of everything. Axes between, such as
        one of bags of rows, are chosen in one by one.
    errors : ndarray of shape (2, ..., n_designs)
        Standard errors of the gains in accuracy and mean share found.
    cost : ndarray of shape (..., n_designs)
        Cost less that of everything.
    size : ndarray of shape (n_designs,)
        Rank by simplicity.
    total_cost : float
        Cost of everything.
    is_informative : ndarray of bool, shape (n_designs,), or bool
        Whether designs beat the commonest class; others are chosen if there is none.

    Examples
    --------
    >>> gains = np.array([[0, 0, 0], [0.02, 0.01, 0], [0.02, 0.03, 0]])
    >>> errors = np.array([[0.01, 0.04, 0], [0.02, 0.04, 0]])
    >>> int(economical(gains, errors, np.array([-5.0, -9, 0]), np.array([1, 2, 0]), 10.0))
    0
    """
    may_be = (gains[0] >= -_TIE) & (cost < -_TIE * total_cost)
    better = np.where(may_be, lead(gains[1:], np.broadcast_to(errors, gains[1:].shape)), -np.inf)
    of_best = np.where(is_informative, better, -np.inf)
    better = np.where(of_best.max(axis=-1, keepdims=True) >= MARGINS[-1], of_best, better)
    furthest = better.max(axis=-1, keepdims=True)
    margin = np.select([furthest >= one for one in MARGINS], MARGINS, np.inf)
    is_good = better >= margin
    cheapest = np.where(is_good, cost, np.inf).min(axis=-1, keepdims=True)
    is_near = is_good & (cost <= cheapest + _SAME_COST * total_cost)
    loss = np.maximum(0.0, -gains.min(axis=0))
    # Where no design is good, all sizes are infinite here, so losses decide.
    simplest = np.where(is_near, size, np.inf)
    loss = np.where(is_good.any(axis=-1, keepdims=True), 0.0, loss)
    chosen: IntArray = np.lexsort((-better, cost, loss, simplest))[..., 0]
    return chosen


def gains_of(points: Sequence[ParetoPoint]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return gains, errors and costs of compared points, as `economical` takes them."""
    compared = [one.versus_everything for one in points if one.versus_everything is not None]
    columns = [(*one.values[:3], *one.mean_found, one.errors[1]) for one in compared]
    coverage, accuracy, cost, found, of_found, of_accuracy = np.array(columns).T
    return np.array([coverage, accuracy, found]), np.array([of_accuracy, of_found]), cost


def comparable(points: Sequence[ParetoPoint]) -> list[int]:
    """Positions of points that were compared with everything and may cover as much.

    To compare a point takes a pass over the rows, so where everything answers everyone, the points
    that do not are left out without that.
    """
    answering = [i for i, point in enumerate(points) if point.coverage >= _ANSWERS]
    first = points[answering[0]].versus_everything if answering else None
    if first is not None and abs(first.values[0]) <= _TIE:
        return answering
    return [i for i, point in enumerate(points) if point.versus_everything is not None]


def economical_of(points: Sequence[ParetoPoint], total_cost: float) -> int:
    """Return the position of the economical one of some points, some of which are `comparable`."""
    known = comparable(points)
    few = [points[i] for i in known]
    gains, errors, cost = gains_of(few)
    sizes = np.unique([point.size[:2] for point in few], axis=0, return_inverse=True)[1].reshape(-1)
    informative = np.array([point.is_informative for point in few])
    return known[int(economical(gains, errors, cost, sizes, total_cost, informative))]


def is_good_enough(point: ParetoPoint) -> bool:
    """Whether a point is as good as buying everything, by the least of `MARGINS`."""
    if point.versus_everything is None:
        return False
    gains, errors, _ = gains_of([point])
    return bool(gains[0, 0] >= -_TIE and lead(gains[1:], errors)[0] >= MARGINS[-1])


def why_economical(point: ParetoPoint) -> str:
    """Say in words why the rule chose a point that was compared with buying everything."""
    if point.n_stages == 1 and not point.design.left_out:
        return "everything at once, since no cheaper design is as good"
    if not is_good_enough(point):
        return "the one that falls least short of buying everything, since all do"
    if point.coverage < 1:
        return "the cheapest that is as good as buying everything"
    return "the cheapest that answers everyone as well as buying everything"
