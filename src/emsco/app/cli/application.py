"""The application: registers every command, and prints errors and warnings."""

from __future__ import annotations

import sys
import warnings
from io import TextIOWrapper
from typing import Annotated, Any

import typer

from emsco.app.cli.certify import certify
from emsco.app.cli.commands import Commands, names_of
from emsco.app.cli.decide import decide
from emsco.app.cli.demo import demo
from emsco.app.cli.designs import choose, front, show
from emsco.app.cli.endings import say
from emsco.app.cli.evaluate import evaluate
from emsco.app.cli.export import export
from emsco.app.cli.fit import RARE, fit
from emsco.app.cli.inspect import inspect
from emsco.app.cli.monitor import monitor
from emsco.app.cli.options import HowToRead
from emsco.app.cli.serve import serve
from emsco.app.cli.views import explore, plot
from emsco.app.cli.words import in_options
from emsco.errors import EMSCOError

app = Commands(
    add_completion=False,
    pretty_exceptions_enable=False,
    help=(
        "Budgeted, selective classification: classifiers that buy costly features stage by stage, "
        "stop as soon as they are sure, and decline to answer when they never become sure."
    ),
    epilog="Start with: emsco demo",
)
_HOW_TO_READ = names_of(HowToRead)
app.command()(demo)
app.command()(inspect)
app.command(rare=RARE)(fit)
app.command()(front)
app.command()(show)
app.command()(choose)
app.command(rare=_HOW_TO_READ)(certify)
app.command()(decide)
app.command()(evaluate)
app.command(rare=_HOW_TO_READ)(monitor)
app.command()(serve)
app.command()(plot)
app.command()(explore)
app.command()(export)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"emsco {version('emsco')}")
        raise typer.Exit


@app.callback()
def _options(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def run() -> None:
    """Run the command that was typed; an `EMSCOError` is one line and exit code 1."""

    def show_warning(message: Warning | str, *_where: Any, **_more: Any) -> None:
        say(f"warning: {in_options(message)}")

    warnings.showwarning = show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a log in ASCII gets ? for a bar, not an error
    try:
        app()
    except (EMSCOError, OSError) as error:
        say(in_options(error))
        raise SystemExit(1) from None
