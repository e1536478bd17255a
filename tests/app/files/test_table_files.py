"""Tables on disk: reading, refusals in words, writing, and files after a failure."""

from __future__ import annotations

import datetime
import decimal
import gzip
from contextlib import nullcontext

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from emsco.app.files import csv as csv_files
from emsco.app.files import parquet
from emsco.app.files.table_files import by_line, read_chunks, read_labelled, write_table
from emsco.costs import FeatureCosts
from emsco.data.encoding import Encoding
from emsco.data.rows import table_rows
from emsco.errors import DataError, ReadingWarning


@pytest.fixture
def written(tmp_path):
    """Return a function that writes text, bytes or columns to a file and returns its path."""

    def write(content, name="rows.csv"):
        path = tmp_path / name
        if isinstance(content, dict):
            pq.write_table(pa.table(content), path)
        else:
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def tiny_blocks(monkeypatch):
    """Read only a few rows at a time, in both formats."""
    monkeypatch.setattr(csv_files, "_BLOCK", 64)
    monkeypatch.setattr(parquet, "_ROWS", 5)


def numbers(table, path="X"):
    return table_rows(table, tuple(table.column_names), str(path))


def many_rows(n_rows=200):
    return "a,b,note\n" + "".join(f"{i},{i / 2},n{i}\n" for i in range(n_rows))


# Rows with labels


def test_features_come_in_the_order_of_the_file_and_the_target_may_stand_anywhere(written):
    X, y, names = read_labelled(written("b,y,a\n1,0,2\n3,1,4\n"), "y")
    assert names == ("b", "a")
    assert numbers(X).tolist() == [[1, 2], [3, 4]]
    assert y.tolist() == [0, 1]


def test_features_come_in_the_order_asked_for_and_other_columns_are_ignored(written):
    X, _, _ = read_labelled(written("b,note,y,a\n1,x,0,2\n3,z,1,4\n"), "y", ["a", "b"])
    assert numbers(X).tolist() == [[2, 1], [4, 3]]


def test_csv_and_parquet_give_the_same(written):
    text = "a,b,y\n0.1,true,yes\n-2e-3,false,no\n"
    columns = {"a": [0.1, -2e-3], "b": [True, False], "y": ["yes", "no"]}
    paths = written(text), written(gzip.compress(text.encode()), "rows.csv.gz")
    for path in (*paths, written(columns, "rows.parquet"), written(columns, "rows.PQ")):
        X, y, names = read_labelled(path, "y")
        assert names == ("a", "b")
        assert numbers(X).tolist() == [[0.1, 1], [-2e-3, 0]]
        assert y.tolist() == ["yes", "no"]


@pytest.mark.parametrize(
    ("cells", "labels"),
    [
        (["1", "2"], [1, 2]),
        (["true", "false"], [True, False]),
        (["yes", "no"], ["yes", "no"]),
        (["1", "x"], ["1", "x"]),
        (["0.5", "1"], [0.5, 1.0]),
        (["2026-01-01", "2026-01-02"], ["2026-01-01", "2026-01-02"]),
        (["00", "01"], ["00", "01"]),
        (["1.0", "1"], ["1.0", "1"]),
    ],
    ids=["whole", "truth", "text", "mixed", "decimal", "dates", "zeros", "alike"],
)
def test_labels_are_numbers_truth_values_or_text_as_written(written, cells, labels):
    _, y, _ = read_labelled(written(f"a,y\n1,{cells[0]}\n2,{cells[1]}\n"), "y")
    assert y.tolist() == labels
    assert y.dtype != object


@pytest.mark.parametrize(
    ("labels", "read_labels"),
    [
        (pa.array(["u", "v"]).dictionary_encode(), ["u", "v"]),
        (pa.array([7, 8]).dictionary_encode(), [7, 8]),
        (pa.array([datetime.date(2026, 1, 1)] * 2), ["2026-01-01"] * 2),
        (pa.array(["u", "v"], pa.large_string()), ["u", "v"]),
    ],
    ids=["categories", "numbered-categories", "dates", "large-text"],
)
def test_labels_of_parquet_may_be_categories_and_dates(written, labels, read_labels):
    _, y, _ = read_labelled(written({"a": [1, 2], "y": labels}, "rows.parquet"), "y")
    assert y.tolist() == read_labels


