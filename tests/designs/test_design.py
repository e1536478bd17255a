"""Designs: the value, its chromosome, and the size of the space."""

from __future__ import annotations

from itertools import product
from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.brute import every_design

from emsco.designs.chromosomes import (
    chromosome_numbers,
    compress,
    design_keys,
    designs_of_keys,
    nested_subsets,
    stage_counts,
    subset_words,
    subsets_of_words,
    totals_by_stage,
)
from emsco.designs.design import Design
from emsco.designs.space import DesignSpace, default_max_stages

NAMES = ("age", "scan", "sex")

chromosomes = st.lists(st.integers(0, 9), min_size=1, max_size=12)
equal_lengths = st.integers(1, 5).flatmap(
    lambda width: st.lists(
        st.lists(st.sampled_from([0, 1, 2, 255, 256, 300]), min_size=width, max_size=width),
        min_size=1,
        max_size=20,
    )
)


# The value


def test_a_design_knows_its_stage_count_and_the_features_of_each_stage():
    design = Design([1, 0, 1], NAMES)
    assert design.n_stages == 2
    assert [design.features(stage) for stage in range(3)] == [("scan",), ("age", "sex"), ()]


def test_the_subsets_of_a_design_are_nested_and_end_with_every_feature():
    subsets = Design([2, 0, 1], NAMES).subsets()
    assert subsets.tolist() == [[False, True, False], [False, True, True], [True, True, True]]


def test_designs_with_equal_stages_and_names_are_equal_and_hash_alike():
    one, other = Design([0, 1, 0], NAMES), Design(np.array([0, 1, 0], dtype=np.int64), NAMES)
    assert one == other
    assert hash(one) == hash(other)
    assert len({one, other}) == 1


@pytest.mark.parametrize(
    "other",
    [Design([1, 0, 1], NAMES), Design([0, 1, 0], ("age", "scan", "x")), [0, 1, 0], "Design", None],
    ids=["stages", "names", "list", "text", "none"],
)
def test_designs_that_differ_in_anything_are_unequal(other):
    assert Design([0, 1, 0], NAMES) != other


def test_an_array_of_a_design_is_its_chromosome():
    design = Design([0, 1, 0], NAMES)
    assert np.asarray(design).dtype == np.int16
    assert np.asarray(design, dtype=np.float64).tolist() == [0.0, 1.0, 0.0]


def test_a_design_copies_the_array_it_is_given():
    given_stages = np.array([0, 1, 0], dtype=np.int16)
    design = Design(given_stages, NAMES)
    given_stages[:] = 1
    assert design.stages.tolist() == [0, 1, 0]


