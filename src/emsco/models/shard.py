"""Shards hold the rows of a split, and sums over its rows are taken shard by shard.

Everything the library computes is a sum over rows. A shard adds the terms of its training rows
to a batch of models, and asks fitted models about its scored rows. It knows nothing about searches.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from emsco._base.typing import FloatArray, IntArray, LabelArray
from emsco._base.workers import slices
from emsco._kernels.judgement import answer_rows
from emsco._kernels.logistic import BLOCK, add_terms, add_terms_many
from emsco.models.batches import ModelBatch, Models, orthonormal_basis
from emsco.models.scaling import Scaling

ROWS_PER_SHARD = 65_536  # a multiple of the kernels' block, so that smaller ones have the same sums


@dataclass(frozen=True, slots=True, eq=False)
class SplitData:
    """Rows of a table, and which of them a split trains on and scores.

    Attributes
    ----------
    X : array of shape (n_rows, n_inputs), or SingleRows
        NaN is a missing value.
    labels : ndarray of shape (n_rows,)
        Class of each row, from 0.
    train, scored : ndarray of int
        Row numbers.
    n_classes : int
    weights : ndarray of shape (n_rows,), optional
        Weight of each row in training. Rows of weight 0 are left out.
    class_weights : ndarray of shape (n_classes,), optional
        Further weight of each class, in fitting only: standardisation ignores it.
    """

    X: Any
    labels: LabelArray
    train: IntArray
    scored: IntArray
    n_classes: int = 2
    weights: FloatArray | None = None
    class_weights: FloatArray | None = None

    def with_fit_weights(self) -> SplitData:
        """Multiply the weights of rows by those of their classes."""
        if self.class_weights is None:
            return self
        weights = self.class_weights[self.labels] * (1.0 if self.weights is None else self.weights)
        return replace(self, weights=weights, class_weights=None)

    @property
    def weighty_train(self) -> IntArray:
        """Training rows of a weight above 0."""
        if self.weights is None:
            return self.train
        return self.train[self.weights[self.train] > 0]

    @property
    def train_weight(self) -> float:
        """Number of training rows, or their total weight."""
        if self.weights is None:
            return len(self.train)
        return float(self.weights[self.train].sum())


class Shard:
    """Rows in the memory of this process. Every method releases the GIL while it computes.

    Parameters
    ----------
    data : SplitData
        With weights for fitting, as `SplitData.with_fit_weights` makes them.
    scaling : Scaling
    """

    def __init__(self, data: SplitData, scaling: Scaling) -> None:
        train, basis = data.labels[data.train], orthonormal_basis(data.n_classes)
        # Two classes need one target, 0 or 1; more have coordinates in the basis.
        targets = train.astype(np.float64) if data.n_classes == 2 else basis[train].T
        self._double = (
            scaling.columns(data.X[data.train]),
            np.ascontiguousarray(targets),
            # Empty weights tell the kernels that all rows count 1.
            np.zeros(0) if data.weights is None else data.weights[data.train],
            basis,
        )
        # Early Newton steps of a fit do with float32.
        rows32, targets32, weights32, basis32 = (one.astype(np.float32) for one in self._double)
        self._single = rows32, targets32, weights32, basis32
        self._scored_rows = scaling.columns(data.X[data.scored])

    def add_terms(self, batch: ModelBatch, live: IntArray) -> None:
        """Sum each live model's gradient over the training rows, and its Hessian if `curved`."""
        models, n_classes = batch.models, batch.n_classes
        width = models.columns.shape[1]
        n_lines = 2 * n_classes if n_classes > 2 else 2
        work = np.empty((n_lines, BLOCK))
        # Single precision also needs a line of weights, and the weighted columns of a model.
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
            add_terms_many(*self._double, *self._single, *sums, *scratch)

    @property
    def n_train(self) -> int:
        """Number of training rows."""
        return int(self._double[0].shape[1])

    def in_few_inputs(self, inputs: IntArray) -> tuple[Self, FloatArray | None]:
        """Return the training rows with some inputs alone, in no more coordinates than rows.

        Also return the directions of the coordinates, (n_inputs, n_coordinates); None if they are
        the inputs themselves. A penalised model has its weights in the span of the rows, so that
        nothing is lost.
        """
        ones, rows, directions = self._double[0][:1], self._double[0][1 + inputs], None
        if len(inputs) > self.n_train:
            directions, rows = np.linalg.qr(rows)
        few = copy(self)
        few._double = np.concatenate([ones, rows]), *self._double[1:]
        few._single = few._double[0].astype(np.float32), *self._single[1:]
        return few, directions

    @property
    def n_scored(self) -> int:
        """Number of scored rows."""
        return int(self._scored_rows.shape[1])

    def answers(self, coefs: FloatArray) -> tuple[IntArray, FloatArray]:
        """Likeliest class of each scored row by models with these weights, and its probability.

        `coefs` has a weight for each input of each model, for each class if there are more than
        two.
        """
        logits = coefs @ self._scored_rows
        if logits.ndim == 2:
            # Of the likelier class, so that the exponent never overflows.
            return (logits > 0).astype(np.int64), 1 / (1 + np.exp(-np.abs(logits)))
        logits -= logits.max(axis=1, keepdims=True)
        # After the largest logit is taken off, its own share of the sum is exactly 1.
        return logits.argmax(axis=1), 1 / np.exp(logits).sum(axis=1)

    def answer(
        self, models: Models, begin: int, winner: LabelArray, confidence: FloatArray
    ) -> None:
        """Fill in the likeliest class of each scored row, and its probability.

        Both have a line for each model; those of this shard begin at column `begin`.
        """
        coefs = models.coefs if models.coefs.ndim == 3 else models.coefs[:, None]
        answer_rows(
            self._scored_rows,
            models.columns,
            models.sizes,
            coefs,
            begin,
            winner,
            confidence,
            work=np.empty((models.n_outputs + 2, 64)),
            likeliest=np.empty(64, dtype=np.int64),
        )


def cut_shards(
    data: SplitData, scaling: Scaling, rows_per_shard: int = ROWS_PER_SHARD
) -> list[Shard]:
    """Cut a split's rows into shards of at most `rows_per_shard` rows of each kind."""
    train, scored = data.weighty_train, data.scored
    return [
        Shard(replace(data, train=train[part], scored=scored[part]), scaling)
        for part in slices(max(len(train), len(scored), 1), rows_per_shard)
    ]


def add_up(shards: Sequence[Shard], batch: ModelBatch, live: IntArray) -> None:
    """Add the sums of all shards to a batch, one after the other."""
    for shard in shards:
        shard.add_terms(batch, live)
