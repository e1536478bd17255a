"""Rows of a cascade pay their own prices, whatever way they take through it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.handmade import make_cascade

from emsco import Bought
from emsco.costs import FeatureCosts
from emsco.designs.chromosomes import compress
from emsco.errors import CostsError, DataError

NAMES = tuple("abcd")
FEES = {"visit": (3, ["b", "c", "d"]), "draw": (0.7, ["b", "c"])}


def paying_cascade(stages=(0, 1, 2, 3), costs=(1, 2, "price", 4), fees=FEES, seed=0):
    given_costs = dict(zip(NAMES, costs, strict=True))
    columns = [*NAMES, *(["price"] if "price" in costs else [])]
    paying = FeatureCosts.from_mapping(given_costs, columns, fees=fees)
    made = make_cascade(stages, NAMES, seed=seed)
    return replace(made, costs=paying.with_usual(np.full(len(paying.prices), 2.0)))


@st.composite
def paying_cascades(draw):
    """A cascade with any stages, fees and features with prices by row."""
    stages = compress(np.array(draw(st.lists(st.integers(-1, 3), min_size=4, max_size=4))))
    assume(stages.max() >= 0)
    each = st.sampled_from([0, 1, 2.5, 7, "price"])
    costs = draw(st.lists(each, min_size=4, max_size=4).filter(any))
    members = st.sets(st.sampled_from(NAMES), min_size=1)
    shared = draw(st.lists(st.tuples(st.integers(0, 7), members), max_size=3))
    fees = {f"fee {i}": (cost, sorted(names)) for i, (cost, names) in enumerate(shared)}
    return paying_cascade(tuple(stages.tolist()), costs, fees, draw(st.integers(0, 5)))


def some_rows(n_rows=40, seed=1):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(2 * rng.normal(size=(n_rows, 4)), columns=NAMES)
    return rows.assign(price=np.round(rng.uniform(0, 9, size=n_rows), 2))


def plain_cost(cascade, stage, price):
    """What a row pays that gets to a stage: each feature once, and each fee once."""
    costs = dict(zip(NAMES, cascade.costs.costs.tolist(), strict=True))
    costs |= dict.fromkeys(cascade.costs.prices, price)
    known = {name for bought in cascade.design.buys[:stage] for name in bought}
    fees = sum(fee.cost for fee in cascade.costs.fees if known & {*fee.features})
    return sum(costs[name] for name in known) + fees


@settings(max_examples=25)
@given(paying_cascades(), st.integers(0, 9))
def test_no_row_pays_a_fee_twice_on_any_way_through_any_cascade(cascade, seed):
    rows = some_rows(6, seed)
    priced = cascade.costs.prices
    decided = cascade.decide(rows)
    partly = cascade.decide(rows, partial=True)
    told = {name: rows.price.to_numpy() for name in priced}
    ran = cascade.run(list(rows.index), lambda names, ids: rows.loc[ids, names], prices=told)
    for i, stage in enumerate(decided.stage):
        paid = pytest.approx(plain_cost(cascade, stage, rows.price[i]))
        case = cascade.open(prices=dict.fromkeys(priced, rows.price[i]))
        while case.needs:
            case.give({name: rows.loc[i, name] for name in case.needs})
            case = cascade.resume(case.to_json())
        for cost in (decided.cost[i], partly.cost[i], ran.cost[i], case.decision.cost):
            assert cost == paid


def test_a_run_takes_prices_however_they_are_told():
    cascade, rows = paying_cascade(), some_rows()
    ids, expected = list(rows.index), pytest.approx(cascade.decide(rows).cost)

    def acquire(names, ids):
        return rows.loc[ids, names]

    def telling(names, ids):
        return Bought(
            acquire(names, ids), {"c": rows.price[ids].to_numpy()} if "c" in names else {}
        )

    async def later(names, ids):
        return telling(names, ids)

    by_id = {"c": lambda ids: rows.price[ids].to_numpy()}
    assert cascade.run(ids, acquire, prices=by_id, batch_size=7).cost == expected
    assert cascade.run(ids, telling).cost == expected
    assert asyncio.run(cascade.arun(ids, later)).cost == expected


def test_prices_given_with_the_rows_count_instead_of_those_of_the_table():
    cascade, rows = paying_cascade(), some_rows()
    free = cascade.decide(rows.drop(columns="price"), prices={"c": 0})
    paid = cascade.decide(rows, prices={"c": np.full(len(rows), 2.5)})
    assert paid.cost - free.cost == pytest.approx(2.5 * (paid.stage >= 3))


def test_a_price_that_nobody_knows_is_asked_for():
    cascade = paying_cascade((0, 0, 0, 1))
    values, case = dict.fromkeys("abc", 0.1), cascade.open()
    usual, rows = case.decision.cost, some_rows().drop(columns="price")
    for ask in (
        lambda: case.give(values),
        lambda: cascade.decide(rows),
        lambda: cascade.decide(rows, partial=True),
    ):
        with pytest.raises(DataError, match="'c'"):
            ask()
    case.give(values, spent={"c": 3.5})
    assert case.decision.cost == pytest.approx(usual + 1 + 2 + 3.7 + 3.5)


@pytest.mark.parametrize(
    ("prices", "shown"),
    [
        ({"a": 0}, r"whose price differs .*'c'.*, got 'a'"),
        ([1], r"must be a mapping .* got \[1\]"),
        ({"c": -1}, "'c' .* got -1"),
        ({"c": [[1.0]]}, "'c' .* shape"),
        ({"c": "price"}, "'c'"),
    ],
)
def test_prices_that_cannot_be_used_are_refused_wherever_they_come(prices, shown):
    cascade, values = paying_cascade((0, 0, 0, 1)), dict.fromkeys("abc", 0.1)
    case, rows = cascade.open(), some_rows(3).drop(columns="price")
    for call in (
        lambda: cascade.open(prices=prices),
        lambda: case.give(values, spent=prices),
        lambda: cascade.decide(rows, prices=prices),
        lambda: cascade.run([0], lambda names, ids: rows.loc[ids, names], prices=prices),
    ):
        with pytest.raises((CostsError, DataError), match=shown):
            call()


def test_designs_that_leave_a_feature_out_ignore_its_prices():
    cascade, rows = paying_cascade((0, 1, -1, 1)), some_rows().drop(columns="price")
    free, paid = cascade.decide(rows), cascade.decide(rows, prices={"c": 1})
    assert free.cost.tolist() == paid.cost.tolist()
