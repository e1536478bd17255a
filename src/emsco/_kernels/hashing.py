"""Hashes of rows of words, and slots of keys by hashing with open addressing."""

from __future__ import annotations

import numpy as np

from emsco._base.typing import AnyArray, IntArray, WordArray
from emsco._kernels.compiling import helper, kernel


@helper()
def _hash(key):
    """FNV-1a over words, then mixed so that the low bits depend on all."""
    h = np.uint64(14695981039346656037)
    for word in key:
        h = (h ^ word) * np.uint64(1099511628211)
        h ^= h >> np.uint64(32)
    return h


@helper()
def _find(index, keys, key):
    """Slot of a key, or -1; and where the search ended, which is where a new key belongs."""
    mask = np.uint64(len(index) - 1)
    place = _hash(key) & mask
    while index[place] >= 0:
        slot = index[place]
        same = True
        for w in range(len(key)):
            same &= keys[slot, w] == key[w]
        if same:
            return slot, place
        place = (place + np.uint64(1)) & mask
    return np.int64(-1), place


@kernel()
def find_slots(
    index: IntArray,
    keys: WordArray,
    wanted: WordArray,
    slots: IntArray,
) -> None:
    """Slot of each wanted key, -1 where it has none."""
    for i in range(len(wanted)):
        slots[i], _ = _find(index, keys, wanted[i])


@kernel()
def claim_slots(
    index: IntArray,
    keys: WordArray,
    wanted: WordArray,
    places: IntArray,
    slots: IntArray,
    new: IntArray,
) -> int:
    """Slot of each wanted key, the next of `places` for new ones; where new ones first come.

    Returns how many are new, or -1 where `places` do not suffice.
    """
    n_new = 0
    for i in range(len(wanted)):
        slot, place = _find(index, keys, wanted[i])
        if slot < 0:
            if n_new == len(places):
                return -1
            slot = places[n_new]
            for w in range(wanted.shape[1]):
                keys[slot, w] = wanted[i, w]
            index[place] = slot
            new[n_new] = i
            n_new += 1
        slots[i] = slot
    return n_new


@kernel()
def hash_rows(words: AnyArray, found: WordArray) -> None:
    """Mix the 32-bit words of each row into 64 bits (splitmix64); `found` holds where it begins."""
    for i in range(len(words)):
        h = found[i]
        for j in range(words.shape[1]):
            h = (h ^ np.uint64(words[i, j])) + np.uint64(0x9E3779B97F4A7C15)
            h = (h ^ (h >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            h = (h ^ (h >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            h ^= h >> np.uint64(31)
        found[i] = h
