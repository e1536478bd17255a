"""Tables in CSV and Parquet files, read at once or in chunks."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from emsco._base.documents import PathLike, writing_atomically
from emsco._base.text import first_line, some
from emsco._base.typing import AnyArray
from emsco.app.files.csv import (
    CsvForm,
    Kinds,
    check_texts,
    csv_batches,
    csv_types,
    date_remedy,
    line_of,
    look_at,
    read_csv,
    say_what_was_noticed,
    settled,
    what_is_bad,
    with_days,
    with_missing,
)
from emsco.app.files.reading import AS_FOUND, Reading
from emsco.data.labels import labels_of
from emsco.data.rows import check_named
from emsco.errors import DataError, EMSCOError, FileError, Hint, Remedy

if TYPE_CHECKING:
    import pyarrow as pa

_ENDINGS = {".csv": "csv", ".csv.gz": "csv", ".parquet": "parquet", ".pq": "parquet"}
_MARKS = {";": ";", "\t": "tab", "|": "|"}  # in a name, they may have been meant as separators
_READ_ONLY = {".tsv": "csv", ".tsv.gz": "csv", ".txt": "csv", ".data": "csv"}
_ROWS = 2**17  # rows of Parquet to read at a time
_BUFFER = 2**16  # bytes of a Parquet column to read at a time; its row groups may be far larger


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
    form : CsvForm or None
        How the file was read, if it is CSV.
    """

    first: int
    table: pa.Table
    kept: Mapping[str, Any]
    labels: AnyArray | None = None
    form: CsvForm | None = None

    def with_gaps(self, name: str) -> Any:
        """Return a column that was kept, with missing values where CSV has a marker of one."""
        import pyarrow as pa

        column = self.kept[name]
        if self.form is None or not _is_text(column.type):
            return column
        return with_missing(pa.table({name: column}), [name], self.form).column(name)


def column_names(path: PathLike, reading: Reading = AS_FOUND) -> list[str]:
    """Return the names of the columns of a CSV or Parquet file."""
    with file_form(path, reading) as form:
        if form is None:
            import pyarrow.parquet as pq

            return list(pq.read_schema(path).names)
        return list(form.names)


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
    there = column_names(path, reading)
    check_columns_there(path, there, [target, *drop])
    if names is None:
        names = [name for name in there if name != target and name not in drop]
    names = tuple(names)
    check_columns_there(path, there, names)
    if not names:
        raise DataError(f"{path} must have a column beside {target!r}, got none.")
    with file_form(path, reading) as form, by_line(path, reading):
        if form is None:
            table = read_parquet(path, [*names, target])
            table = _parquet_days(path, table, names, reading, may_drop=kinds is None)
        else:
            table = _read_csv(path, form, target, names, kinds)
        if not table.num_rows:
            raise DataError(f"{path} must have rows, got none.")
        return table.select(names), labels_of(table.column(target), path, classes=classes), names


def read_ids(path: PathLike, name: str, reading: Reading = AS_FOUND) -> AnyArray:
    """Read a column of ids, such as patients, as text; missing ones are None."""
    values: list[object] = []
    for chunk in read_chunks(path, (), keep=(name,), reading=reading):
        values += [None if one in (None, "") else str(one) for one in chunk.kept[name].to_pylist()]
    return np.array(values, dtype=object)


def settled_reading(path: PathLike, reading: Reading, drop: Sequence[str] = ()) -> Reading:
    """Return how to read files like this one: with the order of day and month of its dates."""
    if reading.dates != "days":
        return reading
    with file_form(path, reading) as form:
        if form is None:
            return reading
        names = [name for name in form.names if name not in drop and form.names.count(name) == 1]
        return replace(reading, dates=settled(path, form, names).dates)


def _read_csv(
    path: PathLike, form: CsvForm, target: str, names: tuple[str, ...], kinds: Kinds | None
) -> pa.Table:
    """Read the features and the labels of a CSV file; find out what columns hold if need be."""
    columns = [*names, target]
    types = csv_types(path, form, columns, names, kinds)
    table = read_csv(path, form, columns, types)
    if kinds is None:
        say_what_was_noticed(path, form, table, names)
    form = settled(path, form, [name for name in names if _is_text(types.types[name])])
    texts = [name for name in columns if _is_text(types.types[name]) and name not in types.dates]
    may_drop = kinds is None
    table = with_missing(table, texts, form)
    table = with_days(path, form, table, types.dates, may_drop=may_drop)
    if kinds is not None:
        return table
    features = check_texts(path, form, table.select(names))
    return features.append_column(target, table.column(target))


