"""What a cascade decides: about a table of rows, and how that compares with the truth."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from emsco._base.documents import Fields
from emsco._base.objectives import Objectives
from emsco._base.text import aligned, counted, in_short, listed
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco.data.frames import Columns, like, to_pandas, to_polars, to_pyarrow
from emsco.pictures.flow import Flow
from emsco.pictures.notebook import fragment, note, table

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

__all__ = ["Decisions", "Evaluation", "ExitReport"]

_FIRST_ROWS, _MOST_NAMES = 5, 30  # in a notebook


@dataclass(frozen=True, slots=True, eq=False)
class Decisions:
    """What a cascade decided about each row.

    Attributes
    ----------
    guesses : ndarray of shape (n_rows,)
        The likeliest class at the last stage that saw the row, for rejected rows too.
    accepted : ndarray of bool
    confidence : ndarray of float
        Probability of that class.
    stage : ndarray of int
        The last stage that saw the row, from 1.
    cost : ndarray of float
        What the stages that the row has passed cost.
    reasons : ndarray of str, optional
        Why each row ended as it did, where features were bought on demand. A row whose features
        could not be had has the stage that saw it last, or stage 0 and no confidence (NaN).
    ids : ndarray, optional
        Which row each decision is about, where rows have names.
    frame : data frame, optional
        Of the kind that the rows came in, without their columns.

    Examples
    --------
    >>> decisions = Decisions(
    ...     guesses=np.array([0, 1, 1]),
    ...     accepted=np.array([True, True, False]),
    ...     confidence=np.array([0.9, 0.8, 0.6]),
    ...     stage=np.array([1, 2, 2]),
    ...     cost=np.array([1.0, 4.0, 4.0]),
    ... )
    >>> decisions
    Decisions(3 rows: 2 accepted, 1 rejected; mean cost 3)
    >>> decisions.labels.tolist()
    [0, 1, None]
    """

    guesses: AnyArray
    accepted: BoolArray
    confidence: FloatArray
    stage: IntArray
    cost: FloatArray
    reasons: AnyArray | None = None
    ids: AnyArray | None = None
    frame: Any = None

    def __post_init__(self) -> None:
        """Lock the arrays."""
        for field in fields(self):
            if isinstance(given := getattr(self, field.name), np.ndarray):
                locked = given.view()
                locked.setflags(write=False)
                object.__setattr__(self, field.name, locked)

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Decisions of all parts, in order; all or none have reasons and ids."""
        if len(parts) == 1:
            return parts[0]
        joined: dict[str, Any] = {}
        for field in fields(cls):
            columns = [getattr(part, field.name) for part in parts]
            whole = isinstance(columns[0], np.ndarray)
            joined[field.name] = np.concatenate(columns) if whole else columns[0]
        return cls(**joined)

    @property
    def labels(self) -> np.ma.MaskedArray[Any, Any]:
        """Decided labels, masked where a row was rejected."""
        return np.ma.MaskedArray(self.guesses, mask=~self.accepted)

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.accepted)

    def __repr__(self) -> str:
        """How many were accepted, and at what cost."""
        if not len(self):
            return "Decisions(0 rows)"
        return (
            f"Decisions({counted(len(self), 'row')}: {self.accepted.sum():,} accepted, "
            f"{(~self.accepted).sum():,} rejected; mean cost {self.cost.mean():.6g})"
        )

    def _repr_html_(self) -> str:
        """How many left where, and the first rows, for notebooks."""
        n_rows, mean = len(self) or 1, self.cost.mean() if len(self) else 0.0
        title = f"Decisions on {counted(len(self), 'row')}: mean cost {mean:.6g}"
        places = [
            (f"stage {j}", self.accepted & (self.stage == j))
            for j in np.unique(self.stage[self.accepted]).tolist()
        ]
        counts = [
            (place, f"{here.sum():,}", f"{here.sum() / n_rows:.1%}")
            for place, here in [*places, ("rejected", ~self.accepted)]
        ]
        shown = {name: column[:_FIRST_ROWS].tolist() for name, column in self.columns().items()}
        rows = [tuple(map(_cell, line)) for line in zip(*shown.values(), strict=True)]
        more = len(self) - len(rows)
        return fragment(
            title,
            table(("left at", "rows", "share"), counts, ("left at",)),
            f"<div>{table(tuple(shown), rows, ('id', 'label', 'reason'))}"
            f"{note(f'{more:,} more; to_pandas() has all.') if more else ''}</div>",
        )

    def to_pandas(self) -> pd.DataFrame:
        """A row per decision; the label is missing where rejected."""
        return to_pandas(self.columns())

    def to_polars(self) -> pl.DataFrame:
        """The same table for Polars."""
        return to_polars(self.columns())

    def to_pyarrow(self) -> pa.Table:
        """The same table for PyArrow."""
        return to_pyarrow(self.columns())

    def to_frame(self) -> Any:
        """The same table, as the kind of data frame that the rows came in; for pandas else."""
        return self.to_pandas() if self.frame is None else like(self.frame, self.columns())

    def columns(self) -> Columns:
        """The same as columns by name."""
        columns = {
            "id": self.ids,
            "label": self.labels,
            "accepted": self.accepted,
            "confidence": self.confidence,
            "stage": self.stage,
            "cost": self.cost,
            "reason": self.reasons,
        }
        return {name: column for name, column in columns.items() if column is not None}


