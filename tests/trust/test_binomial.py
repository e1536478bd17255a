"""Exact inference about a share."""

import numpy as np
import pytest
from scipy import stats

from emsco.trust.binomial import p_value, power, rows_for_power, share_interval


@pytest.mark.parametrize(("n_hits", "n_rows", "least"), [(97, 100, 0.9), (0, 3, 0.5), (5, 5, 0.2)])
def test_a_p_value_is_scipys(n_hits, n_rows, least):
    expected = stats.binomtest(n_hits, n_rows, least, alternative="greater").pvalue
    assert p_value(n_hits, n_rows, least) == pytest.approx(expected)


def test_no_rows_are_no_evidence():
    assert p_value(0, 0, 0.1) == 1.0
    assert share_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("n_hits", [0, 1, 13, 20])
def test_an_interval_is_scipys(n_hits):
    expected = stats.binomtest(n_hits, 20).proportion_ci(0.9, "exact")
    assert share_interval(n_hits, 20, 0.9) == pytest.approx(tuple(expected))


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


@pytest.mark.parametrize(("true", "least"), [(0.95, 0.9), (0.99, 0.8), (0.56, 0.5)])
def test_power_stays_above_its_aim_from_the_planned_number_of_rows_on(true, least):
    planned = rows_for_power(true, least)
    chances = power(np.arange(planned - 1, 4 * planned), true, least, 0.05)
    assert chances[0] < 0.8 <= chances[1:].min()


def test_power_is_the_share_of_tests_that_succeed():
    passes = [p_value(97 - i, 97, 0.9) <= 0.05 for i in range(98)]
    chance = stats.binom.pmf(np.arange(98), 97, 0.05) @ passes
    assert power(np.array([97]), 0.95, 0.9, 0.05)[0] == pytest.approx(chance)


@pytest.mark.parametrize("true", [0.9, 0.85])
def test_no_number_of_rows_shows_what_is_not_true(true):
    assert rows_for_power(true, 0.9) is None


def test_a_difference_too_small_to_see_needs_too_many_rows():
    assert rows_for_power(0.9001, 0.9) is None
