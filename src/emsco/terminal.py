"""Fronts and cascades drawn in a terminal; plain text where there is none."""

from __future__ import annotations

import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from emsco.cascade import Cascade, Evaluation
from emsco.design import shorten
from emsco.front import ParetoFront, ParetoPoint

__all__ = ["cascade_drawing", "comparison_table", "front_table"]

_BAR = 24
_NUMBERS = 52  # characters that the columns of numbers take


def front_table(front: ParetoFront, chosen: ParetoPoint, width: int = 80, most: int = 12) -> Table:
    """Different trade-offs of a front from cheap to dear, at most `most`, the chosen one marked.

    One line each; what a design buys first is cut to fit into `width`.
    """
    shown, n_different = _shown(front, chosen, most)
    more = f"; {n_different - len(shown)} more are not shown" if len(shown) < n_different else ""
    table = Table(
        title=f"Front: held-out figures on {chosen.n_rows} rows",
        caption=f"By cost; # is the place in the front, designs that tie share a line{more}.",
        title_justify="left",
        caption_justify="left",
        box=SIMPLE_HEAD,
        pad_edge=False,
    )
    for heading in ("", "#", "coverage", "accuracy", "cost", "ties"):
        table.add_column(heading, justify="right", no_wrap=True, min_width=max(3, len(heading)))
    table.add_column("buys first", no_wrap=True)
    for i in shown:
        point = front[i]
        table.add_row(
            "▶" if point is chosen else "",
            str(i),
            f"{point.coverage:.1%}",
            f"{point.accuracy:.1%}",
            f"{point.cost:.4g}",
            str(point.n_tied),
            shorten(", ".join(point.design.features(0)), max(10, width - _NUMBERS)),
            style="bold" if point is chosen else "",
        )
    return table


def cascade_drawing(cascade: Cascade, evaluation: Evaluation) -> RenderableType:
    """The stages from top to bottom: what each buys, what a row has cost by then, who leaves."""
    threshold = f"sure means confidence ≥ {cascade.min_confidence:g}"
    drawing = Tree(Text(f"Cascade, on {evaluation.n_rows} test rows; {threshold}", "italic"))
    for leave in evaluation.exits:
        share = leave.n_rows / max(evaluation.n_rows, 1)
        rows = f"{'█' * round(share * _BAR)} {share:.1%} of rows"
        if leave.stage is None:
            drawing.add(Text(f"rejected {rows}, each at cost {leave.cost:g}"))
            continue
        stage = drawing.add(Text(f"stage {leave.stage}, cost so far {leave.cost:g}", "bold"))
        stage.add(Text(f"buys {', '.join(leave.features)}"))
        right = f", {leave.accuracy:.1%} of them right" if leave.n_rows else ""
        stage.add(Text(f"sure {rows} leave{right}"))
    return drawing


def comparison_table(cascade: Evaluation, everything: Evaluation) -> Table:
    """The cascade beside buying every feature for every row."""
    table = Table(title=f"On {cascade.n_rows} test rows", title_justify="left")
    for heading in ("", "coverage", "accuracy", "mean cost"):
        table.add_column(heading, justify="left" if not heading else "right")
    for name, result in (("this cascade", cascade), ("buying everything", everything)):
        table.add_row(
            name, f"{result.coverage:.1%}", f"{result.accuracy:.1%}", f"{result.cost:.4g}"
        )
    return table


def _shown(front: ParetoFront, chosen: ParetoPoint, most: int) -> tuple[list[int], int]:
    """Points of different trade-offs, spread evenly over cost, with the chosen; and how many."""
    first: dict[tuple[float, float, float], int] = {}
    for i, point in enumerate(front):
        objectives = (point.cost, point.coverage, point.accuracy)
        if point is chosen or objectives not in first:
            first[objectives] = i
    by_cost = [first[objectives] for objectives in sorted(first)]
    if len(by_cost) <= most:
        return by_cost, len(by_cost)
    picked = {by_cost[round(p)] for p in np.linspace(0, len(by_cost) - 1, most - 1)}
    picked.add(next(i for i, point in enumerate(front) if point is chosen))
    return [i for i in by_cost if i in picked], len(by_cost)
