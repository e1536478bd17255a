"""Calibration: probabilities that match how often a model is correct."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.checks import check_choice, check_number
from emsco._base.documents import Fields
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco.errors import DataError

CERTAIN = 1e-12  # probabilities stay this far from 0 and 1, so that log-odds are finite
SMALLEST = 1e-15
KINDS = ("sigmoid", "isotonic")
_LARGEST = 1e100  # slope or intercept in a file
_MOST_STEPS, _MOST_HALVINGS = 100, 40
_CONVERGED = 1e-12
_SHARE = 0.25  # of the training rows of each class


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
        """Fit the map to rows that have the class or not, with Platt's smoothed targets.

        The cross-entropy is minimised by Newton steps, halved until they help. Log-odds are centred
        and scaled first. If all are equal the slope stays 0, because each step is the shortest
        solution of its equations.
        """
        from scipy.special import expit

        n_with, n_others = float(weights[has_class].sum()), float(weights[~has_class].sum())
        # Platt's targets are a little inside 0 and 1, as if each class had one more row of the
        # other kind; so a perfect ranking has a finite slope.
        targets = np.where(has_class, (n_with + 1) / (n_with + 2), 1 / (n_others + 2))
        log_odds = _log_odds(probability, certain)
        total = weights.sum()
        centre = float((weights * log_odds).sum() / total)
        spread = float(np.sqrt((weights * np.square(log_odds - centre)).sum() / total))
        # All log-odds are equal but for rounding: there is nothing to scale by.
        if spread <= 1e-9 * max(1.0, abs(centre)):
            spread, scaled = 1.0, np.zeros_like(log_odds)
        else:
            scaled = (log_odds - centre) / spread
        terms = np.stack([scaled, np.ones_like(scaled)])

        def loss_at(point: FloatArray) -> float:
            odds = point @ terms
            # The cross-entropy in terms of log-odds, which does not overflow.
            return float((weights * (np.logaddexp(0, odds) - targets * odds)).sum())

        def step_from(point: FloatArray) -> tuple[FloatArray, float]:
            mapped = expit(point @ terms)
            gradient = terms @ (weights * (mapped - targets))
            hessian = (terms * (weights * mapped * (1 - mapped))) @ terms.T
            # The shortest solution, for when the Hessian is singular.
            step = np.linalg.lstsq(hessian, gradient, rcond=None)[0].astype(np.float64)
            return step, float(step @ gradient)

        mean = float((weights * targets).sum() / total)
        # The best map with slope 0: everyone has the mean of the targets.
        point = np.array([0.0, np.log(mean / (1 - mean))])
        loss = loss_at(point)
        for _ in range(_MOST_STEPS):
            step, decrement = step_from(point)
            if decrement <= _CONVERGED * total:
                break
            for halvings in range(_MOST_HALVINGS):
                nearer = point - step * 0.5**halvings
                if (lower := loss_at(nearer)) < loss:
                    break
            else:
                break  # no part of the step lowers the loss
            point, loss = nearer, lower
        point -= step_from(point)[0]  # one more step for the last digits
        slope = float(point[0] / spread)
        # Back from centred and scaled log-odds to log-odds.
        return cls(slope, float(point[1] - slope * centre), certain)

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


_MAPS: dict[str, type[SigmoidMap] | type[IsotonicMap]] = {
    "sigmoid": SigmoidMap,
    "isotonic": IsotonicMap,
}


@dataclass(frozen=True, slots=True, eq=False)
class Calibrator:
    """Maps the probabilities of a model, learnt from rows that it was not fitted to.

    Two classes need one map, for the second class. More classes have one map each, against the
    rest, and the mapped probabilities are divided by their sum. If every map gives 0, all
    classes are equally likely.

    Attributes
    ----------
    kind : {"sigmoid", "isotonic"}
    n_classes : int
    maps : tuple of SigmoidMap or of IsotonicMap

    Examples
    --------
    >>> said = np.array([0.1, 0.1, 0.1, 0.9, 0.9, 0.9])
    >>> labels = np.array([0, 0, 1, 1, 1, 0])
    >>> calibrator = Calibrator.learn("isotonic", np.column_stack([1 - said, said]), labels)
    >>> calibrator.apply(np.array([[0.1, 0.9]])).round(3).tolist()
    [[0.333, 0.667]]
    """

    kind: str
    n_classes: int
    maps: tuple[CalibrationMap, ...]

    @classmethod
    def learn(
        cls,
        kind: str,
        probabilities: FloatArray,
        labels: AnyArray,
        weights: FloatArray | None = None,
        certain: float = CERTAIN,
    ) -> Self:
        """Learn from a model's probabilities of labelled rows.

        Parameters
        ----------
        kind : {"sigmoid", "isotonic"}
            "sigmoid" is Platt's map of log-odds, with two numbers per class. "isotonic" is any
            rising map and needs many rows.
        probabilities : ndarray of shape (n_rows, n_classes)
        labels : ndarray of shape (n_rows,)
            Class of each row, as a column of `probabilities`.
        weights : ndarray of shape (n_rows,), optional
            Weight of each row; 1 by default.
        certain : float
            For "sigmoid": probabilities are clipped to this distance from 0 and 1. Forests and
            nearest neighbours often say 0 or 1 and need some room; 0.5 divided by the number of
            rows works well.
        """
        check_choice("calibration", kind, KINDS)
        check_number("certain", certain, SMALLEST, 0.5)
        counts = np.ones(len(labels)) if weights is None else weights
        if probabilities.ndim != 2 or probabilities.shape[1] < 2:
            raise DataError(
                "probabilities must have a column for each of two or more classes, got shape "
                f"{probabilities.shape}."
            )
        if not counts.sum() > 0:
            raise DataError("calibration must have rows of positive weight, got none.")
        seen = counts > 0  # a row of weight 0 must not even place a knot
        n_classes = probabilities.shape[1]
        maps = (
            _MAPS[kind].learn(probabilities[seen, k], labels[seen] == k, counts[seen], certain)
            for k in _mapped_classes(n_classes)
        )
        return cls(kind, n_classes, tuple(maps))

    def apply(self, probabilities: FloatArray) -> FloatArray:
        """Calibrate each row by itself; the result has shape (n_rows, n_classes)."""
        columns = [
            one.apply(np.ascontiguousarray(probabilities[:, k]))
            for k, one in zip(_mapped_classes(self.n_classes), self.maps, strict=True)
        ]
        if self.n_classes == 2:
            # One map is enough: the other class has the rest.
            return np.column_stack([1 - columns[0], columns[0]])
        total = np.zeros(len(probabilities))
        for column in columns:  # a fixed order, so that rounding does not depend on the layout
            total += column
        none = total == 0
        total[none] = 1.0
        shares = np.column_stack([column / total for column in columns])
        shares[none] = 1 / self.n_classes
        return shares

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a file."""
        return {"kind": self.kind, "maps": [one.to_dict() for one in self.maps]}

    @classmethod
    def from_dict(cls, fields: Fields, n_classes: int) -> Self:
        """Read the calibrator from a file and check it."""
        if (kind := fields.text("kind")) not in KINDS:
            fields.refuse("kind", "'sigmoid' or 'isotonic'", kind)
        maps = fields.many_fields("maps")
        if len(maps) != (expected := len(_mapped_classes(n_classes))):
            fields.refuse("maps", f"{expected} for {n_classes} classes", len(maps))
        return cls(kind, n_classes, tuple(_MAPS[kind].from_dict(one) for one in maps))


