"""`emsco choose`: deploy another design of a run."""

from __future__ import annotations

from typing import Annotated

import typer

from emsco.cli.options import AsJSON, Limits, RunFolder, Trusted
from emsco.cli.output import print_design, print_json
from emsco.errors import ParameterError

__all__ = ["choose"]


def choose(
    run: RunFolder,
    limits: Limits,
    point: Annotated[
        int | None,
        typer.Argument(metavar="N", help="Number of a design, as `emsco front` shows it."),
    ] = None,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """Deploy another design of a run: by number, or the best balanced one within limits."""
    from emsco.runs.run import Run

    found = Run.open(run, trusted or ())
    if limits.limits() and point is not None:
        raise ParameterError("either a number N or a limit must be given, got both.")
    if not limits.limits() and point is None:
        raise ParameterError(
            f"a number N or a limit must be given, got none; emsco front {run} shows the numbers."
        )
    chosen = found.choose(found.front.select(**limits.limits()) if point is None else point)
    if as_json:
        print_json({"run": str(run), "chosen": chosen.chosen, **chosen.figures([chosen.chosen])[0]})
    else:
        typer.echo(f"{run} now deploys design {chosen.chosen}.\n")
        print_design(chosen.front, chosen.chosen)
