"""Plain records of a front, ready for the functions that draw plots and pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TypeAlias

import numpy as np

from emsco._base.checks import check_choice, refused
from emsco._base.typing import FloatArray
from emsco.app.explorer import ExploredDesign
from emsco.cascade import Evaluation
from emsco.costs import FeatureCosts
from emsco.designs.thresholds import MinConfidence, rule_in_words
from emsco.errors import Hint, Remedy
from emsco.front.point import ParetoPoint
from emsco.front.references import Reference
from emsco.plotting.flow import Flow
from emsco.plotting.marks import ReferenceMark
from emsco.plotting.trade_offs import FrontPicture, FrontSeries
from emsco.plotting.workflow import CascadePicture

ON = ("scored", "seen", "expected", "both")

Points: TypeAlias = Sequence[ParetoPoint]
Seen: TypeAlias = Sequence[Evaluation] | None


def flow_of(point: ParetoPoint, costs: FeatureCosts) -> Flow:
    """Count the scored rows that reach and leave each stage of a point.

    A row that several splits have scored counts once: its counts are means over the splits.
    """
    n_rows, exits, correct = point.n_rows, point.exits, point.correct_exits
    if (often := point.times_scored) > 1:
        n_rows = n_rows / often
        exits, correct = (tuple(n / often for n in counts) for counts in (exits, correct))
    mean_cost = point.cost if costs.prices else None
    return Flow.from_design(point.design, costs, n_rows, exits, correct, mean_cost)


def front_picture(
    points: Points,
    seen: Seen,
    total_cost: float,
    marked: int | None = None,
    on: str = "scored",
    references: Sequence[Reference] = (),
    seen_references: Sequence[Reference] = (),
) -> FrontPicture:
    """Record every point with its scored figures, its seen figures or both.

    `marked` is the position of a point to ring; beside its scored figures alone, its expected ones
    are recorded too. Points that are not informative are recorded as such: scored figures by the
    scored rows, seen figures by the test rows.
    """
    check_choice("on", on, ON)
    series = []
    if on == "expected":
        series.append(_expected_series(points))
    if on in ("scored", "both"):
        informative = [point.is_informative for point in points]
        marks = reference_marks(references, points[0].metric)
        n_rows = points[0].n_rows / points[0].times_scored
        series.append(FrontSeries.from_points("scored", n_rows, points, informative, marks))
    if on in ("seen", "both"):
        evaluations = _checked(seen, on)
        informative = [one.by_class.beats_commonest for one in evaluations]
        marks = reference_marks(seen_references)
        n_rows = evaluations[0].n_rows
        series.append(FrontSeries.from_points("seen", n_rows, evaluations, informative, marks))
    n_stages = np.array([point.n_stages for point in points])
    expected = None if marked is None or on != "scored" else points[marked].expected
    return FrontPicture(tuple(series), n_stages, total_cost, marked, points[0].metric, expected)


def _expected_series(points: Points) -> FrontSeries:
    found = [point.expected.figures for point in points if point.expected is not None]
    if len(found) < len(points):
        rule = "be 'scored' for a front without expected figures"
        raise refused("on", rule, "expected")
    informative = [point.is_informative for point in points]
    n_rows = points[0].n_rows / points[0].times_scored
    return FrontSeries.from_points("expected", n_rows, found, informative)


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
    design = points[which].design
    if on == "seen":
        flow = Flow.from_evaluation(_checked(seen, on)[which], design.thresholds)
    else:
        flow = flow_of(points[which], costs)
    of_feature = dict(zip(costs.names, costs.costs.tolist(), strict=True))
    sure = rule_in_words(design.thresholds_or(min_confidence)[0])
    rows = "test" if on == "seen" else "scored"
    return CascadePicture(flow, of_feature, sure, rows, costs.total, costs.fees)


def explored_designs(points: Points, seen: Seen, costs: FeatureCosts) -> list[ExploredDesign]:
    """Record every point with its flow of scored rows and, if any, its flow of test rows."""
    return [
        ExploredDesign(
            coverage=point.coverage,
            accuracy=point.accuracy,
            cost=point.cost,
            n_tied=point.n_tied,
            flow=flow_of(point, costs),
            seen=None if one is None else Flow.from_evaluation(one, point.design.thresholds),
            by_class=point.by_class,
            seen_by_class=None if one is None else one.by_class,
            is_informative=point.is_informative,
            shortlisted=point.shortlisted,
            is_simplified=point.is_simplified,
            expected=point.expected,
        )
        for point, one in zip(points, seen or (None,) * len(points), strict=True)
    ]


def reference_marks(
    references: Sequence[Reference], metric: str = "accuracy"
) -> tuple[ReferenceMark, ...]:
    """Record references with the accuracy that `metric` names."""
    return tuple(
        ReferenceMark(
            **asdict(one.scored_by(metric)),
            title=one.title,
            correct=one.accuracy,
            by_class=one.by_class,
        )
        for one in references
    )


def best_first(points: Points, scores: FloatArray) -> list[int]:
    """Return the positions of the points as `select` prefers them.

    Those that are informative come first, then those with the best balanced score.
    """
    return sorted(range(len(points)), key=lambda i: (not points[i].is_informative, -scores[i]))


def _checked(seen: Seen, on: str) -> Sequence[Evaluation]:
    if seen is None:
        rule = "be 'scored' for a front without seen figures"
        raise refused("on", rule, on, hint=Hint(Remedy.SEEN))
    return seen
