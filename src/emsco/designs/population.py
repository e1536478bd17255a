"""Many designs as arrays: what each stage buys, and beside it how sure each stage must be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray, WordArray
from emsco.designs.chromosomes import NEVER, keys_of, stage_counts, subset_words
from emsco.errors import ParameterError


@dataclass(frozen=True, slots=True, eq=False)
class Designs:
    """Many designs. NumPy takes them as their stages.

    Attributes
    ----------
    stages : ndarray of shape (n_designs, n_features)
        Stage that buys each feature, from 0; -1 is never. Of a design that branches, these are the
        stages before its branch.
    levels : ndarray of shape (n_designs, n_features)
        Threshold of each stage, by its position in a grid; 0 after the last stage. No design has
        more stages than features.
    forks : tuple or None
        What comes after the last of these stages, None for a chain; None if all are chains. Those
        who score designs say what it is.

    Examples
    --------
    >>> designs = Designs.of(np.array([[0, 1, -1], [0, 0, 0]], dtype=np.int16), [[2, 1]])
    >>> designs.levels.tolist(), len(designs[1:])
    ([[2, 1, 0], [2, 0, 0]], 1)
    """

    stages: StageArray
    levels: StageArray
    forks: tuple[Any, ...] | None = None

    @classmethod
    def of(cls, stages: StageArray, levels: ArrayLike = ((0,),)) -> Self:
        """Make chains of stages and levels; those after the last stage do not count."""
        given = np.zeros_like(stages)
        given[:, : np.shape(levels)[1]] = levels
        given[np.arange(stages.shape[1]) >= stage_counts(stages)[:, None]] = 0
        return cls(stages, given)

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Join designs, in order."""
        forks = None
        if any(part.forks is not None for part in parts):
            forks = tuple(fork for part in parts for fork in part.forks or (None,) * len(part))
        return cls(
            np.concatenate([part.stages for part in parts]),
            np.concatenate([part.levels for part in parts]),
            forks,
        )

    def __len__(self) -> int:
        """Number of designs."""
        return len(self.stages)

    def __getitem__(self, which: IntArray | BoolArray | list[int] | slice) -> Self:
        """Some of the designs."""
        forks = self.forks
        if forks is not None:
            forks = tuple(forks[i] for i in np.arange(len(self))[which])
        return type(self)(self.stages[which], self.levels[which], forks)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> StageArray:
        """The stages, for those who know one threshold alone."""
        return np.array(self.stages, dtype=dtype, copy=copy)

    @property
    def are_chains(self) -> BoolArray:
        """Whether each design is a chain, without branches."""
        forks = (None,) * len(self) if self.forks is None else self.forks
        return np.array([fork is None for fork in forks], dtype=np.bool_)

    @property
    def n_stages(self) -> IntArray:
        """Number of stages of each design, before its branch if it has one."""
        return stage_counts(self.stages)

    @property
    def last_levels(self) -> IntArray:
        """Level of the last of these stages."""
        last = np.take_along_axis(self.levels, self.n_stages[:, None] - 1, axis=1)
        return last[:, 0].astype(np.int64)

    def with_last_level(self, level: int) -> Self:
        """Return the same stages with this level at the last one."""
        levels = self.levels.copy()
        np.put_along_axis(levels, self.n_stages[:, None] - 1, level, axis=1)
        return type(self)(self.stages, levels, self.forks)

    def over(self, block_of_feature: IntArray) -> Self:
        """Turn chains over blocks of features into chains over the features."""
        return self.of(self.stages[:, block_of_feature], self.levels)

    def subsets(self) -> WordArray:
        """Features known after each stage as bits, shape (n_designs, n_stages, n_words)."""
        return subset_words(self.stages, int(self.n_stages.max(initial=1)))

    def _refuse_trees(self) -> None:
        """Refuse what compares chains alone: trees that differ after a branch would look alike."""
        if any(fork is not None for fork in self.forks or ()):
            raise ParameterError("designs must be chains to be told apart, got one that branches.")

    @property
    def keys(self) -> WordArray:
        """Rows of words, for `Slots`; equal chains have equal ones."""
        self._refuse_trees()
        return keys_of(np.concatenate([self.stages, self.levels], axis=1))

    def distinct(self) -> IntArray:
        """Positions of the distinct chains, where each of them first comes."""
        return np.sort(np.unique(self.keys, axis=0, return_index=True)[1])

    @property
    def level_of_feature(self) -> StageArray:
        """Level of the stage that buys each feature; -1 if it is never bought."""
        stages = np.maximum(self.stages, 0).astype(np.int64)
        levels = np.take_along_axis(self.levels, stages, axis=1)
        of_feature: StageArray = np.where(self.stages == NEVER, NEVER, levels).astype(np.int16)
        return of_feature

    @property
    def _genes(self) -> StageArray:
        """Level and stage of each feature, shape (n_designs, n_features, 2)."""
        return np.stack([self.level_of_feature, self.stages], axis=2)

    def order(self) -> IntArray:
        """Positions of the chains, by the level and the stage of the last feature, and so on."""
        # A feature that is never bought comes last.
        genes = np.where(self._genes == NEVER, np.int16(2**15 - 1), self._genes)
        return np.lexsort(genes[:, :, ::-1].reshape(len(self), 2 * self.stages.shape[1]).T)

    def sorted(self) -> Self:
        """The distinct chains, by the level and the stage of one feature after the other."""
        self._refuse_trees()
        genes = self._genes.reshape(len(self), 2 * self.stages.shape[1])
        return self[np.unique(genes, axis=0, return_index=True)[1]]

    def chromosomes(self) -> FloatArray:
        """Numbers in the order of the genes; equal designs have the same one.

        Genes are compared from the first feature to the last: all stages, then all levels.
        """
        genes = self.stages
        if self.levels.any():
            genes = np.concatenate([genes, self.level_of_feature], axis=1)
        if genes.min(initial=0) == NEVER:
            genes = genes + np.int16(1)
        base, n_genes = int(genes.max(initial=0)) + 1, genes.shape[1]
        if base**n_genes < 2**53:  # read as digits, genes are an exact float64
            digits: FloatArray = np.power(float(base), np.arange(n_genes)[::-1])
            return genes.astype(np.float64) @ digits
        wide = np.ascontiguousarray(genes).astype(">u2")  # big-endian bytes sort as numbers do
        keys = wide.view(np.dtype((np.void, 2 * n_genes))).reshape(-1)
        return np.unique(keys, return_inverse=True)[1].astype(np.float64)

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
