"""Draw cascades and results in a terminal, or as plain text in a log."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from emsco._base.objectives import metric_name
from emsco._base.text import aligned, counted, in_short, objective_lines, visible, whole
from emsco.app.cli.tables import plain_table
from emsco.app.runs.decide import DecisionCounts
from emsco.cascade import Cascade, Evaluation, Intervals
from emsco.designs.thresholds import leaving_in_words
from emsco.front import ParetoFront
from emsco.plotting.classes import ClassTable, class_notes, class_tables
from emsco.plotting.flow import Flow
from emsco.stats.by_class import ByClass

_BAR = 12
EDGES = 3  # characters on both sides of a table


def counts_table(cascade: Cascade, counts: DecisionCounts) -> Table:
    """Return a table of the rows of a file that left at each stage, and their cost."""
    n_rows = max(counts.n_rows, 1)
    saved = 1 - counts.cost / counts.cost_of_everything if counts.cost_of_everything else 0.0
    table = plain_table(
        title=f"{counted(counts.n_rows, 'row')}: {counts.n_accepted / n_rows:.1%} with a label",
        caption=f"Mean cost {counts.cost / n_rows:.4g}, {than_everything(saved)}.",
        padding=(0, 1),
    )
    for heading in ("left at", "rows", "share", "cost per row"):
        table.add_column(heading, justify="left" if heading == "left at" else "right")
    table.add_column("features")
    costs = aligned(counts.exit_costs, digits=6)
    for j, (n_left, cost) in enumerate(zip(counts.exits, costs, strict=False)):
        buys = ", ".join(cascade.design.features(j))
        table.add_row(f"stage {j + 1}", f"{n_left:,}", f"{n_left / n_rows:.1%}", cost, Text(buys))
    rejected = counts.n_rows - counts.n_accepted
    table.add_row("rejected", f"{rejected:,}", f"{rejected / n_rows:.1%}", costs[-1], "")
    return table


def than_everything(saved: float) -> str:
    """Say how much less, or more with evaluation costs, was spent than on all features."""
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
    flows = {"scored": flow} | {rows: one.flow() for rows, one in given.items()}
    sure = leaving_in_words(point.design.thresholds_or(front.min_confidence))
    drawing = Tree(Text(f"Cascade of design {number}: {sure}", "italic"))
    about = front.costs.about
    for j, stage in enumerate(flow.stages):
        rule = f": {rule}" if (rule := flow.rule(stage)) else ""
        waits = f", delay so far {stage.delay_so_far:g}" if flow.worst_delay else ""
        branch = drawing.add(
            Text(
                f"stage {stage.number}, cost so far {about}{stage.cost_so_far:g}{waits}{rule}",
                "bold",
            )
        )
        known = [name for earlier in flow.stages[:j] for name in earlier.features]
        buys = ", ".join(front.costs.in_words(stage.features, known))
        branch.add(Text(f"buys {buys}: cost {about}{stage.cost:g}"))
        for rows, one in flows.items():
            branch.add(Text(f"{rows:<8} {_leaving(one, j)}"))
    worst = f", delay {flow.worst_delay:g}" if flow.worst_delay else ""
    branch = drawing.add(
        Text(f"rejected, cost {about}{flow.stages[-1].cost_so_far:g}{worst}", "bold")
    )
    for rows, one in flows.items():
        share = one.share(one.rejected)
        branch.add(Text(f"{rows:<8} {_bar(share)} {share:6.1%}: {counted(one.rejected, 'row')}"))
    branch = drawing.add(
        Text(f"all rows; buying everything costs {about}{front.costs.total:g}", "bold")
    )
    for rows, one in flows.items():
        delay = f", delay {one.mean_delay:.4g}" if one.worst_delay else ""
        n_rows = point.rows_in_words if rows == "scored" else counted(one.n_rows, "row")
        branch.add(Text(f"{rows:<8} {n_rows}: {in_short(one)}{delay}"))
    if front.metric != "accuracy":  # the lines above have the plain one
        branch.add(Text(f"{'scored':<8} {metric_name(front.metric)} {point.accuracy:.1%}"))
    if point.design.left_out:
        drawing.add(Text(f"never bought: {', '.join(point.design.left_out)}"))
    return drawing


def class_drawing(
    by_class: ByClass,
    width: int = 80,
    all_in: str = "--json",
    title: str = "",
    *,
    brief: bool = False,
    intervals: Intervals | None = None,
) -> Group:
    """Draw the results of each class as tables that fit `width`, with notes below.

    If there are too many classes to show, the notes say that `all_in` has them all. A brief
    drawing leaves out the notes on the commonest class.
    """
    parts: list[RenderableType] = []
    for one in class_tables(by_class, width - EDGES, intervals):
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


def _leaving(flow: Flow, j: int) -> str:
    """Describe the rows that leave at a stage, as a bar and in words."""
    stage = flow.stages[j]
    share = flow.share(stage.left)
    of = f"{whole(stage.left)} of {whole(stage.reached)} here"
    correct = f", {stage.accuracy:.1%} correct" if stage.left else ""
    return f"{_bar(share)} {share:6.1%} of all leave: {of}{correct}"


def _bar(share: float) -> str:
    return f"{'█' * round(share * _BAR):<{_BAR}}"


def comparison_table(cascade: Evaluation, everything: Evaluation) -> Table:
    """Return a table that compares the cascade with buying every feature for every row."""
    table = Table(title=f"On {counted(cascade.n_rows, 'test row')}", title_justify="left")
    for heading in ("", "coverage", "accuracy", "mean cost"):
        table.add_column(heading, justify="left" if not heading else "right")
    names = ("this cascade", "buying everything")
    for name, figures in zip(names, objective_lines((cascade, everything)), strict=True):
        table.add_row(name, *figures)
    return table
