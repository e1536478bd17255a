"""Fronts and cascades drawn in a terminal; plain text where there is none."""

from __future__ import annotations

import numpy as np
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from emsco.cascade import Cascade, Evaluation
from emsco.front import ParetoFront, ParetoPoint

__all__ = ["cascade_drawing", "comparison_table", "front_table"]

_BAR = 24


def front_table(front: ParetoFront, chosen: ParetoPoint, most: int = 12) -> Table:
    """Different trade-offs of a front from cheap to dear, at most `most`, the chosen one marked."""
    table = Table(title=f"Front: held-out figures on {chosen.n_rows} rows", title_justify="left")
    for heading in ("", "#", "coverage", "accuracy", "cost", "stages", "ties"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("buys first")
    for i in _shown(front, chosen, most):
        point = front[i]
        table.add_row(
            "▶" if point is chosen else "",
            str(i),
            f"{point.coverage:.1%}",
            f"{point.accuracy:.1%}",
            f"{point.cost:.4g}",
            str(point.n_stages),
            str(point.n_tied),
            ", ".join(point.design.features(0)),
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


def _shown(front: ParetoFront, chosen: ParetoPoint, most: int) -> list[int]:
    """One point per trade-off, spread evenly over cost, always with the chosen one."""
    first: dict[tuple[float, float, float], int] = {}
    for i, point in enumerate(front):
        first.setdefault((point.cost, point.coverage, point.accuracy), i)
        if point is chosen:
            first[point.cost, point.coverage, point.accuracy] = i
    by_cost = [first[objectives] for objectives in sorted(first)]
    picked = {by_cost[round(p)] for p in np.linspace(0, len(by_cost) - 1, min(most, len(by_cost)))}
    picked.add(next(i for i, point in enumerate(front) if point is chosen))
    return [i for i in by_cost if i in picked]
