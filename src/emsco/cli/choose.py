"""`emsco choose`: deploy another design of a run."""

from __future__ import annotations

from typing import Annotated

import typer

from emsco.cli.options import AsJSON, Limits, RunFolder, Trusted
from emsco.cli.output import echo, print_design, print_details, print_json
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
        typer.Option(
            help="Rule that chooses: economical, one_standard_error, accurate, balanced, knee or "
            "fittest."
        ),
    ] = None,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """Deploy another design of a run: by number, by a rule, or within limits.

    Within limits, the best balanced design is taken, or what --prefer chooses among them.
    """
    from emsco.runs.run import Run

    found = Run.open(run, trusted or ())
    rule = {**limits.limits(), **({} if prefer is None else {"rule": prefer})}
    if rule and point is not None:
        raise ParameterError("a number N needs no rule and no limits, got both.")
    if not rule and point is None:
        raise ParameterError(
            f"a number N, --prefer or a limit must be given, got none; emsco front {run} shows the "
            "numbers."
        )
    chosen = found.choose(found.front.prefer(rule) if point is None else point)
    if as_json:
        print_json({"run": str(run), "chosen": chosen.chosen, **chosen.figures([chosen.chosen])[0]})
    else:
        echo(f"{run} now deploys design {chosen.chosen}.\n")
        print_design(chosen.front, chosen.chosen)
        print_details(chosen, chosen.chosen, doubts=False)  # they were warnings a moment ago
