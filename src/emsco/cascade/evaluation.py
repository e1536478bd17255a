"""Evaluate decisions: compare them with true labels, in total, at each exit and by subgroup.

`Evaluation` has the figures, `ExitReport` those of one exit, and `Subgroups` an evaluation of each
value of a column. `Tally` in `emsco.cascade.tally` makes them of decisions that come in parts.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np

from emsco._base.documents import Fields
from emsco._base.objectives import Estimate, Interval, Objectives, objectives_from_dict
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
from emsco._base.typing import AnyArray, FloatArray
from emsco.cascade.certainty import EffectiveRows, Intervals, SeenOutcomes
from emsco.cascade.decisions import Decisions
from emsco.data.frames import Columns, Tabular
from emsco.designs.design import Design
from emsco.errors import DataError, ParameterError
from emsco.plotting.classes import ClassTable, class_html, class_notes, class_text
from emsco.plotting.flow import Flow
from emsco.plotting.notebook import MOST_NAMES, fragment, note, table
from emsco.scoring.by_class import ByClass
from emsco.scoring.error_costs import ErrorCosts, Total
from emsco.stats.intervals import cost_interval, normal_interval, share_intervals
from emsco.stats.promises import Promise, PromiseReport, SeenPromise, SeenTotal
from emsco.stats.tests import ALPHA, p_values_below

MOST_LINES = 20  # subgroups in a table
_LONGEST = 14  # characters of a subgroup in a table
_LONGEST_PATH = 44
_FIGURES = ("coverage", "accuracy", "cost")
_TEXT_WIDTH = 78  # of a table, which is indented by 2


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
        n_rows = fields.amount("n_rows")
        return cls(
            stage=stage,
            features=features,
            cost=fields.number("cost", 0),
            n_rows=n_rows,
            n_correct=fields.amount("n_correct", n_rows),
            confidence=fields.number("confidence", 0, 1),
            delay=fields.number("delay", 0) if "delay" in fields.values else 0.0,
        )

    @classmethod
    def joined(cls, parts: Sequence[ExitReport]) -> Self:
        """Add up reports of the same exit, such as those of several chunks of a file."""
        first, n_rows = parts[0], sum(part.n_rows for part in parts)
        confidence = sum(part.confidence * part.n_rows for part in parts) / (n_rows or 1)
        # More than one if rows have prices of their own, or were rejected on different paths.
        costs = {part.cost for part in parts}
        delays = {part.delay for part in parts}
        mean_cost = sum(part.cost * part.n_rows for part in parts) / (n_rows or 1)
        mean_delay = sum(part.delay * part.n_rows for part in parts) / (n_rows or 1)
        return cls(
            stage=first.stage,
            features=first.features,
            cost=first.cost if len(costs) == 1 else mean_cost,
            n_rows=n_rows,
            n_correct=min(n_rows, sum(part.n_correct for part in parts)),
            confidence=min(1.0, confidence),
            delay=first.delay if len(delays) == 1 else mean_delay,
        )

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
        return {n: value for n, value in asdict(self).items() if n != "delay" or with_delay}


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
    rejected_exits : tuple of int or float
        Rows rejected after each stage, if the cascade branches; empty if all were rejected after
        the last stage.
    by : Subgroups or None
        Evaluation of each subgroup, if asked for.
    by_path : Subgroups or None
        Evaluation of the rows of each path, if the cascade branches: those that are decided before
        any branch, and those of each part, without the rows that branch again.
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
    as promised, within chance
    """

    n_rows: float
    exits: tuple[ExitReport, ...]
    by_class: ByClass
    effective: EffectiveRows | None = None
    cost_deviation: float | None = None
    rejected_exits: tuple[float, ...] = ()
    by: Subgroups | None = None
    by_path: Subgroups | None = field(default=None, compare=False)
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
            exit is the mean over its rows. Rows may be rejected after different stages.
        delays : sequence of float, optional
            Time that a row has waited after each stage; by default 0.
        """
        out = SeenOutcomes.from_decisions(decisions, truth, classes, len(buys))
        # Whole numbers where there are no weights: counts stay exact, and are shown as such.
        counts = np.ones(len(decisions), dtype=np.int64) if weights is None else weights
        total, accepted = counts.sum().item(), counts[out.accepted].sum().item()
        cost = (decisions.cost @ counts).item() / (total or 1)
        # About the mean, not as the difference of two large sums, which would lose digits.
        spread = ((decisions.cost - cost) ** 2 @ counts).item() / (total or 1)
        # A chain rejects rows after its last stage, a cascade that branches after several.
        ends = np.unique(decisions.stage[~out.accepted]).tolist() or [len(buys)]
        rejected_exits = []
        if ends != [len(buys)]:
            at_stages = (~out.accepted & (decisions.stage == j + 1) for j in range(len(buys)))
            rejected_exits = [counts[here].sum().item() for here in at_stages]
        exits = []  # at each stage, then the rejected rows
        for i, (stage, features) in enumerate([*enumerate(buys, start=1), (None, ())]):
            here, last = out.exit == i, (stage or ends[0]) - 1
            n_rows = counts[here].sum().item()
            mean_cost = (decisions.cost[here] @ counts[here]).item() / (n_rows or 1)
            delay = delays[last] if delays else 0.0
            differ = stage is None and len(ends) > 1
            if differ and delays:
                waited = np.array(delays)[decisions.stage[here] - 1]
                delay = (waited @ counts[here]).item() / (n_rows or 1)
            confidence = (decisions.confidence[here] @ counts[here]).item() / (n_rows or 1)
            report = ExitReport(
                stage=stage,
                features=features,
                cost=mean_cost if costs is None or differ else costs[last],
                n_rows=n_rows,
                # The same weights in another order of summation may add up to a little more.
                n_correct=min(n_rows, counts[here & out.correct].sum().item()),
                confidence=min(1.0, confidence),
                delay=delay,
            )
            exits.append(report)
        return cls(
            n_rows=total,
            coverage=min(1.0, accepted / (total or 1)),  # rounded sums of weights may exceed it
            accuracy=min(1.0, counts[out.correct].sum().item() / (accepted or 1)),
            cost=cost,
            exits=tuple(exits),
            by_class=ByClass.from_labels(classes.tolist(), out.true, out.given, weights),
            effective=None if weights is None else EffectiveRows.from_weights(out, weights),
            cost_deviation=math.sqrt(spread) if costs is None or len(ends) > 1 else None,
            rejected_exits=tuple(rejected_exits),
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
        # Exits are joined place by place: stage with stage, rejected with rejected.
        exits = tuple(map(ExitReport.joined, zip(*(part.exits for part in parts), strict=True)))
        total = sum(part.n_rows for part in parts)
        effective = None
        if any(part.effective is not None for part in parts):
            effective = EffectiveRows.joined(
                [part.rows for part in parts], [part.counted for part in parts]
            )
        accepted = sum(report.n_rows for report in exits if report.stage is not None)
        cost = sum(part.cost * part.n_rows for part in parts) / (total or 1)
        deviation = None  # of the cost over all rows, around their mean
        # What rejected rows paid may differ between parts.
        paid = {part.exits[-1].cost for part in parts if part.exits[-1].n_rows}
        if len(paid) > 1 or any(part.cost_deviation is not None for part in parts):
            # The variance within a part, and that of its mean around the mean of all.
            spreads = (part.deviation_of_cost**2 + (part.cost - cost) ** 2 for part in parts)
            squares = sum(part.n_rows * one for part, one in zip(parts, spreads, strict=True))
            deviation = math.sqrt(squares / (total or 1))
        rejected_exits: tuple[float, ...] = ()
        if any(part.rejected_exits for part in parts):
            last = [0] * (len(exits) - 2)  # stages before the last, if all were rejected there
            at_stages = (part.rejected_exits or (*last, part.exits[-1].n_rows) for part in parts)
            rejected_exits = tuple(map(sum, zip(*at_stages, strict=True)))
        return cls(
            n_rows=total,
            coverage=min(1.0, accepted / (total or 1)),
            accuracy=min(1.0, sum(report.n_correct for report in exits) / (accepted or 1)),
            cost=cost,
            exits=exits,
            by_class=ByClass.joined([part.by_class for part in parts]),
            effective=effective,
            cost_deviation=deviation,
            rejected_exits=rejected_exits,
            by_path=Subgroups.joined([part.by_path for part in parts if part.by_path is not None]),
        )

    @property
    def deviation_of_cost(self) -> float:
        """Standard deviation of the cost of a row."""
        if self.cost_deviation is not None:
            return self.cost_deviation
        squares = (report.n_rows * (report.cost - self.cost) ** 2 for report in self.exits)
        return math.sqrt(sum(squares) / (self.n_rows or 1))

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
        """Longest time that a row can wait."""
        return max(report.delay for report in self.exits)

    @property
    def delays_in_words(self) -> str:
        """The time that rows wait on average and at worst."""
        return f"{self.mean_delay:.4g} on average, {self.worst_delay:g} at worst"

    @property
    def intervals(self) -> Intervals:
        """95 % intervals of all figures: exact, unless rows have weights or belong to groups."""
        rows, by_class = self.rows, self.by_class

        def shares(figures: Any, n_rows: Sequence[float]) -> tuple[Interval, ...]:
            # Exact intervals count successes; with effective rows these need not be whole.
            hits = np.asarray(figures) * np.asarray(n_rows)
            return share_intervals(hits, n_rows) if len(n_rows) else ()

        coverage, accuracy = shares([self.coverage, self.accuracy], [rows.coverage, rows.accuracy])
        if self.cost_deviation is None:
            # All rows of an exit paid the same, so few costs and their counts say everything.
            paid = np.array([report.cost for report in self.exits])
            left = np.array([report.n_rows for report in self.exits])
            cost = cost_interval(paid, left / (sum(left.tolist()) or 1) * rows.cost)
        else:
            cost = normal_interval(self.cost, self.cost_deviation, rows.cost)
        stages = [report.accuracy for report in self.exits if report.stage is not None]
        return Intervals(
            rows.kind,
            coverage,
            accuracy,
            cost,
            exits=shares(stages, rows.exits),
            recall=shares(by_class.recall, rows.recall),
            precision=shares(by_class.precision, rows.precision),
        )

    def against(
        self,
        promised: Objectives,
        basis: str = "promised",
        ranges: Mapping[str, Interval] | None = None,
        recall: Sequence[Estimate] = (),
    ) -> PromiseReport:
        """Compare with promised figures, such as those of a point of a front.

        See `SeenPromise` for the verdict. `basis` says where the figures come from: "expected",
        "scored" or "promised"; `ranges` has their 95 % intervals by name, if they are estimates.
        `recall` has what is expected of each class, if anything.
        """
        # Balanced accuracy is no share of rows, so an interval of a share cannot judge it.
        if getattr(promised, "metric", "accuracy") != "accuracy":
            raise ParameterError(
                "promised must have the share of labels that are correct as its accuracy, got a "
                "point scored by balanced accuracy."
            )
        at = self.intervals
        report = PromiseReport.from_objectives(
            promised, self, at.coverage, at.accuracy, at.cost, basis, ranges
        )
        of_classes = tuple(
            SeenPromise(
                Promise("recall", estimate.value, label),
                seen,
                interval,
                Interval(estimate.low, estimate.high),
            )
            for label, estimate, seen, interval in zip(
                self.by_class.labels, recall, self.by_class.recall.tolist(), at.recall, strict=False
            )
        )
        return replace(report, recall=of_classes)

    def flow(self, design: Design | None = None) -> Flow:
        """Return the flow of the rows through the stages, to draw it.

        The design is needed if it branches, and for the thresholds of its stages.
        """
        stages = [report for report in self.exits if report.stage is not None]
        return Flow.from_counts(
            buys=[report.features for report in stages],
            costs=[report.cost for report in stages],
            delays=[report.delay for report in stages],
            n_rows=self.n_rows,
            exits=[report.n_rows for report in stages],
            correct_exits=[report.n_correct for report in stages],
            thresholds=None if design is None else design.thresholds,
            design=design,
            rejected_exits=self.rejected_exits,
            mean_cost=None if self.cost_deviation is None else self.cost,
        )

    def with_total(self, costs: ErrorCosts | None, promised: Total | None = None) -> Self:
        """Return it with the total of a row, if there are costs of errors and rejections."""
        if costs is None:
            return self
        # The smaller of the two numbers of effective rows gives the wider interval.
        n_rows = max(1.0, min(self.rows.cost, self.rows.coverage))
        # The deviation of a sum is at most the sum of the deviations.
        error = (self.deviation_of_cost + costs.deviation(self.by_class)) / math.sqrt(n_rows)
        total = costs.total(self, self.by_class)
        seen = replace(total, standard_error=error, basis="seen")
        return replace(self, total=SeenTotal(seen, costs, promised))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, nested as the attributes are, with all intervals and verdicts."""
        delays = {"mean_delay": self.mean_delay, "worst_delay": self.worst_delay}
        return {
            **self.counts_to_dict(),
            **(delays if self.worst_delay else {}),
            "by_class": self.by_class.to_dict(),
            "intervals": self.intervals.to_dict(),
            "promise": None if self.promise is None else self.promise.to_dict(),
            **({} if self.total is None else {"total": self.total.to_dict()}),
            "by": None if self.by is None else self.by.to_dict(),
            **({} if self.by_path is None else {"by_path": self.by_path.to_dict()}),
        }

    def counts_to_dict(self) -> dict[str, Any]:
        """Return the figures and the counts that intervals follow from, for a file."""
        more = {
            "effective": None if self.effective is None else self.effective.to_dict(),
            "cost_deviation": self.cost_deviation,
            "rejected_exits": list(self.rejected_exits) or None,
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
        effective = None
        # Weights add up to a float. Without them a count is written as a whole number.
        is_weighted = type(fields.get("n_rows")) is not int
        if is_weighted or "effective" in fields.values:
            sizes = fields.fields("effective")
            effective = EffectiveRows.from_dict(sizes, len(buys), len(classes))
        varies = "cost_deviation" in fields.values
        rejected_exits: tuple[float, ...] = ()
        if "rejected_exits" in fields.values:
            # Checked as numbers, then taken as written: whole numbers of rows stay whole.
            fields.numbers("rejected_exits", len(buys), 0, fields.amount("n_rows"))
            rejected_exits = tuple(fields.items("rejected_exits"))
        return cls(
            n_rows=fields.amount("n_rows"),
            **asdict(objectives_from_dict(fields)),
            exits=tuple(
                ExitReport.from_dict(report, *place)
                for report, place in zip(exits, places, strict=True)
            ),
            by_class=ByClass.from_dict(fields.fields("by_class"), "counts", classes.tolist()),
            effective=effective,
            cost_deviation=fields.number("cost_deviation", 0) if varies else None,
            rejected_exits=rejected_exits,
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
        at = self.intervals
        share = partial(percent_with, digits=1) if percent else share_with
        promises = self.promise.promises if self.promise else ()
        promised = {one.promise.kind: one.promise.limit for one in promises}
        verdicts = {one.promise.kind: str(one.verdict) for one in promises}
        # The promised cost, if any, has as many decimals as the one that was seen.
        limit = [promised["cost"]] if "cost" in promised else []
        cost, low, high, *promised_cost = aligned([self.cost, *at.cost, *limit])
        values = {
            "coverage": share(self.coverage, *at.coverage),
            "accuracy": share(self.accuracy, *at.accuracy),
            "cost": f"{cost} ({low} to {high})",
        }
        told = {
            name: f"{value:.1%}" if percent else f"{value:.3f}" for name, value in promised.items()
        }
        if promised_cost:
            told["cost"] = promised_cost[0]
        return [
            (name, value, told.get(name, ""), verdicts.get(name, ""))
            for name, value in values.items()
        ]

    def recall_lines(self, *, percent: bool = True) -> list[tuple[str, str, str, str]]:
        """Return the same of the recall of each class, of the first 20; empty if none is promised.

        Classes without rows are left out.
        """
        share = partial(percent_with, digits=1) if percent else share_with
        promises = zip(
            self.promise.recall if self.promise else (), self.by_class.rows.tolist(), strict=False
        )
        return [
            (
                one.promise.name,
                share(one.seen, *one.interval),
                f"{one.promise.limit:.1%}" if percent else f"{one.promise.limit:.3f}",
                str(one.verdict),
            )
            for one, n_rows in [*promises][:MOST_LINES]
            if n_rows
        ]

    def _repr_html_(self) -> str:
        """Show the figures, a line per exit, class, path and subgroup, for notebooks."""
        flow, at, exits = self.flow(), self.intervals, self.exits
        reached = [*(stage.reached for stage in flow.stages), flow.rejected]
        correct = [
            percent_with(one.accuracy, *limits) if one.gives_labels else ""
            for one, limits in zip(exits, (*at.exits, Interval(0.0, 1.0)), strict=True)
        ]
        columns = {
            "": [one.place for one in exits],
            "buys": [listed(one.features, MOST_NAMES) for one in exits],
            "cost so far": aligned([one.cost for one in exits], digits=6),
            "reached": [*map(whole, reached)],
            "left": [whole(one.n_rows) for one in exits],
            "share": [f"{flow.share(one.n_rows):.1%}" for one in exits],
            "correct": correct,
            "confidence": [f"{one.confidence:.1%}" if one.gives_labels else "" for one in exits],
        }
        if self.by_path is not None:  # exits alone do not say which rows reached a stage
            del columns["reached"]
        title = f"Evaluation on {counted(self.n_rows, 'row')}: {in_short(self)}"
        n_shown, basis = (4, self.promise.basis) if self.promise else (2, "")
        figures = [*self.figure_lines(), *self.recall_lines()]
        figures += [] if self.total is None else self.total.lines()
        return fragment(
            title,
            table(
                ("", self.kind_of_intervals, basis, "verdict")[:n_shown],
                [line[:n_shown] for line in figures],
                ("",),
            ),
            table(tuple(columns), list(zip(*columns.values(), strict=True)), ("", "buys")),
            class_html(self.by_class, at),
            "" if self.by_path is None else self.by_path.html(),
            "" if self.by is None else self.by.html(),
        )

    def __repr__(self) -> str:
        """Show the figures, then a line per exit, class, path and subgroup."""
        lines, at = [f"{self.title}:"], self.intervals
        figures = [*self.figure_lines(percent=False), *self.recall_lines(percent=False)]
        for name, value, promised, verdict in figures:
            against = ""
            if self.promise and promised:
                against = f"; {self.promise.basis} {promised}: {verdict}"
            lines.append(f"  {name:<9} {value}{against}")
        if self.worst_delay:
            lines.append(f"  delay     {self.delays_in_words}")
        if self.total is not None:
            lines.append(f"  total     {self.total}")
        costs = aligned([report.cost for report in self.exits], digits=6)
        within = (*at.exits, Interval(0.0, 1.0))
        for report, cost, limits in zip(self.exits, costs, within, strict=False):
            n_rows = whole(report.n_rows)
            rows = f"{n_rows:>7} {'row ' if n_rows == '1' else 'rows'}"
            line = f"  {report.place:<9} {rows} at cost {cost}"
            if self.worst_delay:
                line += f", delay {report.delay:g}"
            if report.gives_labels:
                line += f", accuracy {share_with(report.accuracy, *limits)}"
            lines.append(line)
        lines += [f"  {line}" for line in class_text(self.by_class, _TEXT_WIDTH, at)]
        lines += class_notes(self.by_class)
        lines += [] if self.by_path is None else self.by_path.text(_TEXT_WIDTH)
        lines += [] if self.by is None else self.by.text(_TEXT_WIDTH)
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, repr=False)
class Subgroups(Tabular, Mapping[Any, "Evaluation"]):
    """Evaluation of each subgroup: a mapping from the values of a column to evaluations.

    The value None stands for rows without a value. Subgroups of a few rows have wide intervals.

    Attributes
    ----------
    column : str
        Name of the column, or "subgroup".
    subgroups : tuple
        The values, sorted, and None last; paths in the order of the stages.
    evaluations : tuple of Evaluation
    are_paths : bool
        Whether these are the paths of a cascade that branches.
    """

    column: str
    subgroups: tuple[Any, ...]
    evaluations: tuple[Evaluation, ...]
    are_paths: bool = False

    @classmethod
    def joined(cls, parts: Sequence[Subgroups]) -> Subgroups | None:
        """Add up the evaluations of each subgroup; None without any."""
        if not parts:
            return None
        groups = list(dict.fromkeys(group for part in parts for group in part))
        evaluations = (
            Evaluation.joined([part[group] for part in parts if group in part]) for group in groups
        )
        return cls(parts[0].column, tuple(groups), tuple(evaluations), parts[0].are_paths)

    def __getitem__(self, group: Any) -> Evaluation:
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
        return tuple(group for group, p_value in pairs if p_value < ALPHA)

    @property
    def sentence(self) -> str:
        """Name the subgroups whose accuracy is below the others' beyond chance, or say: none."""
        if len(self) < 2:
            which = "took one path" if self.are_paths else f"are of one subgroup by {self.column}"
            return f"All rows {which}."
        longest = _LONGEST_PATH if self.are_paths else 30
        below = ["missing" if group is None else brief(group, longest) for group in self.below]
        if not below and self.are_paths:
            return "No path is less accurate than the others beyond chance."
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
            other = next((group for group in self.subgroups if group is not None), 0)
            filled = np.array([other if group is None else group for group in self.subgroups])
            values = np.ma.MaskedArray(filled, mask=missing)
        columns: dict[str, Any] = {
            self.column: values,
            "rows": [one.n_rows for one in self.evaluations],
        }
        intervals = [one.intervals for one in self.evaluations]
        for name in _FIGURES:
            columns[name] = [getattr(one, name) for one in self.evaluations]
            columns[f"{name}_low"] = [getattr(one, name).low for one in intervals]
            columns[f"{name}_high"] = [getattr(one, name).high for one in intervals]
        return {**columns, "p_value": self.p_values}

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: an evaluation for each value."""
        lines = zip(self.subgroups, self.p_values.tolist(), self.evaluations, strict=True)
        return {
            "column": self.column,
            "below": [_plain(group) for group in self.below],
            "sentence": self.sentence,
            "subgroups": [
                {"value": _plain(group), "p_value": p_value, **one.to_dict()}
                for group, p_value, one in lines
            ],
        }

    def table(self, width: int) -> ClassTable:
        """Return a table that fits `width` characters, if need be with fewer intervals."""
        # The cost's interval goes first, then that of coverage; accuracy keeps its own longest.
        for shown in (_FIGURES, _FIGURES[:2], _FIGURES[1:2], ()):
            table = self._table(shown)
            if table.width <= width:
                break
        return table

    def _table(self, with_intervals: Sequence[str]) -> ClassTable:
        some = self.evaluations[:MOST_LINES]
        ends = [one.intervals for one in some]
        costs = aligned([one.cost for one in some])
        longest = _LONGEST_PATH if self.are_paths else _LONGEST
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
            name = "missing" if group is None else " ".join(str(group).split())
            lines.append((shorten(name, longest), f"{one.n_rows:,.6g}", *shares, cost))
        return ClassTable((shorten(self.column, _LONGEST), "rows", *_FIGURES), tuple(lines))

    def notes(self, all_in: str = "") -> list[str]:
        """Say which subgroups are less accurate, and how many are left out of the table."""
        more = len(self) - MOST_LINES
        all_in = all_in or f"{'by_path' if self.are_paths else 'by'}.to_pandas()"
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
        groups = f"{counted(len(self), 'subgroup')} by {self.column}"
        return f"{counted(len(self), 'path') if self.are_paths else groups}, with 95 % intervals"


def _plain(group: Any) -> Any:
    """Return a value that JSON has; dates and such become text."""
    return group if group is None or isinstance(group, (bool, int, float, str)) else str(group)
