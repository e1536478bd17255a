"""Draw designs, cascades and results in a terminal, or as plain text in a log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from emsco._base.objectives import Estimate, Objectives, metric_brief, metric_name
from emsco._base.text import (
    aligned,
    counted,
    in_short,
    listed,
    objective_lines,
    rounded,
    shorten,
    some,
    visible,
    whole,
)
from emsco.cascade import Cascade, Evaluation, Intervals
from emsco.designs.design import Design
from emsco.designs.thresholds import leaving_in_words
from emsco.front import ParetoFront, ParetoPoint
from emsco.front.pictures import may_lack
from emsco.front.references import Reference, with_rejecting
from emsco.front.tables import NO_BETTER, delay_cells, no_better
from emsco.plotting.classes import ClassTable, class_notes, class_tables
from emsco.plotting.flow import LACKING_NOTE, Flow, FlowStage
from emsco.scoring.by_class import ByClass
from emsco.scoring.error_costs import ErrorCosts

if TYPE_CHECKING:
    from emsco.app.runs.decide import DecisionCounts

_NAMES = 15  # characters of the column that names designs and references
_NUMBERS = 32  # characters of the columns of scored figures
_TIES = 6
_MOST_COUNTED = 5  # columns that rows of a file wait for, or are warned of
_DELAY = "delay"
_EXPECTED = "expect"
_ERRORS, _TOTAL, _TOTAL_ROOM = "errors", "total", 9
_FIGURES = ("coverage", "accuracy", "cost")
_SEEN = ("seen cov.", "seen acc.", "seen cost")
_LEAST_COST = 6
_LEAST_ROOM = 10
_BAR = 12
_CERTIFIED = "★"
EDGES = 3  # characters on both sides of a table

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
    n_designs : int
        Designs, also those with the same trade-off.
    is_short : bool
        Whether designs that differ only by noise are left out.
    """

    shown: list[int]
    n_noted: int
    n_all: int
    n_designs: int
    is_short: bool

    @classmethod
    def pick(
        cls,
        front: ParetoFront,
        marked: Sequence[ParetoPoint | None],
        max_rows: int,
        within: list[int] | None = None,
        spare: int = 0,
        every: bool = False,
    ) -> Listing:
        """Pick up to `max_rows` designs with different trade-offs, evenly over costs.

        Marked ones are picked first. Unless `every`, the others are of the shortlist. If at most
        `spare` would be left out, none are.
        """
        # Of designs with the same trade-off, a marked one or else the first stands for all.
        different: dict[tuple[float, float, float], int] = {}
        places = range(len(front)) if within is None else within
        for i in places:
            point = front[i]
            objectives = (point.cost, point.coverage, point.accuracy)
            # By identity: points with equal figures must not share a mark.
            if objectives not in different or any(point is one for one in marked):
                different[objectives] = i
        by_cost = sorted(different.values(), key=lambda i: (front[i].cost, i))
        noted = [i for i in by_cost if front[i].shortlisted]
        is_short = not every and 0 < len(noted) < len(by_cost)
        if not is_short:
            noted = by_cost
        marked_at = (i for one in marked for i in by_cost if front[i] is one)
        kept = list(dict.fromkeys(marked_at))  # one may have both marks
        shown = sorted({*noted, *kept}, key=by_cost.index) if is_short else by_cost
        if len(shown) > max_rows + spare:
            # At least the first mark is shown, however few lines there are.
            kept = kept[:max_rows]
            others = [i for i in shown if i not in kept]
            # Halves go up: rounded to even, two neighbours could be one.
            evenly = np.linspace(0, len(others) - 1, max_rows - len(kept)) + 0.5
            picked = {*kept, *(others[int(place)] for place in evenly)}
            shown = [i for i in shown if i in picked]
        return cls(shown, len(noted), len(by_cost), len(places), is_short)

    def caption(self, front: ParetoFront, see_all: str) -> list[str]:
        """Say which designs are left out, and how to see them."""
        n_shown = sum(not self.is_short or front[i].shortlisted for i in self.shown)
        if n_shown == self.n_all:
            return []
        some = f"{n_shown} of {self.n_noted:,}" if n_shown < self.n_noted else f"{n_shown}"
        what = "designs that differ" if self.n_noted > 1 else "design that differs"
        said = f"{some} {what} beyond noise, of {self.n_designs:,}"
        if not self.is_short:
            said = f"{some} are shown, evenly from cheap to expensive"
        return [f"{said}; {see_all} shows all." if see_all else f"{said}."]


