"""Bits of weighted rows, compared with plain loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emsco.models.bits import Layout, pack


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.lists(st.one_of(st.integers(0, 5), st.integers(0, 2**20)), max_size=200))
def test_every_row_counts_what_it_weighs(counts):
    counts = np.array(counts, dtype=np.int64)
    layout = Layout.from_rows(np.zeros(len(counts), np.int64), 1, counts)
    weight = np.repeat(layout.weights, 64)[: len(layout.rows)]
    weighed = np.zeros(len(counts), dtype=np.int64)
    used = layout.rows >= 0
    np.add.at(weighed, layout.rows[used], weight[used])
    assert weighed.tolist() == counts.tolist()
    assert layout.total == counts.sum()
    assert np.array_equal(pack(used), layout.valid)


@pytest.mark.parametrize("n_rows", [0, 1, 63, 64, 65, 200])
def test_without_weights_every_row_has_one_bit_in_order(n_rows):
    layout = Layout.from_rows(np.zeros(n_rows, np.int64), 1)
    assert layout.rows.tolist() == list(range(n_rows))
    assert layout.total == n_rows
    assert (layout.weights == 1).all()


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=300),
    st.booleans(),
)
def test_each_word_has_rows_of_one_class_and_each_row_counts_what_it_weighs(drawn, weighted):
    labels, counts = np.array(drawn, dtype=np.int64).reshape(-1, 2).T
    counts = counts if weighted else np.ones(len(labels), dtype=np.int64)
    layout = Layout.from_rows(labels, 4, counts if weighted else None, by_class=True)
    weight, used = np.repeat(layout.weights, 64), layout.rows >= 0
    weighed = np.zeros(len(counts), dtype=np.int64)
    np.add.at(weighed, layout.rows[used], weight[used])
    assert weighed.tolist() == counts.tolist()
    assert np.array_equal(pack(used), layout.valid)
    for label in range(4):
        rows_of_class = layout.rows[64 * layout.ends[label] : 64 * layout.ends[label + 1]]
        assert (labels[rows_of_class[rows_of_class >= 0]] == label).all()
    assert layout.ends[0] == 0
    assert 64 * layout.ends[-1] == len(layout.rows)


def test_few_different_weights_take_few_words():
    counts = np.repeat([7, 9], 64)  # by binary digits there would be 7 words
    assert len(Layout.from_rows(np.zeros(128, np.int64), 1, counts).weights) == 2


def test_packed_bits_are_in_order_of_the_rows():
    bits = np.zeros((2, 70), dtype=np.bool_)
    bits[0, 0] = bits[0, 65] = bits[1, 63] = True
    assert pack(bits).tolist() == [[1, 2], [2**63, 0]]
