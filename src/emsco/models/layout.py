"""Held-out rows as bits: which bit of which word is which row, and how much a row counts.

All rows of a word weigh the same, so that a weighted count is a sum of popcounts. Where weights
differ, a row may stand in several words; what it counts is the sum of their weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from emsco._base.typing import BoolArray, IntArray, WordArray

__all__ = ["Layout"]

WORD = 64


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where the bits of held-out rows stand.

    Attributes
    ----------
    rows : ndarray of shape (n_bits,)
        Position of the row behind each bit, -1 for padding. Without weights these are all rows in
        order, and the last word is short.
    valid : ndarray of shape (n_words,)
        Bits that are rows, not padding.
    weights : ndarray of shape (n_words,)
        How much each bit of a word counts.
    """

    rows: IntArray
    valid: WordArray
    weights: IntArray

    @classmethod
    def from_counts(cls, n_rows: int, counts: IntArray | None = None) -> Self:
        """Bits for rows, which count so much each (None: 1)."""
        if counts is None:
            rows = np.arange(n_rows)
            return cls(rows, pack(rows >= 0), np.ones(-(-n_rows // WORD), dtype=np.int64))
        rows, weights = _bits_by_weight(counts)
        return cls(rows, pack(rows >= 0), weights)

    @property
    def total(self) -> int:
        """What all rows count together."""
        return int(np.bitwise_count(self.valid).astype(np.int64) @ self.weights)

    @property
    def is_plain(self) -> bool:
        """Whether every row counts once."""
        return bool((self.weights == 1).all())


def _bits_by_weight(counts: IntArray) -> tuple[IntArray, IntArray]:
    """The row of each bit, -1 for none, and the weight of each word, so that words are few.

    All rows of a word have one weight. Either the rows of each count stand together, or those
    of each binary digit of their counts, which takes fewer words where counts are many.
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
    """Truth values of shape (…, n_bits) as 64-bit words, the first bit lowest, padded with 0."""
    padding = [(0, 0)] * (bits.ndim - 1) + [(0, -bits.shape[-1] % WORD)]
    packed = np.packbits(np.pad(bits, padding), axis=-1, bitorder="little")
    words: WordArray = np.ascontiguousarray(packed).view("<u8").astype(np.uint64)
    return words
