"""Commands of the command line that have modules of their own, and what all commands share."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
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
    "Point",
    "RunFolder",
    "Seed",
    "Target",
    "TestFile",
    "TrainFile",
    "Trusted",
    "ValFile",
    "Weights",
    "check_folder",
    "claim_folder",
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
Point = Annotated[
    int | None,
    typer.Option(
        help="Number of a design, as `emsco front` shows it; by default the deployed one."
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


def check_folder(path: Path) -> None:
    """Say why --out cannot be a folder for results, and whether pictures can be drawn.

    Before minutes of work, not after them.
    """
    from emsco.errors import ParameterError
    from emsco.pictures.plotting import check_matplotlib

    check_matplotlib()
    if (path / "run.json").exists():
        raise ParameterError(
            f"--out must be a folder without a run of emsco fit, got {str(path)!r}; name another."
        )
    if path.exists() and not path.is_dir():
        raise ParameterError(f"--out must be a folder, got the file {str(path)!r}.")


def make_folder(path: Path) -> None:
    """Make the folder of --out, or say why it cannot be."""
    from emsco.errors import ParameterError

    check_folder(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = error.strerror or "it cannot be made"
        raise ParameterError(f"--out must be a folder, got {str(path)!r}: {reason}.") from None


def claim_folder(path: Path, name: str, of: Mapping[str, Any]) -> None:
    """Make the folder of --out, unless its results of that name are of something else.

    `of` is what results are of, as plain values.
    """
    from emsco.errors import ParameterError

    there = path / f"{name}.json"
    if there.exists() and (differ := _differences(there, of)):
        raise ParameterError(
            f"--out must be a new folder or one of the same {name}, got {str(path)!r}, whose "
            f"{there.name} differs in {', '.join(differ)}; name another."
        )
    make_folder(path)


def _differences(file: Path, of: Mapping[str, Any]) -> list[str]:
    """What results that are there have otherwise; all, where they do not say."""
    known: Any = None
    with suppress(AttributeError, OSError, ValueError):
        known = json.loads(file.read_text(encoding="utf-8")).get("of")
    if not isinstance(known, dict):
        return list(of)
    wanted = json.loads(json.dumps(of))
    return [name for name in wanted if name not in known or known[name] != wanted[name]]


def write_results(
    out: Path, name: str, figure: Figure, values: dict[str, Any], markdown: str
) -> str:
    """Table and picture of an experiment, into the folder of --out; returns the JSON."""
    from emsco._base.documents import write_text
    from emsco.pictures.plotting import save_figure

    text = json.dumps(values, indent=2)
    write_text(out / f"{name}.json", text + "\n")
    write_text(out / f"{name}.md", markdown + "\n")
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
