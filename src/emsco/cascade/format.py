"""What the files of cascades and fronts hold: costs, classes, encoding, designs and models.

All cascades of one fit share costs, classes, encoding and models: `Shared`. Stage models are the
average of one model per split, so a file has a *part* for each split, with the distinct models of
that split, and a stage has the number of one model in each part. A new family of models needs a
class like those at the end, and a line in `_FAMILIES` and in `_PART_OF`.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from emsco._base.documents import Fields
from emsco._base.typing import AnyArray, FloatArray, IntArray
from emsco.costs import FeatureCosts, Fee, RowPrice
from emsco.data.encoding import Encoding
from emsco.data.rows import LARGEST
from emsco.designs.chromosomes import MOST_STAGES
from emsco.designs.design import Design
from emsco.designs.thresholds import MOST_CLASSES, MinConfidence, StageThresholds
from emsco.errors import CostsError, FileError, ParameterError
from emsco.models.batches import n_outputs_of
from emsco.models.boosting.fitters import BoostedModels
from emsco.models.boosting.trees import TreeEnsemble
from emsco.models.calibration import Calibrator
from emsco.models.estimator_files import (
    EstimatorModel,
    estimator_from_dict,
    estimator_to_dict,
    rising_inputs,
)
from emsco.models.scaling import Scaling
from emsco.models.splines import SplineBasis
from emsco.models.stage_models import (
    EstimatorModels,
    LinearModels,
    PriorModels,
    StageModels,
    averaged,
    parts_of,
)

FORMAT = 7
_LABEL_TYPES = r"bool|object|u?int(8|16|32|64)|float(16|32|64)|[<>]?U\d{1,6}"
# Weights of all stages of a cascade when they are put together, and times those that its file has.
_FREE_WEIGHTS, _MOST_TIMES = 2**22, 16
_SMALLEST = 1e-300  # above 0, and so that 1 / deviation is finite
_LARGEST_BEND = 10 * LARGEST  # a spline is at most 3 times as large as its input
_ROUNDING = 1e-9  # of a sum of shares


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
    class_shares : ndarray of shape (n_classes,) or None
        Shares of the classes, if there is a design that buys nothing: they are its model.
    """

    costs: FeatureCosts
    classes: AnyArray
    min_confidence: MinConfidence
    encoding: Encoding
    parts: tuple[ModelPart, ...]
    class_shares: FloatArray | None = None

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
        priors = [one for one in fitted if isinstance(one, PriorModels)]
        split_up = [parts_of(one) for one in fitted if not isinstance(one, PriorModels)]
        # A file has the models of each split once, so all designs must average the same splits.
        if len({len(parts) for parts in split_up}) > 1:
            raise FileError(
                "a front must have models of one fit to be saved, got averages of several sizes."
            )
        parts = []
        for of_split in zip(*split_up, strict=True):
            kinds = {_PART_OF[type(models)] for models in of_split}
            if len(kinds) > 1:
                raise FileError(
                    "a front must have models of one fit to be saved, got several families."
                )
            parts.append(kinds.pop().from_models(of_split))
        shares = priors[0].shares if priors else None
        if any(not np.array_equal(one.shares, priors[0].shares) for one in priors):
            raise FileError("a front must have the classes of one fit, got several shares of them.")
        return cls(costs, classes, min_confidence, encoding, tuple(parts), shares)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        labels, threshold = self.classes.tolist(), self.min_confidence
        # Without the byte order of this machine.
        class_type = str(self.classes.dtype.newbyteorder("="))
        if not _are_plain(labels) or not re.fullmatch(_LABEL_TYPES, class_type):
            raise FileError(
                f"classes must be numbers, text or truth values to be saved, got {labels!r}."
            )
        if isinstance(threshold, Mapping):
            # By class, in the order of the labels: a JSON object would turn labels into text.
            min_confidence: Any = [threshold[label] for label in labels]
        else:
            min_confidence = float(threshold)
        return {
            "features": list(self.costs.names),
            "costs": self.costs.costs.tolist(),
            "evaluation_cost": float(self.costs.evaluation),
            "fees": [fee.to_dict() for fee in self.costs.fees],
            "delays": self.costs.delays.tolist(),
            "prices": [{"feature": one.feature, "column": one.column} for one in self.costs.prices],
            "encoding": self.encoding.to_dict(),
            "classes": labels,
            "class_type": class_type,
            "min_confidence": min_confidence,
            "parts": [part.to_dict() for part in self.parts],
            **({} if self.class_shares is None else {"class_shares": self.class_shares.tolist()}),
        }

    @classmethod
    def from_dict(cls, fields: Fields, trusted: Sequence[str] = ()) -> Self:
        """Read the shared values from a file and check them."""
        names = tuple(fields.texts("features"))
        encoding = Encoding.from_dict(fields.fields("encoding"))
        if encoding.features != names:
            fields.refuse("features", "those of the encoding", list(names))
        classes = _read_classes(fields)
        shares = None
        if "class_shares" in fields.values:
            shares = fields.numbers("class_shares", len(classes), 0, 1)
            if not math.isclose(shares.sum(), 1, rel_tol=_ROUNDING):
                fields.refuse("class_shares", "shares that add up to 1", shares.tolist())
        parts = []
        # A cascade that buys nothing has no other models.
        is_empty = shares is not None and not fields.items("parts")
        for one in () if is_empty else fields.many_fields("parts"):
            if (family := one.text("family")) not in _FAMILIES:
                *first, last = map(repr, _FAMILIES)
                one.refuse("family", f"{', '.join(first)} or {last}", family)
            read = _FAMILIES[family].from_dict
            parts.append(read(one, encoding.n_inputs, len(classes), trusted))
        return cls(
            costs=_read_costs(fields, encoding),
            classes=classes,
            min_confidence=_read_threshold(fields, "min_confidence", classes),
            encoding=encoding,
            parts=tuple(parts),
            class_shares=shares,
        )

    def stages_to_dicts(self, design: Design, models: StageModels) -> list[dict[str, Any]]:
        """Convert each stage to plain values: what it buys, when rows leave, and its models.

        Thresholds are None unless the design has its own. Models are numbers, one in each part;
        a stage that buys nothing has none.
        """
        of_parts: list[tuple[ModelPart, StageModels]] = []
        if not design.buys_nothing:
            # A stage averages one model of each split, so it has a number in each part.
            of_parts = list(zip(self.parts, parts_of(models), strict=True))
        by_class = design.thresholds_of_stages(self.min_confidence, self.classes).tolist()
        thresholds = design.thresholds or (None,) * design.n_stages
        return [
            {
                "buys": list(bought),
                "thresholds": by_class[j] if isinstance(threshold, Mapping) else threshold,
                "models": [part.places[part.entry(fitted, j)[0]] for part, fitted in of_parts],
            }
            for j, (bought, threshold) in enumerate(zip(design.buys, thresholds, strict=True))
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
        Numbers of the models of each design: one per stage and part. A design that buys nothing
        has none.
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
        if not self.numbers[which][0] and self.shared.class_shares is not None:
            return PriorModels(self.shared.class_shares)
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
    if len(stages) > (max_stages := min(len(names), MOST_STAGES)):
        fields.refuse(name, f"at most {max_stages} stages", f"{len(stages):,}")
    buys_nothing = len(stages) == 1 and stages[0].get("buys") == []
    if buys_nothing and shared.class_shares is None:
        stages[0].refuse("buys", "features, since the file has no 'class_shares'", [])
    if not buys_nothing and not shared.parts:
        fields.refuse(name, "a stage that buys nothing, since the file has no models", len(stages))
    position = {name: i for i, name in enumerate(names)}
    chromosome = np.full(len(names), -1)
    for j, stage in enumerate(() if buys_nothing else stages):
        for bought in stage.texts("buys"):
            # Unknown names and features bought twice are the same mistake in a file: not a design.
            if bought not in position or chromosome[position[bought]] >= 0:
                stage.refuse("buys", "features, each bought once", bought)
            chromosome[position[bought]] = j
    thresholds: StageThresholds | None = None  # of all stages, or none if the first has none
    if stages[0].get("thresholds") is not None:
        thresholds = tuple(_read_threshold(one, "thresholds", shared.classes) for one in stages)
    else:
        for stage in stages:
            if (threshold := stage.get("thresholds")) is not None:
                stage.refuse("thresholds", "null, as at the first stage", threshold)
    design = Design(chromosome, names, thresholds)
    if buys_nothing:
        return design, (tuple(stages[0].wholes("models", 0)),)
    numbers = tuple(tuple(stage.wholes("models", len(shared.parts))) for stage in stages)
    for stage, of_stage, bought in zip(stages, numbers, design.subsets(), strict=True):
        # Inputs of all features bought so far: a stage reads what earlier ones have bought, too.
        inputs = np.flatnonzero(bought[shared.encoding.input_feature])
        for number, part in zip(of_stage, shared.parts, strict=True):
            if not part.does_read(number, inputs):
                rule = "numbers of models that read the features bought by then"
                stage.refuse("models", rule, list(of_stage))
    # A small file could otherwise make stages that fill the memory.
    for part, of_part in zip(shared.parts, zip(*numbers, strict=True), strict=True):
        whole, in_file = part.sizes(of_part)
        if whole > (max_weights := max(_FREE_WEIGHTS, _MOST_TIMES * in_file)):
            rule = f"stages of at most {max_weights:,} weights, those of inputs not bought included"
            fields.refuse(name, rule, f"{whole:,}")
    return design, numbers


def _read_costs(fields: Fields, encoding: Encoding) -> FeatureCosts:
    """Read the costs of the features of an encoding."""
    names = encoding.features
    numbers, delays = fields.numbers("costs", len(names)), fields.numbers("delays", len(names))
    try:
        fees = tuple(
            Fee(fee.text("name"), fee.number("cost", 0), tuple(fee.texts("features")))
            for fee in (fields.many_fields("fees") if fields.items("fees") else ())
        )
        prices = tuple(
            RowPrice(one.text("feature"), None if one.get("column") is None else one.text("column"))
            for one in (fields.many_fields("prices") if fields.items("prices") else ())
        )
        return FeatureCosts(
            names=names,
            costs=numbers,
            evaluation=fields.number("evaluation_cost", 0),
            columns=tuple(map(encoding.needs, names)),
            table=encoding.columns,
            fees=fees,
            delays=delays,
            prices=prices,
        )
    except (CostsError, ParameterError) as error:
        fields.refuse("costs", "costs that can be used", str(error))


def _read_threshold(fields: Fields, name: str, classes: AnyArray) -> MinConfidence:
    """Read a threshold for all classes or one for each; 0 labels everyone."""
    if isinstance(fields.get(name), list):
        by_class = fields.numbers(name, len(classes), 0, 1).tolist()
        return dict(zip(classes.tolist(), by_class, strict=True))
    return fields.number(name, 0, 1)


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
    # A label that changes when it becomes an array, such as 1.5 as a whole number, is refused.
    if classes.tolist() != values:
        fields.refuse("classes", f"labels of type {kind}", values)
    return classes


@dataclass(frozen=True, slots=True, eq=False)
class ModelPart(ABC):
    """The distinct models of one split; a stage has the number of one.

    Attributes
    ----------
    models : tuple
    places : dict
        Number of each model by what tells it apart; empty if the models come from a file.
    """

    models: tuple[Any, ...]
    places: dict[Any, int]

    @classmethod
    def from_models(cls, fitted: Sequence[Any]) -> Self:
        """Collect the distinct models of these stages."""
        distinct: dict[Any, Any] = {}
        for models in fitted:
            for stage in range(len(models)):
                # Stages of different designs share models: each is written once.
                key, model = cls.entry(models, stage)
                distinct.setdefault(key, model)
        places = {key: i for i, key in enumerate(distinct)}
        return cls(tuple(distinct.values()), places, **cls.shared(fitted))

    @staticmethod
    def shared(fitted: Sequence[Any]) -> dict[str, Any]:
        """Return what all models of a split share, as arguments of the class."""
        del fitted
        return {}

    @classmethod
    @abstractmethod
    def from_dict(
        cls, fields: Fields, n_inputs: int, n_classes: int, trusted: Sequence[str]
    ) -> Self:
        """Read the distinct models from a file and check them."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""

    @staticmethod
    @abstractmethod
    def entry(models: Any, stage: int) -> tuple[Any, Any]:
        """Return what tells the model of a stage apart from others of its split, and the model."""

    @abstractmethod
    def stage_models(self, numbers: Sequence[int]) -> StageModels:
        """Put together the models with these numbers, one per stage."""

    def does_read(self, number: int, inputs: IntArray) -> bool:
        """Whether there is a model with this number, and it reads just these inputs."""
        return number < len(self.models) and np.array_equal(self.models[number].inputs, inputs)

    def sizes(self, numbers: Sequence[int]) -> tuple[int, int]:
        """How many weights these models take when put together, and how many the file lists."""
        del numbers
        return 0, 0  # models are used as they are


@dataclass(frozen=True, slots=True, eq=False)
class _Weights:
    """One logistic regression: the inputs it reads, an intercept and weights per output."""

    inputs: IntArray
    coefs: FloatArray
    calibrator: Calibrator | None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        outputs = [{"intercept": one[0], "weights": one[1:]} for one in self.coefs.tolist()]
        calibration = None if self.calibrator is None else self.calibrator.to_dict()
        return {"inputs": self.inputs.tolist(), "outputs": outputs, "calibration": calibration}

    @classmethod
    def from_dict(
        cls, fields: Fields, n_inputs: int, basis: SplineBasis | None, n_classes: int
    ) -> Self:
        """Read a model from a file and check it."""
        inputs = rising_inputs(fields, n_inputs)
        n_read = len(inputs) if basis is None else int(np.isin(basis.of_column, inputs).sum())
        outputs, n_outputs = fields.many_fields("outputs"), n_outputs_of(n_classes)
        if len(outputs) != n_outputs:
            fields.refuse("outputs", f"a list of {n_outputs}", f"{len(outputs)}")
        coefs = np.empty((n_outputs, n_read + 1))
        for k, output in enumerate(outputs):
            coefs[k, 0] = output.number("intercept", -LARGEST, LARGEST)
            coefs[k, 1:] = output.numbers("weights", n_read, -LARGEST, LARGEST)
        return cls(inputs, coefs, _read_calibrator(fields, n_classes))


@dataclass(frozen=True, slots=True, eq=False)
class LinearPart(ModelPart):
    """Logistic regressions, with the scaling and the splines that they share."""

    scaling: Scaling
    basis: SplineBasis | None

    @staticmethod
    def shared(fitted: Sequence[LinearModels]) -> dict[str, Any]:
        """Return the scaling and the splines."""
        first = fitted[0]
        if any(not other.scaling.equals(first.scaling) for other in fitted):
            raise FileError(
                "a front must have models of one fit to be saved, got several scalings."
            )
        return {"scaling": first.scaling, "basis": first.basis}

    @staticmethod
    def entry(models: LinearModels, stage: int) -> tuple[object, _Weights]:
        """Return what tells the model of a stage apart from others of its split, and the model."""
        reads, coefs, basis = models.reads[stage], models.coefs[stage], models.basis
        calibrator = models.calibrators[stage] if models.calibrators else None
        columns = np.flatnonzero(reads)
        inputs = columns if basis is None else np.unique(basis.of_column[columns])
        model = _Weights(inputs, coefs[:, np.append(0, 1 + columns)], calibrator)
        return (reads.tobytes(), coefs.tobytes(), id(calibrator)), model

    @classmethod
    def from_dict(
        cls, fields: Fields, n_inputs: int, n_classes: int, trusted: Sequence[str]
    ) -> Self:
        """Read the distinct models from a file and check them."""
        del trusted  # weights are plain numbers
        basis, largest, n_columns = None, LARGEST, n_inputs
        if fields.text("family") == "spline":
            basis = SplineBasis.from_dict(fields, "knots", n_inputs, LARGEST)
            largest, n_columns = _LARGEST_BEND, basis.n_columns
        mean = fields.numbers("mean", n_columns, -largest, largest)
        scaling = Scaling(mean, fields.numbers("deviation", n_columns, _SMALLEST, largest))
        each = fields.many_fields("models")
        models = tuple(_Weights.from_dict(one, n_inputs, basis, n_classes) for one in each)
        _check_calibrators(each, [model.calibrator for model in models])
        return cls(models, {}, scaling, basis)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "family": "logistic" if self.basis is None else "spline",
            "mean": self.scaling.mean.tolist(),
            "deviation": self.scaling.deviation.tolist(),
            **({} if self.basis is None else {"knots": self.basis.to_lists()}),
            "models": [model.to_dict() for model in self.models],
        }

    def stage_models(self, numbers: Sequence[int]) -> LinearModels:
        """Put together the models with these numbers, one per stage."""
        models: list[_Weights] = [self.models[number] for number in numbers]
        n_columns = len(self.scaling.mean)
        reads = np.zeros((len(models), n_columns), dtype=np.bool_)
        coefs = np.zeros((len(models), len(models[0].coefs), n_columns + 1))
        for stage, model in enumerate(models):
            columns = model.inputs
            if self.basis is not None:
                columns = np.flatnonzero(np.isin(self.basis.of_column, columns))
            reads[stage, columns] = True
            coefs[stage, :, 0] = model.coefs[:, 0]
            coefs[stage, :, 1 + columns] = model.coefs[:, 1:].T
        maps = tuple(model.calibrator for model in models if model.calibrator is not None)
        return LinearModels(self.scaling, reads, coefs, maps or None, self.basis)

    def sizes(self, numbers: Sequence[int]) -> tuple[int, int]:
        """How many weights these models take when put together, and how many the file lists.

        Put together, a stage has a weight for every input, whether its model reads it or not.
        """
        coefs = [self.models[number].coefs for number in numbers]
        whole = sum(map(len, coefs)) * (len(self.scaling.mean) + 1)
        return whole, sum(one.size for one in coefs)


@dataclass(frozen=True, slots=True, eq=False)
class TreesPart(ModelPart):
    """Boosted trees, each ensemble with its calibration, if any."""

    @staticmethod
    def entry(models: BoostedModels, stage: int) -> tuple[int, tuple[TreeEnsemble, Any]]:
        """Return what tells the model of a stage apart from others of its split, and the model."""
        ensemble, maps = models.ensembles[stage], models.calibrators
        return id(ensemble), (ensemble, maps[stage] if maps else None)

    @classmethod
    def from_dict(
        cls, fields: Fields, n_inputs: int, n_classes: int, trusted: Sequence[str]
    ) -> Self:
        """Read the distinct models from a file and check them."""
        del trusted  # trees are plain numbers
        each = fields.many_fields("models")
        models = tuple(
            (TreeEnsemble.from_dict(one, n_inputs, n_classes), _read_calibrator(one, n_classes))
            for one in each
        )
        _check_calibrators(each, [calibrator for _, calibrator in models])
        return cls(models, {})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        models = [
            {
                **ensemble.to_dict(),
                "calibration": None if calibrator is None else calibrator.to_dict(),
            }
            for ensemble, calibrator in self.models
        ]
        return {"family": "boosting", "models": models}

    def does_read(self, number: int, inputs: IntArray) -> bool:
        """Whether there is a model with this number, and it reads none but these inputs."""
        if number >= len(self.models):
            return False
        # Trees need not split on every input that they may read.
        return bool(np.isin(np.flatnonzero(self.models[number][0].reads), inputs).all())

    def stage_models(self, numbers: Sequence[int]) -> BoostedModels:
        """Put together the models with these numbers, one per stage."""
        ensembles, maps = zip(*(self.models[number] for number in numbers), strict=True)
        return BoostedModels(ensembles, None if maps[0] is None else maps)


@dataclass(frozen=True, slots=True, eq=False)
class EstimatorPart(ModelPart):
    """Fitted classifiers of the user's."""

    @staticmethod
    def entry(models: EstimatorModels, stage: int) -> tuple[int, EstimatorModel]:
        """Return what tells the model of a stage apart from others of its split, and the model."""
        # Classifiers have no values to compare; equal stages share the very object.
        return id(models.models[stage]), models.models[stage]

    @classmethod
    def from_dict(
        cls, fields: Fields, n_inputs: int, n_classes: int, trusted: Sequence[str]
    ) -> Self:
        """Read the distinct models from a file and check them."""
        models = (
            estimator_from_dict(one, n_inputs, n_classes, trusted, one.where)
            for one in fields.many_fields("models")
        )
        return cls(tuple(models), {})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        models = [estimator_to_dict(model) for model in self.models]
        return {"family": "estimator", "models": models}

    def stage_models(self, numbers: Sequence[int]) -> EstimatorModels:
        """Put together the models with these numbers, one per stage."""
        return EstimatorModels(tuple(self.models[number] for number in numbers))


def _read_calibrator(fields: Fields, n_classes: int) -> Calibrator | None:
    if fields.get("calibration") is None:
        return None
    return Calibrator.from_dict(fields.fields("calibration"), n_classes)


def _check_calibrators(models: Sequence[Fields], calibrators: Sequence[Calibrator | None]) -> None:
    """Refuse calibration of some models only."""
    if 0 < (n_maps := sum(one is not None for one in calibrators)) < len(calibrators):
        models[0].refuse("calibration", "there for all models or none", f"{n_maps} models")


_FAMILIES: dict[str, type[ModelPart]] = {
    "logistic": LinearPart,
    "spline": LinearPart,
    "boosting": TreesPart,
    "estimator": EstimatorPart,
}
_PART_OF: dict[type, type[ModelPart]] = {
    LinearModels: LinearPart,
    BoostedModels: TreesPart,
    EstimatorModels: EstimatorPart,
}
