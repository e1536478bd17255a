"""What pictures and pages of a front show, as the plain records that are drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from emsco.cascade import Evaluation
from emsco.errors import ParameterError
from emsco.explorer import ExploredDesign
from emsco.flow import Flow
from emsco.parameters import check_choice
from emsco.plotting.cascade import CascadePicture
from emsco.plotting.front import FrontPicture, FrontSeries
from emsco.thresholds import in_words

if TYPE_CHECKING:
    from emsco.front.core import ParetoFront

__all__ = ["ON", "cascade_picture", "explored_designs", "front_picture"]

ON = ("held-out", "test", "both")


def front_picture(
    front: ParetoFront, marked: int | None = None, on: str = "held-out"
) -> FrontPicture:
    """Every point on held-out rows, on test rows, or on both; one may be marked."""
    check_choice("on", on, ON)
    series = []
    if on != "test":
        series.append(FrontSeries.of("held-out", front[0].n_rows, front.points))
    if on != "held-out":
        tests = _tests(front, on)
        series.append(FrontSeries.of("test", tests[0].n_rows, tests))
    n_stages = np.array([point.n_stages for point in front])
    return FrontPicture(tuple(series), n_stages, front.costs.total, marked)


def cascade_picture(front: ParetoFront, which: int, on: str = "held-out") -> CascadePicture:
    """The stages of a point, and held-out or test rows on their way through them."""
    check_choice("on", on, ON[:2])
    tested = on == "test"
    flow = Flow.of_evaluation(_tests(front, on)[which]) if tested else front.flow(which)
    costs = dict(zip(front.costs.names, front.costs.costs.tolist(), strict=True))
    sure = f"confidence ≥ {in_words(front.min_confidence)}"
    return CascadePicture(flow, costs, sure, on, front.costs.total)


def explored_designs(front: ParetoFront) -> list[ExploredDesign]:
    """Every point with its flows, held-out and test rows apart."""
    tests = front.tests or (None,) * len(front)
    return [
        ExploredDesign(
            coverage=point.coverage,
            accuracy=point.accuracy,
            cost=point.cost,
            n_tied=point.n_tied,
            flow=front.flow(i),
            test=None if test is None else Flow.of_evaluation(test),
        )
        for i, (point, test) in enumerate(zip(front.points, tests, strict=True))
    ]


def _tests(front: ParetoFront, on: str) -> tuple[Evaluation, ...]:
    if front.tests is None:
        raise ParameterError(
            f"on must be 'held-out' for a front without tests, got {on!r}; emsco fit --test adds "
            "them, as does with_tests in Python."
        )
    return front.tests
