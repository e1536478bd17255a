"""Reliability: compare the confidence of a stage with the share of its labels that are correct."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from emsco._base.checks import check_number, check_whole
from emsco._base.typing import AnyArray, BoolArray, FloatArray
from emsco.data.frames import Columns, to_pandas, to_polars
from emsco.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["Reliability", "reliability_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """Mean confidence and accuracy of a stage, in bins of confidence.

    If the confidence is honest, both agree in every bin: of the labels with confidence 0.8, 80 %
    are correct.

    Attributes
    ----------
    edges : ndarray of shape (n_bins + 1,)
        A bin includes its lower edge; the last bin includes its upper edge too.
    rows : ndarray of shape (n_bins,)
        Number of rows in each bin; with sample weights, their total weight.
    confidence : ndarray of shape (n_bins,)
        Mean confidence of the rows in each bin; NaN in an empty bin.
    accuracy : ndarray of shape (n_bins,)
        Share of the rows in each bin whose label is correct; NaN in an empty bin.
    error : float
        Expected calibration error: the mean of the absolute bin errors, weighted by rows.
    largest_error : float
        Largest absolute error of a bin.
    stage : int or None
        Number of the stage, from 1.

    Examples
    --------
    >>> confidence = np.array([0.6, 0.6, 0.9, 0.9])
    >>> correct = np.array([True, False, True, True])
    >>> found = reliability_of(confidence, correct, n_bins=2, lowest=0.5)
    >>> found.accuracy.tolist(), round(found.error, 3)
    ([0.5, 1.0], 0.1)
    """

    edges: FloatArray
    rows: FloatArray
    confidence: FloatArray
    accuracy: FloatArray
    error: float
    largest_error: float
    stage: int | None = None

    @property
    def errors(self) -> FloatArray:
        """Accuracy minus mean confidence of each bin: negative where a stage is overconfident."""
        return self.accuracy - self.confidence

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas table with one row per bin; figures of empty bins are missing."""
        return to_pandas(self.columns())

    def to_polars(self) -> pl.DataFrame:
        """Return a Polars table with one row per bin; figures of empty bins are missing."""
        return to_polars(self.columns())

    def columns(self) -> Columns:
        """Return the bins as columns by name; figures of empty bins are masked."""
        n_bins, empty = len(self.rows), self.rows == 0
        stage = {} if self.stage is None else {"stage": np.full(n_bins, self.stage)}
        return {
            **stage,
            "low": self.edges[:-1],
            "high": self.edges[1:],
            "rows": self.rows,
            "confidence": _masked(self.confidence, empty),
            "accuracy": _masked(self.accuracy, empty),
            "error": _masked(self.errors, empty),
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; figures of empty bins are None."""
        columns = {name: np.ma.asarray(column).tolist() for name, column in self.columns().items()}
        bins = [
            dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)
        ]
        return {"error": self.error, "largest_error": self.largest_error, "bins": bins}


def reliability_of(
    confidence: FloatArray,
    correct: BoolArray,
    weights: FloatArray | None = None,
    n_bins: int = 10,
    *,
    lowest: float = 0.0,
    stage: int | None = None,
) -> Reliability:
    """Put rows into bins of equal width by confidence and compute the accuracy of each bin.

    Parameters
    ----------
    confidence : ndarray of shape (n_rows,)
        Probability of the class that a stage would choose.
    correct : ndarray of bool, shape (n_rows,)
        Whether that class is the true one.
    weights : ndarray of shape (n_rows,), optional
        Weight of each row; 1 by default.
    n_bins : int
    lowest : float
        Lower edge of the first bin. With K classes, no confidence is below 1 / K.
    stage : int, optional
        Number of the stage, from 1.
    """
    check_whole("n_bins", n_bins, 1)
    check_number("lowest", lowest, 0, 1, "[)")
    counts = np.ones(len(confidence)) if weights is None else weights
    _check(confidence, correct, counts, lowest)
    edges = np.linspace(lowest, 1.0, n_bins + 1)
    place = np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, n_bins - 1)
    rows: FloatArray = np.bincount(place, counts, n_bins).astype(np.float64)
    with np.errstate(invalid="ignore"):  # 0 / 0 in empty bins gives the NaN we want
        means = np.bincount(place, counts * confidence, n_bins) / rows
        shares = np.bincount(place, counts * correct, n_bins) / rows
    errors = np.abs(shares - means)[rows > 0]
    error = float((errors * rows[rows > 0]).sum() / rows.sum()) if errors.size else 0.0
    for array in (edges, rows, means, shares):
        array.setflags(write=False)
    return Reliability(edges, rows, means, shares, error, float(errors.max(initial=0.0)), stage)


def _check(confidence: FloatArray, correct: BoolArray, counts: FloatArray, lowest: float) -> None:
    if not confidence.shape == correct.shape == counts.shape or confidence.ndim != 1:
        raise DataError(
            "confidence, correct and weights must have one value a row, got shapes "
            f"{confidence.shape}, {correct.shape} and {counts.shape}."
        )
    inside = (confidence >= lowest - 1e-9) & (confidence <= 1 + 1e-9)  # probabilities are rounded
    if not inside.all():  # written so that NaN fails too
        row = int(np.argmin(inside))
        raise DataError(
            f"confidence must be from {lowest:g} to 1, got {confidence[row]:g} in row {row}."
        )
    if not (counts >= 0).all():
        row = int(np.argmin(counts >= 0))
        raise DataError(f"weights must be at least 0, got {counts[row]:g} in row {row}.")


def _masked(values: FloatArray, empty: BoolArray) -> AnyArray:
    return np.ma.MaskedArray(values, mask=empty)
