"""Prices that differ from row to row: how they are given, and who pays what, fees included."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support.brute import every_design
from support.handmade import make_cascade

from emsco import Bought, Cascade, EMSCOClassifier
from emsco.app.runs.decide import decide_file
from emsco.costs import FeatureCosts, Fee, Fees, RowPrice
from emsco.costs.prices import ScoredPrices, StagePrices, check_price, prices_of_rows
from emsco.data.training import TrainingData
from emsco.designs.chromosomes import compress
from emsco.errors import CostsError, DataError
from emsco.fitting.workbench import Workbench
from emsco.models.recipe import StageRecipe
from emsco.scoring.scored_rows import ScoredRows

TABLE = pd.DataFrame({"age": [1, 2, 3], "report": [4.0, 5.0, 6.0], "fee": [0.1, 0.2, 0.3]})
NAMES = list("abcd")
FEES = {"visit": (3, ["b", "c", "d"]), "draw": (0.7, ["b", "c"])}
OWN = {"a": 1, "b": 2, "d": 4}


def stage_prices(*prices):
    """Prices of a cascade of one stage."""
    features = [price.feature for price in prices]
    return StagePrices.from_stages(prices, dict.fromkeys(features, 1.0), [features], np.zeros(1))


def test_a_price_may_be_the_name_of_a_column_which_is_then_no_feature():
    costs = FeatureCosts.from_mapping({"age": 1, "report": "fee"}, TABLE.columns)
    assert costs.names == costs.table == ("age", "report")
    assert costs.price_columns == ("fee",)
    assert prices_of_rows(costs.prices, TABLE, 3)[:, 0].tolist() == [0.1, 0.2, 0.3]


def test_a_column_of_prices_may_be_a_feature_as_well():
    costs = FeatureCosts.from_mapping({"age": 0, "report": "age", "fee": 1}, TABLE.columns)
    assert costs.names == ("age", "report", "fee")


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_a_price_may_be_a_function_of_the_table(make):
    table = make({"age": [1, 2], "report": [4.0, 5.0]})
    costs = FeatureCosts.from_mapping(
        {"age": 1, "report": lambda rows: np.asarray(rows["age"]) / 10}
    )
    assert prices_of_rows(costs.prices, table, 2)[:, 0].tolist() == [0.1, 0.2]


def test_a_price_may_be_an_array_or_be_given_with_the_rows():
    costs = FeatureCosts.from_mapping({"age": 1, "report": [1, 2, 3]})
    assert prices_of_rows(costs.prices, TABLE, 3)[:, 0].tolist() == [1, 2, 3]
    stage = stage_prices(*costs.prices)
    assert stage.of_table(TABLE, 3, {"report": 7})[:, 0].tolist() == [7, 7, 7]
    assert stage.of_table(TABLE, 3, {"report": "fee"})[1, 0] == 0.2


def test_a_file_may_name_the_column_of_prices(costs_file):
    path = costs_file("feature,cost\nage,1\nreport,fee\n")
    costs = FeatureCosts.from_file(path, list(TABLE.columns))
    assert costs.prices[0].column == "fee"


@pytest.mark.parametrize(
    "prices",
    [
        {"report": [1, -2, 3]},
        {"report": [1, 2, np.nan]},
        {"report": [1, 2]},
        {"report": ["a", "b", "c"]},
        {"report": lambda _: "dear"},
        None,
        [1, 2, 3],
    ],
)
def test_bad_prices_are_refused_by_row(prices):
    with pytest.raises(DataError):
        stage_prices(RowPrice("report")).of_table(TABLE, 3, prices)


def test_a_function_that_fails_and_a_column_that_is_not_there_are_named():
    with pytest.raises(DataError, match="'nope'"):
        prices_of_rows([RowPrice("report", function=lambda rows: rows["nope"])], TABLE, 3)
    with pytest.raises(DataError, match="'dear'"):
        prices_of_rows([RowPrice("report", column="dear")], TABLE, 3)


def test_prices_of_training_rows_are_not_those_of_others():
    costs = FeatureCosts.from_mapping({"age": 1, "report": [1, 2, 3]}).for_new_rows()
    with pytest.raises(DataError, match="'report'"):
        prices_of_rows(costs.prices, TABLE, 3)


def test_prices_of_unknown_features_and_columns_are_refused():
    with pytest.raises(CostsError, match="'report'"):
        stage_prices(RowPrice("report")).of_table(TABLE, 3, {"repot": 1})
    with pytest.raises(CostsError, match="'fe'"):
        FeatureCosts.from_mapping({"age": 1, "report": "fe"}, TABLE.columns)


def bench(decimals=1, weighted=False, gaps=False, metric="accuracy", seed=0):
    """A workbench on few rows, two of whose features have prices of their own."""
    rng = np.random.default_rng(seed)
    X, n_rows = rng.normal(size=(150, 3)), 150
    y = (X @ [1, 1, 0.5] + rng.normal(size=n_rows) > 0).astype(int)
    prices = np.round(rng.uniform(0, 5, size=(2, n_rows)), decimals)
    costs = FeatureCosts.from_mapping({"a": prices[0], "b": 2, "c": prices[1]})
    fee = Fee("visit", 1.5, ("a", "b"))
    costs = replace(costs, fees=(fee,), evaluation=0.5)
    weights = rng.integers(0, 4, size=n_rows) if weighted else None
    if gaps:
        X[rng.random(X.shape) < 0.1] = np.nan
    data = TrainingData.from_table(X, y, weights, costs, "skip" if gaps else "refuse")
    halves = np.array_split(rng.permutation(n_rows), 2)
    splits = [(halves[0], halves[1]), (halves[1], halves[0][:40])]
    recipe = StageRecipe(None, None, None, 2**26, 1, 0)
    return Workbench(data, splits, recipe, metric=metric)


def spent_by_rows(work, designs):
    """What all scored rows pay together, row by row."""
    evaluator = work.evaluator(3, 0.75)
    scored = ScoredRows(
        work.bank, work.data, work.splits, evaluator.grid, work.blocks.members(), work.prices
    )
    every = np.concatenate([rows for _, rows in work.splits])
    costs, spent = work.data.costs, []
    for design, outcomes in zip(designs, scored.outcomes(designs), strict=True):
        total = 0.0
        for i, last, weight in zip(every, outcomes.stage, scored.units, strict=True):
            known = [n for n, at in zip("abc", design, strict=True) if 0 <= at <= last]
            price_of = {"a": work.data.prices[i, 0], "b": 2.0, "c": work.data.prices[i, 1]}
            paid = sum(price_of[n] for n in known) + 1.5 * bool({"a", "b"} & set(known))
            total += weight * (paid + 0.5 * (last + 1))
        spent.append(total)
    assert costs.total == pytest.approx(work.data.costs.costs.sum() + 2)
    return np.array(spent), scored, evaluator


@pytest.mark.parametrize(
    "options",
    [{}, {"decimals": 9}, {"weighted": True}, {"gaps": True}, {"metric": "balanced_accuracy"}],
    ids=["whole", "rounded", "weighted", "gaps", "classes"],
)
def test_the_cost_of_a_design_is_the_sum_over_its_rows(options):
    work = bench(**options)
    designs = np.array(every_design(3, 3, allow_exclusion=True), dtype=np.int16)
    spent, scored, evaluator = spent_by_rows(work, designs)
    scores = evaluator.score(designs)
    assert scores.cost * work.bank.n_rows == pytest.approx(spent, rel=1e-9)
    if not options:
        assert scores.spent.dtype == np.int64
        assert (scores.spent == np.rint(spent * 10)).all()
    mean = scored.shares(designs, evaluator.costs_after(designs))[2]
    weights = np.bincount(scored.rows, scored.weights)
    by_split = np.bincount(scored.rows)  # a row that two splits score counts twice in scores
    if (by_split == 1).all():
        assert mean @ weights / weights.sum() == pytest.approx(scores.cost, rel=1e-5)


def test_the_worst_cost_is_that_of_the_row_with_the_highest_prices():
    work = bench()
    evaluator = work.evaluator(3, 0.75)
    design = np.array([[0, -1, 1]], dtype=np.int16)
    scored = np.concatenate([rows for _, rows in work.splits])
    most = work.data.prices[scored].sum(axis=1).max()
    assert evaluator.worst_costs(design)[0] == pytest.approx(most + 1.5 + 2 * 0.5)


def test_prices_without_a_common_unit_are_rounded_to_nothing_that_shows():
    costs = FeatureCosts.from_mapping({"a": "p", "b": 1 / 3})
    prices = np.random.default_rng(0).uniform(size=(1, 50)) * 1e-7
    rounded = ScoredPrices.from_rows(
        features=costs.costs,
        fees=Fees.from_fees([], "abcd"[:2]),
        evaluation=0.0,
        priced=np.array([0]),
        prices=prices,
        weights=np.ones(50, dtype=np.int64),
    )
    assert not rounded.fixed.are_whole
    assert rounded.spent(rounded.whole.sum()) == pytest.approx(prices.sum(), rel=1e-4)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    table = pd.DataFrame(rng.normal(size=(160, 4)), columns=NAMES)
    return table.assign(price=np.round(rng.uniform(0, 9, size=len(table)), 2))


@pytest.fixture(scope="module")
def fitted(table):
    y = (table.a + table.b + 0.7 * table.c - table.d > 0).astype(int)
    costs = FeatureCosts.from_mapping({**OWN, "c": "price"}, table.columns, fees=FEES)
    given_as = {"min_confidence": 0.8, "max_stages": 3, "generations": 8, "estimator": "logistic"}
    return EMSCOClassifier(costs, **given_as, cv=1 / 3, random_state=0).fit(table, y)


@pytest.fixture(scope="module")
def cascades(fitted):
    """Cascades of the front with several stages that buy the feature with prices by row."""
    chosen = [p for p in fitted.front_ if p.n_stages > 1 and "c" not in p.design.left_out]
    assert len(chosen) >= 2
    return [fitted.front_.cascade(point) for point in chosen[:3]]


def plain_costs(cascade, table, stages):
    """What rows pay up to a stage: each feature once, and each fee once."""
    paid = []
    for price, stage in zip(table.price, stages, strict=True):
        known = {name for bought in cascade.design.buys[:stage] for name in bought}
        fees = sum(cost for cost, members in FEES.values() if known & set(members))
        paid.append(sum({**OWN, "c": price}[name] for name in known) + fees)
    return paid


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
        values = acquire(names, ids)
        return Bought(values, {"c": table.price[ids].to_numpy()}) if "c" in names else values

    async def later(names, ids):
        await asyncio.sleep(0)
        return telling(names, ids)

    ids = list(table.index)
    for cascade in cascades:
        expected = cascade.decide(table).cost
        known = {"c": table.price.to_numpy()}
        decisions = cascade.run(ids, acquire, prices=known, batch_size=31)
        assert decisions.cost == pytest.approx(expected)
        by_id = {"c": lambda ids: table.price[ids].to_numpy()}
        assert cascade.run(ids, acquire, prices=by_id).cost == pytest.approx(expected)
        assert cascade.run(ids, telling).cost == pytest.approx(expected)
        decisions = asyncio.run(cascade.arun(ids, later))
        assert decisions.cost == pytest.approx(expected)


def test_files_in_chunks(cascades, table, tmp_path):
    table.to_csv(tmp_path / "new.csv", index=False)
    for cascade in cascades[:1]:
        counts = decide_file(cascade, tmp_path / "new.csv", tmp_path / "out.csv")
        expected = cascade.decide(table).cost
        assert pd.read_csv(tmp_path / "out.csv").cost.to_numpy() == pytest.approx(expected)
        assert counts.cost == pytest.approx(expected.sum())


def test_evaluation_has_the_mean_over_rows(fitted, table):
    y = (table.a + table.b + 0.7 * table.c - table.d > 0).astype(int)
    evaluation = fitted.evaluate(table, y)
    decided = fitted.decide(table)
    assert evaluation.cost == pytest.approx(decided.cost.mean())
    low, high = evaluation.intervals.cost
    assert low < evaluation.cost < high


def test_exits_have_the_mean_cost_of_their_rows(cascades, table, tmp_path):
    y = (table.a + table.b + 0.7 * table.c - table.d > 0).astype(int)
    cascade = cascades[0]
    evaluation, decided = cascade.evaluate(table, y), cascade.decide(table)
    for report in evaluation.exits:
        here = ~decided.accepted if report.stage is None else decided.stage == report.stage
        here = here if report.stage is None else here & decided.accepted
        if here.any():
            assert report.cost == pytest.approx(decided.cost[here].mean())
    table.to_csv(tmp_path / "new.csv", index=False)
    counts = decide_file(cascade, tmp_path / "new.csv", tmp_path / "out.csv")
    assert counts.exit_costs[-1] == pytest.approx(decided.cost[~decided.accepted].mean())
    assert "[about" in repr(cascade)


def test_a_budget_stops_rows_by_their_own_prices(cascades, table):
    cascade, ids = cascades[0], list(table.index)
    budget = float(np.median(cascade.decide(table).cost))
    decisions = cascade.run(
        ids, lambda names, ids: table.loc[ids, names], budget, prices={"c": table.price.to_numpy()}
    )
    assert (decisions.cost <= budget).all()
    for i in range(0, len(table), 11):
        case = cascade.open(budget, prices={"c": table.price[i]})
        while case.needs:
            case.give({name: table.loc[i, name] for name in case.needs})
        assert case.decision.cost == pytest.approx(decisions.cost[i])
        assert case.decision.reason == decisions.reasons[i]


def test_prices_given_with_the_rows_count_instead(cascades, table):
    cascade = cascades[0]
    free = cascade.decide(table.drop(columns="price"), prices={"c": 0})
    paid = cascade.decide(table, prices={"c": np.full(len(table), 2.5)})
    buys_c = next(j for j, bought in enumerate(cascade.design.buys, 1) if "c" in bought)
    assert paid.cost - free.cost == pytest.approx(2.5 * (paid.stage >= buys_c))


def test_a_front_is_tested_at_prices_given_with_the_rows(fitted, table):
    y = (table.a + table.b > 0).astype(int)
    rows, prices = table.drop(columns="price"), {"c": table.price.to_numpy()}
    given, looked_up = (
        fitted.front_.with_seen(rows, y, prices=prices),
        fitted.front_.with_seen(table, y),
    )
    assert [one.cost for one in given.seen] == [one.cost for one in looked_up.seen]
    assert given.seen_references == looked_up.seen_references


def test_a_price_that_nobody_knows_is_asked_for(cascades, table):
    cascade = cascades[0]
    buys_c = next(j for j, bought in enumerate(cascade.design.buys, 1) if "c" in bought)
    row = table.iloc[int(np.flatnonzero(cascade.decide(table).stage >= buys_c)[0])]
    case = cascade.open()
    while "c" not in case.needs:
        case.give({name: row[name] for name in case.needs})
    values = {name: row[name] for name in case.needs}
    with pytest.raises(DataError, match="'c'"):
        case.give(values)
    before = case.decision.cost
    case.give(values, spent={"c": 3.5})
    assert case.decision.cost >= before + 3.5
    with pytest.raises(DataError, match="'c'"):
        cascade.open(prices={"c": -1})
    with pytest.raises(DataError):
        cascade.decide(table.drop(columns="price"))


@pytest.mark.parametrize(
    "price",
    [
        [[1.0]],
        10**400,
        "x",
    ],
)
def test_a_price_of_a_case_is_one_number(price):
    with pytest.raises(DataError):
        check_price("c", price)


def test_totals_charge_each_row_its_own_prices(fitted, cascades, table):
    y = (table.a + table.b > 0).astype(int)
    both = {"error_cost": {0: 30, 1: 90}, "reject_cost": 8}
    for cascade in cascades:
        evaluation, decided = cascade.evaluate(table, y, **both), cascade.decide(table)
        of_labels = cascade.error_costs(**both).costs
        errors = np.where(decided.accepted, of_labels[y, decided.guesses], of_labels[y, -1])
        each = np.array(plain_costs(cascade, table, decided.stage)) + errors
        assert evaluation.total.seen.features == pytest.approx(decided.cost.mean())
        assert evaluation.total.value == pytest.approx(each.mean())
        assert evaluation.total.seen.standard_error >= each.std() / np.sqrt(len(table)) - 1e-9
    point = fitted.front_[0]
    expected = point.expected or point
    promised = getattr(expected.cost, "value", expected.cost)
    assert point.total(**both).features == promised


def test_the_cheapest_labels_cost_rows_what_they_did(cascades, table, tmp_path):
    for plain in cascades:
        careful = plain.with_error_costs({0: 1, 1: 40})
        careful.save(tmp_path / "cascade.json")
        again, before = Cascade.load(tmp_path / "cascade.json"), plain.decide(table)
        decisions = again.decide(table)
        driven = again.run(
            range(len(table)),
            lambda names, ids: table.iloc[list(ids)][list(names)],
            prices={"c": table.price},
        )
        assert decisions.cost.tolist() == before.cost.tolist()
        assert driven.cost == pytest.approx(decisions.cost)
        assert driven.guesses.tolist() == decisions.guesses.tolist() != before.guesses.tolist()


def test_designs_that_leave_a_feature_out_ignore_its_prices(fitted, table):
    point = next(point for point in fitted.front_ if "c" in point.design.left_out)
    cascade, ids = fitted.front_.cascade(point), list(table.index[:9])

    def telling(names, ids):
        return Bought(table.loc[ids, names], {"c": 0})

    expected = cascade.decide(table[:9])
    assert cascade.run(ids, telling, prices={"c": 1}).cost.tolist() == expected.cost.tolist()
    assert cascade.decide(table[:9], prices={"c": 1}).cost.tolist() == expected.cost.tolist()
    case = cascade.open(prices={"c": 1})
    case.give(table.loc[0, list(case.needs)].to_dict(), spent={"c": 1})
    assert case.decision.cost == cascade.stage_costs[0]


def test_only_features_with_prices_by_row_take_prices(cascades, table):
    cascade = cascades[0]
    with pytest.raises(CostsError):
        cascade.run([0], lambda names, ids: table.loc[ids, names], prices={"a": 0})
    with pytest.raises(CostsError):
        cascade.open(prices={"a": 0})
    case = cascade.open()
    with pytest.raises(CostsError):
        case.give(table.loc[0, list(case.needs)].to_dict(), spent={"a": 0})


@pytest.mark.parametrize(
    ("spent", "words"),
    [
        ({"a": 0}, "spent must name features whose price differs"),
        (0, "spent must be a mapping of features to prices, got 0"),
        ({"c": "price"}, "spent must be an array or a number for 'c', got 'price'"),
    ],
)
def test_a_source_that_reports_spending_badly_rejects_its_rows_only(cascades, table, spent, words):
    def acquire(names, ids):
        return Bought(table.loc[ids, names], spent if 0 in ids else {"c": 1})

    with pytest.warns(UserWarning, match="1 of 3 rows were rejected"):
        decisions = cascades[0].run([0, 1, 2], acquire, batch_size=1)
    assert words in decisions.reasons[0]
    assert not any("spent" in reason for reason in decisions.reasons[1:])


@st.composite
def paying_cascades(draw):
    """A cascade put together by hand, with any stages, fees and features with prices by row."""
    stages = compress(np.array(draw(st.lists(st.integers(-1, 3), min_size=4, max_size=4))))
    assume(stages.max() >= 0)
    fixed = draw(st.lists(st.integers(0, 9), min_size=4, max_size=4))
    priced = draw(st.sets(st.sampled_from(NAMES), max_size=2))
    members = st.sets(st.sampled_from(NAMES), min_size=1)
    shared = draw(st.lists(st.tuples(st.integers(0, 7), members), max_size=3))
    fees = {f"fee {i}": (cost, sorted(names)) for i, (cost, names) in enumerate(shared)}
    given = {
        name: "price" if name in priced else cost for name, cost in zip(NAMES, fixed, strict=True)
    }
    assume(any(fixed) or priced or any(cost for cost, _ in shared))
    columns = [*NAMES, "price"] if priced else NAMES
    costs = FeatureCosts.from_mapping(given, columns, fees=fees)
    made = make_cascade(tuple(stages.tolist()), tuple(NAMES), seed=draw(st.integers(0, 5)))
    return replace(made, costs=costs.with_usual(np.full(len(costs.prices), 2.0)))


@settings(max_examples=25)
@given(paying_cascades(), st.integers(0, 9))
def test_no_row_pays_a_fee_twice_on_any_way_through_any_cascade(cascade, seed):
    rng = np.random.default_rng(seed)
    rows = pd.DataFrame(rng.normal(size=(6, 4)), columns=NAMES)
    rows["price"] = np.round(rng.uniform(0, 9, size=6), 2)
    fixed = dict(zip(NAMES, cascade.costs.fixed().costs.tolist(), strict=True))
    priced = [price.feature for price in cascade.costs.prices]
    decided = cascade.decide(rows)
    for i, stage in enumerate(decided.stage):
        known = {name for bought in cascade.design.buys[:stage] for name in bought}
        paid = sum(fixed[name] + rows.price[i] * (name in priced) for name in known)
        paid += sum(fee.cost for fee in cascade.costs.fees if known & set(fee.features))
        assert decided.cost[i] == pytest.approx(paid)
        case = cascade.open(prices=dict.fromkeys(priced, rows.price[i]))
        while case.needs:
            case.give({name: rows.loc[i, name] for name in case.needs})
            case = cascade.resume(case.to_json())
        assert case.decision.cost == pytest.approx(paid)
    told = {name: rows.price.to_numpy() for name in priced}
    decisions = cascade.run(list(rows.index), lambda names, ids: rows.loc[ids, names], prices=told)
    assert decisions.cost == pytest.approx(decided.cost)
