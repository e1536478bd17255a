"""Layout of scored rows as bits: the word and bit of each row, and its weight.

All rows of a word have the same weight, so a weighted count is a sum of popcounts. With unequal
weights a row may take bits in several words; its weight is then the sum of theirs. To count rows
by class, all rows of a word have the same class too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from emsco._base.typing import BoolArray, IntArray, LabelArray, WordArray

__all__ = ["Layout"]

WORD = 64


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
    def from_counts(cls, n_rows: int, counts: IntArray | None = None) -> Self:
        """Lay out rows of weights `counts`; None: 1 each."""
        if counts is None:
            rows = np.arange(n_rows)
            weights = np.ones(-(-n_rows // WORD), dtype=np.int64)
        else:
            rows, weights = _bits_by_weight(counts)
        return cls(rows, pack(rows >= 0), weights, n_rows=n_rows)

    @classmethod
    def from_classes(
        cls, labels: LabelArray, n_classes: int, counts: IntArray | None = None
    ) -> Self:
        """Lay out rows class after class, each from a new word; weights as in `from_counts`."""
        counts = np.ones(len(labels), dtype=np.int64) if counts is None else counts
        rows, weights = [], []
        for label in range(n_classes):
            own = np.flatnonzero(labels == label)
            places, word_weights = _bits_by_weight(counts[own])
            rows.append(np.where(places < 0, -1, own[places]))
            weights.append(word_weights)
        every, ends = np.concatenate(rows), np.cumsum([0, *map(len, weights)])
        return cls(every, pack(every >= 0), np.concatenate(weights), ends, len(labels))

    @classmethod
    def from_rows(
        cls, labels: LabelArray, n_classes: int, counts: IntArray | None, by_class: bool
    ) -> Self:
        """Lay out rows class after class if `by_class`, else all together."""
        if by_class:
            return cls.from_classes(labels, n_classes, counts)
        return cls.from_counts(len(labels), counts)

    @property
    def total(self) -> int:
        """Sum of the weights of all rows."""
        return int(np.bitwise_count(self.valid).astype(np.int64) @ self.weights)

    def spread(self, values: IntArray) -> IntArray:
        """Spread values of rows, (…, n_rows), over bits, each times its weight; 0 for padding."""
        bits = np.zeros((*values.shape[:-1], WORD * len(self.weights)), dtype=np.int64)
        there = np.flatnonzero(self.rows >= 0)
        bits[..., there] = values[..., self.rows[there]] * self.weights[there // WORD]
        return bits

    @property
    def is_plain(self) -> bool:
        """Whether every row has weight 1."""
        return bool((self.weights == 1).all())


def _bits_by_weight(counts: IntArray) -> tuple[IntArray, IntArray]:
    """Row of each bit, -1 for none, and weight of each word.

    Two layouts are possible; the one with fewer words wins. Rows are grouped by weight, or by the
    binary digits of their weights, which is shorter when there are many different weights.
    """
    if not counts.any():
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    order = np.argsort(counts, kind="stable")
    order = order[counts[order] > 0]
    values, first = np.unique(counts[order], return_index=True)
    alike = list(zip(values.tolist(), np.split(order, first[1:]), strict=True))
    n_digits = int(counts.max()).bit_length()
    digits = [(1 << b, np.flatnonzero(counts >> b & 1)) for b in range(n_digits)]
    groups = min(alike, digits, key=lambda parts: sum(-(-len(rows) // WORD) for _, rows in parts))
    bits = [np.pad(rows, (0, -len(rows) % WORD), constant_values=-1) for _, rows in groups]
    weights = [np.full(len(part) // WORD, v) for (v, _), part in zip(groups, bits, strict=True)]
    return np.concatenate(bits), np.concatenate(weights)


def pack(bits: BoolArray) -> WordArray:
    """Pack truth values of shape (…, n_bits) into 64-bit words, lowest bit first, padded with 0."""
    padding = [(0, 0)] * (bits.ndim - 1) + [(0, -bits.shape[-1] % WORD)]
    packed = np.packbits(np.pad(bits, padding), axis=-1, bitorder="little")
    words: WordArray = np.ascontiguousarray(packed).view("<u8").astype(np.uint64)
    return words
