"""`emsco decide`: a label or a rejection for every row of a file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from emsco._base.text import counted
from emsco.app.cli.endings import interruptible
from emsco.app.cli.options import AsJSON, HowToRead, Trusted
from emsco.app.cli.output import console, echo, print_json
from emsco.errors import FileError


def decide(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Folder of a run, or a cascade file.")],
    new: Annotated[
        Path, typer.Argument(metavar="NEW", help="CSV or Parquet file with the rows to decide.")
    ],
    out: Annotated[
        Path,
        typer.Option(
            help="CSV or Parquet file for the decisions, one per row; written over if it exists."
        ),
    ] = Path("decisions.csv"),
    not_bought: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Text in NEW for a value that is not bought yet, as in pending; '' for empty "
            "cells. By default every missing value is, unless the run was fitted with --gaps "
            "impute or skip: then a missing value was bought and could not be measured.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of NEW to put before the decisions, such as an id; repeatable.",
        ),
    ] = None,
    require_certificate: Annotated[
        bool,
        typer.Option(
            "--require-certificate",
            help="Refuse a cascade that the certificate.json of RUN does not cover.",
        ),
    ] = False,
    certificate: Annotated[
        Path | None, typer.Option(help="Refuse a cascade that this certificate does not cover.")
    ] = None,
    *,
    read: HowToRead,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """Label or reject every row of a file, with its confidence, exit stage and cost.

    Rows may be filled in part. A row goes as far as its values reach; if it is then undecided,
    column needs names what to buy next for it, and cost is what its stages have cost so far. Fill
    these cells in and decide the file again. Columns that the file lacks are not bought yet.

    Column warnings names values that are unlike the training rows: numbers outside their range,
    categories they do not have, and with --gaps impute, missing values in columns that were never
    missing. Such rows are decided, but nobody has tested how well.

    The file may be larger than memory: it is read, decided and written in chunks. The label of a
    rejected or undecided row is empty. A CSV file is read like those of the run, unless options
    say otherwise.
    """
    from emsco._base.progress import RowProgress
    from emsco.app.runs.decide import decide_file
    from emsco.app.runs.run import RUN, read_about, reading_of
    from emsco.cascade import Cascade

    cascade = Cascade.load(cascade_file(run), trusted or ())
    if require_certificate or certificate is not None:
        from emsco.app.runs.certify import require_certificate as check

        check(cascade, run, certificate)
    reading = read.reading()
    if (run / RUN).exists():  # a cascade file alone does not know how files were read
        reading = reading.over(reading_of(read_about(run / RUN)))
    with interruptible(f"{out} is as it was"), RowProgress() as progress:
        counts = decide_file(
            cascade, new, out, tuple(keep or ()), progress.rows, reading, not_bought
        )
    if as_json:
        print_json({"out": str(out), **asdict(counts)})
        return
    from emsco.app.cli.terminal import counts_table, what_stands_out

    console().print(counts_table(cascade, counts))
    for line in what_stands_out(counts):
        echo(line)
    if counts.n_missing and not_bought is None:
        echo(
            f"{counted(counts.n_missing, 'missing value')} taken as bought, but not measured; if "
            "empty cells are not bought yet, say --not-bought ''."
        )
    echo(f"Written to {out}.")


def cascade_file(run: Path) -> Path:
    """Return the file of the deployed cascade: in a folder, or the file that was given."""
    path = run / "cascade.json" if run.is_dir() else run
    if not path.exists():
        why = "which has no cascade.json" if run.is_dir() else "which does not exist"
        raise FileError(
            f"RUN must be a folder that emsco fit has made, or a cascade file, got {str(run)!r}, "
            f"{why}."
        )
    return path
