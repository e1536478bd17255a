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

from emsco._base.documents import Fields, is_finite_number
from emsco._base.typing import FloatArray, IntArray, LabelArray, SingleArray, StageArray
from emsco._kernels.counts import code_rows, count_pairs

_SINGLE = ("coverage", "accuracy", "cost")
_BY_CLASS = ("recall", "missed")
_BETTER = np.array([1.0, 1.0, -1.0])  # more coverage and accuracy, less cost
_ROUNDING = 1e-12  # a difference below is none


class Difference(NamedTuple):
    """A difference and its standard error."""

    value: float
    error: float

    def shortfall(self) -> float:
        """Standard errors by which the first is behind; 0 if it is not, infinity if for sure."""
        if self.value >= -_ROUNDING:
            return 0.0
        return -self.value / self.error if self.error > 0 else np.inf


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
        return max(difference.shortfall() for difference in self._gains)

    @property
    def _gains(self) -> tuple[Difference, ...]:
        """Differences of which more is better: of wrong labels, fewer are."""
        fewer = (Difference(-missed.value, missed.error) for missed in self.missed)
        return (self.coverage, self.accuracy, *self.recall, *fewer)

    @property
    def behind(self) -> float:
        """The same where nothing is behind: below 0, the first decisions are ahead in all figures.

        Figures that are the same row by row do not count.
        """
        apart = (one for one in self._gains if one.error > 0 or one.value < -_ROUNDING)
        return max((one.shortfall() or -one.value / one.error for one in apart), default=-np.inf)

    @property
    def loss(self) -> float:
        """Largest amount by which the first decisions are worse in anything but cost."""
        gains = (self.coverage, self.accuracy, *self.recall)
        lost = [-gain.value for gain in gains] + [missed.value for missed in self.missed]
        return max(0.0, *lost)

    @classmethod
    def from_squares(
        cls,
        figures: FloatArray,
        by_class: FloatArray,
        squares: FloatArray,
        squares_by_class: FloatArray,
    ) -> Comparison:
        """Compare by differences, and the summed squares of differences of influences."""
        coverage, accuracy, cost = map(Difference, figures.tolist(), np.sqrt(squares).tolist())
        recall, missed = (
            tuple(map(Difference, apart.tolist(), error.tolist()))
            for apart, error in zip(by_class, np.sqrt(squares_by_class), strict=True)
        )
        return cls(coverage, accuracy, cost, recall, missed)

    def to_lists(self) -> dict[str, list[Any]]:
        """Return plain values: pairs of a difference and its standard error."""
        single = {name: list(getattr(self, name)) for name in _SINGLE}
        return single | {name: [list(pair) for pair in getattr(self, name)] for name in _BY_CLASS}

    @classmethod
    def from_dict(cls, fields: Fields, n_classes: int) -> Comparison:
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


def _difference(fields: Fields, name: str, pair: Any) -> Difference:
    if not isinstance(pair, list) or len(pair) != 2 or not all(map(is_finite_number, pair)):
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
        # All decisions about a row have its class.
        of_row = np.zeros(n, dtype=np.int64)
        of_row[rows] = truth

        def sums(values: FloatArray) -> FloatArray:
            by_row: FloatArray = np.bincount(rows, values, n).astype(np.float64)
            return by_row

        answered = (given < n_classes) * weights
        right = (given == truth) * weights
        total, n_answered, n_right, spent = map(sums, (weights, answered, right, cost * weights))
        figures, shares, influence = [], [], []
        for part, whole in ((n_answered, total), (n_right, n_answered), (spent, total)):
            base = float(whole.sum())
            ratio = float(part.sum()) / base if base else 0.0
            figures.append(ratio)
            # The delta method: how much each row moves the ratio.
            influence.append((part - ratio * whole) / base if base else np.zeros(n))
        totals = np.bincount(of_row, total, n_classes)
        # A class without rows has a share of 0, and no row to influence it.
        totals = np.where(totals > 0, totals, 1.0)
        for part in (n_right, n_answered - n_right):
            ratios = np.bincount(of_row, part, n_classes) / totals
            shares.append(ratios)
            influence.append((part - ratios[of_row] * total) / totals[of_row])
        return cls(np.array(figures), np.array(shares), np.array(influence), of_row)

    def beats(self, other: RowFigures, errors: float, margins: FloatArray) -> bool:
        """Whether coverage, accuracy or cost is better by more than noise.

        That is so many standard errors of the difference, and also more than `margins`, which has a
        number for each of the three.
        """
        ahead = (self.figures - other.figures) * _BETTER
        return any(
            ahead[i] > margins[i]
            # The norm of the differences of influences is the standard error, as rows are the same.
            and ahead[i] > errors * np.linalg.norm(self.influence[i] - other.influence[i])
            for i in range(3)
        )

    def minus(self, other: RowFigures) -> Comparison:
        """Compare with other decisions about the same rows."""
        squares = (self.influence - other.influence) ** 2
        n_classes = self.by_class.shape[1]
        # A row influences only the shares of its own class.
        by_class = [np.bincount(self.truth, one, n_classes) for one in squares[3:]]
        return Comparison.from_squares(
            figures=self.figures - other.figures,
            by_class=self.by_class - other.by_class,
            squares=squares[:3].sum(axis=1),
            squares_by_class=np.array(by_class),
        )


