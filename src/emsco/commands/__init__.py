"""Commands of the command line that have modules of their own, and what all commands share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "INTERRUPTED",
    "AsJSON",
    "Commands",
    "CostsFile",
    "Dropped",
    "Jobs",
    "LabelledFile",
    "RunFolder",
    "Seed",
    "Target",
    "TestFile",
    "TrainFile",
    "Trusted",
    "ValFile",
    "Weights",
    "end",
    "interruptible",
    "make_folder",
    "print_json",
    "write_results",
]

_Body = TypeVar("_Body", bound=Callable[..., Any])

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
        metavar="TYPE",
        help="Type that a file with other classifiers may hold, such as sklearn.tree._tree.Tree: "
        "only where you trust whoever wrote the file; repeatable.",
    ),
]
Target = Annotated[str, typer.Option(help="Column with the labels; all others are features.")]
Weights = Annotated[
    str | None, typer.Option(help="Column that says how much each row counts; no feature.")
]

# Of commands that test what they find.
CostsFile = Annotated[
    Path | None, typer.Option(help="Costs, as for emsco fit. Without it every column costs 1.")
]
TrainFile = Annotated[
    Path | None, typer.Option(help="Rows to fit on, instead of DATA; with --val and --test.")
]
ValFile = Annotated[Path | None, typer.Option(help="Rows to tune and to choose on.")]
TestFile = Annotated[
    Path | None, typer.Option(help="Rows to test on, instead of a quarter of DATA.")
]
Dropped = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Column that is no feature, such as an id; repeatable."),
]
Seed = Annotated[int, typer.Option(min=0, help="Seed; the same gives the same.")]
Jobs = Annotated[int, typer.Option(help="Processes; -1 is one for each core.")]


class _Command(TyperCommand):
    def get_params(self, ctx: Any) -> Any:
        return _bare_flags(super().get_params(ctx))


class _Group(TyperGroup):
    def get_params(self, ctx: Any) -> Any:
        return _bare_flags(super().get_params(ctx))


def _bare_flags(parameters: Any) -> Any:
    """The same parameters; help shows no type behind those that take no value, --help included."""
    for parameter in parameters:
        if getattr(parameter, "is_flag", False):
            parameter.metavar = ""
    return parameters


class Commands(typer.Typer):
    """Commands whose help shows flags as they are typed."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(cls=_Group, rich_markup_mode="markdown", no_args_is_help=True, **settings)

    def command(self, name: str | None = None, **settings: Any) -> Callable[[_Body], _Body]:
        """Add a command, as for `typer.Typer`."""
        return super().command(name, cls=_Command, **settings)


@contextmanager
def interruptible(left: str | Callable[[], str]) -> Iterator[None]:
    """Say what Ctrl-C has left, which may have to be looked up, and exit as shells expect it."""
    try:
        yield
    except KeyboardInterrupt:
        typer.echo(f"emsco: interrupted; {left() if callable(left) else left}.", err=True)
        raise typer.Exit(INTERRUPTED) from None


def print_json(values: Any) -> None:
    """One JSON object on standard output."""
    typer.echo(json.dumps(values, indent=2))


def make_folder(path: Path) -> None:
    """Make the folder of --out, or say why it cannot be, and whether pictures can be drawn.

    Before minutes of work, not after them.
    """
    from emsco.errors import ParameterError
    from emsco.plotting import check_matplotlib

    check_matplotlib()
    if (path / "run.json").exists():
        raise ParameterError(
            f"--out must be a folder without a run of emsco fit, got {str(path)!r}; name another."
        )
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or "it cannot be made"
        raise ParameterError(f"--out must be a folder, got {str(path)!r}: {reason}.") from None


def write_results(
    out: Path, name: str, figure: Figure, values: dict[str, Any], markdown: str
) -> str:
    """Table and picture of an experiment, into the folder of --out; returns the JSON."""
    from emsco.plotting import save_figure

    text = json.dumps(values, indent=2)
    (out / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    (out / f"{name}.md").write_text(markdown + "\n", encoding="utf-8")
    save_figure(figure, out / name)
    return text


def end(
    out: Path,
    name: str,
    seconds: float | None = None,
    complete: bool = True,
    goes_on: bool = True,
) -> None:
    """Say where results are; where Ctrl-C has come before the last one, exit as shells expect.

    `goes_on` is whether the same command takes up what is there.
    """
    took = "" if seconds is None else f" after {seconds:.0f} s"
    typer.echo(f"Written to {out}{took}: {name}.md, .json, .png, .svg", err=True)
    if not complete:
        more = ", and the same command goes on" if goes_on else ""
        typer.echo(f"emsco: interrupted; what is complete is kept{more}.", err=True)
        raise typer.Exit(INTERRUPTED)