def front_table(
    front: ParetoFront,
    chosen: ParetoPoint,
    width: int = 80,
    *,
    max_rows: int = 12,
    within: list[int] | None = None,
    see_all: str = "",
    best: ParetoPoint | None = None,
    spare: int = 0,
    every: bool = False,
    costs: ErrorCosts | None = None,
    is_limited: bool = True,
    certified: Sequence[int] = (),
    cheapest_label: bool = False,
) -> Table:
    """Return a table of different trade-offs of a front, sorted by cost, and of the references.

    The chosen design is marked, and so are those at the positions `certified`, and `best`, the one
    that limits would choose, or if nothing `is_limited`, the one with the lowest total. `costs` of
    errors add a column of totals, with `cheapest_label` those of labels of least expected cost,
    and the reference that rejects everyone. `within` holds the positions to show, by default all;
    `max_rows`, `spare` and `every` say how many, see `Listing.pick`. Each line names as many
    features of the first stage as fit into `width`. Figures on test rows have their own columns. If
    lines are left out, the caption says how many, and `see_all` names the command that shows all.
    """
    listing = Listing.pick(front, (chosen, best), max_rows, within, spare, every)
    shown = listing.shown
    references = with_rejecting(front.references, costs)
    no_references = [""] * len(references)
    columns = _scored_columns(front, shown, references)
    seen_columns = _seen_columns(front, shown, costs)
    # Delays, totals and seen figures always have their columns; the others if there is room.
    room = width - _NAMES - _NUMBERS
    room -= sum(len(heading) + 2 for heading in seen_columns)
    room -= len(_DELAY) + 2 if _DELAY in columns else 0
    room -= _TOTAL_ROOM if costs is not None else 0
    room -= _TOTAL_ROOM if front.money is not None else 0
    by_money = front.money is not None  # then accuracy and ties matter less than what is bought
    # A column with holes would make people ask what is missing.
    has_expected = all(point.expected is not None for point in front)
    if room >= _LEAST_ROOM and has_expected and not by_money:
        expected = [front[i].expected for i in shown]
        accuracies = [f"{one.accuracy.value:.1%}" if one else "" for one in expected]
        columns[_EXPECTED] = accuracies + no_references
        room -= len(_EXPECTED) + 2
    if costs is not None:
        points = [front[i] for i in shown]
        columns |= _totals(front, points, references, costs, cheapest_label=cheapest_label)
    if not by_money:
        if room >= _TIES:
            columns["ties"] = [str(front[i].n_tied) for i in shown] + no_references
        room -= _TIES
    columns |= seen_columns
    seen = f", seen on {whole(front.seen[0].n_rows)}" if front.seen else ""
    table = plain_table(
        title=f"Front: scored on {chosen.rows_in_words}{seen}",
        caption="\n".join(
            [
                *_explained(
                    front,
                    listing,
                    columns,
                    best,
                    costs,
                    is_limited=is_limited,
                    cheapest_label=cheapest_label,
                ),
                *_certified_line(certified),
                *listing.caption(front, see_all),
            ]
        ),
    )
    table.add_column("design", no_wrap=True, min_width=7)
    _add_numbers(table, columns)
    # What is left names features, if it is wide enough to say anything.
    if room >= _LEAST_ROOM:
        table.add_column("buys first", no_wrap=True)
    lines = list(zip(*columns.values(), strict=True))
    for i, cells in zip(shown, lines, strict=False):
        point = front[i]
        marks = ("▶" if point is chosen else "") + ("✓" if point is best else "")
        marks += _CERTIFIED if i in certified else ""
        marks += "" if point.is_informative else NO_BETTER
        buys = [Text(_first_stage(point.design, room))] if room >= _LEAST_ROOM else []
        style = "bold" if point is chosen else ""
        # Marks stand in a column of their own, so that numbers line up.
        name = f"{marks:>3} {i:>{max(3, len(str(len(front) - 1)))}}"
        table.add_row(Text(name), *cells, *buys, style=style)
    table.add_section()
    for title, cells in zip(_titles(references), lines[len(shown) :], strict=True):
        table.add_row(title, *cells)
    return table


