"""Encodings of tables: categories, truth values, missing values, and words about misuse."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.encodings import COLUMNS, NAN, costs_of, learn, same

from emsco.data.encoding import Encoding
from emsco.errors import DataError, ParameterError

INPUTS = ("age", "colour = blue", "colour = red", "ill")
ROWS = [[63, 0, 1, 1], [41, 1, 0, 0], [50, 0, 1, 1]]
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}

any_frame = pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)


# Columns of every kind


@any_frame
def test_a_category_is_an_input_each_and_a_truth_value_is_0_or_1(frame):
    table = frame(COLUMNS)
    encoding = learn(table)
    assert encoding.input_names == INPUTS
    assert encoding.kinds == {"age": "number", "colour": "category", "ill": "truth"}
    assert encoding.input_feature.tolist() == [0, 1, 1, 2]
    assert encoding.n_inputs == 4
    same(encoding.rows(table), ROWS)


@pytest.mark.parametrize(
    "colours",
    [
        pd.DataFrame({"c": pd.Categorical(["b", "a", None], ["z", "b", "a"])}),
        pd.DataFrame({"c": pd.array(["b", "a", None], dtype="string")}),
        pd.DataFrame({"c": pd.Series(["b", "a", None], dtype=object)}),
        pd.DataFrame({"c": pd.Series(["b", "a", np.nan], dtype=object)}),
        pl.DataFrame({"c": ["b", "a", None]}),
        pl.DataFrame({"c": pl.Series(["b", "a", None], dtype=pl.Categorical)}),
        pl.DataFrame({"c": pl.Series(["b", "a", None], dtype=pl.Enum(["z", "b", "a"]))}),
        pa.table({"c": pa.array(["b", "a", None])}),
        pa.table({"c": pa.array(["b", "a", None], pa.string_view())}),
        pa.table({"c": pa.array(["b", "a", None]).dictionary_encode()}),
        pa.table({"c": pa.chunked_array([["b"], ["a", None]]).dictionary_encode()}),
        np.array([["b"], ["a"], [None]], dtype=object),
        np.ma.MaskedArray(np.array([["b"], ["a"], ["z"]]), mask=[[False], [False], [True]]),
        [["b"], ["a"], [None]],
    ],
)
def test_text_of_every_type_is_a_category_and_a_missing_one_is_nan(colours):
    encoding = learn(colours, "skip")
    assert encoding.codes[0].categories == ("a", "b")
    same(encoding.rows(colours), [[0, 1], [1, 0], [NAN, NAN]])


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"n": pd.array([1, None], dtype="Int64")}),
        pd.DataFrame({"n": pd.Series([1, None], dtype=object)}),
        pd.DataFrame({"n": pd.Series([Fraction(1), pd.NA], dtype=object)}),
        pd.DataFrame({"n": [1, np.nan]}),
        pl.DataFrame({"n": [1, None]}),
        pl.DataFrame({"n": [1.0, NAN]}),
        pa.table({"n": pa.array([Decimal(1), None])}),
        np.ma.MaskedArray([[1], [7]], mask=[[False], [True]]),
        np.array([[Decimal(1)], [None]], dtype=object),
        [[1], [None]],
    ],
)
def test_missing_numbers_of_every_type_are_nan(table):
    encoding = learn(table, "impute")
    assert encoding.codes[0].kind == "number"
    assert encoding.input_names[1] == f"{encoding.columns[0]} is missing"
    same(encoding.rows(table), [[1, 0], [NAN, 1]])


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"t": pd.array([True, None, False], dtype="boolean")}),
        pd.DataFrame({"t": pd.Series([True, None, False], dtype=object)}),
        pl.DataFrame({"t": [True, None, False]}),
        pa.table({"t": [True, None, False]}),
    ],
)
def test_missing_truth_values_are_nan(table):
    encoding = learn(table, "skip")
    assert encoding.codes[0].kind == "truth"
    same(encoding.rows(table), [[1], [NAN], [0]])


def test_an_array_of_numbers_is_not_copied():
    X = np.arange(12.0).reshape(4, 3)
    encoding = learn(X)
    assert encoding.rows(X) is X
    same(encoding.rows(X.astype(bool)), X.astype(bool))


def test_columns_of_an_array_of_objects_are_each_of_a_kind():
    X = np.array([[1, "a", True], [2.5, "b", False]], dtype=object)
    encoding = learn(X)
    assert list(encoding.kinds.values()) == ["number", "category", "truth"]
    same(encoding.rows(X), [[1, 1, 0, 1], [2.5, 0, 1, 0]])
    same(encoding.rows(X.tolist()), [[1, 1, 0, 1], [2.5, 0, 1, 0]])


def test_a_single_category_is_an_input_and_an_empty_text_is_a_category():
    table = pd.DataFrame({"c": ["", ""]})
    encoding = learn(table)
    assert encoding.n_inputs == 1
    same(encoding.rows(pd.DataFrame({"c": ["", "x"]})), [[1], [0]])


def test_a_category_never_seen_is_all_0():
    encoding = learn(pd.DataFrame(COLUMNS))
    new = pd.DataFrame({**COLUMNS, "colour": ["green", "red", "blue"]})
    same(encoding.rows(new)[:, 1:3], [[0, 0], [0, 1], [1, 0]])


def test_categories_that_are_numbers_or_intervals_are_their_text():
    table = pd.DataFrame({"n": pd.Categorical([1, 3]), "i": pd.cut([1, 5], [0, 2, 9])})
    encoding = learn(table)
    assert encoding.codes[0].categories == ("1", "3")
    assert encoding.codes[1].categories == ("(0, 2]", "(2, 9]")
    same(encoding.rows(table), [[1, 0, 1, 0], [0, 1, 0, 1]])
    plain = pd.DataFrame({"n": [3.0, 4.0], "i": ["(0, 2]", "else"]})
    same(encoding.rows(plain), [[0, 1, 1, 0], [0, 0, 0, 0]])


def test_a_pandas_table_whose_columns_have_no_names_is_read_by_position():
    table = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]])
    encoding = Encoding.learn(table, costs_of(["x0", "x1"]))
    same(encoding.rows(table), table.to_numpy())
    with pytest.raises(DataError, match=r"X must have 2 columns \('x0' … 'x1'\), got shape"):
        encoding.rows(pd.DataFrame([[1.0]]))


def test_a_table_without_rows_gives_no_rows():
    encoding = learn(pd.DataFrame(COLUMNS), "impute")
    for frame in FRAMES.values():
        table = frame({name: values[:1] for name, values in COLUMNS.items()})
        assert encoding.rows(table[:0]).shape == (0, 4)


# Any order of columns


@settings(deadline=None, derandomize=True, max_examples=60)
@given(
    order=st.permutations([*COLUMNS, "id"]),
    kind=st.sampled_from(sorted(FRAMES)),
    gaps=st.sampled_from(["refuse", "impute", "skip"]),
    missing=st.sets(st.tuples(st.sampled_from(sorted(COLUMNS)), st.integers(1, 2))),
)
def test_any_order_of_columns_in_any_frame_gives_the_same_rows(order, kind, gaps, missing):
    columns = {name: list(values) for name, values in COLUMNS.items()}
    for name, row in missing if gaps != "refuse" else ():
        columns[name][row] = None
    encoding = learn(pl.DataFrame(columns), gaps)
    rows = encoding.rows(pl.DataFrame(columns))
    columns["id"] = ["x", "y", "z"]
    shuffled = FRAMES[kind]({name: columns[name] for name in order})
    same(encoding.rows(shuffled), rows)


values = st.sampled_from(["a", "b", "c", None])


@settings(deadline=None, derandomize=True, max_examples=60)
@given(st.lists(values, min_size=1, max_size=9).filter(any), st.lists(values, max_size=9))
def test_a_column_is_the_same_as_its_values_one_by_one(seen, new):
    encoding = learn(pl.DataFrame({"c": seen}, schema={"c": pl.String}), "impute")
    rows = encoding.rows(pl.DataFrame({"c": new}, schema={"c": pl.String}))
    same(rows, np.reshape([encoding.row({"c": value}, ["c"]) for value in new], rows.shape))
    known = sorted({value for value in seen if value})
    twin = [[NAN] * len(known) if v is None else [float(v == k) for k in known] for v in new]
    same(rows[:, : len(known)], np.reshape(twin, (len(new), len(known))))


# Missing values


def test_a_refused_missing_value_is_named_by_column_and_row():
    encoding = learn(pd.DataFrame(COLUMNS))
    missing = pd.DataFrame({**COLUMNS, "colour": ["red", None, "blue"]})
    with pytest.raises(
        DataError, match=r"new\.csv must have no missing value .* in column 'colour', r"
    ):
        encoding.rows(missing, first_row=7, what="new.csv")
    missing = pd.DataFrame({**COLUMNS, "age": [1, 2, None]})
    with pytest.raises(DataError, match=r"X must have no missing value .* in column 'age', row 9"):
        encoding.rows(missing, first_row=7)
    missing = pd.DataFrame({**COLUMNS, "ill": pd.array([True, None, None], dtype="boolean")})
    with pytest.raises(DataError, match=r"X must have no missing value .* in column 'ill', row 1"):
        encoding.rows(missing)


def test_missing_values_are_marked_only_if_imputed_and_present_in_training():
    table = pd.DataFrame({"a": [1, None, 3], "b": [1, 2, 3], "c": ["x", None, None]})
    imputed, skipped = learn(table, "impute"), learn(table, "skip")
    assert imputed.input_names == ("a", "a is missing", "b", "c = x", "c is missing")
    assert imputed.input_feature.tolist() == [0, 0, 1, 2, 2]
    assert skipped.input_names == ("a", "b", "c = x")
    new = pd.DataFrame({"a": [1.0], "b": [None], "c": ["x"]})
    same(imputed.rows(new), [[1, 0, NAN, 1, 0]])
    same(skipped.rows(new), [[1, NAN, 1]])


def test_a_feature_is_missing_if_any_of_its_columns_is():
    table = pd.DataFrame({"a": [1, None, 3], "b": [1, 2, 3], "c": ["x", "y", None]})
    for gaps in ("impute", "skip"):
        encoding = learn(table, gaps, groups={"both": ["a", "c"]})
        assert encoding.features == ("both", "b")
        found = encoding.missing_by_feature(encoding.rows(table))
        assert found.tolist() == [[False, False], [True, False], [True, False]]


@pytest.mark.parametrize("gaps", ["refuse", "impute", "skip"])
@pytest.mark.parametrize(("value", "words"), [(np.inf, "infinity"), (2e100, r"2e\+100")])
def test_infinity_and_absurd_sizes_are_always_refused(gaps, value, words):
    encoding = learn(pd.DataFrame(COLUMNS), gaps)
    with pytest.raises(DataError, match=f"X must be .*, got {words}.* in column 'age', row 1"):
        encoding.rows(pd.DataFrame({**COLUMNS, "age": [1, value, 1]}))
    with pytest.raises(DataError, match=f"X must be .*, got {words}.* in column 'x0', row 1"):
        learn(np.ones((2, 1)), gaps).rows(np.array([[1], [value]]))


@pytest.mark.parametrize("gaps", ["impute", "skip"])
@pytest.mark.parametrize("nothing", [[NAN, NAN], [None, None]])
def test_a_column_without_values_is_refused_in_training_and_passes_later(gaps, nothing):
    table = pl.DataFrame({"a": nothing}, schema={"a": pl.Float64})
    with pytest.raises(DataError, match="X must have values in column 'a', got only missing ones"):
        learn(table, gaps)
    with pytest.raises(DataError, match="X must have values in column 'c', got only missing ones"):
        learn(pl.DataFrame({"c": [None]}, schema={"c": pl.String}), gaps)
    same(learn(pl.DataFrame({"a": [1.0]}), gaps).rows(pl.DataFrame({"a": nothing})), [[NAN]] * 2)
    found = learn(pl.DataFrame({"a": ["x"]}), gaps).rows(pl.DataFrame({"a": [None]}))
    same(found, [[NAN]])


# Refused tables


@pytest.mark.parametrize(
    ("column", "got"),
    [
        ([datetime.date(2026, 1, 1)], "dates"),
        ([datetime.timedelta(1)], "durations"),
        ([b"a"], "bytes"),
        ([[1]], "lists"),
        ([{"a": 1}], "lists"),
    ],
)
def test_values_that_cannot_be_inputs_are_refused_by_column(column, got):
    table = pa.table({"ok": [1], "a": column})
    words = f"X must hold numbers, text or truth values, got {got} in column 'a'"
    with pytest.raises(DataError, match=words):
        learn(table)
    with pytest.raises(DataError, match=words):
        learn(pl.from_arrow(table))


@pytest.mark.parametrize(
    ("array", "got"),
    [
        (np.ones((1, 1), dtype=complex), "complex numbers"),
        (np.zeros((1, 1), dtype="datetime64[s]"), "dates"),
        (np.array([[b"a"]]), "bytes"),
    ],
)
def test_arrays_that_cannot_be_inputs_are_refused(array, got):
    with pytest.raises(DataError, match=f"numbers, text or truth values, got {got}"):
        learn(array)


@pytest.mark.parametrize("mixed", [["a", 1], [1, "a"], [1.5, "a"], [True, "a"], [object(), 1]])
def test_a_column_of_several_kinds_is_refused(mixed):
    words = "only numbers, only text or only truth values in a column, got .* in column"
    with pytest.raises(DataError, match=words):
        learn(pd.DataFrame({"a": pd.Series(mixed, dtype=object)}))
    with pytest.raises(DataError, match=words):
        learn([[value] for value in mixed])


def test_too_many_categories_are_probably_an_id():
    learn(pl.DataFrame({"a": [f"n{i}" for i in range(1000)]}))
    words = r"at most 1,000 categories in a column, got 1,001 in column 'a'; if it is an id, drop"
    with pytest.raises(DataError, match=words):
        learn(pl.DataFrame({"a": [f"n{i}" for i in range(1001)]}))


@any_frame
@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"age": ["old", "new", "new"]}, "must hold numbers only, got text in column 'age'"),
        ({"colour": [1, 2, 3]}, "must hold text in column 'colour', got numbers"),
        ({"colour": [True, False, True]}, "must hold text in column 'colour', got truth values"),
        ({"ill": [0.0, 1.0, 0.5]}, "must hold true or false in column 'ill', got 0.5 in row 2"),
        ({"ill": ["yes", "no", "no"]}, "must hold numbers only, got text in column 'ill'"),
        ({"colour": None}, "must have a column 'colour', got 'age', 'ill'"),
        ({"colour": [datetime.date(2026, 1, 1)] * 3}, "text in column 'colour', got dates"),
    ],
)
def test_a_new_table_that_holds_something_else_is_refused(frame, changed, words):
    encoding = learn(frame(COLUMNS))
    columns = {name: values for name, values in {**COLUMNS, **changed}.items() if values}
    with pytest.raises(DataError, match=f"X {words}" if words.startswith("must") else words):
        encoding.rows(frame(columns))


def test_a_number_is_no_category_where_text_with_zeros_was_learnt():
    encoding = learn(pl.DataFrame({"zip": ["01", "02"]}))
    with pytest.raises(DataError, match="X must hold text in column 'zip', got numbers"):
        encoding.rows(pl.DataFrame({"zip": [1, 2]}))


def test_arrays_of_the_wrong_shape_and_ragged_lists_are_refused():
    encoding = learn(np.ones((2, 3)))
    with pytest.raises(DataError, match=r"X must have 3 columns \('x0' … 'x2'\), got shape \(2,"):
        encoding.rows(np.ones((2, 2)))
    with pytest.raises(DataError, match="X must be a table"):
        encoding.rows([[1, 2, 3], [1]])


def test_a_column_that_comes_twice_is_refused():
    table = pd.DataFrame([[1, "a", 2]], columns=["a", "b", "a"])
    with pytest.raises(DataError, match="X must have one column 'a', got 2"):
        Encoding.learn(table, costs_of(["a", "b"]))


def test_a_table_that_is_not_in_memory_is_refused():
    with pytest.raises(DataError, match=r"X must be in memory, got a LazyFrame; collect\(\) it"):
        Encoding.learn(pl.LazyFrame({"a": [1]}), costs_of(["a"]))


def test_an_unknown_value_of_gaps_is_refused():
    with pytest.raises(ParameterError, match='gaps must be one of "refuse", "impute", "skip", got'):
        learn(pd.DataFrame(COLUMNS), "drop")