def calibration_split(
    train: IntArray,
    labels: AnyArray,
    seed: int = 0,
    classes: Sequence[Any] | None = None,
) -> tuple[IntArray, IntArray]:
    """Split the training rows, class by class, into rows to fit on and rows to calibrate on.

    A quarter of each class calibrates. Scored rows never do, so no confidence is judged by the
    rows that calibrated it.

    Parameters
    ----------
    train : ndarray of row numbers
    labels : ndarray of shape (n_rows,)
        Class of every row, from 0.
    seed : int
    classes : sequence, optional
        Names of the classes in messages.

    Returns
    -------
    (rows to fit on, rows to calibrate on), both in the order of `train`

    Raises
    ------
    DataError
        If a class has fewer than two rows.
    """
    rng = np.random.default_rng(seed)
    calibrates = np.zeros(len(train), dtype=np.bool_)
    here = labels[train]
    n_classes = len(np.bincount(here)) if classes is None else len(classes)
    for k in range(n_classes):
        rows = np.flatnonzero(here == k)
        if len(rows) < 2:
            name = k if classes is None else classes[k]
            raise DataError(
                f"class {name!r} must have at least 2 training rows, one of them to calibrate, "
                f"got {len(rows)}; give more rows or calibration=None."
            )
        # Both sides keep at least one row of the class.
        size = min(max(int(_SHARE * len(rows) + 0.5), 1), len(rows) - 1)
        calibrates[rng.permutation(rows)[:size]] = True
    return train[~calibrates], train[calibrates]


def _mapped_classes(n_classes: int) -> range:
    """Classes that have a map of their own."""
    return range(1, 2) if n_classes == 2 else range(n_classes)
