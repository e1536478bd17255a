"""Convert cascades to plain values for files and back, checking every value that is read."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from emsco._base.documents import Fields
from emsco._base.typing import AnyArray, FloatArray
from emsco.cascade.model_files import ModelPart, part_from_dict, part_of_models
from emsco.costs import FeatureCosts, Fee, RowPrice
from emsco.data.encoding import Encoding
from emsco.designs.chromosomes import MOST_STAGES
from emsco.designs.design import Design
from emsco.designs.stage_thresholds import StageThresholds
from emsco.designs.thresholds import MOST_CLASSES, MinConfidence
from emsco.errors import CostsError, FileError, ParameterError
from emsco.models.averaged import averaged, parts_of
from emsco.models.stage_models import StageModels
from emsco.trust.error_costs import check_label_costs

__all__ = [
    "FORMAT",
    "Shared",
    "StoredModels",
    "design_from_dicts",
    "label_costs_from",
    "stages_from_dicts",
]

FORMAT = 7
# Weights of all stages of a cascade when they are put together, and times those that its file has.
_FREE_WEIGHTS, _MOST_TIMES = 2**22, 16
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
    parts : tuple of ModelPart
        The distinct models of each split; stages average one model per part.
    """

    costs: FeatureCosts
    classes: AnyArray
    min_confidence: MinConfidence
    encoding: Encoding
    parts: tuple[ModelPart, ...]

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
        split_up = [parts_of(one) for one in fitted]
        if len({len(parts) for parts in split_up}) > 1:
            raise FileError(
                "a front must have models of one fit to be saved, got averages of several sizes."
            )
        parts = tuple(map(part_of_models, zip(*split_up, strict=True)))
        return cls(costs, classes, min_confidence, encoding, parts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        sure = self.min_confidence
        labels = self.classes.tolist()
        least = [sure[c] for c in labels] if isinstance(sure, Mapping) else float(sure)
        return {
            "features": list(self.costs.names),
            "costs": self.costs.costs.tolist(),
            "evaluation_cost": float(self.costs.evaluation),
            "fees": [fee.to_dict() for fee in self.costs.fees],
            "delays": self.costs.delays.tolist(),
            "prices": [{"feature": one.feature, "column": one.column} for one in self.costs.prices],
            "encoding": self.encoding.to_dict(),
            "classes": labels,
            "class_type": _label_type(self.classes),
            "min_confidence": least,
            "parts": [part.to_dict() for part in self.parts],
        }

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
            fees = tuple(
                Fee(fee.text("name"), fee.number("cost", 0), tuple(fee.texts("features")))
                for fee in (fields.many_fields("fees") if fields.items("fees") else ())
            )
            prices = tuple(
                RowPrice(one.text("feature"), one.get("column") and one.text("column"))
                for one in (fields.many_fields("prices") if fields.items("prices") else ())
            )
            own = columns, encoding.columns, fees, fields.numbers("delays", len(names)), prices
            costs = FeatureCosts(names, numbers, evaluation, *own)
        except (CostsError, ParameterError) as error:
            fields.refuse("costs", "costs that can be used", str(error))
        classes = _read_classes(fields)
        least = _read_threshold(fields, "min_confidence", classes)
        parts = (
            part_from_dict(one, encoding.n_inputs, len(classes), trusted)
            for one in fields.many_fields("parts")
        )
        return cls(costs, classes, least, encoding, tuple(parts))

    def stages_to_dicts(self, design: Design, models: StageModels) -> list[dict[str, Any]]:
        """Convert each stage to plain values: what it buys, when rows leave, and its models.

        Thresholds are None unless the design has its own. Models are numbers, one in each part.
        """
        found = list(zip(self.parts, parts_of(models), strict=True))
        by_class = design.thresholds_of_stages(self.min_confidence, self.classes).tolist()
        own = design.thresholds or (None,) * design.n_stages
        return [
            {
                "buys": list(bought),
                "thresholds": by_class[j] if isinstance(own[j], Mapping) else own[j],
                "models": [part.number_of(fitted, j) for part, fitted in found],
            }
            for j, bought in enumerate(design.buys)
        ]


@dataclass(frozen=True, slots=True, eq=False)
class StoredModels(Sequence[StageModels]):
    """Models of several designs, put together from those of a file when one is asked for.

    A stage that is put together may have a weight for every input. All designs of a front at once
    could take a thousand times the memory of their file.

    Attributes
    ----------
    shared : Shared
    numbers : tuple
        Numbers of the models of each design: one per stage and part.
    """

    shared: Shared
    numbers: tuple[tuple[tuple[int, ...], ...], ...]

    def __len__(self) -> int:
        """Number of designs."""
        return len(self.numbers)

    def __getitem__(self, which: Any) -> Any:
        """Return the models of a design, or those of several as a tuple."""
        if isinstance(which, slice):
            return tuple(self[i] for i in range(*which.indices(len(self))))
        of_parts = zip(self.shared.parts, zip(*self.numbers[which], strict=True), strict=True)
        return averaged([part.stage_models(numbers) for part, numbers in of_parts])


def stages_from_dicts(
    fields: Fields, shared: Shared, name: str = "stages"
) -> tuple[Design, StageModels]:
    """Read the stages of a cascade from the field `name`: its design and its models."""
    design, numbers = design_from_dicts(fields, shared, name)
    return design, StoredModels(shared, (numbers,))[0]


def design_from_dicts(
    fields: Fields, shared: Shared, name: str = "stages"
) -> tuple[Design, tuple[tuple[int, ...], ...]]:
    """Read a design from the field `name`, and the numbers of its models for `StoredModels`."""
    names, stages = shared.costs.names, fields.many_fields(name)
    if len(stages) > (most := min(len(names), MOST_STAGES)):
        fields.refuse(name, f"at most {most} stages", f"{len(stages):,}")
    position = {name: i for i, name in enumerate(names)}
    chromosome = np.full(len(names), -1)
    for j, stage in enumerate(stages):
        for bought in stage.texts("buys"):
            if bought not in position or chromosome[position[bought]] >= 0:
                stage.refuse("buys", "features, each bought once", bought)
            chromosome[position[bought]] = j
    design = Design(chromosome, names, _read_thresholds(stages, shared.classes))
    return design, _numbers_from(fields, name, stages, shared, design)


def _numbers_from(
    fields: Fields, name: str, stages: list[Fields], shared: Shared, design: Design
) -> tuple[tuple[int, ...], ...]:
    """Read the numbers of the models of all stages, and check that these read what is bought."""
    of_stages = [tuple(stage.wholes("models", len(shared.parts))) for stage in stages]
    for stage, numbers, bought in zip(stages, of_stages, design.subsets(), strict=True):
        inputs = np.flatnonzero(bought[shared.encoding.input_feature])
        for number, part in zip(numbers, shared.parts, strict=True):
            if not part.does_read(number, inputs):
                rule = "numbers of models that read the features bought by then"
                stage.refuse("models", rule, list(numbers))
    for part, own in zip(shared.parts, zip(*of_stages, strict=True), strict=True):
        whole, in_file = part.sizes(own)
        if whole > (most := max(_FREE_WEIGHTS, _MOST_TIMES * in_file)):
            rule = f"stages of at most {most:,} weights, those of inputs not bought included"
            fields.refuse(name, rule, f"{whole:,}")
    return tuple(of_stages)


def _read_threshold(fields: Fields, name: str, classes: AnyArray) -> MinConfidence:
    """Read a threshold for all classes or one for each; 0 labels everyone."""
    if isinstance(fields.get(name), list):
        least = fields.numbers(name, len(classes), 0, 1).tolist()
        return dict(zip(classes.tolist(), least, strict=True))
    return fields.number(name, 0, 1)


def _read_thresholds(stages: list[Fields], classes: AnyArray) -> StageThresholds | None:
    """Read the thresholds of all stages, or none if the first stage has none."""
    if stages[0].get("thresholds") is not None:
        return tuple(_read_threshold(stage, "thresholds", classes) for stage in stages)
    for stage in stages:
        if (own := stage.get("thresholds")) is not None:
            stage.refuse("thresholds", "null, as at the first stage", own)
    return None


def label_costs_from(fields: Fields, classes: AnyArray) -> FloatArray | None:
    """Read the cost of each label for a row of each class; None if labels are the likeliest."""
    if fields.values.get("label_costs") is None:
        return None
    given = fields.items("label_costs")
    try:
        return check_label_costs(given, classes)
    except ParameterError as error:
        fields.refuse("label_costs", "costs that can be used", str(error))


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
