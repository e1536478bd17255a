"""Draw the tables of comparisons and sweeps in a terminal."""

from __future__ import annotations

from collections.abc import Callable

from rich.table import Table

from emsco._base.text import counted
from emsco.app.cli.tables import plain_table
from emsco.lab import (
    EMSCO,
    TESTED,
    MethodComparison,
    Standing,
    Task,
    ThresholdSweep,
    label_of,
    quick_words,
)


def accuracy_table(comparison: MethodComparison, task: Task) -> Table:
    """Return a table of the accuracy that each method kept, and promised, at each budget."""
    n_splits, n_test = len(comparison.splits), comparison.n_rows[1]
    title = f"{task.title}: accuracy kept (promised), %"
    table = plain_table(
        title="\n".join(filter(None, [title, quick_words(comparison)])),
        caption=f"On {counted(n_splits, 'split')} with {counted(n_test, 'test row')}. Columns: "
        f"largest mean cost, as a share of everything ({comparison.total_cost:g}).",
    )

    def kept(one: Standing) -> str:
        return f"{100 * one.mean.accuracy:.1f} ({100 * one.promised[:, 1].mean():.1f})"

    return _filled(table, comparison, task, kept)


def totals_table(comparison: MethodComparison, task: Task) -> Table:
    """Return a table of the mean total of a row that each method had at each budget."""
    table = plain_table(
        title=f"{task.title}: mean total of a row",
        caption=f"Features, {comparison.error_cost:g} for an error and "
        f"{comparison.reject_cost:g} for a rejection.",
    )

    def total(one: Standing) -> str:
        return f"{one.money(comparison.error_cost, comparison.reject_cost).mean():.4g}"

    return _filled(table, comparison, task, total)


def _filled(
    table: Table, comparison: MethodComparison, task: Task, cell: Callable[[Standing], str]
) -> Table:
    """Add a line for each method, with a cell for each budget."""
    table.add_column("")
    for budget in TESTED:
        table.add_column(f"{100 * budget:g} %", justify="right", no_wrap=True)
    for method in comparison.methods:
        cells = (cell(comparison.standing(method, task.coverage, budget)) for budget in TESTED)
        table.add_row(label_of(method), *cells, style="bold" if method == EMSCO else "")
    return table


def seconds_line(comparison: MethodComparison) -> str:
    """Return the processor time of each method in one sentence."""
    times = [f"{label_of(one)} {comparison.seconds(one):.1f}" for one in comparison.methods]
    return f"Seconds of processor time for a split: {', '.join(times)}."


def sweep_table(sweep: ThresholdSweep, rule: str, width: int = 80) -> Table:
    """Return a table of the designs that a rule deploys at each threshold, scored and seen.

    If the table would be too wide, deviations stand below their means.
    """
    (_, n_val, n_test), lines = sweep.n_rows, sweep.lines(rule)
    differ = len({line.n_repeats for line in lines}) > 1
    how = f"{sweep.search}, {sweep.counted_repeats('each')}"
    table = plain_table(
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
