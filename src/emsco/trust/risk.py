"""Risk against coverage: how much accuracy a cascade gains by labelling fewer rows."""

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
    """Coverage, risk and cost at each threshold; all arrays have the shape (n_thresholds,).

    Attributes
    ----------
    threshold : ndarray
        Confidence that a stage needs to label a row, ascending.
    coverage : ndarray
        Share of rows that get a label.
    risk : ndarray
        Share of labels that are wrong; NaN where no row gets one.
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
        """Mean risk between the lowest and the highest coverage reached."""
        known = np.isfinite(self.risk)
        coverage, risk = self.coverage[known][::-1], self.risk[known][::-1]
        steps = np.diff(coverage)
        if not steps.sum():
            return float(risk.mean()) if risk.size else 0.0
        return float((steps * (risk[1:] + risk[:-1]) / 2).sum() / steps.sum())

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas table with one row per threshold."""
        return to_pandas(self.columns())

    def to_polars(self) -> pl.DataFrame:
        """Return a Polars table with one row per threshold."""
        return to_polars(self.columns())

    def columns(self) -> Columns:
        """Return columns by name; the risk is masked where no row gets a label."""
        risk = np.ma.masked_invalid(self.risk)
        return {
            "threshold": self.threshold,
            "coverage": self.coverage,
            "risk": risk,
            "cost": self.cost,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; the risk is None where no row gets a label."""
        columns = {name: np.ma.asarray(column).tolist() for name, column in self.columns().items()}
        return {"stage": self.stage, "area": self.area, **columns}


def risk_coverage_of(
    confidence: FloatArray,
    correct: BoolArray,
    costs: ArrayLike,
    thresholds: ArrayLike,
    weights: FloatArray | None = None,
    stage: int | None = None,
) -> RiskCoverage:
    """Send rows through the stages again at every threshold.

    A higher threshold does more than reject rows. Some rows leave at a later stage instead, which
    costs more and may give another label.

    Parameters
    ----------
    confidence : ndarray of shape (n_stages, n_rows)
        Confidence of each stage in each row, as if every row reached every stage.
    correct : ndarray of bool, shape (n_stages, n_rows)
        Whether each stage would give the correct label.
    costs : array-like of shape (n_stages,)
        Cost of a row after each stage.
    thresholds : array-like
    weights : ndarray of shape (n_rows,), optional
    stage : int, optional
        For `RiskCoverage.stage`.

    Examples
    --------
    >>> confidence = np.array([[0.9, 0.6], [0.9, 0.8]])
    >>> correct = np.array([[True, False], [True, True]])
    >>> found = risk_coverage_of(confidence, correct, [1, 3], [0.5, 0.7, 0.85])
    >>> found.coverage.tolist(), found.risk.tolist(), found.cost.tolist()
    ([1.0, 1.0, 0.5], [0.5, 0.0, 0.0], [1.0, 2.0, 2.0])
    """
    paid, levels = np.asarray(costs, dtype=np.float64), np.unique(np.asarray(thresholds, float))
    if confidence.shape != correct.shape or confidence.ndim != 2 or len(paid) != len(confidence):
        raise DataError(
            "confidence and correct must have a line for each stage, got shapes "
            f"{confidence.shape} and {correct.shape} for {len(paid)} stages."
        )
    counts = np.ones(confidence.shape[1]) if weights is None else weights
    total = counts.sum() or 1.0
    found = np.empty((3, len(levels)))
    rows = np.arange(confidence.shape[1])
    for i, level in enumerate(levels):
        sure = confidence >= level
        accepted, leaves = sure.any(axis=0), np.argmax(sure, axis=0)
        correct_exits = accepted & correct[leaves, rows]
        spent = np.where(accepted, paid[leaves], paid[-1])
        covered = counts @ accepted
        risk = 1 - (counts @ correct_exits) / covered if covered else np.nan
        found[:, i] = covered / total, risk, counts @ spent / total
    found[0] = np.minimum(found[0], 1.0)  # rounded sums of weights may exceed the total
    for array in (levels, found):
        array.setflags(write=False)
    return RiskCoverage(levels, found[0], found[1], found[2], stage)


def spread_thresholds(confidence: FloatArray, lowest: float) -> FloatArray:
    """Choose thresholds that each reject about another hundredth of the rows.

    They run from a threshold that accepts every row to one that accepts only the surest.
    `confidence` has the shape (n_stages, n_rows), and no confidence is below `lowest`.
    """
    highest = confidence.max(axis=0, initial=lowest)
    if not highest.size:
        return np.array([lowest])
    levels = np.quantile(highest, np.linspace(0, 1, _STEPS + 1), method="lower")
    spread: FloatArray = np.unique(np.append(levels, lowest))
    return spread
