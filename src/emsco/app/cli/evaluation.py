"""Draw evaluations in a terminal: intervals, promises and subgroups."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text

from emsco._base.text import counted, percent_with
from emsco.app.cli.terminal import EDGES, text_table
from emsco.cascade import Evaluation, Subgroups
from emsco.plotting.classes import ClassTable


def promise_drawing(new: Evaluation) -> Group:
    """Draw figures with intervals, what was promised, and the verdicts, as a table.

    The accuracy of each stage follows, for which nothing was promised.
    """
    stages = [report for report in new.exits if report.stage is not None and report.n_rows]
    within = dict(enumerate(new.intervals.exits, start=1))
    more = [
        (
            f"at stage {one.stage}",
            percent_with(one.accuracy, *within[one.stage or 0], digits=1),
            "",
            "",
        )
        for one in stages
    ]
    coverage, accuracy, cost = new.figure_lines()
    delay = [("delay", new.delays_in_words, "", "")] if new.worst_delay else []
    totals = () if new.total is None else new.total.lines()
    lines = (coverage, accuracy, *(more if len(stages) > 1 else ()), cost, *delay, *totals)
    basis = new.promise.basis if new.promise else ""
    headings = ("new rows", "seen", basis, "verdict")
    title = f"{counted(new.n_rows, 'new row')}, with {new.kind_of_intervals}"
    return Group(Text(title, "italic"), text_table(ClassTable(headings, lines)))


def subgroup_drawing(found: Subgroups, width: int = 80) -> Group:
    """Draw the figures of each subgroup as a table that fits `width`, with notes below."""
    table = text_table(found.table(width - EDGES))
    return Group(table, *map(Text, found.notes("--json")))
