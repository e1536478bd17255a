"""Bits of weighted rows: all rows of a word have one weight, and none is lost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emsco.data.weights import whole_weights
from emsco.models.bits import Layout, pack


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.lists(st.one_of(st.integers(0, 5), st.integers(0, 2**20)), max_size=200))
def test_every_row_counts_what_it_weighs(counts):
    counts = np.array(counts, dtype=np.int64)
    layout = Layout.from_counts(len(counts), counts)
    weight = np.repeat(layout.weights, 64)[: len(layout.rows)]
    found = np.zeros(len(counts), dtype=np.int64)
    used = layout.rows >= 0
    np.add.at(found, layout.rows[used], weight[used])
    assert found.tolist() == counts.tolist()
    assert layout.total == counts.sum()
    assert np.array_equal(pack(used), layout.valid)


@pytest.mark.parametrize("n_rows", [0, 1, 63, 64, 65, 200])
def test_without_weights_every_row_has_one_bit_in_order(n_rows):
    layout = Layout.from_counts(n_rows)
    assert layout.rows.tolist() == list(range(n_rows))
    assert layout.total == n_rows
    assert layout.is_plain


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=300),
    st.booleans(),
)
def test_each_word_has_rows_of_one_class_and_each_row_counts_what_it_weighs(drawn, weighted):
    labels, counts = np.array(drawn, dtype=np.int64).reshape(-1, 2).T
    counts = counts if weighted else np.ones(len(labels), dtype=np.int64)
    layout = Layout.from_classes(labels, 4, counts if weighted else None)
    weight, used = np.repeat(layout.weights, 64), layout.rows >= 0
    found = np.zeros(len(counts), dtype=np.int64)
    np.add.at(found, layout.rows[used], weight[used])
    assert found.tolist() == counts.tolist()
    assert np.array_equal(pack(used), layout.valid)
    for label in range(4):
        own = layout.rows[64 * layout.ends[label] : 64 * layout.ends[label + 1]]
        assert (labels[own[own >= 0]] == label).all()
    assert layout.ends[0] == 0
    assert 64 * layout.ends[-1] == len(layout.rows)


def test_few_different_weights_take_few_words():
    counts = np.repeat([7, 9], 64)  # by binary digits there would be 7 words
    assert len(Layout.from_counts(128, counts).weights) == 2


@pytest.mark.parametrize(
    ("weights", "units", "per_one"),
    [
        ([1, 2, 3], [1, 2, 3], 1),
        ([0.5, 2], [5, 20], 10),
        ([0.25, 1.125, 0], [250, 1125, 0], 1000),
    ],
)
def test_decimal_weights_are_whole_numbers_of_a_unit(weights, units, per_one):
    found = whole_weights(np.array(weights, dtype=np.float64))
    assert (found.units.tolist(), found.per_one) == (units, per_one)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30))
def test_other_weights_are_near_a_millionth_of_the_largest(weights):
    given_weights = np.array(weights)
    units, per_one = whole_weights(given_weights)
    assert np.abs(units / per_one - given_weights).max() <= given_weights.max() * 1e-6


@pytest.mark.parametrize("weights", [[1, 3, 2e6], [1, 2**30], [0, 5, 10**9]])
def test_whole_weights_stay_whole_however_large(weights):
    found = whole_weights(np.array(weights, dtype=np.float64))
    assert (found.units.tolist(), found.per_one) == (weights, 1)


def test_many_weights_together_stay_countable_and_none_vanishes():
    weights = np.random.default_rng(0).uniform(0.001, 1, size=100_000)
    weights[0] = 1e-12
    units, per_one = whole_weights(weights)
    assert units.sum() < 2**31
    assert units.min() == 1
    assert units.sum() / per_one == pytest.approx(weights.sum(), rel=1e-5)


def test_packed_bits_are_in_order_of_the_rows():
    bits = np.zeros((2, 70), dtype=np.bool_)
    bits[0, 0] = bits[0, 65] = bits[1, 63] = True
    assert pack(bits).tolist() == [[1, 2], [2**63, 0]]
