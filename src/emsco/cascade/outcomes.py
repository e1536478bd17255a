"""Effective numbers of rows behind each figure of an evaluation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Self

import numpy as np

from emsco._base.documents import Fields
from emsco._base.objectives import LEVEL, Interval, Objectives
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco.cascade.decisions import Decisions
from emsco.data.labels import positions_of
from emsco.stats.by_class import ByClass
from emsco.stats.intervals import cost_interval, effective_rows, normal_interval, share_intervals

_SINGLE = ("coverage", "accuracy", "cost")
_MANY = ("exits", "recall", "precision")
KINDS = ("exact", "weights", "groups")


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """What became of each row, as numbers.

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

    @property
    def accepted(self) -> BoolArray:
        """Whether rows got a label."""
        found: BoolArray = self.exit < self.n_stages
        return found

    @property
    def correct(self) -> BoolArray:
        """Whether rows got the correct label."""
        found: BoolArray = self.given == self.true
        return found

    def at(self, which: IntArray) -> Outcomes:
        """Return the outcomes of some rows."""
        parts = (self.exit[which], self.true[which], self.given[which])
        return Outcomes(*parts, self.n_stages, self.n_classes)


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
    def from_weights(cls, outcomes: Outcomes, weights: FloatArray) -> Self:
        """Apply Kish's formula to the rows behind each figure."""
        squares = weights**2

        def kish(where: IntArray, n: int) -> tuple[float, ...]:
            sums = np.bincount(where, weights, n + 1)[:n]
            return tuple(_ratio(sums**2, np.bincount(where, squares, n + 1)[:n]).tolist())

        (every,) = kish(np.zeros(len(weights), dtype=np.int64), 1)
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
    def unknown(cls, n_stages: int, n_classes: int) -> Self:
        """Return zeros, for weights that a file does not have: all is possible."""
        none = (0.0,) * n_classes
        return cls("weights", 0.0, 0.0, 0.0, (0.0,) * n_stages, none, none)

    @classmethod
    def joined(cls, parts: Sequence[Self], totals: Sequence[Self]) -> Self:
        """Add up parts of rows with weights; `totals` has the weight behind each figure.

        Sums of squared weights add up, and each follows from a total and an effective number.
        """
        found: dict[str, Any] = {}
        for name in (*_SINGLE, *_MANY):
            sizes, sums = (np.array([getattr(one, name) for one in of]) for of in (parts, totals))
            squares = _ratio(sums**2, sizes).sum(axis=0)
            size = _ratio(sums.sum(axis=0) ** 2, squares)
            found[name] = tuple(size.tolist()) if name in _MANY else float(size)
        return cls(kind="weights", **found)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {name: list(v) if name in _MANY else v for name, v in asdict(self).items()}

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
    outcomes : Outcomes
        One entry per cell.
    weight : ndarray of shape (n_cells,)
    """

    group: IntArray
    outcomes: Outcomes
    weight: FloatArray

    @classmethod
    def from_rows(cls, group: IntArray, outcomes: Outcomes, weights: FloatArray | None) -> Self:
        """Add up the rows of each group with the same outcome."""
        n = outcomes.n_classes + 1
        cell = (outcomes.exit * n + outcomes.true) * n + outcomes.given
        several = int(cell.max(initial=0)) + 1
        _, first, which = np.unique(group * several + cell, return_index=True, return_inverse=True)
        return cls(group[first], outcomes.at(first), np.bincount(which, weights).astype(np.float64))

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Add up the cells of several parts."""
        if len(parts) == 1:
            return parts[0]
        every = [part.outcomes for part in parts]
        exits, true, given = (
            np.concatenate([getattr(one, name) for one in every])
            for name in ("exit", "true", "given")
        )
        return cls.from_rows(
            np.concatenate([part.group for part in parts]),
            Outcomes(exits, true, given, every[0].n_stages, every[0].n_classes),
            np.concatenate([part.weight for part in parts]),
        )

    def effective(self, independent: EffectiveRows, costs: FloatArray) -> EffectiveRows:
        """Return the effective numbers of rows.

        `independent` has those of rows without groups, and `costs` the cost of a row at each exit.
        """
        out, rows = self.outcomes, np.ones(len(self.weight), dtype=np.bool_)

        def shares(hits: BoolArray, where: IntArray, most: tuple[float, ...]) -> tuple[float, ...]:
            return tuple(self._share(hits, where == i, n) for i, n in enumerate(most))

        return EffectiveRows(
            kind="groups",
            coverage=self._share(out.accepted, rows, independent.coverage),
            accuracy=self._share(out.correct, out.accepted, independent.accuracy),
            cost=self._mean(costs, independent.cost),
            exits=shares(out.correct, out.exit, independent.exits),
            recall=shares(out.correct, out.true, independent.recall),
            precision=shares(out.correct, out.given, independent.precision),
            n_groups=len(np.unique(self.group)),
        )

    def _share(self, hits: BoolArray, among: BoolArray, n_rows: float) -> float:
        """Effective number of rows behind the share of `hits` among some cells."""
        part, whole = self._sums(hits[among], among), self._sums(1.0, among)
        ratio = float(_ratio(part.sum(), whole.sum()))
        varied = min(int((part > 0).sum()), int((part < whole).sum()))
        return effective_rows(part, whole, ratio * (1 - ratio), varied, n_rows)

    def _mean(self, costs: FloatArray, n_rows: float) -> float:
        """Effective number of rows behind the mean cost."""
        rows, paid = np.ones(len(self.weight), dtype=np.bool_), costs[self.outcomes.exit]
        whole, part = self._sums(1.0, rows), self._sums(paid, rows)
        mean = _ratio(part.sum(), whole.sum())
        variance = float(_ratio(self.weight @ (paid - mean) ** 2, whole.sum()))
        distinct, which = np.unique(paid, return_inverse=True)
        common = np.bincount(which, self.weight).argmax() if len(distinct) else 0
        varied = int((self._sums(which != common, rows) > 0).sum())
        return effective_rows(part, whole, variance, varied, n_rows)

    def _sums(self, values: FloatArray | BoolArray | float, among: BoolArray) -> FloatArray:
        """Sums of weighted values over the cells of each group."""
        found = np.bincount(self.group[among], self.weight[among] * values)
        return found.astype(np.float64)


