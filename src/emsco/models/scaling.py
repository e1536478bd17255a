"""Standardisation: part of the stage classifier, learned from its training rows alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from emsco._base.typing import FloatArray

__all__ = ["Scaling", "mean_of_known"]

_BLOCK = 65_536  # rows centred at a time, so that no centred copy of all rows is ever made


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Mean and deviation of each input over the training rows; 1 for a constant one.

    A gap (NaN) counts as the mean of the values that are known.
    """

    mean: FloatArray
    deviation: FloatArray

    @classmethod
    def learn(cls, X: FloatArray, weights: FloatArray | None = None) -> Self:
        """Mean and deviation (ddof 0) of the columns of X.

        With weights, of shape (n_rows,), as if each row stood there as often as its weight says.
        A column without any known value has mean 0 and deviation 1.
        """
        if weights is not None and not weights.all():
            X, weights = X[weights > 0], weights[weights > 0]
        lowest, highest = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
        has_missing = bool(np.isnan(X.min(axis=0)).any())
        mean = mean_of_known(X, weights) if has_missing or weights is not None else X.mean(axis=0)
        mean = np.clip(mean, lowest, highest)  # a constant column is centred to exactly 0
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
        """Whether another one does just the same."""
        same = np.array_equal(self.mean, other.mean)
        return same and np.array_equal(self.deviation, other.deviation)

    @property
    def inverse(self) -> FloatArray:
        """What centred values are multiplied by, here and wherever rows are decided."""
        return 1.0 / self.deviation

    def standardised(self, rows: FloatArray) -> FloatArray:
        """Rows with mean 0 and deviation 1 over the training rows; missing stay missing."""
        return (rows - self.mean) * self.inverse

    def filled(self, rows: FloatArray) -> FloatArray:
        """Rows with the mean in place of missing; as they are where there are none."""
        missing = np.isnan(rows)
        return np.where(missing, self.mean, rows) if missing.any() else rows

    def columns(self, X: FloatArray) -> FloatArray:
        """X standardised, as inputs × rows below a line of ones for the intercept.

        Gaps are exactly 0.
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
    """Weighted mean of each column's known values; NaN where there is none.

    Rows are added up by blocks, which the last bit of the mean depends on.
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
    """Put 0 in the place of NaN."""
    np.copyto(block, 0.0, where=np.isnan(block))
    return block
