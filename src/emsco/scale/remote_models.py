"""Logistic stage models of rows that stay with workers.

Models go to the workers. Gradients and Hessians come back, summed over the leaves that a worker
holds; so do two bits per scored row and model, and the answers for designs that are judged row by
row. The arithmetic is that of `Shard`, leaf by leaf, so the results have the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import count
from typing import Any, Self

import numpy as np

from emsco._base.leaves import rows_of_leaf, split_by_leaf
from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray, SingleArray
from emsco._base.workers import slices
from emsco.models.backends import Backend
from emsco.models.batches import ModelBatch, Models
from emsco.models.bits import BitBank, margins_of
from emsco.models.engine import Answers, LogisticEngine, SplitRows, answers_of
from emsco.models.logistic import LogisticFitter
from emsco.models.scaling import Scaling, Spread, squares_about
from emsco.models.shard import Node, Request, Shard, SplitData, Sums, merged, put
from emsco.scale.remote import Leaf, LeafTask, RemoteRows

_IN_FLIGHT = 2  # batches of models; while the client steps with one, workers sum up others
_MOST_MODELS = 256  # judged by one request
_keys = count()  # of splits, never the same for two of them


@dataclass(frozen=True, slots=True, eq=False)
class _ScoredLeaf:
    """Bits and classes of the scored rows of a leaf that a worker holds."""

    leaf: int
    bits: BitBank
    truth: LabelArray

    @classmethod
    def open(cls, leaf: int, data: SplitData) -> Self:
        """Make room for the bits that the worker will send."""
        bits = data.open_bits()
        return cls(leaf, bits, data.labels[data.scored][bits.layout.rows])


@dataclass(frozen=True, slots=True, eq=False)
class _Terms:
    """All training rows of a split, wherever they are, as one shard to fit on."""

    rows: RemoteRows
    key: int
    leaf: int = 0

    def add_terms(self, batch: ModelBatch, live: IntArray) -> None:
        """Ask all workers for their sums at once, and add them up by pairs of leaves."""
        request, order = Request.from_batch(batch, live)
        n_leaves = self.rows.n_leaves
        combine = partial(_add_leaf, n_leaves=n_leaves)
        # Workers add up pairs of leaves already, so that few sums travel.
        nodes = self.rows.run(LeafTask(_terms, (self.key, request), combine=combine))
        put(batch, order, request.n_curved, merged(nodes, n_leaves).popitem()[1])


@dataclass(frozen=True, slots=True, eq=False)
class RemoteSplit(SplitRows):
    """Training and scored rows of one split with workers; they know it by its `key`."""

    rows: RemoteRows
    key: int

    @classmethod
    def cut(cls, data: SplitData, penalty: float = 1.0) -> Self:  # type: ignore[override]
        """Standardise by the training rows, where these are, and let workers make shards there."""
        rows: RemoteRows = data.X
        scaling, data = _learn_scaling(data), data.with_fit_weights()
        leaves = zip(
            split_by_leaf(data.weighty_train, rows.n_leaves),
            split_by_leaf(data.scored, rows.n_leaves),
            strict=True,
        )
        parts = [_leaf_of(data, leaf, *numbers) for leaf, numbers in enumerate(leaves)]
        # Workers keep notes of several splits at a time.
        key = next(_keys)
        # A note, not a mere task: a worker that takes over must make the same shards.
        rows.note(LeafTask(_open_split, (key, scaling), {i: (one,) for i, one in enumerate(parts)}))
        shards: Any = [_ScoredLeaf.open(leaf, part) for leaf, part in enumerate(parts)]
        terms: Any = _Terms(rows, key)  # it is only summed over
        n_inputs, total = rows.shape[1], data.train_weight
        fitter = LogisticFitter([terms], n_inputs, total, penalty, data.n_classes)
        return cls(shards, fitter, scaling, len(data.train), rows, key)


class RemoteEngine(LogisticEngine):
    """Fits batches of logistic regressions on rows of workers; see `LogisticEngine`."""

    splits: Sequence[RemoteSplit]

    def __init__(
        self,
        splits: Sequence[RemoteSplit],
        n_inputs: int,
        n_classes: int = 2,
        **_: Any,
    ) -> None:
        super().__init__(splits, n_inputs, n_classes, _IN_FLIGHT)

    def judge(
        self, subsets: BoolArray, numbers: FloatArray, slots: IntArray, thresholds: FloatArray
    ) -> None:
        """Put the bits of fitted models, at a threshold for each class, into slots of `bits`."""
        # The bits of all leaves come back at once; batches bound the memory of the answer.
        for part in slices(len(slots), _MOST_MODELS):
            for split, models in self._models(subsets[part], numbers[part]):
                of_leaves = split.rows.run(LeafTask(_judged, (split.key, models, thresholds)))
                for shard in split.shards:
                    shard.bits.put(slots[part], *of_leaves[shard.leaf])

    def answers(
        self, subsets: BoolArray, numbers: FloatArray, rows: Any, scored: Sequence[IntArray]
    ) -> list[Answers]:
        """Answers of fitted models for the scored rows of each split."""
        del rows, scored  # workers have them
        every = []
        for split, models in self._models(subsets, numbers):
            of_leaves = split.rows.run(LeafTask(_answered, (split.key, models, self.n_classes)))
            parts = [of_leaves[shard.leaf] for shard in split.shards]
            winner, confidence = zip(*parts, strict=True)
            every.append((np.concatenate(winner, axis=1), np.concatenate(confidence, axis=1)))
        return every

    def margins(self, numbers: FloatArray) -> list[SingleArray]:
        """Margins of fitted models for the rows of each part of `bits`, in the order of bits."""
        coefs = self.lines(numbers)
        every = []
        for split, spread in zip(self.splits, coefs, strict=True):
            of_leaves = split.rows.run(LeafTask(_margins, (split.key, spread, self.n_classes)))
            every += [of_leaves[shard.leaf] for shard in split.shards]
        return every

    def _models(self, subsets: BoolArray, numbers: FloatArray) -> list[tuple[RemoteSplit, Models]]:
        coefs = self.lines(numbers)
        return [
            (split, Models.from_subsets(subsets, spread))
            for split, spread in zip(self.splits, coefs, strict=True)
        ]


def _learn_scaling(data: SplitData) -> Scaling:
    leaves = enumerate(split_by_leaf(data.weighty_train, data.X.n_leaves))
    parts = [
        (
            # Row numbers within the leaf, as the worker has no others.
            train - rows_of_leaf(leaf).start,
            None if data.weights is None else data.weights[train],
        )
        for leaf, train in leaves
    ]
    return Scaling.from_parts(
        data.X.map(_spread, each=parts), lambda mean: data.X.map(_squares, mean, each=parts)
    )


def _leaf_of(data: SplitData, leaf: int, train: IntArray, scored: IntArray) -> SplitData:
    """What a worker must know about its rows of a leaf, which it has itself."""
    rows = rows_of_leaf(leaf)
    return replace(
        data,
        # Rows are there already, and too large to send.
        X=None,
        labels=data.labels[rows],
        train=train - rows.start,
        scored=scored - rows.start,
        weights=None if data.weights is None else data.weights[rows],
        counts=None if data.counts is None else data.counts[rows],
        missing=None if data.missing is None else data.missing[rows],
    )


def backend() -> Backend:
    """Return the back end of rows that are held elsewhere."""
    return Backend(RemoteSplit.cut, RemoteEngine)


# What follows runs on workers.


@dataclass(frozen=True, slots=True, eq=False)
class _SplitOfLeaf:
    """What a worker notes about a split and a leaf: how to make a shard, or the shard itself."""

    scaling: Scaling
    data: SplitData
    shard: Shard | None = None

    def over(self, rows: FloatArray, *, train: bool = True, scored: bool = True) -> Shard:
        """Return a shard of the rows to train on, the rows that are scored, or both."""
        # Rows in memory have their shard ready; rows on disk make one for each request.
        if self.shard is not None:
            return self.shard
        data = self.data
        asked = replace(
            data,
            X=rows,
            train=data.train if train else data.train[:0],
            scored=data.scored if scored else data.scored[:0],
        )
        return Shard(asked, self.scaling)


def _spread(rows: FloatArray, numbers: IntArray, weights: FloatArray | None) -> Spread:
    return Spread.from_rows(rows[numbers], weights)


def _squares(
    rows: FloatArray, mean: FloatArray, numbers: IntArray, weights: FloatArray | None
) -> FloatArray:
    return squares_about(mean, rows[numbers], weights)


def _open_split(leaf: Leaf, key: int, scaling: Scaling, data: SplitData) -> None:
    """Make a shard of the rows of a leaf that a split has, unless these stay on disk."""
    split = _SplitOfLeaf(scaling, data)
    # A shard copies its rows, which those on disk must not.
    leaf.notes[key] = split if leaf.on_disk else replace(split, shard=split.over(leaf.rows))


def _terms(leaf: Leaf, key: int, request: Request) -> Sums:
    return request.over([leaf.notes[key].over(leaf.rows, scored=False)])


def _add_leaf(nodes: dict[Node, Sums], leaf: int, sums: Sums, n_leaves: int) -> None:
    nodes[0, leaf] = sums
    merged(nodes, n_leaves)


def _judged(leaf: Leaf, key: int, models: Models, thresholds: FloatArray) -> Any:
    shard = leaf.notes[key].over(leaf.rows, train=False)
    slots = np.arange(len(models.sizes))
    shard.bits.reserve(len(slots))
    shard.judge(models, slots, thresholds)
    return shard.bits.get(slots)


def _answered(leaf: Leaf, key: int, models: Models, n_classes: int) -> Any:
    split = leaf.notes[key]
    return answers_of(models, split.scaling, leaf.rows[split.data.scored], n_classes)


def _margins(leaf: Leaf, key: int, coefs: FloatArray, n_classes: int) -> SingleArray:
    shard = leaf.notes[key].over(leaf.rows, train=False)
    winner, confidence = shard.answers(coefs)
    return margins_of(winner, confidence, shard.truth, n_classes)
