"""Risk against coverage: what is gained by answering less often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.typing import BoolArray, FloatArray
from emsco.data.frames import Columns, to_pandas, to_polars
from emsco.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

__all__ = ["RiskCoverage", "risk_coverage_of", "spread_thresholds"]

_STEPS = 100


@dataclass(frozen=True, slots=True, eq=False)
class RiskCoverage:
    """What moving the threshold does; all arrays have the shape (n_thresholds,).

    Attributes
    ----------
    threshold : ndarray
        How sure a stage must be, ascending.
    coverage : ndarray
        Share of rows that get a label.
    risk : ndarray
        Share of those whose label is wrong, NaN where no row gets one.
    cost : ndarray
        Mean cost of a row, rejected rows included.
    stage : int or None
        The only stage that gives labels, from 1; None for the whole cascade.
    """

    threshold: FloatArray
    coverage: FloatArray
    risk: FloatArray
    cost: FloatArray
    stage: int | None = None

    @property
    def area(self) -> float:
        """Mean risk over the coverages that are reached, from the lowest to the highest."""
        known = np.isfinite(self.risk)
        coverage, risk = self.coverage[known][::-1], self.risk[known][::-1]
        steps = np.diff(coverage)
        if not steps.sum():
            return float(risk.mean()) if risk.size else 0.0
        return float((steps * (risk[1:] + risk[:-1]) / 2).sum() / steps.sum())

    def to_pandas(self) -> pd.DataFrame:
        """A row per threshold."""
        return to_pandas(self.columns())

    def to_polars(self) -> pl.DataFrame:
        """The same table for Polars."""
        return to_polars(self.columns())

    def columns(self) -> Columns:
        """The same as columns by name."""
        risk = np.ma.masked_invalid(self.risk)
        return {
            "threshold": self.threshold,
            "coverage": self.coverage,
            "risk": risk,
            "cost": self.cost,
        }

    def to_dict(self) -> dict[str, Any]:
        """Plain values, None where no row gets a label."""
        columns = {name: np.ma.asarray(column).tolist() for name, column in self.columns().items()}
        return {"stage": self.stage, "area": self.area, **columns}


def risk_coverage_of(
    confidence: FloatArray,
    right: BoolArray,
    costs: ArrayLike,
    thresholds: ArrayLike,
    weights: FloatArray | None = None,
    stage: int | None = None,
) -> RiskCoverage:
    """Send rows through the stages once more at every threshold.

    A higher threshold does not only decline rows: it also sends those that an early stage was sure
    of to later stages, which cost more and may say something else.

    Parameters
    ----------
    confidence : ndarray of shape (n_stages, n_rows)
        How sure each stage would be of each row, whether or not the row gets there.
    right : ndarray of bool, shape (n_stages, n_rows)
        Whether it would be right.
    costs : array-like of shape (n_stages,)
        What a row has cost after each stage.
    thresholds : array-like
    weights : ndarray of shape (n_rows,), optional
    stage : int, optional
        For `RiskCoverage.stage`.

    Examples
    --------
    >>> sure = np.array([[0.9, 0.6], [0.9, 0.8]])
    >>> right = np.array([[True, False], [True, True]])
    >>> found = risk_coverage_of(sure, right, [1, 3], [0.5, 0.7, 0.85])
    >>> found.coverage.tolist(), found.risk.tolist(), found.cost.tolist()
    ([1.0, 1.0, 0.5], [0.5, 0.0, 0.0], [1.0, 2.0, 2.0])
    """
    paid, levels = np.asarray(costs, dtype=np.float64), np.unique(np.asarray(thresholds, float))
    if confidence.shape != right.shape or confidence.ndim != 2 or len(paid) != len(confidence):
        raise DataError(
            "confidence and right must have a line for each stage, got shapes "
            f"{confidence.shape} and {right.shape} for {len(paid)} stages."
        )
    counts = np.ones(confidence.shape[1]) if weights is None else weights
    total = counts.sum() or 1.0
    found = np.empty((3, len(levels)))
    rows = np.arange(confidence.shape[1])
    for i, level in enumerate(levels):
        sure = confidence >= level
        accepted, leaves = sure.any(axis=0), np.argmax(sure, axis=0)
        correct = accepted & right[leaves, rows]
        spent = np.where(accepted, paid[leaves], paid[-1])
        covered = counts @ accepted
        wrong = 1 - (counts @ correct) / covered if covered else np.nan
        found[:, i] = covered / total, wrong, counts @ spent / total
    found[0] = np.minimum(found[0], 1.0)  # sums of weights are rounded
    for array in (levels, found):
        array.setflags(write=False)
    return RiskCoverage(levels, found[0], found[1], found[2], stage)


def spread_thresholds(confidence: FloatArray, lowest: float) -> FloatArray:
    """From where every row is accepted up to where one is, in steps of a hundredth of the rows.

    `confidence` has the shape (n_stages, n_rows); `lowest` is what no confidence falls below.
    """
    surest = confidence.max(axis=0, initial=lowest)
    if not surest.size:
        return np.array([lowest])
    levels = np.quantile(surest, np.linspace(0, 1, _STEPS + 1), method="lower")
    spread: FloatArray = np.unique(np.append(levels, lowest))
    return spread
