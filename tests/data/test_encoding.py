"""Encodings of tables: categories, truth values, missing values, and words about misuse."""

from __future__ import annotations

import json
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.encodings import COLUMNS, FRAMES, NAN, costs_of, learn, same

from emsco._base.documents import Fields
from emsco.data.answers import answer_rows
from emsco.data.encoding import Encoding
from emsco.data.training import TrainingData
from emsco.errors import DataError, FileError

ROWS = [[63, 0, 1, 1], [41, 1, 0, 0], [50, 0, 1, 1]]


# Columns of every kind


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_a_category_is_an_input_each_and_a_truth_value_is_0_or_1(frame):
    table = frame(COLUMNS)
    encoding = learn(table)
    assert encoding.codes[1].categories == ("blue", "red")
    assert encoding.kinds == {"age": "number", "colour": "category", "ill": "truth"}
    assert encoding.input_feature.tolist() == [0, 1, 1, 2]
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
        pd.DataFrame({"n": pd.Series([1.0, pd.NA], dtype=object)}),
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
    assert encoding.codes[0].marks_missing
    same(encoding.rows(table), [[1, 0], [NAN, 1]])


def test_columns_of_an_array_of_objects_are_each_of_a_kind():
    X = np.array([[1, "a", True], [2.5, "b", False]], dtype=object)
    encoding = learn(X)
    assert list(encoding.kinds.values()) == ["number", "category", "truth"]
    same(encoding.rows(X), [[1, 1, 0, 1], [2.5, 0, 1, 0]])
    same(encoding.rows(X.tolist()), [[1, 1, 0, 1], [2.5, 0, 1, 0]])


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


# Missing values


def test_missing_values_are_marked_only_if_imputed_and_present_in_training():
    table = pd.DataFrame({"a": [1, None, 3], "b": [1, 2, 3], "c": ["x", None, None]})
    imputed, skipped = learn(table, "impute"), learn(table, "skip")
    assert [code.marks_missing for code in imputed.codes] == [True, False, True]
    assert imputed.input_feature.tolist() == [0, 0, 1, 2, 2]
    assert not any(code.marks_missing for code in skipped.codes)
    new = pd.DataFrame({"a": [1.0], "b": [None], "c": ["x"]})
    same(imputed.rows(new), [[1, 0, NAN, 1, 0]])
    same(skipped.rows(new), [[1, NAN, 1]])


@pytest.mark.parametrize("gaps", ["impute", "skip"])
@pytest.mark.parametrize("nothing", [[NAN, NAN], [None, None]])
def test_a_column_without_values_is_refused_in_training_and_passes_later(gaps, nothing):
    table = pl.DataFrame({"a": nothing}, schema={"a": pl.Float64})
    with pytest.raises(DataError, match="'a'"):
        learn(table, gaps)
    with pytest.raises(DataError, match="'c'"):
        learn(pl.DataFrame({"c": [None]}, schema={"c": pl.String}), gaps)
    same(learn(pl.DataFrame({"a": [1.0]}), gaps).rows(pl.DataFrame({"a": nothing})), [[NAN]] * 2)
    rows = learn(pl.DataFrame({"a": ["x"]}), gaps).rows(pl.DataFrame({"a": [None]}))
    same(rows, [[NAN]])


# Refused tables


def test_too_many_categories_are_probably_an_id():
    learn(pl.DataFrame({"a": [f"n{i}" for i in range(1000)]}))
    with pytest.raises(DataError):
        learn(pl.DataFrame({"a": [f"n{i}" for i in range(1001)]}))


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


def test_categories_that_are_numbers_take_numbers_in_one_row():
    encoding = learn(pd.DataFrame({"n": pd.Categorical([1, 3])}))
    assert encoding.row({"n": 3}, ["n"]) == encoding.row({"n": "3"}, ["n"]) == [0, 1]
    with pytest.raises(DataError, match="'n'"):
        encoding.row({"n": NAN}, ["n"])


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


# Files


def again(encoding, change=lambda _: None):
    plain = json.loads(json.dumps(encoding.to_dict()))
    change(plain)
    return Encoding.from_dict(Fields(plain, "the file"))


@pytest.mark.parametrize("gaps", ["refuse", "impute", "skip"])
def test_an_encoding_is_the_same_after_a_file(gaps):
    table = pd.DataFrame({**COLUMNS, "ill": [True, False, None if gaps != "refuse" else True]})
    costs = costs_of(table, {"both": ["age", "ill"]})
    encoding = TrainingData.from_table(table, np.array([0, 1, 1]), None, costs, gaps).encoding
    assert encoding.codes[0].range == (41, 63)
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
@given(tables(), st.sampled_from(sorted(FRAMES)), st.randoms(use_true_random=False))
def test_any_frame_files_answers_and_single_rows_give_the_same_inputs(drawn, kind, shuffler):
    columns, types, groups, gaps = drawn
    shuffled = [*columns, "id"]
    shuffler.shuffle(shuffled)
    table = pl.DataFrame(columns, schema=types)
    encoding = learn(table, gaps, groups)
    rows, features = encoding.rows(table), encoding.features
    assert rows.shape == (len(table), encoding.n_inputs)
    more = {**columns, "id": ["x"] * len(table)}
    same(again(encoding).rows(FRAMES[kind]({name: more[name] for name in shuffled})), rows)
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
    "change",
    [
        lambda v: v.update(gaps="drop"),
        lambda v: v.update(features=["age"]),
        lambda v: v["features"].append("x"),
        lambda v: v["columns"][0].update(kind="date"),
        lambda v: v["columns"][0].update(range=[2, 1]),
        lambda v: v["columns"][0].update(name="ill"),
        lambda v: v["columns"][0].update(marks_missing=True),
        lambda v: v["columns"][1].update(categories=[]),
        lambda v: v["columns"][1].update(categories=["b", "a"]),
        lambda v: v["columns"][1].pop("categories"),
    ],
)
def test_a_false_file_is_refused(change):
    with pytest.raises(FileError):
        again(learn(pd.DataFrame(COLUMNS)), change)
