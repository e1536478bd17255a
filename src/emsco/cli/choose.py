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
    prefer: Annotated[
        str | None,
        typer.Option(help="Rule that chooses: economical, balanced, knee or fittest."),
    ] = None,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """Deploy another design of a run: by number, by a rule, or the best balanced within limits."""
    from emsco.runs.run import Run

    found = Run.open(run, trusted or ())
    rules = [rule for rule in (limits.limits(), prefer) if rule]
    if len(rules) + (point is not None) > 1:
        raise ParameterError("one of a number N, --prefer or limits must be given, got more.")
    if not rules and point is None:
        raise ParameterError(
            f"a number N, --prefer or a limit must be given, got none; emsco front {run} shows the "
            "numbers."
        )
    chosen = found.choose(found.front.prefer(rules[0]) if point is None else point)
    if as_json:
        print_json({"run": str(run), "chosen": chosen.chosen, **chosen.figures([chosen.chosen])[0]})
    else:
        typer.echo(f"{run} now deploys design {chosen.chosen}.\n")
        print_design(chosen.front, chosen.chosen)
