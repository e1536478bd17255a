"""Rows live in shards: all that a thread, a GPU or a cluster worker has to offer.

Everything the library computes is a sum over rows. A shard adds the terms of its training rows
to a batch of fits, turns fitted models into bits over its held-out rows, and adds the counts of
those rows to designs. It never sees a search.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray, SingleArray
from emsco._kernels.deciding import judge_rows, judge_rows_many
from emsco._kernels.fitting import BLOCK, add_terms, add_terms_many
from emsco.models.batches import ModelBatch, Models, orthonormal_basis
from emsco.models.bits import BitBank, Table
from emsco.models.layout import Layout
from emsco.models.scaling import Scaling

__all__ = ["LocalShard", "Shard", "cut_shards"]

ROWS_PER_SHARD = 2**20  # a multiple of the kernels' block, so that the cut changes no sum


class Shard(Protocol):
    """What a back end implements; see `LocalShard` for the meaning of each method."""

    @property
    def table(self) -> Table:
        """Bits of its held-out rows."""

    def add_terms(self, batch: ModelBatch, live: IntArray) -> None:
        """Add gradients and, where wanted, Hessians of the live models."""

    def judge(self, models: Models, slots: IntArray, thresholds: FloatArray) -> None:
        """Keep the bits of fitted models at a threshold for each class, each in its slot."""


class LocalShard:
    """Rows in this process's memory; every method releases the GIL while it computes.

    Parameters
    ----------
    train_rows, held_out_rows : ndarray of shape (n_inputs + 1, n_rows)
        Standardised columns below a line of ones, as `Scaling.columns` makes them.
    train_labels, held_out_labels : ndarray of shape (n_rows,)
        Class of each row, from 0.
    n_classes : int
    train_weights : ndarray of shape (n_rows,), optional
        What each row counts in the sums of a fit; 1 by default.
    held_out_counts : ndarray of shape (n_rows,), optional
        How often each row counts, a whole number; 1 by default.
    held_out_missing : ndarray of shape (n_features, n_rows), optional
        Whether a feature is missing in a row, so that a stage which buys it lets the row pass.
    """

    def __init__(
        self,
        train_rows: FloatArray,
        train_labels: LabelArray,
        held_out_rows: FloatArray,
        held_out_labels: LabelArray,
        n_classes: int = 2,
        train_weights: FloatArray | None = None,
        held_out_counts: IntArray | None = None,
        held_out_missing: BoolArray | None = None,
    ) -> None:
        weights = np.zeros(0) if train_weights is None else train_weights
        basis = orthonormal_basis(n_classes)
        targets = train_labels.astype(np.float64) if n_classes == 2 else basis[train_labels].T
        self._double = train_rows, np.ascontiguousarray(targets), weights, basis
        self._single = _rounded(*self._double)
        layout = Layout.from_counts(held_out_rows.shape[1], held_out_counts)
        self.table = BitBank(layout, held_out_missing)
        if held_out_counts is not None:
            held_out_rows = np.ascontiguousarray(held_out_rows[:, layout.rows])
            held_out_labels = held_out_labels[layout.rows]
        self._held_out_rows = held_out_rows
        self._held_out_labels = held_out_labels

    def add_terms(self, batch: ModelBatch, live: IntArray) -> None:
        """Add Σ over training rows of each live model's gradient, and Hessian where `curved`."""
        models, n_classes = batch.models, batch.n_classes
        width = models.columns.shape[1]
        shared = (models.columns, models.sizes, models.coefs, batch.fine, batch.curved, live)
        sums = batch.gradient, batch.hessian
        n_lines = 2 * n_classes if n_classes > 2 else 2
        work = np.empty((n_lines, BLOCK))
        work32 = np.empty((n_lines + width + 1, BLOCK), dtype=np.float32)
        if n_classes == 2:
            rows, targets, weights, _ = self._double
            rows32, targets32, weights32, _ = self._single
            data = rows, targets, weights, rows32, targets32, weights32
            add_terms(*data, *shared, *sums, work, work32)
        else:
            side = -(-width // 4) * 4
            scratch = work, work32, np.empty((n_classes, width)), np.zeros((side, side))
            add_terms_many(self._double, self._single, *shared, *sums, *scratch)

    def judge(self, models: Models, slots: IntArray, thresholds: FloatArray) -> None:
        """Store which held-out rows each model accepts, and accepts correctly, as bits.

        A row is accepted where the probability of its likeliest class reaches that class's
        threshold; `thresholds` has shape (n_classes,).
        """
        rows = self._held_out_rows, self._held_out_labels
        fitted = models.columns, models.sizes, models.coefs
        table = self.table.valid, self.table.accepted, self.table.correct
        given = *rows, *fitted, slots, thresholds, *table
        if len(thresholds) == 2:
            judge_rows(*given, np.empty(64), np.empty(64, dtype=np.uint64))
        else:
            work = np.empty((len(thresholds) + 2, 64))
            judge_rows_many(*given, work, np.empty(64, dtype=np.int64))


def _rounded(
    rows: FloatArray, targets: FloatArray, weights: FloatArray, basis: FloatArray
) -> tuple[SingleArray, SingleArray, SingleArray, SingleArray]:
    """The same in float32."""
    single = np.float32
    return rows.astype(single), targets.astype(single), weights.astype(single), basis.astype(single)


def cut_shards(
    X: FloatArray,
    labels: LabelArray,
    train: IntArray,
    held_out: IntArray,
    scaling: Scaling,
    rows_per_shard: int = ROWS_PER_SHARD,
    *,
    n_classes: int = 2,
    weights: FloatArray | None = None,
    counts: IntArray | None = None,
    missing: BoolArray | None = None,
) -> list[LocalShard]:
    """The rows of one split as shards of at most `rows_per_shard` training and held-out rows.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_inputs)
        May hold missing (NaN).
    labels : ndarray of shape (n_rows,)
        Class of each row, from 0.
    train, held_out : ndarray of int
        Which rows of X are which.
    scaling : Scaling
    rows_per_shard : int
    n_classes : int
    weights : ndarray of shape (n_rows,), optional
        What each row counts when it is trained on. One of weight 0 is left out.
    counts : ndarray of shape (n_rows,), optional
        How often each row counts when it is held out, a whole number.
    missing : ndarray of shape (n_rows, n_features), optional
        Features that are missing, so that a stage which buys one lets a held-out row pass.
    """
    if weights is not None:
        train = train[weights[train] > 0]
    n_shards = max(1, -(-max(len(train), len(held_out)) // rows_per_shard))
    shards = []
    for i in range(n_shards):
        cut = slice(i * rows_per_shard, (i + 1) * rows_per_shard)
        shards.append(
            LocalShard(
                scaling.columns(X[train[cut]]),
                labels[train[cut]],
                scaling.columns(X[held_out[cut]]),
                labels[held_out[cut]],
                n_classes,
                None if weights is None else weights[train[cut]],
                None if counts is None else counts[held_out[cut]],
                None if missing is None else missing[held_out[cut]].T,
            )
        )
    return shards
