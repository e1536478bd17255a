"""Tables in CSV and Parquet files, read at once or in chunks."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute
from pyarrow import csv as arrow_csv

from emsco._base.documents import PathLike, writing_atomically
from emsco._base.text import first_line, some
from emsco._base.typing import AnyArray
from emsco.app.files.csv import CsvFile, Kinds
from emsco.app.files.parquet import ParquetFile
from emsco.app.files.reading import AS_FOUND, Reading
from emsco.data.labels import labels_of
from emsco.data.rows import check_named
from emsco.errors import DataError, EMSCOError, FileError

_ENDINGS = {".csv": "csv", ".csv.gz": "csv", ".parquet": "parquet", ".pq": "parquet"}
_READ_ONLY = {".tsv": "csv", ".tsv.gz": "csv", ".txt": "csv", ".data": "csv"}
_MARKS = {";": ";", "\t": "tab", "|": "|"}  # in a name, they may have been meant as separators


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Consecutive rows of a file: columns to decide by, columns to keep, and labels.

    Attributes
    ----------
    first : int
        Number of rows before these, without the heading of a CSV file.
    table : pyarrow.Table
        Columns for `Encoding.rows`.
    kept : mapping
        Columns that pass through unchanged.
    labels : ndarray or None
        Labels of the rows if asked for.
    file : CsvFile or ParquetFile
    marked : pyarrow.Table or None
        Which values of `table` were the `marker` of `read_chunks`, if there is one.
    """

    first: int
    table: pa.Table
    kept: Mapping[str, Any]
    labels: AnyArray | None
    file: CsvFile | ParquetFile
    marked: pa.Table | None = None

    def with_gaps(self, name: str) -> Any:
        """Return a column that was kept, with missing values where CSV has a marker of one."""
        column = self.kept[name]
        # Parquet says itself what is missing.
        if isinstance(self.file, ParquetFile) or column.type != pa.string():
            return column
        return self.file.with_missing(pa.table({name: column}), [name]).column(name)


def column_names(path: PathLike, reading: Reading = AS_FOUND) -> list[str]:
    """Return the names of the columns of a CSV or Parquet file."""
    with open_table(path, reading) as file:
        return list(file.names)


def read_labelled(
    path: PathLike,
    target: str,
    names: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    kinds: Kinds | None = None,
    classes: AnyArray | None = None,
    reading: Reading = AS_FOUND,
) -> tuple[pa.Table, AnyArray, tuple[str, ...]]:
    """Read all rows of a file: a table of the features, the labels, and the names of the features.

    Parameters
    ----------
    path : path
    target : str
        The column with the labels.
    names : sequence of str, optional
        The columns to read, in that order; by default all but the target and those to drop.
    drop : sequence of str
        Columns that are not read.
    kinds : mapping, optional
        Kinds of columns if known: name → "number", "truth" or "category". By default, a CSV column
        holds text if it begins with text and none of its values is a number; a warning then says
        what was noticed about the file.
    classes : ndarray, optional
        The possible labels if known; see `labels_of`.
    reading : Reading, optional
        What is known about the form of a CSV file, and whether dates become numbers.
    """
    with open_table(path, reading) as file:
        check_columns_there(path, file.names, [target, *drop])
        if names is None:
            names = [name for name in file.names if name != target and name not in drop]
        check_columns_there(path, file.names, names)
        if not names:
            raise DataError(f"{path} must have a column beside {target!r}, got none.")
        table = file.features_and_target(names, target, kinds)
        if not table.num_rows:
            raise DataError(f"{path} must have rows, got none.")
        labels = labels_of(table.column(target), path, classes=classes)
        return table.select(names), labels, tuple(names)


def read_ids(path: PathLike, name: str, reading: Reading = AS_FOUND) -> AnyArray:
    """Read a column of ids, such as patients, as text; missing ones are None."""
    values: list[object] = []
    for chunk in read_chunks(path, (), keep=(name,), reading=reading):
        # An empty cell is no id: rows without one must not become a group.
        values += [None if one in (None, "") else str(one) for one in chunk.kept[name].to_pylist()]
    return np.array(values, dtype=object)


