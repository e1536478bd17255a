"""Hashes of rows, and slots of keys by them: see `emsco.designs.slots`."""

from __future__ import annotations

import cython
from cython.cimports.emsco._kernels.arrays import (
    HalfWords2,
    Ints1,
    OutInts1,
    OutWords1,
    OutWords2,
    Words2,
)


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _hash_words(keys: Words2, i: cython.Py_ssize_t) -> cython.ulonglong:
    """FNV-1a over the words of a key, then mixed so that the low bits depend on all."""
    prime: cython.ulonglong = 1099511628211
    every: cython.ulonglong = 0xFFFFFFFFFFFFFFFF  # what C drops, and Python keeps
    h: cython.ulonglong = 14695981039346656037
    for w in range(keys.shape[1]):
        h = (h ^ cython.cast(cython.ulonglong, keys[i, w])) * prime & every
        h ^= h >> 32
    return h


@cython.cfunc
@cython.inline
@cython.nogil
@cython.exceptval(check=False)
def _find(index: Ints1, keys: Words2, wanted: Words2, i: cython.Py_ssize_t) -> cython.Py_ssize_t:
    """Place in the index of a wanted key, or where it belongs."""
    mask = index.shape[0] - 1
    place: cython.Py_ssize_t = _hash_words(wanted, i) & mask
    while index[place] >= 0:
        slot = index[place]
        same: cython.bint = True
        for w in range(wanted.shape[1]):
            same &= keys[slot, w] == wanted[i, w]
        if same:
            break
        place = (place + 1) & mask
    return place


def find_slots(index: Ints1, keys: Words2, wanted: Words2, slots: OutInts1) -> None:
    """Slot of each wanted key, -1 where it has none."""
    with cython.nogil:
        for i in range(wanted.shape[0]):
            slots[i] = index[_find(index, keys, wanted, i)]


def claim_slots(
    index: OutInts1,
    keys: OutWords2,
    wanted: Words2,
    places: Ints1,
    slots: OutInts1,
    new: OutInts1,
) -> int:
    """Slot of each wanted key, the next of `places` for new ones; where new ones first come.

    Returns how many are new, or -1 where `places` do not suffice.
    """
    n_new: cython.Py_ssize_t = 0
    with cython.nogil:
        for i in range(wanted.shape[0]):
            place = _find(index, keys, wanted, i)
            if index[place] < 0:
                if n_new == places.shape[0]:
                    n_new = -1
                    break
                index[place] = places[n_new]
                for w in range(wanted.shape[1]):
                    keys[places[n_new], w] = wanted[i, w]
                new[n_new] = i
                n_new += 1
            slots[i] = index[place]
    return n_new


def hash_rows(words: HalfWords2, hashes: OutWords1) -> None:
    """Mix the 32-bit words of each row into 64 bits (splitmix64), from what `hashes` holds."""
    step: cython.ulonglong = 0x9E3779B97F4A7C15
    first: cython.ulonglong = 0xBF58476D1CE4E5B9
    second: cython.ulonglong = 0x94D049BB133111EB
    every: cython.ulonglong = 0xFFFFFFFFFFFFFFFF
    with cython.nogil:
        for i in range(words.shape[0]):
            h = cython.cast(cython.ulonglong, hashes[i])
            for j in range(words.shape[1]):
                h = (h ^ cython.cast(cython.ulonglong, words[i, j])) + step & every
                h = (h ^ (h >> 30)) * first & every
                h = (h ^ (h >> 27)) * second & every
                h ^= h >> 31
            hashes[i] = h
