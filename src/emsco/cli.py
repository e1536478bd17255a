"""The command line; every command calls one public function and draws what it returns."""

from __future__ import annotations

import json
from importlib.metadata import version
from typing import Annotated

import typer

__all__ = ["main"]

_INTERRUPTED = 130  # what a shell reports for a program that Ctrl-C has ended

app = typer.Typer(
    rich_markup_mode="markdown",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help=(
        "Budgeted, selective classification: classifiers that buy costly features stage by stage, "
        "stop as soon as they are sure, and decline to answer when they never become sure."
    ),
    epilog="Start with: emsco demo",
)


def _show_version(wanted: bool) -> None:
    if wanted:
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


@app.command()
def demo(
    seed: Annotated[
        int,
        typer.Option(min=0, help="Seed of the split and of the search; the same gives the same."),
    ] = 0,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one JSON object instead of tables.")
    ] = False,
) -> None:
    """The whole story on data that comes with scikit-learn, in seconds.

    Takes the breast-cancer data (569 samples, 30 measurements) with a declared cost for each
    measurement, searches for cascades, shows the trade-offs found, and tests the chosen cascade
    on rows kept aside against buying every measurement for everyone.
    """
    from emsco.demo import run_demo

    result = run_demo(seed=seed, verbose=1)
    if as_json:
        typer.echo(json.dumps(result.to_dict(), indent=2))
        return
    from rich.console import Console

    from emsco.terminal import cascade_drawing, comparison_table, front_table

    classifier = result.classifier
    console = Console()
    console.print(f"Search ended: {classifier.stop_reason_}.\n")
    console.print(front_table(classifier.front_, classifier.point_, console.width))
    console.print()
    console.print(cascade_drawing(classifier.cascade_, result.test))
    console.print()
    console.print(comparison_table(result.test, result.everything))
    saved = 1 - result.test.cost / result.everything.cost
    console.print(f"The cascade spends {saved:.0%} less than buying everything.")
    if classifier.stop_reason_.startswith("interrupted"):
        raise typer.Exit(_INTERRUPTED)


def main() -> None:
    """Run the command line; an error of emsco's own is one line and exit code 1."""
    from emsco.errors import EMSCOError

    try:
        app()
    except EMSCOError as error:
        typer.echo(f"emsco: {error}", err=True)
        raise SystemExit(1) from None
    except KeyboardInterrupt:
        typer.echo("emsco: interrupted before there was anything to keep.", err=True)
        raise SystemExit(_INTERRUPTED) from None
