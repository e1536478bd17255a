"""Exact tests of a share, and their chance of success."""

from __future__ import annotations

import numpy as np

from emsco._base.typing import FloatArray, IntArray

__all__ = ["p_value", "power"]


def p_value(n_hits: int, n_rows: int, least: float) -> float:
    """How likely so many hits or more are if the true share is `least`, or below it.

    A small value is evidence that the share is above `least`. Without rows it is 1.

    Examples
    --------
    >>> round(p_value(97, 100, 0.9), 4)
    0.0078
    """
    from scipy.special import bdtr  # only here, since deciding does without SciPy

    return float(bdtr(n_rows - n_hits, n_rows, 1 - least))


def power(n_rows: IntArray, true: float, least: float, delta: float) -> FloatArray:
    """Chance that a test on so many rows shows a share above `least`, if `true` is the share."""
    from scipy import stats

    misses = np.maximum(stats.binom.ppf(delta, n_rows, 1 - least), 0)
    misses = misses - (stats.binom.cdf(misses, n_rows, 1 - least) > delta)  # -1: no count will do
    found: FloatArray = stats.binom.cdf(misses, n_rows, 1 - true)
    return found
