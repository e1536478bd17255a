"""Rows that have bought only some of their features go as far as a case of theirs would."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.handmade import (
    NAMES,
    assert_same_bits,
    cascades_and_rows,
    make_averaged_cascade,
    make_cascade,
    make_rich_cascade,
    make_rich_rows,
    make_rows,
    with_thresholds,
)

from emsco import FeatureCosts
from emsco.errors import DataError

ROWS = make_rows(200)


def with_gaps(rows, share=0.3, seed=1):
    """Rows of which a share of the values is missing; the first row has none at all."""
    holes = np.random.default_rng(seed).uniform(size=rows.shape) < share
    holes[0] = True
    return np.where(holes, np.nan, rows)


def as_cases_go(cascade, table, not_bought, prices=None):
    """Open a case for each row, and give it what the row has bought, as long as that goes."""
    for i, row in enumerate(table.to_dict("records")):
        case = cascade.open(prices=prices(i) if prices else None)
        while case.needs and not any(not_bought.loc[i, name] for name in case.needs):
            case.give({name: row[name] for name in case.needs})
        yield case


def assert_as_cases(cascade, table, decisions, not_bought, prices=None):
    for i, case in enumerate(as_cases_go(cascade, table, not_bought, prices)):
        known = case.decision
        assert decisions.accepted[i] == known.accepted
        assert decisions.labels.tolist()[i] == known.label
        assert decisions.stage[i] == known.stage
        assert decisions.cost[i] == pytest.approx(known.cost)
        assert decisions.confidence[i] == pytest.approx(known.confidence, nan_ok=True)
        assert decisions.waiting[i] == (not known.decided)
        lacking = [name for name in case.needs if not_bought.loc[i, name]]
        assert decisions.needs[i] == ";".join(lacking)


@given(cascades_and_rows(), st.integers(0, 99))
@settings(max_examples=40, deadline=None)
def test_rows_go_as_far_as_their_cases(drawn, seed):
    cascade, rows = drawn
    table = pd.DataFrame(with_gaps(rows, 0.4, seed), columns=cascade.encoding.columns)
    assert_as_cases(cascade, table, cascade.decide(table, partial=True), table.isna())


@pytest.mark.parametrize("make", [make_cascade, make_averaged_cascade])
def test_arrays_and_tables_in_any_order_of_columns_are_alike(make):
    cascade, rows = make(), with_gaps(ROWS)
    decisions = cascade.decide(rows, partial=True)
    assert set(decisions.stage.tolist()) == {0, 1, 2, 3}
    assert 0 < decisions.waiting.sum() < len(rows)
    shuffled = pd.DataFrame(rows, columns=NAMES)[["biopsy", "age", "scan", "pulse"]]
    for table in (shuffled, pl.from_pandas(shuffled), pa.Table.from_pandas(shuffled)):
        again = cascade.decide(table, partial=True)
        assert_same_bits(again, decisions)
        assert again.needs.tolist() == decisions.needs.tolist()
    assert np.isnan(rows).any()  # an array that is given stays as it was


def test_complete_rows_are_decided_to_the_last_bit_as_without_asking():
    cascade = make_cascade()
    decisions = cascade.decide(ROWS, partial=True)
    assert_same_bits(decisions, cascade.decide(ROWS))
    assert not decisions.waiting.any()
    assert set(decisions.needs) == set(decisions.warnings) == {""}


def test_a_row_with_nothing_needs_the_first_stage_and_has_cost_nothing():
    cascade = make_cascade()
    decisions = cascade.decide(np.full((1, 4), np.nan), partial=True)
    assert decisions.needs.tolist() == ["age;pulse"]
    assert (decisions.stage[0], decisions.cost[0], decisions.labels.tolist()) == (0, 0.0, [None])
    assert np.isnan(decisions.confidence[0])


def test_a_row_needs_only_what_it_lacks_of_the_next_stage():
    cascade = make_cascade()
    table = pd.DataFrame({"pulse": [0.1], "scan": [1.0]})
    assert cascade.decide(table, partial=True).needs.tolist() == ["age"]


def test_a_table_may_lack_columns_or_all_of_them():
    cascade, table = make_cascade(), pd.DataFrame(ROWS, columns=NAMES)
    decisions = cascade.decide(table[["pulse", "age"]], partial=True)
    complete = cascade.decide(table)
    assert (decisions.waiting == ~(complete.accepted & (complete.stage == 1))).all()
    assert set(decisions.needs) == {"", "scan"}
    ids = pd.DataFrame({"id": [7, 8]})
    assert cascade.decide(ids, partial=True).needs.tolist() == ["age;pulse"] * 2


def test_a_last_stage_that_answers_all_rejects_nobody():
    cascade = with_thresholds(make_cascade(), [0.9, 0.9, 0])
    decisions = cascade.decide(with_gaps(ROWS), partial=True)
    assert (decisions.accepted | decisions.waiting).all()


def test_labels_of_least_expected_cost():
    cascade = make_cascade().with_error_costs({0: 1, 1: 30})
    table = pd.DataFrame(with_gaps(ROWS), columns=NAMES)
    assert_as_cases(cascade, table, cascade.decide(table, partial=True), table.isna())


@pytest.mark.parametrize("gaps", ["refuse", "impute", "skip"])
def test_groups_categories_and_missing_values(gaps):
    cascade, table = make_rich_cascade(gaps=gaps), make_rich_rows(60)
    table.loc[::4, "sodium"] = np.nan
    table.loc[::7, "ward"] = None
    not_bought = table.isna() if gaps == "refuse" else table.isna() & False
    decisions = cascade.decide(table, partial=True)
    assert_as_cases(cascade, table, decisions, not_bought)
    assert decisions.waiting.any() == (gaps == "refuse")
    without = table.drop(columns="potassium")
    not_bought["potassium"] = True
    decisions = cascade.decide(without, partial=True)
    assert_as_cases(cascade, table, decisions, not_bought)
    assert decisions.needs[~decisions.accepted].all()


@pytest.mark.parametrize("gaps", ["impute", "skip"])
def test_values_marked_as_not_bought_are_no_gaps(gaps):
    cascade, table = make_rich_cascade(gaps=gaps), make_rich_rows(60)
    marks = np.zeros((60, 4), dtype=bool)  # age, ward, sodium, potassium
    assert cascade.columns == ("age", "ward", "sodium", "potassium")
    marks[::3, 3] = marks[::5, 0] = True
    decisions = cascade.decide_bought(table, not_bought=marks)
    not_bought = pd.DataFrame(marks, columns=cascade.columns)
    assert_as_cases(cascade, table, decisions, not_bought)
    assert set(decisions.needs) == {"", "age", "potassium"}


def priced_cascade():
    costs = {"age": 1, "pulse": 2, "scan": "price", "biopsy": 40}
    fees = {"visit": (3, ["scan", "biopsy"])}
    costs = FeatureCosts.from_mapping(costs, [*NAMES, "price"], fees=fees).with_usual([9.0])
    return replace(make_cascade(), costs=costs)


def test_a_row_pays_its_own_price_once_it_has_bought():
    cascade, prices = priced_cascade(), np.round(np.linspace(1, 9, len(ROWS)), 2)
    table = pd.DataFrame(with_gaps(ROWS), columns=NAMES)
    priced = table.assign(price=np.where(table.scan.isna(), np.nan, prices))
    decisions = cascade.decide(priced, partial=True)
    assert set(decisions.stage.tolist()) == {0, 1, 2, 3}
    assert_as_cases(cascade, table, decisions, table.isna(), lambda i: {"scan": prices[i]})
    given = cascade.decide(table, {"scan": prices}, partial=True)
    assert given.cost.tolist() == decisions.cost.tolist()


def test_a_row_that_has_bought_must_have_a_price():
    cascade, table = priced_cascade(), pd.DataFrame(ROWS, columns=NAMES)
    with pytest.raises(DataError):
        cascade.decide(table, partial=True)
    with pytest.raises(DataError):
        cascade.decide(table.assign(price=-1.0), partial=True)
    assert cascade.decide(table.drop(columns="scan"), partial=True).waiting.any()


# Warnings


def known_cascade(gaps="refuse"):
    """A cascade that knows the ranges of its training rows."""
    cascade = make_rich_cascade(gaps=gaps)
    n = cascade.encoding.n_inputs
    encoding = cascade.encoding.with_ranges(np.full(n, -1.0), np.full(n, 1.0))
    return replace(cascade, encoding=encoding)


@pytest.mark.parametrize("gaps", ["refuse", "impute", "skip"])
def test_warnings_name_the_values_that_cases_warn_of(gaps):
    cascade, table = known_cascade(gaps), make_rich_rows(80)
    table = table.dropna(ignore_index=True) if gaps == "refuse" else table
    decisions = cascade.decide(table, partial=True)
    cases = as_cases_go(cascade, table, table.isna() & False)
    for case, said in zip(cases, decisions.warnings, strict=True):
        named = [words.split(" ")[0] for words in case.warnings]
        assert [words.split(" ")[0] for words in said.split("; ") if words] == named
    assert "age outside -1 to 1; ward not seen in training" in set(decisions.warnings)


def test_imputed_values_that_no_training_row_lacked_are_warned_of():
    cascade, table = known_cascade("impute"), make_rich_rows(40)
    table.loc[::3, "ward"] = None
    table.loc[::2, "sodium"] = np.nan
    decisions = cascade.decide(table, partial=True)
    for case, said in zip(
        as_cases_go(cascade, table, table.isna() & False), decisions.warnings, strict=True
    ):
        lacking = [words.split(" ")[0] for words in case.warnings if "is missing" in words]
        named = [words.split(" ")[0] for words in said.split("; ") if " missing" in words]
        assert sorted(named) == sorted(lacking)
    assert "ward missing, never so in training" in set(decisions.warnings)
    assert not any("age missing" in said for said in decisions.warnings)  # some were in training


def test_warnings_are_of_values_that_count_so_far():
    cascade = known_cascade()
    row = {"age": [9.0], "ward": ["A"], "sodium": [9.0], "potassium": [0.0]}
    open_row = cascade.decide(pd.DataFrame({**row, "ward": [None]}), partial=True)
    assert open_row.warnings.tolist() == ["age outside -1 to 1"]  # sodium is of the second stage
    assert cascade.decide(pd.DataFrame({"ward": ["A"]}), partial=True).warnings.tolist() == [""]


# Decisions


def test_tables_have_the_new_columns_only_where_they_were_asked_for():
    cascade, table = make_cascade(), pd.DataFrame(with_gaps(ROWS), columns=NAMES)
    plain = ["label", "accepted", "confidence", "stage", "cost"]
    assert list(cascade.decide(ROWS).to_pandas()) == plain
    decisions = cascade.decide(table, partial=True)
    for frame in (decisions.to_pandas(), decisions.to_polars(), decisions.to_frame()):
        assert list(frame.columns) == [*plain, "needs", "warnings"]
        assert frame["needs"].to_list() == decisions.needs.tolist()
    assert decisions.to_pyarrow().column("needs").type == pa.string()
