"""Sums of gradients and Hessians over leaves of rows, added up in an order of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco.models.batches import ModelBatch, Models
from emsco.models.shard import Shard

__all__ = ["Node", "Request", "Sums", "add_up", "merged", "put"]

Node = tuple[int, int]  # level and number: leaves number · 2^level and so on, 2^level of them


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """Gradients of some models, and the Hessians of the first of them, summed over rows."""

    gradient: FloatArray
    hessian: FloatArray

    def __iadd__(self, other: Sums) -> Sums:
        np.add(self.gradient, other.gradient, out=self.gradient)
        np.add(self.hessian, other.hessian, out=self.hessian)
        return self


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """Models whose sums are asked for; those that need a Hessian come first."""

    models: Models
    n_classes: int
    fine: BoolArray
    n_curved: int

    @classmethod
    def from_batch(cls, batch: ModelBatch, live: IntArray) -> tuple[Self, IntArray]:
        """Ask for the live models of a batch; also returns them in the order of the answer."""
        order = live[np.argsort(~batch.curved[live], kind="stable")]
        models, n_curved = batch.models, int(batch.curved[live].sum())
        few = Models(models.columns[order], models.sizes[order], models.coefs[order])
        return cls(few, batch.n_classes, batch.fine[order], n_curved), order

    def over(self, shards: Sequence[Shard]) -> Sums:
        """Sum over the rows of shards, one after the other."""
        n_models, n_parameters = self.models.coefs.shape
        side, none = -(-n_parameters // 4) * 4, np.zeros(0)
        no_passes = np.zeros(0, dtype=np.int64)
        batch = ModelBatch(
            models=self.models,
            n_classes=self.n_classes,
            gradient=np.zeros((n_models, n_parameters)),
            hessian=np.zeros((self.n_curved, side, side)),
            step=none,
            slope=none,
            norm=none,
            fine=self.fine,
            curved=np.arange(n_models) < self.n_curved,
            passes=no_passes,
        )
        for shard in shards:
            shard.add_terms(batch, np.arange(n_models))
        return Sums(batch.gradient, batch.hessian)


def merged(nodes: dict[Node, Sums], n_leaves: int) -> dict[Node, Sums]:
    """Add up all pairs of neighbours that are there, in place; what has no neighbour moves up."""
    for level in range((n_leaves - 1).bit_length()):
        for number in sorted(j for at, j in nodes if at == level and j % 2 == 0):
            is_last = (number + 1) << level >= n_leaves
            if not is_last and (level, number + 1) not in nodes:
                continue
            found = nodes.pop((level, number))
            if not is_last:
                found += nodes.pop((level, number + 1))
            nodes[level + 1, number // 2] = found
    return nodes


def add_up(shards: Sequence[Shard], batch: ModelBatch, live: IntArray) -> None:
    """Add the sums of all shards to a batch: within a leaf one after the other, then by pairs."""
    leaves = [list(own) for _, own in groupby(shards, key=lambda shard: shard.leaf)]
    if len(leaves) == 1:
        for shard in shards:
            shard.add_terms(batch, live)
        return
    request, order = Request.from_batch(batch, live)
    nodes: dict[Node, Sums] = {}
    for number, own in enumerate(leaves):
        nodes[0, number] = request.over(own)
        merged(nodes, len(leaves))
    put(batch, order, request.n_curved, nodes.popitem()[1])


def put(batch: ModelBatch, order: IntArray, n_curved: int, sums: Sums) -> None:
    """Add sums to the models of a batch that they are for."""
    batch.gradient[order] += sums.gradient
    batch.hessian[order[:n_curved]] += sums.hessian
