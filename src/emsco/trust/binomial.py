"""Exact inference about a share: tests, intervals, and how many rows a test needs."""

from __future__ import annotations

import numpy as np
from scipy import stats

from emsco._base.intervals import LEVEL, Interval
from emsco._base.typing import FloatArray, IntArray

__all__ = ["LEVEL", "Interval", "p_value", "power", "rows_for_power", "share_interval"]

_MOST_ROWS = 2**22


def p_value(n_hits: int, n_rows: int, least: float) -> float:
    """How likely so many hits or more are if the true share is `least`, or below it.

    A small value is evidence that the share is above `least`. Without rows it is 1.

    Examples
    --------
    >>> round(p_value(97, 100, 0.9), 4)
    0.0078
    """
    return float(stats.binom.cdf(n_rows - n_hits, n_rows, 1 - least))


def share_interval(n_hits: int, n_rows: int, level: float = LEVEL) -> Interval:
    """Clopper and Pearson's interval of a share; from 0 to 1 without rows.

    Examples
    --------
    >>> share_interval(0, 20)
    Interval(low=0.0, high=0.168433471)
    """
    tail = (1 - level) / 2
    low = stats.beta.ppf(tail, n_hits, n_rows - n_hits + 1) if n_hits else 0.0
    high = stats.beta.ppf(1 - tail, n_hits + 1, n_rows - n_hits) if n_hits < n_rows else 1.0
    return Interval(round(float(low), 10), round(float(high), 10))


def power(n_rows: IntArray, true: float, least: float, delta: float) -> FloatArray:
    """Chance that a test on so many rows shows a share above `least`, if `true` is the share."""
    misses = np.maximum(stats.binom.ppf(delta, n_rows, 1 - least), 0)
    misses = misses - (stats.binom.cdf(misses, n_rows, 1 - least) > delta)  # -1: no count will do
    found: FloatArray = stats.binom.cdf(misses, n_rows, 1 - true)
    return found


def rows_for_power(true: float, least: float, delta: float = 0.05, aim: float = 0.8) -> int | None:
    """Return the number of rows from which a test succeeds with a chance of `aim` or more.

    Power rises like a saw: with one row more, it can drop again. From this number on it stays above
    the aim. None if `true` is not above `least`, or millions of rows are too few.

    Examples
    --------
    >>> rows_for_power(0.95, 0.9)
    203
    """
    if true <= least:
        return None
    most = 64
    while power(np.array([most]), true, least, delta)[0] < (1 + aim) / 2:
        most *= 2
        if most > _MOST_ROWS:
            return None
    below = np.flatnonzero(power(np.arange(1, 2 * most + 1), true, least, delta) < aim)
    return int(below[-1]) + 2 if below.size else 1