def reference_table(
    front: ParetoFront,
    number: int,
    costs: ErrorCosts | None = None,
    *,
    cheapest_label: bool = False,
) -> Table:
    """Return a table of a design's scored and seen figures, and of the references below.

    With costs of errors, it has a column of totals, as `front_table` has.
    """
    references = with_rejecting(front.references, costs)
    columns = _scored_columns(front, [number], references)
    if costs is not None:
        point = front[number]
        columns |= _totals(front, [point], references, costs, cheapest_label=cheapest_label)
    columns |= _seen_columns(front, [number], costs)
    return _named_lines("", number, references, columns)


def new_table(
    number: int,
    new: Evaluation,
    references: Sequence[Reference],
    *,
    cheapest_label: bool = False,
) -> Table:
    """Return a table of a design's figures on new rows, and of the references below."""
    costs = None if new.total is None else new.total.costs
    references = with_rejecting(references, costs)
    columns = dict(
        zip(_FIGURES, zip(*objective_lines([new, *references]), strict=True), strict=True)
    )
    if new.total is not None and costs is not None:
        totals = [one.total_with(costs, cheapest_label=cheapest_label).value for one in references]
        columns[_TOTAL] = tuple(aligned([new.total.value, *totals]))
    return _named_lines("new rows", number, references, columns)


def _named_lines(
    heading: str, number: int, references: Sequence[Reference], columns: Columns
) -> Table:
    """Return a table with a line for a design, and one for each reference."""
    table = plain_table("", "")
    table.add_column(heading, no_wrap=True, min_width=_NAMES)
    _add_numbers(table, columns)
    names = (Text(f"design {number}"), *_titles(references))
    for name, cells in zip(names, zip(*columns.values(), strict=True), strict=True):
        table.add_row(name, *cells)
    return table


def _add_numbers(table: Table, headings: Iterable[str]) -> None:
    for heading in headings:
        # Costs may have more digits than the heading has letters.
        min_width = _LEAST_COST if heading == "cost" else len(heading)
        table.add_column(heading, justify="right", no_wrap=True, min_width=min_width)


def _scored_columns(
    front: ParetoFront, shown: Sequence[int], references: Sequence[Reference]
) -> dict[str, Sequence[str]]:
    """Columns of scored figures by heading: cells of some designs, then of the references."""
    points: list[Objectives] = [front[i] for i in shown]
    points += [one.scored_by(front.metric) for one in references]
    coverage, accuracy, cost = zip(*objective_lines(points), strict=True)
    columns: dict[str, Sequence[str]] = {
        "coverage": coverage,
        metric_brief(front.metric): accuracy,
        "cost": cost,
    }
    if front.costs.has_delays:
        columns[_DELAY] = delay_cells(front, shown, references)
    return columns


def _seen_columns(
    front: ParetoFront, shown: Sequence[int], costs: ErrorCosts | None
) -> dict[str, Sequence[str]]:
    """Columns of figures on test rows, if there are any."""
    if not front.seen:
        return {}
    seen_references = with_rejecting(front.seen_references, costs)
    lines = [*objective_lines([*(front.seen[i] for i in shown), *seen_references])]
    # References may not have been measured on test rows; their cells are empty then.
    n_references = len(with_rejecting(front.references, costs))
    lines += [("", "", "")] * (len(shown) + n_references - len(lines))
    return dict(zip(_SEEN, zip(*lines, strict=True), strict=True))


def _totals(
    front: ParetoFront,
    points: Sequence[ParetoPoint],
    references: Sequence[Reference],
    costs: ErrorCosts,
    *,
    cheapest_label: bool,
) -> dict[str, Sequence[str]]:
    """Columns of totals and, if the search was for these, of what errors and rejections cost."""
    priced: list[ParetoPoint | Reference] = [*points, *references]
    totals = [one.total_with(costs, cheapest_label=cheapest_label) for one in priced]
    columns: dict[str, Sequence[str]] = {}
    if front.money is not None:
        columns[_ERRORS] = aligned([one.errors + one.rejections for one in totals])
    columns[_TOTAL] = aligned([one.value for one in totals])
    return columns


def _titles(references: Sequence[Reference]) -> list[Text]:
    """Names of references in a narrow column."""
    # "All answered" stands below "everything" where that rejects rows; alone, it is everything.
    has_both = any(one.kind == "everything" for one in references)
    answered = "  all answered" if has_both else "everything"
    titles = (answered if one.kind == "answered" else one.title for one in references)
    return [Text(shorten(title, _NAMES)) for title in titles]


