"""Calibration: probabilities that match how often a model is correct."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from emsco._base.checks import check_choice, check_number
from emsco._base.documents import Fields
from emsco._base.typing import AnyArray, FloatArray, IntArray
from emsco.errors import DataError
from emsco.models.calibration_maps import (
    CERTAIN,
    SMALLEST,
    CalibrationMap,
    IsotonicMap,
    SigmoidMap,
)

__all__ = ["KINDS", "Calibrator", "calibration_split"]

KINDS = ("sigmoid", "isotonic")
_SHARE = 0.25  # of the training rows of each class
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
        size = min(max(int(_SHARE * len(rows) + 0.5), 1), len(rows) - 1)
        calibrates[rng.permutation(rows)[:size]] = True
    return train[~calibrates], train[calibrates]


def _mapped_classes(n_classes: int) -> range:
    """Classes that have a map of their own."""
    return range(1, 2) if n_classes == 2 else range(n_classes)
