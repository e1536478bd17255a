"""Standings of contestants on a set: means, margins of error, and paired tests over splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from emsco._base.objectives import Objectives
from emsco._base.typing import FloatArray
from emsco.stats.tests import ALPHA, holm, margin, paired_p_values

_BETTER = np.array([1.0, 1.0, -1.0])  # coverage and accuracy up, cost down
_DIGITS = 9  # beyond these digits, figures differ by rounding alone
_SHARED = 1 / 3  # test rows per training or scored row, in the paper's split
_LEAST = 1e-300  # avoids divisions by 0


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """A contestant on the test rows of many splits.

    Attributes
    ----------
    splits : tuple of int
    by_split : ndarray of shape (n_splits, 3)
        Coverage, accuracy and cost on each split, averaged over repeats.
    mean : Objectives
        Averaged over splits.
    margin : Objectives
        95 % margin of error of that mean, from the differences between splits.
    repeat_margin : Objectives
        95 % margin of error of a split's mean, from the differences between repeats, averaged over
        splits. The paper prints this margin for its one split.
    n_repeats : int
        Repeats on a split.
    """

    splits: tuple[int, ...]
    by_split: FloatArray
    mean: Objectives
    margin: Objectives
    repeat_margin: Objectives
    n_repeats: int

    @classmethod
    def from_tests(cls, tests: Mapping[int, Sequence[Objectives]]) -> Standing:
        """Summarise the seen figures of each repeat on each split."""
        splits = tuple(sorted(tests))
        repeats = [_as_array(tests[split]) for split in splits]
        by_split = np.array([one.mean(axis=0) for one in repeats])
        return cls(
            splits,
            by_split,
            Objectives(*by_split.mean(axis=0).tolist()),
            Objectives(*margin(by_split, _SHARED).tolist()),
            Objectives(*np.mean([margin(one) for one in repeats], axis=0).tolist()),
            max(map(len, repeats)),
        )


def _as_array(objectives: Sequence[Objectives]) -> FloatArray:
    return np.array([[one.coverage, one.accuracy, one.cost] for one in objectives])


@dataclass(frozen=True, slots=True)
class Duel:
    """Two contestants on the same splits.

    Attributes
    ----------
    gains : tuple of float
        Mean advantage of the first in coverage, accuracy and cost; below 0 where the second is
        better.
    p_values : tuple of float
        One per gain, by the paired t-test for splits that share rows, corrected by Holm's method.
    n_splits, n_won, n_lost : int
        Splits in common, splits where the first dominates, and splits where the second does.
    """

    gains: tuple[float, float, float]
    p_values: tuple[float, float, float]
    n_splits: int
    n_won: int
    n_lost: int

    @property
    def better(self) -> tuple[bool, ...]:
        """Whether the first is significantly better, by objective."""
        return tuple(g > 0 and p < ALPHA for g, p in zip(self.gains, self.p_values, strict=True))

    @property
    def worse(self) -> tuple[bool, ...]:
        """Whether the first is significantly worse, by objective."""
        return tuple(g < 0 and p < ALPHA for g, p in zip(self.gains, self.p_values, strict=True))

    @property
    def verdict(self) -> str:
        """The outcome in a word or two; to dominate takes a significant gain and no mean loss.

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
    """Compare one contestant with each of the others, and correct all tests together."""
    gains = [_gains(first, other) for other in others]
    tests = [p for by_split in gains for p in paired_p_values(by_split, _SHARED)]
    corrected = holm(tests).reshape(-1, 3)
    return [_duel(*pair) for pair in zip(gains, corrected, strict=True)]


def _gains(first: Standing, second: Standing) -> FloatArray:
    """Advantage of the first on each common split (line) and in each objective (column).

    Rounded to nine digits: the mean of equal repeats may be off by a last bit, which tests and
    counts of wins would take for a difference.
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
