"""Checks of columns: whether one alone predicts the class, is an id, holds dates, or is a copy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from emsco._base.typing import FloatArray, IntArray
from emsco.data.encoding.column_code import ColumnCode

__all__ = [
    "ClassSample",
    "by_appearance",
    "column_values",
    "is_copy",
    "is_numbering",
    "look_alikes",
]

_SAMPLE = 4_000  # rows of a sample, all classes together
_SCREEN = 200  # rows of the first look, which dismisses nearly all columns
_LEAST_OF_CLASS = 20  # rows; accuracy on a smaller class is a guess
_SEED = 20_221_101  # the same rows each time, so that the same data get the same warnings
_SAME = 1e-9  # relative difference of values that only rounding tells apart
_ID_NAME = re.compile(r"(^|[^a-z])(id|ids|uuid|guid|key|index)$|ID$|Id$|Key$|Index$")


@dataclass(frozen=True, slots=True, eq=False)
class ClassSample:
    """Some rows of each class, in two halves, each unseen by a rule learnt from the other.

    Attributes
    ----------
    rows : ndarray of shape (n_sampled,)
        Positions of the rows, class by class.
    labels : ndarray of shape (n_sampled,)
    turn : ndarray of shape (n_sampled,)
        Position of each row among those of its class. Even ones are one half, odd ones the other.
    n_classes : int
    """

    rows: IntArray
    labels: IntArray
    turn: IntArray
    n_classes: int

    @classmethod
    def draw(cls, labels: IntArray, n_classes: int) -> Self:
        """Draw up to about 4,000 rows, as many of each class where there are enough."""
        rng = np.random.default_rng(_SEED)
        most = max(2 * _LEAST_OF_CLASS, _SAMPLE // n_classes)
        by_class = [np.flatnonzero(labels == label) for label in range(n_classes)]
        drawn = [rng.choice(own, min(most, len(own)), replace=False) for own in by_class]
        rows = np.concatenate(drawn)
        turn = np.concatenate([np.arange(len(own)) for own in drawn])
        return cls(rows, labels[rows], turn, n_classes)

    def screen(self) -> ClassSample:
        """Return the first rows of each class, for a quick look."""
        most = max(_LEAST_OF_CLASS, _SCREEN // self.n_classes)
        few = self.turn < most
        return ClassSample(self.rows[few], self.labels[few], self.turn[few], self.n_classes)

    def balanced_accuracy(self, values: FloatArray, kind: str) -> float:
        """Return how well one column predicts the class of unseen rows, classes counted alike.

        The prediction for a value is the class that has it most often in the other half. A number
        is read as the nearest one there; a category that the other half lacks counts as wrong.
        Classes with fewer than 20 rows do not count; the result is 0 if fewer than two remain.

        Parameters
        ----------
        values : ndarray of shape (n_sampled,)
            The column, as from `column_values`.
        kind : {"number", "truth", "category"}
        """
        sizes = np.bincount(self.labels, minlength=self.n_classes)
        large = sizes >= _LEAST_OF_CLASS
        if large.sum() < 2:
            return 0.0
        correct = np.zeros(self.n_classes)
        for half in (self.turn % 2 == 0, self.turn % 2 == 1):
            unseen = self.labels[~half]
            found = self._predict(values[half], self.labels[half], values[~half], kind)
            correct += np.bincount(unseen[found == unseen], minlength=self.n_classes)
        return float(np.mean(correct[large] / sizes[large]))

    def _predict(
        self, known: FloatArray, labels: IntArray, asked: FloatArray, kind: str
    ) -> IntArray:
        values, place = np.unique(known, return_inverse=True)
        counts = np.bincount(
            place * self.n_classes + labels, minlength=values.size * self.n_classes
        )
        shares = counts.reshape(-1, self.n_classes) / np.maximum(
            1, np.bincount(labels, minlength=self.n_classes)
        )
        right = np.searchsorted(values, asked).clip(0, values.size - 1)
        left = (right - 1).clip(0)
        near = np.where(asked - values[left] < values[right] - asked, left, right)
        found: IntArray = shares.argmax(axis=1)[near]
        if kind == "category":
            found[values[near] != asked] = -1
        return found


def column_values(code: ColumnCode, inputs: FloatArray) -> FloatArray:
    """Return one number per row for a column: its value, or the position of its category.

    A missing number is below all others, and a missing category is -1.
    """
    first = inputs[:, 0]
    missing = np.isnan(first)
    if code.kind == "category":
        places = inputs[:, : code.n_values].argmax(axis=1).astype(np.float64)
        return np.where(missing, -1.0, places)
    if not missing.any() or missing.all():
        return first
    low, high = float(np.nanmin(first)), float(np.nanmax(first))
    return np.where(missing, low - 10 * (high - low) - 1, first)


def is_numbering(name: str, values: FloatArray) -> bool:
    """Tell whether numbers look like those of an id.

    They are whole and all different. They also rise or fall from row to row, or leave few numbers
    out, or the column is called an id.
    """
    if not (values == np.floor(values)).all() or np.unique(values).size < len(values):
        return False
    steps = np.diff(values)
    in_order = bool((steps > 0).all() or (steps < 0).all())
    dense = float(values.max() - values.min()) < 2 * len(values)
    return in_order or dense or _ID_NAME.search(name) is not None


def look_alikes(columns: Sequence[FloatArray]) -> list[list[int]]:
    """Return the positions of columns that may tell the same; `is_copy` confirms it on all rows."""
    if not columns:
        return []
    weights = np.random.default_rng(_SEED).normal(size=len(columns[0]))
    marks = np.array([_mark(column, weights) for column in columns])
    order = np.argsort(marks, kind="stable")
    apart = np.flatnonzero(~(np.diff(marks[order]) < 1e-7)) + 1  # written so that NaN is apart
    return [part.tolist() for part in np.split(order, apart) if len(part) > 1]


def is_copy(one: FloatArray, other: FloatArray) -> bool:
    """Tell whether one column is a multiple of another, plus a constant.

    Examples
    --------
    >>> celsius = np.array([20.0, 21.5, 37.0])
    >>> is_copy(celsius, 32 + 1.8 * celsius)
    True
    """
    x, y = _centred(one), _centred(other)
    if not x.any() or not y.any():
        return False
    rest = y - x * ((x @ y) / (x @ x))
    return bool(np.abs(rest).max() <= _SAME * np.abs(y).max())


def _mark(column: FloatArray, weights: FloatArray) -> float:
    """Return a number that columns share if they tell the same, hardly else; NaN for constants."""
    centred = _centred(column)
    size = float(np.sqrt(centred @ centred))
    return abs(float(centred @ weights)) / size if size else np.nan


def _centred(column: FloatArray) -> FloatArray:
    """Return values around 0 of a size that cannot overflow."""
    largest = float(np.abs(column).max(initial=0.0)) or 1.0
    scaled = column / largest
    centred: FloatArray = scaled - scaled.mean()
    return centred


def by_appearance(codes: FloatArray) -> FloatArray:
    """Number categories in the order in which rows have them, so that names do not matter."""
    _, first, place = np.unique(codes, return_index=True, return_inverse=True)
    rank = np.empty(len(first))
    rank[np.argsort(first)] = np.arange(len(first))
    numbered: FloatArray = rank[place]
    return numbered
