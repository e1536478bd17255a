"""Evaluate decisions: compare them with true labels, in total and at each exit."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from emsco._base.checks import refused
from emsco._base.documents import Fields
from emsco._base.objectives import Interval, Objectives
from emsco._base.text import (
    aligned,
    brief,
    counted,
    in_short,
    listed,
    percent_with,
    share_with,
    shorten,
    whole,
)
from emsco._base.typing import AnyArray, FloatArray, IntArray
from emsco.cascade.decisions import Decisions
from emsco.cascade.outcomes import (
    EffectiveRows,
    ExitReport,
    GroupCells,
    Intervals,
    amount,
    exits_of,
    outcomes_of,
)
from emsco.data.frames import Columns, Tabular
from emsco.data.keys import Keys, check_by, without_text
from emsco.errors import DataError
from emsco.plotting.classes import ClassTable, class_html, class_notes, class_text
from emsco.plotting.flow import Flow
from emsco.plotting.notebook import fragment, note, table
from emsco.stats.by_class import ByClass
from emsco.stats.error_costs import ErrorCosts, Total
from emsco.stats.promises import PromiseReport, SeenTotal
from emsco.stats.tests import CHANCE, p_values_below

MOST_LINES = 20
_LONGEST = 14
_FIGURES = ("coverage", "accuracy", "cost")


class _Evaluated(Protocol):
    """The part of `Evaluation` that subgroups need; `Evaluation` itself imports this module."""

    @property
    def n_rows(self) -> float: ...
    @property
    def coverage(self) -> float: ...
    @property
    def accuracy(self) -> float: ...
    @property
    def cost(self) -> float: ...
    @property
    def rows(self) -> EffectiveRows: ...
    @property
    def intervals(self) -> Intervals: ...
    def to_dict(self) -> dict[str, Any]: ...


E = TypeVar("E", bound=_Evaluated)


@dataclass(frozen=True, slots=True, repr=False)
class Subgroups(Tabular, Mapping[Any, E], Generic[E]):
    """Evaluation of each subgroup: a mapping from the values of a column to evaluations.

    The value None stands for rows without a value. Subgroups of a few rows have wide intervals.

    Attributes
    ----------
    column : str
        Name of the column, or "subgroup".
    subgroups : tuple
        The values, sorted; None comes last.
    evaluations : tuple of Evaluation
    """

    column: str
    subgroups: tuple[Any, ...]
    evaluations: tuple[E, ...]

    def __getitem__(self, group: Any) -> E:
        """Evaluation of the rows with a value."""
        if group not in self.subgroups:
            raise KeyError(group)
        return self.evaluations[self.subgroups.index(group)]

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the values."""
        return iter(self.subgroups)

    def __len__(self) -> int:
        """Number of subgroups."""
        return len(self.subgroups)

    @property
    def p_values(self) -> FloatArray:
        """P-values of the claims that a subgroup is as accurate as all others together.

        By Fisher's exact test, corrected for the number of subgroups by Holm's method. With
        weights or groups of rows, it is approximate.
        """
        rows = np.array([one.rows.accuracy for one in self.evaluations])
        return p_values_below(rows * [one.accuracy for one in self.evaluations], rows)

    @property
    def below(self) -> tuple[Any, ...]:
        """Values of the subgroups whose accuracy is below the others' beyond chance."""
        pairs = zip(self.subgroups, self.p_values.tolist(), strict=True)
        return tuple(group for group, p_value in pairs if p_value < CHANCE)

    @property
    def sentence(self) -> str:
        """Name the subgroups whose accuracy is below the others' beyond chance, or say: none."""
        if len(self) < 2:
            return f"All rows are of one subgroup by {self.column}."
        below = [_named(group) for group in self.below]
        if not below:
            return f"By {self.column}, no subgroup is less accurate than the others beyond chance."
        are = "are" if len(below) > 1 else "is"
        return (
            f"By {self.column}, {listed(below, MOST_LINES)} {are} less accurate than the others "
            "beyond chance."
        )

    def columns(self) -> Columns:
        """Return one line per subgroup: its rows, its figures and their intervals."""
        missing = np.array([group is None for group in self.subgroups])
        values: Any = list(self.subgroups)
        if missing.any():
            values = np.ma.MaskedArray(_filled(self.subgroups), mask=missing)
        found: dict[str, Any] = {self.column: values, "rows": self._all("n_rows")}
        ends = [one.intervals for one in self.evaluations]
        for name in _FIGURES:
            found[name] = self._all(name)
            for end in ("low", "high"):
                found[f"{name}_{end}"] = [getattr(getattr(one, name), end) for one in ends]
        return {**found, "p_value": self.p_values}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: an evaluation for each value."""
        found = zip(self.subgroups, self.p_values.tolist(), self.evaluations, strict=True)
        return {
            "column": self.column,
            "below": [_plain(group) for group in self.below],
            "sentence": self.sentence,
            "subgroups": [
                {"value": _plain(group), "p_value": p_value, **one.to_dict()}
                for group, p_value, one in found
            ],
        }

    def table(self, width: int) -> ClassTable:
        """Return a table that fits `width` characters, if need be with fewer intervals."""
        for shown in (_FIGURES, _FIGURES[:2], _FIGURES[1:2], ()):
            found = self._table(shown)
            if found.width <= width:
                break
        return found

    def _table(self, with_intervals: Sequence[str]) -> ClassTable:
        some = self.evaluations[:MOST_LINES]
        ends = [one.intervals for one in some]
        costs = aligned([one.cost for one in some])
        lines = []
        for group, one, at, cost in zip(self.subgroups, some, ends, costs, strict=False):
            shares = (
                percent_with(getattr(one, name), *getattr(at, name))
                if name in with_intervals
                else f"{getattr(one, name):.1%}"
                for name in _FIGURES[:2]
            )
            if "cost" in with_intervals:
                decimals = len(cost.partition(".")[2])
                cost = f"{cost} ({at.cost.low:.{decimals}f} to {at.cost.high:.{decimals}f})"
            lines.append((_cell(group), f"{one.n_rows:,.6g}", *shares, cost))
        return ClassTable((shorten(self.column, _LONGEST), "rows", *_FIGURES), tuple(lines))

    def notes(self, all_in: str = "by.to_pandas()") -> list[str]:
        """Say which subgroups are less accurate, and how many are left out of the table."""
        more = len(self) - MOST_LINES
        return [*([f"{more:,} more; {all_in} has all."] if more > 0 else []), self.sentence]

    def text(self, width: int = 78) -> list[str]:
        """Return the table and its notes as lines of text."""
        return [*(f"  {line}" for line in self.table(width).text()), *self.notes()]

    def html(self) -> str:
        """Make a table with its notes."""
        shown = self._table(_FIGURES)
        notes = "".join(map(note, self.notes()))
        return f"<div>{table(shown.headings, shown.lines, shown.headings[:1])}{notes}</div>"

    def __repr__(self) -> str:
        """Show a line per subgroup."""
        return "\n".join([self._title, *self.text()])

    def _repr_html_(self) -> str:
        """Show a line per subgroup, for notebooks."""
        return fragment(self._title, self.html())

    @property
    def _title(self) -> str:
        return f"{counted(len(self), 'subgroup')} by {self.column}, with 95 % intervals"

    def _all(self, name: str) -> list[Any]:
        return [getattr(one, name) for one in self.evaluations]


def _filled(groups: tuple[Any, ...]) -> Any:
    """Return values as an array; missing ones are replaced by another, for a mask to hide."""
    other = next((group for group in groups if group is not None), 0)
    return np.array([other if group is None else group for group in groups])


def _named(group: Any) -> str:
    return "missing" if group is None else brief(group, 30)


def _cell(group: Any) -> str:
    text = "missing" if group is None else str(group)
    return shorten(" ".join(text.split()), _LONGEST)


def _plain(group: Any) -> Any:
    """Return a value that JSON has; dates and such become text."""
    return group if group is None or isinstance(group, (bool, int, float, str)) else str(group)


_MOST_NAMES = 30  # of a stage, in a notebook
_TEXT_WIDTH = 78  # of a table, which is indented by 2


@dataclass(frozen=True, slots=True)
class Evaluation(Objectives):
    """Coverage, accuracy and cost of a cascade on labelled rows, in total and at each exit.

    Attributes
    ----------
    n_rows : int or float
        Number of rows; with sample weights, their total weight.
    coverage : float
        Share of rows that get a label.
    accuracy : float
        Share of labels that are correct.
    cost : float
        Mean cost of a row, rejected rows included.
    exits : tuple of ExitReport
        One report per stage, then one for the rejected rows; none of these counts as correct.
    by_class : ByClass
        Rows of each class by the label they got, and the accuracy of always answering with the
        commonest class.
    effective : EffectiveRows or None
        Effective number of rows behind each figure, if rows have weights or belong to groups.
    cost_deviation : float or None
        Standard deviation of the cost of a row, if the stage does not fix its cost.
    by : Subgroups or None
        Evaluation of each subgroup, if asked for.
    promise : PromiseReport or None
        The figures promised for the design, and whether they are kept; see `against`.
    total : SeenTotal or None
        What a row cost with its errors and rejections, if these have costs.

    Examples
    --------
    >>> exits = (ExitReport(1, ("age",), 2.0, 80, 76), ExitReport(None, (), 2.0, 20, 0))
    >>> by_class = ByClass(("ill", "well"), ((36, 2, 10), (2, 40, 10)))
    >>> found = Evaluation(0.8, 0.95, 2.0, 100, exits, by_class)
    >>> found.intervals.accuracy
    Interval(low=0.8769012636, high=0.986210606)
    >>> print(found.against(Objectives(0.8, 0.97, 2.0)).accuracy.verdict)
    too few rows
    """

    n_rows: float
    exits: tuple[ExitReport, ...]
    by_class: ByClass
    effective: EffectiveRows | None = None
    cost_deviation: float | None = None
    by: Subgroups[Evaluation] | None = None
    promise: PromiseReport | None = field(default=None, compare=False)
    total: SeenTotal | None = field(default=None, compare=False)

    @classmethod
    def from_decisions(
        cls,
        decisions: Decisions,
        truth: AnyArray,
        weights: FloatArray | None,
        classes: AnyArray,
        buys: Sequence[tuple[str, ...]],
        costs: Sequence[float] | None = None,
        delays: Sequence[float] = (),
    ) -> Self:
        """Compare decisions with the true labels.

        Parameters
        ----------
        decisions : Decisions
        truth : ndarray of shape (n_rows,)
        weights : ndarray of shape (n_rows,) or None
            Weight of each row; None gives every row weight 1.
        classes : ndarray of shape (n_classes,)
            Every label that `decisions` and `truth` may have.
        buys : sequence of tuple of str
            Features that each stage buys.
        costs : sequence of float, optional
            Cost of a row after each stage, if all rows pay the same. By default the cost of an
            exit is the mean over its rows.
        delays : sequence of float, optional
            Time that a row has waited after each stage; by default 0.
        """
        out = outcomes_of(decisions, truth, classes, len(buys))
        counts = np.ones(len(decisions), dtype=np.int64) if weights is None else weights
        total, accepted = counts.sum().item(), counts[out.accepted].sum().item()
        cost = (decisions.cost @ counts).item() / (total or 1)
        spread = ((decisions.cost - cost) ** 2 @ counts).item() / (total or 1)
        return cls(
            n_rows=total,
            coverage=min(1.0, accepted / (total or 1)),  # rounded sums of weights may exceed it
            accuracy=min(1.0, counts[out.correct].sum().item() / (accepted or 1)),
            cost=cost,
            exits=exits_of(decisions, out, counts, buys, costs, delays),
            by_class=ByClass.from_labels(classes.tolist(), out.true, out.given, weights),
            effective=None if weights is None else EffectiveRows.from_weights(out, weights),
            cost_deviation=math.sqrt(spread) if costs is None else None,
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Add up evaluations of the same cascade, such as those of several chunks of a file.

        Evaluations with groups or subgroups cannot be added up: evaluate all rows at once.
        """
        if len(parts) == 1:
            return parts[0]
        if any(part.rows.kind == "groups" or part.by is not None for part in parts):
            raise DataError("evaluations with groups or by must be of all rows, got parts of them.")
        exits = tuple(map(ExitReport.joined, zip(*(part.exits for part in parts), strict=True)))
        total = sum(part.n_rows for part in parts)
        accepted = sum(report.n_rows for report in exits if report.stage is not None)
        cost = sum(part.cost * part.n_rows for part in parts) / (total or 1)
        return cls(
            n_rows=total,
            coverage=min(1.0, accepted / (total or 1)),
            accuracy=min(1.0, sum(report.n_correct for report in exits) / (accepted or 1)),
            cost=cost,
            exits=exits,
            by_class=ByClass.joined([part.by_class for part in parts]),
            effective=_joined_rows(parts),
            cost_deviation=_joined_deviation(parts, cost),
        )

    @property
    def counted(self) -> EffectiveRows:
        """Rows behind each figure; with sample weights, their total weight."""
        stages = [report for report in self.exits if report.stage is not None]
        return EffectiveRows(
            kind="exact",
            coverage=self.n_rows,
            accuracy=sum(report.n_rows for report in stages),
            cost=self.n_rows,
            exits=tuple(report.n_rows for report in stages),
            recall=tuple(self.by_class.rows.tolist()),
            precision=tuple(self.by_class.given.tolist()),
        )

    @property
    def rows(self) -> EffectiveRows:
        """Effective rows behind each figure; without weights and groups, the rows themselves."""
        return self.counted if self.effective is None else self.effective

    @property
    def mean_delay(self) -> float:
        """Mean time that a row waits, rejected rows included."""
        return sum(one.delay * one.n_rows for one in self.exits) / (self.n_rows or 1)

    @property
    def worst_delay(self) -> float:
        """Longest time that a row can wait: a rejected row waits for all stages."""
        return self.exits[-1].delay

    @property
    def delays_in_words(self) -> str:
        """The time that rows wait on average and at worst."""
        return f"{self.mean_delay:.4g} on average, {self.worst_delay:g} at worst"

    @property
    def intervals(self) -> Intervals:
        """95 % intervals of all figures: exact, unless rows have weights or belong to groups."""
        stages = [report for report in self.exits if report.stage is not None]
        total = sum(report.n_rows for report in self.exits) or 1
        return Intervals.from_counts(
            self,
            self.rows,
            [report.accuracy for report in stages],
            self.by_class,
            [(report.cost, report.n_rows / total) for report in self.exits],
            self.cost_deviation,
        )

    def against(
        self,
        promised: Objectives,
        basis: str = "promised",
        ranges: Mapping[str, Interval] | None = None,
    ) -> PromiseReport:
        """Compare with promised figures, such as those of a point of a front.

        See `SeenPromise` for the verdict. `basis` says where the figures come from: "expected",
        "scored" or "promised"; `ranges` has their 95 % intervals by name, if they are estimates.
        """
        if getattr(promised, "metric", "accuracy") != "accuracy":
            rule = "have the share of labels that are correct as its accuracy"
            raise refused("promised", rule, promised, got="a point scored by balanced accuracy")
        at = self.intervals
        return PromiseReport.from_objectives(
            promised, self, at.coverage, at.accuracy, at.cost, basis, ranges
        )

    def with_total(self, costs: ErrorCosts | None, promised: Total | None = None) -> Self:
        """Return it with the total of a row, if there are costs of errors and rejections."""
        if costs is None:
            return self
        n_rows = max(1.0, min(self.rows.cost, self.rows.coverage))
        # The deviation of a sum is at most the sum of the deviations.
        spread = self._cost_spread + costs.deviation(self.by_class)
        error = spread / math.sqrt(n_rows)
        seen = costs.total(self, self.by_class, basis="seen", standard_error=error)
        return replace(self, total=SeenTotal(seen, costs, promised))

    @property
    def _cost_spread(self) -> float:
        """Standard deviation of the cost of a row."""
        if self.cost_deviation is not None:
            return self.cost_deviation
        squares = (report.n_rows * (report.cost - self.cost) ** 2 for report in self.exits)
        return math.sqrt(sum(squares) / (self.n_rows or 1))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, nested as the attributes are, with all intervals and verdicts."""
        delays = {"mean_delay": self.mean_delay, "worst_delay": self.worst_delay}
        return {
            **self.counts_to_dict(),
            **(delays if self.worst_delay else {}),
            "by_class": self.by_class.to_dict(),
            "intervals": self.intervals.to_dict(),
            "promise": self.promise and self.promise.to_dict(),
            **({} if self.total is None else {"total": self.total.to_dict()}),
            "by": None if self.by is None else self.by.to_dict(),
        }

    def counts_to_dict(self) -> dict[str, Any]:
        """Return the figures and the counts that intervals follow from, for a file."""
        more = {
            "effective": self.effective and self.effective.to_dict(),
            "cost_deviation": self.cost_deviation,
        }
        return {
            **asdict(self.objectives),
            "n_rows": self.n_rows,
            "exits": [report.to_dict(with_delay=self.worst_delay > 0) for report in self.exits],
            "by_class": {"counts": self.by_class.to_lists()},
            **{name: value for name, value in more.items() if value is not None},
        }

    @classmethod
    def from_dict(cls, fields: Fields, buys: Sequence[tuple[str, ...]], classes: AnyArray) -> Self:
        """Read an evaluation from a file and check that its stages buy these features.

        Shares by class and intervals are not read, but follow from the counts.
        """
        places = [*enumerate(buys, start=1), (None, ())]
        exits = fields.many_fields("exits")
        if len(exits) != len(places):
            fields.refuse("exits", f"{len(places)} exits", f"{len(exits):,}")
        varies = "cost_deviation" in fields.values
        return cls(
            n_rows=amount(fields, "n_rows"),
            **asdict(Objectives.from_dict(fields)),
            exits=tuple(
                ExitReport.from_dict(report, *place)
                for report, place in zip(exits, places, strict=True)
            ),
            by_class=ByClass.from_dict(fields.fields("by_class"), "counts", classes.tolist()),
            effective=_rows_from(fields, len(buys), len(classes)),
            cost_deviation=fields.number("cost_deviation", 0) if varies else None,
        )

    @property
    def title(self) -> str:
        """The rows, and what their intervals are."""
        return f"Evaluation on {counted(self.n_rows, 'row')}, with {self.kind_of_intervals}"

    @property
    def kind_of_intervals(self) -> str:
        """Say in words what the intervals are."""
        rows, approximate = self.rows, "approximate 95 % intervals"
        if rows.kind == "groups":
            return f"{approximate} (from {counted(rows.n_groups or 0, 'group')})"
        if rows.kind == "weights":
            return f"{approximate} (weights: as of {rows.coverage:,.0f} rows)"
        return "95 % intervals"

    def figure_lines(self, *, percent: bool = True) -> list[tuple[str, str, str, str]]:
        """Return name, value with interval, promised value and verdict of the three figures."""
        at, promises = self.intervals, self.promise.promises if self.promise else ()
        limits = [one.promise.limit for one in promises]
        cost, low, high, *told = aligned([self.cost, *at.cost, *limits[2:]])
        told = [*(f"{limit:{'.1%' if percent else '.3f'}}" for limit in limits[:2]), *told]
        share = partial(percent_with, digits=1) if percent else share_with
        verdicts = [str(one.verdict) for one in promises] or [""] * 3
        values = {
            "coverage": share(self.coverage, *at.coverage),
            "accuracy": share(self.accuracy, *at.accuracy),
            "cost": f"{cost} ({low} to {high})",
        }
        return list(zip(values, values.values(), told or [""] * 3, verdicts, strict=True))

    def _repr_html_(self) -> str:
        """Show the figures, a line per exit, per class and per subgroup, for notebooks."""
        flow, at = Flow.from_evaluation(self), self.intervals
        reached = [*(stage.reached for stage in flow.stages), flow.rejected]
        costs = aligned([report.cost for report in self.exits], digits=6)
        within = (*at.exits, Interval(0.0, 1.0))
        lines = [
            (
                report.place,
                listed(report.features, _MOST_NAMES),
                cost,
                whole(n_reached),
                whole(report.n_rows),
                f"{flow.share(report.n_rows):.1%}",
                percent_with(report.accuracy, *limits) if report.gives_labels else "",
                f"{report.confidence:.1%}" if report.gives_labels else "",
            )
            for report, n_reached, cost, limits in zip(
                self.exits, reached, costs, within, strict=False
            )
        ]
        headings = ("", "buys", "cost so far", "reached", "left", "share", "correct", "confidence")
        title = f"Evaluation on {counted(self.n_rows, 'row')}: {in_short(self)}"
        return fragment(
            title,
            self._figures_html(),
            table(headings, lines, ("", "buys")),
            class_html(self.by_class, at),
            "" if self.by is None else self.by.html(),
        )

    def _figures_html(self) -> str:
        n_shown = 4 if self.promise else 2
        basis = self.promise.basis if self.promise else ""
        headings = ("", self.kind_of_intervals, basis, "verdict")[:n_shown]
        lines = [*self.figure_lines(), *([] if self.total is None else self.total.lines())]
        return table(headings, [line[:n_shown] for line in lines], ("",))

    def __repr__(self) -> str:
        """Show the figures, then a line per exit, per class and per subgroup."""
        lines, at = [f"{self.title}:"], self.intervals
        for name, value, promised, verdict in self.figure_lines(percent=False):
            told = f"; {self.promise.basis} {promised}: {verdict}" if self.promise else ""
            lines.append(f"  {name:<9} {value}{told}")
        lines += [f"  delay     {self.delays_in_words}"] if self.worst_delay else []
        lines += [] if self.total is None else [f"  total     {self.total}"]
        costs = aligned([report.cost for report in self.exits], digits=6)
        within = (*at.exits, Interval(0.0, 1.0))
        for report, cost, limits in zip(self.exits, costs, within, strict=False):
            accuracy = f", accuracy {share_with(report.accuracy, *limits)}"
            n_rows = whole(report.n_rows)
            rows = f"{n_rows:>7} {'row ' if n_rows == '1' else 'rows'}"
            said = accuracy if report.gives_labels else ""
            said = f", delay {report.delay:g}{said}" if self.worst_delay else said
            lines.append(f"  {report.place:<9} {rows} at cost {cost}{said}")
        lines += [f"  {line}" for line in class_text(self.by_class, _TEXT_WIDTH, at)]
        lines += class_notes(self.by_class)
        lines += [] if self.by is None else self.by.text(_TEXT_WIDTH)
        return "\n".join(lines)


def _rows_from(fields: Fields, n_stages: int, n_classes: int) -> EffectiveRows | None:
    """Read effective numbers of rows; None for rows without weights and groups."""
    if "effective" in fields.values:
        return EffectiveRows.from_dict(fields.fields("effective"), n_stages, n_classes)
    is_counted = type(fields.get("n_rows")) is int
    return None if is_counted else EffectiveRows.unknown(n_stages, n_classes)


def _joined_rows(parts: Sequence[Evaluation]) -> EffectiveRows | None:
    """Effective rows of several parts with weights; None if they have none."""
    if all(part.effective is None for part in parts):
        return None
    return EffectiveRows.joined([part.rows for part in parts], [part.counted for part in parts])


def _joined_deviation(parts: Sequence[Evaluation], cost: float) -> float | None:
    """Standard deviation of the cost over the rows of several parts, around their mean."""
    if any(part.cost_deviation is None for part in parts):
        return None
    squares = (
        part.n_rows * ((part.cost_deviation or 0.0) ** 2 + (part.cost - cost) ** 2)
        for part in parts
    )
    return math.sqrt(sum(squares) / (sum(part.n_rows for part in parts) or 1))


_MOST_PARTS = 32
_UNNAMED = "subgroup"


@dataclass(slots=True)
class _Part:
    """Evaluations of parts of the rows, and the outcomes of their groups if they have any."""

    evaluations: list[Evaluation] = field(default_factory=list)
    cells: list[GroupCells] = field(default_factory=list)

    def add(self, evaluation: Evaluation, cells: GroupCells | None) -> None:
        """Keep a part; many parts become one, so that memory does not grow with their number."""
        self.evaluations.append(evaluation)
        if cells is not None:
            self.cells.append(cells)
        if len(self.evaluations) >= _MOST_PARTS:
            self.evaluations = [Evaluation.joined(self.evaluations)]
            self.cells = [GroupCells.joined(self.cells)] if self.cells else []

    def joined(self) -> Evaluation:
        found = Evaluation.joined(self.evaluations)
        if not self.cells:
            return found
        costs = np.array([report.cost for report in found.exits])
        return replace(found, effective=GroupCells.joined(self.cells).effective(found.rows, costs))


@dataclass(slots=True, eq=False)
class Tally:
    """Decisions that are compared with true labels part by part.

    A group may have rows in several parts. Memory grows with the number of groups and subgroups,
    not with that of rows.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    buys : sequence of tuple of str
        Features that each stage buys.
    costs : sequence of float or None
        Cost of a row after each stage; None if rows pay prices of their own.
    by_text : bool
        Whether values of subgroups are read from text: numbers then become numbers.
    delays : sequence of float
        Time that a row has waited after each stage; empty if no value comes later.
    """

    classes: AnyArray
    buys: Sequence[tuple[str, ...]]
    costs: Sequence[float] | None
    by_text: bool = False
    delays: Sequence[float] = ()
    _whole: _Part = field(default_factory=_Part)
    _by: dict[Any, _Part] = field(default_factory=dict)
    _column: str | None = None
    _groups: dict[Any, int] = field(default_factory=dict)

    def add(
        self,
        decisions: Decisions,
        truth: AnyArray,
        weights: FloatArray | None,
        groups: Keys | None = None,
        by: Keys | None = None,
    ) -> None:
        """Add a part of the rows."""
        numbers = None if groups is None else self._numbers(groups)
        self._add(self._whole, decisions, truth, weights, numbers)
        if by is None:
            return
        self._column = by.name or _UNNAMED
        self._check(list(dict.fromkeys([*self._by, *by.values])))
        order = np.argsort(by.codes, kind="stable")
        ends = np.cumsum(np.bincount(by.codes, minlength=len(by.values)))
        for value, which in zip(by.values, np.split(order, ends[:-1]), strict=True):
            if not len(which):
                continue
            part = self._by.setdefault(value, _Part())
            own = None if weights is None else weights[which]
            of_group = None if numbers is None else numbers[which]
            self._add(part, _rows_of(decisions, which), truth[which], own, of_group)

    def evaluation(self) -> Evaluation:
        """Return the evaluation of all rows so far."""
        found = self._whole.joined()
        if self._column is None:
            return found
        values = self._values(list(self._by))
        parts = dict(zip(values, self._by.values(), strict=True))
        ordered = sorted(value for value in values if value is not None)
        ordered += [None] if None in parts else []
        evaluations = tuple(parts[value].joined() for value in ordered)
        return replace(found, by=Subgroups(self._column, tuple(ordered), evaluations))

    def _values(self, read: list[Any]) -> list[Any]:
        return without_text(read) if self.by_text else read

    def _check(self, read: list[Any]) -> None:
        what = "by" if self._column == _UNNAMED else f"column {self._column!r}"
        check_by(self._values(read), what)

    def _numbers(self, groups: Keys) -> IntArray:
        """Return the number of each row's group, the same in all parts."""
        known = self._groups
        numbers = [known.setdefault(value, len(known)) for value in groups.values]
        return np.array(numbers, dtype=np.int64)[groups.codes]

    def _add(
        self,
        part: _Part,
        decisions: Decisions,
        truth: AnyArray,
        weights: FloatArray | None,
        groups: IntArray | None,
    ) -> None:
        about = (self.classes, self.buys, self.costs, self.delays)
        cells = None
        if groups is not None:
            outcomes = outcomes_of(decisions, truth, self.classes, len(self.buys))
            cells = GroupCells.from_rows(groups, outcomes, weights)
        part.add(Evaluation.from_decisions(decisions, truth, weights, *about), cells)


def _rows_of(decisions: Decisions, which: IntArray) -> Decisions:
    names = ("guesses", "accepted", "confidence", "stage", "cost")
    return Decisions(**{name: getattr(decisions, name)[which] for name in names})
