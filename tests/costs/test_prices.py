"""Prices that differ from row to row: where they come from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from emsco.costs import FeatureCosts
from emsco.costs.prices import prices_of_rows
from emsco.errors import DataError

BILL = [0.1, 0.2, 0.3]
DATA = {"age": [1, 2, 3], "report": [4.0, 5.0, 6.0], "bill": BILL}


def tenth_of_age(rows):
    return np.asarray(rows["age"]) / 10


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("cost", ["bill", tenth_of_age, BILL, pl.Series(BILL)])
def test_a_price_is_a_column_a_function_of_the_table_or_an_array(make, cost):
    costs = FeatureCosts.from_mapping({"age": 1, "report": cost})
    assert costs.prices_of(make(DATA), 3)[:, 0].tolist() == pytest.approx(BILL)


def test_a_column_of_prices_is_a_feature_only_if_it_has_a_cost():
    costs = FeatureCosts.from_mapping({"age": 1, "report": "bill"}, list(DATA))
    assert costs.names == costs.table == ("age", "report")
    assert (costs.price_columns, costs.priced.tolist()) == (("bill",), [1])
    both = FeatureCosts.from_mapping({"age": 0, "report": "age", "bill": 1}, list(DATA))
    assert both.names == ("age", "report", "bill")


def test_a_price_that_is_not_known_yet_is_left_open():
    table = pl.DataFrame({"bill": [0.1, None, 0.3]})
    assert np.isnan(prices_of_rows("report", "courier", table, 3, may_lack=True)).all()
    some = prices_of_rows("report", "bill", table, 3, may_lack=True)
    assert np.isnan(some).tolist() == [False, True, False]


def test_prices_of_training_rows_are_not_those_of_others():
    costs = FeatureCosts.from_mapping({"age": 1, "report": [1, 2, 3], "scan": "bill"})
    usual = costs.with_usual(np.array([2.0, 7.0]))
    assert (usual.total, usual.prices) == (10, {"report": None, "scan": "bill"})
    with pytest.raises(DataError, match="'report'"):
        usual.prices_of(pd.DataFrame(DATA), 3)
