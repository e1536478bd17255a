"""Encodings of tables: categories, truth values, missing values, and words about misuse."""

from __future__ import annotations

import datetime
import json
import math
from decimal import Decimal
from fractions import Fraction
from time import process_time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.encodings import COLUMNS, NAN, costs_of, learn, same

from emsco._base.documents import Fields
from emsco.costs import FeatureCosts
from emsco.data.answers import answer_rows
from emsco.data.columns import ColumnCode
from emsco.data.encoding import Encoding
from emsco.data.training import TrainingData
from emsco.errors import DataError, FileError, ParameterError

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
        missing = encoding.missing_by_feature(encoding.rows(table))
        assert missing.tolist() == [[False, False], [True, False], [True, False]]


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
    rows = learn(pl.DataFrame({"a": ["x"]}), gaps).rows(pl.DataFrame({"a": [None]}))
    same(rows, [[NAN]])


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


# Tables in parts: one encoding for all of them, as if they were one table


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


@pytest.mark.parametrize("column", ["age", "colour"])
def test_a_column_without_any_value_is_refused(column):
    empty = TABLE.assign(**{column: np.nan if column == "age" else None})
    with pytest.raises(DataError, match=f"values in column '{column}', got only missing ones"):
        data_of(empty)


# Encodings of single rows, of a source's answers, and in files


# One row


def test_one_row_gives_the_inputs_of_the_features_asked_for():
    table = pd.DataFrame(COLUMNS)
    encoding = learn(table, groups={"look": ["colour", "ill"]})
    assert encoding.features == ("age", "look")
    assert encoding.needs("look") == ("colour", "ill")
    given_values = {"ill": True, "colour": "blue", "age": 7}
    assert encoding.row(given_values, ["look", "age"]) == [1, 0, 1, 7]
    assert encoding.places(["look", "age"]) == [1, 2, 3, 0]
    assert encoding.row({"age": 7.5}, ["age"]) == [7.5]
    assert encoding.row({"colour": "green", "ill": 0}, ["look"]) == [0, 0, 0]


@pytest.mark.parametrize(
    "missing", [None, NAN, pd.NA, np.ma.masked, np.float64("nan"), Decimal("nan"), Decimal("snan")]
)
def test_a_missing_value_in_one_row_is_nan_in_all_its_inputs(missing):
    table = pd.DataFrame({**COLUMNS, "colour": ["red", "blue", None]})
    encoding = learn(table, "impute")
    same(encoding.row({"colour": missing}, ["colour"]), [NAN, NAN, 1])
    same(encoding.row({"colour": "red"}, ["colour"]), [0, 1, 0])
    same(encoding.row({"age": missing, "ill": missing}, ["age", "ill"]), [NAN, NAN])


@pytest.mark.parametrize(
    ("given_values", "words"),
    [
        ({"age": 1}, "values must have 'colour', got 'age'"),
        ({}, "values must have 'age', got nothing"),
        ([1], r"values must be a mapping of names to values, got \[1\]"),
        ({"age": "old", "colour": "red"}, "'age' must be a number, got 'old'"),
        ({"age": None, "colour": "red"}, "'age' must be a number, got None"),
        ({"age": NAN, "colour": "red"}, "'age' must be finite, got NaN"),
        ({"age": math.inf, "colour": "red"}, r"'age' must be finite, got infinity \(inf\)"),
        ({"age": 10**400, "colour": "red"}, r"'age' must be at most 1e\+100 in size, got a number"),
        ({"age": 2e100, "colour": "red"}, r"'age' must be at most 1e\+100 in size, got 2e\+100"),
        ({"age": 1, "colour": 5}, "'colour' must be text, got 5"),
        ({"age": 1, "colour": None}, "'colour' must be text, got None"),
        ({"age": 1, "colour": "red", "ill": True}, "hold only 'age', 'colour' now, got 'ill' too"),
    ],
)
def test_bad_values_of_one_row_are_refused_by_name(given_values, words):
    encoding = learn(pd.DataFrame(COLUMNS))
    with pytest.raises(DataError, match=words):
        encoding.row(given_values, ["age", "colour"])


def test_a_truth_value_of_one_row_is_true_or_false():
    encoding = learn(pd.DataFrame(COLUMNS))
    assert encoding.row({"ill": np.True_}, ["ill"]) == [1]
    for wrong in (2, "yes"):
        with pytest.raises(DataError, match=f"'ill' must be true or false, got {wrong!r}"):
            encoding.row({"ill": wrong}, ["ill"])


