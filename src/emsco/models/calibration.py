"""Honest probabilities: maps from what a classifier says to how often it is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.checks import check_choice, check_number
from emsco._base.documents import Fields
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco.errors import DataError, ParameterError

__all__ = ["KINDS", "SHARE", "Calibrator", "IsotonicMap", "SigmoidMap", "calibration_split"]

KINDS = ("sigmoid", "isotonic")
SHARE = 0.25  # of the training rows that calibrate where the user says nothing
_CERTAIN = 1e-12  # probabilities are kept this far from 0 and 1, so that log-odds are finite
_SMALLEST = 1e-15
_LARGEST = 1e100  # of a slope or an intercept in a file
_MOST_STEPS = 100
_CONVERGED = 1e-12


@dataclass(frozen=True, slots=True)
class SigmoidMap:
    """Platt's map: probabilities whose log-odds are an affine function of the old ones.

    The slope may come out negative: the classifier then orders the calibrating rows the wrong
    way round, and the map turns them over.

    Attributes
    ----------
    slope, intercept : float
    certain : float
        Probabilities nearer than this to 0 or 1 count as this far from it.
    """

    slope: float
    intercept: float
    certain: float = _CERTAIN

    @classmethod
    def learn(
        cls, probability: FloatArray, hit: BoolArray, weights: FloatArray, certain: float
    ) -> Self:
        """Fit to rows that have the class (`hit`) or not, with Platt's smoothed targets."""
        n_hits, n_others = float(weights[hit].sum()), float(weights[~hit].sum())
        targets = np.where(hit, (n_hits + 1) / (n_hits + 2), 1 / (n_others + 2))
        return cls(*_fit_sigmoid(_log_odds(probability, certain), targets, weights), certain)

    def apply(self, probability: FloatArray) -> FloatArray:
        """Each value for itself: none depends on those beside it."""
        from scipy.special import expit  # one value at a time, where NumPy has several paths

        odds = _log_odds(probability, self.certain)
        mapped: FloatArray = expit(self.slope * odds + self.intercept)
        return mapped

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"slope": self.slope, "intercept": self.intercept, "certain": self.certain}

    @classmethod
    def from_dict(cls, fields: Fields) -> Self:
        """The same, read from a file and checked."""
        slope = fields.number("slope", -_LARGEST, _LARGEST)
        intercept = fields.number("intercept", -_LARGEST, _LARGEST)
        return cls(slope, intercept, fields.number("certain", _SMALLEST, 0.5))


@dataclass(frozen=True, slots=True, eq=False)
class IsotonicMap:
    """A rising line through knots, level outside them."""

    inputs: FloatArray
    outputs: FloatArray

    @classmethod
    def learn(
        cls, probability: FloatArray, hit: BoolArray, weights: FloatArray, certain: float
    ) -> Self:
        """Fit to rows that have the class (`hit`) or not; 0 and 1 need no room here."""
        del certain
        from sklearn.isotonic import IsotonicRegression

        fitted = IsotonicRegression().fit(probability, hit.astype(np.float64), weights)
        outputs = np.clip(fitted.y_thresholds_, 0.0, 1.0)  # means of 0 and 1, but rounded
        return cls(locked_copy(fitted.X_thresholds_, np.float64), locked_copy(outputs))

    def apply(self, probability: FloatArray) -> FloatArray:
        """Each value for itself: none depends on those beside it."""
        mapped: FloatArray = np.interp(probability, self.inputs, self.outputs)
        return mapped

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"inputs": self.inputs.tolist(), "outputs": self.outputs.tolist()}

    @classmethod
    def from_dict(cls, fields: Fields) -> Self:
        """The same, read from a file and checked."""
        n_knots = len(fields.items("inputs"))
        inputs = fields.numbers("inputs", n_knots, 0, 1)
        outputs = fields.numbers("outputs", n_knots, 0, 1)
        if not n_knots or not (np.diff(inputs) > 0).all():
            fields.refuse("inputs", "rising numbers, at least one", inputs.tolist())
        if not (np.diff(outputs) >= 0).all():
            fields.refuse("outputs", "numbers that never fall", outputs.tolist())
        return cls(inputs, outputs)


Map: TypeAlias = SigmoidMap | IsotonicMap
_MAPS: dict[str, type[SigmoidMap] | type[IsotonicMap]] = {
    "sigmoid": SigmoidMap,
    "isotonic": IsotonicMap,
}


