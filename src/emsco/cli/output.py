"""Print tables, drawings and JSON on standard output."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from emsco.cascade import Evaluation
    from emsco.front import ParetoFront, ParetoPoint
    from emsco.runs.run import Run

__all__ = ["console", "print_design", "print_front", "print_json"]

_LINES, _FEW_MORE = 20, 4


def console() -> Console:
    """Return a Rich console for standard output."""
    from rich.console import Console

    class Output(Console):
        def on_broken_pipe(self) -> None:
            """Leave a closed pipe to `ending_quietly`."""
            raise BrokenPipeError

    return Output()


def print_json(values: Any) -> None:
    """Print one JSON object."""
    typer.echo(json.dumps(values, indent=2))


def print_design(front: ParetoFront, number: int, new: Evaluation | None = None) -> None:
    """Draw a design with its figures; with new rows, also their figures in all and by class."""
    from emsco.cli.terminal import cascade_drawing, class_drawing

    out = console()
    out.print(cascade_drawing(front, number, new=new))
    if new is not None:
        out.print(class_drawing(new, out.width))


def print_front(
    run: Run,
    within: list[int] | None = None,
    most: int | None = None,
    see_all: str = "emsco front --all",
    best: ParetoPoint | None = None,
) -> None:
    """Print why the search of a run ended, and its front; see `front_table` for the settings."""
    from emsco.cli.terminal import front_table

    out, (least, spare) = console(), (most or _LINES, 0 if most else _FEW_MORE)
    out.print(f"Search ended: {run.about['stop_reason']}.\n", highlight=False)
    out.print(front_table(run.front, run.point, out.width, least, within, see_all, best, spare))
