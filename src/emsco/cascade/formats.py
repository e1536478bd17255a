"""Convert cascades to plain values for files and back, checking every value that is read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from emsco._base.documents import Fields
from emsco._base.typing import AnyArray, BoolArray
from emsco.costs import FeatureCosts
from emsco.data.encoding import Encoding
from emsco.data.rows import LARGEST
from emsco.designs.design import Design
from emsco.designs.thresholds import MOST_CLASSES, MinConfidence
from emsco.errors import CostsError, FileError, ParameterError
from emsco.models.calibration import Calibrator
from emsco.models.estimator_files import estimator_from_dict, estimator_to_dict
from emsco.models.scaling import Scaling
from emsco.models.splines import SplineBasis
from emsco.models.stage_models import EstimatorModels, LinearModels, StageModels

if TYPE_CHECKING:
    from emsco.models.estimator_model import EstimatorModel

__all__ = ["FORMAT", "Shared", "stages_from_dicts"]

FORMAT = 4
_SMALLEST = 1e-300  # above 0, and so that 1 / deviation is finite
_LABEL_TYPES = r"bool|object|u?int(8|16|32|64)|float(16|32|64)|[<>]?U\d{1,6}"


@dataclass(frozen=True, slots=True, eq=False)
class Shared:
    """Values that all cascades of one fit share, so that a file holds them once.

    Attributes
    ----------
    costs : FeatureCosts
    classes : ndarray of shape (n_classes,)
    min_confidence : float or dict
    encoding : Encoding
    scaling : Scaling or None
        Standardises the inputs of logistic regressions; None for other models.
    models : tuple of EstimatorModel
        The distinct models if they are not logistic regressions.
    """

    costs: FeatureCosts
    classes: AnyArray
    min_confidence: MinConfidence
    encoding: Encoding
    scaling: Scaling | None
    models: tuple[EstimatorModel, ...] = ()
    basis: SplineBasis | None = None

    @classmethod
    def from_models(
        cls,
        costs: FeatureCosts,
        classes: AnyArray,
        min_confidence: MinConfidence,
        encoding: Encoding,
        fitted: Sequence[StageModels],
    ) -> Self:
        """Collect the values shared by cascades with these models."""
        scalings = [one.scaling for one in fitted if isinstance(one, LinearModels)]
        scaling = scalings[0] if scalings else None
        if any(not other.equals(scalings[0]) for other in scalings):
            raise FileError(
                "a front must have models of one fit to be saved, got several scalings."
            )
        others = (one.models for one in fitted if isinstance(one, EstimatorModels))
        models = {id(model): model for some in others for model in some}
        basis = next((one.basis for one in fitted if isinstance(one, LinearModels)), None)
        shared = tuple(models.values()), basis
        return cls(costs, classes, min_confidence, encoding, scaling, *shared)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        sure = self.min_confidence
        labels = self.classes.tolist()
        least = [sure[c] for c in labels] if isinstance(sure, Mapping) else float(sure)
        common = {
            "features": list(self.costs.names),
            "costs": self.costs.costs.tolist(),
            "evaluation_cost": float(self.costs.evaluation),
            "encoding": self.encoding.to_dict(),
            "classes": labels,
            "class_type": _label_type(self.classes),
            "min_confidence": least,
            "family": self._family,
        }
        if self.scaling:
            mean, deviation = self.scaling.mean.tolist(), self.scaling.deviation.tolist()
            knots = {} if self.basis is None else {"knots": self.basis.to_lists()}
            return {**common, "mean": mean, "deviation": deviation, **knots}
        return {**common, "models": [estimator_to_dict(model) for model in self.models]}

    @property
    def _family(self) -> str:
        if self.scaling is None:
            return "estimator"
        return "logistic" if self.basis is None else "spline"

    @classmethod
    def from_dict(cls, fields: Fields, trusted: Sequence[str] = ()) -> Self:
        """Read the shared values from a file and check them."""
        names = tuple(fields.texts("features"))
        encoding = Encoding.from_dict(fields.fields("encoding"))
        if encoding.features != names:
            fields.refuse("features", "those of the encoding", list(names))
        evaluation = fields.number("evaluation_cost", 0)
        numbers = fields.numbers("costs", len(names))
        try:
            columns = tuple(map(encoding.needs, names))
            costs = FeatureCosts(names, numbers, evaluation, columns, encoding.columns)
        except (CostsError, ParameterError) as error:
            fields.refuse("costs", "costs that can be used", str(error))
        classes = _read_classes(fields)
        shared = cls(costs, classes, _read_min_confidence(fields, classes), encoding, None)
        kind, n_inputs = fields.text("family"), encoding.n_inputs
        if kind in ("logistic", "spline"):
            basis = None
            if kind == "spline":
                basis = SplineBasis.from_fields(fields, "knots", n_inputs, LARGEST)
            n_columns = n_inputs if basis is None else basis.n_columns
            most = (
                LARGEST if basis is None else 10 * LARGEST
            )  # a spline is at most 3 times as large
            mean = fields.numbers("mean", n_columns, -most, most)
            deviation = fields.numbers("deviation", n_columns, _SMALLEST, most)
            return replace(shared, scaling=Scaling(mean, deviation), basis=basis)
        if kind != "estimator":
            fields.refuse("family", "'logistic', 'spline' or 'estimator'", kind)
        models = fields.many_fields("models")
        return replace(
            shared,
            models=tuple(
                estimator_from_dict(one, n_inputs, len(classes), trusted, one.where)
                for one in models
            ),
        )

    def stages_to_dicts(self, design: Design, models: StageModels) -> list[dict[str, Any]]:
        """Convert each stage to plain values: the features it buys, and its model."""
        if isinstance(models, EstimatorModels):
            places = {id(model): i for i, model in enumerate(self.models)}
            found = [{"model": places[id(model)]} for model in models.models]
        elif isinstance(models, LinearModels):
            found = [_linear_to_dict(models, j) for j in range(len(models))]
        return [
            {"buys": list(bought), **one} for bought, one in zip(design.buys, found, strict=True)
        ]


def _linear_to_dict(models: LinearModels, stage: int) -> dict[str, Any]:
    """Convert the model of a stage to its weights, in the order of the inputs it reads."""
    reads, maps = models.reads[stage], models.calibrators
    outputs = [
        {"intercept": float(coefs[0]), "weights": coefs[1:][reads].tolist()}
        for coefs in models.coefs[stage]
    ]
    return {"outputs": outputs, "calibration": maps and maps[stage].to_dict()}


def stages_from_dicts(
    fields: Fields, shared: Shared, name: str = "stages"
) -> tuple[Design, StageModels]:
    """Read the stages of a cascade from the field `name`: its design and its models."""
    names, stages = shared.costs.names, fields.many_fields(name)
    if len(stages) > len(names):
        fields.refuse(name, f"at most {len(names)} stages", f"{len(stages):,}")
    position = {name: i for i, name in enumerate(names)}
    chromosome = np.full(len(names), -1)
    for j, stage in enumerate(stages):
        for name in stage.texts("buys"):
            if name not in position or chromosome[position[name]] >= 0:
                stage.refuse("buys", "features, each bought once", name)
            chromosome[position[name]] = j
    design = Design(chromosome, names)
    reads = design.subsets()[:, shared.encoding.input_feature]
    reads = reads if shared.basis is None else shared.basis.reads(reads)
    if shared.scaling is None:
        return design, _estimator_models_from(stages, shared, reads)
    return design, _linear_models_from(stages, shared, reads)


def _estimator_models_from(
    stages: list[Fields], shared: Shared, reads: BoolArray
) -> EstimatorModels:
    models = []
    for stage, known in zip(stages, reads, strict=True):
        model = shared.models[stage.whole("model", 0, len(shared.models) - 1)]
        if not np.array_equal(model.inputs, np.flatnonzero(known)):
            stage.refuse("model", "one that reads the features bought by then", stage.get("model"))
        models.append(model)
    return EstimatorModels(tuple(models))


def _linear_models_from(stages: list[Fields], shared: Shared, reads: BoolArray) -> LinearModels:
    n_classes = len(shared.classes)
    n_outputs = 1 if n_classes == 2 else n_classes
    coefs = np.zeros((len(stages), n_outputs, reads.shape[1] + 1))
    maps = []
    for j, stage in enumerate(stages):
        outputs = stage.many_fields("outputs")
        if len(outputs) != n_outputs:
            stage.refuse("outputs", f"a list of {n_outputs}", f"{len(outputs)}")
        known = np.flatnonzero(reads[j])
        for k, output in enumerate(outputs):
            coefs[j, k, 0] = output.number("intercept", -LARGEST, LARGEST)
            coefs[j, k, 1 + known] = output.numbers("weights", len(known), -LARGEST, LARGEST)
        if stage.get("calibration") is not None:
            maps.append(Calibrator.from_dict(stage.fields("calibration"), n_classes))
    if maps and len(maps) < len(stages):
        stages[0].refuse("calibration", "there for all stages or none", f"{len(maps)} stages")
    if shared.scaling is None:
        raise AssertionError("logistic regressions have one")
    return LinearModels(shared.scaling, reads, coefs, tuple(maps) or None, shared.basis)


def _read_min_confidence(fields: Fields, classes: AnyArray) -> MinConfidence:
    if isinstance(fields.get("min_confidence"), list):
        least = fields.numbers("min_confidence", len(classes), _SMALLEST, 1).tolist()
        return dict(zip(classes.tolist(), least, strict=True))
    return fields.number("min_confidence", _SMALLEST, 1)


def _label_type(classes: AnyArray) -> str:
    """Name the type of the labels, if a file can hold it."""
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
    if not _are_plain(values) or not 2 <= len(set(values)) == len(values) <= MOST_CLASSES:
        fields.refuse("classes", f"2 to {MOST_CLASSES} different labels", values)
    try:
        with np.errstate(over="ignore"):  # an overflow fails the comparison below
            classes = np.array(values, dtype=kind)
    except (OverflowError, TypeError, ValueError):
        fields.refuse("classes", f"labels of type {kind}", values)
    if classes.tolist() != values:
        fields.refuse("classes", f"labels of type {kind}", values)
    return classes