def test_the_stages_of_a_design_are_locked():
    design = Design([0, 1, 0], NAMES)
    with pytest.raises(ValueError, match="read-only"):
        design.stages[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(design)[0] = 1


# Chromosomes


def test_compress_agrees_with_the_worked_example_of_the_paper():
    assert compress([0, 0, 2, 3]).tolist() == [0, 0, 1, 2]


@settings(deadline=None, derandomize=True, max_examples=100)
@given(chromosomes)
def test_compress_keeps_the_order_of_all_pairs_of_features(stages):
    stages, packed = np.array(stages), compress(stages)
    before = np.sign(stages[:, None] - stages)
    assert np.array_equal(np.sign(packed[:, None] - packed), before)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(chromosomes)
def test_compressed_stages_have_no_break_and_stay_when_compressed_again(stages):
    packed = compress(stages)
    assert set(packed.tolist()) == set(range(len(set(stages))))
    assert np.array_equal(compress(packed), packed)


def test_nested_subsets_repeat_every_feature_after_the_last_stage():
    designs = np.array([[0, 1], [0, 0]], dtype=np.int16)
    known = nested_subsets(designs, 3)
    assert known[0].tolist() == [[True, False], [True, True], [True, True]]
    assert known[1].all()


def test_stage_counts_are_the_highest_stages_plus_one():
    counts = stage_counts(np.array([[0, 0], [1, 0], [0, 2]], dtype=np.int16))
    assert counts.tolist() == [1, 2, 3]
    assert counts.dtype == np.int64


@settings(deadline=None, derandomize=True, max_examples=100)
@given(equal_lengths)
def test_chromosome_numbers_follow_the_lexicographic_order(rows):
    in_order = sorted(set(map(tuple, rows)))
    expected = [in_order.index(tuple(row)) for row in rows]
    numbers = chromosome_numbers(np.array(rows, dtype=np.int16))
    assert np.unique(numbers, return_inverse=True)[1].tolist() == expected


@pytest.mark.parametrize("n_features", [1, 2, 31, 32, 33, 64, 65, 100])
def test_subsets_as_words_are_the_nested_subsets(n_features):
    rng = np.random.default_rng(n_features)
    designs = rng.integers(0, 4, size=(20, n_features)).astype(np.int16)
    words = subset_words(designs, 5)
    assert words.shape == (20, 5, -(-n_features // 32))
    subsets = subsets_of_words(words.reshape(100, -1), n_features)
    assert np.array_equal(subsets.reshape(20, 5, n_features), nested_subsets(designs, 5))


@pytest.mark.parametrize("n_features", [1, 3, 4, 5, 8, 9, 30])
def test_designs_come_back_from_their_keys(n_features):
    designs = np.random.default_rng(n_features).integers(0, 9, size=(50, n_features))
    designs = compress(designs)
    designs.setflags(write=False)
    keys = design_keys(designs)
    assert keys.shape == (50, -(-n_features // 4))
    assert keys.dtype == np.uint64
    assert np.array_equal(designs_of_keys(keys, n_features), designs)


def test_designs_share_a_key_only_where_they_are_equal():
    listed = np.array(list(product(range(3), repeat=5)), dtype=np.int16)
    keys = design_keys(np.concatenate([listed, listed]))
    assert len(np.unique(keys, axis=0)) == len(listed) == 3**5
    assert np.array_equal(keys[:243], keys[243:])


def test_the_largest_stage_fits_into_a_key():
    designs = np.array([[32_767, 0, 0, 0, 32_767], [32_767, 0, 0, 0, 0]], dtype=np.int16)
    assert designs_of_keys(design_keys(designs), 5).tolist() == designs.tolist()


def test_a_feature_is_one_bit_of_one_word():
    design = np.ones((1, 70), dtype=np.int16)
    design[0, [0, 33, 69]] = 0
    assert subset_words(design, 2)[0, 0].tolist() == [2**0, 2**1, 2**5]
    assert subset_words(design, 2)[0, 1].tolist() == [2**32 - 1, 2**32 - 1, 2**6 - 1]


# The space


@pytest.mark.parametrize("n_features", range(1, 7))
def test_the_size_of_the_space_agrees_with_listing_it(n_features):
    vectors = np.array(list(product(range(n_features), repeat=n_features)))
    listed = vectors[(compress(vectors) == vectors).all(axis=1)]
    for max_stages in range(1, n_features + 1):
        n_listed = (listed.max(axis=1) < max_stages).sum()
        assert DesignSpace(n_features, max_stages).size == n_listed


@pytest.mark.parametrize(("n_features", "size"), [(8, 46_875), (12, 15_199_275), (14, 254_152_083)])
def test_the_size_of_the_space_agrees_with_the_printed_numbers(n_features, size):
    assert DesignSpace(n_features, 4).size == size


@pytest.mark.parametrize(
    ("n_features", "most"),
    [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (18, 9), (19, 10), (20, 10), (21, 10), (500, 10)],
)
def test_the_default_stage_limit_is_half_the_features_halves_up_from_1_to_10(n_features, most):
    assert default_max_stages(n_features) == most


# Features that are left out, and a feature that comes first


@pytest.mark.parametrize("allow_exclusion", [False, True])
@pytest.mark.parametrize("n_features", [1, 2, 3, 4, 5])
def test_a_space_is_as_large_as_the_list_of_its_designs(n_features, allow_exclusion):
    for max_stages in range(1, n_features + 2):
        for first in (None, 0, n_features - 1):
            space = DesignSpace(n_features, max_stages, allow_exclusion, first)
            every = every_design(n_features, max_stages, allow_exclusion, first)
            assert space.size == len(every)
            assert space.holds(np.array(every, dtype=np.int16)).all()


@pytest.mark.parametrize("first", [None, 1])
@pytest.mark.parametrize("allow_exclusion", [False, True])
def test_a_space_holds_its_designs_and_no_others(allow_exclusion, first):
    space = DesignSpace(4, 2, allow_exclusion, first)
    every = np.array(every_design(4, 3, allow_exclusion=True), dtype=np.int16)
    held = every_design(4, 2, allow_exclusion, first)
    assert sorted(map(tuple, every[space.holds(every)].tolist())) == sorted(held)


def test_the_formula_for_spaces_with_exclusion_sums_over_subsets_bought():
    for n_features, max_stages in ((6, 3), (14, 4), (9, 9)):
        parts = (comb(n_features, m) * DesignSpace(m, max_stages).size for m in range(1, 15))
        assert DesignSpace(n_features, max_stages, allow_exclusion=True).size == sum(parts)


def test_a_design_that_buys_nothing_is_one_stage_without_features():
    nothing = Design.nothing(("a", "b"), 0)
    assert nothing.buys_nothing
    assert not Design.everything(("a", "b")).buys_nothing
    assert (nothing.n_stages, nothing.buys, nothing.left_out) == (1, ((),), ("a", "b"))
    assert nothing.subsets().tolist() == [[False, False]]
    assert np.asarray(nothing).tolist() == [-1, -1]
    assert nothing == Design([-1, -1], ("a", "b"), (0,)) != Design.nothing(("a", "b"), 1)


def test_compressing_leaves_features_out_that_were():
    assert compress([[-1, 3, 1], [-1, -1, 5]]).tolist() == [[-1, 1, 0], [-1, -1, 0]]


@pytest.mark.parametrize("n_features", [3, 40])
def test_chromosomes_with_features_left_out_sort_before_others(n_features):
    designs = np.random.default_rng(0).integers(-1, 3, size=(50, n_features)).astype(np.int16)
    numbers = chromosome_numbers(designs)
    assert np.lexsort(designs.T[::-1]).tolist() == np.argsort(numbers, kind="stable").tolist()


@pytest.mark.parametrize("n_features", [5, 40, 70])
def test_words_of_subsets_know_no_feature_that_is_left_out(n_features):
    designs = compress(np.random.default_rng(1).integers(-1, 4, size=(20, n_features)))
    words = subset_words(designs, 4)
    subsets = subsets_of_words(words.reshape(80, -1), n_features).reshape(20, 4, n_features)
    assert np.array_equal(subsets, nested_subsets(designs, 4))
    assert not (subsets & (designs < 0)[:, None, :]).any()
    assert (totals_by_stage(designs, 4, np.ones(n_features)) == subsets.sum(axis=2)).all()
