"""Encodings of single rows, of a source's answers, and in files."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from time import process_time

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.encodings import COLUMNS, NAN, learn, same

from emsco._base.documents import Fields
from emsco.data.encoding import ColumnCode, Encoding, answer_rows
from emsco.errors import DataError, FileError, ParameterError

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
    found = again(encoding)
    assert found.codes == encoding.codes
    assert (found.features, found.feature_of) == (encoding.features, encoding.feature_of)
    assert found.gaps == gaps
    same(found.rows(table), encoding.rows(table))


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
