"""Doubts about a design before it is deployed: one sentence each, with the way out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emsco._base.text import whole
from emsco.errors import DeploymentWarning
from emsco.front.economical import is_good_enough
from emsco.front.pareto_front import ParetoFront
from emsco.front.point import ParetoPoint
from emsco.front.references import Reference
from emsco.scoring.by_class import ByClass
from emsco.scoring.error_costs import ErrorCosts

_MOST = 0.5  # of a class
_NEXT_TO_NONE = 0.05  # of the rows


def doubts_about(
    front: ParetoFront,
    point: ParetoPoint,
    name: str = "the deployed design",
    *,
    weighted: bool = False,
    costs: ErrorCosts | None = None,
    cheapest_label: bool = False,
) -> tuple[DeploymentWarning, ...]:
    """Return a warning for each reason why nobody should sign this design as it is.

    It may buy nothing, it may label next to no row, its labels may be no better than the
    commonest class, it may find less than half of a class, and stages may be surer than they are
    right. If the search was for the lowest total, only the first is a reason.

    Parameters
    ----------
    front : ParetoFront
    point : ParetoPoint
    name : str
        What sentences call the design.
    weighted : bool
        Whether stage models were fitted with class weights, which shift confidence on purpose.
    costs : ErrorCosts, optional
        Costs of errors and rejections that may have chosen the design.
    cheapest_label : bool
        Whether it gives the label of least expected cost.
    """
    by_class, references = point.by_class, front.references
    if by_class is None or not references:
        return ()
    if point.design.buys_nothing:
        return (_nothing(front, point, by_class, name, costs, cheapest_label=cheapest_label),)
    if front.money is not None:
        return ()  # what errors cost decides, not how many labels are given or correct
    if point.coverage < _NEXT_TO_NONE:
        if not any(one.coverage for one in front.points):
            return ()  # the search has said so already
        answered = whole(sum(point.exits) / point.times_scored)
        n_rows = whole(point.n_rows / point.times_scored)
        return (
            DeploymentWarning(
                f"{name} labels {answered} of the {n_rows} scored rows, at a cost of "
                f"{point.cost:.4g} a row. At this confidence its models hardly tell the classes "
                "apart: add rows or features, or try another model."
            ),
        )
    if not point.is_informative:
        return (_uninformative(point, by_class, references, name),)
    doubts = []
    # Name the class of which the smallest share is found, if that is less than half.
    rows, recall = by_class.rows, by_class.recall
    worst = min(np.flatnonzero(rows > 0).tolist(), key=lambda i: float(recall[i]))
    if recall[worst] < _MOST:
        best = max(float(one.by_class.recall[worst]) for one in references[1:])
        rare = not weighted and worst != int(rows.argmax())
        remedy = " class_weight 'balanced' finds more, with more false alarms." if rare else ""
        doubts.append(
            DeploymentWarning(
                f"{name} finds {recall[worst]:.0%} of the {whole(rows[worst])} scored rows of "
                f"class {by_class.labels[worst]!r}, mislabels "
                f"{float(by_class.coverage[worst] - recall[worst]):.0%} and rejects "
                f"{1 - by_class.coverage[worst]:.0%}. Buying every feature for every row finds "
                f"{best:.0%}.{remedy}"
            )
        )
    stages, confidence = point.overconfident, point.exit_confidence
    if stages and confidence and not weighted:
        j = stages[0] - 1
        accuracy = point.correct_exits[j] / point.exits[j]
        doubts.append(
            DeploymentWarning(
                f"stage {stages[0]} is on average {confidence[j]:.1%} sure of its labels, but "
                f"{accuracy:.1%} of them are correct; CalibratedClassifierCV as estimator corrects "
                "that."
            )
        )
    return tuple(doubts)


def _nothing(
    front: ParetoFront,
    point: ParetoPoint,
    by_class: ByClass,
    name: str,
    costs: ErrorCosts | None,
    *,
    cheapest_label: bool,
) -> DeploymentWarning:
    """Say what a design does that buys nothing, and why it may have been chosen."""
    does = "rejects everyone"
    if not point.rejects_everyone:
        if costs is not None and cheapest_label:
            by_class = costs.relabelled(by_class)
        does = f"answers everyone with {by_class.labels[int(by_class.given.argmax())]!r}"
    said = f"{name} buys nothing and {does}"
    buying = [one for one in front.points if not one.design.buys_nothing]
    if costs is not None and buying:
        total = point.total_with(costs, cheapest_label=cheapest_label).value
        totals = (one.total_with(costs, cheapest_label=cheapest_label).value for one in buying)
        lowest_total = min(totals)
        if total <= lowest_total:
            return DeploymentWarning(
                f"{said}, because no design that buys features costs less in all: at least "
                f"{lowest_total:.4g} a row, beside {total:.4g}. "
                f"{_when_it_pays(front, costs, cheapest_label=cheapest_label)}"
            )
    if not any(one.is_informative for one in buying):
        return DeploymentWarning(
            f"{said}, because no design is better than the commonest class by more than chance. "
            "Add rows or features, or try another model."
        )
    return DeploymentWarning(f"{said}. Designs that buy features tell the classes apart.")


def _when_it_pays(front: ParetoFront, costs: ErrorCosts, *, cheapest_label: bool) -> str:
    """Say at how many times the costs of errors and rejections a design that buys would pay.

    At f times these costs, a row costs its features and f times what errors and rejections cost.
    """
    totals = [one.total_with(costs, cheapest_label=cheapest_label) for one in front.points]
    losses = [one.errors + one.rejections for one in totals]
    places = range(len(totals))
    least = min(losses[i] for i in places if front[i].design.buys_nothing)
    pays = [
        (totals[i].features / (least - losses[i]), i)
        for i in places
        if not front[i].design.buys_nothing and losses[i] < least
    ]
    if not pays:
        return "Higher costs of errors would not change that: none of them has cheaper errors."
    times, number = min(pays)
    what = "errors and rejections" if costs.costs[:, -1].any() else "errors"
    return f"At about {times:.2g} times these costs of {what}, design {number} would pay."


def _uninformative(
    point: ParetoPoint, by_class: ByClass, references: Sequence[Reference], name: str
) -> DeploymentWarning:
    commonest, *everything = references
    # The accuracy of the point may be the balanced one, which no share of rows compares with.
    accuracy = by_class.accuracy
    # Of few labels, more may be correct by chance.
    than = "which may be no better" if accuracy > commonest.accuracy else "no better"
    said = (
        f"{name} is right about {accuracy:.1%} of the rows that it labels, {than} than "
        f"always answering {commonest.label!r} ({commonest.accuracy:.1%}); "
    )
    is_possible = any(one.by_class.beats_commonest for one in everything)
    if is_possible and not (point.is_economical or is_good_enough(point)):
        return DeploymentWarning(f"{said}prefer 'economical' deploys one that is better.")
    either, can = ("hardly better", "hardly") if is_possible else ("no better either", "cannot")
    return DeploymentWarning(
        f"{said}buying everything is {either}, so these features and models {can} tell the classes "
        "apart. Add rows or features, or try another model."
    )
