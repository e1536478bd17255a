"""Fronts and cascades drawn in a terminal; plain text where there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from emsco.cascade import Cascade, Evaluation
from emsco.experiments.own_data import OwnComparison, label_of
from emsco.experiments.sweep_records import ThresholdSweep
from emsco.flow import Flow
from emsco.front import ParetoFront, ParetoPoint
from emsco.runs import DecisionCounts
from emsco.thresholds import in_words
from emsco.words import counted, in_short, listed, objective_words

__all__ = [
    "cascade_drawing",
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


def front_table(
    front: ParetoFront,
    chosen: ParetoPoint,
    width: int = 80,
    most: int = 12,
    within: list[int] | None = None,
    see_all: str = "",
) -> Table:
    """Different trade-offs of a front from cheap to dear, at most `most`, the chosen one marked.

    One line each; of what a design buys first, as many names as fit into `width`. `within` are
    positions to show alone; figures on test rows, where there are some, have columns of their own.
    Where lines are left out, the caption says how many, and by `see_all` how to have them.
    """
    shown, n_different = _shown(front, chosen, most, within)
    n_more, more = n_different - len(shown), ""
    if n_more:
        are = "1 more is" if n_more == 1 else f"{n_more} more are"
        more = f"; {are} not shown" + (f" ({see_all} shows all)" if see_all else "")
    tested = f", tests on {front.tests[0].n_rows:.10g}" if front.tests else ""
    table = _table(
        title=f"Front: held-out figures on {chosen.n_rows:.10g} rows{tested}",
        caption=f"By cost; # is the place in the front, designs that tie share a line{more}.",
    )
    tests = ("test cov.", "test acc.", "test cost") if front.tests else ()
    for heading in ("", "#", "coverage", "accuracy", "cost", "ties", *tests):
        least = max(_WIDEST.get(heading, 3), len(heading))
        table.add_column(heading, justify="right", no_wrap=True, min_width=least)
    room = width - _NUMBERS - sum(len(heading) + 2 for heading in tests)
    if room >= _LEAST_ROOM:
        table.add_column("buys first", no_wrap=True)
    for i in shown:
        point = front[i]
        first = _fitting(point.design.features(0), room)
        table.add_row(
            "▶" if point is chosen else "",
            str(i),
            *objective_words(point),
            str(point.n_tied),
            *(objective_words(front.tests[i]) if front.tests else ()),
            *([Text(first)] if room >= _LEAST_ROOM else []),
            style="bold" if point is chosen else "",
        )
    return table


def _table(title: str, caption: str, **look: Any) -> Table:
    """An empty table without a frame, what it shows above it and how to read it below."""
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
    """Where the rows of a file left, and what that cost."""
    n_rows = max(counts.n_rows, 1)
    saved = 1 - counts.cost / counts.cost_of_everything if counts.cost_of_everything else 0.0
    table = _table(
        title=f"{counted(counts.n_rows, 'row')}: {counts.n_accepted / n_rows:.1%} with a label",
        caption=f"Mean cost {counts.cost / n_rows:.4g}, {than_everything(saved)}.",
        padding=(0, 1),
    )
    for heading in ("left at", "rows", "share", "cost each"):
        table.add_column(heading, justify="left" if heading == "left at" else "right")
    table.add_column("which buys")
    for j, (n_left, cost) in enumerate(zip(counts.exits, cascade.stage_costs, strict=True)):
        buys = ", ".join(cascade.design.features(j))
        share = f"{n_left / n_rows:.1%}"
        table.add_row(f"stage {j + 1}", f"{n_left:,}", share, f"{cost:g}", Text(buys))
    rejected = counts.n_rows - counts.n_accepted
    share, cost = f"{rejected / n_rows:.1%}", cascade.stage_costs[-1]
    table.add_row("rejected", f"{rejected:,}", share, f"{cost:g}", "")
    return table


def than_everything(saved: float) -> str:
    """A share of what everything costs, saved or, with evaluation costs, spent on top."""
    return f"{abs(saved):.0%} {'less' if saved >= 0 else 'more'} than buying everything"


def cascade_drawing(
    front: ParetoFront,
    number: int,
    test: Evaluation | None = None,
    new: Evaluation | None = None,
) -> RenderableType:
    """The stages of a design from top to bottom: what each buys and costs, and who leaves there.

    Held-out, test and new rows have lines of their own, all but the first with their mean
    confidence. Tests are `test`, by default the front's.
    """
    flow, point = front.flow(number), front[number]
    test = front.tests[number] if test is None and front.tests else test
    found = {rows: one for rows, one in (("test", test), ("new", new)) if one is not None}
    flows = {"held out": flow} | {rows: Flow.of_evaluation(one) for rows, one in found.items()}
    threshold = f"a row leaves once confidence is at least {in_words(front.min_confidence)}"
    drawing = Tree(Text(f"Cascade of design {number}: {threshold}", "italic"))
    for j, stage in enumerate(flow.stages):
        branch = drawing.add(
            Text(f"stage {stage.number}, cost so far {stage.cost_so_far:g}", "bold")
        )
        buys = ", ".join(front.costs.in_words(stage.features))
        branch.add(Text(f"buys {buys}: cost {stage.cost:g}"))
        for rows, one in flows.items():
            sure = _sureness(found[rows], j) if rows in found else ""
            branch.add(Text(f"{rows:<8} {_leaving(one, j)}{sure}"))
    branch = drawing.add(Text(f"rejected, cost {flow.stages[-1].cost_so_far:g}", "bold"))
    for rows, one in flows.items():
        share = one.share(one.rejected)
        branch.add(Text(f"{rows:<8} {_bar(share)} {share:6.1%}: {counted(one.rejected, 'row')}"))
    branch = drawing.add(Text(f"altogether; everything costs {front.costs.total:g}", "bold"))
    for rows, one in flows.items():
        branch.add(Text(f"{rows:<8} {counted(one.n_rows, 'row')}: {in_short(one)}"))
    if point.design.left_out:
        drawing.add(Text(f"never bought: {', '.join(point.design.left_out)}"))
    return drawing


def _leaving(flow: Flow, j: int) -> str:
    """Who leaves at a stage, as a bar and in words."""
    stage = flow.stages[j]
    share = flow.share(stage.left)
    of = f"{stage.left:,.10g} of the {stage.reached:,.10g} here"
    right = f", {stage.accuracy:.1%} right" if stage.left else ""
    return f"{_bar(share)} {share:6.1%} leave: {of}{right}"


def _sureness(test: Evaluation, j: int) -> str:
    leave = test.exits[j]
    return f", {leave.confidence:.1%} sure" if leave.n_rows else ""


def _bar(share: float) -> str:
    return f"{'█' * round(share * _BAR):<{_BAR}}"


def _fitting(names: tuple[str, ...], room: int) -> str:
    """As many whole names as there is room for, and how many more there are."""
    for most in range(len(names), 0, -1):
        if len(text := listed(names, most)) <= room:
            return text
    return counted(len(names), "feature")


def comparison_table(cascade: Evaluation, everything: Evaluation) -> Table:
    """The cascade beside buying every feature for every row."""
    table = Table(title=f"On {cascade.n_rows:.10g} test rows", title_justify="left")
    for heading in ("", "coverage", "accuracy", "mean cost"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, result in (("this cascade", cascade), ("buying everything", everything)):
        table.add_row(name, *objective_words(result))
    return table


def methods_table(result: OwnComparison) -> Table:
    """What each method deploys, on the test rows."""
    title = f"On {result.n_rows[2]} test rows; buying everything costs {result.total_cost:g}"
    table = Table(title=title, title_justify="left")
    for heading in ("", "accuracy", "coverage", "mean cost", "seconds"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, outcome in result.deployed.items():
        coverage, accuracy, cost = objective_words(outcome.test)
        table.add_row(
            label_of(name),
            accuracy,
            coverage,
            cost,
            f"{result.results[name].seconds:.1f}",
        )
    return table


def sweep_table(sweep: ThresholdSweep, rule: str, width: int = 80) -> Table:
    """What a rule deploys at each threshold, on validation and on test rows.

    Where that is too wide, deviations stand below their means.
    """
    (_, n_val, n_test), lines = sweep.n_rows, sweep.lines(rule)
    differ = len({line.n_runs for line in lines}) > 1
    table = _table(
        title=f"The {rule} design at each threshold: {sweep.search}, {sweep.counted_runs('each')}",
        caption=f"val: {n_val:,} rows that chose it; test: {n_test:,} others. Accuracy and "
        f"coverage in %, ± deviation over runs. Buying everything costs {sweep.costs.total:g}.",
    )
    parts = [f"{part} {name}" for part in ("val", "test") for name in ("acc.", "cov.", "cost")]
    shown = [("threshold", *(["runs"] if differ else []), *parts)]
    for line in lines:
        cells = (*line.validation.cells(), *line.test.cells())
        runs = [str(line.n_runs)] if differ else []
        shown.append((f"{line.min_confidence:g}", *runs, *cells))
    room = sum(
        2 + max(len(text.replace(" ± ", "±")) for text in column)
        for column in zip(*shown, strict=True)
    )
    below = "\n" if room > width else ""
    for heading in shown[0]:
        table.add_column(heading.replace(" ", below or " "), justify="right", no_wrap=True)
    for row in shown[1:]:
        table.add_row(*(text.replace(" ± ", f"{below}±") for text in row))
    return table


def _shown(
    front: ParetoFront, chosen: ParetoPoint, most: int, within: list[int] | None
) -> tuple[list[int], int]:
    """Points of different trade-offs, spread evenly over cost, with the chosen; and how many."""
    first: dict[tuple[float, float, float], int] = {}
    for i in range(len(front)) if within is None else within:
        point = front[i]
        objectives = (point.cost, point.coverage, point.accuracy)
        if point is chosen or objectives not in first:
            first[objectives] = i
    by_cost = [first[objectives] for objectives in sorted(first)]
    if len(by_cost) <= most:
        return by_cost, len(by_cost)
    picked = {i for i in by_cost if front[i] is chosen}
    spread = np.linspace(0, len(by_cost) - 1, most - len(picked))
    picked |= {by_cost[round(p)] for p in spread}
    return [i for i in by_cost if i in picked], len(by_cost)
