"""Who pays what: fees once and prices by row, whichever way a row is decided."""

from __future__ import annotations

import asyncio

import numpy as np
import pandas as pd
import pytest

from emsco import Bought, Cascade, EMSCOClassifier, FeatureCosts
from emsco.data.prices import check_price
from emsco.errors import DataError, FileError
from emsco.runs.decide import decide_file

NAMES = list("abcd")
FEES = {"visit": (3, ["b", "c", "d"]), "draw": (0.7, ["b", "c"])}
OWN = {"a": 1, "b": 2, "d": 4}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(160, 4)), columns=NAMES)
    return table.assign(price=np.round(rng.uniform(0, 9, size=len(table)), 2))


@pytest.fixture(scope="module")
def fitted(table):
    y = (table.a + table.b + 0.7 * table.c - table.d > 0).astype(int)
    costs = FeatureCosts.from_mapping({**OWN, "c": "price"}, table.columns, fees=FEES)
    settings = {"min_confidence": 0.8, "max_stages": 3, "generations": 8, "estimator": "logistic"}
    return EMSCOClassifier(costs, **settings, cv=1 / 3, random_state=0).fit(table, y)


@pytest.fixture(scope="module")
def cascades(fitted):
    """Cascades of the front with several stages that buy the feature with prices by row."""
    chosen = [p for p in fitted.front_ if p.n_stages > 1 and "c" not in p.design.left_out]
    assert len(chosen) >= 2
    return [fitted.front_.cascade(point) for point in chosen[:3]]


def plain_costs(cascade, table, stages):
    """What rows pay up to a stage: each feature once, and each fee once."""
    found = []
    for price, stage in zip(table.price, stages, strict=True):
        known = {name for bought in cascade.design.buys[:stage] for name in bought}
        fees = sum(cost for cost, members in FEES.values() if known & set(members))
        found.append(sum({**OWN, "c": price}[name] for name in known) + fees)
    return found


def test_a_table(cascades, table):
    for cascade in cascades:
        found = cascade.decide(table)
        assert found.cost == pytest.approx(plain_costs(cascade, table, found.stage))


def test_cases_even_if_written_and_read_at_every_stage(cascades, table, tmp_path):
    for cascade in cascades:
        cascade.save(tmp_path / "cascade.json")
        again = Cascade.load(tmp_path / "cascade.json")
        expected = cascade.decide(table)
        for i in range(0, len(table), 7):
            row = table.iloc[i]
            case = cascade.open(prices={"c": row.price})
            while case.needs:
                case = again.resume(case.to_json())
                case.give({name: row[name] for name in case.needs})
            case = again.resume(case.to_json())
            assert case.decision.cost == pytest.approx(expected.cost[i])
            assert case.decision.stage == expected.stage[i]


def test_runs_however_prices_are_told(cascades, table):
    def acquire(names, ids):
        return table.loc[ids, names]

    def telling(names, ids):
        found = acquire(names, ids)
        return Bought(found, {"c": table.price[ids].to_numpy()}) if "c" in names else found

    async def later(names, ids):
        await asyncio.sleep(0)
        return telling(names, ids)

    ids = list(table.index)
    for cascade in cascades:
        expected = cascade.decide(table).cost
        known = {"c": table.price.to_numpy()}
        found = cascade.run(ids, acquire, prices=known, batch_size=31)
        assert found.cost == pytest.approx(expected)
        by_id = {"c": lambda ids: table.price[ids].to_numpy()}
        assert cascade.run(ids, acquire, prices=by_id).cost == pytest.approx(expected)
        assert cascade.run(ids, telling).cost == pytest.approx(expected)
        found = asyncio.run(cascade.arun(ids, later))
        assert found.cost == pytest.approx(expected)


def test_files_in_chunks(cascades, table, tmp_path):
    table.to_csv(tmp_path / "new.csv", index=False)
    for cascade in cascades[:1]:
        counts = decide_file(cascade, tmp_path / "new.csv", tmp_path / "out.csv")
        expected = cascade.decide(table).cost
        assert pd.read_csv(tmp_path / "out.csv").cost.to_numpy() == pytest.approx(expected)
        assert counts.cost == pytest.approx(expected.sum())


def test_evaluation_has_the_mean_over_rows(fitted, table):
    y = (table.a + table.b + 0.7 * table.c - table.d > 0).astype(int)
    found = fitted.evaluate(table, y)
    decided = fitted.decide(table)
    assert found.cost == pytest.approx(decided.cost.mean())
    low, high = found.intervals.cost
    assert low < found.cost < high


def test_a_budget_stops_rows_by_their_own_prices(cascades, table):
    cascade, ids = cascades[0], list(table.index)
    budget = float(np.median(cascade.decide(table).cost))
    found = cascade.run(
        ids, lambda names, ids: table.loc[ids, names], budget, prices={"c": table.price.to_numpy()}
    )
    assert (found.cost <= budget).all()
    for i in range(0, len(table), 11):
        case = cascade.open(budget, prices={"c": table.price[i]})
        while case.needs:
            case.give({name: table.loc[i, name] for name in case.needs})
        assert case.decision.cost == pytest.approx(found.cost[i])
        assert case.decision.reason == found.reasons[i]


def test_prices_given_with_the_rows_count_instead(cascades, table):
    cascade = cascades[0]
    free = cascade.decide(table.drop(columns="price"), prices={"c": 0})
    paid = cascade.decide(table, prices={"c": np.full(len(table), 2.5)})
    buys_c = next(j for j, bought in enumerate(cascade.design.buys, 1) if "c" in bought)
    assert paid.cost - free.cost == pytest.approx(2.5 * (paid.stage >= buys_c))


def test_a_price_that_nobody_knows_is_asked_for(cascades, table):
    cascade = cascades[0]
    buys_c = next(j for j, bought in enumerate(cascade.design.buys, 1) if "c" in bought)
    row = table.iloc[int(np.flatnonzero(cascade.decide(table).stage >= buys_c)[0])]
    case = cascade.open()
    while "c" not in case.needs:
        case.give({name: row[name] for name in case.needs})
    values = {name: row[name] for name in case.needs}
    with pytest.raises(DataError, match="the price of 'c' must be known, got none"):
        case.give(values)
    before = case.decision.cost
    case.give(values, spent={"c": 3.5})
    assert case.decision.cost >= before + 3.5
    with pytest.raises(DataError, match="the price of 'c' must be finite and at least 0, got -1"):
        cascade.open(prices={"c": -1})
    with pytest.raises(DataError, match="column"):
        cascade.decide(table.drop(columns="price"))


@pytest.mark.parametrize(
    ("price", "said"),
    [
        ([[1.0]], r"one number, got \[\[1\.0\]\]"),
        (10**400, "numbers, got 1000"),
        ("x", "numbers, got"),
    ],
)
def test_a_price_of_a_case_is_one_number(price, said):
    with pytest.raises(DataError, match=f"the price of 'c' must be {said}"):
        check_price("c", price)


def test_a_case_with_bad_prices_is_refused(cascades):
    from emsco._base.documents import document_text

    case = cascades[0].open(prices={"c": 2})
    body = {"cascade": cascades[0].stages.identity, "budget": None, "given": {}, "rejected": None}
    text = document_text("case", 1, {**body, "prices": {"c": "much"}})
    assert case.to_json() != text
    with pytest.raises(FileError, match="the case must hold valid prices"):
        cascades[0].resume(text)
