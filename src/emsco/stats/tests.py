"""Tests of shares on given rows, and of figures over random splits, which share rows.

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


def standard_error(figures: FloatArray, shared: float, min_deviation: float = 0.0) -> FloatArray:
    """Standard errors of column means; smaller deviations count as `min_deviation`.

    Random splits share rows, so their results vary less than results on new rows would. Nadeau and
    Bengio (2003) correct for it: they add `shared`, the test rows per training row, to 1/n.
    """
    deviations = np.maximum(figures.std(axis=0, ddof=1), min_deviation)
    error: FloatArray = deviations * np.sqrt(1 / len(figures) + shared)
    return error


def margin(figures: FloatArray, shared: float = 0.0) -> FloatArray:
    """95 % margins of error of column means, by Student's distribution; 0 for a single line.

    `shared` is the number of test rows per fitted row if lines are splits of the same rows.
    """
    from scipy import stats

    n = len(figures)
    if n < 2:
        return np.zeros(figures.shape[1])
    return float(stats.t.ppf(1 - ALPHA / 2, n - 1)) * standard_error(figures, shared)


def paired_p_values(gains: FloatArray, shared: float, min_deviation: float = 0.0) -> list[float]:
    """Two-sided p-value of each column; 1 if nothing differs, or for a single split.

    Deviations of a gain between splits count as `min_deviation` at least: shares of a few test rows
    often agree by chance on a few splits.
    """
    from scipy import stats

    n = len(gains)
    if n < 2:
        return [1.0] * gains.shape[1]
    means, errors = gains.mean(axis=0), standard_error(gains, shared, min_deviation)
    steady = np.where(means == 0, 1.0, 0.0)  # a gain equal on all splits is no chance
    with np.errstate(divide="ignore", invalid="ignore"):
        tested = 2 * stats.t.sf(np.abs(means / errors), n - 1)
    p_values: list[float] = np.where(errors > 0, tested, steady).tolist()
    return p_values
