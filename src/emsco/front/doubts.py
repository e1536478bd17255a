"""Doubts about a design before it is deployed: one sentence each, with the way out."""

from __future__ import annotations

from collections.abc import Sequence

from emsco._base.text import whole
from emsco.errors import DeploymentWarning, Hint, Part, Remedy
from emsco.front.economical import is_good_enough
from emsco.front.pareto_front import ParetoFront
from emsco.front.point import ParetoPoint
from emsco.front.references import Reference

_MOST = 0.5  # of a class
_NEXT_TO_NONE = 0.05  # of the rows


def doubts_about(
    front: ParetoFront,
    point: ParetoPoint,
    name: str = "the deployed design",
    *,
    weighted: bool = False,
) -> tuple[DeploymentWarning, ...]:
    """Return a warning for each reason why nobody should sign this design as it is.

    It may label next to no row, its labels may be no better than the commonest class, it may find
    less than half of a class, and stages may be surer than they are right.

    Parameters
    ----------
    front : ParetoFront
    point : ParetoPoint
    name : str
        What sentences call the design.
    weighted : bool
        Whether stage models were fitted with class weights, which shift confidence on purpose.
    """
    references = front.references
    if point.by_class is None or not references:
        return ()
    if point.coverage < _NEXT_TO_NONE:
        # If no design labels a row, the search has said so already.
        return (_silent(point, name),) if any(one.coverage for one in front.points) else ()
    if not point.is_informative:
        return (_uninformative(point, references, name),)
    doubts = [_rarely_found(point, references, name, weighted=weighted)]
    if not weighted:
        doubts.append(_overconfident(point))
    return tuple(one for one in doubts if one is not None)


def _silent(point: ParetoPoint, name: str) -> DeploymentWarning:
    answered = sum(point.exits) / point.times_scored
    few = f"{whole(answered)} of the {whole(point.n_rows / point.times_scored)} scored rows"
    return DeploymentWarning(
        f"{name} labels {few}, at a cost of {point.cost:.4g} a row. At this confidence its models "
        "hardly tell the classes apart: add rows or features, or try another model."
    )


def _uninformative(
    point: ParetoPoint, references: Sequence[Reference], name: str
) -> DeploymentWarning:
    commonest, *everything = references
    # The accuracy of the point may be the balanced one, which no share of rows compares with.
    accuracy = 0.0 if point.by_class is None else point.by_class.accuracy
    # Of few labels, more may be correct by chance.
    than = "which may be no better" if accuracy > commonest.accuracy else "no better"
    said = (
        f"{name} is right about {accuracy:.1%} of the rows that it labels, {than} than "
        f"always answering {commonest.label!r} ({commonest.accuracy:.1%}); "
    )
    is_possible = any(one.by_class.beats_commonest for one in everything)
    if is_possible and not (point.is_simplified or is_good_enough(point)):
        return DeploymentWarning(said, Hint(Remedy.ECONOMICAL), ".")
    either = (
        "hardly better, so these features and models hardly"
        if is_possible
        else ("no better either, so these features and models cannot")
    )
    return DeploymentWarning(
        said,
        f"buying everything is {either} tell the classes apart. Add rows or features, or try "
        "another model.",
    )


def _rarely_found(
    point: ParetoPoint, references: Sequence[Reference], name: str, *, weighted: bool
) -> DeploymentWarning | None:
    """Name the class of which the smallest share is found, if that is less than half."""
    by_class = point.by_class
    if by_class is None:
        raise AssertionError("the caller has checked that")
    rows, recall = by_class.rows, by_class.recall
    there = [i for i in range(len(rows)) if rows[i] > 0]
    worst = min(there, key=lambda i: float(recall[i]))
    if recall[worst] >= _MOST:
        return None
    best = max(float(one.by_class.recall[worst]) for one in references[1:])
    others: tuple[Part, ...] = (f"Buying every feature for every row finds {best:.0%}.",)
    if not weighted and worst != int(rows.argmax()):
        others = (*others, " ", Hint(Remedy.RARE_CLASS), ".")
    mislabelled = float(by_class.coverage[worst] - recall[worst])
    return DeploymentWarning(
        f"{name} finds {recall[worst]:.0%} of the {whole(rows[worst])} scored rows of "
        f"class {by_class.labels[worst]!r}, mislabels {mislabelled:.0%} and rejects "
        f"{1 - by_class.coverage[worst]:.0%}. ",
        *others,
    )


def _overconfident(point: ParetoPoint) -> DeploymentWarning | None:
    stages = point.overconfident
    if not stages or point.exit_confidence is None:
        return None
    j = stages[0] - 1
    accuracy = point.correct_exits[j] / point.exits[j]
    return DeploymentWarning(
        f"stage {stages[0]} is on average {point.exit_confidence[j]:.1%} sure of its labels, but "
        f"{accuracy:.1%} of them are correct; ",
        Hint(Remedy.CALIBRATE),
        ".",
    )