def read_chunks(
    path: PathLike,
    columns: Sequence[str],
    keep: Sequence[str] = (),
    kinds: Kinds | None = None,
    target: str | None = None,
    classes: AnyArray | None = None,
    reading: Reading = AS_FOUND,
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
    """
    kinds = kinds or {}
    labelled = [] if target is None else [target]
    wanted = list(dict.fromkeys([*columns, *keep, *labelled]))
    check_columns_there(path, column_names(path, reading), wanted)
    texts = [name for name in columns if kinds.get(name) == "category"] + labelled
    first = 0
    with file_form(path, reading) as form, by_line(path, reading):
        for batch, table in _batches(path, form, reading, wanted, columns, kinds, texts):
            kept = {name: batch.column(name) for name in keep}
            labels = None
            if target is not None:
                labels = labels_of(table.column(target), path, first + 1, classes)
            yield Chunk(first, table.select(list(columns)), kept, labels, form)
            first += batch.num_rows


def _batches(
    path: PathLike,
    form: CsvForm | None,
    reading: Reading,
    wanted: list[str],
    columns: Sequence[str],
    kinds: Kinds,
    texts: Sequence[str],
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Yield rows as they are in the file, and the same with missing values and days."""
    if form is None:
        for batch in _parquet_batches(path, wanted):
            yield batch, _parquet_days(path, batch, columns, reading)
        return
    types, first = csv_types(path, form, wanted, columns, kinds), 1
    form = settled(path, form, types.dates)
    for batch in csv_batches(path, form, wanted, types):
        table = with_missing(batch, texts, form)
        yield batch, with_days(path, form, table, types.dates, first)
        first += batch.num_rows


def joined(*tables: pa.Table) -> pa.Table:
    """Join the rows of tables with the same columns; their types may differ slightly."""
    import pyarrow as pa

    return pa.concat_tables(tables, promote_options="permissive")


def is_parquet(path: PathLike) -> bool:
    """Whether a file is Parquet by the ending of its name."""
    name = os.fspath(path).lower()
    return any(name.endswith(one) for one, kind in _ENDINGS.items() if kind == "parquet")


def file_kind(path: PathLike, *, to_write: bool = False) -> str:
    """Return "csv" or "parquet" by the ending of a file's name; some are only read."""
    name = os.fspath(path).lower()
    for ending, kind in (_ENDINGS if to_write else _ENDINGS | _READ_ONLY).items():
        if name.endswith(ending):
            return kind
    endings = ", ".join(_ENDINGS if to_write else _ENDINGS | _READ_ONLY)
    raise FileError(f"{path} must end in {endings}, got {Path(path).suffix!r}.")


@contextmanager
def by_line(path: PathLike, reading: Reading = AS_FOUND) -> Iterator[None]:
    """Let errors about rows of a CSV file tell their lines; rows count from 1."""
    try:
        yield
    except EMSCOError as error:
        if file_kind(path) == "csv":
            form = look_at(path, reading)
            error.by_line(lambda row: line_of(path, form, row))
        raise


@contextmanager
def file_form(path: PathLike, reading: Reading) -> Iterator[CsvForm | None]:
    """Yield the form of a CSV file, else None; turn every failure to read into one sentence."""
    import pyarrow as pa

    form = None
    try:
        kind = file_kind(path)
        if Path(path).is_dir():
            raise FileError(f"{path} must be a file that can be read, got a folder.")
        form = look_at(path, reading) if kind == "csv" else None
        yield form
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else first_line(error)
        raise FileError(f"{path} must be a file that can be read ({why}).") from None
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise DataError(*what_is_bad(path, form, error)) from None


def read_parquet(path: PathLike, columns: list[str]) -> pa.Table:
    """Read some columns of a Parquet file as they are."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        return file.read(columns)


def parquet_schema(path: PathLike) -> pa.Schema:
    """Return the columns of a Parquet file and their types."""
    import pyarrow.parquet as pq

    return pq.read_schema(path)


def parquet_parts(path: PathLike) -> list[tuple[int, int]]:
    """Return the number of each row group's first row, from 1, and of its rows."""
    import pyarrow.parquet as pq

    with file_form(path, AS_FOUND), pq.ParquetFile(path) as file:
        about = file.metadata
        sizes = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
    return [(1 + sum(sizes[:i]), size) for i, size in enumerate(sizes)]


def parquet_part(path: PathLike, group: int, columns: list[str], reading: Reading) -> pa.Table:
    """Read some columns of a row group, with dates as `reading` says."""
    import pyarrow.parquet as pq

    with file_form(path, reading), pq.ParquetFile(path) as file:
        return _parquet_days(path, file.read_row_group(group, columns), columns, reading)


def _parquet_days(
    path: PathLike,
    table: pa.Table,
    names: Sequence[str],
    reading: Reading,
    *,
    may_drop: bool = False,
) -> pa.Table:
    """Return the table with dates as days since 1970-01-01, or refuse them."""
    import pyarrow as pa
    from pyarrow import compute

    for name in names:
        kind = table.column(name).type
        if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
            continue
        if reading.dates is None:
            raise DataError(
                f"{path} must hold numbers or text, got dates in column {name!r}; ",
                *date_remedy(name, may_drop=may_drop),
            )
        moments = table.column(name).cast(pa.timestamp("us", getattr(kind, "tz", None)))
        days = compute.divide(moments.cast(pa.int64()).cast(pa.float64()), 86_400e6)
        table = table.set_column(table.column_names.index(name), name, days)
    return table


def _parquet_batches(path: PathLike, columns: list[str]) -> Iterator[pa.Table]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
        yield file.schema_arrow.empty_table()
        for batch in file.iter_batches(batch_size=_ROWS, columns=columns):
            yield pa.Table.from_batches([batch])


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind))


