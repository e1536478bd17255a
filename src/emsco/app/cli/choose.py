"""`emsco choose`: deploy another design of a run."""

from __future__ import annotations

from typing import Annotated

import typer

from emsco.app.cli.options import AsJSON, RunChoice, RunFolder, Trusted
from emsco.app.cli.output import doubts_of, echo, print_design, print_details, print_json
from emsco.errors import ParameterError


def choose(
    run: RunFolder,
    choice: RunChoice,
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
    cheapest_label: Annotated[
        bool,
        typer.Option(
            "--cheapest-label",
            help="Give each row the label of least expected cost by --error-cost, instead of the "
            "likeliest. Rows leave at the same stages.",
        ),
    ] = False,
    forget_costs: Annotated[
        bool,
        typer.Option(
            "--no-error-cost",
            help="Forget the costs of errors and rejections that the run remembers. On its own, it "
            "keeps the deployed design.",
        ),
    ] = False,
    trusted: Trusted = None,
    as_json: AsJSON = False,
) -> None:
    """Deploy another design of a run: by number, by a rule, within limits, or by its total.

    Within limits, the best balanced design is taken, or what --prefer chooses among them. With
    --error-cost and --reject-cost, it is the design with the lowest expected total of features,
    errors and rejections; the run remembers these costs, and shows totals from then on, until
    --no-error-cost makes it forget them.

    For example:

        emsco choose heart-run --error-cost 500 --reject-cost 40

        emsco choose heart-run --error-cost ill=900 --error-cost well=50 --reject-cost 40
    """
    from emsco.app.runs.run import Run
    from emsco.front.rules import preference_in_words

    opened = Run.open(run, trusted or ())
    rule = {**choice.choice(), **({} if prefer is None else {"rule": prefer})}
    costs = choice.error_costs()
    if point is not None and len(rule) > len(costs):
        raise ParameterError("a number N needs no rule and no limits, got both.")
    if forget_costs and not rule and point is None:
        point = opened.chosen
    if not rule and point is None:
        raise ParameterError(
            "a number N, --prefer, a limit or --error-cost must be given, got none; emsco front "
            f"{run} shows the numbers."
        )
    if forget_costs and (costs or cheapest_label):
        other = "--error-cost, --reject-cost and --cheapest-label"
        raise ParameterError(f"--no-error-cost must be given without {other}, got both.")
    which = opened.front.prefer(rule) if point is None else point
    remembered = costs if costs or forget_costs else None
    chosen = opened.choose(which, remembered, cheapest_label=cheapest_label)
    if as_json:
        figures = chosen.figures([chosen.chosen], chosen.error_costs())[0]
        about = {"chosen": chosen.chosen, "doubts": doubts_of(chosen, chosen.chosen)}
        print_json({"run": str(run), **about, **figures})
    else:
        why = f", {preference_in_words(rule, chosen.point)}" if rule and point is None else ""
        echo(f"{run} now deploys design {chosen.chosen}{why}.\n")
        print_design(chosen.front, chosen.chosen)
        print_details(chosen, chosen.chosen, doubts=False)  # they were warnings a moment ago
