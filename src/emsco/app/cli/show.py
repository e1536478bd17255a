"""`emsco show`: one design of a run as a drawing."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from emsco.app.cli.options import (
    AsJSON,
    ErrorCost,
    RejectCost,
    RunFolder,
    Trusted,
    error_costs_given,
)
from emsco.app.cli.output import doubts_of, print_design, print_details, print_json


def show(
    run: RunFolder,
    point: Annotated[
        int | None,
        typer.Argument(
            metavar="N",
            help="Number of a design, as `emsco front` shows it; the deployed one by default.",
            show_default=False,
        ),
    ] = None,
    error_cost: ErrorCost = None,
    reject_cost: RejectCost = None,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """Draw the cascade of a design: the features and the cost of each stage, and its exits.

    Lines of scored figures and, if the run has test rows, of seen figures say how many rows reach a
    stage, how many leave there with a label, and the share of correct labels. Below are tables of
    each class, the figures you get without a cascade, and doubts about the design. With costs of
    errors and rejections, given here or to the run, you also see the expected total of a row.
    """
    from emsco.app.runs.run import Run

    opened = Run.open(run, trusted or ())
    number = opened.chosen if point is None else opened.front.position(point)
    costs = opened.error_costs(error_costs_given(error_cost, reject_cost))
    if as_json:
        facts: dict[str, Any] = {"run": str(run), "metric": opened.front.metric}
        facts["doubts"] = doubts_of(opened, number)
        figures, references = opened.figures([number], costs)[0], opened.references(costs)
        print_json({**facts, **figures, "references": references})
        return
    print_design(opened.front, number)
    print_details(opened, number, costs=costs)