@dataclass(frozen=True, slots=True, eq=False)
class CodedFigures:
    """`RowFigures` of rows that are decided once each, and count and pay alike at each stage.

    Then rows of a class to which the same happened have the same influence, and counts of what
    happened replace sums over rows.

    Attributes
    ----------
    figures, by_class
        As in `RowFigures`.
    exits, sure : ndarray of shape (n_stages,)
        Answered rows of each stage, and the sum of their confidences.
    codes : ndarray of shape (n_rows,)
        What happened to each row; see `code_rows`.
    influence : ndarray of shape (5, n_codes, n_classes)
        Influence of a row by its code and class.
    errors : ndarray of shape (3,)
        Standard errors of the figures.
    truth : ndarray of shape (n_rows,)
    """

    figures: FloatArray
    by_class: FloatArray
    exits: IntArray
    sure: FloatArray
    codes: StageArray
    influence: FloatArray
    errors: FloatArray
    truth: IntArray

    @classmethod
    def measure(
        cls,
        truth: IntArray,
        given: LabelArray,
        stage: IntArray,
        confidence: SingleArray,
        paid: FloatArray,
        n_classes: int,
    ) -> CodedFigures:
        """Measure decisions; `paid` has the cost of a row after each stage."""
        codes, sure = np.empty(len(truth), dtype=np.int16), np.zeros(len(paid))
        counts = np.zeros((3 * len(paid), n_classes), dtype=np.int64)
        code_rows(truth, given, stage, confidence, codes, counts, sure)
        # Three codes for each stage: rejected there, correct, wrong.
        kind = np.arange(len(counts)) % 3
        answered, right = (kind > 0).astype(float), (kind == 1).astype(float)
        cost, rows = np.repeat(paid, 3), counts.sum(axis=1)
        whole = np.ones(len(counts))
        pairs = [(answered, whole), (right, answered), (cost, whole)]
        figures, influence = np.zeros(3), np.zeros((5, *counts.shape))
        for i, (part, base) in enumerate(pairs):
            if total := float(rows @ base):
                figures[i] = rows @ part / total
                influence[i] = ((part - figures[i] * base) / total)[:, None]
        totals = np.maximum(counts.sum(axis=0), 1)
        kinds = np.array([right, answered - right])
        by_class = kinds @ counts / totals
        influence[3:] = (kinds[:, :, None] - by_class[:, None]) / totals
        exits = (answered * rows).reshape(-1, 3).sum(axis=1)
        # Rows of a code and class have the same influence, so squares are counted, not summed over
        # rows.
        errors = np.sqrt((influence[:3] ** 2 * counts).sum(axis=(1, 2)))
        return cls(figures, by_class, exits, sure, codes, influence, errors, truth)

    def beats(self, other: CodedFigures, errors: float, margins: FloatArray) -> bool:
        """Whether coverage, accuracy or cost is better by more than noise; see `RowFigures`."""
        ahead = (self.figures - other.figures) * _BETTER
        is_more = ahead > margins
        # An error of a difference is at most the sum of both errors, which need no pass over rows.
        if not is_more.any() or (is_more & (ahead > errors * (self.errors + other.errors))).any():
            return bool(is_more.any())
        squares = self._squares(other)[:3].sum(axis=1)
        return bool((is_more & (ahead > errors * np.sqrt(squares))).any())

    def minus(self, other: CodedFigures) -> Comparison:
        """Compare with other decisions about the same rows."""
        squares = self._squares(other)
        return Comparison.from_squares(
            figures=self.figures - other.figures,
            by_class=self.by_class - other.by_class,
            squares=squares[:3].sum(axis=1),
            squares_by_class=squares[3:],
        )

    def _squares(self, other: CodedFigures) -> FloatArray:
        """Sum of squared differences of influences, (5, n_classes)."""
        shape = (self.influence.shape[1], *other.influence.shape[1:])
        counts = np.zeros(shape, dtype=np.int64)
        count_pairs(self.codes, other.codes, self.truth, counts)
        apart = self.influence[:, :, None] - other.influence[:, None]
        squares: FloatArray = (apart**2 * counts).sum(axis=(1, 2))
        return squares
