"""Prices that differ from row to row: where they come from."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from emsco import EMSCOClassifier
from emsco.costs import FeatureCosts
from emsco.costs.prices import prices_of_rows
from emsco.errors import EMSCOError

TABLE = pd.DataFrame({"age": [1, 2, 3], "report": [4.0, 5.0, 6.0], "bill": [0.1, 0.2, 0.3]})
DATA, BILL = TABLE.to_dict("list"), [0.1, 0.2, 0.3]


def tenth_of_age(rows):
    return np.asarray(rows["age"]) / 10


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize("cost", ["bill", tenth_of_age, BILL, pl.Series(BILL)])
def test_a_price_is_a_column_a_function_of_the_table_or_an_array(make, cost):
    costs = FeatureCosts.from_mapping({"age": 1, "report": cost})
    assert costs.prices_of(make(DATA), 3)[:, 0].tolist() == pytest.approx(BILL)


def test_a_column_of_prices_is_a_feature_only_if_it_has_a_cost():
    costs = FeatureCosts.from_mapping({"age": 1, "report": "bill"}, list(TABLE))
    assert costs.names == costs.table == ("age", "report")
    assert costs.price_columns == ("bill",)
    both = FeatureCosts.from_mapping({"age": 0, "report": "age", "bill": 1}, list(TABLE))
    assert both.names == ("age", "report", "bill")


def test_a_price_that_is_not_known_yet_is_left_open():
    open_price = prices_of_rows("report", "courier", TABLE, 3, may_lack=True)
    assert np.isnan(open_price).all()
    some = pl.DataFrame({"bill": [0.1, None, 0.3]})
    assert prices_of_rows("report", "bill", some, 3, may_lack=True)[2] == 0.3


def test_prices_of_training_rows_are_not_those_of_others():
    costs = FeatureCosts.from_mapping({"age": 1, "report": [1, 2, 3]}).with_usual(np.array([2.0]))
    assert costs.total == 3
    with pytest.raises(EMSCOError, match="'report'"):
        costs.prices_of(TABLE, 3)


def test_a_limit_holds_beside_prices_that_are_all_nothing():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    clf = EMSCOClassifier(
        {"a": np.zeros(80), "b": 0, "c": 0},
        constraints={"max_mean_cost": 1},
        estimator="logistic",
        search="evolution",
        generations=1,
        population_size=20,
        cv=0.5,
    ).fit(table, table.a + table.b > 0)
    assert all(point.cost == 0 for point in clf.front_)