@dataclass(frozen=True, slots=True)
class ExitReport:
    """Rows that left a cascade in one place: at a stage (from 1), or rejected (stage None).

    With sample weights, `n_rows` and `n_correct` are what the rows weigh. `confidence` is their
    mean; set beside `accuracy` it tells how honest the stage is about the rows it accepts.
    """

    stage: int | None
    features: tuple[str, ...]
    cost: float
    n_rows: float
    n_correct: float
    confidence: float = math.nan

    @classmethod
    def from_fields(cls, fields: Fields, stage: int | None, features: tuple[str, ...]) -> Self:
        """An exit of an `Evaluation`, read from a file, of a stage that buys these features."""
        for name, value in (("stage", stage), ("features", list(features))):
            if fields.get(name) != value:
                fields.refuse(name, f"{value}, as in the design", fields.get(name))
        n_rows = amount(fields, "n_rows")
        n_correct = amount(fields, "n_correct", n_rows)
        confidence = fields.number("confidence", 0, 1)
        return cls(stage, features, fields.number("cost", 0), n_rows, n_correct, confidence)

    @classmethod
    def joined(cls, parts: Sequence[ExitReport]) -> Self:
        """One of the rows of several, which left the same cascade in the same place."""
        first, n_rows = parts[0], sum(part.n_rows for part in parts)
        sure = sum(part.confidence * part.n_rows for part in parts) / (n_rows or 1)
        n_correct = min(n_rows, sum(part.n_correct for part in parts))
        return cls(first.stage, first.features, first.cost, n_rows, n_correct, min(1.0, sure))

    @property
    def accuracy(self) -> float:
        """Share of these rows with the right label; 0 where there are none."""
        return self.n_correct / (self.n_rows or 1)


