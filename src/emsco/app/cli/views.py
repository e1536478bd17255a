"""`emsco plot` and `emsco explore`: a run as a picture and as a web page."""

from __future__ import annotations

import shlex
import sys
import webbrowser
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
            help="front, pairs or 3d: the designs that differ beyond noise; cascade: stages, "
            "features and rows of one; costs: its features by cost and stage; convergence: "
            "progress of the search; reliability or risk: how well its confidence matches "
            "accuracy on --data."
        ),
    ] = "front",
    out: Annotated[
        Path | None, typer.Option(help="PNG, SVG or PDF file; by default KIND.svg.")
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
        float | None,
        typer.Option(
            help="Inches; 3.4 fits a column of a paper, 7 a page. By default 3.4, and a page of "
            "A4 in landscape for a cascade that branches."
        ),
    ] = None,
    every: Annotated[
        bool,
        typer.Option(
            "--all", help="Draw all designs of a front, not only those that differ beyond noise."
        ),
    ] = False,
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
        every=every,
    )
    path = write_figure(figure, out or Path(f"{kind}.svg"))
    if as_json:
        print_json({"run": str(run), "kind": kind, "out": str(path)})
    else:
        echo(f"Written to {path}.")


def explore(
    run: RunFolder,
    out: Annotated[
        Path | None, typer.Option(help="File for the page; by default explorer.html in RUN.")
    ] = None,
    show: Annotated[
        bool | None,
        typer.Option(
            "--open/--no-open", help="Open the page in your browser; by default in a terminal only."
        ),
    ] = None,
    currency: Currency = None,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """Write the designs of a run to a web page: one file to explore and to share.

    The page needs no network. Drag limits and click designs on it; each is shown as a cascade,
    with the cost of its rows and the command that deploys it. If the run has a certificate, the
    page shows what it promises.

    For example:

        emsco explore heart-run --out heart.html --currency €
    """
    from emsco.app.explorer import check_vega
    from emsco.app.runs.run import Run
    from emsco.app.runs.views import explore_run

    opened = Run.open(run, trusted or ())
    check_vega()
    path = run / "explorer.html" if out is None else out
    trust = "".join(f" --trust {shlex.quote(name)}" for name in opened.cascade.untrusted_types)
    deploy = f"emsco choose {shlex.quote(str(run))}{trust} {{number}}"
    size = len(explore_run(opened, path, deploy, currency).encode())
    if as_json:
        print_json({"run": str(run), "out": str(path), "designs": len(opened.front), "bytes": size})
    else:
        echo(f"Written to {path} ({size / 1e6:.1f} MB, designs: {len(opened.front):,}).")
    if sys.stdout.isatty() and not as_json if show is None else show:
        webbrowser.open(path.resolve().as_uri())
