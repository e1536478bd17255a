"""Draw fronts and cascades in a terminal, or as plain text in a log."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from emsco._base.objectives import metric_brief, metric_name
from emsco._base.text import aligned, counted, in_short, listed, objective_lines
from emsco.cascade import Cascade, Evaluation
from emsco.designs.thresholds import in_words
from emsco.front import ParetoFront, ParetoPoint
from emsco.pictures.classes import class_notes, class_tables
from emsco.pictures.flow import Flow
from emsco.runs.decide import DecisionCounts
from emsco.studies.compare_records import OwnComparison, label_of
from emsco.studies.sweep_records import ThresholdSweep

__all__ = [
    "cascade_drawing",
    "class_drawing",
    "comparison_table",
    "counts_table",
    "front_table",
    "methods_table",
    "sweep_table",
    "than_everything",
]

_BAR = 12
_NUMBERS = 46  # characters that the columns of numbers take
_WIDEST = {"cost": 6}
_LEAST_ROOM = 10
_EDGES = 3  # characters on both sides of a table


def front_table(
    front: ParetoFront,
    chosen: ParetoPoint,
    width: int = 80,
    most: int = 12,
    within: list[int] | None = None,
    see_all: str = "",
    best: ParetoPoint | None = None,
    spare: int = 0,
) -> Table:
    """Return a table of up to `most` different trade-offs of a front, sorted by cost.

    The chosen design is marked, and so is `best`, the one that limits would choose. `within` holds
    the positions to show, by default all. Each line names as many features of the first stage as
    fit into `width`. Figures on test rows have their own columns. If lines are left out, the
    caption says how many, and `see_all` names the command that shows all. If at most `spare` lines
    would be left out, none are.
    """
    shown, n_different = _shown(front, (chosen, best), most, within, spare)
    seen = f", seen on {front.seen[0].n_rows:.10g}" if front.seen else ""
    table = _table(
        title=f"Front: scored on {counted(chosen.n_rows, 'row')}{seen}",
        caption=_reading(front, len(shown), n_different, see_all, best is not None),
    )
    headings = ("seen cov.", "seen acc.", "seen cost") if front.seen else ()
    accuracy = metric_brief(front.metric)
    for heading in ("", "#", "coverage", accuracy, "cost", "ties", *headings):
        least = max(_WIDEST.get(heading, 3), len(heading))
        table.add_column(heading, justify="right", no_wrap=True, min_width=least)
    room = (
        width
        - _NUMBERS
        + len("accuracy")
        - len(accuracy)
        - sum(len(heading) + 2 for heading in headings)
    )
    if room >= _LEAST_ROOM:
        table.add_column("buys first", no_wrap=True)
    figures = objective_lines([front[i] for i in shown])
    found = objective_lines([front.seen[i] for i in shown]) if front.seen else [()] * len(shown)
    for i, own, more in zip(shown, figures, found, strict=True):
        point = front[i]
        first = _fitting(point.design.features(0), room)
        marks = ("▶" if point is chosen else "") + ("✓" if point is best else "")
        cells = (marks, str(i), *own, str(point.n_tied), *more)
        buys = [Text(first)] if room >= _LEAST_ROOM else []
        table.add_row(*cells, *buys, style="bold" if point is chosen else "")
    return table


def _reading(front: ParetoFront, n_shown: int, n_all: int, see_all: str, limited: bool) -> str:
    """Explain the table of a front in short lines."""
    first = "the fittest" if front.by_fitness else "the best balanced"
    lines = [f"By cost. ▶ deployed; # rank, 0 is {first}; ties share a line."]
    if limited:
        lines.append("✓ is the design that emsco choose takes within these limits.")
    if n_shown < n_all:
        how = f"; {see_all} shows all" if see_all else ""
        lines.append(f"{n_shown} of {n_all:,} are shown, evenly from cheap to expensive{how}.")
    return "\n".join(lines)


def _table(title: str, caption: str, **look: Any) -> Table:
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


def counts_table(cascade: Cascade, counts: DecisionCounts) -> Table:
    """Return a table of the rows of a file that left at each stage, and their cost."""
    n_rows = max(counts.n_rows, 1)
    saved = 1 - counts.cost / counts.cost_of_everything if counts.cost_of_everything else 0.0
    table = _table(
        title=f"{counted(counts.n_rows, 'row')}: {counts.n_accepted / n_rows:.1%} with a label",
        caption=f"Mean cost {counts.cost / n_rows:.4g}, {than_everything(saved)}.",
        padding=(0, 1),
    )
    for heading in ("left at", "rows", "share", "cost per row"):
        table.add_column(heading, justify="left" if heading == "left at" else "right")
    table.add_column("features")
    costs = aligned(cascade.stage_costs.tolist(), digits=6)
    for j, (n_left, cost) in enumerate(zip(counts.exits, costs, strict=True)):
        buys = ", ".join(cascade.design.features(j))
        table.add_row(f"stage {j + 1}", f"{n_left:,}", f"{n_left / n_rows:.1%}", cost, Text(buys))
    rejected = counts.n_rows - counts.n_accepted
    table.add_row("rejected", f"{rejected:,}", f"{rejected / n_rows:.1%}", costs[-1], "")
    return table


def than_everything(saved: float) -> str:
    """Say how much less, or more with evaluation costs, was spent than on all features."""
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
    found = {rows: one for rows, one in (("seen", seen), ("new", new)) if one is not None}
    flows = {"scored": flow} | {rows: Flow.from_evaluation(one) for rows, one in found.items()}
    threshold = f"a row leaves once confidence is at least {in_words(front.min_confidence)}"
    drawing = Tree(Text(f"Cascade of design {number}: {threshold}", "italic"))
    for j, stage in enumerate(flow.stages):
        branch = drawing.add(
            Text(f"stage {stage.number}, cost so far {stage.cost_so_far:g}", "bold")
        )
        buys = ", ".join(front.costs.in_words(stage.features))
        branch.add(Text(f"buys {buys}: cost {stage.cost:g}"))
        for rows, one in flows.items():
            branch.add(Text(f"{rows:<8} {_leaving(one, j)}"))
    branch = drawing.add(Text(f"rejected, cost {flow.stages[-1].cost_so_far:g}", "bold"))
    for rows, one in flows.items():
        share = one.share(one.rejected)
        branch.add(Text(f"{rows:<8} {_bar(share)} {share:6.1%}: {counted(one.rejected, 'row')}"))
    branch = drawing.add(Text(f"all rows; buying everything costs {front.costs.total:g}", "bold"))
    for rows, one in flows.items():
        branch.add(Text(f"{rows:<8} {counted(one.n_rows, 'row')}: {in_short(one)}"))
    if front.metric != "accuracy":  # the lines above have the plain one
        branch.add(Text(f"{'scored':<8} {metric_name(front.metric)} {point.accuracy:.1%}"))
    if point.design.left_out:
        drawing.add(Text(f"never bought: {', '.join(point.design.left_out)}"))
    return drawing


def class_drawing(evaluation: Evaluation, width: int = 80, all_in: str = "--json") -> Group:
    """Draw the results of each class as tables that fit `width`, with notes below.

    If there are too many classes to show, the notes say that `all_in` has them all.
    """
    parts: list[RenderableType] = []
    for one in class_tables(evaluation.by_class, width - _EDGES):
        table = _table("", "")
        for i, heading in enumerate(one.headings):
            table.add_column(Text(heading), justify="right" if i else "left", no_wrap=True)
        for line in one.lines:
            table.add_row(*map(Text, line))
        parts.append(table)
    notes = class_notes(evaluation.by_class, all_in)
    return Group(*parts, *map(Text, notes))


def _leaving(flow: Flow, j: int) -> str:
    """Describe the rows that leave at a stage, as a bar and in words."""
    stage = flow.stages[j]
    share = flow.share(stage.left)
    of = f"{stage.left:,.10g} of {stage.reached:,.10g} here"
    correct = f", {stage.accuracy:.1%} correct" if stage.left else ""
    return f"{_bar(share)} {share:6.1%} of all leave: {of}{correct}"


def _bar(share: float) -> str:
    return f"{'█' * round(share * _BAR):<{_BAR}}"


def _fitting(names: tuple[str, ...], room: int) -> str:
    """List as many whole names as fit, and the number of others."""
    for most in range(len(names), 0, -1):
        if len(text := listed(names, most)) <= room:
            return text
    return counted(len(names), "feature")


def comparison_table(cascade: Evaluation, everything: Evaluation) -> Table:
    """Return a table that compares the cascade with buying every feature for every row."""
    table = Table(title=f"On {counted(cascade.n_rows, 'test row')}", title_justify="left")
    for heading in ("", "coverage", "accuracy", "mean cost"):
        table.add_column(heading, justify="left" if not heading else "right")
    names = ("this cascade", "buying everything")
    for name, figures in zip(names, objective_lines((cascade, everything)), strict=True):
        table.add_row(name, *figures)
    return table


def methods_table(result: OwnComparison) -> Table:
    """Return a table of the figures of each method on the test rows."""
    title = (
        f"On {counted(result.n_rows[2], 'test row')}; buying everything costs {result.total_cost:g}"
    )
    table = Table(title=title, title_justify="left")
    for heading in ("", "accuracy", "coverage", "mean cost", "seconds"):
        table.add_column(heading, justify="left" if not heading else "right")
    figures = objective_lines([outcome.seen for outcome in result.deployed.values()])
    for name, (coverage, accuracy, cost) in zip(result.deployed, figures, strict=True):
        seconds = f"{result.results[name].seconds:.1f}"
        table.add_row(label_of(name), accuracy, coverage, cost, seconds)
    return table


def sweep_table(sweep: ThresholdSweep, rule: str, width: int = 80) -> Table:
    """Return a table of the designs that a rule deploys at each threshold, scored and seen.

    If the table would be too wide, deviations stand below their means.
    """
    (_, n_val, n_test), lines = sweep.n_rows, sweep.lines(rule)
    differ = len({line.n_repeats for line in lines}) > 1
    how = f"{sweep.search}, {sweep.counted_repeats('each')}"
    table = _table(
        title=f"The {rule} design at each threshold: {how}",
        caption=f"Scored: {counted(n_val, 'row')} used to choose it; seen: {n_test:,} others. "
        "Accuracy and coverage in %, ± deviation over repeats. Buying everything costs "
        f"{sweep.costs.total:g}.",
    )
    parts = [f"{part} {name}" for part in ("scored", "seen") for name in ("acc.", "cov.", "cost")]
    shown = [("threshold", *(["repeats"] if differ else []), *parts)]
    for line, cells in zip(lines, sweep.cells(rule), strict=True):
        repeats = [str(line.n_repeats)] if differ else []
        shown.append((f"{line.min_confidence:g}", *repeats, *cells))
    room = sum(
        2 + max(len(word) for text in column for word in text.replace(" ± ", "±").split())
        for column in zip(*shown, strict=True)
    )
    below = "\n" if room > width else ""
    for heading in shown[0]:
        table.add_column(heading.replace(" ", "\n"), justify="right", no_wrap=True)
    for row in shown[1:]:
        table.add_row(*(text.replace(" ± ", f"{below}±") for text in row))
    return table


def _shown(
    front: ParetoFront,
    marked: tuple[ParetoPoint | None, ...],
    most: int,
    within: list[int] | None,
    spare: int,
) -> tuple[list[int], int]:
    """Pick points with different trade-offs evenly over costs; also return how many there are."""
    first: dict[tuple[float, float, float], int] = {}
    for i in range(len(front)) if within is None else within:
        point = front[i]
        objectives = (point.cost, point.coverage, point.accuracy)
        if objectives not in first or any(point is one for one in marked):
            first[objectives] = i
    by_cost = [first[objectives] for objectives in sorted(first)]
    if len(by_cost) <= most + spare:
        return by_cost, len(by_cost)
    found = (i for one in marked for i in by_cost if front[i] is one)
    kept = list(dict.fromkeys(found))[:most]  # one may have both marks
    others = [i for i in by_cost if i not in kept]
    # Halves go up: rounded to even, two neighbours could be one.
    places = np.linspace(0, len(others) - 1, most - len(kept)) + 0.5
    picked = {*kept, *(others[int(place)] for place in places)}
    return [i for i in by_cost if i in picked], len(by_cost)
