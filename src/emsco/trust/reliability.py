"""Reliability: how often a stage is right, beside how sure it says it is."""

from __future__ import annotations

from collections.abc import Iterable
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

__all__ = ["Reliability", "reliability_of", "reliability_table"]


@dataclass(frozen=True, slots=True, eq=False)
class Reliability:
    """Confidence in bins, and the share of each bin's rows that are right.

    Attributes
    ----------
    edges : ndarray of shape (n_bins + 1,)
        A bin holds its lower edge, and the last one its upper edge too.
    rows : ndarray of shape (n_bins,)
        Weight of the rows in each bin: their number where they have no weights.
    confidence : ndarray of shape (n_bins,)
        Their mean confidence, NaN where there are none.
    accuracy : ndarray of shape (n_bins,)
        The share of them that is right, NaN where there are none.
    error : float
        Expected calibration error: the mean over rows of their bin's error, without its sign.
    largest_error : float
        The largest error of a bin, without its sign.
    stage : int or None
        Whose confidence this is, from 1.

    Examples
    --------
    >>> sure, right = np.array([0.6, 0.6, 0.9, 0.9]), np.array([True, False, True, True])
    >>> found = reliability_of(sure, right, n_bins=2, lowest=0.5)
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
        """Share right minus mean confidence, by bin: below 0 where it boasts."""
        return self.accuracy - self.confidence

    def to_pandas(self) -> pd.DataFrame:
        """A row per bin; what an empty bin has no value for is missing."""
        return to_pandas(self.columns())

    def to_polars(self) -> pl.DataFrame:
        """The same table for Polars."""
        return to_polars(self.columns())

    def columns(self) -> Columns:
        """The same as columns by name."""
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
        """Plain values, None where an empty bin has none."""
        columns = {name: np.ma.asarray(column).tolist() for name, column in self.columns().items()}
        bins = [
            dict(zip(columns, line, strict=True)) for line in zip(*columns.values(), strict=True)
        ]
        return {"error": self.error, "largest_error": self.largest_error, "bins": bins}


def reliability_of(
    confidence: FloatArray,
    right: BoolArray,
    weights: FloatArray | None = None,
    n_bins: int = 10,
    *,
    lowest: float = 0.0,
    stage: int | None = None,
) -> Reliability:
    """Put rows into bins of equal width by confidence, and compare it with how many are right.

    Parameters
    ----------
    confidence : ndarray of shape (n_rows,)
        Probability of the class that a stage would choose.
    accuracy : ndarray of bool, shape (n_rows,)
        Whether it would be right.
    weights : ndarray of shape (n_rows,), optional
        How much each row counts; 1 each by default.
    n_bins : int
    lowest : float
        Where the first bin begins. Among K classes no confidence is below 1 / K.
    stage : int, optional
        Whose confidence this is, from 1.
    """
    check_whole("n_bins", n_bins, 1)
    check_number("lowest", lowest, 0, 1, "[)")
    counts = np.ones(len(confidence)) if weights is None else weights
    _check(confidence, right, counts, lowest)
    edges = np.linspace(lowest, 1.0, n_bins + 1)
    place = np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, n_bins - 1)
    rows: FloatArray = np.bincount(place, counts, n_bins).astype(np.float64)
    with np.errstate(invalid="ignore"):  # 0 / 0 is what an empty bin has
        sure = np.bincount(place, counts * confidence, n_bins) / rows
        shares = np.bincount(place, counts * right, n_bins) / rows
    errors = np.abs(shares - sure)[rows > 0]
    error = float((errors * rows[rows > 0]).sum() / rows.sum()) if errors.size else 0.0
    for array in (edges, rows, sure, shares):
        array.setflags(write=False)
    return Reliability(edges, rows, sure, shares, error, float(errors.max(initial=0.0)), stage)


def reliability_table(records: Iterable[Reliability]) -> Columns:
    """The bins of several stages, one below the other, as columns by name."""
    tables = [record.columns() for record in records]
    names = tables[0] if tables else {}
    join: Any = np.ma.concatenate  # which has no types
    return {name: join([table[name] for table in tables]) for name in names}


def _check(confidence: FloatArray, right: BoolArray, counts: FloatArray, lowest: float) -> None:
    if not confidence.shape == right.shape == counts.shape or confidence.ndim != 1:
        raise DataError(
            "confidence, right and weights must have one value a row, got shapes "
            f"{confidence.shape}, {right.shape} and {counts.shape}."
        )
    inside = (confidence >= lowest - 1e-9) & (confidence <= 1 + 1e-9)  # rounding is no mistake
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
