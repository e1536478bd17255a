"""Tests of shares: levels and corrections."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from emsco.stats.tests import (
    holm,
    p_values_below,
    power,
    share_p_value,
)

# Shares


@pytest.mark.parametrize(("n_hits", "n_rows", "least"), [(97, 100, 0.9), (0, 3, 0.5), (5, 5, 0.2)])
def test_a_p_value_is_scipys(n_hits, n_rows, least):
    expected = stats.binomtest(n_hits, n_rows, least, alternative="greater").pvalue
    assert share_p_value(n_hits, n_rows, least) == pytest.approx(expected)


def test_no_rows_are_no_evidence():
    assert share_p_value(0, 0, 0.1) == 1.0


@pytest.mark.parametrize(
    ("true", "least", "aim", "first"),
    [
        (0.95, 0.90, 0.8, 179),
        (0.95, 0.90, 0.9, 239),
        (0.93, 0.90, 0.8, 549),
        (0.93, 0.90, 0.9, 748),
        (0.98, 0.95, 0.8, 234),
        (0.98, 0.95, 0.9, 311),
    ],
)
def test_power_first_reaches_its_aim_where_it_should(true, least, aim, first):
    enough = power(np.arange(1, 1000), true, least, 0.05) >= aim
    assert np.flatnonzero(enough)[0] + 1 == first


def test_power_is_the_share_of_tests_that_succeed():
    passes = [share_p_value(97 - i, 97, 0.9) <= 0.05 for i in range(98)]
    chance = stats.binom.pmf(np.arange(98), 97, 0.05) @ passes
    assert power(np.array([97]), 0.95, 0.9, 0.05)[0] == pytest.approx(chance)


# Subgroups


def test_two_subgroups_have_fishers_p_value_twice():
    p_values = p_values_below([10, 45], [20, 50])
    expected = stats.fisher_exact([[10, 10], [45, 5]], "less").pvalue
    assert p_values[0] == pytest.approx(2 * expected)
    assert p_values[1] > 0.99


def test_subgroups_alike_are_hardly_ever_told_apart():
    rng, rows = np.random.default_rng(0), np.array([15, 40, 80, 150, 300])
    told_apart = [p_values_below(rng.binomial(rows, 0.85), rows).min() < 0.05 for _ in range(500)]
    assert np.mean(told_apart) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 500)


def test_a_subgroup_without_rows_is_not_below():
    assert p_values_below([0, 3, 30], [0, 20, 40])[0] == 1


# Splits


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holms_correction_keeps_order_and_lies_between_none_and_bonferronis(p_values):
    raw, corrected = np.array(p_values), holm(p_values)
    assert (corrected >= raw).all()
    assert (corrected <= np.minimum(1, raw * len(raw)) + 1e-12).all()
    assert (np.diff(corrected[np.argsort(raw, kind="stable")]) >= 0).all()
