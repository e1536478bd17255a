"""Calibration maps of one class: Platt's sigmoid and isotonic regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.documents import Fields
from emsco._base.typing import BoolArray, FloatArray

__all__ = ["CERTAIN", "SMALLEST", "CalibrationMap", "IsotonicMap", "SigmoidMap"]

CERTAIN = 1e-12  # probabilities stay this far from 0 and 1, so that log-odds are finite
SMALLEST = 1e-15
_LARGEST = 1e100  # slope or intercept in a file
_MOST_STEPS = 100
_CONVERGED = 1e-12


@dataclass(frozen=True, slots=True)
class SigmoidMap:
    """Platt's map: an affine function of the log-odds.

    A negative slope means that the model ranks the calibration rows in the wrong order. The map
    then reverses that order.

    Attributes
    ----------
    slope, intercept : float
    certain : float
        Probabilities are clipped to this distance from 0 and 1.
    """

    slope: float
    intercept: float
    certain: float = CERTAIN

    @classmethod
    def learn(
        cls, probability: FloatArray, has_class: BoolArray, weights: FloatArray, certain: float
    ) -> Self:
        """Fit the map to rows that have the class or not, with Platt's smoothed targets."""
        n_with, n_others = float(weights[has_class].sum()), float(weights[~has_class].sum())
        targets = np.where(has_class, (n_with + 1) / (n_with + 2), 1 / (n_others + 2))
        return cls(*_fit_sigmoid(_log_odds(probability, certain), targets, weights), certain)

    def apply(self, probability: FloatArray) -> FloatArray:
        """Map each value, independently of the others in the array."""
        # NumPy's vector paths may round a value differently in another position; expit does not.
        from scipy.special import expit

        odds = _log_odds(probability, self.certain)
        mapped: FloatArray = expit(self.slope * odds + self.intercept)
        return mapped

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a file."""
        return {"slope": self.slope, "intercept": self.intercept, "certain": self.certain}

    @classmethod
    def from_dict(cls, fields: Fields) -> Self:
        """Read the map from a file and check it."""
        slope = fields.number("slope", -_LARGEST, _LARGEST)
        intercept = fields.number("intercept", -_LARGEST, _LARGEST)
        return cls(slope, intercept, fields.number("certain", SMALLEST, 0.5))


@dataclass(frozen=True, slots=True, eq=False)
class IsotonicMap:
    """A rising line through knots, constant outside them."""

    inputs: FloatArray
    outputs: FloatArray

    @classmethod
    def learn(
        cls, probability: FloatArray, has_class: BoolArray, weights: FloatArray, certain: float
    ) -> Self:
        """Fit the map to rows that have the class or not."""
        del certain  # only log-odds need room at 0 and 1
        from sklearn.isotonic import IsotonicRegression

        fitted = IsotonicRegression().fit(probability, has_class.astype(np.float64), weights)
        outputs = np.clip(fitted.y_thresholds_, 0.0, 1.0)  # rounding may exceed the bounds
        return cls(locked_copy(fitted.X_thresholds_, np.float64), locked_copy(outputs))

    def apply(self, probability: FloatArray) -> FloatArray:
        """Map each value, independently of the others in the array."""
        mapped: FloatArray = np.interp(probability, self.inputs, self.outputs)
        return mapped

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a file."""
        return {"inputs": self.inputs.tolist(), "outputs": self.outputs.tolist()}

    @classmethod
    def from_dict(cls, fields: Fields) -> Self:
        """Read the map from a file and check it."""
        n_knots = len(fields.items("inputs"))
        inputs = fields.numbers("inputs", n_knots, 0, 1)
        outputs = fields.numbers("outputs", n_knots, 0, 1)
        if not n_knots or not (np.diff(inputs) > 0).all():
            fields.refuse("inputs", "rising numbers, at least one", inputs.tolist())
        if not (np.diff(outputs) >= 0).all():
            fields.refuse("outputs", "numbers that never fall", outputs.tolist())
        return cls(inputs, outputs)


CalibrationMap: TypeAlias = SigmoidMap | IsotonicMap


def _log_odds(probability: FloatArray, certain: float) -> FloatArray:
    from scipy.special import logit

    odds: FloatArray = logit(np.clip(probability, certain, 1 - certain))
    return odds


def _fit_sigmoid(
    log_odds: FloatArray, targets: FloatArray, weights: FloatArray
) -> tuple[float, float]:
    """Minimise the cross-entropy by Newton steps, halved until they help.

    Log-odds are centred and scaled first. If all are equal the slope stays 0, because each step
    is the shortest solution of its equations.
    """
    total = weights.sum()
    centre = float((weights * log_odds).sum() / total)
    spread = float(np.sqrt((weights * np.square(log_odds - centre)).sum() / total))
    if spread <= 1e-9 * max(1.0, abs(centre)):
        spread, scaled = 1.0, np.zeros_like(log_odds)
    else:
        scaled = (log_odds - centre) / spread
    terms = np.stack([scaled, np.ones_like(scaled)])
    mean = float((weights * targets).sum() / total)
    point = np.array([0.0, np.log(mean / (1 - mean))])
    loss = _cross_entropy(point @ terms, targets, weights)
    for _ in range(_MOST_STEPS):
        step, decrement = _newton_step(point @ terms, terms, targets, weights)
        if decrement <= _CONVERGED * total:
            break
        point, loss, moved = _descend(point, step, loss, terms, targets, weights)
        if not moved:
            break
    point -= _newton_step(point @ terms, terms, targets, weights)[
        0
    ]  # one more step for the last digits
    slope = float(point[0] / spread)
    return slope, float(point[1] - slope * centre)


def _newton_step(
    odds: FloatArray, terms: FloatArray, targets: FloatArray, weights: FloatArray
) -> tuple[FloatArray, float]:
    from scipy.special import expit

    mapped = expit(odds)
    gradient = terms @ (weights * (mapped - targets))
    hessian = (terms * (weights * mapped * (1 - mapped))) @ terms.T
    step = np.linalg.lstsq(hessian, gradient, rcond=None)[0].astype(np.float64)
    return step, float(step @ gradient)


def _descend(
    point: FloatArray,
    step: FloatArray,
    loss: float,
    terms: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
) -> tuple[FloatArray, float, bool]:
    """Take the step, or half of it, a quarter, …, the first that lowers the loss."""
    for halvings in range(40):
        nearer = point - step * 0.5**halvings
        lower = _cross_entropy(nearer @ terms, targets, weights)
        if lower < loss:
            return nearer, lower, True
    return point, loss, False


def _cross_entropy(odds: FloatArray, targets: FloatArray, weights: FloatArray) -> float:
    return float((weights * (np.logaddexp(0, odds) - targets * odds)).sum())
