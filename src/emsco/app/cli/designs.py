"""`emsco front`, `emsco show` and `emsco choose`: the designs of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from emsco._base.text import rounded
from emsco.app.cli.options import (
    AsJSON,
    ErrorCost,
    RejectCost,
    RunChoice,
    RunFolder,
    Trusted,
    error_costs_given,
)
from emsco.app.cli.output import doubts_of, echo, print_design, print_front, print_json
from emsco.errors import ParameterError

if TYPE_CHECKING:
    from emsco.front import ParetoPoint


def front(
    run: RunFolder,
    choice: RunChoice,
    max_rows: Annotated[
        int | None,
        typer.Option(
            "--rows", min=1, help="Most designs to show; by default 25, or all if only a few more."
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
    cheapest_label = opened.gives_cheapest_labels(costs)
    wanted = given or opened.given_error_costs
    best = opened.front.select(**wanted, cheapest_label=cheapest_label)
    if as_json:
        print_json(
            {
                "run": str(run),
                "metric": opened.front.metric,
                "chosen": opened.chosen,
                "certified": list(opened.certified),
                "cheapest_label": cheapest_label,
                "references": opened.references(costs, cheapest_label=cheapest_label),
                "front": opened.figures(within, costs, cheapest_label=cheapest_label),
            }
        )
    else:
        print_front(
            opened,
            within=within,
            max_rows=len(within) if every and max_rows is None else max_rows,
            see_all="--all",
            best=best if given or costs else None,
            every=every,
            costs=costs,
            is_limited=bool(limits),
            cheapest_label=cheapest_label,
        )


def show(
    run: RunFolder,
    point: Annotated[
        int | None,
        typer.Argument(
            metavar="N",
            help="Number of a design, as `emsco front` shows it; the deployed one by default.",
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
        other = None if number == opened.chosen else number
        cheapest_label = opened.gives_cheapest_labels(costs, other)
        print_json(
            {
                "run": str(run),
                "metric": opened.front.metric,
                "doubts": doubts_of(opened, number),
                "cheapest_label": cheapest_label,
                **opened.figures([number], costs, cheapest_label=cheapest_label)[0],
                "references": opened.references(costs, cheapest_label=cheapest_label),
            }
        )
    else:
        print_design(opened, number, costs=costs)


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

    With --max-cost alone, it is the most accurate design that answers everyone; with
    --min-coverage, the most accurate that labels so many rows; with --min-accuracy or
    --min-recall, the one that labels most, and of those the cheapest; with both, the cheapest.
    --prefer chooses among the designs within the limits by another rule. With --error-cost and
    --reject-cost, it is the design with the lowest expected total of features,
    errors and rejections; the run remembers these costs, and shows totals from then on, until
    --no-error-cost makes it forget them.

    For example:

        emsco choose heart-run --error-cost 500 --reject-cost 40

        emsco choose heart-run --error-cost ill=900 --error-cost well=50 --reject-cost 40
    """
    from emsco._base.locks import locked_folder
    from emsco.app.runs.run import Run
    from emsco.front.rules import given_error_costs, preference_in_words

    with locked_folder(run):
        opened = Run.open(run, trusted or ())
        rule = {**choice.choice(), **({} if prefer is None else {"rule": prefer})}
        costs = choice.error_costs()
        if point is not None and len(rule) > len(costs):
            raise ParameterError("a number N needs no rule and no limits, got both.")
        if forget_costs and not rule and point is None:
            point = opened.chosen
        if not rule and point is None:
            raise ParameterError(
                "a number N, --prefer, a limit or --error-cost must be given, got none; "
                f"emsco front {run} shows the numbers."
            )
        if forget_costs and (costs or cheapest_label):
            raise ParameterError(
                "--no-error-cost must be given without --error-cost, --reject-cost and "
                "--cheapest-label, got both."
            )
        which: int | ParetoPoint
        if point is not None:
            which = point
        elif cheapest_label:
            which = opened.front.select(**rule, cheapest_label=True)
        else:
            which = opened.front.prefer(rule)
        remembered = costs if costs or forget_costs else None
        chosen = opened.choose(which, remembered, cheapest_label=cheapest_label)
    if as_json:
        figures = chosen.figures(
            [chosen.chosen], chosen.error_costs(), cheapest_label=cheapest_label
        )[0]
        about = {"chosen": chosen.chosen, "doubts": doubts_of(chosen, chosen.chosen)}
        print_json({"run": str(run), **about, **figures})
    else:
        if rule and "rule" not in rule:  # then the costs of the search choose, if it had any
            rule = {**given_error_costs(opened.about["settings"]), **rule}
        why = f", {preference_in_words(rule, chosen.point)}" if rule and point is None else ""
        echo(f"{run} now deploys design {chosen.chosen}{why}.")
        cost, earlier = rounded(chosen.point.cost), rounded(opened.point.cost)
        if cost != earlier:
            echo(f"A row costs {cost} on average; with design {opened.chosen} it was {earlier}.")
        echo("")
        if missed := _expected_beyond(choice.limits(), chosen.point):
            echo(f"Limits are about scored figures; on new rows expect {missed}.\n")
        as_good = None
        if point is None and rule.keys() <= {"max_cost", "min_coverage"}:
            from emsco.front.offers import as_good_for_less

            as_good = as_good_for_less(chosen.front, chosen.point, **rule)
        if as_good is not None:
            number = chosen.front.position(as_good)
            correct = f"{as_good.promised[1].accuracy:.1%} of the labels correct"
            echo(
                f"Design {number} expects as much, {correct}, for {rounded(as_good.cost)} a row "
                f"instead of {rounded(chosen.point.cost)}: emsco choose {run} {number}\n"
            )
        print_design(chosen, chosen.chosen, doubts=False)  # they were warnings a moment ago


def _expected_beyond(limits: dict[str, Any], point: ParetoPoint) -> str:
    """Say which expected figures of a point are outside of limits; nothing if none is."""
    _, figures = point.promised
    floors = {"accuracy": "min_accuracy", "coverage": "min_coverage"}
    beyond = [
        f"{name} {getattr(figures, name):.1%}"
        for name, limit in floors.items()
        if limits.get(limit) is not None and getattr(figures, name) < limits[limit]
    ]
    if limits.get("max_cost") is not None and figures.cost > limits["max_cost"]:
        beyond.append(f"a cost of {figures.cost:.4g}")
    return " and ".join(beyond)