@dataclass(frozen=True, slots=True, eq=False)
class Calibrator:
    """Maps the probabilities of a classifier, learnt from rows that did not train it.

    For two classes there is one map, of the second class; for more there is one per class
    against the rest, and what they say is divided by its sum. A row that every map gives 0 has
    all classes alike.

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
    maps: tuple[Map, ...]

    @classmethod
    def learn(
        cls,
        kind: str,
        probabilities: FloatArray,
        labels: AnyArray,
        weights: FloatArray | None = None,
        certain: float = _CERTAIN,
    ) -> Self:
        """Learn from what a classifier says about rows whose classes are known.

        Parameters
        ----------
        kind : {"sigmoid", "isotonic"}
            "sigmoid" is Platt's map on log-odds, two numbers a class; "isotonic" any rising
            map, which needs many rows.
        probabilities : ndarray of shape (n_rows, n_classes)
        labels : ndarray of shape (n_rows,)
            Class of each row, as a column of `probabilities`.
        weights : ndarray of shape (n_rows,), optional
            How much each row counts; 1 each by default.
        certain : float
            For "sigmoid": probabilities nearer than this to 0 or 1 count as this far from it.
            Classifiers that often say 0 or 1, as forests and neighbours do, need some room:
            half a row in those that calibrate is about right.
        """
        check_choice("calibration", kind, KINDS)
        check_number("certain", certain, _SMALLEST, 0.5)
        counts = np.ones(len(labels)) if weights is None else weights
        if probabilities.ndim != 2 or probabilities.shape[1] < 2:
            raise DataError(
                "probabilities must have a column for each of two or more classes, got shape "
                f"{probabilities.shape}."
            )
        if not counts.sum() > 0:
            raise DataError("calibration must have rows of positive weight, got none.")
        seen = counts > 0  # rows without weight must not leave a trace, not even in knots
        n_classes = probabilities.shape[1]
        maps = (
            _MAPS[kind].learn(probabilities[seen, k], labels[seen] == k, counts[seen], certain)
            for k in _mapped_classes(n_classes)
        )
        return cls(kind, n_classes, tuple(maps))

    def apply(self, probabilities: FloatArray) -> FloatArray:
        """Calibrated probabilities, shape (n_rows, n_classes); each row for itself, to the bit."""
        columns = [
            one.apply(np.ascontiguousarray(probabilities[:, k]))
            for k, one in zip(_mapped_classes(self.n_classes), self.maps, strict=True)
        ]
        if self.n_classes == 2:
            return np.column_stack([1 - columns[0], columns[0]])
        total = np.zeros(len(probabilities))
        for column in columns:  # in one fixed order, whatever the layout
            total += column
        none = total == 0
        total[none] = 1.0
        shares = np.column_stack([column / total for column in columns])
        shares[none] = 1 / self.n_classes
        return shares

    @property
    def slope(self) -> float:
        """What a two-class sigmoid multiplies log-odds by; a logistic model can take it over."""
        return self._only_sigmoid("slope").slope

    @property
    def intercept(self) -> float:
        """What a two-class sigmoid then adds."""
        return self._only_sigmoid("intercept").intercept

    def _only_sigmoid(self, name: str) -> SigmoidMap:
        first = self.maps[0]
        if self.n_classes != 2 or not isinstance(first, SigmoidMap):
            raise ParameterError(
                f"{name} must be asked of a sigmoid of two classes, got {self.kind!r} of "
                f"{self.n_classes}.",
                parameter=name,
            )
        return first

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {"kind": self.kind, "maps": [one.to_dict() for one in self.maps]}

    @classmethod
    def from_dict(cls, fields: Fields, n_classes: int) -> Self:
        """The same, read from a file and checked."""
        if (kind := fields.text("kind")) not in KINDS:
            fields.refuse("kind", "'sigmoid' or 'isotonic'", kind)
        maps = fields.many_fields("maps")
        if len(maps) != (expected := len(_mapped_classes(n_classes))):
            fields.refuse("maps", f"{expected} for {n_classes} classes", len(maps))
        return cls(kind, n_classes, tuple(_MAPS[kind].from_dict(one) for one in maps))


def calibration_split(
    train: IntArray,
    labels: AnyArray,
    share: float = SHARE,
    seed: int = 0,
    classes: Sequence[Any] | None = None,
) -> tuple[IntArray, IntArray]:
    """Part the training rows into those that fit and those that calibrate, class by class.

    Rows that score designs are none of them, so that a confidence is never calibrated on rows
    that it is then judged by.

    Parameters
    ----------
    train : ndarray of row numbers
    labels : ndarray of shape (n_rows,)
        Class of every row, from 0.
    share : float
        Share of each class that calibrates, at least one row.
    seed : int
    classes : sequence, optional
        What to call the classes in messages.

    Returns
    -------
    (fitting rows, calibrating rows), both in the order of `train`

    Raises
    ------
    DataError
        Where a class has fewer than two rows.
    """
    check_number("share", share, 0, 1, "()")
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
        size = min(max(int(share * len(rows) + 0.5), 1), len(rows) - 1)
        calibrates[rng.permutation(rows)[:size]] = True
    return train[~calibrates], train[calibrates]


def _mapped_classes(n_classes: int) -> range:
    return range(1, 2) if n_classes == 2 else range(n_classes)


def _log_odds(probability: FloatArray, certain: float) -> FloatArray:
    from scipy.special import logit

    odds: FloatArray = logit(np.clip(probability, certain, 1 - certain))
    return odds


def _fit_sigmoid(
    log_odds: FloatArray, targets: FloatArray, weights: FloatArray
) -> tuple[float, float]:
    """Slope and intercept of least cross-entropy: Newton steps, halved until they help.

    Log-odds are centred and scaled first. Where all are equal the slope stays 0, the step being
    the shortest that solves its equations.
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
    point -= _newton_step(point @ terms, terms, targets, weights)[0]  # the last digits
    slope = float(point[0] / spread)
    return slope, float(point[1] - slope * centre)


def _newton_step(
    odds: FloatArray, terms: FloatArray, targets: FloatArray, weights: FloatArray
) -> tuple[FloatArray, float]:
    from scipy.special import expit

    said = expit(odds)
    gradient = terms @ (weights * (said - targets))
    hessian = (terms * (weights * said * (1 - said))) @ terms.T
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
    """The point after the longest of the step, its half, its quarter, … that lowers the loss."""
    for halvings in range(40):
        nearer = point - step * 0.5**halvings
        lower = _cross_entropy(nearer @ terms, targets, weights)
        if lower < loss:
            return nearer, lower, True
    return point, loss, False


def _cross_entropy(odds: FloatArray, targets: FloatArray, weights: FloatArray) -> float:
    return float((weights * (np.logaddexp(0, odds) - targets * odds)).sum())
