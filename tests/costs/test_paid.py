"""What rows pay and how long they wait, beside a plain twin: for subsets, chains and trees."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emsco.costs import FeatureCosts

amounts = st.integers(0, 9999).map(lambda cents: cents / 100)
SEEDS = st.integers(0, 99)


@st.composite
def some_costs(draw):
    """Costs of features that may share fees, have prices by row, and come later."""
    names = tuple("abcde"[: draw(st.integers(1, 5))])
    each = st.lists(amounts, min_size=len(names), max_size=len(names))
    members = st.sets(st.sampled_from(names), min_size=1)
    shared = draw(st.lists(st.tuples(amounts, members), max_size=3))
    own = draw(st.sets(st.sampled_from(names), max_size=2))
    costs = FeatureCosts.from_mapping(
        {**dict(zip(names, draw(each), strict=True)), "a": 1, **dict.fromkeys(own, "price")},
        fees={f"fee {i}": (cost, sorted(some)) for i, (cost, some) in enumerate(shared)},
        delays=dict(zip(names, draw(each), strict=True)),
    )
    return replace(costs, evaluation=draw(amounts)).with_usual(np.full(len(own), 2.5))


def exact(number):
    return Fraction(str(float(number)))


def plain_cost(costs, known, n_run, prices=()):
    """The plain twin of `paid`, for one row; `prices` are by name."""
    cost_of = dict(zip(costs.names, costs.costs.tolist(), strict=True)) | dict(prices)
    paid = sum(exact(cost_of[name]) for name in known)
    paid += sum(exact(fee.cost) for fee in costs.fees if {*fee.features} & {*known})
    return paid + (n_run * exact(costs.evaluation) if known else 0)


@given(some_costs(), SEEDS)
def test_a_row_pays_what_it_knows_each_fee_once_every_stage_and_its_own_prices(costs, seed):
    rng, n = np.random.default_rng(seed), len(costs.names)
    known, n_run = rng.random((3, 4, n)) < 0.5, np.arange(4)
    prices = np.round(rng.uniform(0, 9, size=(3, len(costs.prices))), 2)
    usual, fixed, paid = (costs.paid(known, n_run, one) for one in (None, 0, prices[:, None]))
    for i, j in np.ndindex(3, 4):
        subset = [name for name, is_known in zip(costs.names, known[i, j], strict=True) if is_known]
        own = dict(zip(costs.prices, prices[i], strict=True))
        assert exact(usual[i, j]) == plain_cost(costs, subset, j)
        assert exact(fixed[i, j]) == plain_cost(costs, subset, j, dict.fromkeys(own, 0))
        assert paid[i, j] == pytest.approx(float(plain_cost(costs, subset, j, own)))
        assert costs.paid(known[i, j], j) == usual[i, j]  # alone as in many designs at once
    assert costs.cost_of(subset) == costs.paid(known[2, 3])
    assert costs.total == costs.paid(np.ones(n, dtype=bool), 1)
    assert costs.alone.tolist() == costs.paid(np.eye(n, dtype=bool)).tolist()
    assert costs.smallest == min(one for one in costs.alone.tolist() if one > 0)
    units = costs.with_usual(0.0).in_units(np.ones(3, dtype=np.int64), prices)
    assert units.are_whole
    own = units.paid(known[0], prices=units.prices[:, None]) - units.paid(known[0], prices=0)
    assert np.array_equal(own.max(axis=0), units.most_by_price(known[0]) + np.zeros(4))


@given(some_costs(), st.lists(st.integers(-1, 5), min_size=1, max_size=6), SEEDS)
def test_after_a_branch_a_row_has_paid_and_waited_for_its_own_path(costs, before, seed):
    before = [min(one, j - 1) for j, one in enumerate(before)]
    known = np.random.default_rng(seed).random((len(before), len(costs.names))) < 0.4
    paths, waited = [], []
    for j, one in enumerate(before):
        earlier = known[one] & (one >= 0)
        slowest = max(costs.delays[known[j] & ~earlier], default=0.0)
        waited.append(slowest + (waited[one] if one >= 0 else 0.0))
        paths.append([*(paths[one] if one >= 0 else ()), j])
        known[j] |= earlier
    assert costs.waits_after_stages(known, before).tolist() == pytest.approx(waited)
    paid = costs.after_stages(known, before, prices=0)
    for path, own, wait in zip(paths, paid, waited, strict=True):
        assert costs.after_stages(known[path], prices=0)[-1] == own
        assert costs.paid(known[path[-1]], len(path), 0) == own
        assert costs.waits_after_stages(known[None, path])[0, -1] == pytest.approx(wait)


def test_a_block_may_have_several_prices_beside_other_costs():
    prices, known = np.array([[1.0, 5.0], [2.0, 7.0]]), np.array([[True, False]])
    units = FeatureCosts.from_array([5, 1]).in_units(np.array([1, 1]), prices, np.array([0, 0]))
    assert units.paid(known, prices=units.prices[:, None])[:, 0].tolist() == [11, 14]
    assert units.paid(known) == 13  # the mean of 1.5 is a whole number here
    assert (units.most_by_price(known), *units.average) == (9, 13, 1)


# Whole numbers of a unit


@pytest.mark.parametrize(
    ("costs", "units", "per_one"),
    [
        ([100, 300, 0], [100, 300, 0], 1),
        ([0.1, 0.25, 3], [10, 25, 300], 100),
        ([0.000_003, 123.456_789], [3, 123_456_789], 10**6),
        *(([one, 1], [one, 1], 0) for one in (np.pi, 1e-7, 0.1 + 0.2, 2**53, 1e90, 1e11 + 1e-5)),
    ],
)
def test_decimal_costs_become_whole_numbers_of_the_largest_unit(costs, units, per_one):
    made = FeatureCosts.from_array(costs).in_units()
    assert made.are_whole == bool(per_one)
    assert (made.features.tolist(), made.per_one) == (units, per_one or 1)


def test_costs_stay_whole_until_all_rows_could_pay_more_than_floats_can_count():
    fees = {"f": (2**40, ["a"])}
    costs = FeatureCosts.from_mapping({"a": 2**40, "b": None}, fees=fees, evaluation_cost=2**40)
    for n_rows, is_whole in ((2**11 - 1, True), (2**11, False)):  # a fee, and two stages
        assert costs.in_units(n_rows).are_whole == is_whole
        assert costs.in_units(np.full(n_rows, 1)).are_whole == is_whole
    assert not costs.in_units(1, np.full((1, 1), 2.0**53)).are_whole


def test_prices_without_a_common_unit_are_rounded_to_nothing_that_shows():
    prices = np.random.default_rng(0).uniform(size=(50, 1)) * 1e-7
    costs = FeatureCosts.from_mapping({"a": "p", "b": 1 / 3})
    rounded = costs.in_units(np.ones(50, dtype=np.int64), prices)
    assert (rounded.are_whole, rounded.prices.dtype) == (False, np.int64)
    assert rounded.prices.sum() / rounded.per_one == pytest.approx(prices.sum(), rel=1e-4)
    assert rounded.average / rounded.per_one == pytest.approx([prices.mean(), 1 / 3])