def test_categories_that_are_numbers_take_numbers_in_one_row():
    encoding = learn(pd.DataFrame({"n": pd.Categorical([1, 3])}))
    assert encoding.row({"n": 3}, ["n"]) == encoding.row({"n": "3"}, ["n"]) == [0, 1]
    with pytest.raises(DataError, match="'n' must be text, got nan"):
        encoding.row({"n": NAN}, ["n"])


def test_features_alone_have_an_encoding_of_their_own():
    table = pd.DataFrame(COLUMNS)
    encoding = learn(table, "skip", groups={"look": ["colour", "ill"]})
    part = encoding.only(["look"])
    assert part.columns == ("colour", "ill")
    assert part.features == ("look",)
    rows = encoding.rows(table)
    same(part.rows(table[["ill", "colour"]]), rows[:, encoding.places(["look"])])
    turned = encoding.only(["look", "age"])
    same(turned.rows(table), rows[:, encoding.places(["look", "age"])])


# Answers of a source

LOOK = {"colour": ["red", None, "green"], "ill": [True, False, None]}


@pytest.mark.parametrize(
    "answer",
    [
        LOOK,
        pd.DataFrame(LOOK),
        pl.DataFrame(LOOK),
        pa.table({**LOOK, "colour": pa.array(LOOK["colour"]).dictionary_encode()}),
        pl.DataFrame(LOOK, schema_overrides={"colour": pl.Categorical}),
        [["red", True], [None, False], ["green", None]],
        np.array([["red", True], [NAN, 0.0], ["green", "?"]], dtype=object),
        {"colour": ["red", 7, "green"], "ill": np.array([1, 0, 2])},
        {"colour": np.ma.MaskedArray(["red", "", "green"], [0, 1, 0]), "ill": [1.0, 0, "yes"]},
    ],
)
def test_bad_values_of_an_answer_are_missing_and_leave_the_others_alone(answer):
    table = pd.DataFrame({**COLUMNS, "colour": ["red", "blue", None]})
    encoding = learn(table, "impute").only(["colour", "ill"])
    same(answer_rows(encoding, answer, 3), [[0, 1, 0, 1], [NAN, NAN, 1, 0], [0, 0, 0, NAN]])


def test_rows_of_a_pandas_answer_may_be_called_like_attributes_of_other_columns():
    encoding = learn(np.ones((2, 1)))
    answer = pd.DataFrame({"x0": [1.0, 2.0]}, index=["to_pylist", "dtype"])
    same(answer_rows(encoding, answer, 2), [[1], [2]])


def test_numbers_of_an_answer_are_unchanged_and_text_is_missing():
    encoding = learn(np.ones((2, 2)))
    answer = {"x1": [1, "old", 10**400], "x0": [2.5, np.inf, Decimal(3)]}
    same(answer_rows(encoding, answer, 3), [[2.5, 1], [np.inf, NAN], [3, np.inf]])
    same(answer_rows(encoding, np.array([["1", "2"]]), 1), [[NAN, NAN]])
    same(answer_rows(encoding, np.ones((0, 2)), 0), np.empty((0, 2)))


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (None, "a table with the columns 'x0', 'x1', got None"),
        (np.ones((3, 3)), r"a table with the columns 'x0', 'x1', got shape \(3, 3\)"),
        (np.ones((2, 2)), "3 rows, one per id, got 2"),
        ({"x0": [1, 2, 3]}, r"a column 'x1', got \['x0'\]"),
        ({"x0": [1, 2, 3], "x1": np.ones((3, 1))}, r"one value per row for 'x1', got \(3, 1\)"),
    ],
)
def test_an_answer_that_is_not_the_table_asked_for_is_refused(answer, words):
    with pytest.raises(DataError, match=f"acquire must return {words}"):
        answer_rows(learn(np.ones((2, 2))), answer, 3)


# Files


def again(encoding, change=lambda _: None):
    plain = json.loads(json.dumps(encoding.to_dict()))
    change(plain)
    return Encoding.from_dict(Fields(plain, "the file"))


