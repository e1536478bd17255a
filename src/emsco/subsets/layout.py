"""Held-out rows as bits: which bit of which word is which row, and how much a row counts.

All rows of a word weigh the same, so that a weighted count is a sum of popcounts. A row's weight
is a whole number; for each binary digit of it the row has a bit in a word that weighs so much.
Without weights every row has one bit, in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from emsco._typing import BoolArray, FloatArray, IntArray, WordArray

__all__ = ["Layout", "WholeWeights", "whole_weights"]

WORD = 64
_FINEST_DECIMALS = 6
_LARGEST = 2**20  # of a weight, in units: as many binary digits as a row may have bits


class WholeWeights(NamedTuple):
    """Weights as whole numbers of a unit, and how many units make a weight of 1."""

    units: IntArray
    per_one: float


def whole_weights(weights: FloatArray) -> WholeWeights:
    """Weights in the largest unit from 1 down to 10⁻⁶ that divides all; else rounded.

    Where no such unit fits, or the largest weight would be 2²⁰ units or more, weights are rounded
    to multiples of a 2²⁰th of the largest.

    Examples
    --------
    >>> whole_weights(np.array([1.0, 2.5, 0.0]))
    WholeWeights(units=array([10, 25,  0]), per_one=10.0)
    """
    largest = float(weights.max(initial=0.0))
    for decimals in range(_FINEST_DECIMALS + 1):
        per_one = 10.0**decimals
        whole = np.rint(weights * per_one)
        if largest * per_one >= _LARGEST:
            break
        if (whole / per_one == weights).all():
            return WholeWeights(whole.astype(np.int64), per_one)
    per_one = _LARGEST / largest
    return WholeWeights(np.rint(weights * per_one).astype(np.int64), per_one)


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Where the bits of held-out rows stand.

    Attributes
    ----------
    rows : ndarray of shape (64 * n_words,)
        Row behind each bit; padding repeats the first one. Without weights, there is no padding
        and the last word may be short.
    valid : ndarray of shape (n_words,)
        Bits that are rows, not padding.
    weights : ndarray of shape (n_words,)
        How much each bit of a word counts.
    """

    rows: IntArray
    valid: WordArray
    weights: IntArray

    @classmethod
    def of(cls, rows: IntArray, units: IntArray | None = None) -> Self:
        """Bits for rows, which count `units` each (None: 1)."""
        if units is None:
            filled = np.ones(len(rows), dtype=np.bool_)
            return cls(rows, pack(filled), np.ones(-(-len(rows) // WORD), dtype=np.int64))
        n_digits = int(units.max(initial=0)).bit_length()
        bits, valid, weights = [rows[:0]], [np.zeros(0, np.uint64)], [rows[:0]]
        for digit in range(n_digits):
            here = rows[units >> digit & 1 != 0]
            n_words = -(-len(here) // WORD)
            padded = np.full(n_words * WORD, rows[0])
            padded[: len(here)] = here
            bits.append(padded)
            valid.append(pack(np.arange(n_words * WORD) < len(here)))
            weights.append(np.full(n_words, 1 << digit))
        return cls(*(np.concatenate(part) for part in (bits, valid, weights)))

    @property
    def total(self) -> int:
        """What all rows count together."""
        return int(np.bitwise_count(self.valid) @ self.weights)

    def part(self, words: slice) -> Self:
        """Some of the words."""
        rows = self.rows[words.start * WORD : words.stop * WORD]
        return type(self)(rows, self.valid[words], self.weights[words])


def pack(rows: BoolArray) -> WordArray:
    """Truth values of shape (…, n_rows) as words of 64 bits, the last one padded with zeros."""
    n_words = -(-rows.shape[-1] // WORD)
    padded = np.zeros((*rows.shape[:-1], n_words * WORD), dtype=np.bool_)
    padded[..., : rows.shape[-1]] = rows
    packed: WordArray = np.packbits(padded, axis=-1, bitorder="little").view("<u8")
    return packed.astype(np.uint64, copy=False)
