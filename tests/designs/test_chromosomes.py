"""Stages of many designs: compressed, as subsets, words and keys, and what follows from them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from emsco.designs.chromosomes import (
    compress,
    keys_of,
    nested_subsets,
    stage_counts,
    subset_words,
    subsets_of_words,
    words_of_subsets,
)


@given(st.lists(st.sampled_from([-1, 0, 1, 5, 9, 1023]), min_size=1, max_size=12))
def test_compressed_stages_keep_their_order_without_a_break(stages):
    packed, used = compress(stages), sorted({*stages} - {-1})
    assert packed.tolist() == [used.index(stage) if stage >= 0 else -1 for stage in stages]
    assert stage_counts(packed[None]).tolist() == [len(used)]


@given(st.integers(0, 10**6), st.sampled_from([1, 2, 5, 31, 32, 33, 70]))
def test_words_are_the_features_known_after_each_stage_and_keys_tell_designs_apart(seed, width):
    designs = compress(np.random.default_rng(seed).integers(-1, 10, size=(20, width)))
    known = np.array([[(design >= 0) & (design <= j) for j in range(12)] for design in designs])
    assert np.array_equal(nested_subsets(designs, 12), known)
    words, flat = subset_words(designs, 12).reshape(240, -1), known.reshape(240, -1)
    assert words.shape[1] == -(-width // 32)
    as_numbers = [sum(1 << int(i) for i in np.flatnonzero(row)) for row in flat]
    assert [sum(int(w) << 32 * i for i, w in enumerate(row)) for row in words] == as_numbers
    assert np.array_equal(subsets_of_words(words, width), flat)
    assert np.array_equal(words_of_subsets(flat), words)
    rows, keys = ([*map(tuple, one.tolist())] for one in (designs, keys_of(designs)))
    assert len({*zip(rows, keys, strict=True)}) == len({*rows}) == len({*keys})
