"""The paper's table of cost classes: the features of its sets by cost."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from emsco_lab.datasets import load
from emsco_lab.paper.study import Out, PrintJSON, Result, markdown, new_figure, publish

SETS = ("heart", "pima", "credit", "synthetic50")  # synthetic15 has no classes


def reproduce_costs(out: Out = Path("reproduce-costs"), as_json: PrintJSON = False) -> Result:
    """List the cost classes of the paper's sets and the source of each.

    The paper's own table is lost. Heart's classes are recovered from the authors' log; Pima's and
    Credit's follow the paper's rules. Synthetic15 has no classes.
    """
    sets, known = {}, {}
    for data in map(load, SETS):
        costs, names = data.costs.costs, np.array(data.names)
        sets[data.name] = {f"{one:g}": names[costs == one].tolist() for one in np.unique(costs)}
        known[data.name] = data.about_costs
    heads = ["class", *(f"{name} ({', '.join(classes)})" for name, classes in sets.items())]
    classes = [[", ".join(some) for some in one.values()] for one in sets.values()]
    lines = [[str(i), *line] for i, line in enumerate(zip_longest(*classes, fillvalue=""), 1)]
    table = "Features by cost class; the cost of each class in brackets.\n\n"
    table += markdown(" | ".join(heads), map(" | ".join, lines)) + "\n\n"
    table += "\n".join(f"- {name}: {how}" for name, how in known.items())
    result = {"experiment": "costs", "classes": sets, "known": known}
    return publish(out, result, table, _draw([heads, *lines]), as_json)


def _draw(lines: list[list[str]]) -> Figure:
    """Draw the table, as wide as a page."""
    cells = [[fill(cell, 24, break_long_words=False) for cell in line] for line in lines]
    heights = [max(cell.count("\n") + 1 for cell in line) for line in cells]
    figure = new_figure(7.0, 0.13 * sum(heights) + 0.3)
    panel = figure.subplots()
    panel.set_axis_off()
    look: dict[str, Any] = {"cellLoc": "left", "bbox": (0, 0, 1, 1)}
    grid = panel.table(cells, colWidths=[1, 3, 3, 3, 3], **look)
    grid.auto_set_font_size(value=False)
    grid.set_fontsize(7)
    for (line, _), cell in grid.get_celld().items():
        cell.set(height=heights[line] / sum(heights), linewidth=0, facecolor=("0.9", "w")[line % 2])
    return figure
