"""Stages of many designs: compressed, as subsets, words and keys, and what follows from them."""

from __future__ import annotations

import numpy as np
import pytest
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
from emsco.errors import ParameterError


@st.composite
def some_designs(draw, n_designs=20):
    """Compressed designs, with features left out."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    width = draw(st.sampled_from([1, 2, 5, 31, 32, 33, 70]))
    return compress(rng.integers(-1, 10, size=(n_designs, width)))


@given(st.lists(st.integers(-1, 9), min_size=1, max_size=12))
def test_compressed_stages_keep_their_order_without_a_break(stages):
    packed, used = compress(stages), sorted({*stages} - {-1})
    assert packed.tolist() == [used.index(stage) if stage >= 0 else -1 for stage in stages]
    assert stage_counts(packed[None]).tolist() == [len(used)]
    assert np.array_equal(compress(packed), packed)


@pytest.mark.parametrize("wrong", [[-2], [1024], [0.5], ["a"], [[0], [0, 1]], [[[0]]], [np.nan]])
def test_what_is_no_stage_is_refused(wrong):
    with pytest.raises(ParameterError, match="stages must be whole numbers from 0 to 1023"):
        compress(wrong)


@given(some_designs())
def test_subsets_as_words_are_the_features_known_after_each_stage(designs):
    known = np.array([[(design >= 0) & (design <= j) for j in range(12)] for design in designs])
    assert np.array_equal(nested_subsets(designs, 12), known)
    words, flat = subset_words(designs, 12).reshape(240, -1), known.reshape(240, -1)
    assert words.shape[1] == -(-designs.shape[1] // 32)
    as_numbers = [sum(1 << int(i) for i in np.flatnonzero(row)) for row in flat]
    assert [sum(int(w) << 32 * i for i, w in enumerate(row)) for row in words] == as_numbers
    assert np.array_equal(subsets_of_words(words, designs.shape[1]), flat)
    assert np.array_equal(words_of_subsets(flat), words)


@given(some_designs())
def test_equal_stages_have_equal_keys(designs):
    rows = [*map(tuple, designs.tolist())]
    keys = [*map(tuple, keys_of(designs).tolist())]
    assert len({*zip(rows, keys, strict=True)}) == len({*rows}) == len({*keys})
