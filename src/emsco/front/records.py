"""What pictures and pages of a front show, as the plain records that are drawn."""

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

ON = ("held-out", "test", "both")

Points: TypeAlias = Sequence[ParetoPoint]
Tests: TypeAlias = Sequence[Evaluation] | None


def flow_of(point: ParetoPoint, costs: FeatureCosts) -> Flow:
    """How the held-out rows went through the stages of a point."""
    return Flow.of_design(point.design, costs, point.n_rows, point.exits, point.hits)


def front_picture(
    points: Points, tests: Tests, total_cost: float, marked: int | None = None, on: str = "held-out"
) -> FrontPicture:
    """Every point on held-out rows, on test rows, or on both; one may be marked."""
    check_choice("on", on, ON)
    series = []
    if on != "test":
        series.append(FrontSeries.of("held-out", points[0].n_rows, points))
    if on != "held-out":
        tested = _checked(tests, on)
        series.append(FrontSeries.of("test", tested[0].n_rows, tested))
    n_stages = np.array([point.n_stages for point in points])
    return FrontPicture(tuple(series), n_stages, total_cost, marked)


def cascade_picture(
    points: Points,
    tests: Tests,
    costs: FeatureCosts,
    min_confidence: MinConfidence,
    which: int,
    on: str = "held-out",
) -> CascadePicture:
    """The stages of a point, and held-out or test rows on their way through them."""
    check_choice("on", on, ON[:2])
    if on == "test":
        flow = Flow.of_evaluation(_checked(tests, on)[which])
    else:
        flow = flow_of(points[which], costs)
    of_feature = dict(zip(costs.names, costs.costs.tolist(), strict=True))
    sure = f"confidence ≥ {in_words(min_confidence)}"
    return CascadePicture(flow, of_feature, sure, on, costs.total)


def explored_designs(points: Points, tests: Tests, costs: FeatureCosts) -> list[ExploredDesign]:
    """Every point with its flows, held-out and test rows apart."""
    return [
        ExploredDesign(
            coverage=point.coverage,
            accuracy=point.accuracy,
            cost=point.cost,
            n_tied=point.n_tied,
            flow=flow_of(point, costs),
            test=None if test is None else Flow.of_evaluation(test),
        )
        for point, test in zip(points, tests or (None,) * len(points), strict=True)
    ]


def _checked(tests: Tests, on: str) -> Sequence[Evaluation]:
    if tests is None:
        raise refused("on", "be 'held-out' for a front without tests", on, hint=Hint(Remedy.TESTS))
    return tests
