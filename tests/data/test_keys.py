"""Columns that put rows into groups: any library, missing values, and what is refused."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from emsco.data.keys import Keys, check_by, without_text
from emsco.errors import DataError, ParameterError

VALUES = ["B", "A", None, "B"]
COLUMNS = {
    "list": VALUES,
    "array": np.array(VALUES, dtype=object),
    "masked": np.ma.MaskedArray(["B", "A", "?", "B"], mask=[0, 0, 1, 0]),
    "pandas": pd.Series(VALUES, name="ward"),
    "pandas categories": pd.Series(VALUES, dtype="category"),
    "polars": pl.Series("ward", VALUES),
    "polars categories": pl.Series(VALUES, dtype=pl.Categorical),
    "pyarrow": pa.chunked_array([VALUES[:2], VALUES[2:]]),
    "pyarrow categories": pa.array(VALUES).dictionary_encode(),
}


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_columns_of_every_library_are_read_alike(column):
    keys = Keys.from_column(column)
    assert [keys.values[code] for code in keys.codes] == VALUES
    assert len(keys.values) == 3
    assert keys.missing == 2


@pytest.mark.parametrize("column", [np.array([1.5, np.nan]), pl.Series([1.5, np.nan])])
def test_nan_is_a_missing_value(column):
    assert Keys.from_column(column).values == [1.5, None]


@pytest.mark.parametrize("values", [[True, False], [3, 1], [datetime.date(2026, 1, 2)] * 2])
def test_values_keep_their_type(values):
    keys = Keys.from_column(values)
    assert [keys.values[code] for code in keys.codes] == values


@pytest.mark.parametrize("library", [pd, pl])
def test_a_name_means_a_column_of_the_data_frame(library):
    table = library.DataFrame({"age": [1.0, 2.0], "ward": ["A", "B"]})
    keys = Keys.from_parameter("by", "ward", table, 2)
    assert (keys.name, keys.values) == ("ward", ["A", "B"])
    with pytest.raises(DataError, match=r"by must be a column of X, got 'war' beside 'age', '"):
        Keys.from_parameter("by", "war", table, 2)


def test_a_name_needs_a_data_frame():
    with pytest.raises(ParameterError, match=r"by must have one value for each row, since X has "):
        Keys.from_parameter("by", "ward", np.zeros((2, 2)), 2)


def test_lengths_must_agree():
    with pytest.raises(DataError, match=r"groups must have one value for each of 3 rows, got 2\."):
        Keys.from_parameter("groups", [1, 2], None, 3)


@pytest.mark.parametrize("column", [[1, "one"], [[1], [2, 3]], np.zeros((2, 2)), 7])
def test_values_of_several_types_are_refused(column):
    with pytest.raises(DataError, match="by must hold values of one type, one for each row, got"):
        Keys.from_parameter("by", column, None, 2)


def test_many_numbers_are_refused_with_the_way_out():
    check_by([i / 7 for i in range(50)], "by")
    check_by(list(range(80)), "by")
    with pytest.raises(DataError, match=r"by must have at most 50 different numbers, got 51; put"):
        check_by([None, *(i / 7 for i in range(51))], "by")
    with pytest.raises(DataError, match=r"at most 1,000 different values, got more; put them into"):
        check_by([str(i) for i in range(1001)], "by")


def test_text_of_a_file_becomes_numbers_only_if_all_of_it_can():
    assert without_text(["1.5", "2"]) == [1.5, 2.0]
    assert without_text(["true", None, "false"]) == [True, None, False]
    assert without_text(["01", "1"]) == ["01", "1"]
    assert without_text([None]) == [None]
