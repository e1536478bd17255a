"""The command line; every command calls one public function and draws what it returns."""

from __future__ import annotations

import json
from importlib.metadata import version
from pathlib import Path
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


def _make_folder(path: Path) -> None:
    from emsco.errors import ParameterError

    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or "it cannot be made"
        raise ParameterError(f"--out must be a folder, got {str(path)!r}: {reason}.") from None


reproduce = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="markdown",
    help="The figures and tables of the paper, computed anew.",
)
app.add_typer(reproduce, name="reproduce")


@reproduce.command("global")
def reproduce_global(
    out: Annotated[
        Path, typer.Option(help="Folder for the table (Markdown, JSON) and the figure (PNG, SVG).")
    ] = Path("reproduce-global"),
    runs: Annotated[
        int, typer.Option(min=1, help="Runs of each search on each landscape; the paper has 50.")
    ] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the split and of all runs.")] = 0,
    jobs: Annotated[int, typer.Option(help="Processes; -1 is one for each core.")] = -1,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the JSON instead of the table.")
    ] = False,
) -> None:
    """The exact fronts of nine landscapes, and how much of them searches find.

    For Heart, Credit and Pima with at most 2, 3 and 4 stages, all designs are settled (the paper
    took three weeks for it) and the exact front is compared with what the paper's search and ours
    know after each generation. The sets are read from the folder that EMSCO_DATA names.
    """
    from emsco.experiments.global_optima import reproduce_global as run
    from emsco.plotting import check_matplotlib, draw_global_optima, save_figure
    from emsco.progress import JobProgress

    check_matplotlib()  # before minutes of work, not after them
    _make_folder(out)
    with JobProgress() as progress:
        result = run(runs=runs, seed=seed, n_jobs=jobs, report=progress.job)
    text = json.dumps(result.to_dict(), indent=2)
    (out / "global.json").write_text(text + "\n", encoding="utf-8")
    (out / "global.md").write_text(result.to_markdown() + "\n", encoding="utf-8")
    save_figure(draw_global_optima(result), out / "global")
    typer.echo(text if as_json else result.to_markdown())
    typer.echo(f"{result.seconds:.0f} s; written to {out}: global.md, .json, .png, .svg", err=True)
    if not result.complete:
        typer.echo("emsco: interrupted; the runs that were complete are kept.", err=True)
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
