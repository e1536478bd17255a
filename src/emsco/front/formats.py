"""Fronts as plain values for files, and back, with every value checked on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emsco._base.documents import Fields
from emsco.cascade import Evaluation, StageModels
from emsco.cascade.formats import Shared, read_stages
from emsco.front.point import ParetoPoint

__all__ = ["points_to_dicts", "read_front"]


def points_to_dicts(
    points: Sequence[ParetoPoint],
    tests: Sequence[Evaluation] | None,
    models: StageModels,
    shared: Shared,
) -> list[dict[str, Any]]:
    """Every point as plain values: its stages, its scored figures and those of its test."""
    return [
        {
            "stages": shared.stages_values(point.design, classifiers),
            "validation": point.figures(),
            "test": test and test.to_dict(),
        }
        for point, classifiers, test in zip(
            points, models.classifiers, tests or (None,) * len(points), strict=True
        )
    ]


def read_front(fields: Fields, trusted: Sequence[str]) -> dict[str, Any]:
    """The attributes of the front in a file."""
    shared = Shared.read(fields, trusted)
    points, classifiers, tests = [], [], []
    for one in fields.many_fields("points"):
        design, stages = read_stages(one, shared)
        points.append(ParetoPoint.from_fields(one.fields("validation"), design))
        classifiers.append(stages)
        if one.get("test") is not None:
            tests.append(Evaluation.from_fields(one.fields("test"), design.buys))
    if tests and len(tests) < len(points):
        fields.refuse("points", "tested all or none", f"{len(tests)} tests")
    return {
        "points": tuple(points),
        "costs": shared.costs,
        "min_confidence": shared.min_confidence,
        "proven": fields.flag("proven"),
        "by_fitness": "by_fitness" in fields.values and fields.flag("by_fitness"),
        "models": StageModels(shared.classes, shared.encoding, tuple(classifiers)),
        "tests": tuple(tests) or None,
    }
