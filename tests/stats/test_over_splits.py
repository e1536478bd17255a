from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from emsco.stats.tests import holm, margin, paired_p_values, standard_error


def test_margins_are_those_of_students_distribution():
    table = np.array([[1.0], [2.0], [4.0]])
    low, high = stats.t.interval(0.95, 2, table.mean(), stats.sem(table[:, 0]))
    assert margin(table)[0] == pytest.approx((high - low) / 2)
    assert margin(table[:1]).tolist() == [0.0]


def test_shared_rows_make_margins_and_p_values_larger():
    table = np.random.default_rng(0).normal(1, 1, size=(10, 2))
    assert margin(table, 1 / 3) == pytest.approx(margin(table) * np.sqrt(1 + 10 / 3))
    plain = stats.ttest_1samp(table, 0)
    wider = 2 * stats.t.sf(np.abs(plain.statistic) / np.sqrt(1 + 10 / 3), 9)
    assert paired_p_values(table, 1 / 3) == pytest.approx(wider.tolist())


def test_one_split_tells_nothing():
    assert paired_p_values(np.array([[0.3, -0.2]]), 1 / 3) == [1.0, 1.0]


def test_equal_gains_are_certain_only_without_a_least_deviation():
    gains = np.full((3, 2), 0.01) * [1, 0]
    assert paired_p_values(gains, 1 / 3) == [0.0, 1.0]
    certain, none = paired_p_values(gains, 1 / 3, least=0.01 / np.sqrt(12))
    assert 0.05 < certain < 0.06
    assert none == 1.0


def test_deviations_above_the_least_one_stand():
    table = np.array([[0.0], [0.5], [1.0]])
    assert standard_error(table, 0.0, least=0.1) == pytest.approx(0.5 / np.sqrt(3))


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holms_correction_keeps_order_and_lies_between_none_and_bonferronis(p_values):
    raw, corrected = np.array(p_values), holm(p_values)
    assert (corrected >= raw).all()
    assert (corrected <= np.minimum(1, raw * len(raw)) + 1e-12).all()
    assert (np.diff(corrected[np.argsort(raw, kind="stable")]) >= 0).all()
