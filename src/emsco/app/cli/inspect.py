"""`emsco inspect`: what is in a file, what looks wrong, and what a fit would take."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from emsco._base.text import counted, duration, listed, some, visible
from emsco.app.cli.endings import interruptible
from emsco.app.cli.options import AsJSON, Drop, HowToRead, Target, Threads
from emsco.app.cli.output import console, echo, print_json
from emsco.app.cli.words import in_options, repeated

if TYPE_CHECKING:
    from emsco.app.runs.inspect import Inspection

_MAX_CLASSES = 8  # in the title


def inspect(
    data: Annotated[
        Path, typer.Argument(metavar="DATA", help="CSV or Parquet file with features and labels.")
    ],
    read: HowToRead,
    target: Target,
    drop: Drop = None,
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

    Nothing is saved. For each column you see what it holds, how many different values
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
        inspection = inspect_file(files, forecast=forecast, report=progress.job, n_jobs=jobs)
    if write_costs is not None:
        write(write_costs, inspection.to_buy or inspection.names, force=force)
    if as_json:
        print_json(inspection.to_dict())
        return
    show(inspection)
    if write_costs is not None:
        without, options = "", ""
        if inspection.to_drop and inspection.to_buy:
            left_out = [name for name in inspection.to_drop if name in inspection.left_out]
            unusable = [name for name in inspection.to_drop if name not in inspection.left_out]
            named = ((left_out, "left out by emsco fit"), (unusable, "not usable as is"))
            reasons = [f"{some(names)} ({why})" for names, why in named if names]
            without = f", without {' and '.join(reasons)}"
            options = f"{repeated('--drop', inspection.to_drop)} "
        if marks := inspection.missing_marks:
            options += f"{repeated('--na', marks)} "
        bought = [one for one in inspection.columns if one.name in inspection.to_buy]
        if any(one.n_missing or one.only_text for one in bought):
            options += "--gaps impute "
        echo(
            f"Written to {write_costs}{without}: set the costs, then emsco fit … "
            f"{options}--costs {write_costs}."
        )


def show(inspection: Inspection) -> None:
    """Print a table with a line for each column, then what looks wrong and what a fit would do."""
    from rich.text import Text

    from emsco.app.cli.terminal import plain_table

    shares = [f"{label} {n / inspection.n_rows:.1%}" for label, n in inspection.classes]
    rows = counted(inspection.n_rows, "row")
    table = plain_table(
        title=visible(f"{rows}, {inspection.target}: {listed(shares, _MAX_CLASSES)}"),
        caption="alone: balanced accuracy of this column alone on unseen rows; "
        f"{1 / len(inspection.classes):.0%} is chance.",
        padding=(0, 1),
    )
    for heading in ("column", "kind", "different", "missing", "alone", "values"):
        is_text = heading in ("column", "kind", "values")
        table.add_column(heading, justify="left" if is_text else "right", no_wrap=not is_text)
    for one in inspection.columns:
        alone = inspection.alone.get(one.name)
        missing = f"{one.n_missing / inspection.n_rows:.1%}" if one.n_missing else ""
        told = "" if not alone else f"{alone:.0%}"
        cells = (one.name, one.kind, f"{one.n_different:,}", missing, told, one.values)
        table.add_row(*(Text(visible(cell)) for cell in cells))
    lines = []
    for sentence in (*inspection.data_issues, *inspection.notes):
        said = visible(in_options(sentence))
        lines.append(f"- {said[0].upper()}{said[1:]}")
    if left_out := inspection.left_out:
        which = "it" if len(left_out) == 1 else "them"
        keep = repeated("--keep", left_out)
        lines.append(f"- emsco fit leaves out {some(left_out)}; {keep} keeps {which}.")
    if inspection.n_repeated:
        again = "row has" if inspection.n_repeated == 1 else "rows have"
        lines.append(f"- {inspection.n_repeated:,} {again} the values of an earlier one.")
    out = console()
    out.print(table)
    for line in (*(lines or ["- Nothing looks wrong."]), *fit_lines(inspection)):
        out.print(line, highlight=False, markup=False)


def fit_lines(inspection: Inspection) -> Iterator[str]:
    """Yield sentences about what a fit would do."""
    plan = inspection.forecast
    if plan is None:
        return
    inputs = "" if plan.n_inputs == plan.n_features else f" ({plan.n_inputs:,} inputs)"
    rows = "in one split" if plan.n_splits == 1 else f"in {plan.n_splits} splits"
    if plan.n_searched is not None:
        rows += f" of a sample of some {plan.n_searched:,} rows"
    kind = (
        f"settle all {plan.n_designs:,} designs"
        if plan.search == "exact"
        else f"breed up to {plan.n_designs:,} designs"
    )
    yield (
        f"A fit would score designs of {counted(plan.n_features, 'feature')}{inputs} {rows}, and "
        f"{kind}."
    )
    if plan.choice is not None:
        yield f"Stage models, by {counted(plan.n_tried, 'row')}: {plan.choice}."
    yield (
        f"It would take {duration(plan.seconds)} here, going by a short fit on "
        f"{counted(plan.n_tried, 'row')}."
    )
