"""Differences between two ways to decide the same rows, with their standard errors.

Every figure is a ratio of two sums over rows: accuracy is correct rows over answered rows. To first
order it changes by the *influence* of a row when that row counts a little more. The standard error
of a ratio, or of the difference of two, is the root of the sum of squared influences. Decisions
about the same rows are compared row by row, so what both get right or wrong cancels out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from emsco._base.documents import Fields, is_number
from emsco._base.typing import FloatArray, IntArray, LabelArray
from emsco._kernels.measuring import add_squares, measure_rows

__all__ = ["Comparison", "Difference", "RowFigures"]


class Difference(NamedTuple):
    """A difference and its standard error."""

    value: float
    error: float

    def shortfall(self) -> float:
        """Standard errors by which the first is behind; 0 if it is not, infinity if for sure."""
        if self.value >= -_ROUNDING:
            return 0.0
        return -self.value / self.error if self.error > 0 else np.inf


_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Comparison:
    """How far decisions about some rows differ from others about the same rows.

    Attributes
    ----------
    coverage, accuracy, cost : Difference
        Of the first decisions minus the second.
    recall : tuple of Difference
        Share of each class that gets the correct label.
    missed : tuple of Difference
        Share of each class that gets a wrong label.
    """

    coverage: Difference
    accuracy: Difference
    cost: Difference
    recall: tuple[Difference, ...]
    missed: tuple[Difference, ...]

    @property
    def shortfall(self) -> float:
        """Most standard errors by which the first decisions are worse in anything but cost.

        Coverage, accuracy and the recall of every class count, and so does the share of every
        class that gets a wrong label.
        """
        fewer = (Difference(-missed.value, missed.error) for missed in self.missed)
        every = (self.coverage, self.accuracy, *self.recall, *fewer)
        return max(difference.shortfall() for difference in every)

    @property
    def loss(self) -> float:
        """Largest amount by which the first decisions are worse in anything but cost."""
        gains = (self.coverage, self.accuracy, *self.recall)
        lost = [-gain.value for gain in gains] + [missed.value for missed in self.missed]
        return max(0.0, *lost)

    def to_lists(self) -> dict[str, list[Any]]:
        """Return plain values: pairs of a difference and its standard error."""
        single = {name: list(getattr(self, name)) for name in _SINGLE}
        return single | {name: [list(pair) for pair in getattr(self, name)] for name in _BY_CLASS}

    @classmethod
    def from_fields(cls, fields: Fields, n_classes: int) -> Comparison:
        """Read the values that `to_lists` gave from a file and check them."""
        many: dict[str, tuple[Difference, ...]] = {}
        for name in _BY_CLASS:
            pairs = fields.items(name)
            if len(pairs) != n_classes:
                fields.refuse(name, f"a pair for each of {n_classes} classes", pairs)
            many[name] = tuple(_difference(fields, name, pair) for pair in pairs)
        coverage, accuracy, cost = (
            _difference(fields, name, fields.items(name)) for name in _SINGLE
        )
        return cls(coverage, accuracy, cost, **many)


_BETTER = np.array([1.0, 1.0, -1.0])  # more coverage and accuracy, less cost
_SINGLE = ("coverage", "accuracy", "cost")
_BY_CLASS = ("recall", "missed")


def _difference(fields: Fields, name: str, pair: Any) -> Difference:
    if not isinstance(pair, list) or len(pair) != 2 or not all(map(is_number, pair)):
        fields.refuse(name, "a difference and its standard error", pair)
    if pair[1] < 0:
        fields.refuse(name, "a standard error of at least 0", pair)
    return Difference(float(pair[0]), float(pair[1]))


@dataclass(frozen=True, slots=True, eq=False)
class RowFigures:
    """Figures of decisions about some rows, and the influence of each row on them.

    Attributes
    ----------
    figures : ndarray of shape (3,)
        Coverage, accuracy and mean cost.
    by_class : ndarray of shape (2, n_classes)
        Shares of each class with the correct label and with a wrong one.
    influence : ndarray of shape (5, n_rows)
        Influence of each row on coverage, accuracy, cost, and the two shares of its own class. A
        row that was decided several times counts once.
    truth : ndarray of shape (n_rows,)
        Class of each row.

    Examples
    --------
    >>> truth, rows, weights = np.array([0, 0, 1, 1]), np.arange(4), np.ones(4)
    >>> one = RowFigures.measure(truth, np.array([0, 0, 1, 0]), np.ones(4), weights, rows, 2)
    >>> other = RowFigures.measure(truth, np.array([0, 2, 1, 2]), np.ones(4), weights, rows, 2)
    >>> one.minus(other).coverage
    Difference(value=0.5, error=0.25)
    """

    figures: FloatArray
    by_class: FloatArray
    influence: FloatArray
    truth: IntArray

    @classmethod
    def measure(
        cls,
        truth: IntArray,
        given: IntArray | LabelArray,
        cost: FloatArray,
        weights: FloatArray,
        rows: IntArray,
        n_classes: int,
    ) -> RowFigures:
        """Measure decisions.

        Parameters
        ----------
        truth, given : ndarray of shape (n_decisions,)
            True class and given label; a label of `n_classes` marks a rejected row.
        cost, weights : ndarray of shape (n_decisions,)
        rows : ndarray of shape (n_decisions,)
            Number of the row that each decision is about, from 0 without a gap.
        n_classes : int
        """
        n = int(rows.max()) + 1
        if n == len(rows) and given.dtype == np.uint8 and np.array_equal(rows, np.arange(n)):
            return cls._of_single(truth, given, cost, weights, n_classes)
        of_row = np.zeros(n, dtype=np.int64)
        of_row[rows] = truth

        def sums(values: FloatArray) -> FloatArray:
            found: FloatArray = np.bincount(rows, values, n).astype(np.float64)
            return found

        answered = (given < n_classes) * weights
        right = (given == truth) * weights
        total, n_answered, n_right, spent = map(sums, (weights, answered, right, cost * weights))
        ratios = [(n_answered, total), (n_right, n_answered), (spent, total)]
        figures, influence = zip(*(_ratio(*pair) for pair in ratios), strict=True)
        shares = [
            _ratio_by_class(part, total, of_row, n_classes)
            for part in (n_right, n_answered - n_right)
        ]
        return cls(
            np.array(figures),
            np.array([share for share, _ in shares]),
            np.array([*influence, *(own for _, own in shares)]),
            of_row,
        )

    @classmethod
    def _of_single(
        cls,
        truth: IntArray,
        given: LabelArray,
        cost: FloatArray,
        weights: FloatArray,
        n_classes: int,
    ) -> RowFigures:
        """Measure decisions about rows that are decided once each, in their order."""
        sums, by_class = np.zeros(4), np.zeros((3, n_classes))
        influence = np.empty((5, len(truth)))
        measure_rows(truth, given, cost, weights, sums, by_class, influence)
        whole = np.array([sums[0], sums[1], sums[0]])
        figures = np.divide(sums[1:], whole, out=np.zeros(3), where=whole > 0)
        shares = by_class[1:] / np.where(by_class[0] > 0, by_class[0], 1.0)
        return cls(figures, shares, influence, truth)

    def beats(self, other: RowFigures, errors: float, least: FloatArray) -> bool:
        """Whether coverage, accuracy or cost is better by more than noise.

        That is so many standard errors of the difference, and also more than `least`, which has a
        number for each of the three.
        """
        ahead = (self.figures - other.figures) * _BETTER
        return any(
            ahead[i] > least[i]
            and ahead[i] > errors * np.linalg.norm(self.influence[i] - other.influence[i])
            for i in range(3)
        )

    def minus(self, other: RowFigures) -> Comparison:
        """Compare with other decisions about the same rows."""
        squares, by_class = np.zeros(3), np.zeros(self.by_class.shape)
        add_squares(self.influence, other.influence, self.truth, squares, by_class)
        errors, by_class = np.sqrt(squares), np.sqrt(by_class)
        coverage, accuracy, cost = map(
            Difference, (self.figures - other.figures).tolist(), errors.tolist()
        )
        recall, missed = (
            tuple(map(Difference, apart.tolist(), error.tolist()))
            for apart, error in zip(self.by_class - other.by_class, by_class, strict=True)
        )
        return Comparison(coverage, accuracy, cost, recall, missed)


def _ratio(part: FloatArray, whole: FloatArray) -> tuple[float, FloatArray]:
    """Ratio of two sums, 0 if the lower is 0, and the influence of each row on it."""
    total = float(whole.sum())
    if total == 0:
        return 0.0, np.zeros(len(part))
    ratio = float(part.sum()) / total
    return ratio, (part - ratio * whole) / total


def _ratio_by_class(
    part: FloatArray, whole: FloatArray, truth: IntArray, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """Ratio of two sums within each class, and the influence of each row on that of its own."""
    totals = np.bincount(truth, whole, n_classes)
    totals = np.where(totals > 0, totals, 1.0)
    ratios: FloatArray = np.bincount(truth, part, n_classes) / totals
    return ratios, (part - ratios[truth] * whole) / totals[truth]