def check_columns_there(path: PathLike, there: Sequence[str], wanted: Sequence[str]) -> None:
    """Refuse a file that lacks one of the columns `wanted`, or has it several times."""
    missing = [name for name in wanted if name not in there]
    inside = [mark for mark in _MARKS if 0 < len(there) < 3 and mark in there[0]]
    if missing and inside:
        said = f"{path} must have a column {missing[0]!r}, got {some(there)}; "
        raise DataError(said, Hint(Remedy.SEPARATOR, (_MARKS[inside[0]],)), ".")
    check_named(there, wanted, str(path))


class TableWriter:
    """A writer of chunks of columns to an open CSV or Parquet file."""

    def __init__(self, file: IO[bytes], kind: str) -> None:
        self._file, self._kind = file, kind
        self._writer: Any = None
        self._schema: Any = None

    def write(self, columns: Mapping[str, Any]) -> None:
        """Append rows; the first call fixes the names and types of columns."""
        import pyarrow as pa

        batch = pa.table({name: _arrow(column) for name, column in columns.items()})
        if self._writer is None:
            self._writer = self._open(batch.schema)
            self._schema = batch.schema
        self._writer.write_table(batch.cast(self._schema))

    def close(self) -> None:
        """Finish the file."""
        if self._writer is not None:
            self._writer.close()

    def _open(self, schema: pa.Schema) -> Any:
        if self._kind == "parquet":
            import pyarrow.parquet as pq

            return pq.ParquetWriter(self._file, schema)
        from pyarrow import csv as arrow_csv

        return arrow_csv.CSVWriter(self._file, schema)


@contextmanager
def write_table(path: PathLike) -> Iterator[TableWriter]:
    """Open a writer for a CSV or Parquet file; if the block fails, the old file stays."""
    import pyarrow as pa

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
    import pyarrow as pa

    if np.ma.isMaskedArray(column):
        values = np.ma.getdata(column)
        return pa.array(values, mask=np.ma.getmaskarray(column))
    return column if isinstance(column, (pa.Array, pa.ChunkedArray)) else pa.array(column)
