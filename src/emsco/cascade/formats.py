"""Cascades as plain values for files, and back, with every value checked on the way."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from emsco._typing import AnyArray, FloatArray
from emsco.costs import FeatureCosts
from emsco.design import Design
from emsco.errors import CostsError, FileError, ParameterError
from emsco.files import Fields
from emsco.rows import LARGEST
from emsco.subsets.scaling import Scaling

if TYPE_CHECKING:
    from emsco.cascade.core import Cascade

__all__ = ["FORMAT", "Shared", "cascade_body", "read_stages", "stages_values"]

FORMAT = 1
_SMALLEST = 1e-300  # above 0, and so that 1 / deviation is finite
_LABEL_TYPES = r"bool|object|u?int(8|16|32|64)|float(16|32|64)|[<>]?U\d{1,6}"


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """What all cascades of one fit have in common."""

    costs: FeatureCosts
    classes: AnyArray
    min_confidence: float
    scaling: Scaling

    def values(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "features": list(self.costs.names),
            "costs": self.costs.costs.tolist(),
            "classes": self.classes.tolist(),
            "class_type": _label_type(self.classes),
            "min_confidence": float(self.min_confidence),
            "classifier": "logistic",
            "mean": self.scaling.mean.tolist(),
            "deviation": self.scaling.deviation.tolist(),
        }

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """The same, read from a file and checked."""
        names = tuple(fields.texts("features"))
        n_features = len(names)
        if (kind := fields.text("classifier")) != "logistic":
            fields.refuse("classifier", "'logistic'", kind)
        mean = fields.numbers("mean", n_features, -LARGEST, LARGEST)
        deviation = fields.numbers("deviation", n_features, _SMALLEST, LARGEST)
        min_confidence = fields.number("min_confidence", _SMALLEST, 1)
        try:
            costs = FeatureCosts(names, fields.numbers("costs", n_features))
        except CostsError as error:
            fields.refuse("costs", "costs that can be used", str(error))
        return cls(costs, _read_classes(fields), min_confidence, Scaling(mean, deviation))


def stages_values(design: Design, coefs: FloatArray) -> list[dict[str, Any]]:
    """What each stage buys, and its weights in the order of the columns it knows."""
    known = design.subsets()
    return [
        {
            "buys": list(design.features(j)),
            "intercept": float(coefs[j, 0]),
            "weights": coefs[j, 1:][known[j]].tolist(),
        }
        for j in range(design.n_stages)
    ]


def read_stages(fields: Fields, names: tuple[str, ...]) -> tuple[Design, FloatArray]:
    """The design and the weights, shape (n_stages, n_features + 1), of a list of stages."""
    stages = fields.many_fields("stages")
    if len(stages) > len(names):
        fields.refuse("stages", f"at most {len(names)} stages", f"{len(stages):,}")
    position = {name: i for i, name in enumerate(names)}
    chromosome = np.full(len(names), -1)
    coefs = np.zeros((len(stages), len(names) + 1))
    for j, stage in enumerate(stages):
        for name in stage.texts("buys"):
            if name not in position or chromosome[position[name]] >= 0:
                stage.refuse("buys", "features, each bought once", name)
            chromosome[position[name]] = j
        known = np.flatnonzero(chromosome >= 0)
        coefs[j, 0] = stage.number("intercept", -LARGEST, LARGEST)
        coefs[j, 1 + known] = stage.numbers("weights", len(known), -LARGEST, LARGEST)
    try:
        return Design(chromosome, names), coefs
    except ParameterError:
        missing = names[int(np.argmin(chromosome))]
        fields.refuse("stages", "stages that buy every feature", f"none that buys {missing!r}")


def cascade_body(cascade: Cascade) -> dict[str, Any]:
    """A whole cascade as plain values."""
    shared = Shared(cascade.costs, cascade.classes, cascade.min_confidence, cascade.scaling)
    return {**shared.values(), "stages": stages_values(cascade.design, cascade.coefs)}


def _label_type(classes: AnyArray) -> str:
    """The type of labels by name, of those that a file can hold."""
    name = str(classes.dtype.newbyteorder("="))
    if not _are_plain(classes.tolist()) or not re.fullmatch(_LABEL_TYPES, name):
        raise FileError(
            f"classes must be numbers, text or truth values to be saved, got {classes.tolist()!r}."
        )
    return name


def _are_plain(labels: list[Any]) -> bool:
    finite = all(math.isfinite(label) for label in labels if isinstance(label, float))
    return finite and all(isinstance(label, (str, int, float, bool)) for label in labels)


def _read_classes(fields: Fields) -> AnyArray:
    values, kind = fields.items("classes"), fields.text("class_type")
    if not re.fullmatch(_LABEL_TYPES, kind):
        fields.refuse("class_type", "a type of labels", kind)
    if not _are_plain(values) or len(values) != 2 or values[0] == values[1]:
        fields.refuse("classes", "two different labels", values)
    try:
        with np.errstate(over="ignore"):  # what comes of it is not what was read
            classes = np.array(values, dtype=kind)
    except (OverflowError, TypeError, ValueError):
        fields.refuse("classes", f"labels of type {kind}", values)
    if classes.tolist() != values:
        fields.refuse("classes", f"labels of type {kind}", values)
    return classes
