"""Blocks: features that a search moves together because constraints tie them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray
from emsco.costs import FeatureCosts, Fee, RowPrice
from emsco.designs.constraints import Constraints

__all__ = ["Blocks"]


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Features that a search moves together because constraints tie them.

    Attributes
    ----------
    of_feature : ndarray of shape (n_features,)
        Block of each feature; blocks are numbered by their first feature.
    first : int or None
        The block that the first stage of every design buys.
    """

    of_feature: IntArray
    first: int | None

    @classmethod
    def from_constraints(cls, constraints: Constraints, names: Sequence[str]) -> Self:
        """Create blocks by merging constraints that share a feature."""
        # Each feature points towards the first feature of its block.
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
        """Number of blocks."""
        return int(self.of_feature.max()) + 1

    def members(self) -> BoolArray:
        """Return the features of each block, shape (n_blocks, n_features)."""
        members: BoolArray = np.arange(self.n_blocks)[:, None] == self.of_feature
        return members

    def costs(self, costs: FeatureCosts) -> FeatureCosts:
        """Return the cost of each block, added up in whole units so that sums are exact."""
        units = costs.in_units()
        sums: FloatArray = (self.members() @ units.features) / units.per_one
        names = [costs.names[int(np.argmax(row))] for row in self.members()]
        block = {name: names[i] for name, i in zip(costs.names, self.of_feature, strict=True)}
        fees = tuple(
            Fee(fee.name, fee.cost, tuple(dict.fromkeys(block[name] for name in fee.features)))
            for fee in costs.fees
        )
        delays = np.array([costs.delays[row].max() for row in self.members()])
        prices = tuple(map(RowPrice, dict.fromkeys(block[one.feature] for one in costs.prices)))
        own: dict[str, Any] = {"fees": fees, "delays": delays, "prices": prices}
        return FeatureCosts(tuple(names), sums, costs.evaluation, **own)

    def ties(self, source: Callable[[int], Iterator[StageArray]]) -> _Ties:
        """Return a source of tied designs over features, given one over blocks."""
        return _Ties(self, source)

    def designs(self, stages: StageArray) -> StageArray:
        """Turn designs over blocks, shape (…, n_blocks), into designs over features."""
        return stages[..., self.of_feature]


@dataclass(frozen=True, slots=True, eq=False)
class _Ties:
    """A source of tied designs over features, made from one over blocks."""

    blocks: Blocks
    source: Callable[[int], Iterator[StageArray]]

    def __call__(self, point: int) -> Iterator[StageArray]:
        return map(self.blocks.designs, self.source(point))
