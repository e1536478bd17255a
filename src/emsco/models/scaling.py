"""Standardisation of inputs. It is part of a stage model and learned from training rows only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from emsco._base.typing import FloatArray

__all__ = ["Scaling", "mean_of_known"]

_BLOCK = 65_536  # rows centred at a time, to avoid a centred copy of all rows


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
        if weights is not None and not weights.all():
            X, weights = X[weights > 0], weights[weights > 0]
        lowest, highest = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
        has_missing = bool(np.isnan(X.min(axis=0)).any())
        mean = mean_of_known(X, weights) if has_missing or weights is not None else X.mean(axis=0)
        mean = np.clip(mean, lowest, highest)  # so that a constant column is centred to exactly 0
        mean[np.isnan(lowest)] = 0.0
        squares = np.zeros(X.shape[1])
        for start in range(0, len(X), _BLOCK):
            square = np.square(X[start : start + _BLOCK] - mean)
            if has_missing:
                _fill_missing(square)
            if weights is not None:
                square *= weights[start : start + _BLOCK, None]
            squares += square.sum(axis=0)
        deviation = np.sqrt(squares / (len(X) if weights is None else weights.sum()))
        deviation[(lowest == highest) | (deviation == 0)] = 1.0
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
        missing = np.isnan(rows)
        return np.where(missing, self.mean, rows) if missing.any() else rows

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
        weight = np.ones(len(rows)) if weights is None else weights[start : start + block]
        totals += _fill_missing(rows * weight[:, None]).sum(axis=0)
        known += (~np.isnan(rows) * weight[:, None]).sum(axis=0)
    means = np.full(X.shape[1], np.nan)
    np.divide(totals, known, out=means, where=known > 0)
    return means


def _fill_missing(block: FloatArray) -> FloatArray:
    """Replace NaN by 0, in place."""
    np.copyto(block, 0.0, where=np.isnan(block))
    return block
