"""Prices that differ from row to row: ways to give them, and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

from emsco.costs import FeatureCosts, RowPrice
from emsco.data.prices import check_price, prices_of_rows
from emsco.errors import CostsError, DataError, ParameterError

TABLE = pd.DataFrame({"age": [1, 2, 3], "report": [4.0, 5.0, 6.0], "fee": [0.1, 0.2, 0.3]})


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
    assert prices_of_rows(costs.prices, TABLE, 3, {"report": 7})[:, 0].tolist() == [7, 7, 7]
    assert prices_of_rows(costs.prices, TABLE, 3, {"report": "fee"})[1, 0] == 0.2


def test_a_file_may_name_the_column_of_prices(costs_file):
    path = costs_file("feature,cost\nage,1\nreport,fee\n")
    costs = FeatureCosts.from_file(path, list(TABLE.columns))
    assert costs.prices[0].column == "fee"


def test_usual_prices_stand_in_words():
    costs = FeatureCosts.from_mapping({"age": 1, "report": "fee"}).with_usual([0.2])
    assert costs.in_words(["report"]) == ["report (about 0.2)"]
    assert costs.total == 1.2
    assert costs.fixed().total == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"report": [1, -2, 3]}, r"the price of 'report' must be finite .*, got -2 in row 1\."),
        ({"report": [1, 2, np.nan]}, r"must be finite and at least 0, got nan in row 2\."),
        ({"report": [1, 2]}, r"must have one entry for each of 3 rows, got shape \(2,\)"),
        ({"report": ["a", "b", "c"]}, "the price of 'report' must be numbers, got"),
        ({"report": lambda _: "dear"}, "the price of 'report' must be numbers, got 'dear'"),
        (None, "prices must be given for 'report', whose price differs from row to row"),
        ([1, 2, 3], "prices must be a mapping of features to prices"),
    ],
)
def test_bad_prices_are_refused_by_row(given, words):
    with pytest.raises(DataError, match=words):
        prices_of_rows([RowPrice("report")], TABLE, 3, given)


def test_one_row_has_one_price():
    with pytest.raises(DataError, match=r"the price of 'report' must be one number, got \[1, 2\]"):
        check_price("report", [1, 2])


def test_a_function_that_fails_and_a_column_that_is_not_there_are_named():
    with pytest.raises(DataError, match=r"that works for these rows, got KeyError: 'nope'\."):
        prices_of_rows([RowPrice("report", function=lambda rows: rows["nope"])], TABLE, 3)
    with pytest.raises(DataError, match="must have the column 'dear' with the price of 'report'"):
        prices_of_rows([RowPrice("report", column="dear")], TABLE, 3)


def test_prices_of_training_rows_are_not_those_of_others():
    costs = FeatureCosts.from_mapping({"age": 1, "report": [1, 2, 3]}).for_new_rows()
    with pytest.raises(DataError, match="prices must be given for 'report'"):
        prices_of_rows(costs.prices, TABLE, 3)


def test_a_row_of_a_file_is_counted_from_where_it_begins():
    with pytest.raises(DataError, match="got -1 in row 12"):
        prices_of_rows([RowPrice("report", values=[1, -1])], None, 2, first_row=11)


def test_prices_of_unknown_features_and_columns_are_refused():
    with pytest.raises(CostsError, match=r"prices must name features \('report'\), got 'repot'"):
        prices_of_rows([RowPrice("report")], TABLE, 3, {"repot": 1})
    with pytest.raises(CostsError, match=r"must be a number or a column of the data .*got 'fe'"):
        FeatureCosts.from_mapping({"age": 1, "report": "fe"}, TABLE.columns)


def test_a_promise_about_the_cost_is_refused_if_a_row_may_cost_anything():
    with pytest.raises(ParameterError, match="max_cost must be left out where prices differ"):
        FeatureCosts.from_mapping({"report": "fee"}).check_bounded(5)
