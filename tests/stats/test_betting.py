"""Inference about means by betting."""

import numpy as np
import pytest

from emsco.stats.betting import (
    log_capital_above,
    log_capital_below,
    mean_interval,
    mean_p_value,
    mean_p_values,
)


def _values(rng, mean, shape, deviation=0.33):
    scale = mean * (1 - mean) / deviation**2 - 1
    return rng.beta(mean * scale, (1 - mean) * scale, shape)


def test_a_mean_on_the_limit_is_hardly_ever_shown_to_be_below():
    rng = np.random.default_rng(0)
    shown = mean_p_values(_values(rng, 0.3, (2000, 150)), 0.3) <= 0.05
    assert 0.005 < np.mean(shown) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 2000)


@pytest.mark.parametrize(("n_rows", "least"), [(150, 0.55), (300, 0.82)])
def test_a_mean_below_the_limit_is_mostly_shown(n_rows, least):
    rng = np.random.default_rng(1)
    shown = mean_p_values(_values(rng, 0.23, (500, n_rows)), 0.3) <= 0.05
    assert np.mean(shown) > least


@pytest.mark.parametrize(("values", "most", "expected"), [([], 0.5, 1.0), ([0.2], 0.0, 1.0)])
def test_nothing_is_no_evidence(values, most, expected):
    assert mean_p_value(values, most) == expected


def test_no_mean_is_above_the_largest_value():
    assert mean_p_value([0.5, 1.0], 1.0) == 0.0


def test_a_capital_depends_on_counts_alone():
    one = log_capital_below([0.0, 0.4, 1.0], [3, 2, 4], 0.7)
    other = log_capital_below([1.0, 0.0, 0.4, 0.0], [4, 1, 2, 2], 0.7)
    assert one == pytest.approx(other)


def test_a_fair_game_makes_no_money():
    rng = np.random.default_rng(2)
    tosses = rng.binomial(50, 0.8, 4000)
    capital = np.exp(log_capital_below([0, 1], np.column_stack([50 - tosses, tosses]), 0.8))
    assert np.mean(capital) == pytest.approx(1.0, abs=0.15)


def test_evidence_above_mirrors_evidence_below():
    below = log_capital_below([0, 1], [30, 70], 0.9)
    assert log_capital_above([0, 1], [70, 30], 0.1) == pytest.approx(below)


@pytest.mark.parametrize("mean", [0.02, 0.5, 0.97])
def test_an_interval_holds_whenever_it_is_looked_at(mean):
    rng = np.random.default_rng(3)
    ones = (rng.random((200, 400)) < mean).cumsum(axis=1)
    held = np.ones(200, dtype=bool)
    for n in (5, 20, 60, 150, 400):
        counts, places = np.unique(ones[:, n - 1], return_inverse=True)
        intervals = [mean_interval([0, 1], [n - k, k]) for k in counts]
        held &= np.array([low <= mean <= high for low, high in intervals])[places]
    assert held.mean() >= 0.93


@pytest.mark.parametrize("counts", [[0, 0], [4, 0], [0, 4], [50, 50]])
def test_an_interval_holds_the_mean_seen(counts):
    low, high = mean_interval([0, 1], counts)
    mean = counts[1] / (sum(counts) or 1)
    assert 0 <= low <= mean <= high <= 1
