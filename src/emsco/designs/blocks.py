"""Features that a search moves as one, because they must stay together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray
from emsco.costs import FeatureCosts
from emsco.designs.constraints import Constraints

__all__ = ["Blocks"]


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Features that the search moves as one, because they must stay together.

    Attributes
    ----------
    of_feature : ndarray of shape (n_features,)
        Block of each feature; blocks are numbered by their first feature.
    first : int or None
        The block that every design buys at its first stage.
    """

    of_feature: IntArray
    first: int | None

    @classmethod
    def from_constraints(cls, constraints: Constraints, names: Sequence[str]) -> Self:
        """The fewest and largest blocks: what shares a feature is one."""
        lead = list(range(len(names)))

        def root(i: int) -> int:
            while lead[i] != i:
                i = lead[i]
            return i

        position = {name: i for i, name in enumerate(names)}
        for part in (constraints.first, *constraints.together):
            for one, other in pairwise(part):
                low, high = sorted((root(position[one]), root(position[other])))
                lead[high] = low
        numbers: dict[int, int] = {}
        block = np.array([numbers.setdefault(root(i), len(numbers)) for i in range(len(names))])
        first = int(block[position[constraints.first[0]]]) if constraints.first else None
        return cls(block, first)

    @property
    def n_blocks(self) -> int:
        """How many there are."""
        return int(self.of_feature.max()) + 1

    def members(self) -> BoolArray:
        """Features of each block, shape (n_blocks, n_features)."""
        members: BoolArray = np.arange(self.n_blocks)[:, None] == self.of_feature
        return members

    def costs(self, costs: FeatureCosts) -> FeatureCosts:
        """What each block costs; sums of decimals stay decimals."""
        units = costs.in_units()
        sums: FloatArray = (self.members() @ units.features) / units.per_one
        names = [costs.names[int(np.argmax(row))] for row in self.members()]
        return FeatureCosts(tuple(names), sums, costs.evaluation)

    def ties(self, source: Callable[[int], Iterator[StageArray]]) -> _Ties:
        """Designs over features for those of a source of tied designs over blocks."""
        return _Ties(self, source)

    def designs(self, stages: StageArray) -> StageArray:
        """Designs over blocks, of shape (…, n_blocks), as designs over features."""
        return stages[..., self.of_feature]


@dataclass(frozen=True, slots=True, eq=False)
class _Ties:
    """Tied designs over blocks as designs over features."""

    blocks: Blocks
    source: Callable[[int], Iterator[StageArray]]

    def __call__(self, point: int) -> Iterator[StageArray]:
        return map(self.blocks.designs, self.source(point))
