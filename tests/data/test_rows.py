"""Rows of any table as float64, and errors that name the bad column."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from support.settings import PLAIN

from emsco import EMSCOClassifier
from emsco.data.rows import check_finite, table_rows
from emsco.errors import DataError

NAMES = ("age", "sex", "scan")
VALUES = np.array([[63.0, 1.0, 0.25], [41.0, 0.0, -7.5]])


def frame(library, order=NAMES):
    columns = dict(zip(NAMES, VALUES.T.tolist(), strict=True))
    return library.DataFrame({name: columns[name] for name in order})


class TestTables:
    @pytest.mark.parametrize("kind", [np.float32, np.int64, "F"])
    def test_a_large_array_is_copied_value_by_value(self, kind):
        given = np.arange(300_006.0).reshape(-1, 3)
        given = np.asfortranarray(given) if kind == "F" else given.astype(kind)
        rows = table_rows(given, NAMES)
        assert rows.dtype == np.float64
        assert rows.flags.c_contiguous
        np.testing.assert_array_equal(rows, given)

    @pytest.mark.parametrize(
        "table",
        [
            VALUES.tolist(),
            VALUES.astype(np.float32),
            np.asfortranarray(VALUES),
            np.repeat(VALUES, 2, axis=1)[:, ::2],
            VALUES.astype(object),
        ],
        ids=["lists", "float32", "column-major", "strided", "objects"],
    )
    def test_other_arrays_become_float64_in_row_order(self, table):
        rows = table_rows(table, NAMES)
        assert rows.tolist() == VALUES.tolist()
        assert rows.dtype == np.float64
        assert rows.flags.c_contiguous

    @pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
    @pytest.mark.parametrize("order", [NAMES, ("scan", "age", "sex"), NAMES[::-1]])
    def test_a_frame_is_read_by_name_in_any_order(self, library, order):
        assert table_rows(frame(library, order), NAMES).tolist() == VALUES.tolist()

    @pytest.mark.parametrize("library", [pd, pl], ids=["pandas", "polars"])
    def test_other_columns_of_a_frame_are_ignored(self, library):
        wide = library.DataFrame({"note": ["a", "b"], "age": [63.0, 41.0], "id": [1, 2]})
        assert table_rows(wide, ("age",)).tolist() == [[63.0], [41.0]]

    def test_a_pyarrow_table_is_read_by_name_in_any_order(self):
        table = pa.Table.from_pandas(frame(pd, NAMES[::-1]))
        assert table_rows(table, NAMES).tolist() == VALUES.tolist()
        with pytest.raises(DataError, match="'sex'"):
            table_rows(table.select(["age"]), NAMES, "new.pq")

    def test_columns_of_different_types_meet_in_float64(self):
        mixed = pd.DataFrame(
            {"age": np.array([63, 41], np.int8), "sex": [True, False], "scan": VALUES[:, 2]}
        )
        assert table_rows(mixed, NAMES).tolist() == VALUES.tolist()
        assert table_rows(pl.from_pandas(mixed), NAMES).tolist() == VALUES.tolist()

    @pytest.mark.parametrize(
        "missing",
        [
            pd.DataFrame({"age": pd.array([1, None], dtype="Int64")}),
            pd.DataFrame({"age": [1, None]}, dtype=object),
            pd.DataFrame({"age": pd.array([True, None], dtype="boolean")}),
            pd.DataFrame({"age": pd.Series([1, pd.NA], dtype=object)}),
            pl.DataFrame({"age": [1, None]}),
            pa.table({"age": [1, None]}),
            np.ma.masked_equal([[1.0], [2.0]], 2.0),
        ],
        ids=["Int64", "objects", "boolean", "pandas NA", "polars", "pyarrow", "masked"],
    )
    def test_missing_values_become_nan(self, missing):
        np.testing.assert_array_equal(table_rows(missing, ("age",)), [[1.0], [np.nan]])

    def test_a_table_without_rows_gives_no_rows(self):
        assert table_rows(np.zeros((0, 3)), NAMES).shape == (0, 3)
        assert table_rows(frame(pl).head(0), NAMES).shape == (0, 3)


class TestOddities:
    @pytest.mark.parametrize(
        "table",
        [np.ones((2, 3), dtype=complex), np.zeros((2, 3), dtype="datetime64[s]")],
    )
    def test_values_that_numbers_cannot_represent_are_refused(self, table):
        with pytest.raises(DataError):
            table_rows(table, NAMES)


class TestFinite:
    def test_rows_past_the_first_block_keep_their_number(self):
        rows = np.zeros((70_000, 1))
        rows[69_999] = np.inf
        with pytest.raises(DataError, match="'age'"):
            check_finite(rows, ("age",))

    def test_large_numbers_pass_and_absurd_ones_are_refused(self):
        rows = np.full((2, 3), 1e100)
        check_finite(rows, NAMES)
        check_finite(-rows, NAMES)
        with pytest.raises(DataError):
            check_finite(1.1 * rows, NAMES)

    def test_only_missing_values_pass_if_they_are_allowed(self):
        rows = np.zeros((9, 3))
        rows[2, 0] = np.nan
        check_finite(rows, NAMES, gaps=True)
        rows[7, 1] = np.inf
        with pytest.raises(DataError, match="'sex'"):
            check_finite(rows, NAMES, gaps=True)


def test_pandas_columns_may_be_called_like_attributes_of_other_tables():
    names = ["collect", "collect_schema", "columns", "column_names", "dtype", "to_pylist", "shape"]
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(60, len(names))), columns=names)
    y = X["collect"] > 0
    clf = EMSCOClassifier(**PLAIN, max_stages=2, generations=1, population_size=5, random_state=0)
    clf.fit(X, y)
    assert clf.feature_names_in_.tolist() == names
    wanted = clf.decide(X)
    assert clf.cascade_.decide(X[names[::-1]]).confidence.tolist() == wanted.confidence.tolist()
    bought = clf.cascade_.run(X.index, lambda asked, ids: X.loc[ids, asked])
    assert bought.confidence.tolist() == wanted.confidence.tolist()
    assert table_rows(X, tuple(names)).shape == (60, 7)


@pytest.mark.parametrize("columns", [{"columns": ["a"]}, {}], ids=["frame", "array"])
def test_a_dask_table_is_refused_and_a_sample_asked_for(columns):
    kind = type("DataFrame", (), {"__module__": "dask.dataframe", "__len__": lambda _: 9} | columns)
    clf = EMSCOClassifier(**PLAIN, generations=1, population_size=5)
    clf.fit(np.random.default_rng(0).integers(0, 9, size=(60, 2)), np.arange(60) // 30)
    said = r"X must be in memory, got a Dask DataFrame; compute\(\) it, or a sample of its rows\.$"
    for refuse in (clf.fit, clf.evaluate, clf.cascade_.evaluate):
        with pytest.raises(DataError, match=said):
            refuse(kind(), np.zeros(9))
    for refuse in (clf.decide, clf.cascade_.decide):
        with pytest.raises(DataError, match=said):
            refuse(kind())
