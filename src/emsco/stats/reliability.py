"""Reliability of confidences, bin by bin, and risk against coverage as thresholds rise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.checks import check_number, check_whole
from emsco._base.objectives import Objectives
from emsco._base.typing import AnyArray, BoolArray, FloatArray
from emsco.data.frames import Columns, Tabular
from emsco.errors import DataError

_STEPS = 100  # shares of rows that thresholds are spread over


@dataclass(frozen=True, slots=True, eq=False)
class Reliability(Tabular):
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
    >>> reliability = reliability_of(confidence, correct, n_bins=2, lowest=0.5)
    >>> reliability.accuracy.tolist(), round(reliability.error, 3)
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

    @property
    def error_by_chance(self) -> float:
        """About the error that honest confidence would show on as many rows."""
        known = self.rows > 0
        rows, confidence = self.rows[known], self.confidence[known]
        if not rows.size:
            return 0.0
        # The mean absolute value of a normal variable with the variance of a share.
        deviation = np.sqrt(2 / np.pi * confidence * (1 - confidence) / rows)
        return float(np.average(deviation, weights=rows))

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
    edges = np.linspace(lowest, 1.0, n_bins + 1)
    # The last bin also takes a confidence of 1.
    place = np.clip(np.searchsorted(edges, confidence, side="right") - 1, 0, n_bins - 1)
    rows: FloatArray = np.bincount(place, counts, n_bins).astype(np.float64)
    with np.errstate(invalid="ignore"):  # 0 / 0 in empty bins gives the NaN we want
        means = np.bincount(place, counts * confidence, n_bins) / rows
        shares = np.bincount(place, counts * correct, n_bins) / rows
    errors = np.abs(shares - means)[rows > 0]
    # By rows: a bin without rows cannot be wrong.
    error = float((errors * rows[rows > 0]).sum() / rows.sum()) if errors.size else 0.0
    for array in (edges, rows, means, shares):
        array.setflags(write=False)
    return Reliability(edges, rows, means, shares, error, float(errors.max(initial=0.0)), stage)


def _masked(values: FloatArray, empty: BoolArray) -> AnyArray:
    return np.ma.MaskedArray(values, mask=empty)


@dataclass(frozen=True, slots=True, eq=False)
class RiskCoverage(Tabular):
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
    deployed : Objectives or None
        Figures of the whole cascade on these rows, by its own thresholds; None for one stage.
    """

    threshold: FloatArray
    coverage: FloatArray
    risk: FloatArray
    cost: FloatArray
    stage: int | None = None
    deployed: Objectives | None = None

    @property
    def area(self) -> float:
        """Mean risk between the lowest and the highest coverage reached."""
        known = np.isfinite(self.risk)
        # From low to high coverage, as higher thresholds come later.
        coverage, risk = self.coverage[known][::-1], self.risk[known][::-1]
        steps = np.diff(coverage)
        if not steps.sum():
            return float(risk.mean()) if risk.size else 0.0
        # Trapezoids between neighbouring thresholds.
        return float((steps * (risk[1:] + risk[:-1]) / 2).sum() / steps.sum())

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
    *,
    cost_of_rejected: FloatArray | None = None,
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
    cost_of_rejected : ndarray of shape (n_rows,), optional
        Cost of each row if no stage is sure of it; by default that of the last stage.

    Examples
    --------
    >>> confidence = np.array([[0.9, 0.6], [0.9, 0.8]])
    >>> correct = np.array([[True, False], [True, True]])
    >>> curve = risk_coverage_of(confidence, correct, [1, 3], [0.5, 0.7, 0.85])
    >>> curve.coverage.tolist(), curve.risk.tolist(), curve.cost.tolist()
    ([1.0, 1.0, 0.5], [0.5, 0.0, 0.0], [1.0, 2.0, 2.0])
    """
    paid, levels = np.asarray(costs, dtype=np.float64), np.unique(np.asarray(thresholds, float))
    if confidence.shape != correct.shape or confidence.ndim != 2 or len(paid) != len(confidence):
        raise DataError(
            "confidence and correct must have a line for each stage, got shapes "
            f"{confidence.shape} and {correct.shape} for {len(paid)} stages."
        )
    counts = np.ones(confidence.shape[1]) if weights is None else weights
    rows = np.arange(confidence.shape[1])
    total = counts @ np.ones(len(rows), np.bool_) or 1.0  # rounded like sums of accepted rows
    curve = np.empty((3, len(levels)))
    rejected = paid[-1] if cost_of_rejected is None else cost_of_rejected
    for i, level in enumerate(levels):
        sure = confidence >= level
        # The first stage that is sure; 0 as well if none is, which `accepted` tells apart.
        accepted, leaves = sure.any(axis=0), np.argmax(sure, axis=0)
        correct_exits = accepted & correct[leaves, rows]
        spent = np.where(accepted, paid[leaves], rejected)
        covered = counts @ accepted
        risk = 1 - (counts @ correct_exits) / covered if covered else np.nan
        curve[:, i] = covered / total, risk, counts @ spent / total
    curve[0] = np.minimum(curve[0], 1.0)  # rounded sums of weights may exceed the total
    for array in (levels, curve):
        array.setflags(write=False)
    return RiskCoverage(levels, curve[0], curve[1], curve[2], stage)


def spread_thresholds(confidence: FloatArray, lowest: float) -> FloatArray:
    """Choose thresholds that each reject about another hundredth of the rows.

    They run from a threshold that accepts every row to one that accepts only the surest.
    `confidence` has the shape (n_stages, n_rows), and no confidence is below `lowest`.
    """
    # A row is accepted at a threshold if its surest stage reaches it.
    highest = confidence.max(axis=0, initial=lowest)
    if not highest.size:
        return np.array([lowest])
    # Values that occur, so that each threshold rejects at least one more row.
    levels = np.quantile(highest, np.linspace(0, 1, _STEPS + 1), method="lower")
    spread: FloatArray = np.unique(np.append(levels, lowest))
    return spread
