"""Stage models in files: for each family, what its models share and the model of each stage.

A file has one *part* for each model that a stage averages. A new family needs a class like those
below, and a line in `_FAMILIES` and in `_part_type`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, Self

import numpy as np

from emsco._base.documents import Fields
from emsco._base.typing import BoolArray
from emsco.data.rows import LARGEST
from emsco.errors import FileError
from emsco.models.boosted import BoostedModels
from emsco.models.calibration import Calibrator
from emsco.models.estimator_files import estimator_from_dict, estimator_to_dict
from emsco.models.scaling import Scaling
from emsco.models.splines import SplineBasis
from emsco.models.stage_models import EstimatorModels, LinearModels, StageModels
from emsco.models.trees import TreeEnsemble

if TYPE_CHECKING:
    from emsco.models.estimator_model import EstimatorModel

__all__ = ["ModelPart", "part_from_dict", "part_of_models"]

_SMALLEST = 1e-300  # above 0, and so that 1 / deviation is finite
_LARGEST_BEND = 10 * LARGEST  # a spline is at most 3 times as large as its input


class ModelPart(Protocol):
    """Values that all models of one split share, so that a file holds them once."""

    @classmethod
    def from_models(cls, fitted: Sequence[Any]) -> Self:
        """Collect the values that these models share."""

    @classmethod
    def from_dict(
        cls, fields: Fields, n_inputs: int, n_classes: int, trusted: Sequence[str]
    ) -> Self:
        """Read the shared values from a file and check them."""

    def to_dict(self) -> dict[str, Any]:
        """Return the shared values as plain ones."""

    def stage_to_dict(self, models: Any, stage: int) -> dict[str, Any]:
        """Convert the model of a stage to plain values."""

    def models_from(self, stages: list[Fields], reads: BoolArray, n_classes: int) -> StageModels:
        """Read the model of each stage, which reads the inputs of a line of `reads`."""


def part_of_models(fitted: Sequence[StageModels]) -> ModelPart:
    """Collect the values that the models of one split share."""
    kinds = {_part_type(one) for one in fitted}
    if len(kinds) > 1:
        raise FileError("a front must have models of one fit to be saved, got several families.")
    return kinds.pop().from_models(fitted)


def part_from_dict(
    fields: Fields, n_inputs: int, n_classes: int, trusted: Sequence[str] = ()
) -> ModelPart:
    """Read the values that the models of one split share, and check them."""
    family = fields.text("family")
    if family not in _FAMILIES:
        *names, last = map(repr, _FAMILIES)
        fields.refuse("family", f"{', '.join(names)} or {last}", family)
    return _FAMILIES[family].from_dict(fields, n_inputs, n_classes, trusted)


@dataclass(frozen=True, slots=True, eq=False)
class LinearPart:
    """Scaling and splines of logistic regressions; each stage has its weights."""

    scaling: Scaling
    basis: SplineBasis | None

    @classmethod
    def from_models(cls, fitted: Sequence[LinearModels]) -> Self:
        """Collect the values that these models share."""
        first = fitted[0]
        if any(not other.scaling.equals(first.scaling) for other in fitted):
            raise FileError(
                "a front must have models of one fit to be saved, got several scalings."
            )
        return cls(first.scaling, first.basis)

    @classmethod
    def from_dict(
        cls, fields: Fields, n_inputs: int, n_classes: int, trusted: Sequence[str]
    ) -> Self:
        """Read the shared values from a file and check them."""
        del n_classes, trusted  # weights need neither
        basis, most, n_columns = None, LARGEST, n_inputs
        if fields.text("family") == "spline":
            basis = SplineBasis.from_fields(fields, "knots", n_inputs, LARGEST)
            most, n_columns = _LARGEST_BEND, basis.n_columns
        mean = fields.numbers("mean", n_columns, -most, most)
        return cls(Scaling(mean, fields.numbers("deviation", n_columns, _SMALLEST, most)), basis)

    def to_dict(self) -> dict[str, Any]:
        """Return the shared values as plain ones."""
        family = "logistic" if self.basis is None else "spline"
        knots = {} if self.basis is None else {"knots": self.basis.to_lists()}
        mean, deviation = self.scaling.mean.tolist(), self.scaling.deviation.tolist()
        return {"family": family, "mean": mean, "deviation": deviation, **knots}

    def stage_to_dict(self, models: LinearModels, stage: int) -> dict[str, Any]:
        """Convert the model of a stage to its weights, in the order of the inputs it reads."""
        reads, maps = models.reads[stage], models.calibrators
        outputs = [
            {"intercept": float(coefs[0]), "weights": coefs[1:][reads].tolist()}
            for coefs in models.coefs[stage]
        ]
        return {"outputs": outputs, "calibration": maps and maps[stage].to_dict()}

    def models_from(self, stages: list[Fields], reads: BoolArray, n_classes: int) -> LinearModels:
        """Read the weights and the calibration of each stage."""
        reads = reads if self.basis is None else self.basis.reads(reads)
        n_outputs = 1 if n_classes == 2 else n_classes
        coefs = np.zeros((len(stages), n_outputs, reads.shape[1] + 1))
        for j, stage in enumerate(stages):
            outputs = stage.many_fields("outputs")
            if len(outputs) != n_outputs:
                stage.refuse("outputs", f"a list of {n_outputs}", f"{len(outputs)}")
            known = np.flatnonzero(reads[j])
            for k, output in enumerate(outputs):
                coefs[j, k, 0] = output.number("intercept", -LARGEST, LARGEST)
                coefs[j, k, 1 + known] = output.numbers("weights", len(known), -LARGEST, LARGEST)
        maps = _calibrators_from(stages, n_classes)
        return LinearModels(self.scaling, reads, coefs, maps, self.basis)


@dataclass(frozen=True, slots=True, eq=False)
class EstimatorPart:
    """The distinct models of a user's classifier; each stage has the number of one."""

    models: tuple[EstimatorModel, ...]

    @classmethod
    def from_models(cls, fitted: Sequence[EstimatorModels]) -> Self:
        """Collect the distinct models."""
        distinct = {id(model): model for one in fitted for model in one.models}
        return cls(tuple(distinct.values()))

    @classmethod
    def from_dict(
        cls, fields: Fields, n_inputs: int, n_classes: int, trusted: Sequence[str]
    ) -> Self:
        """Read the distinct models from a file and check them."""
        models = (
            estimator_from_dict(one, n_inputs, n_classes, trusted, one.where)
            for one in fields.many_fields("models")
        )
        return cls(tuple(models))

    def to_dict(self) -> dict[str, Any]:
        """Return the distinct models as plain values."""
        models = [estimator_to_dict(model) for model in self.models]
        return {"family": "estimator", "models": models}

    def stage_to_dict(self, models: EstimatorModels, stage: int) -> dict[str, Any]:
        """Convert the model of a stage to its number."""
        own = models.models[stage]
        return {"model": next(i for i, model in enumerate(self.models) if model is own)}

    def models_from(
        self, stages: list[Fields], reads: BoolArray, n_classes: int
    ) -> EstimatorModels:
        """Look up the model of each stage."""
        del n_classes  # the models know it
        found = []
        for stage, known in zip(stages, reads, strict=True):
            model = self.models[stage.whole("model", 0, len(self.models) - 1)]
            if not np.array_equal(model.inputs, np.flatnonzero(known)):
                rule = "one that reads the features bought by then"
                stage.refuse("model", rule, stage.get("model"))
            found.append(model)
        return EstimatorModels(tuple(found))


