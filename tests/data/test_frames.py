"""Results as data frames: masked values are missing, and columns keep their types."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pytest
from support.encodings import FRAMES

from emsco.data.frames import Columns, Tabular, shell_of
from emsco.errors import DataError

HIDDEN = np.ones(2, dtype=bool)


@dataclass
class Result(Tabular):
    given: Columns

    def columns(self):
        return self.given


WHOLE = Result(
    {
        "text": np.ma.MaskedArray(np.array(["a", "b"]), mask=HIDDEN),
        "whole": np.ma.MaskedArray(np.array([1, 2]), mask=[False, True]),
        "none": np.ma.MaskedArray(np.array([1, 2]), mask=HIDDEN),
        "truth": np.array([True, False]),
        "cost": [1.5, 2.0],
        "mixed": np.array(["a", None], dtype=object),
    }
)


def test_masked_values_are_missing_and_columns_keep_their_types():
    arrow, polars, pandas = WHOLE.to_pyarrow(), WHOLE.to_polars(), WHOLE.to_pandas()
    types = ["string", "int64", "int64", "bool", "double", "string"]
    assert list(map(str, arrow.schema.types)) == types
    kinds = [pl.String, pl.Int64, pl.Int64, pl.Boolean, pl.Float64, pl.String]
    assert list(polars.schema.values()) == kinds
    assert [str(kind) for kind in pandas.dtypes[1:5]] == ["Int64", "Int64", "bool", "float64"]
    for whole in (arrow["whole"].to_pylist(), polars["whole"].to_list()):
        assert whole == [1, None]
    assert pandas["whole"].tolist() == [1, pd.NA]
    with pytest.raises(DataError, match="'odd'"):
        Result({"odd": np.array(["a", 1], dtype=object)}).to_pyarrow()


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_results_are_the_same_kind_of_data_frame_as_the_table(frame):
    table = frame({"a": [1, 2]})
    assert type(WHOLE.like(shell_of(table))) is type(table)


def test_a_pandas_table_keeps_its_index_and_an_array_gives_a_pandas_table():
    table = pd.DataFrame({"a": [1, 2]}, index=["ann", "bob"])
    assert WHOLE.like(shell_of(table)).index.tolist() == ["ann", "bob"]
    assert Result({"cost": [1.0]}).like(shell_of(table)).index.tolist() == [0]
    assert WHOLE.like(shell_of(np.zeros((2, 1)))).index.tolist() == [0, 1]
