"""What the files of cascades and fronts hold: costs, classes, encoding, designs and models.

All cascades of one fit share costs, classes, encoding and models: `Shared`. Stage models are the
average of one model per split, so a file has a *part* for each split, with the distinct models of
that split, and a stage has the number of one model in each part. Models that were fitted on the
rows of one part of a branch have a *bank* of their own, with its own parts: bank 0 has the models
of all rows. `LinearPart` writes logistic regressions, which share much; all other kinds of models
write themselves.
"""

from __future__ import annotations

import math
import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Self

import numpy as np

from emsco._base.documents import Fields
from emsco._base.typing import AnyArray, FloatArray, IntArray
from emsco.costs import FeatureCosts, Fee
from emsco.data.encoding import Encoding
from emsco.data.rows import LARGEST
from emsco.designs.design import Design
from emsco.designs.questions import Question
from emsco.designs.thresholds import MOST_CLASSES, MinConfidence, StageThresholds
from emsco.errors import CostsError, FileError, ParameterError
from emsco.models.kinds import KINDS
from emsco.models.scaling import Scaling
from emsco.models.splines import SplineBasis
from emsco.models.stage_models import (
    LinearModels,
    PriorModels,
    SeparateModels,
    StageModels,
    averaged,
    joined,
    n_outputs_of,
    parts_of,
    pieces_of,
    rising_inputs,
)

