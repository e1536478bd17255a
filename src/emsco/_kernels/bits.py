"""Bit tricks that NumPy has and Numba lacks; `intrinsics` has their compiled code."""

from __future__ import annotations

import numpy as np


def double_from_bits(bits: int | np.int64) -> np.float64:
    """The float64 with these 64 bits."""
    return np.int64(bits).view(np.float64)


def single_from_bits(bits: int | np.int32) -> np.float32:
    """The float32 with these 32 bits."""
    return np.int32(bits).view(np.float32)


def popcount(word: int | np.uint64) -> np.uint64:
    """How many bits of a word are set."""
    return np.uint64(np.bitwise_count(np.uint64(word)))


def lowest_bit(word: int | np.uint32) -> np.uint32:
    """Position of the lowest bit that is set; 32 if none is."""
    word = np.uint32(word)
    return np.uint32(np.bitwise_count(~word & np.uint32(int(word) - 1 & 0xFFFFFFFF)))
