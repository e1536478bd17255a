"""Shards hold the rows of a split, and sums over leaves of rows are taken shard by shard.

Everything the library computes is a sum over rows. A shard adds the terms of its training rows
to a batch of models, turns fitted models into bits of its scored rows, and adds the counts of
those rows to designs. It knows nothing about searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Self

import numpy as np

from emsco._base.leaves import LEAF, n_leaves_of, split_by_leaf
from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray
from emsco._kernels.judgement import judge_rows
from emsco._kernels.logistic import BLOCK, add_terms, add_terms_many
from emsco.models.batches import ModelBatch, Models, orthonormal_basis
from emsco.models.bits import BitBank, Layout
from emsco.models.scaling import Scaling

ROWS_PER_SHARD = LEAF  # a multiple of the kernels' block, so that smaller ones have the same sums


class Shard:
    """Rows in the memory of this process. Every method releases the GIL while it computes.

    Parameters
    ----------
    train_rows, scored_rows : ndarray of shape (n_inputs + 1, n_rows)
        A line of ones, then the standardised inputs, as `Scaling.columns` makes them.
    train_labels, scored_labels : ndarray of shape (n_rows,)
        Class of each row, from 0.
    n_classes : int
    train_weights : ndarray of shape (n_rows,), optional
        Weight of each training row; 1 by default.
    scored_counts : ndarray of shape (n_rows,), optional
        Weight of each scored row, a whole number; 1 by default.
    scored_missing : ndarray of shape (n_features, n_rows), optional
        Missing values. A stage that buys a missing feature never accepts the row.
    by_class : bool
        Whether the bits also count the scored rows of each class.
    leaf : int
        Number of the leaf that the rows belong to.

    Attributes
    ----------
    bits : BitBank
        Bits of the scored rows.
    truth : ndarray of shape (n_bits,)
        Class of each scored row, in the order of their bits.
    """

    def __init__(
        self,
        train_rows: FloatArray,
        train_labels: LabelArray,
        scored_rows: FloatArray,
        scored_labels: LabelArray,
        n_classes: int = 2,
        train_weights: FloatArray | None = None,
        scored_counts: IntArray | None = None,
        scored_missing: BoolArray | None = None,
        by_class: bool = False,
        leaf: int = 0,
    ) -> None:
        self.leaf = leaf
        weights = np.zeros(0) if train_weights is None else train_weights
        basis = orthonormal_basis(n_classes)
        targets = train_labels.astype(np.float64) if n_classes == 2 else basis[train_labels].T
        self._double = train_rows, np.ascontiguousarray(targets), weights, basis
        # Early Newton steps of a fit do with float32.
        rows32, targets32, weights32, basis32 = (one.astype(np.float32) for one in self._double)
        self._single = rows32, targets32, weights32, basis32
        layout = Layout.from_rows(scored_labels, n_classes, scored_counts, by_class)
        self.bits = BitBank(layout, scored_missing)
        if by_class or scored_counts is not None:
            scored_rows = np.ascontiguousarray(scored_rows[:, layout.rows])
            scored_labels = scored_labels[layout.rows]
        self._scored_rows = scored_rows
        self.truth = scored_labels

    def add_terms(self, batch: ModelBatch, live: IntArray) -> None:
        """Sum each live model's gradient over the training rows, and its Hessian if `curved`."""
        models, n_classes = batch.models, batch.n_classes
        width = models.columns.shape[1]
        n_lines = 2 * n_classes if n_classes > 2 else 2
        work = np.empty((n_lines, BLOCK))
        work32 = np.empty((n_lines + width + 1, BLOCK), dtype=np.float32)
        sums = (
            models.columns,
            models.sizes,
            models.coefs,
            batch.fine,
            batch.curved,
            live,
            batch.gradient,
            batch.hessian,
            work,
            work32,
        )
        if n_classes == 2:
            rows, targets, weights, _ = self._double
            rows32, targets32, weights32, _ = self._single
            add_terms(rows, targets, weights, rows32, targets32, weights32, *sums)
        else:
            side = -(-width // 4) * 4
            scratch = np.empty((n_classes, width)), np.zeros((side, side))
            add_terms_many(self._double, self._single, *sums, *scratch)

    def answers(self, coefs: FloatArray) -> tuple[IntArray, FloatArray]:
        """Likeliest class of each scored row by models with these weights, and its probability.

        Rows are in the order of their bits. `coefs` has a weight for each input of each model,
        for each class if there are more than two.
        """
        logits = coefs @ self._scored_rows
        if logits.ndim == 2:
            return (logits > 0).astype(np.int64), 1 / (1 + np.exp(-np.abs(logits)))
        logits -= logits.max(axis=1, keepdims=True)
        return logits.argmax(axis=1), 1 / np.exp(logits).sum(axis=1)

    def judge(self, models: Models, slots: IntArray, thresholds: FloatArray) -> None:
        """Store the rows that each model accepts, and the correct ones, as bits.

        A model accepts a row if the probability of its likeliest class reaches the threshold of
        that class. `thresholds` has shape (n_classes,).
        """
        coefs = models.coefs if models.coefs.ndim == 3 else models.coefs[:, None]
        judge_rows(
            self._scored_rows,
            self.truth,
            models.columns,
            models.sizes,
            coefs,
            slots,
            thresholds,
            self.bits.valid,
            self.bits.accepted,
            self.bits.correct,
            work=np.empty((models.n_outputs + 2, 64)),
            winner=np.empty(64, dtype=np.int64),
        )


def cut_shards(
    X: FloatArray,
    labels: LabelArray,
    train: IntArray,
    scored: IntArray,
    scaling: Scaling,
    rows_per_shard: int = ROWS_PER_SHARD,
    *,
    n_classes: int = 2,
    weights: FloatArray | None = None,
    counts: IntArray | None = None,
    missing: BoolArray | None = None,
    by_class: bool = False,
) -> list[Shard]:
    """Cut each leaf of one split's rows into shards of at most `rows_per_shard` rows of each kind.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_inputs)
        NaN is a missing value.
    labels : ndarray of shape (n_rows,)
        Class of each row, from 0.
    train, scored : ndarray of int
        Row numbers.
    scaling : Scaling
    rows_per_shard : int
    n_classes : int
    weights : ndarray of shape (n_rows,), optional
        Weight of each row in training. Rows of weight 0 are left out.
    counts : ndarray of shape (n_rows,), optional
        Weight of each row in scoring, a whole number.
    missing : ndarray of shape (n_rows, n_features), optional
        Missing values. A stage that buys a missing feature never accepts the row.
    by_class : bool
        Whether to count the scored rows of each class too.
    """
    shards = []
    n_leaves = n_leaves_of(len(X))
    leaves = zip(split_by_leaf(train, n_leaves), split_by_leaf(scored, n_leaves), strict=True)
    for leaf, (train_of_leaf, scored_of_leaf) in enumerate(leaves):
        if weights is not None:
            train_of_leaf = train_of_leaf[weights[train_of_leaf] > 0]
        most = max(len(train_of_leaf), len(scored_of_leaf))
        for start in range(0, max(most, 1), rows_per_shard):
            fitted = train_of_leaf[start : start + rows_per_shard]
            seen = scored_of_leaf[start : start + rows_per_shard]
            shard = Shard(
                scaling.columns(X[fitted]),
                labels[fitted],
                scaling.columns(X[seen]),
                labels[seen],
                n_classes,
                None if weights is None else weights[fitted],
                None if counts is None else counts[seen],
                None if missing is None else missing[seen].T,
                by_class,
                leaf,
            )
            shards.append(shard)
    return shards


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
            sums = nodes.pop((level, number))
            if not is_last:
                sums += nodes.pop((level, number + 1))
            nodes[level + 1, number // 2] = sums
    return nodes


def add_up(shards: Sequence[Shard], batch: ModelBatch, live: IntArray) -> None:
    """Add the sums of all shards to a batch: within a leaf one after the other, then by pairs."""
    leaves = [list(alike) for _, alike in groupby(shards, key=lambda shard: shard.leaf)]
    if len(leaves) == 1:
        for shard in shards:
            shard.add_terms(batch, live)
        return
    request, order = Request.from_batch(batch, live)
    nodes: dict[Node, Sums] = {}
    for number, of_leaf in enumerate(leaves):
        nodes[0, number] = request.over(of_leaf)
        merged(nodes, len(leaves))
    put(batch, order, request.n_curved, nodes.popitem()[1])


def put(batch: ModelBatch, order: IntArray, n_curved: int, sums: Sums) -> None:
    """Add sums to the models of a batch that they are for."""
    batch.gradient[order] += sums.gradient
    batch.hessian[order[:n_curved]] += sums.hessian