def _explained(
    front: ParetoFront,
    listing: Listing,
    columns: Columns,
    best: ParetoPoint | None,
    costs: ErrorCosts | None,
    *,
    is_limited: bool,
    cheapest_label: bool,
) -> list[str]:
    """Explain the columns and marks of the table of a front in short lines."""
    fittest = "; design 0 is the fittest" if front.by_fitness else ""
    lines = [f"By cost. ▶ deployed{fittest}; ties share a line."]
    if _DELAY in columns:
        lines.append("delay: the mean time that a row waits for the features it buys.")
    if _EXPECTED in columns:
        accuracy = metric_name(front.metric)
        lines.append(f"expect: the {accuracy} that new rows will show, corrected for selection.")
    if not all(front[i].is_informative for i in listing.shown):
        lines.append(f"{no_better(front.references)}.")
    if front.references:
        lines.append("Last lines: what you get without a cascade.")
    if costs is not None:
        total = (
            f"total: features, errors and rejections of a row, with {costs}; as expected on new "
            "rows where designs have expected figures, and as scored without a cascade."
        )
        if _ERRORS in columns:
            total += " errors: what errors and rejections are of it."
        if cheapest_label and front.money is None:
            total += " Rows get the label of least expected cost; other columns are of likeliest."
        lines.append(total)
    if best is not None and is_limited:
        lines.append("✓ is what emsco choose takes within these limits.")
    elif best is not None:
        lines.append("✓ has the lowest total.")
    return lines


def _certified_line(certified: Sequence[int]) -> list[str]:
    if not certified:
        return []
    designs = counted(len(certified), "design")
    return [f"{_CERTIFIED} certified: {designs}; certificate.json has the promises."]


def _first_stage(design: Design, room: int) -> str:
    """List as many features of the first stage as fit, and its threshold if the stages differ."""
    if design.buys_nothing:
        return shorten(design.arrows(), room)
    at = design.threshold_in_words(0)
    at = f" {at}" if at and len(at) < room - _LEAST_ROOM else ""
    names = design.buys[0]
    # As many names as fit; at least one, or else their number.
    for n_named in range(len(names), 0, -1):
        if len(text := listed(names, n_named)) <= room - len(at):
            return f"{text}{at}"
    return f"{counted(len(names), 'feature')}{at}"


def counts_table(cascade: Cascade, counts: DecisionCounts) -> Table:
    """Return a table of the rows of a file that left at each stage, and their cost."""
    n_rows = max(counts.n_rows, 1)
    saved = 1 - counts.cost / counts.cost_of_everything if counts.cost_of_everything else 0.0
    title = f"{counted(counts.n_rows, 'row')}: {counts.n_accepted / n_rows:.1%} with a label"
    caption = f"Mean cost {rounded(counts.cost / n_rows)}, {than_everything(saved)}."
    if counts.n_waiting:
        title += f", {counts.n_rejected / n_rows:.1%} rejected"
        title += f", {counts.n_waiting / n_rows:.1%} waiting"
        caption = f"Mean cost so far {rounded(counts.cost / n_rows)}."
    table = plain_table(title=title, caption=caption, padding=(0, 1))
    for heading in ("left at", "rows", "share", "cost per row"):
        table.add_column(heading, justify="left" if heading == "left at" else "right")
    table.add_column("features")
    costs = aligned((*counts.exit_costs, *counts.waiting_costs), digits=6)
    buys = [Text(", ".join(bought) or "nothing") for bought in cascade.design.buys]
    stages = list(range(cascade.n_stages))
    places = [(f"stage {j + 1}", counts.exits[j], buys[j]) for j in stages]
    places.append(("rejected", counts.n_rejected, Text()))
    places += [(f"waiting for stage {j + 1}", counts.waiting[j], buys[j]) for j in stages]
    for cost, (place, n_here, features) in zip(costs, places, strict=True):
        if n_here or not place.startswith("waiting"):
            table.add_row(place, f"{n_here:,}", f"{n_here / n_rows:.1%}", cost, features)
    return table


