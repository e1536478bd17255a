"""The models of a cascade's stages: they give class probabilities and accept rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.documents import Fields
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco._kernels.judgement import confidence_of, decide_rows, decide_rows_many, probabilities_of
from emsco.models.scaling import Scaling
from emsco.models.splines import SplineBasis

Judgement = tuple[IntArray, IntArray, FloatArray]


class Model(Protocol):
    """A fitted model of one subset, which takes rows with all inputs; NaN is a missing value.

    Attributes
    ----------
    family : str
        Name of its kind in files.
    """

    family: ClassVar[str]

    def probabilities(self, rows: FloatArray) -> FloatArray:
        """Class probabilities of rows, shape (n_rows, n_classes)."""

    def reads_only(self, inputs: IntArray) -> bool:
        """Whether it reads these inputs, in ascending order, and no others."""

    @property
    def arrays(self) -> tuple[AnyArray, ...]:
        """Everything that affects probabilities, for a digest."""

    @property
    def untrusted_types(self) -> list[str]:
        """Python types that you must trust to read a file with this model."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values for a file."""

    @classmethod
    def from_dict(
        cls, fields: Fields, n_inputs: int, n_classes: int, trusted: Sequence[str] = ()
    ) -> Self:
        """Read a model from a file and check it."""


class StageModels(ABC):
    """One model per stage of a design."""

    @abstractmethod
    def __len__(self) -> int:
        """Number of stages."""

    @abstractmethod
    def probabilities(self, rows: FloatArray, stage: int) -> FloatArray:
        """Class probabilities at one stage, shape (n_rows, n_classes)."""

    @property
    @abstractmethod
    def arrays(self) -> tuple[AnyArray, ...]:
        """Everything that affects judgements, for a digest."""

    def judge(self, rows: FloatArray, first: int, end: int, thresholds: FloatArray) -> Judgement:
        """Send rows through stages `first` to `end - 1`, counted from 0.

        `thresholds` has shape (n_stages, n_classes): a row leaves if the probability of its
        likeliest class reaches the threshold of that class at the stage.

        Returns the stage at which each row leaves, or the number of stages if it does not. Also
        returns the likeliest class and its probability at the last stage that saw the row.
        """
        # The number of stages stands for rows that never leave.
        stage = np.full(len(rows), len(self), dtype=np.int64)
        winner = np.zeros(len(rows), dtype=np.int64)
        confidence = np.full(len(rows), np.nan)
        left = np.arange(len(rows))
        for j in range(first, end):
            if not left.size:
                break
            shares = self.probabilities(rows[left], j)
            winner[left] = shares.argmax(axis=1)
            confidence[left] = shares.max(axis=1)
            # At least, not above: a threshold of the smallest confidence accepts everyone.
            sure = confidence[left] >= thresholds[j, winner[left]]
            stage[left[sure]] = j
            left = left[~sure]
        return stage, winner, confidence

    def judge_one(self, row: Sequence[float], stage: int) -> tuple[int, float]:
        """Likeliest class and its probability, for one row at one stage."""
        rows = self.filled(np.array([row], dtype=np.float64))
        shares = self.probabilities(rows, stage)[0]
        winner = int(shares.argmax())
        return winner, float(shares[winner])

    def filled(self, rows: FloatArray) -> FloatArray:
        """Fill missing inputs as `judge` and `probabilities` need; most do so themselves."""
        return rows

    @property
    def untrusted_types(self) -> list[str]:
        """Python types that you must trust to read a file with these models."""
        return []