# Rows to decide, in chunks


@pytest.mark.usefixtures("tiny_blocks")
@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_many_tiny_chunks_are_the_whole_file_in_order(written, name):
    columns = {"a": np.arange(200), "b": np.arange(200) / 2, "note": [f"n{i}" for i in range(200)]}
    path = written(many_rows() if name.endswith("csv") else columns, name)
    chunks = list(read_chunks(path, ["b", "a"], ["note"]))
    assert len(chunks) > 20
    assert [chunk.first for chunk in chunks[1:]] == np.cumsum(
        [chunk.table.num_rows for chunk in chunks[:-1]]
    ).tolist()
    rows = np.concatenate([numbers(chunk.table) for chunk in chunks])
    assert rows.tolist() == [[i / 2, i] for i in range(200)]
    notes = [note for chunk in chunks for note in chunk.kept["note"].to_pylist()]
    assert notes == [f"n{i}" for i in range(200)]


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_a_table_without_rows_still_has_its_columns(written, name):
    empty = {column: pa.array([], pa.float64()) for column in ("a", "b", "note")}
    path = written("a,b,note\n" if name.endswith("csv") else empty, name)
    (chunk,) = read_chunks(path, ["a", "b"], ["note"])
    assert numbers(chunk.table).shape == (0, 2)
    assert len(chunk.kept["note"]) == 0


def test_kept_columns_of_csv_are_text_just_as_they_stand_there(written):
    path = written('id,a,b\n007,1,2\n,1,2\nNA,1,2\n"1,5",1,2\n')
    *_, chunk = read_chunks(path, ["a", "b"], ["id", "id"])
    assert chunk.kept["id"].to_pylist() == ["007", "", "NA", "1,5"]


@pytest.mark.usefixtures("tiny_blocks")
def test_texts_of_several_lines_may_cross_the_ends_of_chunks(written):
    path = written("note,a,b\n" + '"one\n\ntwo",1,2\n' * 50)
    assert sum(chunk.table.num_rows for chunk in read_chunks(path, ["a", "b"])) == 50


def test_truth_values_and_empty_cells_become_numbers_and_nan(written):
    *_, chunk = read_chunks(written("a,b\ntrue,1\nFalse,\n,NA\n"), ["a", "b"])
    assert np.array_equal(
        numbers(chunk.table), [[1, 1], [0, np.nan], [np.nan, np.nan]], equal_nan=True
    )


def test_every_kind_of_number_of_parquet_is_read(written):
    columns = {
        "decimal": pa.array([decimal.Decimal("1.25"), None]),
        "whole": pa.array([3, None]),
        "huge": pa.array([2**63, 1], pa.uint64()),
        "truth": pa.array([True, None]),
        "short": pa.array([0.5, 1], pa.float32()),
    }
    *_, chunk = read_chunks(written(columns, "rows.parquet"), list(columns))
    assert numbers(chunk.table)[0].tolist() == [1.25, 3, 2.0**63, 1, 0.5]
    assert np.isnan(numbers(chunk.table)[1]).tolist() == [True, True, False, True, False]


# Categories, truth values and missing values


@pytest.mark.parametrize("name", ["rows.csv", "rows.parquet"])
def test_text_truth_values_and_missing_values_are_read_by_kind(written, name):
    text = "colour,ill,age,y\nred,true,63,0\nNA,,,1\nblue,false,41,0\n"
    columns = {
        "colour": pa.array(["red", None, "blue"]).dictionary_encode(),
        "ill": [True, None, False],
        "age": [63, None, 41],
        "y": [0, 1, 0],
    }
    path = written(text if name.endswith("csv") else columns, name)
    with pytest.warns(ReadingWarning, match="'NA'") if name.endswith("csv") else nullcontext():
        table, _, names = read_labelled(path, "y")
    encoding = Encoding.learn(table, FeatureCosts.resolve(None, names), "skip")
    assert list(encoding.kinds.values()) == ["category", "truth", "number"]
    values = [[0, 1, 1, 63], [np.nan] * 4, [1, 0, 0, 41]]
    np.testing.assert_array_equal(encoding.rows(table), values)


