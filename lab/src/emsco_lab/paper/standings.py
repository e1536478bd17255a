"""Figures of methods over random splits, and paired tests of their differences.

Splits share rows, so their figures vary less than those of new rows would. Nadeau and Bengio (2003)
correct for it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats

from emsco_lab.compare.comparison import ALPHA, holm

_SHARED = 1 / 3  # test rows per row that is fitted or chosen on
_DIGITS = 9  # beyond these digits, figures differ by rounding alone


def _errors(table: NDArray[Any]) -> NDArray[Any]:
    """Standard errors of column means."""
    errors: NDArray[Any] = table.std(axis=0, ddof=1) * np.sqrt(1 / len(table) + _SHARED)
    return errors


def margins(table: NDArray[Any]) -> list[float]:
    """95 % margins of error of column means; 0 for a single line."""
    if len(table) < 2:
        return [0.0] * table.shape[1]
    width = float(stats.t.ppf(1 - ALPHA / 2, len(table) - 1)) * _errors(table)
    return [float(one) for one in width]


def _p_values(gains: NDArray[Any]) -> NDArray[Any]:
    """Two-sided p-value of each column; 1 if nothing differs, or for a single split."""
    if len(gains) < 2:
        return np.ones(gains.shape[1])
    means, errors = gains.mean(axis=0), _errors(gains)
    with np.errstate(divide="ignore", invalid="ignore"):
        tested = 2 * stats.t.sf(np.abs(means / errors), len(gains) - 1)
    # A gain equal on all splits is no chance.
    return np.where(errors > 0, tested, np.where(means == 0, 1.0, 0.0))


def duels(first: pd.DataFrame, others: Mapping[str, pd.DataFrame]) -> dict[str, dict[str, Any]]:
    """Compare a method with others on the splits they share; all tests are corrected together.

    Tables have a line for each split, with accuracy, coverage and cost. Gains are mean advantages
    of the first.
    """
    gains = [_gains(first, other) for other in others.values()]
    p_values = holm(pd.Series(np.concatenate([[], *map(_p_values, gains)])))
    fought = {}
    for name, table, p in zip(others, gains, p_values.to_numpy().reshape(-1, 3), strict=True):
        mean, differs = table.mean(axis=0), table.any(axis=1)
        fought[name] = {
            "gains": mean.tolist(),
            "p_values": p.tolist(),
            "n_splits": len(table),
            "n_won": int((differs & (table >= 0).all(axis=1)).sum()),
            "n_lost": int((differs & (table <= 0).all(axis=1)).sum()),
            "verdict": verdict(mean, p),
        }
    return fought


def _gains(first: pd.DataFrame, second: pd.DataFrame) -> NDArray[Any]:
    """Advantage of the first on each common split, rounded to nine digits."""
    common = first.index.intersection(second.index)
    better = np.array([1.0, 1.0, -1.0])  # accuracy and coverage up, cost down
    mine, theirs = (one.loc[common].to_numpy() * better for one in (first, second))
    # Relative to the largest figure of an objective, since costs may have any unit; never 0.
    size = np.abs([*mine, *theirs, np.full(3, 1e-300)]).max(axis=0)
    gains: NDArray[Any] = ((mine - theirs) / size).round(_DIGITS) * size
    return gains


def verdict(gains: NDArray[Any], p_values: NDArray[Any]) -> str:
    """Sum a duel up: to dominate takes a significant gain and no mean loss.

    Examples
    --------
    >>> verdict(np.array([0.0, 0.1, 5.0]), np.array([1.0, 0.01, 0.2]))
    'dominates'
    """
    sure = gains[p_values < ALPHA]
    better, worse = bool((sure > 0).any()), bool((sure < 0).any())
    if better and worse:
        return "trades"
    if better:
        return "dominates" if gains.min() >= 0 else "is ahead"
    if worse:
        return "is dominated" if gains.max() <= 0 else "is behind"
    return "no difference"
