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
from emsco.models.bits import BitBank, Layout, margins_of
from emsco.models.engine import Answers, LogisticEngine, SplitRows, answers_of, weights_to_fit
from emsco.models.logistic import LogisticFitter
from emsco.models.scaling import Scaling, Spread, squares_about
from emsco.models.shard import Node, Request, Shard, Sums, merged, put
from emsco.scale.remote import Leaf, RemoteRows, Task

_IN_FLIGHT = 2  # batches of models; while the client steps with one, workers sum up others
_MOST_MODELS = 256  # judged by one request
_keys = count()  # of splits, never the same for two of them


@dataclass(frozen=True, slots=True, eq=False)
class _Scored:
    """Bits and classes of the scored rows of a leaf that a worker holds."""

    leaf: int
    bits: BitBank
    truth: LabelArray


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
        nodes = self.rows.run(Task(_terms, (self.key, request), combine=combine))
        put(batch, order, request.n_curved, merged(nodes, n_leaves).popitem()[1])


@dataclass(frozen=True, slots=True, eq=False)
class RemoteSplit(SplitRows):
    """Training and scored rows of one split with workers; they know it by its `key`."""

    rows: RemoteRows
    key: int

    @classmethod
    def from_rows(
        cls,
        X: RemoteRows,
        labels: LabelArray,
        train: IntArray,
        scored: IntArray,
        penalty: float = 1.0,
        *,
        n_classes: int = 2,
        weights: FloatArray | None = None,
        class_weights: FloatArray | None = None,
        counts: IntArray | None = None,
        missing: BoolArray | None = None,
        by_class: bool = False,
    ) -> Self:
        """Standardise by the training rows, where these are; see `SplitRows.cut`."""
        own_train = train if weights is None else train[weights[train] > 0]
        trained, seen = (split_by_leaf(rows, X.n_leaves) for rows in (own_train, scored))
        scaling = _learn_scaling(X, trained, weights)
        weights = weights_to_fit(labels, weights, class_weights)
        own = {
            leaf: (
                (
                    rows - rows_of_leaf(leaf).start,
                    labels[rows],
                    None if weights is None else weights[rows],
                ),
                (
                    scored_rows - rows_of_leaf(leaf).start,
                    labels[scored_rows],
                    None if counts is None else counts[scored_rows],
                    None if missing is None else missing[scored_rows].T,
                ),
            )
            for leaf, (rows, scored_rows) in enumerate(zip(trained, seen, strict=True))
        }
        key = next(_keys)
        X.note(Task(_open_split, (key, scaling, n_classes, by_class), own))
        shards: Any = [_scored(leaf, n_classes, by_class, *own[leaf][1][1:]) for leaf in own]
        total = len(train) if weights is None else float(weights[train].sum())
        fitter = LogisticFitter([_Terms(X, key)], X.shape[1], total, penalty, n_classes)  # type: ignore[list-item]  # it is only summed over
        return cls(shards, fitter, scaling, len(train), X, key)


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
        for part in slices(len(slots), _MOST_MODELS):
            for split, models in self._models(subsets[part], numbers[part]):
                found = split.rows.run(Task(_judged, (split.key, models, thresholds)))
                for shard in split.shards:
                    shard.bits.put(slots[part], *found[shard.leaf])

    def answers(
        self, subsets: BoolArray, numbers: FloatArray, rows: Any, scored: Sequence[IntArray]
    ) -> list[Answers]:
        """Answers of fitted models for the scored rows of each split."""
        del rows, scored  # workers have them
        every = []
        for split, models in self._models(subsets, numbers):
            found = split.rows.run(Task(_answered, (split.key, models, self.n_classes)))
            parts = [found[shard.leaf] for shard in split.shards]
            winner, confidence = zip(*parts, strict=True)
            every.append((np.concatenate(winner, axis=1), np.concatenate(confidence, axis=1)))
        return every

    def margins(self, numbers: FloatArray) -> list[SingleArray]:
        """Margins of fitted models for the rows of each part of `bits`, in the order of bits."""
        coefs = self.lines(numbers)
        every = []
        for split, spread in zip(self.splits, coefs, strict=True):
            found = split.rows.run(Task(_margins, (split.key, spread, self.n_classes)))
            every += [found[shard.leaf] for shard in split.shards]
        return every

    def _models(self, subsets: BoolArray, numbers: FloatArray) -> list[tuple[RemoteSplit, Models]]:
        coefs = self.lines(numbers)
        return [
            (split, Models.from_subsets(subsets, spread))
            for split, spread in zip(self.splits, coefs, strict=True)
        ]


