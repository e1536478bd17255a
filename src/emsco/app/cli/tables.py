"""Tables of designs in a terminal, with the baselines below: what you get without a cascade."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, TypeAlias

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from emsco._base.objectives import Objectives, metric_brief, metric_name
from emsco._base.text import aligned, counted, listed, objective_lines, shorten, whole
from emsco.cascade import Evaluation
from emsco.designs.design import Design
from emsco.front import ParetoFront, ParetoPoint
from emsco.front.references import Reference
from emsco.front.tables import NO_BETTER, delay_cells, no_better
from emsco.stats.error_costs import ErrorCosts

_CAPTION = 78  # columns of a line below a table
_NAMES = 15  # characters of the column that names designs and references
_NUMBERS = 32  # characters of the columns of scored figures
_TIES = 6
_DELAY = "delay"
_EXPECTED = "expect"
_TOTAL, _TOTAL_ROOM = "total", 9
_FIGURES = ("coverage", "accuracy", "cost")
_SEEN = ("seen cov.", "seen acc.", "seen cost")
_LEAST_COST = 6
_LEAST_ROOM = 10

Columns: TypeAlias = Mapping[str, Sequence[str]]  # cells by heading


def plain_table(title: str, caption: str, **look: Any) -> Table:
    """Return an empty table without a frame, with its title above and its caption below."""
    return Table(
        title=title,
        caption=caption,
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        **{"padding": (0, 1, 0, 0), **look},
    )


@dataclass(frozen=True, slots=True)
class Listing:
    """The designs that a table shows.

    Attributes
    ----------
    shown : list of int
        Positions, by cost.
    n_noted : int
        Different designs that could be shown: those that differ beyond noise, or all.
    n_all : int
        Different designs.
    is_short : bool
        Whether designs that differ only by noise are left out.
    """

    shown: list[int]
    n_noted: int
    n_all: int
    is_short: bool

    @classmethod
    def pick(
        cls,
        front: ParetoFront,
        marked: Sequence[ParetoPoint | None],
        most: int,
        within: list[int] | None = None,
        spare: int = 0,
        every: bool = False,
    ) -> Listing:
        """Pick up to `most` designs with different trade-offs, evenly over costs.

        Marked ones are picked first. Unless `every`, the others are of the shortlist. If at most
        `spare` would be left out, none are.
        """
        by_cost = _different(front, marked, within)
        noted = [i for i in by_cost if front[i].shortlisted]
        is_short = not every and 0 < len(noted) < len(by_cost)
        if not is_short:
            noted = by_cost
        marked_at = (i for one in marked for i in by_cost if front[i] is one)
        kept = list(dict.fromkeys(marked_at))  # one may have both marks
        shown = sorted({*noted, *kept}, key=by_cost.index) if is_short else by_cost
        if len(shown) > most + spare:
            shown = _thinned(shown, kept[:most], most)
        return cls(shown, len(noted), len(by_cost), is_short)

    def caption(self, front: ParetoFront, see_all: str) -> list[str]:
        """Say which designs are left out, and how to see them."""
        n_shown = sum(not self.is_short or front[i].shortlisted for i in self.shown)
        if n_shown == self.n_all:
            return []
        some = f"{n_shown} of {self.n_noted:,}" if n_shown < self.n_noted else f"{n_shown}"
        what = "designs that differ" if self.n_noted > 1 else "design that differs"
        said = f"{some} {what} beyond noise, of {self.n_all:,}"
        if not self.is_short:
            said = f"{some} are shown, evenly from cheap to expensive"
        return [f"{said}; {see_all} shows all." if see_all else f"{said}."]


def front_table(
    front: ParetoFront,
    chosen: ParetoPoint,
    width: int = 80,
    *,
    most: int = 12,
    within: list[int] | None = None,
    see_all: str = "",
    best: ParetoPoint | None = None,
    spare: int = 0,
    every: bool = False,
    costs: ErrorCosts | None = None,
    is_limited: bool = True,
) -> Table:
    """Return a table of different trade-offs of a front, sorted by cost, and of the references.

    The chosen design is marked, and so is `best`, the one that limits would choose, or if nothing
    `is_limited`, the one with the lowest total. `costs` of errors add a column of totals. `within`
    holds the positions to show, by default all; `most`, `spare` and `every` say how many, see
    `Listing.pick`. Each line names as many features of the first stage as fit into `width`.
    Figures on test rows have their own columns. If lines are left out, the caption says how many,
    and `see_all` names the command that shows all.
    """
    listing = Listing.pick(front, (chosen, best), most, within, spare, every)
    shown = listing.shown
    no_references = [""] * len(front.references)
    columns = _scored_columns(front, shown)
    seen_columns = _seen_columns(front, shown)
    # Delays, totals and seen figures always have their columns; the others if there is room.
    room = width - _NAMES - _NUMBERS
    room -= sum(len(heading) + 2 for heading in seen_columns)
    room -= len(_DELAY) + 2 if _DELAY in columns else 0
    room -= _TOTAL_ROOM if costs is not None else 0
    if room >= _LEAST_ROOM and all(point.expected is not None for point in front):
        expected = [front[i].expected for i in shown]
        accuracies = [f"{one.accuracy.value:.1%}" if one else "" for one in expected]
        columns[_EXPECTED] = accuracies + no_references
        room -= len(_EXPECTED) + 2
    if costs is not None:
        columns[_TOTAL] = _totals(front, shown, costs)
    if room >= _TIES:
        columns["ties"] = [str(front[i].n_tied) for i in shown] + no_references
    room -= _TIES
    columns |= seen_columns
    seen = f", seen on {whole(front.seen[0].n_rows)}" if front.seen else ""
    table = plain_table(
        title=f"Front: scored on {chosen.rows_in_words}{seen}",
        caption="\n".join(
            [
                *_reading(front, listing, columns),
                *_marks(best, costs, is_limited=is_limited),
                *listing.caption(front, see_all),
            ]
        ),
    )
    table.add_column("design", no_wrap=True, min_width=7)
    _add_numbers(table, columns)
    if room >= _LEAST_ROOM:
        table.add_column("buys first", no_wrap=True)
    lines = list(zip(*columns.values(), strict=True))
    for i, cells in zip(shown, lines, strict=False):
        point = front[i]
        marks = ("▶" if point is chosen else "") + ("✓" if point is best else "")
        marks += "" if point.is_informative else NO_BETTER
        buys = [Text(_first_stage(point.design, room))] if room >= _LEAST_ROOM else []
        style = "bold" if point is chosen else ""
        table.add_row(_named(i, marks, len(front)), *cells, *buys, style=style)
    table.add_section()
    for reference, cells in zip(front.references, lines[len(shown) :], strict=True):
        table.add_row(_title(reference), *cells)
    return table


def reference_table(front: ParetoFront, number: int, costs: ErrorCosts | None = None) -> Table:
    """Return a table of a design's scored and seen figures, and of the references below.

    With costs of errors, it has a column of totals.
    """
    columns = _scored_columns(front, [number])
    if costs is not None:
        columns[_TOTAL] = _totals(front, [number], costs)
    columns |= _seen_columns(front, [number])
    return _named_lines("", number, front.references, columns)


def new_table(number: int, new: Evaluation, references: Sequence[Reference]) -> Table:
    """Return a table of a design's figures on new rows, and of the references below."""
    columns = dict(
        zip(_FIGURES, zip(*objective_lines([new, *references]), strict=True), strict=True)
    )
    if new.total is not None:
        costs = new.total.costs
        totals = [new.total.value, *(one.total_with(costs).value for one in references)]
        columns[_TOTAL] = tuple(aligned(totals))
    return _named_lines("new rows", number, references, columns)


