"""Hashes of rows and slots by them, beside dictionaries and plain integers."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernels import frozen
from support.plain import plain

from emsco._kernels import slots as compiled


@pytest.fixture(params=[compiled, plain("slots")], ids=["compiled", "plain"])
def kernels(request):
    return request.param


def random_keys(n_keys, n_words, seed=6):
    """Rows of words, many of them equal, which differ in one word or in many."""
    rng = np.random.default_rng(seed)
    keys = rng.integers(0, 2**64, size=(n_keys, n_words), dtype=np.uint64)
    keys[:, rng.integers(n_words)] = rng.integers(0, 20, size=n_keys)
    return keys[rng.integers(0, n_keys, size=2 * n_keys)]


class TestHashing:
    @pytest.mark.parametrize("n_words", [1, 2, 5])
    @pytest.mark.parametrize("n_index", [128, 1024])
    def test_slots_are_those_of_a_dictionary(self, kernels, n_words, n_index):
        wanted, places = random_keys(60, n_words), np.random.default_rng(7).permutation(120)
        known = {}
        for key in map(tuple, wanted.tolist()):
            known.setdefault(key, places[len(known)])
        index, keys = np.full(n_index, -1), np.zeros((120, n_words), dtype=np.uint64)
        slots, new = np.full((2, 120), -7)
        n_new = kernels.claim_slots(index, keys, *frozen(wanted, places), slots, new)
        assert n_new == len(known) < 120
        assert slots.tolist() == [known[tuple(key)] for key in wanted.tolist()]
        assert [tuple(key) for key in wanted[new[:n_new]].tolist()] == list(known)

    def test_a_claimed_key_is_found_and_another_is_not(self, kernels):
        wanted, strangers = random_keys(60, 3), random_keys(60, 3, seed=8)
        index, keys = np.full(256, -1), np.zeros((120, 3), dtype=np.uint64)
        slots, new, known = np.full((3, 120), -7)
        kernels.claim_slots(index, keys, *frozen(wanted, np.arange(120)), slots, new)
        kernels.find_slots(*frozen(index, keys, wanted), known)
        assert known.tolist() == slots.tolist()
        kernels.find_slots(*frozen(index, keys, strangers), known)
        assert known.tolist() == [-1] * 120

    def test_too_few_places_are_told_and_never_passed(self, kernels):
        index, keys = np.full(256, -1), np.zeros((3, 1), dtype=np.uint64)
        slots, new = np.full((2, 4), -7)
        wanted = np.arange(4, dtype=np.uint64)[:, None]
        assert kernels.claim_slots(index, keys, *frozen(wanted, np.arange(3)), slots, new) == -1

    def test_a_table_that_is_filled_again_knows_the_slots_that_were_entered(self, kernels):
        keys = np.unique(random_keys(60, 2), axis=0)
        index, read = np.full(256, -1), np.full(len(keys), -7)
        kept = np.flatnonzero(np.arange(len(keys)) % 3)
        slots, new = np.full((2, len(kept)), -7)
        assert kernels.claim_slots(index, keys, *frozen(keys[kept], kept), slots, new) == len(kept)
        kernels.find_slots(*frozen(index, keys, keys.copy()), read)
        assert read.tolist() == [i if i % 3 else -1 for i in range(len(keys))]


def test_hashes_of_rows_are_those_of_plain_integers(kernels):
    words = np.random.default_rng(0).integers(0, 2**32, (50, 3), dtype=np.uint32)
    hashes = np.full(50, 7, dtype=np.uint64)
    kernels.hash_rows(*frozen(words), hashes)

    def mixed(row):
        h = 7
        for word in row:
            h = ((h ^ word) + 0x9E3779B97F4A7C15) % 2**64
            h = ((h ^ (h >> 30)) * 0xBF58476D1CE4E5B9) % 2**64
            h = ((h ^ (h >> 27)) * 0x94D049BB133111EB) % 2**64
            h ^= h >> 31
        return h

    assert hashes.tolist() == [mixed(row) for row in words.tolist()]