def what_stands_out(counts: DecisionCounts) -> Iterator[str]:
    """Say what rows of a file still need, and how many are unlike the training rows."""
    if counts.absent:
        yield f"Not bought yet, because the file has no such column: {some(counts.absent)}."
    if counts.n_waiting:
        rows = counted(counts.n_waiting, "row")
        yield f"{rows} waiting for {_commonest(counts.needs)}; column needs says which."
    if counts.warnings:
        yield f"Unlike the training rows: {_commonest(counts.warnings)}; see column warnings."


def _commonest(rows_of: Mapping[str, int]) -> str:
    """List what the most rows have, and in how many."""
    return listed([f"{what} ({counted(n, 'row')})" for what, n in rows_of.items()], _MOST_COUNTED)


def than_everything(saved: float) -> str:
    """Say how much less, or more with evaluation costs, was spent than on all features."""
    # Compared as shown: less than half a percent is no difference to a reader.
    if f"{abs(saved):.0%}" == "0%":
        return "as much as buying everything"
    return f"{abs(saved):.0%} {'less' if saved >= 0 else 'more'} than buying everything"


def cascade_drawing(
    front: ParetoFront,
    number: int,
    seen: Evaluation | None = None,
    new: Evaluation | None = None,
) -> RenderableType:
    """Draw the stages of a design: the features and cost of each, and the rows that leave there.

    Scored, seen and new figures have their own lines, which fit 80 columns. `seen` is by default
    taken from the front.
    """
    flow, point = front.flow(number), front[number]
    seen = front.seen[number] if seen is None and front.seen else seen
    given = {rows: one for rows, one in (("seen", seen), ("new", new)) if one is not None}
    flows = {"scored": flow} | {rows: one.flow(point.design) for rows, one in given.items()}
    sure = leaving_in_words(point.design.thresholds_or(front.min_confidence))
    if point.design.buys_nothing:
        sure = point.design.arrows()
    title = Text(f"Cascade of design {number}: {sure}", "italic")
    about = front.costs.about
    if flow.is_chain:
        drawing = Tree(title)
        _add_chain(drawing, front, flows)
    else:
        drawing = _part_drawing(front, flows, flow.stages[0], title)
        if may_lack(front) and any(stage.is_usual for stage in flow.stages):
            drawing.add(Text(LACKING_NOTE))
    branch = drawing.add(
        Text(f"all rows; buying everything costs {about}{front.costs.total:g}", "bold")
    )
    for rows, one in flows.items():
        delay = f", delay {one.mean_delay:.4g}" if one.worst_delay else ""
        n_rows = point.rows_in_words if rows == "scored" else counted(one.n_rows, "row")
        branch.add(Text(f"{rows:<8} {n_rows}: {in_short(one)}{delay}"))
    if front.metric != "accuracy":  # the lines above have the plain one
        branch.add(Text(f"{'scored':<8} {metric_name(front.metric)} {point.accuracy:.1%}"))
    if point.design.left_out and not point.design.buys_nothing:
        drawing.add(Text(f"never bought: {', '.join(point.design.left_out)}"))
    return drawing


def _add_chain(drawing: Tree, front: ParetoFront, flows: Mapping[str, Flow]) -> None:
    """Add the stages of a chain, one below the other, and the rejected rows."""
    flow, about = flows["scored"], front.costs.about
    in_rows = {rows: one.in_whole_rows() for rows, one in flows.items()}
    for j, stage in enumerate(flow.stages):
        branch = drawing.add(Text(_stage_heading(front, flow, stage), "bold"))
        branch.add(Text(_bought(front, flow, stage)))
        for rows, one in flows.items():
            leaving, counts = one.stages[j], in_rows[rows].stages[j]
            share = one.share(leaving.left)
            of = f"{whole(counts.left)} of {whole(counts.reached)} here"
            correct = f", {leaving.accuracy:.1%} correct" if leaving.left else ""
            branch.add(Text(f"{rows:<8} {_bar(share)} {share:6.1%} of all leave: {of}{correct}"))
    worst = f", delay {flow.worst_delay:g}" if flow.worst_delay else ""
    branch = drawing.add(
        Text(f"rejected, cost {about}{flow.stages[-1].cost_so_far:g}{worst}", "bold")
    )
    for rows, one in flows.items():
        share = one.share(one.rejected)
        rejected = counted(in_rows[rows].rejected, "row")
        branch.add(Text(f"{rows:<8} {_bar(share)} {share:6.1%}: {rejected}"))


