"""Tables of designs in a terminal, with the lines of what there is without a cascade."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any, NamedTuple, Self

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
_SEEN = ("seen cov.", "seen acc.", "seen cost")
_LEAST_COST = 6
_LEAST_ROOM = 10


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
        found = (i for one in marked for i in by_cost if front[i] is one)
        kept = list(dict.fromkeys(found))  # one may have both marks
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
    most: int = 12,
    within: list[int] | None = None,
    see_all: str = "",
    best: ParetoPoint | None = None,
    spare: int = 0,
    every: bool = False,
    *,
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
    columns = _Columns.fitting(front, width, has_totals=costs is not None)
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
    own = ("coverage", metric_brief(front.metric), "cost", *columns.delay)
    _add_numbers(table, (*own, *columns.expected, *columns.total))
    _add_numbers(table, (*columns.ties, *columns.seen))
    if columns.has_names:
        table.add_column("buys first", no_wrap=True)
    cells = _figures(front, listing.shown, columns.expected, costs)
    for i, (own, more) in zip(listing.shown, cells, strict=False):
        point = front[i]
        buys = [Text(_first_stage(point.design, columns.room))] if columns.has_names else []
        marks = ("▶" if point is chosen else "") + ("✓" if point is best else "")
        name = _named(i, marks + ("" if point.is_informative else NO_BETTER), len(front))
        ties = [str(point.n_tied) for _ in columns.ties]
        table.add_row(name, *own, *ties, *more, *buys, style="bold" if point is chosen else "")
    table.add_section()
    for one, (own, more) in zip(front.references, cells[len(listing.shown) :], strict=True):
        table.add_row(_title(one), *own, *["" for _ in columns.ties], *more)
    return table


class _Columns(NamedTuple):
    """Columns that there is room for, and characters left for names of features."""

    delay: tuple[str, ...]
    expected: tuple[str, ...]
    total: tuple[str, ...]
    ties: tuple[str, ...]
    seen: tuple[str, ...]
    room: int

    @property
    def has_names(self) -> bool:
        return self.room >= _LEAST_ROOM

    @classmethod
    def fitting(cls, front: ParetoFront, width: int, *, has_totals: bool = False) -> Self:
        """Fill a width: seen figures come first, then the expected accuracy, then ties.

        Delays and totals are always there if features have delays and errors have costs.
        """
        seen, total = _SEEN if front.seen else (), (_TOTAL,) if has_totals else ()
        delay = (_DELAY,) if front.costs.has_delays else ()
        room = width - _NAMES - _NUMBERS - sum(len(heading) + 2 for heading in (*seen, *delay))
        room -= _TOTAL_ROOM if total else 0
        has_expected = all(point.expected is not None for point in front)
        expected = (_EXPECTED,) if has_expected and room >= _LEAST_ROOM else ()
        room -= sum(len(heading) + 2 for heading in expected)
        ties = ("ties",) if room >= _TIES else ()
        return cls(delay, expected, total, ties, seen, room - _TIES)


def reference_table(front: ParetoFront, number: int, costs: ErrorCosts | None = None) -> Table:
    """Return a table of a design's scored and seen figures, and of the references below.

    With costs of errors, it has a column of totals.
    """
    table = plain_table("", "")
    table.add_column("", no_wrap=True, min_width=_NAMES)
    delay = (_DELAY,) if front.costs.has_delays else ()
    total = () if costs is None else (_TOTAL,)
    _add_numbers(table, ("coverage", metric_brief(front.metric), "cost", *delay, *total))
    _add_numbers(table, _SEEN if front.seen else ())
    names = (Text(f"design {number}"), *map(_title, front.references))
    for name, (own, more) in zip(names, _figures(front, [number], (), costs), strict=True):
        table.add_row(name, *own, *more)
    return table


def new_table(number: int, new: Evaluation, references: Sequence[Reference]) -> Table:
    """Return a table of a design's figures on new rows, and of the references below."""
    table = plain_table("", "")
    table.add_column("new rows", no_wrap=True, min_width=_NAMES)
    _add_numbers(table, ("coverage", "accuracy", "cost", *((_TOTAL,) if new.total else ())))
    names = (Text(f"design {number}"), *map(_title, references))
    totals: list[list[str]] = [[] for _ in names]
    if new.total is not None:
        found = [new.total.value, *(one.total_with(new.total.costs).value for one in references)]
        totals = [[one] for one in aligned(found)]
    lines = objective_lines([new, *references])
    for name, figures, total in zip(names, lines, totals, strict=True):
        table.add_row(name, *figures, *total)
    return table


def _add_numbers(table: Table, headings: Sequence[str]) -> None:
    for heading in headings:
        least = _LEAST_COST if heading == "cost" else len(heading)
        table.add_column(heading, justify="right", no_wrap=True, min_width=least)


def _figures(
    front: ParetoFront,
    shown: Sequence[int],
    expected: Sequence[str] = (),
    costs: ErrorCosts | None = None,
) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Cells of scored and of seen figures, for some designs and then for the references."""
    points: list[Objectives] = [front[i] for i in shown]
    own: list[tuple[str, ...]] = [
        *objective_lines([*points, *(one.scored_by(front.metric) for one in front.references)])
    ]
    if front.costs.has_delays:
        waits = delay_cells(front, shown)
        own = [(*figures, one) for figures, one in zip(own, waits, strict=True)]
    if expected:
        found = [front[i].expected for i in shown]
        accuracy = [f"{one.accuracy.value:.1%}" if one else "" for one in found]
        pairs = zip(own, [*accuracy, *[""] * len(front.references)], strict=True)
        own = [(*figures, more) for figures, more in pairs]
    if costs is not None:
        found_totals = [*(front[i].total_with(costs) for i in shown)]
        found_totals += [one.total_with(costs) for one in front.references]
        totals = [one.value for one in found_totals]
        own = [(*figures, one) for figures, one in zip(own, aligned(totals), strict=True)]
    seen: list[tuple[str, ...]] = [()] * len(own)
    if front.seen:
        seen = [*objective_lines([*(front.seen[i] for i in shown), *front.seen_references])]
        seen += [("", "", "")] * (len(own) - len(seen))
    return list(zip(own, seen, strict=True))


def _named(number: int, marks: str, n_designs: int) -> Text:
    """Marks and number of a design, aligned below each other."""
    return Text(f"{marks:>3} {number:>{max(3, len(str(n_designs - 1)))}}")


def _title(reference: Reference) -> Text:
    """Name of a reference in a narrow column."""
    return Text(shorten(reference.title.replace("everything, all", "  all"), _NAMES))


def _reading(front: ParetoFront, listing: Listing, columns: _Columns) -> list[str]:
    """Explain the table of a front in short lines."""
    first = "the fittest" if front.by_fitness else "the best balanced"
    lines = [f"By cost. ▶ deployed; design 0 is {first}; ties share a line."]
    if columns.delay:
        lines.append("delay: the mean time that a row waits for the features it buys.")
    if columns.expected:
        accuracy = metric_name(front.metric)
        lines.append(f"expect: the {accuracy} that new rows will show, after luck is taken off.")
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
