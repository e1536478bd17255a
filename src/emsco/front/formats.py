"""Fronts as plain values for files, and back, with every value checked on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from emsco.cascade import Evaluation, StageModels
from emsco.cascade.formats import Shared, read_stages
from emsco.errors import FileError
from emsco.files import Fields
from emsco.front.point import ParetoPoint

if TYPE_CHECKING:
    from emsco.front.core import ParetoFront

__all__ = ["front_body", "read_front"]


def front_body(front: ParetoFront) -> dict[str, Any]:
    """What `ParetoFront.save` writes."""
    if front.models is None:
        raise FileError("a front must have fitted stages to be saved, got one without any.")
    models, tests = front.models, front.tests or (None,) * len(front)
    shared = Shared.of(
        front.costs, models.classes, front.min_confidence, models.encoding, models.classifiers
    )
    points = [
        {
            "stages": shared.stages_values(point.design, classifiers),
            "validation": point.figures(),
            "test": test and test.to_dict(),
        }
        for point, classifiers, test in zip(front.points, models.classifiers, tests, strict=True)
    ]
    facts = {"proven": front.proven, "by_fitness": front.by_fitness}
    return {**shared.values(), **facts, "points": points}


def read_front(fields: Fields, trusted: Sequence[str]) -> dict[str, Any]:
    """The attributes of the front behind such a file."""
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
