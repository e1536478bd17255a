"""Gates of a table: its columns in bins, cut where values part, at numbers of few digits."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emsco.data.columns import ColumnCode
from emsco.fitting.gates import bins_of_column, round_between

NUMBER, TRUTH = ColumnCode("age"), ColumnCode("smokes", "truth")


def one_hot(codes, n_categories):
    """Inputs of a category: NaN in all of them where the code is -1, 0 where it is unknown."""
    inputs = (codes[:, None] == np.arange(n_categories)).astype(float)
    inputs[codes < 0] = np.nan
    return inputs


def test_numbers_are_cut_into_about_equal_bins():
    values = np.random.default_rng(0).normal(size=1000)
    values[:50] = np.nan
    bins = bins_of_column(NUMBER, values[:, None])
    assert (bins.of_row[:50] == -1).all()
    assert bins.n_bins == 9
    assert np.bincount(bins.of_row[50:]).min() > 60
    for k, end in enumerate(bins.ends):
        assert np.array_equal(values[50:] <= end, bins.of_row[50:] <= k)


@given(st.lists(st.floats(-1e6, 1e6) | st.integers(-3, 3) | st.just(np.nan), min_size=1))
def test_bins_of_any_numbers_are_told_by_their_ends(values):
    values = np.array(values, dtype=float)
    bins, known = bins_of_column(NUMBER, values[:, None]), ~np.isnan(values)
    assert np.array_equal(bins.of_row >= 0, known)
    assert np.array_equal(bins.of_row[known], (values[known, None] > bins.ends).sum(axis=1))
    assert bins.n_bins == (len(bins.ends) + 1 if known.any() else 0)  # the last is not empty


def test_cuts_lie_in_wide_gaps_at_round_numbers():
    values = np.concatenate([np.linspace(0, 1.07, 500), np.linspace(6.83, 8, 500)])
    assert 4.0 in bins_of_column(NUMBER, values[:, None]).ends


def test_rare_categories_share_a_bin_without_a_name():
    codes = np.concatenate([np.repeat(np.arange(12), np.arange(2, 14)), [-1, 12]])
    code = ColumnCode("ward", "category", tuple("abcdefghijkl"))
    bins = bins_of_column(code, one_hot(codes, 12))
    assert bins.names == tuple("lkjihgfe")
    assert bins.of_row[codes == 11].tolist() == [0] * 13
    assert (bins.of_row[(codes >= 0) & (codes < 4)] == 8).all()
    assert bins.of_row[-2:].tolist() == [-1, 8]  # missing, and not seen in training


def test_truth_values_are_two_bins():
    bins = bins_of_column(TRUTH, np.array([1.0, 0.0, np.nan, 1.0])[:, None])
    assert bins.of_row.tolist() == [1, 0, -1, 1]
    assert [str(one) for one in bins.questions([[0], [1]])] == ["smokes is False"]


@given(st.floats(-1e6, 1e6), st.floats(1e-9, 1e6))
def test_round_numbers_lie_from_the_lower_end_up_to_the_upper_one(low, width):
    if low < low + width:
        assert low <= round_between(low, low + width) < low + width


@pytest.mark.parametrize(
    ("low", "high", "cut"),
    [(0.12, 0.19, 0.2), (-6.127, -6.083, -6.1), (149.6, 155.2, 150.0), (-0.4, 0.7, 0.0)],
)
def test_round_numbers_have_few_digits(low, high, cut):
    rounded = round_between(low, high)
    assert len(str(rounded)) <= len(str(cut)) + 1
    assert low <= rounded < high
