"""Standardisation of inputs. It is part of a stage model and learned from training rows only."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Self, TypeVar

import numpy as np

from emsco._base.typing import FloatArray, IntArray
from emsco._base.workers import in_threads, row_blocks, slices

_BLOCK = 65_536  # rows centred at a time, to avoid a centred copy of all rows
_MEASURED_BYTES = 2**28  # of rows that are measured at a time

S = TypeVar("S")


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Mean and deviation of each input over the training rows.

    The deviation of a constant input is 1. A missing value (NaN) counts as the mean of the known
    ones.
    """

    mean: FloatArray
    deviation: FloatArray

    @classmethod
    def learn(
        cls, X: FloatArray, weights: FloatArray | None = None, rows: IntArray | None = None
    ) -> Self:
        """Compute the mean and deviation (ddof 0) of the columns of X, or of some of its rows.

        A row of weight 3 counts as three equal rows. A column without known values has mean 0 and
        deviation 1.
        """
        rows = np.arange(len(X)) if rows is None else rows
        if weights is not None:
            rows = rows[weights[rows] > 0]

        def by_block(measure: Callable[[FloatArray, FloatArray | None], S]) -> list[S]:
            # Always the same blocks, so that sums do not depend on the number of threads, each of
            # which holds squares, distances and the rows of a block.
            return in_threads(
                lambda few: measure(X[few], None if weights is None else weights[few]),
                [rows[block] for block in row_blocks(len(rows))],
                _MEASURED_BYTES // (3 * 8 * _BLOCK * X.shape[1]),
            )

        lowest, highest, totals, known = zip(*by_block(_measured), strict=True)
        least, most, n_known = np.fmin.reduce(lowest), np.fmax.reduce(highest), np.add.reduce(known)
        mean = np.full(X.shape[1], np.nan)
        np.divide(np.add.reduce(totals), n_known, out=mean, where=n_known > 0)
        # A constant column is centred to exactly 0.
        mean = np.clip(mean, least, most)
        mean[np.isnan(least)] = 0.0
        squares = np.add.reduce(by_block(partial(_squares_about, mean)))
        deviation = np.sqrt(squares / (len(rows) if weights is None else weights[rows].sum()))
        deviation[(least == most) | (deviation == 0)] = 1.0
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

    def columns(self, X: FloatArray, rows: IntArray | None = None) -> FloatArray:
        """Standardise and transpose X, or some rows: a line of ones, then a line per input.

        Missing values become exactly 0.
        """
        n_rows = len(X) if rows is None else len(rows)
        out = np.empty((X.shape[1] + 1, n_rows))
        out[0] = 1.0
        for part in slices(n_rows, _BLOCK):
            block = X[part] if rows is None else X[rows[part]]
            out[1:, part] = _fill_missing(self.standardised(block)).T
        return out


def _measured(X: FloatArray, weights: FloatArray | None) -> tuple[FloatArray, ...]:
    """Return the lowest and highest value of each column, and the sums that make its mean."""
    lowest, highest = np.fmin.reduce(X, axis=0), np.fmax.reduce(X, axis=0)
    if weights is None and not np.isnan(X.min(axis=0)).any():
        return lowest, highest, X.sum(axis=0), np.full(X.shape[1], float(len(X)))
    return lowest, highest, *_known_sums(X, weights)


def _squares_about(mean: FloatArray, X: FloatArray, weights: FloatArray | None) -> FloatArray:
    """Sum of the squared distances of each column from a mean, by weight; missing ones are 0."""
    square = _fill_missing(np.square(X - mean))
    if weights is not None:
        square *= weights[:, None]
    sums: FloatArray = square.sum(axis=0)
    return sums


def mean_of_known(X: FloatArray, weights: FloatArray | None = None) -> FloatArray:
    """Weighted mean of each column's known values, or NaN if there are none."""
    totals, known = np.zeros((2, X.shape[1]))
    for part in slices(len(X), _BLOCK):
        of_block = _known_sums(X[part], None if weights is None else weights[part])
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
