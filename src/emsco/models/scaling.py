"""Standardisation of inputs. It is part of a stage model and learned from training rows only."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Self

import numpy as np

from emsco._base.leaves import LEAF
from emsco._base.typing import FloatArray

_BLOCK = 65_536  # rows centred at a time, to avoid a centred copy of all rows


@dataclass(frozen=True, slots=True, eq=False)
class Spread:
    """Lowest and highest value of each column of some rows, and the sums that make its mean.

    `known` is the weight of the rows with a value in each column, and `weight` that of all.
    """

    lowest: FloatArray
    highest: FloatArray
    totals: FloatArray
    known: FloatArray
    weight: float

    @classmethod
    def from_rows(cls, X: FloatArray, weights: FloatArray | None) -> Self:
        """Measure rows, all of a weight above 0."""
        if not len(X):
            nothing = np.zeros(X.shape[1])
            return cls(nothing * np.nan, nothing * np.nan, nothing, nothing, 0.0)
        lowest, highest = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
        if weights is None and not np.isnan(X.min(axis=0)).any():
            totals, known = X.sum(axis=0), np.full(X.shape[1], float(len(X)))
        else:
            totals, known = _known_sums(X, weights)
        weight = float(len(X) if weights is None else weights.sum())
        return cls(lowest, highest, totals, known, weight)

    def joined(self, other: Spread) -> Spread:
        """Measure these rows and those that follow them."""
        return Spread(
            np.fmin(self.lowest, other.lowest),
            np.fmax(self.highest, other.highest),
            self.totals + other.totals,
            self.known + other.known,
            self.weight + other.weight,
        )


def squares_about(mean: FloatArray, X: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Sum of the squared distances of each column from a mean, by weight; missing ones are 0."""
    square = _fill_missing(np.square(X - mean))
    if weights is not None:
        square *= weights[:, None]
    sums: FloatArray = square.sum(axis=0)
    return sums


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Mean and deviation of each input over the training rows.

    The deviation of a constant input is 1. A missing value (NaN) counts as the mean of the known
    ones.
    """

    mean: FloatArray
    deviation: FloatArray

    @classmethod
    def learn(cls, X: FloatArray, weights: FloatArray | None = None) -> Self:
        """Compute the mean and deviation (ddof 0) of the columns of X.

        A row of weight 3 counts as three equal rows. A column without known values has mean 0 and
        deviation 1.
        """
        cuts = [slice(start, start + LEAF) for start in range(0, max(1, len(X)), LEAF)]
        if weights is not None and not weights.all():
            X, weights = X[weights > 0], weights[weights > 0]
        parts = [(X[cut], None if weights is None else weights[cut]) for cut in cuts]
        return cls.from_parts(
            [Spread.from_rows(*part) for part in parts],
            lambda mean: [squares_about(mean, *part) for part in parts],
        )

    @classmethod
    def from_parts(
        cls, spreads: Sequence[Spread], squares: Callable[[FloatArray], Sequence[FloatArray]]
    ) -> Self:
        """Combine leaves of rows; ``squares(mean)`` has the squared distances in each of them."""
        every = reduce(Spread.joined, spreads)
        mean = np.full(len(every.known), np.nan)
        np.divide(every.totals, every.known, out=mean, where=every.known > 0)
        # A constant column is centred to exactly 0.
        mean = np.clip(mean, every.lowest, every.highest)
        mean[np.isnan(every.lowest)] = 0.0
        deviation = np.sqrt(reduce(np.add, squares(mean)) / every.weight)
        deviation[(every.lowest == every.highest) | (deviation == 0)] = 1.0
        for array in (mean, deviation):
            array.setflags(write=False)
        return cls(mean, deviation)

    def equals(self, other: Scaling) -> bool:
        """Whether another scaling has the same means and deviations."""
        same = np.array_equal(self.mean, other.mean)
        return same and np.array_equal(self.deviation, other.deviation)

    @property
    def inverse(self) -> FloatArray:
        """1 / deviation. Training and deciding both multiply by it, so they round alike."""
        return 1.0 / self.deviation

    def standardised(self, rows: FloatArray) -> FloatArray:
        """Standardise rows; missing values stay missing."""
        return (rows - self.mean) * self.inverse

    def filled(self, rows: FloatArray) -> FloatArray:
        """Replace missing values by the mean; return rows without any as they are."""
        if not np.isnan(rows.min(initial=0.0)):  # the minimum is NaN if any value is
            return rows
        return np.where(np.isnan(rows), self.mean, rows)

    def columns(self, X: FloatArray) -> FloatArray:
        """Standardise and transpose X: a line of ones for the intercept, then a line per input.

        Missing values become exactly 0.
        """
        out = np.empty((X.shape[1] + 1, len(X)))
        out[0] = 1.0
        for start in range(0, len(X), _BLOCK):
            rows = slice(start, start + _BLOCK)
            out[1:, rows] = _fill_missing(self.standardised(X[rows])).T
        return out


def mean_of_known(
    X: FloatArray, weights: FloatArray | None = None, block: int = _BLOCK
) -> FloatArray:
    """Weighted mean of each column's known values, or NaN if there are none.

    Rows are added up in blocks; the last bit of the mean depends on their size.
    """
    totals, known = np.zeros((2, X.shape[1]))
    for start in range(0, len(X), block):
        rows = X[start : start + block]
        of_block = _known_sums(rows, None if weights is None else weights[start : start + block])
        totals, known = totals + of_block[0], known + of_block[1]
    means = np.full(X.shape[1], np.nan)
    np.divide(totals, known, out=means, where=known > 0)
    return means


def _known_sums(X: FloatArray, weights: FloatArray | None) -> tuple[FloatArray, FloatArray]:
    """Sum of each column's known values by weight, and the weight of the rows that have one."""
    weight = np.ones(len(X)) if weights is None else weights
    totals: FloatArray = _fill_missing(X * weight[:, None]).sum(axis=0)
    known: FloatArray = (~np.isnan(X) * weight[:, None]).sum(axis=0)
    return totals, known


def _fill_missing(block: FloatArray) -> FloatArray:
    """Replace NaN by 0, in place."""
    np.copyto(block, 0.0, where=np.isnan(block))
    return block
