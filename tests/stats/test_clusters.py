"""Effective numbers of rows: between the groups and the rows, and their intervals hold."""

from __future__ import annotations

import numpy as np
import pytest

from emsco.stats.clusters import effective_rows, kish
from emsco.stats.intervals import share_intervals


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
    found = [interval(*alike(rng, n_groups, share, within))[0] for _ in range(120)]
    held = np.mean([low <= share <= high for low, high in found])
    assert held >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 120)
    known = 5 * n_groups / (1 + 4 * within)
    ((low, high),) = share_intervals(share * known, known)
    assert np.mean([high - low for low, high in found]) < 1.25 * (high - low)


def test_few_groups_make_wide_intervals():
    rng = np.random.default_rng(1)
    found = [interval(*alike(rng, 12, 0.8, 0.3))[0] for _ in range(300)]
    assert np.mean([low <= 0.8 <= high for low, high in found]) >= 0.93