@pytest.mark.parametrize("gaps", ["refuse", "impute", "skip"])
def test_an_encoding_is_the_same_after_a_file(gaps):
    table = pd.DataFrame({**COLUMNS, "ill": [True, False, None if gaps != "refuse" else True]})
    encoding = learn(table, gaps, groups={"both": ["age", "ill"]})
    loaded = again(encoding)
    assert loaded.codes == encoding.codes
    assert (loaded.features, loaded.feature_of) == (encoding.features, encoding.feature_of)
    assert loaded.gaps == gaps
    same(loaded.rows(table), encoding.rows(table))


KINDS = {
    "number": (pl.Float64, st.floats(-9, 9)),
    "truth": (pl.Boolean, st.booleans()),
    "category": (pl.String, st.sampled_from("abc")),
}


@st.composite
def tables(draw):
    """Draw columns of any kinds with types and groups, and a value of `gaps`."""
    n_rows = draw(st.integers(1, 6))
    gaps = draw(st.sampled_from(["refuse", "impute", "skip"]))
    columns, types, groups = {}, {}, {}
    for i, kind in enumerate(
        draw(st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=5))
    ):
        types[f"c{i}"], cells = KINDS[kind]
        rest = cells if gaps == "refuse" else cells | st.none()
        more = draw(st.lists(rest, min_size=n_rows - 1, max_size=n_rows - 1))
        columns[f"c{i}"] = [draw(cells), *more]
        groups.setdefault(f"g{draw(st.integers(0, 2))}", []).append(f"c{i}")
    return columns, types, groups, gaps


@settings(deadline=None, derandomize=True, max_examples=100)
@given(tables())
def test_tables_files_answers_and_single_rows_give_the_same_inputs(drawn):
    columns, types, groups, gaps = drawn
    table = pl.DataFrame(columns, schema=types)
    encoding = learn(table, gaps, groups)
    rows, features = encoding.rows(table), encoding.features
    assert rows.shape == (len(table), encoding.n_inputs)
    same(again(encoding).rows(table.to_arrow()), rows)
    same(answer_rows(encoding, table.to_pandas(), len(table)), rows)
    by_place = rows[:, encoding.places(features)]
    same([encoding.row(record, features) for record in table.to_dicts()], by_place)
    missing = [
        [any(record[column] is None for column in encoding.needs(name)) for name in features]
        for record in table.to_dicts()
    ]
    assert encoding.missing_by_feature(rows).tolist() == missing
    assert encoding.input_feature.tolist() == [
        features.index(name)
        for column, code in zip(encoding.columns, encoding.codes, strict=True)
        for name in [next(group for group in groups if column in groups[group])] * code.n_inputs
    ]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda v: v.update(gaps="drop"), "'gaps' must be one of refuse, impute, skip, got 'drop'"),
        (lambda v: v.update(features=["age"]), "'feature' must be one of the features, got"),
        (lambda v: v["features"].append("x"), "'columns' must be columns of all features, 'x' too"),
        (lambda v: v["columns"][0].update(kind="date"), "'kind' must be one of number, truth, cat"),
        (
            lambda v: v["columns"][0].update(name="ill"),
            "'name' must be different from those before",
        ),
        (
            lambda v: v["columns"][0].update(marks_missing=True),
            "'marks_missing' must be false unless gaps",
        ),
        (lambda v: v["columns"][1].update(categories=[]), "'categories' must be a list of differ"),
        (
            lambda v: v["columns"][1].update(categories=["b", "a"]),
            "'categories' must be at most 1,",
        ),
        (lambda v: v["columns"][1].pop("categories"), "must have 'categories', got"),
    ],
)
def test_a_false_file_is_refused(change, words):
    with pytest.raises(FileError, match=f"the file.*{words}"):
        again(learn(pd.DataFrame(COLUMNS)), change)


@pytest.mark.parametrize(
    ("feature_of", "words"), [((0,), "one entry for each of 2"), ((0, 0), "every position in")]
)
def test_features_that_do_not_fit_the_columns_are_refused(feature_of, words):
    with pytest.raises(ParameterError, match=f"feature_of must h.*{words}"):
        Encoding((ColumnCode("a"), ColumnCode("b")), ("a", "b"), feature_of)


def test_ten_thousand_columns_are_read_in_a_time_that_grows_with_them():
    names = [f"c{i}" for i in range(10_000)]
    encoding = Encoding(tuple(map(ColumnCode, names)), tuple(names), tuple(range(len(names))))
    started = process_time()
    again = Encoding.from_dict(Fields(encoding.to_dict(), "the file"))
    assert again.needs("c9999") == ("c9999",)
    assert process_time() - started < 5  # the square of them took 25 s
