"""Plain records of a front, ready for the functions that draw plots."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from emsco._base.checks import check_choice
from emsco.cascade import Evaluation
from emsco.costs import FeatureCosts
from emsco.designs.thresholds import rule_in_words
from emsco.errors import ParameterError
from emsco.front.point import ParetoPoint
from emsco.front.references import Reference
from emsco.plotting.flow import Flow
from emsco.plotting.trade_offs import FrontPicture, FrontSeries, ReferenceMark
from emsco.plotting.workflow import CascadePicture

if TYPE_CHECKING:
    from emsco.front.pareto_front import ParetoFront

ON = ("scored", "seen", "expected", "both")


def flow_of(point: ParetoPoint, costs: FeatureCosts) -> Flow:
    """Count the scored rows that reach and leave each stage of a point.

    A row that several splits have scored counts once: its counts are means over the splits.
    """
    often = point.times_scored

    def rows(counts: Sequence[float]) -> Sequence[float]:
        return counts if often == 1 else [n / often for n in counts]

    return Flow.from_design(
        point.design,
        costs,
        point.n_rows if often == 1 else point.n_rows / often,
        rows(point.exits),
        rows(point.correct_exits),
        mean_cost=point.cost if costs.prices else None,
        rejected_exits=rows(point.rejected_exits),
    )


def front_picture(
    front: ParetoFront,
    marked: int | None = None,
    on: str = "scored",
    currency: str | None = None,
    *,
    every: bool = False,
) -> FrontPicture:
    """Record points with their scored, expected or seen figures, or with scored and seen ones.

    These are the points of the shortlist and the marked one; with `every`, all. `marked` is the
    position of a point to ring, by default the deployed one; beside its scored figures alone, its
    expected ones are recorded too. Points that are not informative are recorded as such: scored
    figures by the scored rows, seen figures by the test rows.
    """
    check_choice("on", on, ON)
    number = front.deployed if marked is None else marked
    # A design that rejects everyone for nothing is drawn only if it is marked.
    shown = [
        i
        for i, one in enumerate(front)
        if i == number or ((every or one.shortlisted) and not one.rejects_everyone)
    ]
    points = [front[i] for i in shown]
    marked = None if number is None else shown.index(number)
    informative = [point.is_informative for point in points]
    n_scored = points[0].n_rows / points[0].times_scored
    series, marks = [], reference_marks(front.references, front.metric)
    if on == "expected":
        figures = [point.expected.figures for point in points if point.expected is not None]
        if len(figures) < len(points):
            raise ParameterError(
                f"on must be 'scored' for a front without expected figures, got {on!r}."
            )
        series.append(FrontSeries.from_points("expected", n_scored, figures, informative, marks))
    if on in ("scored", "both"):
        series.append(FrontSeries.from_points("scored", n_scored, points, informative, marks))
    if on in ("seen", "both"):
        evaluations = [_seen_figures(front, on)[i] for i in shown]
        informative = [one.by_class.beats_commonest for one in evaluations]
        marks = reference_marks(front.seen_references)
        n_seen = evaluations[0].n_rows
        series.append(FrontSeries.from_points("seen", n_seen, evaluations, informative, marks))
    return FrontPicture(
        tuple(series),
        np.array([point.n_stages for point in points]),
        front.costs.total,
        marked,
        front.metric,
        expected=None if marked is None or on != "scored" else points[marked].expected,
        currency=currency,
        mark_title=f"{'deployed: ' if number == front.deployed else ''}design {number}",
        n_designs=len(front),
    )


def cascade_picture(
    front: ParetoFront, which: int, on: str = "scored", currency: str | None = None
) -> CascadePicture:
    """Record the stages of a point and the scored or test rows that flow through them."""
    check_choice("on", on, ON[:2])
    costs, design = front.costs, front[which].design
    if on == "seen":
        flow = _seen_figures(front, on)[which].flow(design)
    else:
        flow = flow_of(front[which], costs)
    return CascadePicture(
        flow,
        dict(zip(costs.names, costs.costs.tolist(), strict=True)),
        rule_in_words(design.thresholds_or(front.min_confidence)[0]),
        "test" if on == "seen" else "scored",
        costs.total,
        costs.fees,
        currency=currency,
        may_lack=may_lack(front),
        labels=tuple(map(str, front.labels or ())),
    )


def may_lack(front: ParetoFront) -> bool:
    """Whether rows with a missing value go on through the cascades of a front."""
    return front.models is None or front.models.encoding.gaps != "refuse"


def reference_marks(
    references: Sequence[Reference], metric: str = "accuracy"
) -> tuple[ReferenceMark, ...]:
    """Record references with the accuracy that `metric` names."""
    marks, kinds = [], {one.kind for one in references}
    for one in references:
        title = f"buy nothing: {one.title}"
        if one.buys_everything:
            # Only where both are there, the difference between them needs words.
            title = f"buy {one.title if {'everything', 'answered'} <= kinds else 'everything'}"
        marks.append(ReferenceMark(**asdict(one.scored_by(metric)), title=title))
    return tuple(marks)


def _seen_figures(front: ParetoFront, on: str) -> Sequence[Evaluation]:
    if front.seen is None:
        raise ParameterError(
            f"on must be 'scored' for a front without seen figures, got {on!r}; with_seen adds "
            "them."
        )
    return front.seen
