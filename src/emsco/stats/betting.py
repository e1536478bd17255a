"""Inference about means of bounded values by betting (Waudby-Smith and Ramdas, 2024).

A sceptic of a claimed mean bets on the next value. If the claim is true, no betting strategy makes
money on average, and the chance that a start capital of 1 ever grows to 1/δ is at most δ. So a
capital that large is evidence against the claim, whenever you look at it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.objectives import LEVEL, Interval
from emsco._base.typing import FloatArray

_STAKES = np.geomspace(1e-4, 0.99, 40)  # as shares of the largest possible
LARGEST_STAKE = 0.9  # stake of a test whose number of rows is known beforehand, likewise


def mean_p_value(values: ArrayLike, limit: float, delta: float = 0.05) -> float:
    """P-value of the claim that the mean of values from 0 to 1 is `limit` or more.

    The order of the values must not depend on them. Stakes are those that win most for so many
    values with the spread seen so far, if `delta` is the level of the test; the p-value holds at
    any level.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> mean_p_value(rng.uniform(0, 0.4, 100), 0.3) < 0.001
    True
    >>> mean_p_value(rng.uniform(0, 0.6, 100), 0.3) > 0.05
    True
    """
    return float(mean_p_values(np.asarray(values, dtype=np.float64)[None], limit, delta)[0])


def mean_p_values(values: FloatArray, limit: float, delta: float = 0.05) -> FloatArray:
    """`mean_p_value` of each line of a table."""
    n_tests, n = values.shape
    if not 0 < limit < 1 or not n:
        return np.full(n_tests, 0.0 if limit >= 1 and n else 1.0)
    seen = np.arange(1, n + 1)
    mean = (0.5 + np.cumsum(values, axis=1)) / (seen + 1)
    spread = (0.25 + np.cumsum((values - mean) ** 2, axis=1)) / (seen + 1)
    known = np.column_stack([np.full(n_tests, 0.25), spread[:, :-1]])  # before each value
    stake = np.minimum(np.sqrt(2 * np.log(1 / delta) / (n * known)), LARGEST_STAKE / (1 - limit))
    capital = np.cumsum(np.log1p(stake * (limit - values)), axis=1)
    p_values: FloatArray = np.exp(np.minimum(0.0, -capital.max(axis=1)))
    return p_values


def log_capital_below(values: ArrayLike, counts: ArrayLike, mean: float) -> FloatArray:
    """Logarithm of what bets against "the mean is at least `mean`" have made of a capital of 1.

    `values` lie between 0 and 1, and `counts`, shape (..., n_values), tells how often each came.
    The capital is divided between stakes of many sizes, so that it depends on counts alone, not on
    their order.

    Examples
    --------
    >>> log_capital_below([0, 1], [[30, 70], [0, 0]], 0.9).round(1).tolist()
    [12.6, 0.0]
    """
    x, n = np.asarray(values, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    if mean <= 0:
        return np.zeros(n.shape[:-1])  # no mean is below
    stakes = _STAKES / (1 - mean) if mean < 1 else _STAKES * 1e9
    by_stake = n @ np.log1p(stakes * (mean - x)[:, None])
    capital: FloatArray = log_sum_exp(by_stake) - np.log(len(stakes))
    return capital


def log_capital_above(values: ArrayLike, counts: ArrayLike, mean: float) -> FloatArray:
    """Logarithm of what bets against "the mean is at most `mean`" have made of a capital of 1.

    Examples
    --------
    >>> round(float(log_capital_above([0, 1], [70, 30], 0.1)), 1)
    12.6
    """
    return log_capital_below(1 - np.asarray(values, dtype=np.float64), counts, 1 - mean)


def mean_interval(values: ArrayLike, counts: ArrayLike, level: float = LEVEL) -> Interval:
    """Interval of the mean of values from 0 to 1 that holds at all times, however often looked at.

    Examples
    --------
    >>> low, high = mean_interval([0, 1], [20, 80])
    >>> (round(low, 2), round(high, 2))
    (0.64, 0.91)
    """
    x, n = np.asarray(values, dtype=np.float64), np.asarray(counts, dtype=np.float64)
    if not n.sum():
        return Interval(0.0, 1.0)
    from scipy.optimize import brentq  # only here, since deciding does without SciPy

    mean, enough = float(x @ n / n.sum()), float(np.log(2 / (1 - level)))
    low, high = 0.0, 1.0
    if log_capital_above(x, n, 0.0) > enough and mean > 0:
        low = brentq(lambda m: log_capital_above(x, n, m) - enough, 0.0, mean)
    if log_capital_below(x, n, 1.0) > enough and mean < 1:
        high = brentq(lambda m: log_capital_below(x, n, m) - enough, mean, 1.0)
    return Interval(float(low), float(high))


def log_sum_exp(logs: FloatArray) -> FloatArray:
    """Logarithm of the sum over the last axis of numbers given by their logarithms.

    Examples
    --------
    >>> log_sum_exp(np.log([[1.0, 3.0]])).round(4).tolist()
    [1.3863]
    """
    largest = logs.max(axis=-1, keepdims=True)
    total: FloatArray = largest[..., 0] + np.log(np.exp(logs - largest).sum(axis=-1))
    return total
