"""Intervals: they hold what they say, for shares, costs and rows in groups."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from emsco.stats.intervals import (
    cost_interval,
    effective_rows,
    kish,
    normal_interval,
    share_estimate,
    share_intervals,
)

# Shares and costs


COSTS = np.array([1.0, 4.0, 10.0, 40.0])
SHARES = np.array([0.5, 0.2, 0.2, 0.1])


@pytest.mark.parametrize(("hits", "rows"), [(0, 7), (7, 7), (1, 1), (3, 40), (874, 1000)])
def test_intervals_of_shares_are_those_of_scipy(hits, rows):
    expected = stats.binomtest(hits, rows).proportion_ci(method="exact")
    ((low, high),) = share_intervals(hits, rows)
    assert (low, high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_shares_of_nothing_may_be_anything():
    assert share_intervals([0, 0.0], [0, 0]) == ((0.0, 1.0), (0.0, 1.0))


@pytest.mark.parametrize(("dear", "rows"), [(0, 1), (1, 1), (1, 3), (0, 20), (97, 100), (3, 10**6)])
def test_two_costs_have_the_exact_interval_of_a_share(dear, rows):
    low, high = cost_interval([2.0, 12.0], [rows - dear, dear])
    expected = [2 + 10 * end for end in share_intervals(dear, rows)[0]]
    assert [low, high] == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("counts", [[3, 1, 0, 2], [50, 20, 20, 10], [0, 0, 30, 0]])
def test_limits_are_quantiles_under_random_weights(counts):
    rng = np.random.default_rng(0)
    low, high = cost_interval(COSTS, counts)
    for end, more, share in ((low, 0, 0.025), (high, 3, 0.975)):
        sizes = np.array(counts, dtype=float)
        sizes[more] += 1
        there = sizes > 0
        drawn = rng.dirichlet(sizes[there], 30_000) @ COSTS[there]
        assert (drawn < end).mean() == pytest.approx(share, abs=0.004)


def test_without_rows_or_choice_costs_have_their_whole_range():
    assert cost_interval(COSTS, [0, 0, 0, 0]) == (1.0, 40.0)
    assert cost_interval([5.0, 5.0], [3, 4]) == (5.0, 5.0)


@pytest.mark.parametrize(("n_rows", "wider"), [(30, 1.3), (1000, 1.05)])
def test_the_interval_of_the_cost_holds_and_is_hardly_wider_than_if_all_were_known(n_rows, wider):
    rng, mean = np.random.default_rng(1), float(COSTS @ SHARES)
    intervals = np.array([cost_interval(COSTS, n) for n in rng.multinomial(n_rows, SHARES, 60)])
    held = ((intervals[:, 0] <= mean) & (mean <= intervals[:, 1])).mean()
    assert held >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 60)
    known = 2 * 1.96 * np.sqrt((COSTS**2 @ SHARES - mean**2) / n_rows)
    assert np.diff(intervals).mean() < wider * known


def test_a_rare_high_cost_does_not_fool_the_interval():
    rng, costs, shares = np.random.default_rng(2), np.array([1.0, 100, 1000]), [0.97, 0.02, 0.01]
    intervals = [cost_interval(costs, n) for n in rng.multinomial(50, shares, 40)]
    assert np.mean([low <= costs @ shares <= high for low, high in intervals]) >= 0.9


def test_an_interval_for_costs_of_any_size_is_students():
    values = np.random.default_rng(3).gamma(2, size=40)
    interval = normal_interval(values.mean(), values.std(), 40)
    error = stats.sem(values)
    assert interval == pytest.approx(stats.t.interval(0.95, 39, values.mean(), error))
    assert normal_interval(3.0, 0.0, 1) == (0.0, np.inf)


def test_hardly_more_than_one_row_leaves_a_cost_open():
    low, high = cost_interval([0.0, 10.0], [0.6, 0.5])
    assert 0.0 <= low <= high <= 10.0
    assert high - low > 9


@pytest.mark.parametrize("value", [0.0, 0.5, 1.0])
def test_a_share_lies_in_its_interval(value):
    estimate = share_estimate(value, 50)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert estimate.high - estimate.low > 0.05


# Effective numbers of rows


def interval(hits, sizes):
    """Interval of the share of hits, and the effective number of rows."""
    share = hits.sum() / sizes.sum()
    varied = int(min((hits > 0).sum(), (hits < sizes).sum()))
    rows = effective_rows(hits, sizes, share * (1 - share), varied, sizes.sum())
    return share_intervals(share * rows, rows)[0], rows


def alike(rng, n_groups, share, alike):
    """Hits of each group of 5 rows, which are more or less alike."""
    sizes = np.full(n_groups, 5.0)
    if alike == 0:
        return rng.binomial(5, share, n_groups).astype(float), sizes
    scale = (1 - alike) / alike
    return rng.binomial(5, rng.beta(share * scale, (1 - share) * scale, n_groups)) * 1.0, sizes


def test_groups_of_one_row_are_rows():
    hits = (np.arange(1000) % 10 > 0).astype(float)
    assert interval(hits, np.ones(1000))[1] == pytest.approx(1000, rel=0.01)


def test_rows_that_never_differ_count_as_their_groups():
    assert interval(np.full(40, 5.0), np.full(40, 5.0))[1] == pytest.approx(40, rel=0.1)
    assert interval(np.zeros(40), np.full(40, 5.0))[1] == pytest.approx(40, rel=0.1)


def test_more_rows_than_there_are_never_count():
    split = np.full(100, 2.0)  # every group has the same share, which chance would not give
    assert interval(split, np.full(100, 4.0))[1] <= 400


@pytest.mark.parametrize("n_groups", [0, 1])
def test_a_single_group_is_like_a_row(n_groups):
    hits, sizes = np.full(n_groups, 3.0), np.full(n_groups, 8.0)
    assert effective_rows(hits, sizes, 0.2, n_groups, sizes.sum()) == n_groups


def test_weights_lose_as_many_rows_as_kish_says():
    assert kish(np.array([3.0, 1.0])) == 1.6
    assert kish(np.zeros(3)) == 0


@pytest.mark.parametrize("share", [0.7, 0.97])
@pytest.mark.parametrize("within", [0.0, 0.3])
def test_intervals_hold_and_are_hardly_wider_than_if_all_were_known(share, within):
    rng, n_groups = np.random.default_rng(0), 200
    intervals = [interval(*alike(rng, n_groups, share, within))[0] for _ in range(120)]
    held = np.mean([low <= share <= high for low, high in intervals])
    assert held >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 120)
    known = 5 * n_groups / (1 + 4 * within)
    ((low, high),) = share_intervals(share * known, known)
    assert np.mean([high - low for low, high in intervals]) < 1.25 * (high - low)


def test_few_groups_make_wide_intervals():
    rng = np.random.default_rng(1)
    intervals = [interval(*alike(rng, 12, 0.8, 0.3))[0] for _ in range(300)]
    assert np.mean([low <= 0.8 <= high for low, high in intervals]) >= 0.93