def _ratio(part: Any, whole: Any) -> Any:
    """Return a ratio, 0 where the lower part is 0."""
    return part / np.where(np.asarray(whole) > 0, whole, np.inf)


@dataclass(frozen=True, slots=True)
class ExitReport:
    """Rows that left a cascade at one stage, or that it rejected.

    If `confidence` is well above `accuracy`, the stage is overconfident about these rows.

    Attributes
    ----------
    stage : int or None
        Number of the stage, from 1; None for the rejected rows.
    features : tuple of str
        Features that the stage buys.
    cost : float
        Cost of a row that leaves here.
    n_rows : int or float
        Rows that leave here; with sample weights, their total weight.
    n_correct : int or float
        Rows that leave here with the correct label, counted in the same way.
    confidence : float
        Mean confidence of the rows that leave here.
    delay : float
        Time that a row has waited when it leaves here.
    """

    stage: int | None
    features: tuple[str, ...]
    cost: float
    n_rows: float
    n_correct: float
    confidence: float = math.nan
    delay: float = field(default=0.0, repr=False)

    @classmethod
    def from_dict(cls, fields: Fields, stage: int | None, features: tuple[str, ...]) -> Self:
        """Read an exit from a file and check that its stage buys these features."""
        for name, value in (("stage", stage), ("features", list(features))):
            if fields.get(name) != value:
                fields.refuse(name, f"{value}, as in the design", fields.get(name))
        n_rows = amount(fields, "n_rows")
        n_correct = amount(fields, "n_correct", n_rows)
        delay = fields.number("delay", 0) if "delay" in fields.values else 0.0
        own = n_rows, n_correct, fields.number("confidence", 0, 1), delay
        return cls(stage, features, fields.number("cost", 0), *own)

    @classmethod
    def joined(cls, parts: Sequence[ExitReport]) -> Self:
        """Add up reports of the same exit, such as those of several chunks of a file."""
        first, n_rows = parts[0], sum(part.n_rows for part in parts)
        confidence = sum(part.confidence * part.n_rows for part in parts) / (n_rows or 1)
        n_correct = min(n_rows, sum(part.n_correct for part in parts))
        own = n_rows, n_correct, min(1.0, confidence), first.delay
        costs = {part.cost for part in parts}  # more than one if rows have prices of their own
        mean = sum(part.cost * part.n_rows for part in parts) / (n_rows or 1)
        return cls(first.stage, first.features, first.cost if len(costs) == 1 else mean, *own)

    @property
    def accuracy(self) -> float:
        """Share of labels given here that are correct; 0 if there are none."""
        return self.n_correct / (self.n_rows or 1)

    @property
    def gives_labels(self) -> bool:
        """Whether rows leave here with a label."""
        return self.stage is not None and self.n_rows > 0

    @property
    def place(self) -> str:
        """The stage in words."""
        return "rejected" if self.stage is None else f"stage {self.stage}"

    def to_dict(self, *, with_delay: bool) -> dict[str, Any]:
        """Return plain values, with the delay or without it."""
        found = asdict(self)
        return found if with_delay else {name: found[name] for name in found if name != "delay"}


