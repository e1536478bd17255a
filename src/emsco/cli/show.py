"""`emsco show`: one design of a run as a drawing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from emsco.cli.commands import AsJSON, RunFolder, Trusted, print_json

if TYPE_CHECKING:
    from emsco.cascade import Evaluation
    from emsco.front import ParetoFront

__all__ = ["draw_design", "show"]


def show(
    run: RunFolder,
    number: Annotated[
        int | None,
        typer.Argument(
            metavar="N",
            help="Number of a design, as `emsco front` shows it; the deployed one by default.",
            show_default=False,
        ),
    ] = None,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """Draw the cascade of a design: what each stage buys, what it costs, and who leaves there.

    Rows held out to score designs and test rows, where the run has some, have lines of their own:
    how many get to a stage, how many leave there with a label, and how many of those are right.
    """
    from emsco._base.checks import check_whole
    from emsco.runs.run import Run

    found = Run.open(run, trusted or ())
    chosen = found.chosen if number is None else number
    chosen = check_whole("N", chosen, 0, len(found.front) - 1)
    if as_json:
        print_json({"run": str(run), **found.figures([chosen])[0]})
        return
    draw_design(found.front, chosen)


def draw_design(front: ParetoFront, number: int, new: Evaluation | None = None) -> None:
    """The tree of a design and its figures, perhaps on new rows too, on standard output."""
    from rich.console import Console

    from emsco.cli.terminal import cascade_drawing

    Console().print(cascade_drawing(front, number, new=new))
