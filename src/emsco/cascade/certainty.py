"""How certain an evaluation is: the rows behind each figure, and its 95 % interval.

`SeenOutcomes` says what became of each row. `EffectiveRows` counts the rows behind each figure,
fewer if rows have weights or belong to groups, and `Intervals` follow from these numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Self

import numpy as np

from emsco._base.documents import Fields
from emsco._base.objectives import LEVEL, Interval
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco.cascade.decisions import Decisions
from emsco.data.labels import positions_of
from emsco.stats.intervals import effective_rows

_SINGLE = ("coverage", "accuracy", "cost")
_MANY = ("exits", "recall", "precision")
KINDS = ("exact", "weights", "groups")


@dataclass(frozen=True, slots=True, eq=False)
class SeenOutcomes:
    """What became of each new row, as numbers; `emsco.scoring.Outcomes` is of scored ones.

    Attributes
    ----------
    exit : ndarray of shape (n_rows,)
        Position of the stage where the row left; the number of stages for rejected rows.
    true, given : ndarray of shape (n_rows,)
        Positions of the true class and of the label; the number of classes for rejected rows.
    n_stages, n_classes : int
    """

    exit: IntArray
    true: IntArray
    given: IntArray
    n_stages: int
    n_classes: int

    @classmethod
    def from_decisions(
        cls, decisions: Decisions, truth: AnyArray, classes: AnyArray, n_stages: int
    ) -> Self:
        """Compare decisions with the true labels."""
        return cls(
            exit=np.where(decisions.accepted, decisions.stage - 1, n_stages),
            true=positions_of(truth, classes),
            given=decisions.given(classes),
            n_stages=n_stages,
            n_classes=len(classes),
        )

    @property
    def accepted(self) -> BoolArray:
        """Whether rows got a label."""
        return np.less(self.exit, self.n_stages)

    @property
    def correct(self) -> BoolArray:
        """Whether rows got the correct label."""
        return np.equal(self.given, self.true)


@dataclass(frozen=True, slots=True)
class EffectiveRows:
    """Numbers of independent rows of equal weight that would be as certain about each figure.

    Attributes
    ----------
    kind : {"exact", "weights", "groups"}
        Why the numbers are what they are: rows are counted, have weights, or belong to groups.
    coverage, accuracy, cost : float
    exits : tuple of float
        For the accuracy of each stage.
    recall, precision : tuple of float
        For each class.
    n_groups : int or None
        Number of groups, if rows belong to groups.
    """

    kind: str
    coverage: float
    accuracy: float
    cost: float
    exits: tuple[float, ...]
    recall: tuple[float, ...]
    precision: tuple[float, ...]
    n_groups: int | None = None

    @classmethod
    def from_weights(cls, outcomes: SeenOutcomes, weights: FloatArray) -> Self:
        """Apply Kish's formula to the rows behind each figure."""
        squares = weights**2

        def kish(where: IntArray, n: int) -> tuple[float, ...]:
            # One bin more than asked for holds the rows that count nowhere, such as rejected ones.
            sums = np.bincount(where, weights, n + 1)[:n]
            return tuple(_ratio(sums**2, np.bincount(where, squares, n + 1)[:n]).tolist())

        (every,) = kish(np.zeros(len(weights), dtype=np.int64), 1)
        # Bin 0 has the accepted rows.
        (accepted,) = kish(1 - outcomes.accepted.astype(np.int64), 1)
        n = outcomes.n_classes
        return cls(
            kind="weights",
            coverage=every,
            accuracy=accepted,
            cost=every,
            exits=kish(outcomes.exit, outcomes.n_stages),
            recall=kish(outcomes.true, n),
            precision=kish(outcomes.given, n),
        )

    @classmethod
    def joined(cls, parts: Sequence[Self], totals: Sequence[Self]) -> Self:
        """Add up parts of rows with weights; `totals` has the weight behind each figure.

        Sums of squared weights add up, and each follows from a total and an effective number.
        """
        joined: dict[str, Any] = {}
        for name in (*_SINGLE, *_MANY):
            sizes = np.array([getattr(part, name) for part in parts])
            sums = np.array([getattr(total, name) for total in totals])
            # Kish's n is (Σw)² / Σw², so the sum of squares of a part is (Σw)² / n.
            squares = _ratio(sums**2, sizes).sum(axis=0)
            size = _ratio(sums.sum(axis=0) ** 2, squares)
            joined[name] = tuple(size.tolist()) if name in _MANY else float(size)
        return cls(kind="weights", **joined)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            name: list(value) if name in _MANY else value for name, value in asdict(self).items()
        }

    @classmethod
    def from_dict(cls, fields: Fields, n_stages: int, n_classes: int) -> Self:
        """Read the values that `to_dict` gave from a file and check them."""
        kind = fields.text("kind")
        if kind not in KINDS[1:]:
            fields.refuse("kind", f"one of {', '.join(KINDS[1:])}", kind)
        sizes: dict[str, Any] = {name: fields.number(name, 0) for name in _SINGLE}
        for name, n in zip(_MANY, (n_stages, n_classes, n_classes), strict=True):
            sizes[name] = tuple(fields.numbers(name, n, 0, np.inf).tolist())
        n_groups = None if fields.get("n_groups") is None else fields.whole("n_groups", 1)
        return cls(kind, **sizes, n_groups=n_groups)


