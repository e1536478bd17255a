"""Sample weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emsco.data.weights import check_weights, whole_weights
from emsco.errors import DataError


@pytest.mark.parametrize("size", [1e40, 2e15, 1e-101])
def test_weights_that_sums_cannot_hold_are_refused(size):
    with pytest.raises(DataError):
        check_weights([0.0, size, size / 2], 3)


@pytest.mark.parametrize("size", [1e15, 1.0, 1e-100])
def test_weights_of_any_sensible_size_pass(size):
    given = [size, 0.0, size * 1e-200]
    assert check_weights(given, 3).tolist() == given


@pytest.mark.parametrize(
    ("weights", "units", "per_one"),
    [
        ([1, 2, 3], [1, 2, 3], 1),
        ([0.5, 2], [5, 20], 10),
        ([0.25, 1.125, 0], [250, 1125, 0], 1000),
    ],
)
def test_decimal_weights_are_whole_numbers_of_a_unit(weights, units, per_one):
    whole = whole_weights(np.array(weights, dtype=np.float64))
    assert (whole.units.tolist(), whole.per_one) == (units, per_one)


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=30))
def test_other_weights_are_near_a_millionth_of_the_largest(weights):
    given_weights = np.array(weights)
    units, per_one = whole_weights(given_weights)
    assert np.abs(units / per_one - given_weights).max() <= given_weights.max() * 1e-6


@pytest.mark.parametrize("weights", [[1, 3, 2e6], [1, 2**30], [0, 5, 10**9]])
def test_whole_weights_stay_whole_however_large(weights):
    whole = whole_weights(np.array(weights, dtype=np.float64))
    assert (whole.units.tolist(), whole.per_one) == (weights, 1)


def test_many_weights_together_stay_countable_and_none_vanishes():
    weights = np.random.default_rng(0).uniform(0.001, 1, size=100_000)
    weights[0] = 1e-12
    units, per_one = whole_weights(weights)
    assert units.sum() < 2**31
    assert units.min() == 1
    assert units.sum() / per_one == pytest.approx(weights.sum(), rel=1e-5)
