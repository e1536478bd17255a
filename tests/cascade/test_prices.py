"""Rows of a cascade pay their own prices, whatever way they take through it."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from support.handmade import make_cascade

from emsco import Bought
from emsco.costs import FeatureCosts
from emsco.errors import DataError

NAMES = tuple("abcd")
FEES = {"visit": (3, ["b", "c", "d"]), "draw": (0.7, ["b", "c"])}
ROWS = pd.DataFrame(2 * np.random.default_rng(1).normal(size=(40, 4)), columns=NAMES)
PRICES = np.arange(40) / 4


def paying_cascade(stages=(0, 1, 2, 3)):
    costs = {"a": 1, "b": 2, "c": "price", "d": 4}
    paying = FeatureCosts.from_mapping(costs, [*NAMES, "price"], fees=FEES)
    return replace(make_cascade(stages, NAMES), costs=paying.with_usual(2.0))


def acquire(names, ids):
    return ROWS.loc[ids, names]


@pytest.mark.parametrize("stages", [(0, 1, 2, 3), (2, 0, 1, 1), (0, 0, 0, 0), (0, 1, -1, 1)])
def test_a_row_pays_its_own_prices_and_each_fee_once_however_they_are_told(stages):
    cascade = paying_cascade(stages)
    decided = cascade.decide(ROWS.assign(price=PRICES))
    after = np.array([[0 <= at <= j for at in stages] for j in range(4)])
    after = after @ [1, 2, 0, 4] + 3 * after[:, 1:].any(axis=1) + 0.7 * after[:, 1:3].any(axis=1)
    wanted = after[decided.stage - 1]
    if stages[2] >= 0:
        wanted = wanted + PRICES * (decided.stage > stages[2])
    wanted = pytest.approx(wanted)

    def telling(names, ids):
        return Bought(acquire(names, ids), {"c": PRICES[ids]} if "c" in names else {})

    async def later(names, ids):
        return telling(names, ids)

    ids, by_id = list(range(40)), {"c": lambda ids: PRICES[ids]}
    for one in (
        decided,
        cascade.decide(ROWS, prices={"c": PRICES}),
        cascade.run(ids, acquire, prices=by_id, batch_size=7),
        cascade.run(ids, telling),
        asyncio.run(cascade.arun(ids, later)),
    ):
        assert one.cost == wanted


def test_a_price_that_nobody_knows_is_asked_for():
    cascade = paying_cascade((0, 0, 0, 1))
    values, case = dict.fromkeys("abc", 0.1), cascade.open()
    usual = case.decision.cost
    for ask in (
        lambda: case.give(values),
        lambda: cascade.decide(ROWS),
        lambda: cascade.open(prices={"c": -1}),
    ):
        with pytest.raises(DataError, match="'c'"):
            ask()
    case.give(values, spent={"c": 3.5})
    assert case.decision.cost == pytest.approx(usual + 1 + 2 + 3.7 + 3.5)