def _learn_scaling(
    X: RemoteRows, trained: Sequence[IntArray], weights: FloatArray | None
) -> Scaling:
    own = {
        leaf: (rows - rows_of_leaf(leaf).start, None if weights is None else weights[rows])
        for leaf, rows in enumerate(trained)
    }

    def squares(mean: FloatArray) -> list[FloatArray]:
        found = X.run(Task(_squares, (mean,), own))
        return [found[leaf] for leaf in own]

    spreads = X.run(Task(_spread, own=own))
    return Scaling.from_parts([spreads[leaf] for leaf in own], squares)


def _scored(
    leaf: int,
    n_classes: int,
    by_class: bool,
    labels: LabelArray,
    counts: IntArray | None,
    missing: BoolArray | None,
) -> _Scored:
    layout = Layout.from_rows(labels, n_classes, counts, by_class)
    return _Scored(leaf, BitBank(layout, missing), labels[layout.rows])


def backend() -> Backend:
    """Return the back end of rows that are held elsewhere."""
    return Backend(RemoteSplit.from_rows, RemoteEngine)


# What follows runs on workers.


@dataclass(frozen=True, slots=True, eq=False)
class _SplitOfLeaf:
    """What a worker notes about a split and a leaf: how to make a shard, or the shard itself."""

    scaling: Scaling
    n_classes: int
    by_class: bool
    train: tuple[IntArray, LabelArray, FloatArray | None]
    scored: tuple[IntArray, LabelArray, IntArray | None, BoolArray | None]
    shard: Shard | None = None

    def over(self, rows: FloatArray, *, train: bool = True, scored: bool = True) -> Shard:
        """Return a shard of the rows to train on, the rows that are scored, or both."""
        if self.shard is not None:
            return self.shard
        own, seen = slice(None if train else 0), slice(None if scored else 0)
        (numbers, labels, weights), (places, truth, counts, missing) = self.train, self.scored
        return Shard(
            self.scaling.columns(rows[numbers[own]]),
            labels[own],
            self.scaling.columns(rows[places[seen]]),
            truth[seen],
            self.n_classes,
            None if weights is None else weights[own],
            None if counts is None else counts[seen],
            None if missing is None else missing[:, seen],
            self.by_class,
        )


def _spread(leaf: Leaf, rows: IntArray, weights: FloatArray | None) -> Spread:
    return Spread.from_rows(leaf.rows[rows], weights)


def _squares(
    leaf: Leaf, mean: FloatArray, rows: IntArray, weights: FloatArray | None
) -> FloatArray:
    return squares_about(mean, leaf.rows[rows], weights)


def _open_split(
    leaf: Leaf,
    key: int,
    scaling: Scaling,
    n_classes: int,
    by_class: bool,
    train: tuple[IntArray, LabelArray, FloatArray | None],
    scored: tuple[IntArray, LabelArray, IntArray | None, BoolArray | None],
) -> None:
    """Make a shard of the rows of a leaf that a split has, unless these stay on disk."""
    own = _SplitOfLeaf(scaling, n_classes, by_class, train, scored)
    leaf.notes[key] = own if leaf.on_disk else replace(own, shard=own.over(leaf.rows))


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
    own = leaf.notes[key]
    return answers_of(models, own.scaling, leaf.rows[own.scored[0]], n_classes)


def _margins(leaf: Leaf, key: int, coefs: FloatArray, n_classes: int) -> SingleArray:
    shard = leaf.notes[key].over(leaf.rows, train=False)
    winner, confidence = shard.answers(coefs)
    return margins_of(winner, confidence, shard.truth, n_classes)
