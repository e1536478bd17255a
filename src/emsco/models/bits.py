"""Bits of held-out rows by subset, and the counts of designs that follow from them."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from emsco._base.typing import BoolArray, IntArray, StageArray, WordArray
from emsco._kernels.deciding import count_exits
from emsco.models.layout import Layout, pack

__all__ = ["BitBank", "Table"]


class Table(Protocol):
    """Bits of some held-out rows by slot; see `BitBank` for the meaning of each."""

    @property
    def bytes_per_slot(self) -> int:
        """Memory that one slot takes."""

    @property
    def n_rows(self) -> int:
        """What all rows count."""

    @property
    def word_weights(self) -> IntArray:
        """How much each row of a word counts."""

    @property
    def missing(self) -> WordArray:
        """Rows in which a feature is missing, (n_features, n_words); (0, n_words) if none."""

    def reserve(self, n_slots: int) -> None:
        """Make room."""

    def bits(self, slots: IntArray) -> WordArray:
        """Rows accepted, and accepted correctly."""

    def add_counts(
        self,
        designs: StageArray,
        chains: IntArray,
        n_stages: IntArray,
        exits: IntArray,
        correct_exits: IntArray,
    ) -> None:
        """Add, per design and stage, rows that leave there and rows that leave correctly."""


class BitBank:
    """Which held-out rows each subset accepts, and gets right, at a threshold: a slot each.

    Parameters
    ----------
    layout : Layout
        Where the bits stand, by position among the rows, and how much they count.
    missing : ndarray of bool, shape (n_features, n_rows), optional
        Rows in which a feature is missing, so that a stage which buys it may not accept them.

    Attributes
    ----------
    n_rows : int
        Rows, or what they count.
    n_words : int
    word_weights : ndarray of shape (n_words,)
        How much each row of a word counts.
    missing : ndarray of shape (n_features, n_words)
        The missing as bits; of shape (0, n_words) if there are none.
    """

    def __init__(self, layout: Layout, missing: BoolArray | None = None) -> None:
        self.n_words = len(layout.valid)
        self.n_rows = layout.total
        self.word_weights = layout.weights
        self.valid = layout.valid
        self.missing: WordArray = np.zeros((0, self.n_words), dtype=np.uint64)
        if missing is not None:
            self.missing = pack(missing[:, layout.rows]) & layout.valid
        self._is_plain = missing is None and layout.is_plain
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
        self.accepted[slots] = accepted & self.valid
        self.correct[slots] = correct & self.valid

    def bits(self, slots: IntArray) -> WordArray:
        """Copies of the bits in these slots: shape (2, n_slots, n_words)."""
        return np.stack([self.accepted[slots], self.correct[slots]])

    def add_counts(
        self,
        designs: StageArray,
        chains: IntArray,
        n_stages: IntArray,
        exits: IntArray,
        correct_exits: IntArray,
    ) -> None:
        """Send all held-out rows through each design, given as the slots of its nested subsets."""
        count_exits(
            self.accepted,
            self.correct,
            self.word_weights[: 0 if self._is_plain else None],
            self.missing,
            designs,
            chains,
            n_stages,
            exits,
            correct_exits,
            *np.empty((2, self.n_words), dtype=np.uint64),
        )