def _part_drawing(
    front: ParetoFront, flows: Mapping[str, Flow], first: FlowStage, title: Text
) -> Tree:
    """Draw the stages from one up to the next branch below a title, then what follows it."""
    flow = flows["scored"]
    in_rows = {rows: one.in_whole_rows() for rows, one in flows.items()}
    chain = flow.chain_from(first)
    for stage in chain:
        title.append(f"\n{_stage_heading(front, flow, stage)}", "bold")
        title.append(f"\n  {_bought(front, flow, stage)}")
        for rows, one in flows.items():
            leaving, counts = one.stages[stage.number - 1], in_rows[rows].stages[stage.number - 1]
            here = f"of {whole(counts.reached)} here"
            share, correct = one.share(leaving.left), f", {leaving.accuracy:.1%} correct"
            title.append(f"\n  {rows:<8} {share:6.1%} of all leave: {whole(counts.left)} {here}")
            title.append(correct if leaving.left else "")
            if one.may_reject(leaving):
                share, n_rows = one.share(leaving.rejected), whole(counts.rejected)
                title.append(f"\n  {rows:<8} {share:6.1%} of all rejected: {n_rows} {here}")
    drawing = Tree(title)
    for part in flow.after(chain[-1]):
        shares = [
            f"{rows} {one.share(one.stages[part.number - 1].reached):.1%}"
            for rows, one in flows.items()
        ]
        way = part.marked_way(may_lack=may_lack(front))
        heading = Text(f"{way}: {', '.join(shares)} of all", "italic")
        drawing.children.append(_part_drawing(front, flows, part, heading))
    return drawing


def _stage_heading(front: ParetoFront, flow: Flow, stage: FlowStage) -> str:
    """Number, cost, delay and rule of a stage."""
    rule = f": {rule}" if (rule := flow.rule(stage)) else ""
    waits = f", delay so far {stage.delay_so_far:g}" if flow.worst_delay else ""
    cost = f"{front.costs.about}{stage.cost_so_far:g}"
    return f"stage {stage.number}, cost so far {cost}{waits}{rule}"


def _bought(front: ParetoFront, flow: Flow, stage: FlowStage) -> str:
    """What a stage buys; fees that an earlier stage has paid are not listed again."""
    buys = ", ".join(front.costs.in_words(stage.features, flow.known(stage))) or "nothing"
    buys = f"{buys} more" if stage.before and not stage.features else buys
    return f"buys {buys}: cost {front.costs.about}{stage.cost:g}"


def class_drawing(
    by_class: ByClass,
    width: int = 80,
    all_in: str = "--json",
    title: str = "",
    *,
    brief: bool = False,
    intervals: Intervals | None = None,
    everything: ByClass | None = None,
    expected: Sequence[Estimate] = (),
) -> Group:
    """Draw the results of each class as tables that fit `width`, with notes below.

    `everything` has the results of buying everything, whose recall gets a column, and `expected`
    the recall of each class to expect on new rows. If there are too many classes to show, the notes
    say that `all_in` has them all. A brief drawing leaves out the notes on the commonest class.
    """
    parts: list[RenderableType] = []
    for one in class_tables(by_class, width - EDGES, intervals, everything, expected):
        parts.append(text_table(one, "" if parts else title))
    return Group(*parts, *map(Text, class_notes(by_class, all_in, brief=brief)))


def text_table(content: ClassTable, title: str = "") -> Table:
    """Return a table of text whose first column has names."""
    table = plain_table(title, "")
    for i, heading in enumerate(content.headings):
        table.add_column(Text(visible(heading)), justify="right" if i else "left", no_wrap=True)
    for line in content.lines:
        table.add_row(*(Text(visible(cell)) for cell in line))
    return table


def _bar(share: float) -> str:
    return f"{'█' * round(share * _BAR):<{_BAR}}"


def comparison_table(cascade: Evaluation, everything: Evaluation) -> Table:
    """Return a table that compares the cascade with buying every feature for every row."""
    table = plain_table(f"On {counted(cascade.n_rows, 'test row')}", "")
    for heading in ("", "coverage", "accuracy", "mean cost"):
        table.add_column(heading, justify="left" if not heading else "right")
    names = ("this cascade", "buying everything")
    for name, figures in zip(names, objective_lines((cascade, everything)), strict=True):
        table.add_row(name, *figures)
    return table
