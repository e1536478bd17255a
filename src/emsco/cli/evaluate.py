"""`emsco evaluate`: a run on labelled rows that came later."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from emsco.cli.commands import AsJSON, Point, RunFolder, Trusted, interruptible
from emsco.cli.show import draw_design

__all__ = ["evaluate"]


def evaluate(
    run: RunFolder,
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="CSV or Parquet file with labelled rows.")
    ],
    target: Annotated[
        str | None,
        typer.Option(help="Column with the labels; by default as in the run.", show_default=False),
    ] = None,
    point: Point = None,
    out: Annotated[
        Path | None, typer.Option(help="File for the figures, as --json prints them.")
    ] = None,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """What a design does on labelled rows that came later, beside what was known of it.

    Draws the cascade as `emsco show` does: rows held out to score designs, test rows where the run
    has some, and the new rows have lines of their own, with how many leave at each stage, how many
    of those are right, and what they cost. The file may be larger than memory.

    For example:

        emsco evaluate heart-run march.csv
    """
    from emsco._base.documents import write_text
    from emsco._base.progress import RowProgress
    from emsco.errors import ParameterError
    from emsco.runs.evaluate import evaluate_run
    from emsco.runs.run import Run

    if out is not None and out.resolve() == data.resolve():
        raise ParameterError(f"--out must be another file than DATA, got {str(out)!r} for both.")
    found = Run.open(run, trusted or ())
    with interruptible("nothing is written"), RowProgress() as progress:
        result = evaluate_run(found, data, target, point, progress.rows)
    text = json.dumps({"run": str(run), "data": str(data), **result.to_dict()}, indent=2)
    if out is not None:
        write_text(out, text + "\n")
    if as_json:
        typer.echo(text)
        return
    draw_design(found.front, result.number, result.new)
    if out is not None:
        typer.echo(f"Written to {out}.")