def test_a_category_stays_text_where_it_looks_like_a_number(written):
    path = written("a,b\n01,1\n,2\n1,3\nNA,4\n")
    *_, chunk = read_chunks(path, ["a", "b"], ["a"], {"a": "category", "b": "number"})
    assert chunk.table["a"].to_pylist() == ["01", None, "1", None]
    assert chunk.table["b"].to_pylist() == [1, 2, 3, 4]
    assert chunk.kept["a"].to_pylist() == ["01", "", "1", "NA"]
    table, _, _ = read_labelled(path, "b", kinds={"a": "category"})
    assert table["a"].to_pylist() == ["01", None, "1", None]


@pytest.mark.usefixtures("tiny_blocks")
def test_truth_values_may_begin_with_missing_ones_or_be_0_and_1(written):
    kinds = {"a": "truth"}
    path = written("a,b\n" + "NA,0\n" * 50 + "true,0\n")
    chunks = list(read_chunks(path, ["a"], kinds=kinds))
    assert chunks[-1].table["a"].to_pylist()[-1] is True
    *_, chunk = read_chunks(written("a\n1\n0\n"), ["a"], kinds=kinds)
    assert numbers(chunk.table).tolist() == [[1], [0]]


@pytest.mark.usefixtures("tiny_blocks")
@pytest.mark.parametrize("name", ["new.csv", "new.parquet"])
def test_an_encoding_of_one_file_reads_another_in_chunks(written, name):
    path = written("zip,ill,age,y\n01,true,5,0\nA2,false,,1\n")
    table, _, names = read_labelled(path, "y", kinds={"zip": "category", "ill": "truth"})
    encoding = Encoding.learn(table, FeatureCosts.resolve(None, names), "impute")
    new = {"age": [None, 7.0] * 20, "zip": ["01", "1"] * 20, "ill": [None, True] * 20}
    text = "age,zip,ill\n" + ",01,\n7,1,true\n" * 20
    path = written(text if name.endswith("csv") else new, name)
    chunks = list(read_chunks(path, encoding.columns, kinds=encoding.kinds))
    assert len(chunks) > 3
    rows = [encoding.rows(chunk.table, chunk.first + 1, str(path)) for chunk in chunks]
    values = [[1, 0, np.nan, np.nan, 1], [0, 0, 1, 7, 0]] * 20
    np.testing.assert_array_equal(np.concatenate(rows), values)


# Writing


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet"])
def test_chunks_are_written_one_after_another(tmp_path, name):
    with write_table(tmp_path / name) as table:
        for start in (0, 3):
            labels = np.ma.MaskedArray(np.arange(start, start + 3), mask=[True, False, False])
            table.write({"label": labels, "text": np.array(["a", "b,c", "d"])})
    read = pq.read_table if name.endswith("parquet") else pyarrow.csv.read_csv
    columns = read(tmp_path / name).to_pydict()
    assert columns == {"label": [None, 1, 2, None, 4, 5], "text": ["a", "b,c", "d"] * 2}


def test_a_compressed_file_is_compressed_and_the_same_every_time(tmp_path):
    for name in ("one.csv.gz", "two.csv.gz"):
        with write_table(tmp_path / name) as table:
            table.write({"a": [1, 2]})
    content = (tmp_path / "one.csv.gz").read_bytes()
    assert gzip.decompress(content) == b'"a"\n1\n2\n'
    assert content == (tmp_path / "two.csv.gz").read_bytes()


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.parquet"])
@pytest.mark.parametrize("failure", [DataError, KeyboardInterrupt])
def test_where_writing_fails_the_earlier_file_stays_and_nothing_else(tmp_path, name, failure):
    def fail():
        with write_table(tmp_path / name) as table:
            table.write({"a": np.arange(1000)})
            raise failure("halfway")

    (tmp_path / name).write_text("earlier")
    with pytest.raises(failure, match="halfway"):
        fail()
    assert [path.read_text() for path in tmp_path.iterdir()] == ["earlier"]


def test_an_error_names_the_line_of_its_row_and_no_quoted_name_changes(written):
    path = written("a,b\n\n1,2\n3,4\n")
    said = "column 'row 2' must be known, got none in row {}."
    with pytest.raises(DataError) as caught, by_line(path):
        raise DataError(said.format(2), row=2)
    assert str(caught.value) == said.format(2).replace("in row 2", "in line 4")
    with pytest.raises(DataError, match="in row 9"), by_line(path):  # there is no such row
        raise DataError(said.format(9), row=9)