@dataclass(frozen=True, slots=True, eq=False)
class TreesPart:
    """The distinct ensembles of boosted trees; each stage has the number of one."""

    ensembles: tuple[TreeEnsemble, ...]

    @classmethod
    def from_models(cls, fitted: Sequence[BoostedModels]) -> Self:
        """Collect the distinct ensembles."""
        distinct = {id(ensemble): ensemble for one in fitted for ensemble in one.ensembles}
        return cls(tuple(distinct.values()))

    @classmethod
    def from_dict(
        cls, fields: Fields, n_inputs: int, n_classes: int, trusted: Sequence[str]
    ) -> Self:
        """Read the distinct ensembles from a file and check them."""
        del trusted  # trees are plain numbers
        every = fields.many_fields("ensembles")
        return cls(tuple(TreeEnsemble.from_fields(one, n_inputs, n_classes) for one in every))

    def to_dict(self) -> dict[str, Any]:
        """Return the distinct ensembles as plain values."""
        ensembles = [ensemble.to_dict() for ensemble in self.ensembles]
        return {"family": "boosting", "ensembles": ensembles}

    def stage_to_dict(self, models: BoostedModels, stage: int) -> dict[str, Any]:
        """Convert the model of a stage to the number of its trees, and its calibration."""
        own, maps = models.ensembles[stage], models.calibrators
        number = next(i for i, one in enumerate(self.ensembles) if one is own)
        return {"ensemble": number, "calibration": maps and maps[stage].to_dict()}

    def models_from(self, stages: list[Fields], reads: BoolArray, n_classes: int) -> BoostedModels:
        """Look up the trees of each stage."""
        found = []
        for stage, known in zip(stages, reads, strict=True):
            ensemble = self.ensembles[stage.whole("ensemble", 0, len(self.ensembles) - 1)]
            if (ensemble.reads & ~known).any():
                rule = "one that reads only features bought by then"
                stage.refuse("ensemble", rule, stage.get("ensemble"))
            found.append(ensemble)
        return BoostedModels(tuple(found), _calibrators_from(stages, n_classes))


def _calibrators_from(stages: list[Fields], n_classes: int) -> tuple[Calibrator, ...] | None:
    """Read the calibration of each stage; None if there is none."""
    given = [stage for stage in stages if stage.get("calibration") is not None]
    if given and len(given) < len(stages):
        stages[0].refuse("calibration", "there for all stages or none", f"{len(given)} stages")
    found = (Calibrator.from_dict(stage.fields("calibration"), n_classes) for stage in given)
    return tuple(found) or None


_FAMILIES: dict[str, type[ModelPart]] = {
    "logistic": LinearPart,
    "spline": LinearPart,
    "boosting": TreesPart,
    "estimator": EstimatorPart,
}


def _part_type(models: StageModels) -> type[ModelPart]:
    if isinstance(models, LinearModels):
        return LinearPart
    if isinstance(models, EstimatorModels):
        return EstimatorPart
    if isinstance(models, BoostedModels):
        return TreesPart
    raise AssertionError("no file holds models of another type")
