"""Bits of scored rows: where each row's bit stands, two bits per subset, and what designs count."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from emsco._base.typing import (
    BoolArray,
    FloatArray,
    IntArray,
    LabelArray,
    StageArray,
    WordArray,
)
from emsco._kernels.counts import add_prices, count_exits

WORD = 64
_SUREST = 1 - 1e-12  # a probability of 1 has no log-odds


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """The row and the weight of each bit.

    Attributes
    ----------
    rows : ndarray of shape (n_bits,)
        Row number of each bit, -1 for padding. Without weights, all rows in order; the last word
        may then be short.
    valid : ndarray of shape (n_words,)
        Bits that stand for rows, not for padding.
    weights : ndarray of shape (n_words,)
        Weight of each bit of a word.
    ends : ndarray of shape (n_classes + 1,), optional
        Words ``ends[c]`` to ``ends[c + 1]`` hold the rows of class c. None: classes share words.
    n_rows : int
        Rows that are laid out; those of weight 0 have no bit.
    """

    rows: IntArray
    valid: WordArray
    weights: IntArray
    ends: IntArray | None = None
    n_rows: int = 0

    @classmethod
    def from_rows(
        cls,
        labels: LabelArray,
        n_classes: int,
        counts: IntArray | None = None,
        by_class: bool = False,
    ) -> Self:
        """Lay out rows of weights `counts`, 1 each if None.

        With `by_class` they come class after class, each from a new word.
        """
        n_rows, ends = len(labels), None
        if by_class:
            counts = np.ones(n_rows, dtype=np.int64) if counts is None else counts
            places, word_weights = [], []
            for label in range(n_classes):
                of_class = np.flatnonzero(labels == label)
                bits, of_words = _bits_by_weight(counts[of_class])
                # -1 must stay -1: as an index it would mean the last row of the class.
                places.append(np.where(bits < 0, -1, of_class[bits]))
                word_weights.append(of_words)
            rows, weights = np.concatenate(places), np.concatenate(word_weights)
            ends = np.cumsum([0, *map(len, word_weights)])
        elif counts is None:
            rows, weights = np.arange(n_rows), np.ones(-(-n_rows // WORD), dtype=np.int64)
        else:
            rows, weights = _bits_by_weight(counts)
        return cls(rows, pack(rows >= 0), weights, ends, n_rows)

    @property
    def total(self) -> int:
        """Sum of the weights of all rows."""
        return int(np.bitwise_count(self.valid).astype(np.int64) @ self.weights)

    def spread(self, values: IntArray) -> IntArray:
        """Spread values of rows, (…, n_rows), over bits, each times its weight; 0 for padding."""
        bits = np.zeros((*values.shape[:-1], WORD * len(self.weights)), dtype=np.int64)
        there = np.flatnonzero(self.rows >= 0)
        # Bit b lies in word b // 64, whose weight holds for all of its bits.
        bits[..., there] = values[..., self.rows[there]] * self.weights[there // WORD]
        return bits


def _bits_by_weight(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Row of each bit, -1 for none, and weight of each word.

    Two layouts are possible; the one with fewer words wins. Rows are grouped by weight, or by the
    binary digits of their weights, which is shorter when there are many different weights.
    """
    if not counts.any():
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    # Stable, so that rows of equal weight keep their order and the layout is always the same.
    order = np.argsort(counts, kind="stable")
    order = order[counts[order] > 0]
    values, first = np.unique(counts[order], return_index=True)
    # Rows of equal weight lie side by side; each run is one group.
    alike = list(zip(values.tolist(), np.split(order, first[1:]), strict=True))
    n_digits = int(counts.max()).bit_length()
    # Group b holds the rows whose weight has binary digit b: a row may be in several.
    digits = [(1 << b, np.flatnonzero(counts >> b & 1)) for b in range(n_digits)]
    # Each group ends with a word that is partly empty, so many small groups cost words.
    groups = min(alike, digits, key=lambda parts: sum(-(-len(rows) // WORD) for _, rows in parts))
    bits = [np.pad(rows, (0, -len(rows) % WORD), constant_values=-1) for _, rows in groups]
    weights = [np.full(len(part) // WORD, v) for (v, _), part in zip(groups, bits, strict=True)]
    return np.concatenate(bits), np.concatenate(weights)


def pack(bits: BoolArray) -> WordArray:
    """Pack truth values of shape (…, n_bits) into 64-bit words, lowest bit first, padded with 0."""
    padding = [(0, 0)] * (bits.ndim - 1) + [(0, -bits.shape[-1] % WORD)]
    packed = np.packbits(np.pad(bits, padding), axis=-1, bitorder="little")
    # Little endian on any machine, so that bits mean the same everywhere.
    words: WordArray = np.ascontiguousarray(packed).view("<u8").astype(np.uint64)
    return words


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
    layout : Layout
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
        self.layout = layout
        self._priced = np.zeros(0, dtype=np.int64)
        self._prices = np.zeros((0, 0), dtype=np.int64)
        self._ends = np.zeros(0, dtype=np.int64) if layout.ends is None else layout.ends
        self.missing: WordArray = np.zeros((0, self.n_words), dtype=np.uint64)
        if missing is not None:
            self.missing = pack(missing[:, layout.rows]) & layout.valid
        # Rows of weight 1 without missing values take a shorter way in the kernel.
        self._is_plain = missing is None and bool((layout.weights == 1).all())
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
        # Zeros, not whatever memory holds: unused slots must accept nobody.
        grown = np.zeros((n_slots, self.n_words), dtype=np.uint64)
        grown[: len(words)] = words
        return grown

    def put(self, slots: IntArray, accepted: WordArray, correct: WordArray) -> None:
        """Store bits in slots, one row of words per slot, and clear the padding."""
        self.accepted[slots] = accepted & self.valid
        self.correct[slots] = correct & self.valid

    def get(self, slots: IntArray, places: IntArray | None = None) -> WordArray:
        """Copy the bits of these slots, or some words of them: shape (2, n_slots, n_words)."""
        where = slots if places is None else np.ix_(slots, places)
        return np.stack([self.accepted[where], self.correct[where]])

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
        count_exits(
            self.accepted,
            self.correct,
            # Without weights the kernel skips a multiplication per word.
            self.word_weights[: 0 if self._is_plain else None],
            self.missing,
            designs,
            chains,
            n_stages,
            self._ends,
            exits,
            correct_exits,
            undecided,
            blocked,
        )

    def price(self, priced: IntArray, prices: IntArray) -> None:
        """Let rows pay for some features by prices of their own.

        `priced` are the features, and `prices`, of shape (n_priced, n_scored), what each row pays.
        """
        self._priced, self._prices = priced, self.layout.spread(prices)

    def add_prices(self, designs: StageArray, chains: IntArray, spent: IntArray) -> None:
        """Add what all rows pay for features with prices of their own, by design."""
        add_prices(
            self.accepted,
            self.missing,
            self._prices,
            self._priced,
            designs,
            chains,
            spent,
            np.empty(self.n_words, dtype=np.uint64),
        )
