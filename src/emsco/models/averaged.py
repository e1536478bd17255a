"""Stages that average the class probabilities of several models, one per split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from emsco._base.typing import AnyArray, FloatArray
from emsco.models.splines import SplineBasis
from emsco.models.stage_models import (
    Judgement,
    LinearModels,
    StageModels,
    judge_by_probabilities,
    judge_one_by_probabilities,
)

__all__ = ["AveragedModels", "averaged", "parts_of"]


@dataclass(frozen=True, eq=False)
class AveragedModels:
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

    def judge(self, rows: FloatArray, first: int, end: int, thresholds: FloatArray) -> Judgement:
        """Send rows through some of the stages."""
        return judge_by_probabilities(self, rows, first, end, thresholds)

    def judge_one(self, row: Sequence[float], stage: int) -> tuple[int, float]:
        """Likeliest class and its mean probability, for one row at one stage."""
        return judge_one_by_probabilities(self, row, stage)

    def probabilities(self, rows: FloatArray, stage: int) -> FloatArray:
        """Mean class probabilities at one stage, shape (n_rows, n_classes)."""
        rows = rows if self._basis is None else self._basis.expand(rows)
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

    def filled(self, rows: FloatArray) -> FloatArray:
        """Return the rows unchanged: each part fills missing values its own way."""
        return rows

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
        return first if first is not None and all(map(first.equals, bases)) else None

    @cached_property
    def _readers(self) -> tuple[StageModels, ...]:
        """The parts; they read the columns of `_basis` if there is one."""
        if self._basis is None:
            return self.parts
        linear = (part for part in self.parts if isinstance(part, LinearModels))
        return tuple(replace(part, basis=None) for part in linear)


def averaged(parts: Sequence[StageModels]) -> StageModels:
    """Average the models of several splits; those of a single one are returned as they are."""
    return parts[0] if len(parts) == 1 else AveragedModels(tuple(parts))


def parts_of(models: StageModels) -> tuple[StageModels, ...]:
    """Models that are averaged; models of one split are their own only part."""
    return models.parts if isinstance(models, AveragedModels) else (models,)
