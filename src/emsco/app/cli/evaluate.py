"""`emsco evaluate`: a design of a run on new labelled rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from emsco._base.checks import refused
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
from emsco.app.cli.output import echo, print_evaluation
from emsco.errors import Parameter


def evaluate(
    run: RunFolder,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="CSV or Parquet file with labelled rows.")
    ],
    target: Annotated[
        str | None,
        typer.Option(
            help="Column with the labels; by default the one of the run.", show_default=False
        ),
    ] = None,
    point: Point = None,
    by: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column whose values make subgroups; shows the figures of each.",
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
    than chance explains, that of the promise included. Otherwise there are too few rows to tell.

    With --error-cost and --reject-cost, or if the run was fitted or chosen with them, you also see
    the total of a row: its features, errors and rejections.

    For example:

        emsco evaluate heart-run march.csv --by ward --groups patient
    """
    from emsco._base.documents import write_text
    from emsco._base.progress import RowProgress
    from emsco.app.runs.evaluate import evaluate_run
    from emsco.app.runs.run import Run

    if out is not None and out.resolve() == data.resolve():
        rule = ("be another file than ", Parameter("data"))
        raise refused("out", rule, out, got=f"{str(out)!r} for both")
    found, costs = Run.open(run, trusted or ()), error_costs_given(error_cost, reject_cost)
    with interruptible("nothing is written"), RowProgress() as progress:
        more: dict[str, Any] = {"by": by, "groups": groups, "error_costs": costs}
        more["reading"] = read.reading()
        result = evaluate_run(found, data, target, point, progress.rows, **more)
    text = json.dumps({"run": str(run), "data": str(data), **result.to_dict()}, indent=2)
    if out is not None:
        write_text(out, text + "\n")
    if as_json:
        typer.echo(text)
        return
    print_evaluation(result)
    if out is not None:
        echo(f"Written to {out}.")