def settled_reading(path: PathLike, reading: Reading, drop: Sequence[str] = ()) -> Reading:
    """Return how to read files like this one: with the order of day and month of its dates."""
    if reading.dates != "days":
        return reading
    with open_table(path, reading) as file:
        if isinstance(file, ParquetFile):
            return reading
        # A name that stands twice cannot be told apart, and is refused later on.
        names = [name for name in file.names if name not in drop and file.names.count(name) == 1]
        return replace(reading, dates=file.with_date_order(names).dates)


def read_chunks(
    path: PathLike,
    columns: Sequence[str],
    keep: Sequence[str] = (),
    kinds: Kinds | None = None,
    target: str | None = None,
    classes: AnyArray | None = None,
    reading: Reading = AS_FOUND,
    marker: str | None = None,
) -> Iterator[Chunk]:
    """Read the columns to decide by and the columns to keep, some rows at a time.

    The first chunk has no rows, so that the columns of an empty file are known too.

    Parameters
    ----------
    path : path
    columns, keep : sequence of str
    kinds : mapping, optional
        Kinds of the columns: name → "number", "truth" or "category"; by default, all are numbers
        or truth values. A category in CSV is read as text even if it looks like a number.
    target : str, optional
        A column with labels, which every row must have.
    classes : ndarray, optional
        The possible labels if known; see `labels_of`.
    reading : Reading, optional
        As for `read_labelled`.
    marker : str, optional
        A text whose cells are missing in `Chunk.table`, and told from other missing values by
        `Chunk.marked`. The file is then read twice.
    """
    first = 0
    with open_table(path, reading) as file:
        marks = None
        if marker is not None and columns:
            marker = marker.strip()
            file = file.with_marker(marker) if isinstance(file, CsvFile) else file
            marks = file.marked(columns, marker)
        check_columns_there(
            path, file.names, [*columns, *keep, *([] if target is None else [target])]
        )
        for rows, table in file.chunks(columns, keep, kinds or {}, target):
            labels = None
            if target is not None:
                labels = labels_of(table.column(target), path, first + 1, classes)
            kept = {name: rows.column(name) for name in keep}
            table, marked = table.select(list(columns)), None
            if marks is not None:
                marked = next(marks)
                table = _without(table, marked)
            yield Chunk(first, table, kept, labels, file, marked)
            first += rows.num_rows


def _without(table: pa.Table, marked: pa.Table) -> pa.Table:
    """Return the table without the values that are marked."""
    return pa.table(
        {
            name: compute.if_else(marked.column(name), None, table.column(name))
            for name in table.column_names
        }
    )


def joined(*tables: pa.Table) -> pa.Table:
    """Join the rows of tables with the same columns; their types may differ slightly."""
    return pa.concat_tables(tables, promote_options="permissive")


def file_kind(path: PathLike, *, to_write: bool = False) -> str:
    """Return "csv" or "parquet" by the ending of a file's name; some are only read.

    A folder is one of Parquet files.
    """
    if not to_write and Path(path).is_dir():
        return "parquet"
    name, kinds = os.fspath(path).lower(), _ENDINGS if to_write else _ENDINGS | _READ_ONLY
    for ending, kind in kinds.items():
        if name.endswith(ending):
            return kind
    raise FileError(f"{path} must end in {', '.join(kinds)}, got {Path(path).suffix!r}.")


@contextmanager
def by_line(path: PathLike, reading: Reading = AS_FOUND) -> Iterator[None]:
    """Let errors about rows of a CSV file tell their lines; rows count from 1."""
    try:
        yield
    except EMSCOError as error:
        # Looked at again, since a table that was read has forgotten its lines.
        if file_kind(path) == "csv":
            _name_line(error, CsvFile.look_at(path, reading))
        raise