@dataclass(frozen=True, slots=True, eq=False)
class GroupCells:
    """Weight of the rows of each group with the same outcome; the parts of a file can be joined.

    Attributes
    ----------
    group : ndarray of int, shape (n_cells,)
    outcomes : SeenOutcomes
        One entry per cell.
    weight : ndarray of shape (n_cells,)
    """

    group: IntArray
    outcomes: SeenOutcomes
    weight: FloatArray

    @classmethod
    def from_rows(cls, group: IntArray, outcomes: SeenOutcomes, weights: FloatArray | None) -> Self:
        """Add up the rows of each group with the same outcome."""
        n = outcomes.n_classes + 1
        # One number for each combination of exit, true class and label, rejection included.
        cell = (outcomes.exit * n + outcomes.true) * n + outcomes.given
        several = int(cell.max(initial=0)) + 1
        # Then one for each group and combination, in a range of its own.
        _, first, which = np.unique(group * several + cell, return_index=True, return_inverse=True)
        of_cells = replace(
            outcomes,
            exit=outcomes.exit[first],
            true=outcomes.true[first],
            given=outcomes.given[first],
        )
        return cls(group[first], of_cells, np.bincount(which, weights).astype(np.float64))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Add up the cells of several parts."""
        if len(parts) == 1:
            return parts[0]
        outcomes = replace(
            parts[0].outcomes,
            exit=np.concatenate([part.outcomes.exit for part in parts]),
            true=np.concatenate([part.outcomes.true for part in parts]),
            given=np.concatenate([part.outcomes.given for part in parts]),
        )
        return cls.from_rows(
            np.concatenate([part.group for part in parts]),
            outcomes,
            np.concatenate([part.weight for part in parts]),
        )

    def effective(self, independent: EffectiveRows, costs: FloatArray) -> EffectiveRows:
        """Return the effective numbers of rows.

        `independent` has those of rows without groups, and `costs` the cost of a row at each exit.
        """
        out, rows = self.outcomes, np.ones(len(self.weight), dtype=np.bool_)

        def shares(where: IntArray, n_rows: tuple[float, ...]) -> tuple[float, ...]:
            return tuple(self._share(out.correct, where == i, n) for i, n in enumerate(n_rows))

        return EffectiveRows(
            kind="groups",
            coverage=self._share(out.accepted, rows, independent.coverage),
            accuracy=self._share(out.correct, out.accepted, independent.accuracy),
            cost=self._mean(costs, independent.cost),
            exits=shares(out.exit, independent.exits),
            recall=shares(out.true, independent.recall),
            precision=shares(out.given, independent.precision),
            n_groups=len(np.unique(self.group)),
        )

    def _share(self, marked: BoolArray, among: BoolArray, n_rows: float) -> float:
        """Effective number of rows behind the share of `marked` among some cells."""
        part, whole = self._sums(marked[among], among), self._sums(1.0, among)
        ratio = float(_ratio(part.sum(), whole.sum()))
        # The fewer groups have the rarer outcome, the less is known of how far groups differ.
        # Either may be the rarer: that a group has rows with the outcome, or rows without it.
        varied = min(int((part > 0).sum()), int((part < whole).sum()))
        return effective_rows(part, whole, ratio * (1 - ratio), varied, n_rows)

    def _mean(self, costs: FloatArray, n_rows: float) -> float:
        """Effective number of rows behind the mean cost."""
        rows, paid = np.ones(len(self.weight), dtype=np.bool_), costs[self.outcomes.exit]
        whole, part = self._sums(1.0, rows), self._sums(paid, rows)
        mean = _ratio(part.sum(), whole.sum())
        variance = float(_ratio(self.weight @ (paid - mean) ** 2, whole.sum()))
        # Here the rarer outcome is any cost but the commonest.
        distinct, which = np.unique(paid, return_inverse=True)
        # The commonest cost by weight, which stands for "nothing special".
        common = np.bincount(which, self.weight).argmax() if len(distinct) else 0
        varied = int((self._sums(which != common, rows) > 0).sum())
        return effective_rows(part, whole, variance, varied, n_rows)

    def _sums(self, values: FloatArray | BoolArray | float, among: BoolArray) -> FloatArray:
        """Sums of weighted values over the cells of each group."""
        sums = np.bincount(self.group[among], self.weight[among] * values)
        return sums.astype(np.float64)


def _ratio(part: Any, whole: Any) -> Any:
    """Return a ratio, 0 where the lower part is 0."""
    # Dividing by infinity gives 0 without a warning.
    return part / np.where(np.asarray(whole) > 0, whole, np.inf)


@dataclass(frozen=True, slots=True)
class Intervals:
    """95 % intervals of the figures of an evaluation.

    Shares have Clopper and Pearson's intervals, which are exact. The mean cost has the interval of
    Learned-Miller and Thomas (2019), which is the same if a row can have two costs. Sample weights
    and groups make both approximate. They are then computed for an *effective* number of rows: with
    weights by Kish's formula, with groups from how far groups differ (Korn and Graubard, 1998).
    If the cost of a row is not fixed by its stage, as with some rivals, Student's interval is used.

    Attributes
    ----------
    kind : {"exact", "weights", "groups"}
    coverage, accuracy, cost : Interval
    exits : tuple of Interval
        Accuracy of each stage.
    recall, precision : tuple of Interval
        For each class: the share of its rows with the correct label, and the share of its labels
        that are correct.
    """

    kind: str
    coverage: Interval
    accuracy: Interval
    cost: Interval
    exits: tuple[Interval, ...]
    recall: tuple[Interval, ...]
    precision: tuple[Interval, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        single = {name: list(getattr(self, name)) for name in _SINGLE}
        many = {name: [list(one) for one in getattr(self, name)] for name in _MANY}
        return {"level": LEVEL, "kind": self.kind, **single, **many}
