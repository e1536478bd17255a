"""Folders for the results of studies: made, claimed and filled."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from emsco._base.checks import refused
from emsco.cli.endings import INTERRUPTED, say

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check_folder", "claim_folder", "end", "make_folder", "what_is_left", "write_results"]


def check_folder(path: Path) -> None:
    """Say why --out cannot be a folder for results, and whether pictures can be drawn.

    Before minutes of work, not after them.
    """
    from emsco.pictures.plotting import check_matplotlib

    check_matplotlib()
    if (path / "run.json").exists():
        rule = "be a folder without a run of emsco fit"
        raise refused("out", rule, path, got=repr(str(path)), hint="name another")
    if path.exists() and not path.is_dir():
        raise refused("out", "be a folder", path, got=f"the file {str(path)!r}")


def make_folder(path: Path) -> None:
    """Make the folder of --out, or say why it cannot be."""
    check_folder(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        got = f"{str(path)!r}: {error.strerror or 'it cannot be made'}"
        raise refused("out", "be a folder", path, got=got) from None


def claim_folder(path: Path, name: str, of: Mapping[str, Any]) -> None:
    """Make the folder of --out, unless its results of that name are of something else.

    `of` is what results are of, as plain values.
    """
    there = path / f"{name}.json"
    if there.exists() and (differ := _differences(there, of)):
        got = f"{str(path)!r}, whose {there.name} differs in {', '.join(differ)}"
        rule = f"be a new folder or one of the same {name}"
        raise refused("out", rule, path, got=got, hint="name another")
    make_folder(path)


def _differences(file: Path, of: Mapping[str, Any]) -> list[str]:
    """Names of settings that existing results have otherwise; all, where they do not say."""
    known: Any = None
    with suppress(AttributeError, OSError, ValueError):
        known = json.loads(file.read_text(encoding="utf-8")).get("of")
    if not isinstance(known, dict):
        return list(of)
    wanted = json.loads(json.dumps(of))
    return [name for name in wanted if name not in known or known[name] != wanted[name]]


def what_is_left(path: Path) -> str:
    """What Ctrl-C has left in the folder of --out, where results are written at the end only."""
    if not path.exists():
        return "nothing is written"
    return f"{path} is as it was" if any(path.iterdir()) else f"no result is written to {path}"


def write_results(
    out: Path, name: str, figure: Figure, values: dict[str, Any], markdown: str
) -> str:
    """Write table and picture of a study to the folder of --out; returns the JSON."""
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

    `goes_on` is whether the same command takes up the results that are there.
    """
    took = "" if seconds is None else f" after {seconds:.0f} s"
    typer.echo(f"Written to {out}{took}: {name}.md, .json, .png, .svg", err=True)
    if not complete:
        more = ", and the same command goes on" if goes_on else ""
        say(f"interrupted; complete results are kept{more}.")
        raise SystemExit(INTERRUPTED)