def _name_line(error: EMSCOError, file: CsvFile) -> None:
    """Put the line of a text file in the place of the row that an error names."""
    if error.row is not None and (line := file.line_of(error.row)):
        row = rf"(?<!['\"])\brow {error.row}\b"  # not in a quoted name
        error.args = (re.sub(row, f"line {line}", str(error)),)
        error.row = None


@contextmanager
def open_table(path: PathLike, reading: Reading = AS_FOUND) -> Iterator[CsvFile | ParquetFile]:
    """Yield a file to read from; turn every failure to read into one sentence."""
    file: CsvFile | ParquetFile | None = None
    try:
        kind = file_kind(path)
        if kind == "csv":
            file = CsvFile.look_at(path, reading)
        else:
            file = ParquetFile.open(path, reading.dates)
        yield file
    except EMSCOError as error:
        if isinstance(file, CsvFile):
            _name_line(error, file)
        raise
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else first_line(error)
        raise FileError(f"{path} must be a file that can be read ({why}).") from None
    except (pa.ArrowException, UnicodeDecodeError) as error:
        # Arrow's words are for programmers; a CSV file knows better ones.
        words = file.words_for(error) if isinstance(file, CsvFile) else None
        raise DataError(words or f"{path} must be a whole table: {first_line(error)}.") from None


def check_columns_there(path: PathLike, there: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse a file that lacks one of the columns `wanted`, or has it several times."""
    missing = [name for name in wanted if name not in there]
    # One or two columns with a separator inside: the file was most likely read with the wrong one.
    inside = [mark for mark in _MARKS if 0 < len(there) < 3 and mark in there[0]]
    if missing and inside:
        raise DataError(
            f"{path} must have a column {missing[0]!r}, got {some(there)}; separator "
            f"{_MARKS[inside[0]]!r} reads it."
        )
    check_named(there, wanted, str(path))


class TableWriter:
    """A writer of chunks of columns to an open CSV or Parquet file."""

    def __init__(self, file: IO[bytes], kind: str) -> None:
        self._file, self._kind = file, kind
        self._writer: Any = None
        self._schema: Any = None

    def write(self, columns: Mapping[str, Any]) -> None:
        """Append rows; the first call fixes the names and types of columns."""
        batch = pa.table({name: _arrow(column) for name, column in columns.items()})
        if self._writer is None:
            if self._kind == "parquet":
                import pyarrow.parquet as pq  # only here, as in `parquet`

                self._writer = pq.ParquetWriter(self._file, batch.schema)
            else:
                self._writer = arrow_csv.CSVWriter(self._file, batch.schema)
            self._schema = batch.schema
        # Later chunks may have another type, such as all values missing.
        self._writer.write_table(batch.cast(self._schema))

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()


@contextmanager
def write_table(path: PathLike) -> Iterator[TableWriter]:
    """Open a writer for a CSV or Parquet file; if the block fails, the old file stays."""
    kind = file_kind(path, to_write=True)
    if Path(path).is_dir():
        raise FileError(f"{path} must be a file that can be written, got a folder.")
    try:
        with writing_atomically(path) as file, _compressed(path, file) as stream:
            writer = TableWriter(stream, kind)
            try:
                yield writer
            finally:
                writer.close()  # a Parquet writer left open would complain when it is deleted
    except OSError as error:
        raise FileError(
            f"{path} must be a file that can be written ({error.strerror or error})."
        ) from error
    except pa.ArrowException as error:
        raise FileError(f"{path} must be able to hold the table: {first_line(error)}.") from None


def _compressed(path: PathLike, file: IO[bytes]) -> AbstractContextManager[Any]:
    if os.fspath(path).lower().endswith(".gz"):
        # Leave out name and time, so that the same table gives the same bytes.
        return gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    return nullcontext(file)


def _arrow(column: Any) -> Any:
    if np.ma.isMaskedArray(column):
        values = np.ma.getdata(column)
        return pa.array(values, mask=np.ma.getmaskarray(column))
    return column if isinstance(column, (pa.Array, pa.ChunkedArray)) else pa.array(column)
