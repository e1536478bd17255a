"""Rows of any table as float64, and bad tables: one sentence that names column and row."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.encodings import FRAMES
from support.sentences import assert_is_a_sentence
from support.settings import PLAIN

from emsco import EMSCOClassifier, FeatureCosts
from emsco.data.rows import check_finite, table_rows
from emsco.data.training import TrainingData
from emsco.errors import DataError

NAMES = ("age", "sex", "scan")
VALUES = np.array([[63.0, 1.0, 0.25], [41.0, 0.0, -7.5]])
SCAN = VALUES[:, 2].tolist()
QUICK = {**PLAIN, "max_stages": 2, "generations": 1, "population_size": 5, "random_state": 0}


@pytest.mark.parametrize(
    "table",
    [
        VALUES.tolist(),
        VALUES.astype(np.float32),
        np.asfortranarray(VALUES),
        np.repeat(VALUES, 2, axis=1)[:, ::2],
        VALUES.astype(object),
        pd.DataFrame(VALUES, columns=NAMES).assign(note="a")[["note", *NAMES[::-1]]],
        pl.DataFrame(VALUES[:, ::-1], schema=NAMES[::-1]),
        pa.table(dict(zip(NAMES[::-1], VALUES.T[::-1], strict=True))),
        pd.DataFrame({"age": np.array([63, 41], np.int8), "sex": [True, False], "scan": SCAN}),
        pl.DataFrame({"age": [63, 41], "sex": [True, False], "scan": SCAN}),
    ],
)
def test_numbers_of_any_table_are_float64_in_row_order(table):
    rows = table_rows(table, NAMES)
    assert rows.tolist() == VALUES.tolist()
    assert rows.dtype == np.float64
    assert rows.flags.c_contiguous
    if not isinstance(table, list):
        assert table_rows(table[:0], NAMES).shape == (0, 3)


@pytest.mark.parametrize("kind", [np.float32, np.int64, "F"])
def test_a_large_array_is_copied_value_by_value(kind):
    given = np.arange(300_006.0).reshape(-1, 3)
    given = np.asfortranarray(given) if kind == "F" else given.astype(kind)
    np.testing.assert_array_equal(table_rows(given, NAMES), given)


@pytest.mark.parametrize(
    "missing",
    [
        pd.DataFrame({"age": pd.array([1, None], dtype="Int64")}),
        pd.DataFrame({"age": [1, None]}, dtype=object),
        pd.DataFrame({"age": pd.array([True, None], dtype="boolean")}),
        pd.DataFrame({"age": pd.Series([1, pd.NA], dtype=object)}),
        pl.DataFrame({"age": [1, None]}),
        pl.DataFrame({"age": [True, None]}),
        pa.table({"age": [1, None]}),
        np.ma.masked_equal([[1.0], [2.0]], 2.0),
    ],
)
def test_missing_values_become_nan(missing):
    np.testing.assert_array_equal(table_rows(missing, ("age",)), [[1.0], [np.nan]])


def test_large_numbers_pass_and_absurd_ones_and_gaps_are_named():
    rows = np.full((70_000, 3), 1e100)
    check_finite(-rows, NAMES, gaps=False)
    rows[9, 0] = np.nan
    check_finite(rows, NAMES, gaps=True)
    for gaps, name, row in ((False, "age", 9), (True, "sex", 69_999)):
        rows[69_999, 1] = 1.1e100
        with pytest.raises(DataError, match=f"{name!r}, row {row}") as caught:
            check_finite(rows, NAMES, gaps=gaps)
        assert caught.value.row == row


# Bad input

COLUMNS = {
    "age": np.arange(40.0).tolist(),
    "sex": [True, False] * 20,
    "ward": ["north", "south"] * 20,
}
COSTS = FeatureCosts.from_mapping(dict.fromkeys(COLUMNS, 1))
Y = np.arange(40) // 5 % 2
LIBRARIES = {
    **FRAMES,
    "array": lambda columns: np.array(list(zip(*columns.values(), strict=True)), dtype=object),
    "lists": lambda columns: [list(row) for row in zip(*columns.values(), strict=True)],
}
# (column, value in row 7, what the sentence must show)
BAD_CELLS = [
    ("age", math.inf, "infinity"),
    ("age", -1e200, "-1e+200"),
    ("age", None, "missing"),
    ("sex", None, "missing"),
    ("ward", None, "missing"),
]
MIXED = [
    ("age", "old", "'old'"),
    ("sex", 2, "int 2"),
    ("ward", 3.5, "3.5"),
    ("age", Fraction(1, 2), "Fraction"),
]


@pytest.mark.parametrize(
    ("library", "cell"),
    [
        *((name, cell) for name in LIBRARIES for cell in BAD_CELLS),
        *((name, cell) for name in ("pandas", "array", "lists") for cell in MIXED),
    ],
)
def test_a_bad_cell_is_named_with_its_column_and_row(library, cell):
    name, value, shown = cell
    columns = {**COLUMNS, name: [*COLUMNS[name][:7], value, *COLUMNS[name][8:]]}
    with pytest.raises(DataError) as caught:
        TrainingData.from_table(LIBRARIES[library](columns), Y, None, COSTS, "refuse")
    assert_is_a_sentence(str(caught.value), shown)
    assert_is_a_sentence(str(caught.value), f"{name!r}, row 7")


FRAME = pd.DataFrame(COLUMNS)
BAD_TABLES = {
    "ragged rows": ([[1, 2, 3]] * 39 + [[1, 2]], Y, "row 39 has 2"),
    "lists in cells": (FRAME.assign(ward=[["north"]] * 40), Y, "list"),
    "a name twice": (FRAME.set_axis(["age", "age", "ward"], axis=1), Y, "'age'"),
    "names of two kinds": (FRAME.set_axis(["age", 7, "ward"], axis=1), Y, "7"),
    "no rows": (FRAME[:0], Y[:0], "none"),
    "no columns": (np.zeros((40, 0)), Y, "(40, 0)"),
    "one dimension": (np.arange(40.0), Y, "(40,)"),
    "dates": (FRAME.assign(age=pd.Timestamp("2026-01-01")), Y, "'age'"),
    "bytes": (np.full((40, 1), b"a"), Y, "bytes"),
    "complex numbers": (np.ones((40, 2)) + 1j, Y, "omplex"),
    "a lazy frame": (pl.from_pandas(FRAME).lazy(), Y, "collect()"),
    "no value in a column": (FRAME.assign(ward=None), Y, "'ward'"),
    "one class": (FRAME, Y * 0, "class"),
    "labels of two types": (FRAME, [1, "ill"] * 20, "'ill'"),
    "a missing label": (FRAME, [None, *Y[1:]], "row 0"),
    "labels with fractions": (FRAME, np.linspace(0, 1, 40), "fractions"),
    "too few labels": (FRAME, Y[:39], "39"),
}


@pytest.mark.parametrize(("X", "y", "shown"), BAD_TABLES.values(), ids=BAD_TABLES)
def test_a_bad_table_or_bad_labels_get_one_sentence(X, y, shown):
    with pytest.raises(DataError) as caught:
        EMSCOClassifier(**QUICK).fit(X, y)
    assert_is_a_sentence(str(caught.value), shown)


def test_pandas_columns_may_be_called_like_attributes_of_other_tables():
    names = ["collect", "collect_schema", "columns", "column_names", "dtype", "to_pylist", "shape"]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, len(names))), columns=names)
    clf = EMSCOClassifier(**QUICK).fit(X, X["collect"] > 0)
    assert clf.feature_names_in_.tolist() == names
    wanted = clf.decide(X)
    assert clf.cascade_.decide(X[names[::-1]]).confidence.tolist() == wanted.confidence.tolist()
    bought = clf.cascade_.run(X.index, lambda asked, ids: X.loc[ids, asked])
    assert bought.confidence.tolist() == wanted.confidence.tolist()


@pytest.mark.parametrize("columns", [{"columns": ["a"]}, {}], ids=["frame", "array"])
def test_a_dask_table_is_refused_and_a_sample_asked_for(columns):
    kind = type("DataFrame", (), {"__module__": "dask.dataframe", "__len__": lambda _: 9} | columns)
    clf = EMSCOClassifier(**QUICK).fit(
        np.random.default_rng(0).normal(size=(60, 2)), np.arange(60) // 30
    )
    for refuse in (clf.fit, clf.evaluate, clf.cascade_.evaluate):
        with pytest.raises(DataError, match="got a Dask DataFrame; compute"):
            refuse(kind(), np.zeros(9))
    for refuse in (clf.decide, clf.cascade_.decide):
        with pytest.raises(DataError, match="got a Dask DataFrame; compute"):
            refuse(kind())
