"""Bits of held-out rows by subset, and the counts of designs that follow from them."""

from __future__ import annotations

import numpy as np

from emsco._typing import BoolArray, IntArray, StageArray, WordArray
from emsco.kernels import load
from emsco.subsets.layout import Layout, pack

__all__ = ["BitTable"]


class BitTable:
    """Which held-out rows each subset accepts, and gets right, at a threshold: a slot each.

    Parameters
    ----------
    layout : Layout
        Where the bits stand, by position among the rows, and how much they count.
    gaps : ndarray of bool, shape (n_features, n_rows), optional
        Rows in which a feature is missing, so that a stage which buys it may not accept them.
    """

    def __init__(self, layout: Layout, gaps: BoolArray | None = None) -> None:
        self.n_words = len(layout.valid)
        self.word_weights = layout.weights
        self._valid = layout.valid
        self.gaps: WordArray = np.zeros((0, self.n_words), dtype=np.uint64)
        if gaps is not None:
            self.gaps = pack(gaps[:, layout.rows]) & layout.valid
        self.accepted: WordArray = np.zeros((0, self.n_words), dtype=np.uint64)
        self.correct: WordArray = self.accepted

    @property
    def bytes_per_slot(self) -> int:
        """Two bits per held-out row, in whole words."""
        return 16 * self.n_words

    def reserve(self, n_slots: int) -> None:
        """Grow to at least `n_slots` slots."""
        if len(self.accepted) < n_slots:
            self.accepted = self._grown(self.accepted, n_slots)
            self.correct = self._grown(self.correct, n_slots)

    def _grown(self, table: WordArray, n_slots: int) -> WordArray:
        grown = np.zeros((n_slots, self.n_words), dtype=np.uint64)
        grown[: len(table)] = table
        return grown

    def put(self, slots: IntArray, accepted: WordArray, correct: WordArray) -> None:
        """Keep bits, each row of them in its slot; padding is no row."""
        self.accepted[slots] = accepted & self._valid
        self.correct[slots] = correct & self._valid

    def bits(self, slots: IntArray) -> WordArray:
        """Copies of the bits in these slots: shape (2, n_slots, n_words)."""
        return np.stack([self.accepted[slots], self.correct[slots]])

    def add_counts(
        self,
        designs: StageArray,
        chains: IntArray,
        n_stages: IntArray,
        exits: IntArray,
        hits: IntArray,
    ) -> None:
        """Send all held-out rows through each design, given as the slots of its nested subsets."""
        load("deciding").count_exits(
            self.accepted,
            self.correct,
            self.word_weights,
            self.gaps,
            designs,
            chains,
            n_stages,
            exits,
            hits,
            np.empty(self.n_words, np.uint64),
        )
