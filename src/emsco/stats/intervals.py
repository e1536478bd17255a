"""Intervals of shares and of mean costs, for any number of rows that is fixed beforehand.

A share over rows that are alike within groups, such as several visits of a patient, is less certain
than over as many independent rows. The *effective* number is that of independent rows with the same
certainty. Exact intervals for so many rows are approximate intervals of the share (Korn and
Graubard, 1998). SciPy is imported where it is used, since deciding does without it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.objectives import LEVEL, NORMAL, Estimate, Interval
from emsco._base.typing import FloatArray

_STEP = 0.05
_STEPS = np.exp(np.arange(-14, 14, _STEP))  # of an integral over the logarithm of a frequency
_FEW = 40  # with as many rows, nothing is left of the integral beyond e⁴
_FEWER_STEPS = _STEPS[np.exp(4) > _STEPS]


def share_intervals(
    n_hits: ArrayLike, n_rows: ArrayLike, level: float = LEVEL
) -> tuple[Interval, ...]:
    """Clopper and Pearson's intervals of many shares; from 0 to 1 without rows.

    Numbers need not be whole: a weighted share counts like one of an effective number of rows.

    Examples
    --------
    >>> share_intervals([0, 87], [20, 100])[0]
    Interval(low=0.0, high=0.168433471)
    """
    from scipy.special import betaincinv

    hits, rows = np.broadcast_arrays(*(np.asarray(one, float) for one in (n_hits, n_rows)))
    misses, tail = np.maximum(rows - hits, 0.0), (1 - level) / 2
    none, every = hits <= 0, misses <= 0
    low = betaincinv(np.where(none, 1.0, hits), misses + 1, tail)
    high = betaincinv(hits + 1, np.where(every, 1.0, misses), 1 - tail)
    ends = np.round(np.where(none, 0.0, low), 10), np.round(np.where(every, 1.0, high), 10)
    return tuple(map(Interval, *(np.atleast_1d(end).tolist() for end in ends)))


def share_estimate(value: float, n_rows: float) -> Estimate:
    """Return a share with Wilson's interval, as if it was counted on so many rows.

    Examples
    --------
    >>> print(share_estimate(0.9, 100))
    0.9 (0.826 to 0.945)
    """
    value, n = min(max(value, 0.0), 1.0), max(n_rows, 1.0)
    z = NORMAL**2 / n
    centre = (value + z / 2) / (1 + z)
    half = math.sqrt(z * value * (1 - value) + z * z / 4) / (1 + z)
    return Estimate(value, min(value, max(0.0, centre - half)), max(value, min(1.0, centre + half)))


def cost_interval(costs: ArrayLike, counts: ArrayLike, level: float = LEVEL) -> Interval:
    """Interval of the mean of costs of which only a few are possible.

    Imagine one more row, first with the lowest cost and then with the highest, and give all rows
    random weights (Dirichlet's). The quantiles of the two weighted means are the limits (Gaffke,
    2005; Learned-Miller and Thomas, 2019). With two possible costs, these are Clopper and Pearson's
    limits, which are exact. With more, it is not proven that the interval holds as often as it
    says, but no case is known where it does not. On a thousand rows it is little wider than an
    interval that knows the true variance; an interval by betting is much wider (lab/REPORT.md).

    Parameters
    ----------
    costs : array-like of shape (n_costs,)
        The possible costs of a row.
    counts : array-like of shape (n_costs,)
        Rows with each cost, which need not be whole.
    level : float

    Examples
    --------
    >>> low, high = cost_interval([1, 5, 25], [60, 30, 10])
    >>> round(low, 2), round(high, 2)
    (3.37, 6.36)
    """
    paid, rows = np.asarray(costs, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    low, high, tail = float(paid.min()), float(paid.max()), (1 - level) / 2
    if low == high or rows.sum() <= 0:
        return Interval(low, high)
    paid, rows = paid[rows > 0], rows[rows > 0]
    return Interval(_quantile(tail, paid, rows, low), _quantile(1 - tail, paid, rows, high))


def normal_interval(mean: float, deviation: float, n_rows: float, level: float = LEVEL) -> Interval:
    """Student's interval of the mean of values of at least 0, which is approximate.

    Examples
    --------
    >>> low, high = normal_interval(5.0, deviation=2.0, n_rows=100)
    >>> round(low, 2), round(high, 2)
    (4.6, 5.4)
    """
    if n_rows <= 1:
        return Interval(0.0, math.inf)
    from scipy.special import stdtrit

    error = deviation / math.sqrt(n_rows - 1) * float(stdtrit(n_rows - 1, (1 + level) / 2))
    return Interval(max(0.0, mean - error), mean + error)


def kish(weights: FloatArray) -> float:
    """Kish's effective number of rows with weights: the square of their sum over that of squares.

    Examples
    --------
    >>> kish(np.array([1.0, 1.0, 1.0])), kish(np.array([1.0, 1.0, 0.0]))
    (3.0, 2.0)
    """
    squares = float((weights**2).sum())
    return float(weights.sum()) ** 2 / squares if squares else 0.0


def effective_rows(
    part: FloatArray, whole: FloatArray, variance: float, varied: int, n_rows: float
) -> float:
    """Return the effective number of rows of a ratio of two sums over groups.

    The spread of the groups around the ratio gives the design effect: how many times as large the
    variance is as that of independent rows. If hardly any group has both outcomes, the design
    effect is unknown; it is then drawn towards that of groups whose rows are all alike.

    Parameters
    ----------
    part, whole : ndarray of shape (n_groups,)
        Sums over the rows of each group, such as correct rows and answered rows.
    variance : float
        Variance of the ratio between independent rows of weight 1, such as p(1 - p).
    varied : int
        Number of groups with the rarer outcome.
    n_rows : float
        Effective number of the rows if they were independent.

    Examples
    --------
    Rows of a group that are all alike count as one:

    >>> whole = np.full(100, 5.0)
    >>> part = np.where(np.arange(100) < 80, 5.0, 0.0)
    >>> round(effective_rows(part, whole, variance=0.16, varied=20, n_rows=500), -1)
    100.0
    """
    there = whole > 0
    part, whole = part[there], whole[there]
    n_groups = len(whole)
    if n_groups < 2 or n_rows <= 1:
        return min(1.0, n_rows)
    all_alike = max(1.0, n_rows / kish(whole))
    measured = all_alike
    if variance > 0:
        ratio = part.sum() / whole.sum()
        spread = float(((part - ratio * whole) ** 2).sum()) * n_groups / (n_groups - 1)
        measured = max(1.0, n_rows * spread / float(whole.sum()) ** 2 / variance)
    effect = (all_alike + varied * measured) / (1 + varied)
    from scipy.special import stdtrit

    # A spread that is known from few groups only is less certain.
    rows, groups = stdtrit([max(n_rows, n_groups) - 1, n_groups - 1], (1 + LEVEL) / 2)
    return float(n_rows / effect) * float((rows / groups) ** 2)


def _quantile(share: float, costs: FloatArray, rows: FloatArray, more: float) -> float:
    """Quantile of the mean cost under random weights, with a row more at the cost `more`."""
    if (costs == more).all():
        return more
    from scipy.optimize import brentq

    values, sizes = np.append(costs, more), np.append(rows, 1.0)
    total = sizes.sum()
    mean = float(values @ sizes / total)
    deviation = math.sqrt(float((values - mean) ** 2 @ sizes) / total / (total + 1))
    # By Cantelli's inequality, the quantile is no further from the mean than this.
    reach = deviation * math.sqrt(max(share, 1 - share) / min(share, 1 - share))
    first, last = max(values.min(), mean - reach), min(values.max(), mean + reach)
    edge = 1e-9 * (last - first)

    def missing(cost: float) -> float:
        """How much the chance that a mean with Dirichlet weights is below a cost exceeds `share`.

        Such weights are gamma variables over their sum, so the chance is that of a sum of gamma
        variables below 0. Gil-Pelaez's formula gets it from their characteristic functions.
        """
        apart = values - cost
        steps = _STEPS if total < _FEW else _FEWER_STEPS
        turns = np.outer(apart, steps / math.sqrt(float(sizes @ apart**2)))
        length, angle = sizes @ np.log1p(turns**2) / 2, sizes @ np.arctan(turns)
        return float(0.5 - np.exp(-length) @ np.sin(angle) * _STEP / math.pi) - share

    if missing(first + edge) >= 0:  # of hardly more than one row
        return float(first)
    if missing(last - edge) <= 0:
        return float(last)
    return float(brentq(missing, first + edge, last - edge, xtol=1e-7 * (last - first)))
