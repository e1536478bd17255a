"""How contestants stand on a set: means, margins of error, and paired tests over splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from emsco._base.objectives import Objectives
from emsco._base.typing import FloatArray

__all__ = ["ALPHA", "Duel", "Standing", "duels", "holm", "margin"]

ALPHA = 0.05
_BETTER = np.array([1.0, 1.0, -1.0])  # coverage and accuracy up, cost down
_DIGITS = 9  # past which figures differ by rounding alone
_SHARED = 1 / 3  # test rows for each row that was fitted or chosen on, in the paper's split
_LEAST = 1e-300  # so that nothing is divided by 0


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """A contestant on the test rows of many splits.

    Attributes
    ----------
    splits : tuple of int
    by_split : ndarray of shape (n_splits, 3)
        Coverage, accuracy and cost of each split, on average over runs.
    mean : Objectives
        On average over splits.
    margin : Objectives
        95 % margin of error of that mean, from how much splits differ, which share most rows.
    run_margin : Objectives
        95 % margin of error of a split's mean, from how much runs on one split differ, on average
        over splits: what the paper prints for its one split.
    n_runs : int
        Runs on a split.
    """

    splits: tuple[int, ...]
    by_split: FloatArray
    mean: Objectives
    margin: Objectives
    run_margin: Objectives
    n_runs: int

    @classmethod
    def from_tests(cls, tests: Mapping[int, Sequence[Objectives]]) -> Standing:
        """From what each run on each split came to."""
        splits = tuple(sorted(tests))
        runs = [_table(tests[split]) for split in splits]
        by_split = np.array([one.mean(axis=0) for one in runs])
        return cls(
            splits,
            by_split,
            Objectives(*by_split.mean(axis=0).tolist()),
            Objectives(*margin(by_split, _SHARED).tolist()),
            Objectives(*np.mean([margin(one) for one in runs], axis=0).tolist()),
            max(map(len, runs)),
        )


def _table(objectives: Sequence[Objectives]) -> FloatArray:
    return np.array([[one.coverage, one.accuracy, one.cost] for one in objectives])


def margin(table: FloatArray, shared: float = 0.0) -> FloatArray:
    """95 % margins of error of the means of columns, by Student's distribution; 0 for one row."""
    n = len(table)
    if n < 2:
        return np.zeros(table.shape[1])
    return float(stats.t.ppf(1 - ALPHA / 2, n - 1)) * _error(table, shared)


def _error(table: FloatArray, shared: float) -> FloatArray:
    """Standard errors of the means of columns.

    Random splits share rows, so their results agree more than those of new rows would. Nadeau and
    Bengio (2003) make up for it: to 1/n they add the test rows for each row learnt from, `shared`.
    """
    error: FloatArray = table.std(axis=0, ddof=1) * np.sqrt(1 / len(table) + shared)
    return error


@dataclass(frozen=True, slots=True)
class Duel:
    """Two contestants on the same splits.

    Attributes
    ----------
    gains : tuple of float
        By how much the first is better in coverage, accuracy and cost, on average; below 0 where
        the second is.
    p_values : tuple of float
        Of each, by the paired t-test for splits that share rows, corrected by Holm's method.
    n_splits, n_won, n_lost : int
        Splits that both have, and those where the first dominates the second, and the other way.
    """

    gains: tuple[float, float, float]
    p_values: tuple[float, float, float]
    n_splits: int
    n_won: int
    n_lost: int

    @property
    def better(self) -> tuple[bool, ...]:
        """Where the first is better beyond chance."""
        return tuple(g > 0 and p < ALPHA for g, p in zip(self.gains, self.p_values, strict=True))

    @property
    def worse(self) -> tuple[bool, ...]:
        """Where it is worse beyond chance."""
        return tuple(g < 0 and p < ALPHA for g, p in zip(self.gains, self.p_values, strict=True))

    @property
    def verdict(self) -> str:
        """Who dominates whom: as good on average in everything, better beyond chance in something.

        Examples
        --------
        >>> Duel((0.0, 0.1, 5.0), (1.0, 0.01, 0.2), 10, 4, 0).verdict
        'dominates'
        """
        if any(self.better) and min(self.gains) >= 0:
            return "dominates"
        if any(self.worse) and max(self.gains) <= 0:
            return "is dominated"
        if any(self.better) and any(self.worse):
            return "trades"
        if any(self.better):
            return "is ahead"
        return "is behind" if any(self.worse) else "no difference"


def duels(first: Standing, others: Sequence[Standing]) -> list[Duel]:
    """One contestant against each of the others; all their tests are corrected together."""
    gains = [_gains(first, other) for other in others]
    corrected = holm([p for by_split in gains for p in _p_values(by_split)]).reshape(-1, 3)
    return [_duel(*pair) for pair in zip(gains, corrected, strict=True)]


def _gains(first: Standing, second: Standing) -> FloatArray:
    """By how much the first is better, on each split that both have (line) and in each objective.

    To nine digits: the mean of equal runs is off by a last bit, and a test, as well as a count of
    wins, would take that for a difference like any other.
    """
    common = [split for split in first.splits if split in second.splits]
    mine, their = (
        one.by_split[[one.splits.index(split) for split in common]] * _BETTER
        for one in (first, second)
    )
    size = np.abs([*mine, *their, np.full(3, _LEAST)]).max(axis=0)
    gains: FloatArray = ((mine - their) / size).round(_DIGITS) * size
    return gains


def _duel(gains: FloatArray, p_values: FloatArray) -> Duel:
    some = gains.any(axis=1)
    return Duel(
        gains=tuple(gains.mean(axis=0).tolist()) if len(gains) else (0.0, 0.0, 0.0),
        p_values=tuple(p_values.tolist()),
        n_splits=len(gains),
        n_won=int((some & (gains >= 0).all(axis=1)).sum()),
        n_lost=int((some & (gains <= 0).all(axis=1)).sum()),
    )


def _p_values(gains: FloatArray) -> list[float]:
    """Two-sided, of each objective; 1 where nothing differs, or there is but one split."""
    n = len(gains)
    if n < 2:
        return [1.0] * gains.shape[1]
    means, errors = gains.mean(axis=0), _error(gains, _SHARED)
    steady = np.where(means == 0, 1.0, 0.0)  # what all splits agree on is beyond chance
    with np.errstate(divide="ignore", invalid="ignore"):
        tested = 2 * stats.t.sf(np.abs(means / errors), n - 1)
    found: list[float] = np.where(errors > 0, tested, steady).tolist()
    return found


def holm(p_values: Sequence[float]) -> FloatArray:
    """The same, corrected for being many by Holm's step-down method.

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
