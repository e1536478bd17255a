"""Commands of the command line that have modules of their own, and what all commands share."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

__all__ = [
    "INTERRUPTED",
    "AsJSON",
    "LabelledFile",
    "RunFolder",
    "Target",
    "Trusted",
    "interruptible",
    "make_folder",
    "print_json",
]

INTERRUPTED = 130  # what a shell reports for a program that Ctrl-C has ended

AsJSON = Annotated[bool, typer.Option("--json", help="Print one JSON object instead of tables.")]
LabelledFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="DATA", help="CSV or Parquet file with features and labels.", show_default=False
    ),
]
RunFolder = Annotated[Path, typer.Argument(metavar="RUN", help="Folder that emsco fit has made.")]
Trusted = Annotated[
    list[str] | None,
    typer.Option(
        "--trust",
        help="Type that a file with other classifiers may hold, such as sklearn.tree._tree.Tree: "
        "only where you trust whoever wrote the file; repeatable.",
    ),
]
Target = Annotated[str, typer.Option(help="Column with the labels; all others are features.")]


@contextmanager
def interruptible(left: str) -> Iterator[None]:
    """Say what Ctrl-C has left, and exit as shells expect it."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"emsco: interrupted; {left}.", err=True)
        raise typer.Exit(INTERRUPTED) from None


def print_json(values: Any) -> None:
    """One JSON object on standard output."""
    typer.echo(json.dumps(values, indent=2))


def make_folder(path: Path) -> None:
    """Make the folder of --out before any work, or say why it cannot be."""
    from emsco.errors import ParameterError

    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or "it cannot be made"
        raise ParameterError(f"--out must be a folder, got {str(path)!r}: {reason}.") from None
