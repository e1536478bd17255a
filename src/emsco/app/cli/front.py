"""`emsco front`: the designs of a run to choose from."""

from __future__ import annotations

from typing import Annotated

import typer

from emsco.app.cli.options import AsJSON, RunChoice, RunFolder, Trusted
from emsco.app.cli.output import print_front, print_json


def front(
    run: RunFolder,
    choice: RunChoice,
    most: Annotated[
        int | None,
        typer.Option(
            "--rows",
            min=1,
            help="Most designs to show; by default 25, or all if only a few more.",
        ),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Show all designs, also those that differ only by noise.")
    ] = False,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """List the designs of a run that no other design beats.

    By default those are listed that the scored rows can tell apart, and the deployed one. The last
    lines show what you get without a cascade.

    Scored figures come from the rows held out to score designs, seen figures from test rows, if
    the run has any. Limits apply to scored figures; a mark shows the design that `emsco choose`
    would take within them. `emsco show RUN N` draws a design.

    With --error-cost and --reject-cost, or if the run was fitted or chosen with them, a column has
    the expected total of features, errors and rejections for a row.
    """
    from emsco.app.runs.run import Run

    opened = Run.open(run, trusted or ())
    limits, given = choice.limits(), choice.choice()
    costs = opened.error_costs(choice.error_costs())
    within = opened.front.within(**limits)
    # Raises if no design is within the limits, and says how near they come.
    best = opened.front.select(**(given or opened.given_error_costs))
    if as_json:
        facts = {"run": str(run), "metric": opened.front.metric, "chosen": opened.chosen}
        references = opened.references(costs)
        print_json({**facts, "references": references, "front": opened.figures(within, costs)})
    else:
        print_front(
            opened,
            within=within,
            most=len(within) if every and most is None else most,
            see_all="--all",
            best=best if given or costs else None,
            every=every,
            costs=costs,
            is_limited=bool(limits),
        )
