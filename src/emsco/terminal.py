"""Fronts and cascades drawn in a terminal; plain text where there is none."""

from __future__ import annotations

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from emsco.cascade import Cascade, Evaluation
from emsco.experiments.own_data import OwnComparison, label_of
from emsco.experiments.sweep_records import ThresholdSweep
from emsco.front import ParetoFront, ParetoPoint
from emsco.runs import DecisionCounts
from emsco.thresholds import in_words
from emsco.words import shorten

__all__ = [
    "cascade_drawing",
    "comparison_table",
    "counts_table",
    "front_table",
    "methods_table",
    "sweep_table",
]

_BAR = 24
_NUMBERS = 46  # characters that the columns of numbers take
_WIDEST = {"cost": 6}
_LEAST_ROOM = 10


def front_table(
    front: ParetoFront,
    chosen: ParetoPoint,
    width: int = 80,
    most: int = 12,
    within: list[int] | None = None,
) -> Table:
    """Different trade-offs of a front from cheap to dear, at most `most`, the chosen one marked.

    One line each; what a design buys first is cut to fit into `width`. `within` are positions to
    show alone; figures on test rows, where there are some, have columns of their own.
    """
    shown, n_different = _shown(front, chosen, most, within)
    more = f"; {n_different - len(shown)} more are not shown" if len(shown) < n_different else ""
    tested = f", tests on {front.tests[0].n_rows:.10g}" if front.tests else ""
    table = Table(
        title=f"Front: held-out figures on {chosen.n_rows:.10g} rows{tested}",
        caption=f"By cost; # is the place in the front, designs that tie share a line{more}.",
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
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
        first = shorten(", ".join(point.design.features(0)), max(room, 1))
        table.add_row(
            "▶" if point is chosen else "",
            str(i),
            *_figures(point),
            str(point.n_tied),
            *(_figures(front.tests[i]) if front.tests else ()),
            *([Text(first)] if room >= _LEAST_ROOM else []),
            style="bold" if point is chosen else "",
        )
    return table


def _figures(result: ParetoPoint | Evaluation) -> tuple[str, str, str]:
    return f"{result.coverage:.1%}", f"{result.accuracy:.1%}", f"{result.cost:.4g}"


def counts_table(cascade: Cascade, counts: DecisionCounts) -> Table:
    """Where the rows of a file left, and what that cost."""
    n_rows = max(counts.n_rows, 1)
    saved = 1 - counts.cost / counts.cost_of_everything if counts.cost_of_everything else 0.0
    table = Table(
        title=f"{counts.n_rows:,} rows: {counts.n_accepted / n_rows:.1%} with a label",
        caption=f"Mean cost {counts.cost / n_rows:.4g}, {than_everything(saved)}.",
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
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


def cascade_drawing(cascade: Cascade, evaluation: Evaluation) -> RenderableType:
    """The stages from top to bottom: what each buys, what a row has cost by then, who leaves."""
    threshold = f"sure means confidence ≥ {in_words(cascade.min_confidence)}"
    drawing = Tree(Text(f"Cascade, on {evaluation.n_rows:.10g} test rows; {threshold}", "italic"))
    for leave in evaluation.exits:
        share = leave.n_rows / (evaluation.n_rows or 1)
        rows = f"{'█' * round(share * _BAR)} {share:.1%} of rows"
        if leave.stage is None:
            drawing.add(Text(f"rejected {rows}, each at cost {leave.cost:g}"))
            continue
        stage = drawing.add(Text(f"stage {leave.stage}, cost so far {leave.cost:g}", "bold"))
        stage.add(Text(f"buys {', '.join(leave.features)}"))
        right = f", {leave.accuracy:.1%} right at mean confidence {leave.confidence:.1%}"
        right = right if leave.n_rows else ""
        stage.add(Text(f"sure {rows} leave{right}"))
    return drawing


def comparison_table(cascade: Evaluation, everything: Evaluation) -> Table:
    """The cascade beside buying every feature for every row."""
    table = Table(title=f"On {cascade.n_rows:.10g} test rows", title_justify="left")
    for heading in ("", "coverage", "accuracy", "mean cost"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, result in (("this cascade", cascade), ("buying everything", everything)):
        table.add_row(
            name, f"{result.coverage:.1%}", f"{result.accuracy:.1%}", f"{result.cost:.4g}"
        )
    return table


def methods_table(result: OwnComparison) -> Table:
    """What each method deploys, on the test rows."""
    title = f"On {result.n_rows[2]} test rows; buying everything costs {result.total_cost:g}"
    table = Table(title=title, title_justify="left")
    for heading in ("", "accuracy", "coverage", "mean cost", "seconds"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, outcome in result.deployed.items():
        test = outcome.test
        table.add_row(
            label_of(name),
            f"{test.accuracy:.1%}",
            f"{test.coverage:.1%}",
            f"{test.cost:.4g}",
            f"{result.results[name].seconds:.1f}",
        )
    return table


def sweep_table(sweep: ThresholdSweep, rule: str) -> Table:
    """What a rule deploys at each threshold, on validation and on test rows."""
    (_, n_val, n_test), lines = sweep.n_rows, sweep.lines(rule)
    n_runs = max(line.n_runs for line in lines)
    how = f"{sweep.search}, {n_runs} {'run' if n_runs == 1 else 'runs'} each"
    table = Table(
        title=f"The {rule} design at each threshold: {how}",
        caption=f"val: {n_val:,} rows that chose it; test: {n_test:,} others. Accuracy and "
        f"coverage in %, ± deviation over runs. Buying everything costs {sweep.costs.total:g}.",
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
    )
    parts = [f"{part} {name}" for part in ("val", "test") for name in ("acc.", "cov.", "cost")]
    for heading in ("threshold", *parts):
        table.add_column(heading, justify="right", no_wrap=True)
    for line in lines:
        figures = [text.replace(" ", "") for text in (*line.validation.cells(), *line.test.cells())]
        table.add_row(f"{line.min_confidence:g}", *figures)
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