def outcomes_of(
    decisions: Decisions, truth: AnyArray, classes: AnyArray, n_stages: int
) -> Outcomes:
    """Return the exit, the true class and the label of each row as numbers."""
    left: IntArray = np.where(decisions.accepted, decisions.stage - 1, n_stages)
    return Outcomes(
        left, positions_of(truth, classes), decisions.given(classes), n_stages, len(classes)
    )


def exits_of(
    decisions: Decisions,
    outcomes: Outcomes,
    weights: FloatArray | IntArray,
    buys: Sequence[tuple[str, ...]],
    costs: Sequence[float] | None,
    delays: Sequence[float],
) -> tuple[ExitReport, ...]:
    """Report the rows that leave at each stage, then the rejected rows."""
    places = [*enumerate(buys, start=1), (None, ())]
    fixed = [None] * len(places) if costs is None else [*costs, costs[-1]]
    waits = [*delays, delays[-1]] if delays else [0.0] * len(places)
    reports = []
    for i, ((stage, bought), fixed_cost) in enumerate(zip(places, fixed, strict=True)):
        here = outcomes.exit == i
        n_rows = weights[here].sum().item()
        n_correct = min(n_rows, weights[here & outcomes.correct].sum().item())
        confidence = (decisions.confidence[here] @ weights[here]).item() / (n_rows or 1)
        mean_cost = (decisions.cost[here] @ weights[here]).item() / (n_rows or 1)
        cost = mean_cost if fixed_cost is None else fixed_cost
        own = n_rows, n_correct, min(1.0, confidence), waits[i]
        reports.append(ExitReport(stage, bought, cost, *own))
    return tuple(reports)


def amount(fields: Fields, name: str, most: float = math.inf) -> float:
    """Read a number of rows, or the weight of rows, which need not be whole."""
    found = fields.number(name, 0, most)
    return int(found) if type(fields.get(name)) is int else found


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

    @classmethod
    def from_counts(
        cls,
        found: Objectives,
        rows: EffectiveRows,
        exit_accuracy: Sequence[float],
        by_class: ByClass,
        costs: Sequence[tuple[float, float]],
        cost_deviation: float | None,
    ) -> Self:
        """Compute the intervals of figures, given the effective number of rows behind each.

        `costs` has the cost and the share of the rows of each exit. If rows of one exit differ in
        cost, `cost_deviation` is the standard deviation over all rows.
        """
        coverage, accuracy = share_intervals(
            np.array([found.coverage, found.accuracy]) * [rows.coverage, rows.accuracy],
            [rows.coverage, rows.accuracy],
        )
        if cost_deviation is None:
            paid, shares = np.array(costs).T
            cost = cost_interval(paid, shares * rows.cost)
        else:
            cost = normal_interval(found.cost, cost_deviation, rows.cost)
        return cls(
            rows.kind,
            coverage,
            accuracy,
            cost,
            exits=_shares(exit_accuracy, rows.exits),
            recall=_shares(by_class.recall, rows.recall),
            precision=_shares(by_class.precision, rows.precision),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        single = {name: list(getattr(self, name)) for name in ("coverage", "accuracy", "cost")}
        many = {
            name: [list(one) for one in getattr(self, name)]
            for name in ("exits", "recall", "precision")
        }
        return {"level": LEVEL, "kind": self.kind, **single, **many}


def _shares(shares: Any, rows: Sequence[float]) -> tuple[Interval, ...]:
    return share_intervals(np.asarray(shares) * np.asarray(rows), rows) if len(rows) else ()
