"""`emsco inspect`: what is in a file, what looks wrong, and what a fit would take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emsco._base.text import some
from emsco.app.cli.endings import interruptible
from emsco.app.cli.options import AsJSON, HowToRead, Threads
from emsco.app.cli.output import console, echo, print_json

if TYPE_CHECKING:
    from emsco.app.runs.inspect import Inspection


def inspect(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="CSV or Parquet file with features and labels.")
    ],
    read: HowToRead,
    target: Annotated[str, typer.Option(help="Column with the labels; all others are features.")],
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Column that is not a feature, such as an id; repeatable."
        ),
    ] = None,
    costs: Annotated[
        Path | None, typer.Option(help="File of costs to check, as for emsco fit.")
    ] = None,
    write_costs: Annotated[
        Path | None,
        typer.Option(
            help="Write a costs file to fill in: every feature costs 1, no groups, no fees. "
            "Columns that look like ids, leaks or dates are left out."
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Let --write-costs write over a file.")
    ] = False,
    forecast: Annotated[
        bool,
        typer.Option(
            "--forecast/--no-forecast",
            help="Whether to try a fit on some rows, for half a minute or less, to say how long "
            "a whole one takes.",
        ),
    ] = True,
    jobs: Threads = -1,
    as_json: AsJSON = False,
) -> None:
    """Look at a file before a fit: columns, classes, gaps, leaks, ids, and the time of a fit.

    Nothing is fitted for keeps. For each column you see what it holds, how many different values
    and gaps it has, and how well it tells the class alone: balanced accuracy on unseen rows. Then
    come columns and classes that look wrong, columns that a fit would refuse, with the way out,
    and how a fit would go.

    For example:

        emsco inspect heart.csv --target disease --write-costs costs.csv
    """
    from emsco._base.progress import JobProgress
    from emsco.app.files.sources import FitFiles
    from emsco.app.runs.inspect import check_new, inspect_file
    from emsco.app.runs.inspect import write_costs as write

    if write_costs is not None:
        check_new(write_costs, force=force)

    files = FitFiles(target, data, costs=costs, drop=tuple(drop or ()), reading=read.reading())
    with interruptible("nothing is written"), JobProgress("steps") as progress:
        found = inspect_file(files, forecast=forecast, report=progress.job, n_jobs=jobs)
    if write_costs is not None:
        write(write_costs, found.to_buy or found.names, force=force)
    if as_json:
        print_json(found.to_dict())
        return
    show(found)
    if write_costs is not None:
        echo(_written(found, write_costs))


def _written(found: Inspection, path: Path) -> str:
    """Say which columns the costs file has not, and how to fit with it."""
    from emsco.app.cli.wording import repeated

    if not (found.to_drop and found.to_buy):
        return f"Written to {path}: set the costs, then emsco fit … --costs {path}."
    drops = repeated("--drop", found.to_drop)
    return (
        f"Written to {path}, without {some(found.to_drop)}: set the costs, then emsco fit … "
        f"{drops} --costs {path}."
    )


def show(found: Inspection) -> None:
    """Print what is in a file."""
    from emsco.app.cli.inspection import column_table, fit_lines, odd_lines

    out = console()
    out.print(column_table(found))
    for line in (*odd_lines(found), *fit_lines(found)):
        out.print(line, highlight=False, markup=False)
