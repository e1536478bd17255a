"""Held-out rows as bits: which bit of which word is which row, and how much a row counts.

All rows of a word weigh the same, so that a weighted count is a sum of popcounts. Where weights
differ, a row may stand in several words; what it counts is the sum of their weights.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from emsco._typing import BoolArray, FloatArray, IntArray, WordArray
from emsco.arrays import whole_units

__all__ = ["Layout", "WholeWeights", "whole_weights"]

WORD = 64
_LARGEST = 2**20  # of a rounded weight, in units: as many binary digits as a row may have bits
_MOST = 2**30  # units of all rounded weights together; of whole ones, twice that


class WholeWeights(NamedTuple):
    """Weights as whole numbers of a unit, and how many units make a weight of 1."""

    units: IntArray
    per_one: float


def whole_weights(weights: FloatArray) -> WholeWeights:
    """Weights in the largest unit from 1 down to 10⁻⁶ that divides all; else rounded.

    Where none does, or all together would be 2³¹ units or more, weights are rounded: to a 2²⁰th of
    the largest, or to a 2³⁰th of their sum where that is coarser. None above 0 becomes 0.

    Examples
    --------
    >>> whole_weights(np.array([1.0, 2.5, 0.0]))
    WholeWeights(units=array([10, 25,  0]), per_one=10.0)
    """
    total = float(weights.sum())
    if found := whole_units(weights, lambda _, per_one: total * per_one < 2 * _MOST):
        return WholeWeights(found[0], float(found[1]))
    per_one = min(_LARGEST / float(weights.max()), _MOST / total)
    units = np.rint(weights * per_one).astype(np.int64)
    return WholeWeights(np.maximum(units, (weights > 0).astype(np.int64)), per_one)


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
    def of(cls, n_rows: int, counts: IntArray | None = None) -> Self:
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
