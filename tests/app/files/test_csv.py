"""CSV files as they come: separators, decimal commas, headers, markers, spaces, dates and lines."""

from __future__ import annotations

import datetime
import warnings

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emsco.app.files.csv import CsvFile
from emsco.app.files.reading import Reading
from emsco.app.files.table_files import column_names, read_chunks, read_labelled, settled_reading
from emsco.data.dates import date_order
from emsco.errors import DataError, ReadingWarning


@pytest.fixture
def written(tmp_path):
    """Return a function that writes text to a file and returns its path."""

    def write(text, name="rows.csv"):
        path = tmp_path / name
        path.write_bytes(text.encode())
        return path

    return write


def read(path, **told):
    """Return the columns and labels, and what was said about the file."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        table, y, _ = read_labelled(path, "y", reading=Reading(**told))
    assert all(issubclass(one.category, ReadingWarning) for one in said)
    words = [str(one.message).removeprefix(str(path)).strip(": ") for one in said]
    return {**table.to_pydict(), "y": y.tolist()}, words


# Separators, headers and decimal marks


@pytest.mark.parametrize(
    ("separator", "called"),
    [(";", "';'"), ("\t", "tabs"), ("|", "'|'")],
    ids=["semi", "tab", "bar"],
)
def test_another_separator_is_noticed_and_said(written, separator, called):
    path = written("a,b,y\n1,2,0\n3,4,1\n".replace(",", separator))
    table, said = read(path)
    assert table == {"a": [1, 3], "b": [2, 4], "y": [0, 1]}
    assert said == [f"was read with {called} between columns."]
    assert read(path, separator=separator) == (table, [])


def test_a_comma_in_the_first_line_settles_the_separator(written):
    path = written("a;b,y\n1,0\n2,1\n")
    assert column_names(path) == ["a;b", "y"]
    assert column_names(path, Reading(separator=";")) == ["a", "b,y"]
    with pytest.raises(DataError):
        read_labelled(path, "b")


def test_decimal_commas_are_noticed_if_all_numbers_have_them(written):
    path = written("a;b;y\n1,5;2;0\n-0,25;3;1\n")
    table, said = read(path, separator=";")
    assert table["a"] == [1.5, -0.25]
    assert said == [
        "was read with a decimal comma ('-0,25' in column 'a'); decimal '.' keeps it as text."
    ]
    assert read(path, separator=";", decimal=",") == (table, [])
    assert read(path, separator=";", decimal=".")[0]["a"] == ["1,5", "-0,25"]


def test_numbers_in_quotes_may_have_decimal_commas_too(written):
    table, _ = read(written('a,b,y\n"1,5",2,0\n"2,5",3,1\n'))
    assert table["a"] == [1.5, 2.5]


def test_a_decimal_comma_far_down_has_its_way_out(written):
    path = written("a;b\n" + "1;2\n" * 1500 + "1,5;2\n")
    with pytest.raises(DataError, match="'a'"):
        list(read_chunks(path, ["a", "b"]))


@pytest.mark.parametrize("first", ["a,b", "0,1", "1,2", "400,label", "x1,2"])
def test_names_that_are_numbers_are_names(written, first):
    assert column_names(written(f"{first}\n7,8\n9,8\n")) == first.split(",")


def test_without_names_the_first_line_is_a_row(written):
    path = written("1,no\n2,yes\n")
    table, y, _ = read_labelled(path, "column2", reading=Reading(header=False))
    assert (table.to_pydict(), y.tolist()) == ({"column1": [1, 2]}, ["no", "yes"])


def test_a_column_without_a_name_is_called_by_its_place(written):
    table, said = read(written(",a,y\n0,5,0\n1,6,1\n"))
    assert table == {"column1": [0, 1], "a": [5, 6], "y": [0, 1]}
    assert said == ["has no name for 'column1', which counts its columns."]


def test_a_byte_order_mark_and_spaces_after_commas_are_no_part_of_names_and_values(written):
    path = written("\ufeffa, colour , y\n1, red , ill\n 2,blue, well\n")
    assert read(path)[0] == {"a": [1, 2], "colour": ["red", "blue"], "y": ["ill", "well"]}


# Missing values


def test_markers_among_numbers_are_missing_values_and_said(written):
    path = written("a,b,y\n1,?,0\n-,2,1\n3, ?,0\n,4,1\nNA,5,1\n")
    table, said = read(path)
    assert table["a"] == [1, None, 3, None, None]
    assert table["b"] == [None, 2, None, 4, 5]
    words = "'-', '?', 'NA' were read as missing, 4 values in columns 'a', 'b'; na '' keeps them."
    assert said == [words]


def test_a_marker_that_may_be_a_category_stays_one(written):
    table, said = read(written("a,y\n-,0\n.,1\nNone,1\nmissing,0\nx,1\n"))
    assert table["a"] == ["-", ".", "None", "missing", "x"]
    assert said == []


def test_a_question_mark_is_missing_in_any_column_unless_told(written):
    path = written("a,y\n?,0\nx,1\n")
    table, said = read(path)
    assert (table["a"], len(said)) == ([None, "x"], 1)
    assert read(path, na=()) == ({"a": ["?", "x"], "y": [0, 1]}, [])


def test_told_markers_count_alone(written):
    path = written("a,b,y\n-999,x,0\n2,NA,1\n3,red,1\n")
    columns = {"a": [None, 2, 3], "b": [None, "NA", "red"], "y": [0, 1, 1]}
    assert read(path, na=("-999", "x")) == (columns, [])
    with pytest.raises(DataError, match="'a'"):
        read(written("a,y\n?,0\n1,1\n"), na=())


def test_new_rows_are_read_with_the_same_markers(written):
    path = written("a,b\n?,?\n1,-\n")
    kinds = {"a": "number", "b": "category"}
    *_, chunk = read_chunks(path, ["a", "b"], kinds=kinds)
    assert chunk.table.to_pydict() == {"a": [None, 1], "b": [None, "-"]}


# Dates


def test_an_order_is_clear_if_one_date_tells(written):
    assert date_order(["1/2/2026", "13/2/2026"]) == "day-first"
    assert date_order(["1/2/2026", "2/13/2026"]) == "month-first"
    path = written("a,y\n1/2/1970,0\n13/1/1970,1\n")
    assert settled_reading(path, Reading(dates="days")).dates == "day-first"
    assert read(path, dates="days")[0]["a"] == [31, 12]
    assert read(path, dates="day-first")[0]["a"] == [31, 12]


def test_dates_that_may_be_read_in_two_ways_are_refused(written):
    path = written("a,y\n1/2/1970,0\n3/2/1970,1\n")
    with pytest.raises(DataError):
        read(path, dates="days")
    assert read(path, dates="month-first")[0]["a"] == [1, 60]


def test_dates_of_parquet_become_days(tmp_path):
    path = tmp_path / "rows.parquet"
    moments = [datetime.datetime(1970, 1, 2, 6), None]
    days = [datetime.date(1970, 1, 3), datetime.date(1969, 12, 31)]
    pq.write_table(pa.table({"a": moments, "b": days, "y": [0, 1]}), path)
    assert read(path, dates="days")[0] == {"a": [1.25, None], "b": [2, -1], "y": [0, 1]}
    (_, chunk) = read_chunks(path, ["b"], reading=Reading(dates="days"))
    assert chunk.table["b"].to_pylist() == [2, -1]


# Lines


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None
)
@given(
    st.lists(
        st.sampled_from(["1", "22", '"a\nb"', '"x;\r\n\n,"', "", "?"]), min_size=1, max_size=8
    ),
    st.booleans(),
    st.sampled_from(["\n", "\r\n"]),
)
def test_the_line_of_a_row_is_where_it_begins(written, cells, header, end):
    lines = (["first,second"] if header else []) + [""]
    starts = []
    for cell in cells:
        starts.append(len(end.join(lines).splitlines()) + 1 if any(lines) else len(lines))
        lines.append(f"{cell},0")
    path = written(end.join(lines) + end)
    text = path.read_bytes().decode()
    file = CsvFile.look_at(path, Reading(header=header))
    for row, cell in enumerate(cells, start=1):
        line = file.line_of(row)
        assert (
            text.replace("\r\n", "\n")
            .split("\n")[line - 1]
            .startswith(f"{cell},0".replace("\r\n", "\n").split("\n")[0])
        )
    assert file.line_of(len(cells) + 1) is None
