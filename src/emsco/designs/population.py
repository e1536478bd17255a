"""Many designs as arrays: what each stage buys, and beside it how sure each stage must be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.typing import BoolArray, IntArray, StageArray, WordArray
from emsco.designs.chromosomes import (
    design_keys,
    levels_of,
    stage_counts,
    stages_of,
    subset_words,
    with_levels,
)


@dataclass(frozen=True, slots=True, eq=False)
class Designs:
    """Many designs. NumPy takes them as their stages.

    Attributes
    ----------
    stages : ndarray of shape (n_designs, n_features)
        Stage that buys each feature, from 0; -1 is never.
    levels : ndarray of shape (n_designs, n_features)
        Threshold of each stage, by its position in a grid; 0 after the last stage. No design has
        more stages than features.

    Examples
    --------
    >>> designs = Designs.of(np.array([[0, 1, -1], [0, 0, 0]], dtype=np.int16), [[2, 1]])
    >>> designs.levels.tolist(), len(designs[1:])
    ([[2, 1, 0], [2, 0, 0]], 1)
    """

    stages: StageArray
    levels: StageArray

    @classmethod
    def of(cls, stages: StageArray, levels: ArrayLike = ((0,),)) -> Self:
        """Make designs of stages and levels; those after the last stage do not count."""
        given = np.zeros_like(stages)
        given[:, : np.shape(levels)[1]] = levels
        given[np.arange(stages.shape[1]) >= stage_counts(stages)[:, None]] = 0
        return cls(stages, given)

    @classmethod
    def from_packed(cls, genes: StageArray) -> Self:
        """Take genes apart into stages and levels."""
        return cls(stages_of(genes), levels_of(genes, genes.shape[1]).astype(np.int16))

    def packed(self) -> StageArray:
        """Return genes: the stage in their low bits, its level in the high ones."""
        return with_levels(self.stages, self.levels.astype(np.int64))

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Join designs, in order."""
        return cls(
            np.concatenate([part.stages for part in parts]),
            np.concatenate([part.levels for part in parts]),
        )

    def __len__(self) -> int:
        """Number of designs."""
        return len(self.stages)

    def __getitem__(self, which: IntArray | BoolArray | slice) -> Self:
        """Some of the designs."""
        return type(self)(self.stages[which], self.levels[which])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> StageArray:
        """The stages, for those who know one threshold alone."""
        return np.array(self.stages, dtype=dtype, copy=copy)

    @property
    def n_stages(self) -> IntArray:
        """Number of stages of each design."""
        return stage_counts(self.stages)

    def subsets(self) -> WordArray:
        """Features known after each stage as bits, shape (n_designs, n_stages, n_words)."""
        return subset_words(self.stages, int(self.n_stages.max(initial=1)))

    @property
    def keys(self) -> WordArray:
        """Rows of words, for `Slots`; equal designs have equal ones."""
        return design_keys(np.concatenate([self.stages, self.levels], axis=1))

    def distinct(self) -> IntArray:
        """Positions of the distinct designs, where each of them first comes."""
        return np.sort(np.unique(self.keys, axis=0, return_index=True)[1])

    def pass_on(self, stages: StageArray, early: int) -> Self:
        """Return children with these stages and the levels of these parents; one may serve all.

        The last stage gets the level of the parent's last, the others those at their place. A stage
        that the parent lacks gets the level of the parent's latest one before the last, or `early`
        if there is none.
        """
        n_before, place = self.n_stages[:, None], np.arange(stages.shape[1])
        latest = np.minimum(place, np.maximum(n_before - 2, 0))
        inherited = np.take_along_axis(self.levels, latest, axis=1)
        inherited = np.where(n_before > 1, inherited, early)
        last = np.take_along_axis(self.levels, n_before - 1, axis=1)
        is_last = place == stage_counts(stages)[:, None] - 1
        return self.of(stages, np.where(is_last, last, inherited))
