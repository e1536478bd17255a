"""Tables in parts: one encoding for all of them, as if they were one table."""

import json

import numpy as np
import pandas as pd
import pytest
from support.keepers import TableInParts

from emsco._base.documents import Fields
from emsco.costs import FeatureCosts
from emsco.data.encoding import Encoding
from emsco.data.training import TrainingData
from emsco.errors import DataError, FileError

TABLE = pd.DataFrame(
    {
        "age": [63, 41, np.nan, 50, 28, 33],
        "colour": [None, None, "red", "blue", "red", "green"],
        "smokes": [True, False, True, True, False, False],
        "price": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    }
)
Y = np.array([0, 1, 1, 0, 1, 0])
COSTS = FeatureCosts.from_mapping({"age": "price", "colour": 2, "smokes": 1})


def data_of(table, gaps="impute", costs=COSTS):
    return TrainingData.from_table(table, Y, None, costs, gaps)


@pytest.mark.parametrize("gaps", ["impute", "skip"])
@pytest.mark.parametrize("cut", [1, 2, 4])
def test_a_table_in_parts_is_encoded_as_one(gaps, cut):
    parts, whole = data_of(TableInParts(TABLE[:cut], TABLE[cut:]), gaps), data_of(TABLE, gaps)
    assert parts.encoding.input_names == whole.encoding.input_names
    np.testing.assert_array_equal(parts.rows, whole.rows)
    np.testing.assert_array_equal(parts.prices, whole.prices)


def test_ranges_of_numbers_are_learnt_and_kept_in_files():
    encoding = data_of(TABLE).encoding
    assert [code.range for code in encoding.codes] == [(28, 63), None, None]
    again = Encoding.from_dict(Fields(json.loads(json.dumps(encoding.to_dict())), "the file"))
    assert again.codes == encoding.codes
    plain = Fields(encoding.without_ranges().to_dict(), "the file")  # as earlier fits wrote it
    assert Encoding.from_dict(plain).codes[0].range is None
    backwards = encoding.to_dict()
    backwards["columns"][0]["range"].reverse()
    with pytest.raises(FileError, match="'range' must be the lowest number before the highest"):
        Encoding.from_dict(Fields(backwards, "the file"))


def test_columns_of_different_kinds_are_refused_with_the_parts_that_have_them():
    other = TABLE[3:].assign(colour=[1.0, 2.0, 3.0])
    said = "one kind of value in column 'colour', got text in part 0 and numbers in part 1"
    with pytest.raises(DataError, match=said):
        data_of(TableInParts(TABLE[:3], other))


def test_a_column_without_any_value_is_refused():
    empty = TABLE.assign(colour=None)
    with pytest.raises(DataError, match="values in column 'colour', got only missing ones"):
        data_of(TableInParts(empty[:3], empty[3:]))


def test_prices_by_a_function_need_the_whole_table():
    costs = FeatureCosts.from_mapping({"age": len, "colour": 2, "smokes": 1, "price": 1})
    said = "price of 'age' must be a column or numbers for a table in parts, got a function"
    with pytest.raises(DataError, match=said):
        data_of(TableInParts(TABLE), costs=costs)