@dataclass(frozen=True, slots=True)
class Evaluation(Objectives):
    """A cascade's three objectives on labelled rows, and where rows left.

    Attributes
    ----------
    n_rows : int or float
        How many; with sample weights, what they weigh.
    coverage, accuracy, cost : float
        Share of rows with a label; share of those that are right; mean cost of all rows.
    exits : tuple of ExitReport
        One per stage, and a last one for rejected rows, of which none counts as correct.
    """

    n_rows: float
    exits: tuple[ExitReport, ...]

    @classmethod
    def from_decisions(
        cls,
        decisions: Decisions,
        truth: AnyArray,
        weights: FloatArray | None,
        buys: Sequence[tuple[str, ...]],
        costs: Sequence[float] | None = None,
    ) -> Self:
        """How decisions compare with the true labels.

        Parameters
        ----------
        decisions : Decisions
        truth : ndarray of shape (n_rows,)
        weights : ndarray of shape (n_rows,) or None
            How much each row counts; None: 1 each.
        buys : sequence of tuple of str
            The features that each stage buys.
        costs : sequence of float, optional
            What a row has cost after each stage, where that is the same for all; by default exits
            have the mean cost of their rows.
        """
        right = decisions.accepted & (decisions.guesses == truth)
        counts = np.ones(len(decisions), dtype=np.int64) if weights is None else weights
        total, accepted = counts.sum().item(), counts[decisions.accepted].sum().item()
        return cls(
            n_rows=total,
            coverage=min(1.0, accepted / (total or 1)),  # sums of weights are rounded
            accuracy=min(1.0, counts[right].sum().item() / (accepted or 1)),
            cost=(decisions.cost @ counts).item() / (total or 1),
            exits=_exits(decisions, right, counts, buys, costs),
        )

    @classmethod
    def joined(cls, parts: Sequence[Self]) -> Self:
        """One of the rows of several, such as chunks of a file, for the same cascade."""
        if len(parts) == 1:
            return parts[0]
        exits = tuple(map(ExitReport.joined, zip(*(part.exits for part in parts), strict=True)))
        total = sum(part.n_rows for part in parts)
        accepted = sum(leave.n_rows for leave in exits if leave.stage is not None)
        return cls(
            n_rows=total,
            coverage=min(1.0, accepted / (total or 1)),
            accuracy=min(1.0, sum(leave.n_correct for leave in exits) / (accepted or 1)),
            cost=sum(part.cost * part.n_rows for part in parts) / (total or 1),
            exits=exits,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, nested as the attributes are."""
        return asdict(self)

    @classmethod
    def from_fields(cls, fields: Fields, buys: Sequence[tuple[str, ...]]) -> Self:
        """What `to_dict` gave, read from a file, for stages that buy these features."""
        places = [*enumerate(buys, start=1), (None, ())]
        exits = fields.many_fields("exits")
        if len(exits) != len(places):
            fields.refuse("exits", f"{len(places)} exits", f"{len(exits):,}")
        return cls(
            n_rows=amount(fields, "n_rows"),
            coverage=fields.number("coverage", 0, 1),
            accuracy=fields.number("accuracy", 0, 1),
            cost=fields.number("cost", 0),
            exits=tuple(
                ExitReport.from_fields(leave, *place)
                for leave, place in zip(exits, places, strict=True)
            ),
        )

    def _repr_html_(self) -> str:
        """A line per exit, for notebooks."""
        flow, lines = Flow.of_evaluation(self), []
        reached = [*(stage.reached for stage in flow.stages), flow.rejected]
        costs = aligned([leave.cost for leave in self.exits], digits=6)
        for leave, here, cost in zip(self.exits, reached, costs, strict=True):
            judged = leave.stage is not None and leave.n_rows > 0
            lines.append(
                (
                    "rejected" if leave.stage is None else f"stage {leave.stage}",
                    listed(leave.features, _MOST_NAMES),
                    cost,
                    f"{here:,.10g}",
                    f"{leave.n_rows:,.10g}",
                    f"{flow.share(leave.n_rows):.1%}",
                    f"{leave.accuracy:.1%}" if judged else "",
                    f"{leave.confidence:.1%}" if judged else "",
                )
            )
        headings = ("", "buys", "cost so far", "reach it", "leave", "of all", "right", "confidence")
        title = f"Evaluation on {counted(self.n_rows, 'row')}: {in_short(self)}"
        return fragment(title, table(headings, lines, ("", "buys")))

    def __repr__(self) -> str:
        """The objectives, then a line per exit."""
        lines = [
            f"Evaluation on {counted(self.n_rows, 'row')}: coverage {self.coverage:.3f}, "
            f"accuracy {self.accuracy:.3f}, cost {self.cost:.6g}"
        ]
        costs = aligned([leave.cost for leave in self.exits], digits=6)
        for leave, cost in zip(self.exits, costs, strict=True):
            place = "rejected" if leave.stage is None else f"stage {leave.stage}"
            judged = leave.stage is not None and leave.n_rows > 0
            right = f", accuracy {leave.accuracy:.3f}" if judged else ""
            rows = "row " if leave.n_rows == 1 else "rows"
            lines.append(f"  {place:<9} {leave.n_rows:>7,.10g} {rows} at cost {cost}{right}")
        return "\n".join(lines)


def _exits(
    decisions: Decisions,
    right: BoolArray,
    weights: FloatArray | IntArray,
    buys: Sequence[tuple[str, ...]],
    costs: Sequence[float] | None,
) -> tuple[ExitReport, ...]:
    places = [*enumerate(buys, start=1), (None, ())]
    fixed = [None] * len(places) if costs is None else [*costs, costs[-1]]
    reports = []
    for (stage, bought), cost in zip(places, fixed, strict=True):
        here = ~decisions.accepted if stage is None else decisions.accepted
        here = here if stage is None else here & (decisions.stage == stage)
        n_rows = weights[here].sum().item()
        n_correct = min(n_rows, weights[here & right].sum().item())
        sure = (decisions.confidence[here] @ weights[here]).item() / (n_rows or 1)
        paid = (decisions.cost[here] @ weights[here]).item() / (n_rows or 1)
        spent = paid if cost is None else cost
        reports.append(ExitReport(stage, bought, spent, n_rows, n_correct, min(1.0, sure)))
    return tuple(reports)


def _cell(value: Any) -> str:
    """A value of a table of decisions; a masked label is an empty one."""
    if value is None:
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def amount(fields: Fields, name: str, most: float = math.inf) -> float:
    """How many rows, as a whole number; or what they weigh."""
    found = fields.number(name, 0, most)
    return int(found) if type(fields.get(name)) is int else found
