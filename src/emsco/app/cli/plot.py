"""`emsco plot`: pictures of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from emsco.app.cli.options import AsJSON, Currency, Point, RunFolder, Trusted
from emsco.app.cli.output import echo, print_json


def plot(
    run: RunFolder,
    kind: Annotated[
        str,
        typer.Option(
            help="front, pairs or 3d: all designs; cascade: stages, features and rows of one; "
            "costs: its features by cost and stage; convergence: progress of the search; "
            "reliability or risk: how well its confidence matches accuracy on --data."
        ),
    ] = "front",
    out: Annotated[
        Path | None,
        typer.Option(help="PNG, SVG or PDF file; by default KIND.svg.", show_default=False),
    ] = None,
    point: Point = None,
    on: Annotated[
        str, typer.Option(help="Figures to draw: scored, seen or, for fronts, expected or both.")
    ] = "scored",
    data: Annotated[
        Path | None,
        typer.Option(help="CSV or Parquet file with labelled rows, for reliability and risk."),
    ] = None,
    width: Annotated[
        float, typer.Option(help="Inches; 3.4 fits a column of a paper, 7 a page.")
    ] = 3.4,
    currency: Currency = None,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """Draw a picture of a run: its front, a cascade, the search or a reliability diagram.

    For example:

        emsco plot heart-run --kind cascade --out cascade.pdf --width 7
    """
    from emsco.app.runs.run import Run
    from emsco.app.runs.views import check_plot, plot_run
    from emsco.plotting import write_figure

    check_plot(kind, on, data, currency)  # before the run is read
    figure = plot_run(
        Run.open(run, trusted or ()),
        kind,
        point=point,
        on=on,
        data=data,
        width=width,
        currency=currency,
    )
    path = write_figure(figure, out or Path(f"{kind}.svg"))
    if as_json:
        print_json({"run": str(run), "kind": kind, "out": str(path)})
    else:
        echo(f"Written to {path}.")