@dataclass(frozen=True, eq=False)
class LinearModels(StageModels):
    """Logistic regressions: weights of standardised inputs, or of splines of them.

    Attributes
    ----------
    scaling : Scaling
        Mean and deviation of the inputs.
    reads : ndarray of bool, shape (n_stages, n_inputs)
        Inputs that each stage reads.
    coefs : ndarray of shape (n_stages, n_outputs, n_inputs + 1)
        Intercept, then the weight of each input; 0 if the stage does not read it. Two classes
        have one output, the logit of the second class; more have one each.
    basis : SplineBasis or None
        Turns the inputs into the columns that the models read; None if they read the inputs.
    """

    scaling: Scaling
    reads: BoolArray
    coefs: FloatArray
    basis: SplineBasis | None = None

    def __post_init__(self) -> None:
        """Copy and lock the arrays."""
        object.__setattr__(self, "coefs", locked_copy(self.coefs, np.float64))
        object.__setattr__(self, "reads", locked_copy(self.reads))

    def __len__(self) -> int:
        """Number of stages."""
        return len(self.coefs)

    def judge(self, rows: FloatArray, first: int, end: int, thresholds: FloatArray) -> Judgement:
        """Send rows through some of the stages, in one kernel: the arithmetic is that of scoring.

        Thresholds of shape (n_classes,) are those of every stage.
        """
        stage, winner = np.empty((2, len(rows)), dtype=np.int64)
        confidence, decide, lines = np.empty(len(rows)), decide_rows_many, self._lines
        if self.coefs.shape[1] == 1:
            decide, lines = decide_rows, (*lines[:2], self._lines[2][:, 0])
        levels = np.broadcast_to(thresholds, (len(self), thresholds.shape[-1]))
        decide(
            *self._inputs(rows), *lines, np.ascontiguousarray(levels), first, end,
            stage, winner, confidence,
        )  # fmt: skip
        return stage, winner, confidence

    def judge_one(self, row: Sequence[float], stage: int) -> tuple[int, float]:
        """Likeliest class and its probability, for one row at one stage.

        Two classes use the kernel's operations in the kernel's order, so the result is the same
        to the last bit. For a single row, plain Python is faster than a call of the kernel.
        """
        if self._terms is None:
            return super().judge_one(row, stage)
        intercept, terms = self._terms[stage]
        logit = intercept
        for i, coef, mean, inverse in terms:
            logit += coef * ((row[i] - mean) * inverse)
        # NaN is the only number that differs from itself. Checked at the end, as it is rare.
        if logit != logit:  # a missing value counts as the mean and adds nothing
            logit = intercept
            for i, coef, mean, inverse in terms:
                logit += coef * ((row[i] - mean) * inverse) if row[i] == row[i] else 0.0
        return int(logit > 0.0), self._confidence(logit)

    def probabilities(self, rows: FloatArray, stage: int) -> FloatArray:
        """Class probabilities at one stage, shape (n_rows, n_classes)."""
        return probabilities_of(*self._inputs(rows), *self._lines, stage)

    def filled(self, rows: FloatArray) -> FloatArray:
        """Replace missing values by the mean; those of splines are replaced column by column."""
        return self.scaling.filled(rows) if self.basis is None else rows

    def _inputs(self, rows: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Columns that the models read, without missing values if they are splines; the scaling."""
        if self.basis is not None:
            rows = self.scaling.filled(self.basis.expand(rows))
        return np.ascontiguousarray(rows), self.scaling.mean, self._inverse

    @property
    def arrays(self) -> tuple[AnyArray, ...]:
        """Everything that affects judgements, for a digest."""
        knots = () if self.basis is None else self.basis.knots
        return (self.reads, self.coefs, self.scaling.mean, self.scaling.deviation, *knots)

    @cached_property
    def _lines(self) -> tuple[IntArray, IntArray, FloatArray]:
        return lines_of(self.reads, self.coefs)

    @cached_property
    def _inverse(self) -> FloatArray:
        return self.scaling.inverse

    @cached_property
    def _terms(self) -> list[tuple[float, list[tuple[int, float, float, float]]]] | None:
        """Intercept of each stage; position, weight, mean and inverse deviation of its inputs.

        None unless a stage is a single logit of the inputs.
        """
        if self.coefs.shape[1] > 1 or self.basis is not None:
            return None
        mean, inverse = self.scaling.mean.tolist(), self._inverse.tolist()
        terms = []
        for reads, (coefs,) in zip(self.reads, self.coefs.tolist(), strict=True):
            used = np.flatnonzero(reads).tolist()
            terms.append((coefs[0], [(i, coefs[i + 1], mean[i], inverse[i]) for i in used]))
        return terms

    @cached_property
    def _confidence(self) -> Callable[[float], float]:
        return confidence_of


def rising_inputs(fields: Fields, n_inputs: int) -> IntArray:
    """Read the "inputs" of a model from a file: rising numbers, at least one."""
    n_read = len(fields.items("inputs"))
    inputs = np.array(fields.wholes("inputs", n_read, 0, n_inputs - 1), dtype=np.int64)
    if not n_read or not (np.diff(inputs) > 0).all():
        fields.refuse("inputs", "rising numbers, at least one", inputs.tolist())
    inputs.setflags(write=False)
    return inputs


def n_outputs_of(n_classes: int) -> int:
    """Logits per row for this number of classes: two classes need only one."""
    return 1 if n_classes == 2 else n_classes


def lines_of(reads: BoolArray, coefs: FloatArray) -> tuple[IntArray, IntArray, FloatArray]:
    """Pack the weights of all inputs, (n_models, n_outputs, n_inputs + 1), as kernels read them.

    Model m reads `columns[m, :sizes[m]]`: column 0 is the intercept, column i + 1 input i. The
    weights follow the same order.
    """
    sizes = reads.sum(axis=1) + 1
    columns = np.zeros((len(reads), int(sizes.max(initial=1))), dtype=np.int64)
    model, inputs = np.nonzero(reads)
    first = np.cumsum(sizes - 1) - (sizes - 1)
    columns[model, 1 + np.arange(len(model)) - first[model]] = inputs + 1
    return columns, sizes, np.take_along_axis(coefs, columns[:, None, :], axis=-1)


@dataclass(frozen=True, eq=False)
class SeparateModels(StageModels):
    """Models that were fitted one by one, such as trees or classifiers of the user's.

    Attributes
    ----------
    models : tuple of Model
        One per stage. Equal stages share the very object.
    """

    models: tuple[Model, ...]

    def __len__(self) -> int:
        """Number of stages."""
        return len(self.models)

    def probabilities(self, rows: FloatArray, stage: int) -> FloatArray:
        """Class probabilities at one stage, shape (n_rows, n_classes)."""
        return self.models[stage].probabilities(rows)

    @property
    def untrusted_types(self) -> list[str]:
        """Types within the models that skops does not trust by default."""
        return sorted({name for model in self.models for name in model.untrusted_types})

    @property
    def arrays(self) -> tuple[AnyArray, ...]:
        """Everything that affects judgements, for a digest."""
        return tuple(array for model in self.models for array in model.arrays)


@dataclass(frozen=True, eq=False)
class PriorModels(StageModels):
    """The shares of the classes: the only stage of a design that buys nothing.

    Attributes
    ----------
    shares : ndarray of shape (n_classes,)
        Share of each class in the training rows, by weight. It is the probability of the class
        for every row.
    """

    shares: FloatArray

    def __post_init__(self) -> None:
        """Copy and lock the shares."""
        object.__setattr__(self, "shares", locked_copy(self.shares, np.float64))

    def __len__(self) -> int:
        """Number of stages."""
        return 1

    def probabilities(self, rows: FloatArray, stage: int) -> FloatArray:
        """Class probabilities at the only stage, shape (n_rows, n_classes)."""
        del stage
        return np.tile(self.shares, (len(rows), 1))

    @property
    def arrays(self) -> tuple[AnyArray, ...]:
        """Everything that affects judgements, for a digest."""
        return (self.shares,)


@dataclass(frozen=True, eq=False)
class AveragedModels(StageModels):
    """Several models per stage; a stage gives the mean of their class probabilities.

    The mean is taken in the order of the parts, row by row, so it has the same bits in any batch.
    Parts that agree give exactly their common probability.

    Attributes
    ----------
    parts : tuple of StageModels
        The models of each split; every part has the same stages.
    """

    parts: tuple[StageModels, ...]

    def __len__(self) -> int:
        """Number of stages."""
        return len(self.parts[0])

    def probabilities(self, rows: FloatArray, stage: int) -> FloatArray:
        """Mean class probabilities at one stage, shape (n_rows, n_classes)."""
        rows = rows if self._basis is None else self._basis.expand(rows)
        # Filling copies all rows, so it is left out where nothing is missing.
        has_missing = bool(np.isnan(rows).any())
        first, *others = (
            part.probabilities(part.filled(rows) if has_missing else rows, stage)
            for part in self._readers
        )
        # Differences from the first: their sum is exactly 0 if all parts agree.
        total = np.zeros_like(first)
        for one in others:
            total += one - first
        return first + total / len(self.parts)

    @property
    def untrusted_types(self) -> list[str]:
        """Types within the models that skops does not trust by default."""
        return sorted({name for part in self.parts for name in part.untrusted_types})

    @property
    def arrays(self) -> tuple[AnyArray, ...]:
        """Everything that affects judgements, for a digest."""
        return tuple(array for part in self.parts for array in part.arrays)

    @cached_property
    def _basis(self) -> SplineBasis | None:
        """Splines that all parts share, so that rows are turned into their columns once."""
        bases = [part.basis if isinstance(part, LinearModels) else None for part in self.parts]
        first = bases[0]
        # Splits may have learnt different knots; then each part expands rows itself.
        return first if first is not None and all(map(first.equals, bases)) else None

    @cached_property
    def _readers(self) -> tuple[StageModels, ...]:
        """The parts; they read the columns of `_basis` if there is one."""
        if self._basis is None:
            return self.parts
        linear = (part for part in self.parts if isinstance(part, LinearModels))
        # Without a basis of their own, as they are handed the expanded columns.
        return tuple(replace(part, basis=None) for part in linear)


@dataclass(frozen=True, eq=False)
class JoinedModels(StageModels):
    """Models of a design that branches: those before a branch, then those of each part.

    Attributes
    ----------
    pieces : tuple of StageModels
        Models of each of `Design.chains` in turn, all fitted on the same rows.
    banks : tuple of int
        Rows that the models of each piece were fitted on: 0 for all rows, and a number for each
        part of a branch. Pieces with the same number share what is learnt from rows alone.
    """

    pieces: tuple[StageModels, ...]
    banks: tuple[int, ...]

    def __len__(self) -> int:
        """Number of stages."""
        return sum(map(len, self.pieces))

    def judge(self, rows: FloatArray, first: int, end: int, thresholds: FloatArray) -> Judgement:
        """Send rows through some of the stages, which must be of one piece."""
        start, piece = self._piece(first)
        stop = start + len(piece)
        if end > stop:
            return super().judge(rows, first, end, thresholds)
        stage, winner, confidence = piece.judge(
            piece.filled(rows), first - start, end - start, thresholds[start:stop]
        )
        stage += start
        # The number of stages of the piece stands for rows that do not leave.
        np.copyto(stage, len(self), where=stage == stop)
        return stage, winner, confidence

    def judge_one(self, row: Sequence[float], stage: int) -> tuple[int, float]:
        """Likeliest class and its probability, for one row at one stage."""
        start, piece = self._piece(stage)
        return piece.judge_one(row, stage - start)

    def probabilities(self, rows: FloatArray, stage: int) -> FloatArray:
        """Class probabilities at one stage, shape (n_rows, n_classes)."""
        start, piece = self._piece(stage)
        return piece.probabilities(piece.filled(rows), stage - start)

    @property
    def arrays(self) -> tuple[AnyArray, ...]:
        """Everything that affects judgements, for a digest."""
        return tuple(array for piece in self.pieces for array in piece.arrays)

    @property
    def untrusted_types(self) -> list[str]:
        """Types within the models that skops does not trust by default."""
        return sorted({name for piece in self.pieces for name in piece.untrusted_types})

    def _piece(self, stage: int) -> tuple[int, StageModels]:
        """Return the piece that a stage belongs to, and the number of its first stage."""
        return self._of_stage[stage]

    @cached_property
    def _of_stage(self) -> list[tuple[int, StageModels]]:
        of_stage: list[tuple[int, StageModels]] = []
        for piece in self.pieces:
            of_stage += [(len(of_stage), piece)] * len(piece)
        return of_stage


def averaged(parts: Sequence[StageModels]) -> StageModels:
    """Average the models of several splits; those of a single one are returned as they are."""
    return parts[0] if len(parts) == 1 else AveragedModels(tuple(parts))


def parts_of(models: StageModels) -> tuple[StageModels, ...]:
    """Models that are averaged; models of one split are their own only part."""
    return models.parts if isinstance(models, AveragedModels) else (models,)


def pieces_of(models: StageModels) -> tuple[tuple[int, StageModels], ...]:
    """Models that are joined, each with its bank; others are their only piece, of bank 0."""
    if isinstance(models, JoinedModels):
        return tuple(zip(models.banks, models.pieces, strict=True))
    return ((0, models),)


def joined(pieces: Sequence[tuple[int, StageModels]]) -> StageModels:
    """Join models with their banks; those of a single piece of bank 0 are returned as they are."""
    banks, models = zip(*pieces, strict=True)
    return models[0] if banks == (0,) else JoinedModels(models, banks)
