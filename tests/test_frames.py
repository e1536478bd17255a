import numpy as np
import pandas as pd
import polars as pl
import pytest

from emsco.errors import EMSCOError
from emsco.frames import to_pandas, to_polars


def test_masked_whole_numbers_stay_whole_beside_missing_ones():
    column = np.ma.MaskedArray([1, 2, 3], mask=[False, True, False])
    assert to_pandas({"label": column})["label"].tolist() == [1, pd.NA, 3]
    assert to_polars({"label": column})["label"].to_list() == [1, None, 3]


def test_masked_text_is_missing():
    column = np.ma.MaskedArray(["ill", "well"], mask=[True, False])
    assert to_pandas({"label": column})["label"].isna().tolist() == [True, False]
    assert to_polars({"label": column})["label"].to_list() == [None, "well"]


def test_a_library_that_is_not_installed_is_named(monkeypatch):
    def missing(*arguments, **options):
        raise ModuleNotFoundError

    monkeypatch.setattr("narwhals.from_dict", missing)
    with pytest.raises(EMSCOError, match="polars must be installed for this: pip install polars"):
        to_polars({"cost": [1.0]})


def test_a_column_in_which_all_is_missing_keeps_its_type_in_polars():
    hidden = np.ones(2, dtype=bool)
    columns = {
        "text": np.ma.MaskedArray(np.array(["a", "b"]), mask=hidden),
        "whole": np.ma.MaskedArray(np.array([1, 2]), mask=hidden),
    }
    assert to_polars(columns).schema == {"text": pl.String, "whole": pl.Int64}