FORMAT, OLDEST = 8, 7  # files of format 7 have chains alone
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
    banks : tuple of tuple of ModelPart
        For each bank the distinct models of each split; stages average one model per part.
    class_shares : ndarray of shape (n_classes,) or None
        Shares of the classes, if there is a design that buys nothing: they are its model.
    bank_places : dict
        Position in `banks` by the number of the bank in its fit; empty if the models come from a
        file.
    """

    costs: FeatureCosts
    classes: AnyArray
    min_confidence: MinConfidence
    encoding: Encoding
    banks: tuple[tuple[ModelPart, ...], ...]
    class_shares: FloatArray | None = None
    bank_places: dict[int, int] = field(default_factory=dict)

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
        # Models of each bank and split, those of all rows first.
        by_bank: dict[int, list[list[StageModels]]] = {}
        for of_design in split_up:
            for k, models in enumerate(of_design):
                for bank, piece in pieces_of(models):
                    of_splits = by_bank.setdefault(bank, [[] for _ in of_design])
                    of_splits[k].append(piece)
        numbers = sorted(by_bank)
        banks = tuple(tuple(map(_part_from, by_bank[bank])) for bank in numbers)
        shares = priors[0].shares if priors else None
        if any(not np.array_equal(one.shares, priors[0].shares) for one in priors):
            raise FileError("a front must have the classes of one fit, got several shares of them.")
        return cls(
            costs=costs,
            classes=classes,
            min_confidence=min_confidence,
            encoding=encoding,
            banks=banks or ((),),
            class_shares=shares,
            bank_places={bank: i for i, bank in enumerate(numbers)},
        )

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
        first, *others = ([part.to_dict() for part in bank] for bank in self.banks)
        return {
            "features": list(self.costs.names),
            "costs": self.costs.costs.tolist(),
            "evaluation_cost": float(self.costs.evaluation),
            "fees": [fee.to_dict() for fee in self.costs.fees],
            "delays": self.costs.delays.tolist(),
            "prices": [
                {"feature": name, "column": one if isinstance(one, str) else None}
                for name, one in self.costs.prices.items()
            ],
            "encoding": self.encoding.to_dict(),
            "classes": labels,
            "class_type": class_type,
            "min_confidence": min_confidence,
            "parts": first,
            **({"banks": [{"parts": parts} for parts in others]} if others else {}),
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
        # A cascade that buys nothing has no other models.
        is_empty = shares is not None and not fields.items("parts")
        banks: list[tuple[ModelPart, ...]] = [()]
        if not is_empty:
            others = fields.many_fields("banks") if "banks" in fields.values else []
            banks = [_read_parts(one, encoding, classes, trusted) for one in (fields, *others)]
            for one, parts in zip(others, banks[1:], strict=True):
                if len(parts) != len(banks[0]):
                    one.refuse("parts", f"{len(banks[0])} parts, as for all rows", f"{len(parts)}")
        return cls(
            costs=_read_costs(fields, encoding),
            classes=classes,
            min_confidence=_read_threshold(fields, "min_confidence", classes),
            encoding=encoding,
            banks=tuple(banks),
            class_shares=shares,
        )

    def design_to_dict(self, design: Design, models: StageModels) -> dict[str, Any]:
        """Convert the stages to plain values, and the branches if there are any.

        A stage has what it buys, when rows leave, and its models. Thresholds are None unless the
        design has its own. Models are numbers, one in each part of the bank; a stage that buys
        nothing and is alone has none.
        """
        by_class = design.thresholds_of_stages(self.min_confidence, self.classes).tolist()
        thresholds = design.thresholds or (None,) * design.n_stages
        written = design.to_dict()
        stages = written["stages"]
        for stage, threshold, numbers in zip(stages, thresholds, by_class, strict=True):
            stage["thresholds"] = numbers if isinstance(threshold, Mapping) else threshold
            stage["models"] = []
        if design.buys_nothing:
            return written
        j = 0
        # A stage averages one model of each split, so it has a number in each part of its bank.
        for of_splits in zip(*map(pieces_of, parts_of(models)), strict=True):
            bank, first = of_splits[0]
            place = self.bank_places[bank]
            for of_piece in range(len(first)):
                stages[j]["models"] = [
                    part.places[part.entry(piece, of_piece)[0]]
                    for part, (_, piece) in zip(self.banks[place], of_splits, strict=True)
                ]
                if place:
                    stages[j]["bank"] = place
                j += 1
        return written


@dataclass(frozen=True, slots=True)
class StoredPiece:
    """Consecutive stages of a design in a file whose models are of one bank.

    Attributes
    ----------
    bank : int
    numbers : tuple of tuple of int
        Numbers of the models: one per stage and part.
    """

    bank: int
    numbers: tuple[tuple[int, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class StoredModels(Sequence[StageModels]):
    """Models of several designs, put together from those of a file when one is asked for.

    A stage that is put together may have a weight for every input. All designs of a front at once
    could take a thousand times the memory of their file.

    Attributes
    ----------
    shared : Shared
    pieces : tuple of tuple of StoredPiece
        The models of each design; one that buys nothing has none.
    """

    shared: Shared
    pieces: tuple[tuple[StoredPiece, ...], ...]

    def __len__(self) -> int:
        """Number of designs."""
        return len(self.pieces)

    def __getitem__(self, which: Any) -> Any:
        """Return the models of a design, or those of several as a tuple."""
        if isinstance(which, slice):
            return tuple(self[i] for i in range(*which.indices(len(self))))
        pieces = self.pieces[which]
        if not pieces and self.shared.class_shares is not None:
            return PriorModels(self.shared.class_shares)
        splits = []
        for k in range(len(self.shared.banks[0])):
            models = []
            for piece in pieces:
                part = self.shared.banks[piece.bank][k]
                models.append((piece.bank, part.stage_models([one[k] for one in piece.numbers])))
            splits.append(joined(models))
        return averaged(splits)


def features_to_dicts(costs: FeatureCosts, encoding: Encoding) -> list[dict[str, Any]]:
    """Name, columns, cost and delay of each feature, for programs that do not have emsco."""
    return [
        {"name": name, "columns": list(encoding.needs(name)), "cost": cost, "delay": delay}
        for name, cost, delay in zip(
            costs.names, costs.costs.tolist(), costs.delays.tolist(), strict=True
        )
    ]


def stages_from_dicts(
    fields: Fields, shared: Shared, name: str = "stages"
) -> tuple[Design, StageModels]:
    """Read the stages of a cascade from the field `name`: its design and its models."""
    design, pieces = design_from_dicts(fields, shared, name)
    return design, StoredModels(shared, (pieces,))[0]


def design_from_dicts(
    fields: Fields, shared: Shared, name: str = "stages"
) -> tuple[Design, tuple[StoredPiece, ...]]:
    """Read a design from the field `name`, and the numbers of its models for `StoredModels`."""
    design = Design.from_dict(fields, shared.costs.names, name)
    stages = fields.many_fields(name)
    if design.buys_nothing and shared.class_shares is None:
        stages[0].refuse("buys", "features, since the file has no 'class_shares'", [])
    if not design.buys_nothing and not shared.banks[0]:
        fields.refuse(
            name, "a stage that buys nothing, since the file has no models", design.n_stages
        )
    if not design.is_chain:
        _check_questions(fields, design, shared)
    thresholds: StageThresholds | None = None  # of all stages, or none if the first has none
    if stages[0].get("thresholds") is not None:
        thresholds = tuple(_read_threshold(one, "thresholds", shared.classes) for one in stages)
    else:
        for stage in stages:
            if (threshold := stage.get("thresholds")) is not None:
                stage.refuse("thresholds", "null, as at the first stage", threshold)
    design = design.with_thresholds(thresholds)
    if design.buys_nothing:
        stages[0].wholes("models", 0)
        return design, ()
    return design, _read_pieces(fields, name, stages, design, shared)


def _read_pieces(
    fields: Fields, name: str, stages: Sequence[Fields], design: Design, shared: Shared
) -> tuple[StoredPiece, ...]:
    """Read the numbers of the models, and check that each reads what is bought on its path."""
    n_parts, of_stages = len(shared.banks[0]), list[StoredPiece]()
    for stage, known in zip(stages, design.subsets(), strict=True):
        most = len(shared.banks) - 1
        bank = stage.whole("bank", 0, most) if "bank" in stage.values else 0
        numbers = tuple(stage.wholes("models", n_parts))
        # Inputs of all features bought so far: a stage reads what earlier ones have bought, too.
        inputs = np.flatnonzero(known[shared.encoding.input_feature])
        for number, part in zip(numbers, shared.banks[bank], strict=True):
            if not part.does_read(number, inputs):
                stage.refuse(
                    "models",
                    "numbers of models that read the features bought by then",
                    list(numbers),
                )
        of_stages.append(StoredPiece(bank, (numbers,)))
    pieces: list[StoredPiece] = []
    for chain in design.chains:
        for bank, some in groupby((of_stages[j] for j in chain), key=lambda one: one.bank):
            pieces.append(StoredPiece(bank, tuple(one.numbers[0] for one in some)))
    # A small file could otherwise make stages that fill the memory.
    for k in range(n_parts):
        whole, in_file = 0, 0
        for piece in pieces:
            sizes = shared.banks[piece.bank][k].sizes([one[k] for one in piece.numbers])
            whole, in_file = whole + sizes[0], in_file + sizes[1]
        if whole > (max_weights := max(_FREE_WEIGHTS, _MOST_TIMES * in_file)):
            fields.refuse(
                name,
                f"stages of at most {max_weights:,} weights, those of inputs not bought included",
                f"{whole:,}",
            )
    return tuple(pieces)


def _check_questions(fields: Fields, design: Design, shared: Shared) -> None:
    """Refuse questions about what is not bought by then, or about values that there cannot be."""
    buys, branches = design.buys, design.branches
    for one in fields.many_fields("branches"):
        branch = branches[one.whole("after", 0)]
        path = design.path(branch.after)
        columns = {
            column
            for passed in path
            for feature in buys[passed]
            for column in shared.encoding.needs(feature)
        }
        for asked, question in zip(one.many_fields("questions"), branch.questions, strict=True):
            if question.column is not None and question.column not in columns:
                asked.refuse(
                    "column",
                    f"a column that stages {', '.join(map(str, path))} buy",
                    question.column,
                )
            _check_values(asked, question, shared)


def _check_values(asked: Fields, question: Question, shared: Shared) -> None:
    """Refuse a question about values that the column, or the answer of the stage, cannot have."""
    values = question.among or ()
    if question.column is None:
        if question.at_most is not None:
            asked.number("at_most", 0, 1)
        labels = shared.classes.tolist()
        unknown, rule = [one for one in values if one not in labels], "labels of the classes"
    elif (code := shared.encoding.code_of[question.column]).kind == "category":
        if question.at_most is not None:
            asked.refuse("at_most", f"left out, as {code.name!r} has categories", question.at_most)
        unknown = [one for one in values if one not in code.places]
        rule = f"categories of {code.name!r}"
    else:
        unknown = [one for one in values if isinstance(one, str)]
        rule = f"numbers, as {code.name!r} has"
    if unknown:
        asked.refuse("among", rule, unknown[0])


def _read_costs(fields: Fields, encoding: Encoding) -> FeatureCosts:
    """Read the costs of the features of an encoding."""
    names = encoding.features
    numbers, delays = fields.numbers("costs", len(names)), fields.numbers("delays", len(names))
    try:
        fees = tuple(
            Fee(fee.text("name"), fee.number("cost", 0), tuple(fee.texts("features")))
            for fee in (fields.many_fields("fees") if fields.items("fees") else ())
        )
        prices = {
            one.text("feature"): None if one.get("column") is None else one.text("column")
            for one in (fields.many_fields("prices") if fields.items("prices") else ())
        }
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


def _read_parts(
    fields: Fields, encoding: Encoding, classes: AnyArray, trusted: Sequence[str]
) -> tuple[ModelPart, ...]:
    """Read the models of each split from the field "parts"."""
    parts = []
    for one in fields.many_fields("parts"):
        if (family := one.text("family")) not in KINDS:
            *first, last = map(repr, KINDS)
            one.refuse("family", f"{', '.join(first)} or {last}", family)
        for model in one.many_fields("models"):
            for name in ("calibration", "calibrator"):  # of versions before 0.4
                if (value := model.values.get(name)) is not None:
                    model.refuse(name, "left out, as models are no longer calibrated", value)
        kind = LinearPart if family in ("logistic", "spline") else SeparatePart
        parts.append(kind.from_dict(one, encoding.n_inputs, len(classes), trusted))
    return tuple(parts)


def _part_from(models: Sequence[StageModels]) -> ModelPart:
    """Collect the distinct models of one split."""
    if len({type(one) for one in models}) > 1:
        raise FileError("a front must have models of one fit to be saved, got several families.")
    kind = LinearPart if isinstance(models[0], LinearModels) else SeparatePart
    return kind.from_models(models)


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

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        outputs = [{"intercept": one[0], "weights": one[1:]} for one in self.coefs.tolist()]
        return {"inputs": self.inputs.tolist(), "outputs": outputs}

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
        return cls(inputs, coefs)


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
        columns = np.flatnonzero(reads)
        inputs = columns if basis is None else np.unique(basis.of_column[columns])
        model = _Weights(inputs, coefs[:, np.append(0, 1 + columns)])
        return (reads.tobytes(), coefs.tobytes()), model

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
        return LinearModels(self.scaling, reads, coefs, self.basis)

    def sizes(self, numbers: Sequence[int]) -> tuple[int, int]:
        """How many weights these models take when put together, and how many the file lists.

        Put together, a stage has a weight for every input, whether its model reads it or not.
        """
        coefs = [self.models[number].coefs for number in numbers]
        whole = sum(map(len, coefs)) * (len(self.scaling.mean) + 1)
        return whole, sum(one.size for one in coefs)


@dataclass(frozen=True, slots=True, eq=False)
class SeparatePart(ModelPart):
    """Models that were fitted one by one, and write themselves."""

    @staticmethod
    def entry(models: SeparateModels, stage: int) -> tuple[int, Any]:
        """Return what tells the model of a stage apart from others of its split, and the model."""
        # Their values are many, or cannot be compared; equal stages share the very object.
        return id(models.models[stage]), models.models[stage]

    @classmethod
    def from_dict(
        cls, fields: Fields, n_inputs: int, n_classes: int, trusted: Sequence[str]
    ) -> Self:
        """Read the distinct models from a file and check them."""
        kind = KINDS[fields.text("family")].load("model")
        each = fields.many_fields("models")
        return cls(tuple(kind.from_dict(one, n_inputs, n_classes, trusted) for one in each), {})

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        models = [model.to_dict() for model in self.models]
        return {"family": self.models[0].family, "models": models}

    def does_read(self, number: int, inputs: IntArray) -> bool:
        """Whether there is a model with this number, and it reads none but these inputs."""
        return number < len(self.models) and self.models[number].reads_only(inputs)

    def stage_models(self, numbers: Sequence[int]) -> SeparateModels:
        """Put together the models with these numbers, one per stage."""
        return SeparateModels(tuple(self.models[number] for number in numbers))
