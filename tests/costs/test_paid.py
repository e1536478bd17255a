"""What rows pay and how long they wait, against a plain twin: for chains, trees and tables."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.brute import every_design

from emsco.costs import FeatureCosts, Fee
from emsco.data.training import TrainingData
from emsco.designs.constraints import Blocks, Constraints
from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.fitting.workbench import Workbench
from emsco.models.recipe import StageRecipe

amounts = st.integers(0, 9999).map(lambda cents: cents / 100)


@st.composite
def some_costs(draw, max_features=5):
    """Costs of features that may share fees, have prices by row, and come later."""
    names = tuple("abcde"[: draw(st.integers(1, max_features))])
    each = st.lists(amounts, min_size=len(names), max_size=len(names))
    members = st.sets(st.sampled_from(names), min_size=1)
    shared = draw(st.lists(st.tuples(amounts, members), max_size=3))
    own = draw(st.sets(st.sampled_from(names), max_size=2))
    given_costs = dict(zip(names, draw(each), strict=True))
    given_costs[names[0]] = 1 + len(shared)
    costs = FeatureCosts.from_mapping(
        given_costs | dict.fromkeys(own, "price"),
        fees={f"fee {i}": (cost, sorted(some)) for i, (cost, some) in enumerate(shared)},
        delays=dict(zip(names, draw(each), strict=True)),
    )
    return replace(costs, evaluation=draw(amounts)).with_usual(np.full(len(own), 2.5))


def exact(number):
    return Fraction(str(float(number)))


def plain_cost(costs, known, n_run=0, prices=None):
    """The plain twin of `paid`, for one row; `prices` are by name."""
    cost_of = dict(zip(costs.names, costs.costs.tolist(), strict=True)) | (prices or {})
    paid = sum(exact(cost_of[name]) for name in known)
    paid += sum(exact(fee.cost) for fee in costs.fees if {*fee.features} & {*known})
    return paid + (n_run * exact(costs.evaluation) if known else 0)


def names_in(costs, subset):
    return [name for name, is_known in zip(costs.names, subset, strict=True) if is_known]


@given(some_costs(), st.data())
def test_a_row_pays_what_it_knows_each_fee_once_and_every_stage(costs, data):
    shape = (3, 4, len(costs.names))
    known = np.random.default_rng(data.draw(st.integers(0, 99))).random(shape) < 0.5
    n_run = np.arange(4)
    paid = costs.paid(known, n_run)
    for i, j in np.ndindex(3, 4):
        subset = known[i, j]
        assert exact(paid[i, j]) == plain_cost(costs, names_in(costs, subset), j)
        assert costs.paid(subset, j) == paid[i, j]  # alone as in many designs at once
    assert costs.cost_of(names_in(costs, known[0, 0])) == paid[0, 0]
    everything = np.ones(len(costs.names), dtype=bool)
    assert costs.total == costs.paid(everything, 1)
    assert costs.alone.tolist() == costs.paid(np.eye(len(costs.names), dtype=bool)).tolist()


@given(some_costs(), st.lists(amounts, min_size=6, max_size=6), st.integers(0, 99))
def test_rows_pay_their_own_prices_instead_of_the_mean(costs, drawn, seed):
    n_priced = len(costs.prices)
    prices = np.array(drawn[: 3 * n_priced]).reshape(3, n_priced)
    known = np.random.default_rng(seed).random((4, len(costs.names))) < 0.5
    paid = costs.paid(known, 2, prices[:, None])
    fixed = costs.paid(known, 2, prices=0)
    for i, j in np.ndindex(3, 4):
        own = dict(zip(costs.prices, prices[i], strict=True))
        subset = names_in(costs, known[j])
        assert paid[i, j] == pytest.approx(float(plain_cost(costs, subset, 2, own)))
        assert exact(fixed[j]) == plain_cost(costs, subset, 2, dict.fromkeys(own, 0.0))
    if n_priced:
        units = costs.with_usual(0.0).in_units(np.ones(3, dtype=np.int64), prices)
        assert units.are_whole
        most = units.most_by_price(known) / units.per_one
        assert most == pytest.approx((paid - fixed).max(axis=0))


@given(some_costs(), st.lists(st.integers(-1, 5), min_size=1, max_size=6), st.integers(0, 99))
def test_after_a_branch_a_row_has_paid_and_waited_for_its_own_path(costs, before, seed):
    before = [min(one, j - 1) for j, one in enumerate(before)]
    known = np.random.default_rng(seed).random((len(before), len(costs.names))) < 0.4
    waited = []
    for j, one in enumerate(before):
        known[j] |= known[one] if one >= 0 else False
        new = known[j] & ~known[one] if one >= 0 else known[j]
        waited.append(max(costs.delays[new], default=0.0) + (waited[one] if one >= 0 else 0.0))
    assert costs.waits_after_stages(known, before).tolist() == pytest.approx(waited)
    paid = costs.after_stages(known, before, prices=0)
    for last in range(len(before)):
        path = [last]
        while before[path[0]] >= 0:
            path.insert(0, before[path[0]])
        assert costs.after_stages(known[path], prices=0)[-1] == paid[last]
        assert costs.waits_after_stages(known[None, path])[0, -1] == pytest.approx(waited[last])


@pytest.mark.parametrize("decimals", [1, 9])
def test_the_cost_of_a_design_is_the_sum_over_its_rows(decimals):
    rng, n_rows = np.random.default_rng(0), 150
    X = rng.normal(size=(n_rows, 3))
    y = (X @ [1, 1, 0.5] + rng.normal(size=n_rows) > 0).astype(int)
    prices = np.round(rng.uniform(0, 5, size=(2, n_rows)), decimals)
    costs = FeatureCosts.from_mapping({"a": prices[0], "b": 2, "c": prices[1]})
    costs = replace(costs, fees=(Fee("visit", 1.5, ("a", "b")),), evaluation=0.5)
    data = TrainingData.from_table(X, y, rng.integers(0, 4, size=n_rows), costs, "refuse")
    splits = [(np.arange(100), np.arange(100, 150)), (np.arange(50, 150), np.arange(40))]
    work = Workbench(data, splits, StageRecipe(None, None, 2**26, 1, 0))
    stages = np.array(every_design(3, 3, allow_exclusion=True), dtype=np.int16)
    grid = ThresholdGrid.single(np.array([0.75, 0.75]))
    designs, evaluator = Designs.of(stages), work.evaluator(3, grid)
    walk = work.walk(evaluator.grid)
    own = data.prices[np.concatenate([rows for _, rows in splits])]
    known = (stages[:, None] >= 0) & (stages[:, None] <= np.arange(3)[:, None])
    paid = data.costs.paid(known[:, :, None], np.arange(1, 4)[:, None], own)
    spent = [
        walk.scored.units @ of_design[outcomes.stage, np.arange(len(own))]
        for of_design, outcomes in zip(paid, walk.outcomes(designs), strict=True)
    ]
    scores = evaluator.score(designs)
    assert scores.cost * work.bits.n_rows == pytest.approx(np.array(spent), rel=1e-9)
    assert scores.spent.dtype == (np.int64 if decimals == 1 else np.float64)


def test_a_block_may_have_prices_beside_other_costs():
    costs = FeatureCosts.from_mapping(
        {"a": 3, "b": [1, 2], "c": [5, 7]}, fees={"f": (2, ["a", "b"])}
    )
    blocks = Blocks.from_constraints(Constraints(together=(("a", "b", "c"),)), costs.names)
    prices, priced = np.array([[1.0, 5.0], [2.0, 7.0]]), blocks.of_feature[costs.priced]
    units = blocks.costs(costs.with_usual(0.0)).in_units(np.array([1, 1]), prices, priced)
    known = np.ones((1, 1), dtype=bool)
    assert units.paid(known, prices=units.prices[:, None])[:, 0].tolist() == [11, 14]
    assert units.paid(known).tolist() == [3 + 2 + 2 + 6]  # the mean of 1.5 is a whole number here
    assert units.most_by_price(known).tolist() == [9]
    assert blocks.costs(costs.with_usual(np.array([1.5, 6.0]))).total == 12.5


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


def test_the_more_rows_the_smaller_the_costs_that_stay_whole_in_their_sum():
    costs = FeatureCosts.from_array([2**40, 1])
    assert costs.in_units(2**12).are_whole
    assert not costs.in_units(np.array([2**12, 2**12])).are_whole


def test_prices_without_a_common_unit_are_rounded_to_nothing_that_shows():
    prices = np.random.default_rng(0).uniform(size=(50, 1)) * 1e-7
    costs = FeatureCosts.from_mapping({"a": "p", "b": 1 / 3})
    rounded = costs.in_units(np.ones(50, dtype=np.int64), prices)
    assert not rounded.are_whole
    assert rounded.prices.sum() / rounded.per_one == pytest.approx(prices.sum(), rel=1e-4)
    assert rounded.average / rounded.per_one == pytest.approx([prices.mean(), 1 / 3])
