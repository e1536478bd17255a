"""Subgroups with a lower share than the others: found, and hardly ever by chance."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from emsco.stats.tests import p_values_below


def test_two_subgroups_have_fishers_p_value_twice():
    found = p_values_below([10, 45], [20, 50])
    expected = stats.fisher_exact([[10, 10], [45, 5]], "less").pvalue
    assert found[0] == pytest.approx(2 * expected)
    assert found[1] > 0.99


def test_subgroups_alike_are_hardly_ever_told_apart():
    rng, rows = np.random.default_rng(0), np.array([15, 40, 80, 150, 300])
    found = [p_values_below(rng.binomial(rows, 0.85), rows).min() < 0.05 for _ in range(500)]
    assert np.mean(found) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 500)


def test_a_subgroup_without_rows_is_not_below():
    assert p_values_below([0, 3, 30], [0, 20, 40])[0] == 1