def _named_lines(
    heading: str, number: int, references: Sequence[Reference], columns: Columns
) -> Table:
    """Return a table with a line for a design, and one for each reference."""
    table = plain_table("", "")
    table.add_column(heading, no_wrap=True, min_width=_NAMES)
    _add_numbers(table, columns)
    names = (Text(f"design {number}"), *map(_title, references))
    for name, cells in zip(names, zip(*columns.values(), strict=True), strict=True):
        table.add_row(name, *cells)
    return table


def _add_numbers(table: Table, headings: Iterable[str]) -> None:
    for heading in headings:
        least = _LEAST_COST if heading == "cost" else len(heading)
        table.add_column(heading, justify="right", no_wrap=True, min_width=least)


def _scored_columns(front: ParetoFront, shown: Sequence[int]) -> dict[str, Sequence[str]]:
    """Columns of scored figures by heading: cells of some designs, then of the references."""
    points: list[Objectives] = [front[i] for i in shown]
    points += [one.scored_by(front.metric) for one in front.references]
    coverage, accuracy, cost = zip(*objective_lines(points), strict=True)
    columns: dict[str, Sequence[str]] = {
        "coverage": coverage,
        metric_brief(front.metric): accuracy,
        "cost": cost,
    }
    if front.costs.has_delays:
        columns[_DELAY] = delay_cells(front, shown)
    return columns


