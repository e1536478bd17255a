"""Convert fronts to plain values for files and back, checking every value that is read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emsco._base.documents import Fields
from emsco._base.objectives import METRICS
from emsco.cascade import Evaluation, FrontModels
from emsco.cascade.formats import Shared, stages_from_dicts
from emsco.front.point import ParetoPoint

__all__ = ["front_from_dict", "points_to_dicts"]


def points_to_dicts(
    points: Sequence[ParetoPoint],
    evaluations: Sequence[Evaluation] | None,
    models: FrontModels,
    shared: Shared,
) -> list[dict[str, Any]]:
    """Convert points to plain values: stages, scored figures and seen figures."""
    return [
        {
            "stages": shared.stages_to_dicts(point.design, fitted),
            "scored": point.scores_to_dict(),
            "seen": seen and seen.to_dict(),
        }
        for point, fitted, seen in zip(
            points, models.of_points, evaluations or (None,) * len(points), strict=True
        )
    ]


def front_from_dict(fields: Fields, trusted: Sequence[str]) -> dict[str, Any]:
    """Read the attributes of a front from a file and check them."""
    shared = Shared.from_dict(fields, trusted)
    metric = _metric_from(fields)
    points, models, evaluations = [], [], []
    for one in fields.many_fields("points"):
        design, stages = stages_from_dicts(one, shared)
        points.append(ParetoPoint.from_fields(one.fields("scored"), design, metric))
        models.append(stages)
        if one.get("seen") is not None:
            evaluations.append(Evaluation.from_fields(one.fields("seen"), design.buys))
    if evaluations and len(evaluations) < len(points):
        fields.refuse("points", "evaluated all or none", f"{len(evaluations)} evaluations")
    return {
        "points": tuple(points),
        "costs": shared.costs,
        "min_confidence": shared.min_confidence,
        "proven": fields.flag("proven"),
        "by_fitness": "by_fitness" in fields.values and fields.flag("by_fitness"),
        "models": FrontModels(shared.classes, shared.encoding, tuple(models)),
        "seen": tuple(evaluations) or None,
    }


def _metric_from(fields: Fields) -> str:
    metric = fields.text("metric")
    if metric not in METRICS:
        fields.refuse("metric", f"one of {', '.join(METRICS)}", metric)
    return metric
