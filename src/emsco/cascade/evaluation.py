"""Evaluate decisions: compare them with true labels, in total and at each exit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np

from emsco._base.documents import Fields
from emsco._base.objectives import Objectives
from emsco._base.text import aligned, counted, in_short, listed
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco.cascade.decisions import Decisions
from emsco.data.labels import positions_of
from emsco.pictures.classes import class_html, class_notes, class_text
from emsco.pictures.flow import Flow
from emsco.pictures.notebook import fragment, table
from emsco.trust.by_class import ByClass

__all__ = ["Evaluation", "ExitReport", "amount"]

_MOST_NAMES = 30  # of a stage, in a notebook
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
    """

    stage: int | None
    features: tuple[str, ...]
    cost: float
    n_rows: float
    n_correct: float
    confidence: float = math.nan

    @classmethod
    def from_fields(cls, fields: Fields, stage: int | None, features: tuple[str, ...]) -> Self:
        """Read an exit from a file and check that its stage buys these features."""
        for name, value in (("stage", stage), ("features", list(features))):
            if fields.get(name) != value:
                fields.refuse(name, f"{value}, as in the design", fields.get(name))
        n_rows = amount(fields, "n_rows")
        n_correct = amount(fields, "n_correct", n_rows)
        confidence = fields.number("confidence", 0, 1)
        return cls(stage, features, fields.number("cost", 0), n_rows, n_correct, confidence)

    @classmethod
    def joined(cls, parts: Sequence[ExitReport]) -> Self:
        """Add up reports of the same exit, such as those of several chunks of a file."""
        first, n_rows = parts[0], sum(part.n_rows for part in parts)
        confidence = sum(part.confidence * part.n_rows for part in parts) / (n_rows or 1)
        n_correct = min(n_rows, sum(part.n_correct for part in parts))
        return cls(first.stage, first.features, first.cost, n_rows, n_correct, min(1.0, confidence))

    @property
    def accuracy(self) -> float:
        """Share of labels given here that are correct; 0 if there are none."""
        return self.n_correct / (self.n_rows or 1)


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
    """

    n_rows: float
    exits: tuple[ExitReport, ...]
    by_class: ByClass

    @classmethod
    def from_decisions(
        cls,
        decisions: Decisions,
        truth: AnyArray,
        weights: FloatArray | None,
        classes: AnyArray,
        buys: Sequence[tuple[str, ...]],
        costs: Sequence[float] | None = None,
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
        """
        true, given = positions_of(truth, classes), np.full(len(decisions), len(classes))
        given[decisions.accepted] = positions_of(decisions.guesses[decisions.accepted], classes)
        correct = given == true
        counts = np.ones(len(decisions), dtype=np.int64) if weights is None else weights
        total, accepted = counts.sum().item(), counts[decisions.accepted].sum().item()
        return cls(
            n_rows=total,
            coverage=min(1.0, accepted / (total or 1)),  # rounded sums of weights may exceed it
            accuracy=min(1.0, counts[correct].sum().item() / (accepted or 1)),
            cost=(decisions.cost @ counts).item() / (total or 1),
            exits=_exits(decisions, correct, counts, buys, costs),
            by_class=ByClass.from_labels(classes.tolist(), true, given, weights),
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """Add up evaluations of the same cascade, such as those of several chunks of a file."""
        if len(parts) == 1:
            return parts[0]
        exits = tuple(map(ExitReport.joined, zip(*(part.exits for part in parts), strict=True)))
        total = sum(part.n_rows for part in parts)
        accepted = sum(report.n_rows for report in exits if report.stage is not None)
        return cls(
            n_rows=total,
            coverage=min(1.0, accepted / (total or 1)),
            accuracy=min(1.0, sum(report.n_correct for report in exits) / (accepted or 1)),
            cost=sum(part.cost * part.n_rows for part in parts) / (total or 1),
            exits=exits,
            by_class=ByClass.joined([part.by_class for part in parts]),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, nested as the attributes are."""
        return {**asdict(self), "by_class": self.by_class.to_dict()}

    @classmethod
    def from_fields(
        cls, fields: Fields, buys: Sequence[tuple[str, ...]], classes: AnyArray
    ) -> Self:
        """Read an evaluation from a file and check that its stages buy these features.

        Shares by class are not read, but follow from the counts.
        """
        places = [*enumerate(buys, start=1), (None, ())]
        exits = fields.many_fields("exits")
        if len(exits) != len(places):
            fields.refuse("exits", f"{len(places)} exits", f"{len(exits):,}")
        return cls(
            n_rows=amount(fields, "n_rows"),
            **asdict(Objectives.from_dict(fields)),
            exits=tuple(
                ExitReport.from_fields(report, *place)
                for report, place in zip(exits, places, strict=True)
            ),
            by_class=ByClass.from_fields(fields.fields("by_class"), "counts", classes.tolist()),
        )

    def _repr_html_(self) -> str:
        """Show a line per exit, then a line per class, for notebooks."""
        flow = Flow.from_evaluation(self)
        reached = [*(stage.reached for stage in flow.stages), flow.rejected]
        costs = aligned([report.cost for report in self.exits], digits=6)
        lines = [
            (
                _place(report),
                listed(report.features, _MOST_NAMES),
                cost,
                f"{n_reached:,.10g}",
                f"{report.n_rows:,.10g}",
                f"{flow.share(report.n_rows):.1%}",
                f"{report.accuracy:.1%}" if _gives_labels(report) else "",
                f"{report.confidence:.1%}" if _gives_labels(report) else "",
            )
            for report, n_reached, cost in zip(self.exits, reached, costs, strict=True)
        ]
        headings = ("", "buys", "cost so far", "reached", "left", "share", "correct", "confidence")
        title = f"Evaluation on {counted(self.n_rows, 'row')}: {in_short(self)}"
        exits = table(headings, lines, ("", "buys"))
        return fragment(title, exits, class_html(self.by_class))

    def __repr__(self) -> str:
        """Show the objectives, a line per exit, and a line per class."""
        lines = [
            f"Evaluation on {counted(self.n_rows, 'row')}: coverage {self.coverage:.3f}, "
            f"accuracy {self.accuracy:.3f}, cost {self.cost:.6g}"
        ]
        costs = aligned([report.cost for report in self.exits], digits=6)
        for report, cost in zip(self.exits, costs, strict=True):
            accuracy = f", accuracy {report.accuracy:.3f}" if _gives_labels(report) else ""
            rows = f"{report.n_rows:>7,.10g} {'row ' if report.n_rows == 1 else 'rows'}"
            lines.append(f"  {_place(report):<9} {rows} at cost {cost}{accuracy}")
        lines += [f"  {line}" for line in class_text(self.by_class, _TEXT_WIDTH)]
        lines += class_notes(self.by_class)
        return "\n".join(lines)


def _place(report: ExitReport) -> str:
    return "rejected" if report.stage is None else f"stage {report.stage}"


def _gives_labels(report: ExitReport) -> bool:
    return report.stage is not None and report.n_rows > 0


def _exits(
    decisions: Decisions,
    correct: BoolArray,
    weights: FloatArray | IntArray,
    buys: Sequence[tuple[str, ...]],
    costs: Sequence[float] | None,
) -> tuple[ExitReport, ...]:
    """Report the rows that leave at each stage, then the rejected rows."""
    places = [*enumerate(buys, start=1), (None, ())]
    fixed = [None] * len(places) if costs is None else [*costs, costs[-1]]
    reports = []
    for (stage, bought), fixed_cost in zip(places, fixed, strict=True):
        here = ~decisions.accepted if stage is None else decisions.accepted
        here = here if stage is None else here & (decisions.stage == stage)
        n_rows = weights[here].sum().item()
        n_correct = min(n_rows, weights[here & correct].sum().item())
        confidence = (decisions.confidence[here] @ weights[here]).item() / (n_rows or 1)
        mean_cost = (decisions.cost[here] @ weights[here]).item() / (n_rows or 1)
        cost = mean_cost if fixed_cost is None else fixed_cost
        reports.append(ExitReport(stage, bought, cost, n_rows, n_correct, min(1.0, confidence)))
    return tuple(reports)


def amount(fields: Fields, name: str, most: float = math.inf) -> float:
    """Read a number of rows, or the weight of rows, which need not be whole."""
    found = fields.number(name, 0, most)
    return int(found) if type(fields.get(name)) is int else found
