"""`emsco demo`: a complete example in seconds."""

from __future__ import annotations

from typing import Annotated

import typer

from emsco._base.checks import LARGEST_SEED
from emsco.app.cli.endings import INTERRUPTED
from emsco.app.cli.options import AsJSON
from emsco.app.cli.output import console, print_json


def demo(
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            max=LARGEST_SEED,
            help="Random seed of the split and the search; the same seed gives the same results.",
        ),
    ] = 0,
    as_json: AsJSON = False,
) -> None:
    """Run a complete example on data that comes with scikit-learn, in seconds.

    Takes the breast-cancer data (569 samples, 30 measurements) with a declared cost for each
    measurement, searches for cascades and shows the trade-offs found. Then compares the chosen
    cascade with buying every measurement for everyone, on test rows.
    """
    from emsco.app.cli.demonstration import run_demo

    result = run_demo(seed=seed, verbose=1)
    if as_json:
        print_json(result.to_dict())
        return
    from emsco.app.cli.listing import front_table
    from emsco.app.cli.terminal import cascade_drawing, comparison_table, than_everything

    classifier, out = result.classifier, console()
    told = (("Stage models", classifier.model_choice_), ("Refinement", classifier.refinement_))
    for name, what in told:
        if what:
            out.print(f"{name}: {what}.", highlight=False)
    out.print(f"Search ended: {classifier.stop_reason_}.\n")
    out.print(front_table(classifier.front_, classifier.point_, out.width))
    out.print()
    number = classifier.front_.points.index(classifier.point_)
    out.print(cascade_drawing(classifier.front_, number, result.test))
    out.print()
    out.print(comparison_table(result.test, result.everything))
    saved = 1 - result.test.cost / result.everything.cost
    out.print(f"The cascade spends {than_everything(saved)}.")
    if classifier.stop_reason_.is_interrupted:
        raise typer.Exit(INTERRUPTED)
