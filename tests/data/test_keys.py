"""Columns that put rows into groups: any library, missing values, and what is refused."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from emsco.data.keys import Keys, without_text
from emsco.errors import DataError

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
    with pytest.raises(DataError, match="'war'"):
        Keys.from_parameter("by", "war", table, 2)


def test_text_of_a_file_becomes_numbers_only_if_all_of_it_can():
    assert without_text(["1.5", "2"]) == [1.5, 2.0]
    assert without_text(["true", None, "false"]) == [True, None, False]
    assert without_text(["01", "1"]) == ["01", "1"]
    assert without_text([None]) == [None]
