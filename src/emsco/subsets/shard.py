"""Rows live in shards: all that a thread, a GPU or a cluster worker has to offer.

Everything the library computes is a sum over rows. A shard adds the terms of its training rows
to a batch of fits, turns fitted models into bits over its held-out rows, and adds the counts of
those rows to designs. It never sees a search.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from emsco._typing import FloatArray, IntArray, LabelArray, WordArray
from emsco.kernels import load
from emsco.subsets.models import ModelBatch, Models
from emsco.subsets.scaling import Scaling

__all__ = ["LocalShard", "Shard", "cut_shards"]

ROWS_PER_SHARD = 2**20  # a multiple of the kernels' block, so that the cut changes no sum


class Shard(Protocol):
    """What a back end implements; see `LocalShard` for the meaning of each method."""

    @property
    def bytes_per_slot(self) -> int:
        """Memory that one slot, the bits of one subset at one threshold, takes."""

    def add_terms(self, batch: ModelBatch, live: IntArray) -> None:
        """Add gradients and, where wanted, Hessians of the live models."""

    def reserve(self, n_slots: int) -> None:
        """Make room for the bits of `n_slots` subsets."""

    def judge(self, models: Models, slots: IntArray, min_confidence: float) -> None:
        """Keep the bits of fitted models at a threshold, each in its slot."""

    def bits(self, slots: IntArray) -> WordArray:
        """Rows accepted, and accepted correctly, by the subsets in these slots."""

    def add_counts(
        self, chains: IntArray, n_stages: IntArray, exits: IntArray, hits: IntArray
    ) -> None:
        """Add, per design and stage, rows that leave there and rows that leave correctly."""


class LocalShard:
    """Rows in this process's memory; every method releases the GIL while it computes.

    Parameters
    ----------
    train_rows, held_out_rows : ndarray of shape (n_features + 1, n_rows)
        Standardised columns below a line of ones, as `Scaling.columns` makes them.
    train_labels, held_out_labels : ndarray of shape (n_rows,)
        Class of each row, 0 or 1.
    """

    def __init__(
        self,
        train_rows: FloatArray,
        train_labels: LabelArray,
        held_out_rows: FloatArray,
        held_out_labels: LabelArray,
    ) -> None:
        self._rows = train_rows
        self._rows32 = train_rows.astype(np.float32)
        self._targets = train_labels.astype(np.float64)
        self._targets32 = train_labels.astype(np.float32)
        self._held_out_rows = held_out_rows
        self._held_out_labels = held_out_labels
        self._n_words: int = -(-held_out_rows.shape[1] // 64)
        self._bits: WordArray = np.zeros((2, 0, self._n_words), dtype=np.uint64)

    @property
    def bytes_per_slot(self) -> int:
        """Two bits per held-out row, in whole words."""
        return 16 * self._n_words

    def add_terms(self, batch: ModelBatch, live: IntArray) -> None:
        """Add Σ over training rows of each live model's gradient, and Hessian where `curved`."""
        fitting = load("fitting")
        width = batch.models.columns.shape[1]
        fitting.add_terms(
            self._rows,
            self._targets,
            self._rows32,
            self._targets32,
            batch.models.columns,
            batch.models.sizes,
            batch.models.coefs,
            batch.fine,
            batch.curved,
            live,
            batch.gradient,
            batch.hessian,
            np.empty((2, fitting.BLOCK)),
            np.empty((3 + width, fitting.BLOCK), dtype=np.float32),
        )

    def reserve(self, n_slots: int) -> None:
        """Grow the table of bits to at least `n_slots` slots."""
        kept = self._bits.shape[1]
        if kept < n_slots:
            grown = np.zeros((2, n_slots, self._n_words), dtype=np.uint64)
            grown[:, :kept] = self._bits
            self._bits = grown

    def judge(self, models: Models, slots: IntArray, min_confidence: float) -> None:
        """Store which held-out rows each model accepts, and accepts correctly, as bits."""
        accepted, correct = self._bits
        load("deciding").judge_rows(
            self._held_out_rows,
            self._held_out_labels,
            models.columns,
            models.sizes,
            models.coefs,
            slots,
            min_confidence,
            accepted,
            correct,
            np.empty(64),
            np.empty(64, dtype=np.uint64),
        )

    def bits(self, slots: IntArray) -> WordArray:
        """Copies of the bits in these slots: shape (2, n_slots, n_words)."""
        kept: WordArray = self._bits[:, slots]
        return kept

    def add_counts(
        self, chains: IntArray, n_stages: IntArray, exits: IntArray, hits: IntArray
    ) -> None:
        """Send all held-out rows through each design, given as the slots of its nested subsets."""
        accepted, correct = self._bits
        load("deciding").count_exits(
            accepted, correct, chains, n_stages, exits, hits, np.empty(self._n_words, np.uint64)
        )


def cut_shards(
    X: FloatArray,
    labels: LabelArray,
    train: IntArray,
    held_out: IntArray,
    scaling: Scaling,
    rows_per_shard: int = ROWS_PER_SHARD,
) -> list[LocalShard]:
    """The rows of one split as shards of at most `rows_per_shard` training and held-out rows."""
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
            )
        )
    return shards
