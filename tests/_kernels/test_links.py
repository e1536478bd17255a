"""The rows that larger subsets accept, compared with loops over sets of rows."""

from __future__ import annotations

import numpy as np
import pytest
from support.brute import pack, unpack

from emsco._kernels.links import Subsets, fill_reach


@pytest.mark.parametrize("n_rows", [5, 64, 150])
@pytest.mark.parametrize("n_levels", [1, 3])
def test_reach_is_what_some_larger_subset_accepts_at_some_level(n_rows, n_levels):
    rng = np.random.default_rng(n_rows)
    numbers = sorted(rng.permutation(np.arange(1, 32))[:12].tolist(), key=int.bit_count)
    accepts = rng.random((12, n_levels, n_rows)) < 0.1
    words = np.stack([pack(accepts[:, level]) for level in range(n_levels)], axis=1)
    reach = np.zeros((13, words.shape[2]), dtype=np.uint64)
    members = np.array(numbers, dtype=np.uint64)[:, None]
    none = np.zeros((0, words.shape[2]), dtype=np.uint64)
    ones = np.ones(words.shape[2], dtype=np.uint64)
    fill_reach(Subsets(members, np.zeros(12), words, 0 * words, reach, none, ones))
    reached = unpack(reach, n_rows)
    for t, subset in enumerate(numbers):
        larger = [u for u, other in enumerate(numbers) if u != t and subset & ~other == 0]
        assert reached[t].tolist() == accepts[larger].any(axis=(0, 1)).tolist()
    assert reached[12].tolist() == accepts.any(axis=(0, 1)).tolist()
