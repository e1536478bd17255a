"""Compare two ways to decide the same rows: differences and their standard errors.

Every figure is a ratio of two sums over rows: accuracy is correct rows over answered rows. To first
order it changes by the *influence* of a row when that row counts a little more. The standard error
of a ratio, or of the difference of two, is the root of the sum of squared influences. Decisions
about the same rows are compared row by row, so what both get right or wrong cancels out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from emsco._base.documents import Fields, is_finite_number
from emsco._base.typing import FloatArray, IntArray, LabelArray, StageArray
from emsco._kernels.comparisons import add_squares

_SINGLE = ("coverage", "accuracy", "cost")
_BY_CLASS = ("recall", "missed")
_BETTER = np.array([1.0, 1.0, -1.0])  # more coverage and accuracy, less cost
_ROUNDING = 1e-12  # a difference below is none


class Difference(NamedTuple):
    """A difference and its standard error."""

    value: float
    error: float

    @property
    def behind(self) -> float:
        """Standard errors by which the first is behind; below 0, it is ahead.

        Infinity if it is behind for sure, and minus infinity if it is not for sure.
        """
        value = 0.0 if abs(self.value) <= _ROUNDING else self.value
        if self.error > 0:
            return -value / self.error
        return np.inf if value < 0 else -np.inf


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
    def _gains(self) -> tuple[Difference, ...]:
        """Differences of which more is better: of wrong labels, fewer are."""
        fewer = (Difference(-missed.value, missed.error) for missed in self.missed)
        return (self.coverage, self.accuracy, *self.recall, *fewer)

    @property
    def behind(self) -> float:
        """Most standard errors by which the first decisions are worse in anything but cost.

        Coverage, accuracy and the recall of every class count, and so does the share of every
        class that gets a wrong label; figures that are the same row by row do not. Below 0, the
        first decisions are ahead in all.
        """
        return max(gain.behind for gain in self._gains)

    @property
    def shortfall(self) -> float:
        """The same; 0 if nothing is behind."""
        return max(0.0, self.behind)

    @property
    def loss(self) -> float:
        """Largest amount by which the first decisions are worse in anything but cost."""
        return max(0.0, *(-gain.value for gain in self._gains))

    def to_lists(self) -> dict[str, list[Any]]:
        """Return plain values: pairs of a difference and its standard error."""
        single = {name: list(getattr(self, name)) for name in _SINGLE}
        return single | {name: [*map(list, getattr(self, name))] for name in _BY_CLASS}

    @classmethod
    def from_dict(cls, fields: Fields, n_classes: int) -> Comparison:
        """Read the values that `to_lists` gave from a file and check them."""

        def differences(name: str, pairs: list[Any]) -> tuple[Difference, ...]:
            for pair in pairs:
                is_pair = isinstance(pair, list) and len(pair) == 2
                if not is_pair or not all(map(is_finite_number, pair)) or pair[1] < 0:
                    fields.refuse(name, "a difference and its standard error", pair)
            return tuple(Difference(float(value), float(error)) for value, error in pairs)

        coverage, accuracy, cost = (differences(name, [fields.items(name)])[0] for name in _SINGLE)
        recall, missed = (differences(name, fields.items(name)) for name in _BY_CLASS)
        for name, many in zip(_BY_CLASS, (recall, missed), strict=True):
            if len(many) != n_classes:
                fields.refuse(name, f"a pair for each of {n_classes} classes", many)
        return cls(coverage, accuracy, cost, recall, missed)


@dataclass(frozen=True, eq=False)
class Figures:
    """Figures of decisions about some rows, and the influence of each row on them.

    Attributes
    ----------
    figures : ndarray of shape (3,)
        Coverage, accuracy and mean cost.
    by_class : ndarray of shape (2, n_classes)
        Shares of each class with the correct label and with a wrong one.
    codes : ndarray of shape (n_decisions,)
        What happened: three times the stage, plus 1 if correct and 2 if wrong.
    counts : ndarray of shape (n_codes, n_classes)
        Total weight of the decisions with each code.
    influence : ndarray of shape (n_codes, n_classes, 5)
        Influence of a decision on coverage, accuracy, cost, and the two shares of its own class,
        by its code and class. It is to be multiplied by the decision's weight.
    by_price : ndarray of shape (n_decisions,) or (1,)
        What each row's influence on the cost has beyond, because of prices of its own.
    truth, weights, rows : ndarray of shape (n_decisions,)
        Class and weight of each decision, and the number of the row that it is about.

    Examples
    --------
    >>> truth, stage, paid = np.array([0, 0, 1, 1]), np.zeros(4, dtype=int), np.ones(1)
    >>> one, other = (
    ...     Figures.measure(truth, np.array(given), stage, paid, np.ones(4), np.arange(4), 2)
    ...     for given in ([0, 0, 1, 0], [0, 2, 1, 2])
    ... )
    >>> one.minus(other).coverage
    Difference(value=0.5, error=0.25)
    """

    figures: FloatArray
    by_class: FloatArray
    codes: StageArray
    counts: FloatArray
    influence: FloatArray
    by_price: FloatArray
    truth: IntArray
    weights: FloatArray
    rows: IntArray

    @classmethod
    def measure(
        cls,
        truth: IntArray,
        given: IntArray | LabelArray,
        stage: IntArray,
        paid: FloatArray,
        weights: FloatArray,
        rows: IntArray,
        n_classes: int,
        by_price: FloatArray | None = None,
    ) -> Figures:
        """Measure decisions.

        Parameters
        ----------
        truth, given, stage : ndarray of shape (n_decisions,)
            Class, label (`n_classes` marks a rejected row), and last stage that is paid for.
        paid : ndarray of shape (n_stages,)
            Cost of a row after each stage.
        weights, rows : ndarray of shape (n_decisions,)
            Weight of each decision, and the number of the row that it is about, from 0. All
            decisions about a row have its class, and together they count once.
        n_classes : int
        by_price : ndarray of shape (n_decisions,), optional
            What is paid on top, by prices of a row's own.
        """
        codes = 3 * stage + (given < n_classes) * (2 - (given == truth))
        n_codes = 3 * len(paid)
        cells = np.bincount(codes * n_classes + truth, weights, n_codes * n_classes)
        counts: FloatArray = cells.reshape(n_codes, n_classes).astype(np.float64)
        kind, of_code, of_class = np.arange(n_codes) % 3, counts.sum(axis=1), counts.sum(axis=0)
        every, answered, right = np.ones(n_codes), (kind > 0) * 1.0, (kind == 1) * 1.0
        ratios = [(answered, every), (right, answered), (np.repeat(paid, 3), every)]
        figures, influence = np.zeros(3), np.zeros((n_codes, n_classes, 5))
        for i, (part, whole) in enumerate(ratios):
            if total := of_code @ whole:
                figures[i] = of_code @ part / total
                # The delta method: how much each row moves the ratio.
                influence[:, :, i] = ((part - figures[i] * whole) / total)[:, None]
        # A class without rows has a share of 0, and no row to influence it.
        totals = np.where(of_class > 0, of_class, 1.0)
        kinds = np.array([right, answered - right])
        by_class = kinds @ counts / totals
        influence[:, :, 3:] = (kinds.T[:, None] - by_class.T) / totals[:, None]
        beyond = np.zeros(1)
        if by_price is not None:
            beyond = np.bincount(rows, weights * by_price, len(rows)) / of_code.sum()
            figures[2] += beyond.sum()
            influence[:, :, 2] -= beyond.sum() / of_code.sum()
        codes = codes.astype(np.int16)
        return cls(figures, by_class, codes, counts, influence, beyond, truth, weights, rows)

    def beats(self, other: Figures, errors: float, margins: FloatArray) -> bool:
        """Whether coverage, accuracy or cost is better by more than noise.

        That is so many standard errors of the difference, and also more than `margins`, which has a
        number for each of the three.
        """
        ahead = (self.figures - other.figures) * _BETTER
        is_more = ahead > margins
        # An error of a difference is at most the sum of both.
        if not is_more.any() or (is_more & (ahead > errors * (self._errors + other._errors))).any():
            return bool(is_more.any())
        apart = np.sqrt(self._squares(other).sum(axis=0)[:3])
        return bool((is_more & (ahead > errors * apart)).any())

    def minus(self, other: Figures) -> Comparison:
        """Compare with other decisions about the same rows."""
        squares = self._squares(other)

        def paired(values: FloatArray, squares: FloatArray) -> tuple[Difference, ...]:
            return tuple(map(Difference, values.tolist(), np.sqrt(squares).tolist()))

        single = paired(self.figures - other.figures, squares.sum(axis=0)[:3])
        # A row influences only the shares of its own class.
        recall, missed = map(paired, self.by_class - other.by_class, squares.T[3:])
        return Comparison(single[0], single[1], single[2], recall, missed)

    @cached_property
    def _decided_once(self) -> bool:
        """Whether each row is decided once."""
        return int(self.rows.max(initial=-1)) + 1 == len(self.rows)

    @cached_property
    def _errors(self) -> FloatArray:
        """At least the standard errors of coverage, accuracy and cost, without a pass over rows.

        They are the errors themselves if each row is decided once and all weigh and pay alike.
        """
        heaviest = np.bincount(self.rows, self.weights).max()
        squares = np.einsum("ij,ijk->k", self.counts, self.influence[:, :, :3] ** 2)
        errors: FloatArray = np.sqrt(heaviest * squares)
        errors[2] += np.linalg.norm(self.by_price)
        return errors

    def _squares(self, other: Figures) -> FloatArray:
        """Sums of squared differences of influences over the rows of each class, (n_classes, 5)."""
        by_price = self.by_price - other.by_price
        is_plain = self._decided_once and not by_price.any()
        apart = np.zeros((0 if is_plain else len(self.rows), 5))
        apart[:, 2] = by_price[: len(apart)]
        squares = np.zeros(self.influence.shape[1:])
        ways = self.codes, other.codes, self.influence, other.influence
        add_squares(*ways, self.truth, self.weights, self.rows, apart, squares)
        return squares
