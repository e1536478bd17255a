"""Bits of scored rows, one set per subset, and the counts that designs get from them."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray, WordArray
from emsco._kernels.counting import add_prices, count_exits, count_exits_by_class
from emsco.models.layout import Layout, pack

__all__ = ["BitBank", "Bits"]


class Bits(Protocol):
    """Bits of some scored rows, by slot. `BitBank` explains each method."""

    @property
    def bytes_per_slot(self) -> int:
        """Memory of one slot."""

    @property
    def n_words(self) -> int:
        """Words of a slot."""

    @property
    def valid(self) -> WordArray:
        """Bits that stand for rows, not for padding."""

    @property
    def n_rows(self) -> int:
        """Number of rows, or the sum of their weights."""

    @property
    def word_weights(self) -> IntArray:
        """Weight of each row of a word, by word."""

    @property
    def n_counted(self) -> int:
        """Classes whose rows are also counted apart; 0 if none are."""

    @property
    def missing(self) -> WordArray:
        """Rows in which a feature is missing, (n_features, n_words); (0, n_words) if none."""

    def reserve(self, n_slots: int) -> None:
        """Make room for `n_slots` slots."""

    def get(self, slots: IntArray, places: IntArray | None = None) -> WordArray:
        """Return the accepted rows and the correct rows of these slots."""

    def put(self, slots: IntArray, accepted: WordArray, correct: WordArray) -> None:
        """Store bits in slots."""

    def accepted_weight(self, slots: IntArray) -> FloatArray:
        """Return the weight of the accepted rows of these slots."""

    def add_counts(
        self,
        designs: StageArray,
        chains: IntArray,
        n_stages: IntArray,
        exits: IntArray,
        correct_exits: IntArray,
    ) -> None:
        """Add the rows that leave at each stage, and the correct ones among them.

        Columns of the `n_counted` classes, over all stages, come before those of the stages.
        """

    @property
    def n_scored(self) -> int:
        """Number of rows, whatever their weights."""

    def price(self, priced: IntArray, prices: IntArray) -> None:
        """Let rows pay for some features by prices of their own."""

    def add_prices(self, designs: StageArray, chains: IntArray, spent: IntArray) -> None:
        """Add what all rows pay for features with prices of their own, by design."""


class BitBank:
    """Two bits per subset and scored row: accepted, and accepted with the correct label.

    Each subset has a slot for the threshold it was judged at.

    Parameters
    ----------
    layout : Layout
        Position and weight of each row's bits.
    missing : ndarray of bool, shape (n_features, n_rows), optional
        Rows in which a feature is missing. A stage that buys the feature never accepts them.

    Attributes
    ----------
    n_rows : int
        Number of rows, or the sum of their weights.
    n_words : int
    word_weights : ndarray of shape (n_words,)
        Weight of each row of a word.
    n_counted : int
        Classes whose rows are also counted apart; 0 unless the layout is by class.
    n_scored : int
        Number of rows, whatever their weights.
    missing : ndarray of shape (n_features, n_words)
        `missing` as bits; shape (0, n_words) if no value is missing.
    """

    def __init__(self, layout: Layout, missing: BoolArray | None = None) -> None:
        self.n_words = len(layout.valid)
        self.n_rows = layout.total
        self.word_weights = layout.weights
        self.valid = layout.valid
        self.n_counted = 0 if layout.ends is None else len(layout.ends) - 1
        self.n_scored = layout.n_rows
        self._layout = layout
        self._priced = np.zeros(0, dtype=np.int64)
        self._prices = np.zeros((0, 0), dtype=np.int64)
        self._ends = layout.ends
        self.missing: WordArray = np.zeros((0, self.n_words), dtype=np.uint64)
        if missing is not None:
            self.missing = pack(missing[:, layout.rows]) & layout.valid
        self._is_plain = missing is None and layout.is_plain
        self.accepted: WordArray = np.zeros((0, self.n_words), dtype=np.uint64)
        self.correct: WordArray = self.accepted

    @property
    def bytes_per_slot(self) -> int:
        """Two bits per scored row, in whole words."""
        return 16 * self.n_words

    def reserve(self, n_slots: int) -> None:
        """Grow to at least `n_slots` slots."""
        if len(self.accepted) < n_slots:
            self.accepted = self._grown(self.accepted, n_slots)
            self.correct = self._grown(self.correct, n_slots)

    def _grown(self, words: WordArray, n_slots: int) -> WordArray:
        grown = np.zeros((n_slots, self.n_words), dtype=np.uint64)
        grown[: len(words)] = words
        return grown

    def put(self, slots: IntArray, accepted: WordArray, correct: WordArray) -> None:
        """Store bits in slots, one row of words per slot, and clear the padding."""
        self.accepted[slots] = accepted & self.valid
        self.correct[slots] = correct & self.valid

    def get(self, slots: IntArray, places: IntArray | None = None) -> WordArray:
        """Copy the bits of these slots, or some words of them: shape (2, n_slots, n_words)."""
        own = slots if places is None else np.ix_(slots, places)
        return np.stack([self.accepted[own], self.correct[own]])

    def accepted_weight(self, slots: IntArray) -> FloatArray:
        """Return the weight of the accepted rows of these slots."""
        counts = np.bitwise_count(self.accepted[slots])
        weight: FloatArray = counts @ self.word_weights.astype(np.float64)
        return weight

    def add_counts(
        self,
        designs: StageArray,
        chains: IntArray,
        n_stages: IntArray,
        exits: IntArray,
        correct_exits: IntArray,
    ) -> None:
        """Send all scored rows through each design; `chains` holds the slots of its stages.

        Both counts have a column for each stage, after one for each of the `n_counted` classes.
        """
        undecided, blocked = np.empty((2, self.n_words), dtype=np.uint64)
        given = (
            self.accepted,
            self.correct,
            # Without weights the kernel skips a multiplication per word.
            self.word_weights[: 0 if self._is_plain else None],
            self.missing,
            designs,
            chains,
            n_stages,
            exits,
            correct_exits,
            undecided,
            blocked,
        )
        if self._ends is None:
            count_exits(*given)
        else:
            count_exits_by_class(*given, self._ends)

    def price(self, priced: IntArray, prices: IntArray) -> None:
        """Let rows pay for some features by prices of their own.

        `priced` are the features, and `prices`, of shape (n_priced, n_scored), what each row pays.
        """
        self._priced, self._prices = priced, self._layout.spread(prices)

    def add_prices(self, designs: StageArray, chains: IntArray, spent: IntArray) -> None:
        """Add what all rows pay for features with prices of their own, by design."""
        undecided = np.empty(self.n_words, dtype=np.uint64)
        own = self.accepted, self.missing, self._prices, self._priced
        add_prices(*own, designs, chains, spent, undecided)
