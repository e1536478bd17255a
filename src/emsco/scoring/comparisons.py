"""Compare two ways to decide the same rows: differences and their standard errors.

Every figure is a ratio of two sums over rows: accuracy is correct rows over answered rows. To first
order it changes by the *influence* of a row when that row counts a little more. The standard error
of a ratio, or of the difference of two, is the root of the sum of squared influences. Decisions
about the same rows are compared row by row, so what both get right or wrong cancels out.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

import numpy as np

from emsco._base.documents import Fields
from emsco._base.typing import AnyArray, FloatArray, SmallIntArray
from emsco._kernels.comparisons import add_squares
from emsco.scoring.outcomes import Outcomes
from emsco.scoring.rows import ScoredRows

_BETTER = np.array([1.0, 1.0, -1.0])  # more coverage and accuracy, less cost
_ROUNDING = 1e-12  # a difference below is none


@dataclass(frozen=True, slots=True)
class Comparison:
    """How far decisions about some rows differ from others about the same rows.

    The figures are coverage, accuracy and cost, then the share of each class that gets the correct
    label, then the share of each class that gets a wrong one.

    Attributes
    ----------
    values : tuple of float
        Each figure of the first decisions minus that of the second.
    errors : tuple of float
        Standard error of each difference.
    """

    values: tuple[float, ...]
    errors: tuple[float, ...]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return (len(self.values) - 3) // 2

    @property
    def _gains(self) -> tuple[FloatArray, FloatArray]:
        """Differences of which more is better, and their errors: of wrong labels, fewer are."""
        kept = np.arange(len(self.values)) != 2  # cost is no gain
        signs = np.where(np.arange(len(self.values)) < 3 + self.n_classes, 1.0, -1.0)
        return (signs * self.values)[kept], np.array(self.errors)[kept]

    @property
    def behind(self) -> float:
        """Most standard errors by which the first decisions are worse in anything but cost.

        Coverage, accuracy and the recall of every class count, and so does the share of every
        class that gets a wrong label; figures that are the same row by row do not. Below 0, the
        first decisions are ahead in all. Infinite where they are behind, or not, for sure.
        """
        gains, errors = self._gains
        gains = np.where(abs(gains) <= _ROUNDING, 0.0, gains)
        for_sure = np.where(gains < 0, np.inf, -np.inf)
        return float(np.divide(-gains, errors, out=for_sure, where=errors > 0).max())

    @property
    def shortfall(self) -> float:
        """The same; 0 if nothing is behind."""
        return max(0.0, self.behind)

    @property
    def loss(self) -> float:
        """Largest amount by which the first decisions are worse in anything but cost."""
        return max(0.0, float(-self._gains[0].min()))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {name: list(figures) for name, figures in asdict(self).items()}

    @classmethod
    def from_dict(cls, fields: Fields, n_classes: int) -> Comparison:
        """Read the values that `to_dict` gave from a file and check them."""
        values, errors = (
            fields.numbers(name, 3 + 2 * n_classes, low).tolist()
            for name, low in (("values", -np.inf), ("errors", 0))
        )
        return cls(tuple(values), tuple(errors))


@dataclass(frozen=True, eq=False)
class Figures:
    """Figures of what a design does with rows, and the influence of each row on them.

    Attributes
    ----------
    values : ndarray of shape (3 + 2 * n_classes,)
        The figures, in the order of `Comparison`.
    confusion : ndarray of shape (n_classes, n_classes + 1)
        Weight of the decisions by class and outcome, as in `ByClass`.
    counts : ndarray of shape (n_classes, n_stages, 3)
        The same by class and stage, and whether rejected, correct or wrong.
    cells : ndarray of shape (n_decisions,)
        Place of each decision in `counts`.
    influence : ndarray of shape (n_cells, 5)
        Influence of a decision on coverage, accuracy, cost, and the two shares of its own class.
        It is to be multiplied by the decision's weight.
    by_price : ndarray of shape (n_decisions,) or (1,)
        What each row's influence on the cost has beyond, because of prices of its own.
    scored : ScoredRows
        All decisions about a row together count once.
    """

    values: FloatArray
    confusion: AnyArray
    counts: AnyArray
    cells: SmallIntArray
    influence: FloatArray
    by_price: FloatArray
    scored: ScoredRows

    @classmethod
    def of(cls, outcomes: Outcomes, scored: ScoredRows) -> Figures:
        """Measure what a design does with the scored rows."""
        n_classes, table = scored.n_classes, outcomes.counts(scored, scored.own_weights)
        is_right = np.eye(n_classes, dtype=np.bool_)[:, None]
        said = table[:, :, :-1]
        of_kinds = table[:, :, -1], (said * is_right).sum(axis=2), (said * ~is_right).sum(axis=2)
        counts = np.stack(of_kinds, axis=2)
        every, (answered, right) = np.ones(counts.shape), np.zeros((2, *counts.shape))
        answered[:, :, 1:], right[:, :, 1], paid = 1, 1, every * outcomes.after[:, None]
        # The three figures, then the two of each class: ratios of sums over parts and wholes.
        parts = np.stack([answered, right, paid, right, answered - right])
        wholes = np.stack([every, answered, every, every, every])

        def sums(figures: FloatArray) -> FloatArray:
            by_class: FloatArray = (counts * figures).sum(axis=(2, 3))
            by_class[:3] = by_class[:3].sum(axis=1, keepdims=True)
            return by_class[:, :, None, None]

        total = sums(wholes)
        total[total <= 0] = 1.0  # a share of nothing is 0
        values = sums(parts) / total
        # The delta method: how much each row moves the ratio.
        moved = (parts - values * wholes) / total
        influence = np.ascontiguousarray(moved.reshape(5, -1).T)
        figures = np.concatenate([values[:3, 0].reshape(-1), values[3:].reshape(-1)])
        beyond = np.zeros(1)
        if outcomes.by_price is not None:
            weight, rows = counts.sum(), scored.rows
            beyond = np.bincount(rows, scored.weights * outcomes.by_price, len(rows)) / weight
            figures[2] += beyond.sum()
            influence[:, 2] -= beyond.sum() / weight
        kinds = (outcomes.given < n_classes) * (2 - (outcomes.given == scored.labels))
        cells = (scored.truth * counts.shape[1] + outcomes.stage) * 3 + kinds
        confusion, cells = table.sum(axis=1), cells.astype(np.int32)
        return cls(figures, confusion, counts, cells, influence, beyond, scored)

    def beats(self, other: Figures, errors: float, margins: FloatArray) -> bool:
        """Whether coverage, accuracy or cost is better by more than noise.

        That is so many standard errors of the difference, and also more than `margins`, which has a
        number for each of the three.
        """
        ahead = (self.values - other.values)[:3] * _BETTER
        is_more = ahead > margins
        # An error of a difference is at most the sum of both.
        if not is_more.any() or (is_more & (ahead > errors * (self._errors + other._errors))).any():
            return bool(is_more.any())
        apart = np.sqrt(self._squares(other).sum(axis=0)[:3])
        return bool((is_more & (ahead > errors * apart)).any())

    def minus(self, other: Figures) -> Comparison:
        """Compare with other decisions about the same rows."""
        squares = self._squares(other)
        # A row influences only the shares of its own class.
        errors = np.sqrt(np.concatenate([squares.sum(axis=0)[:3], squares.T[3:].reshape(-1)]))
        return Comparison(*(tuple(one.tolist()) for one in (self.values - other.values, errors)))

    @cached_property
    def _errors(self) -> FloatArray:
        """At least the standard errors of coverage, accuracy and cost, without a pass over rows.

        They are the errors themselves if each row is decided once and all weigh and pay alike.
        """
        heaviest = np.bincount(self.scored.rows, self.scored.weights).max()
        squares = self.counts.reshape(-1) @ self.influence[:, :3] ** 2
        errors: FloatArray = np.sqrt(heaviest * squares)
        errors[2] += np.linalg.norm(self.by_price)
        return errors

    def _squares(self, other: Figures) -> FloatArray:
        """Sums of squared differences of influences over the rows of each class, (n_classes, 5)."""
        scored, by_price = self.scored, self.by_price - other.by_price
        is_plain = scored.are_once and not by_price.any()
        apart = np.zeros((0 if is_plain else len(scored), 5))
        apart[:, 2] = by_price[: len(apart)]
        squares = np.zeros((scored.n_classes, 5))
        ways = self.cells, other.cells, self.influence, other.influence
        add_squares(*ways, scored.truth, scored.weights, scored.rows, apart, squares)
        return squares
