import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from emsco.data.frames import like, to_pandas, to_polars, to_pyarrow


def test_masked_whole_numbers_stay_whole_beside_missing_ones():
    column = np.ma.MaskedArray([1, 2, 3], mask=[False, True, False])
    assert to_pandas({"label": column})["label"].tolist() == [1, pd.NA, 3]
    assert to_polars({"label": column})["label"].to_list() == [1, None, 3]


def test_a_column_without_values_keeps_its_type_in_polars():
    hidden = np.ones(2, dtype=bool)
    columns = {
        "text": np.ma.MaskedArray(np.array(["a", "b"]), mask=hidden),
        "whole": np.ma.MaskedArray(np.array([1, 2]), mask=hidden),
    }
    assert to_polars(columns).schema == {"text": pl.String, "whole": pl.Int64}


def test_masked_values_of_every_kind_are_missing_in_pyarrow_and_keep_their_type():
    hidden = np.ones(2, dtype=bool)
    columns = {
        "text": np.ma.MaskedArray(np.array(["a", "b"]), mask=hidden),
        "whole": np.ma.MaskedArray(np.array([1, 2]), mask=[False, True]),
        "truth": np.array([True, False]),
        "cost": [1.5, 2.0],
        "mixed": np.array(["a", None], dtype=object),
    }
    table = to_pyarrow(columns)
    assert list(map(str, table.schema.types)) == ["string", "int64", "bool", "double", "string"]
    assert table["whole"].to_pylist() == [1, None]
    assert table["text"].null_count == 2
    assert table["mixed"].to_pylist() == ["a", None]


@pytest.mark.parametrize(
    "table",
    [pd.DataFrame({"a": [1]}), pl.DataFrame({"a": [1]}), pa.table({"a": [1]})],
    ids=["pandas", "polars", "pyarrow"],
)
def test_results_are_the_same_kind_of_data_frame_as_the_table(table):
    frame = like(table, {"cost": np.array([2.5]), "label": np.array(["ill"])})
    assert type(frame) is type(table)
    assert nw.from_native(frame)["cost"].to_list() == [2.5]
    assert nw.from_native(frame)["label"].to_list() == ["ill"]
    assert like(table, {"cost": []}).shape[0] == 0


def test_a_pandas_table_keeps_its_index():
    table = pd.DataFrame({"a": [1, 2]}, index=["ann", "bob"])
    assert like(table, {"cost": [1.0, 2.0]}).index.tolist() == ["ann", "bob"]
    assert like(table, {"cost": [1.0]}).index.tolist() == [0]
