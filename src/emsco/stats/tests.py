"""Tests of shares on given rows.

SciPy is imported where a test is made, since deciding does without it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.typing import FloatArray, IntArray

ALPHA = 0.05  # level of a test: a p-value below is called beyond chance


def share_p_value(n_hits: int, n_rows: int, limit: float) -> float:
    """How likely so many hits or more are if the true share is `limit`, or below it.

    A small value is evidence that the share is above `limit`. Without rows it is 1.

    Examples
    --------
    >>> round(share_p_value(97, 100, 0.9), 4)
    0.0078
    """
    from scipy.special import bdtr

    return float(bdtr(n_rows - n_hits, n_rows, 1 - limit))


def power(n_rows: IntArray, true: float, limit: float, delta: float) -> FloatArray:
    """Chance that a test on so many rows shows a share above `limit`, if `true` is the share."""
    from scipy import stats

    misses = np.maximum(stats.binom.ppf(delta, n_rows, 1 - limit), 0)
    misses = misses - (stats.binom.cdf(misses, n_rows, 1 - limit) > delta)  # -1: no count will do
    chance: FloatArray = stats.binom.cdf(misses, n_rows, 1 - true)
    return chance


def p_values_below(n_hits: ArrayLike, n_rows: ArrayLike) -> FloatArray:
    """Test of each subgroup whether its share is below that of all others together.

    Fisher's exact tests, corrected for their number by Holm's method. Effective numbers of rows
    are rounded, which makes the tests approximate. A subgroup without rows has 1.

    Examples
    --------
    >>> p_values_below([45, 90, 88], [60, 95, 95]).round(4).tolist()
    [0.0005, 1.0, 1.0]
    """
    from scipy import stats

    rows = np.rint(np.asarray(n_rows, dtype=np.float64))
    hits = np.minimum(np.rint(np.asarray(n_hits, dtype=np.float64)), rows)
    there = rows > 0
    p_values = np.ones(len(rows))
    tested = stats.hypergeom.cdf(hits[there], rows.sum(), hits.sum(), rows[there])
    p_values[there] = holm(tested)
    return p_values


def holm(p_values: Sequence[float]) -> FloatArray:
    """Correct p-values of many tests by Holm's step-down method.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).round(3).tolist()
    [0.03, 0.06, 0.06]
    """
    raw = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(raw, kind="stable")
    steps = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    corrected = np.empty_like(raw)
    corrected[order] = np.minimum(steps, 1.0)
    return corrected
