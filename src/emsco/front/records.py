"""Plain records of a front, ready for the functions that draw plots and pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from emsco._base.checks import check_choice, refused
from emsco.cascade import Evaluation
from emsco.costs import FeatureCosts
from emsco.designs.thresholds import MinConfidence, in_words
from emsco.errors import Hint, Remedy
from emsco.front.point import ParetoPoint
from emsco.pictures.explorer import ExploredDesign
from emsco.pictures.flow import Flow
from emsco.pictures.plotting.cascade import CascadePicture
from emsco.pictures.plotting.front import FrontPicture, FrontSeries

__all__ = ["ON", "cascade_picture", "explored_designs", "flow_of", "front_picture"]

ON = ("scored", "seen", "both")

Points: TypeAlias = Sequence[ParetoPoint]
Seen: TypeAlias = Sequence[Evaluation] | None


def flow_of(point: ParetoPoint, costs: FeatureCosts) -> Flow:
    """Count the scored rows that reach and leave each stage of a point."""
    return Flow.from_design(point.design, costs, point.n_rows, point.exits, point.correct_exits)


def front_picture(
    points: Points, seen: Seen, total_cost: float, marked: int | None = None, on: str = "scored"
) -> FrontPicture:
    """Record every point with its scored figures, its seen figures or both.

    `marked` is the position of a point to ring.
    """
    check_choice("on", on, ON)
    series = []
    if on != "seen":
        series.append(FrontSeries.from_points("scored", points[0].n_rows, points))
    if on != "scored":
        evaluations = _checked(seen, on)
        series.append(FrontSeries.from_points("seen", evaluations[0].n_rows, evaluations))
    n_stages = np.array([point.n_stages for point in points])
    return FrontPicture(tuple(series), n_stages, total_cost, marked, points[0].metric)


def cascade_picture(
    points: Points,
    seen: Seen,
    costs: FeatureCosts,
    min_confidence: MinConfidence,
    which: int,
    on: str = "scored",
) -> CascadePicture:
    """Record the stages of a point and the scored or test rows that flow through them."""
    check_choice("on", on, ON[:2])
    if on == "seen":
        flow = Flow.from_evaluation(_checked(seen, on)[which])
    else:
        flow = flow_of(points[which], costs)
    of_feature = dict(zip(costs.names, costs.costs.tolist(), strict=True))
    sure = f"confidence ≥ {in_words(min_confidence)}"
    rows = "test" if on == "seen" else "scored"
    return CascadePicture(flow, of_feature, sure, rows, costs.total)


def explored_designs(points: Points, seen: Seen, costs: FeatureCosts) -> list[ExploredDesign]:
    """Record every point with its flow of scored rows and, if any, its flow of test rows."""
    return [
        ExploredDesign(
            coverage=point.coverage,
            accuracy=point.accuracy,
            cost=point.cost,
            n_tied=point.n_tied,
            flow=flow_of(point, costs),
            seen=None if one is None else Flow.from_evaluation(one),
        )
        for point, one in zip(points, seen or (None,) * len(points), strict=True)
    ]


def _checked(seen: Seen, on: str) -> Sequence[Evaluation]:
    if seen is None:
        rule = "be 'scored' for a front without seen figures"
        raise refused("on", rule, on, hint=Hint(Remedy.SEEN))
    return seen
