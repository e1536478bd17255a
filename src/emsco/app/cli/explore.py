"""`emsco explore`: a run as a web page."""

from __future__ import annotations

import shlex
import sys
import webbrowser
from pathlib import Path
from typing import Annotated

import typer

from emsco.app.cli.options import AsJSON, Currency, RunFolder, Trusted
from emsco.app.cli.output import echo, print_json


def explore(
    run: RunFolder,
    out: Annotated[
        Path | None,
        typer.Option(
            help="File for the page; by default explorer.html in RUN.", show_default=False
        ),
    ] = None,
    show: Annotated[
        bool | None,
        typer.Option(
            "--open/--no-open",
            help="Open the page in your browser; by default in a terminal only.",
            show_default=False,
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