def _seen_columns(front: ParetoFront, shown: Sequence[int]) -> dict[str, Sequence[str]]:
    """Columns of figures on test rows, if there are any."""
    if not front.seen:
        return {}
    lines = [*objective_lines([*(front.seen[i] for i in shown), *front.seen_references])]
    lines += [("", "", "")] * (len(shown) + len(front.references) - len(lines))
    return dict(zip(_SEEN, zip(*lines, strict=True), strict=True))


def _totals(front: ParetoFront, shown: Sequence[int], costs: ErrorCosts) -> list[str]:
    totals = [front[i].total_with(costs).value for i in shown]
    totals += [one.total_with(costs).value for one in front.references]
    return list(aligned(totals))


def _named(number: int, marks: str, n_designs: int) -> Text:
    """Marks and number of a design, aligned below each other."""
    return Text(f"{marks:>3} {number:>{max(3, len(str(n_designs - 1)))}}")


def _title(reference: Reference) -> Text:
    """Name of a reference in a narrow column."""
    return Text(shorten(reference.title.replace("everything, all", "  all"), _NAMES))


def _reading(front: ParetoFront, listing: Listing, columns: Columns) -> list[str]:
    """Explain the table of a front in short lines."""
    first = "the fittest" if front.by_fitness else "the best balanced"
    lines = [f"By cost. ▶ deployed; design 0 is {first}; ties share a line."]
    if _DELAY in columns:
        lines.append("delay: the mean time that a row waits for the features it buys.")
    if _EXPECTED in columns:
        accuracy = metric_name(front.metric)
        lines.append(f"expect: the {accuracy} that new rows will show, corrected for selection.")
    if not all(front[i].is_informative for i in listing.shown):
        lines.append(f"{no_better(front.references)}.")
    if front.references:
        lines.append("Last lines: what you get without a cascade.")
    return lines


def _marks(best: ParetoPoint | None, costs: ErrorCosts | None, *, is_limited: bool) -> list[str]:
    """Explain the mark of the best design, and totals."""
    lines = []
    if costs is not None:
        total = (
            f"total: features, errors and rejections of a row, with {costs}; as expected on new "
        )
        total += "rows where designs have expected figures, and as scored without a cascade."
        lines += wrap(total, _CAPTION)
    if best is not None and is_limited:
        best_of = "best balanced" if costs is None else "lowest total"
        lines.append(f"✓ is what emsco choose takes within these limits: the {best_of}.")
    elif best is not None:
        lines.append("✓ has the lowest total.")
    return lines


def _first_stage(design: Design, room: int) -> str:
    """List the features of the first stage, and its threshold if the stages differ."""
    at = design.threshold_in_words(0)
    at = f" {at}" if at and len(at) < room - _LEAST_ROOM else ""
    return f"{_fitting(design.features(0), room - len(at))}{at}"


def _fitting(names: tuple[str, ...], room: int) -> str:
    """List as many whole names as fit, and the number of others."""
    for most in range(len(names), 0, -1):
        if len(text := listed(names, most)) <= room:
            return text
    return counted(len(names), "feature")


def _different(
    front: ParetoFront, marked: Sequence[ParetoPoint | None], within: list[int] | None
) -> list[int]:
    """Positions of designs with different trade-offs, by cost; of equals a marked or listed one."""
    first: dict[tuple[float, float, float], int] = {}
    for i in range(len(front)) if within is None else within:
        point = front[i]
        objectives = (point.cost, point.coverage, point.accuracy)
        if objectives not in first or any(point is one for one in marked):
            first[objectives] = i
    return [first[objectives] for objectives in sorted(first)]


def _thinned(by_cost: Sequence[int], kept: Sequence[int], most: int) -> list[int]:
    """Pick some evenly, and those that must be kept."""
    others = [i for i in by_cost if i not in kept]
    # Halves go up: rounded to even, two neighbours could be one.
    places = np.linspace(0, len(others) - 1, most - len(kept)) + 0.5
    picked = {*kept, *(others[int(place)] for place in places)}
    return [i for i in by_cost if i in picked]
