"""`emsco evaluate`: a design of a run on new labelled rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emsco._base.text import counted, percent_with
from emsco.app.cli.endings import interruptible
from emsco.app.cli.options import (
    AsJSON,
    ErrorCost,
    HowToRead,
    Point,
    RejectCost,
    RunFolder,
    Trusted,
    error_costs_given,
)
from emsco.app.cli.output import console, echo

if TYPE_CHECKING:
    from rich.console import Group

    from emsco.cascade import Evaluation


def evaluate(
    run: RunFolder,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="CSV or Parquet file with labelled rows.")
    ],
    target: Annotated[
        str | None, typer.Option(help="Column with the labels; by default the one of the run.")
    ] = None,
    point: Point = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column whose values make subgroups; shows the figures of each."
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with the group of each row, such as the patient; widens intervals.",
        ),
    ] = None,
    error_cost: ErrorCost = None,
    reject_cost: RejectCost = None,
    *,
    read: HowToRead,
    out: Annotated[Path | None, typer.Option(help="JSON file for the figures.")] = None,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """Test a design on new labelled rows and show the figures beside its earlier ones.

    Draws the cascade like `emsco show`, with extra lines for the new rows. Each line says how many
    rows leave at a stage and the share of correct labels. The tables below have 95 % intervals,
    whether promises are kept, the figures that you get without a cascade, and those of each class,
    on the new rows. The file may be larger than memory.

    A promise is kept if the new figure is at least as good, and not kept if it is worse by more
    than chance explains, that of the promise included; otherwise it is as promised, within chance.
    If an interval is wider than 20 points, or than 40 % of a cost, there are too few rows to tell.

    With --error-cost and --reject-cost, or if the run was fitted or chosen with them, you also see
    the total of a row: its features, errors and rejections.

    For example:

        emsco evaluate heart-run march.csv --by ward --groups patient
    """
    from emsco._base.documents import write_text
    from emsco._base.progress import RowProgress
    from emsco.app.runs.decide import check_other_file
    from emsco.app.runs.evaluate import evaluate_run
    from emsco.app.runs.run import Run

    check_other_file(out, data, "data")
    opened, costs = Run.open(run, trusted or ()), error_costs_given(error_cost, reject_cost)
    with interruptible("nothing is written"), RowProgress() as progress:
        result = evaluate_run(
            opened,
            data,
            target,
            point,
            progress.rows,
            by=by,
            groups=groups,
            error_costs=costs,
            reading=read.reading(),
        )
    text = json.dumps({"run": str(run), "data": str(data), **result.to_dict()}, indent=2)
    if out is not None:
        write_text(out, text + "\n")
    if as_json:
        typer.echo(text)
        return
    from rich.text import Text

    from emsco.app.cli.terminal import EDGES, cascade_drawing, class_drawing, new_table, text_table
    from emsco.front.references import everything_of

    shown, new = console(), result.new
    shown.print(cascade_drawing(opened.front, result.number, new=new))
    shown.print(_promises(new))
    if new.promise is not None and new.promise.accuracy is None:
        said = (
            "Rows get the label of least expected cost, but the scored and expected accuracy are "
            "those of likeliest labels: there is no promise about it."
        )
        shown.print(said, highlight=False)
    if result.references:
        table = new_table(
            result.number, new, result.references, cheapest_label=result.cheapest_label
        )
        shown.print(table)
    if new.total is not None:
        shown.print(f"Totals: with {new.total.costs}.", highlight=False, markup=False)
    shown.print(
        class_drawing(
            new.by_class,
            shown.width,
            intervals=new.intervals,
            everything=everything_of(result.references),
        )
    )
    for groups_of_rows in (new.by_path, new.by):
        if groups_of_rows is not None:
            subgroups = text_table(groups_of_rows.table(shown.width - EDGES))
            shown.print(subgroups, *map(Text, groups_of_rows.notes("--json")))
    if out is not None:
        echo(f"Written to {out}.")


def _promises(new: Evaluation) -> Group:
    """Draw figures with intervals, what was promised, and the verdicts, as a table.

    The accuracy of each stage follows that of all rows; nothing was promised for it.
    """
    from rich.console import Group
    from rich.text import Text

    from emsco.app.cli.terminal import text_table
    from emsco.plotting.classes import ClassTable

    coverage, accuracy, cost = new.figure_lines()
    lines = [coverage, accuracy]
    stages = [report for report in new.exits if report.stage is not None and report.n_rows]
    if len(stages) > 1:
        for report in stages:
            interval = new.intervals.exits[(report.stage or 0) - 1]
            seen = percent_with(report.accuracy, *interval, digits=1)
            lines.append((f"at stage {report.stage}", seen, "", ""))
    lines += new.recall_lines()
    lines.append(cost)
    if new.worst_delay:
        lines.append(("delay", new.delays_in_words, "", ""))
    if new.total is not None:
        lines += new.total.lines()
    headings = ("new rows", "seen", new.promise.basis if new.promise else "", "verdict")
    title = f"{counted(new.n_rows, 'new row')}, with {new.kind_of_intervals}"
    return Group(Text(title, "italic"), text_table(ClassTable(headings, tuple(lines))))
