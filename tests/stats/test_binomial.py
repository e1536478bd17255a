"""Exact tests of a share."""

import numpy as np
import pytest
from scipy import stats

from emsco.stats.tests import power, share_p_value


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
