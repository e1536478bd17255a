"""Tables on disk: CSV and Parquet, read whole or in chunks, written whole or not at all."""

from __future__ import annotations

import csv
import gzip
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np

from emsco._base.documents import PathLike, writing_atomically
from emsco._base.text import first_line, some, what_was_meant
from emsco._base.typing import AnyArray, Kind
from emsco.data.labels import labels_of
from emsco.errors import DataError, FileError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Chunk",
    "Kinds",
    "TableWriter",
    "column_names",
    "joined",
    "read_chunks",
    "read_labelled",
    "write_table",
]

_ENDINGS = {".csv": "csv", ".csv.gz": "csv", ".parquet": "parquet", ".pq": "parquet"}
_BLOCK = 2**22  # bytes of CSV at a time, and so of the longest row
_ROWS = 2**17  # rows of Parquet at a time
_BUFFER = 2**16  # bytes of a Parquet column at a time, however large its groups of rows are
_NUMBER = re.compile(r"-?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
_BAD_VALUE = re.compile(r"In CSV column #(\d+): .*invalid value '(.*)'", re.DOTALL)
_RAGGED = re.compile(r"Expected (\d+) columns, got (\d+)")

Values: TypeAlias = Mapping[str, Any]
Kinds: TypeAlias = Mapping[str, Kind]


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some rows of a file: the columns to decide by, and others as they are.

    Attributes
    ----------
    first : int
        How many rows come before them, the heading of a CSV file not counted.
    table : pyarrow.Table
        What `Encoding.rows` takes.
    kept : mapping
        Columns to hand through.
    labels : ndarray or None
        Those of the rows, where they are asked for.
    """

    first: int
    table: pa.Table
    kept: Values
    labels: AnyArray | None = None


def column_names(path: PathLike) -> list[str]:
    """Names of the columns of a CSV or Parquet file."""
    with _readable(path) as kind:
        if kind == "parquet":
            import pyarrow.parquet as pq

            return list(pq.read_schema(path).names)
        return list(_csv_schema(path).names)


def read_labelled(
    path: PathLike,
    target: str,
    names: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    kinds: Kinds | None = None,
    classes: AnyArray | None = None,
) -> tuple[pa.Table, AnyArray, tuple[str, ...]]:
    """All rows of a file with labels: a table of the other columns, labels, and names of columns.

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
        What columns hold, where that is known: name → "number", "truth" or "category". By default
        a column of CSV holds text where it begins with text and no value in it is a number.
    classes : ndarray, optional
        What labels may be, where that is known; see `labels_of`.
    """
    there = column_names(path)
    _check_names(path, there, [target, *drop])
    if names is None:
        names = [name for name in there if name != target and name not in drop]
    names = tuple(names)
    _check_names(path, there, names)
    if not names:
        raise DataError(f"{path} must have a column beside {target!r}, got none.")
    with _readable(path) as kind:
        table = _read_whole(path, kind, [*names, target], names, kinds)
        if not table.num_rows:
            raise DataError(f"{path} must have rows, got none.")
        features = table.select(names)
        if kind == "csv" and kinds is None:
            _check_texts(path, features)
        return features, labels_of(table.column(target), path, classes=classes), names


def read_chunks(
    path: PathLike,
    columns: Sequence[str],
    keep: Sequence[str] = (),
    kinds: Kinds | None = None,
    target: str | None = None,
    classes: AnyArray | None = None,
) -> Iterator[Chunk]:
    """The columns to decide by, in that order, and columns to keep, some rows at a time.

    The first chunk has no rows, so that the columns of a file without rows are known, too.

    Parameters
    ----------
    path : path
    columns, keep : sequence of str
    kinds : mapping, optional
        What the columns hold: name → "number", "truth" or "category"; by default all are numbers
        or truth values. A category of CSV is read as text even where it looks like a number.
    target : str, optional
        A column with labels, which every row must have.
    classes : ndarray, optional
        What they may be, where that is known; see `labels_of`.
    """
    kinds = kinds or {}
    labelled = [] if target is None else [target]
    wanted = list(dict.fromkeys([*columns, *keep, *labelled]))
    _check_names(path, column_names(path), wanted)
    texts = [name for name in columns if kinds.get(name) == "category"] + labelled
    first = 0
    with _readable(path) as kind:
        is_csv = kind != "parquet"
        batches = (
            _csv_batches(path, wanted, _csv_types(path, wanted, columns, kinds))
            if is_csv
            else _parquet_batches(path, wanted)
        )
        for batch in batches:
            table = _with_missing(batch, texts) if is_csv else batch
            kept = {name: batch.column(name) for name in keep}
            labels = None
            if target is not None:
                labels = labels_of(table.column(target), path, first + 1, classes)
            yield Chunk(first, table.select(list(columns)), kept, labels)
            first += batch.num_rows


def joined(first: pa.Table, second: pa.Table) -> pa.Table:
    """The rows of two tables with the same columns, which may have types that are alike."""
    import pyarrow as pa

    return pa.concat_tables([first, second], promote_options="permissive")


class TableWriter:
    """Writes chunks of columns to a CSV or Parquet file, which is there once all are written."""

    def __init__(self, file: IO[bytes], kind: str) -> None:
        self._file, self._kind = file, kind
        self._writer: Any = None
        self._schema: Any = None

    def write(self, columns: Values) -> None:
        """Append rows; the first call settles names and types."""
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
    """A writer for a CSV or Parquet file; where the block fails, the file stays as it was."""
    import pyarrow as pa

    kind = _kind(path)
    if Path(path).is_dir():
        raise FileError(f"{path} must be a file that can be written, got a folder.")
    try:
        with writing_atomically(path) as file, _compressed(path, file) as stream:
            writer = TableWriter(stream, kind)
            try:
                yield writer
            finally:
                writer.close()  # however the block ends: Parquet's would do so later, and complain
    except OSError as error:
        raise FileError(
            f"{path} must be a file that can be written ({error.strerror or error})."
        ) from error
    except pa.ArrowException as error:
        raise FileError(f"{path} must be able to hold the table: {first_line(error)}.") from None


def _compressed(path: PathLike, file: IO[bytes]) -> AbstractContextManager[Any]:
    if os.fspath(path).lower().endswith(".gz"):
        # Without name and time: the same table is the same bytes.
        return gzip.GzipFile("", "wb", fileobj=file, mtime=0)
    return nullcontext(file)


def _kind(path: PathLike) -> str:
    name = os.fspath(path).lower()
    for ending, kind in _ENDINGS.items():
        if name.endswith(ending):
            return kind
    raise FileError(f"{path} must end in {', '.join(_ENDINGS)}, got {Path(path).suffix!r}.")


@contextmanager
def _readable(path: PathLike) -> Iterator[str]:
    """The kind of a file; whatever goes wrong with reading it, as one sentence."""
    import pyarrow as pa

    try:
        kind = _kind(path)
        if Path(path).is_dir():
            raise FileError(f"{path} must be a file that can be read, got a folder.")
        yield kind
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else first_line(error)
        raise FileError(f"{path} must be a file that can be read ({why}).") from None
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise DataError(_what_is_bad(path, error)) from None


def _what_is_bad(path: PathLike, error: Exception) -> str:
    if found := _BAD_VALUE.search(str(error)):
        column, value = int(found[1]), found[2].strip()
        name = column_names(path)[column]
        row = _first_row(
            path, lambda cells: [cell.strip() for cell in cells[column : column + 1]] == [value]
        )
        where = f"in column {name!r}" + (f", row {row}" if row else "")
        return f"{path} must hold numbers only, got {value!r} {where}."
    if found := _RAGGED.search(str(error)):
        n_columns = int(found[1])
        row = _first_row(path, lambda cells: len(cells) != n_columns)
        where = f" in row {row}" if row else ""
        return f"{path} must have {n_columns} values in every row, got {found[2]}{where}."
    return f"{path} must be a whole table: {first_line(error)}."


def _first_row(path: PathLike, is_meant: Callable[[list[str]], bool]) -> int | None:
    """Number of the first row of a CSV file that is meant; blank lines are no rows."""
    import pyarrow as pa

    content = pa.input_stream(path, compression="detect")
    with TextIOWrapper(content, "utf-8-sig", "replace", newline="") as text, suppress(csv.Error):
        rows = (cells for cells in csv.reader(text) if cells)
        next(rows, None)
        for row, cells in enumerate(rows, start=1):
            if is_meant(cells):
                return row
    return None


def _read_whole(
    path: PathLike, kind: str, columns: list[str], names: tuple[str, ...], kinds: Kinds | None
) -> pa.Table:
    if kind == "parquet":
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            return file.read(columns)
    from pyarrow import csv as arrow_csv

    conversion = arrow_csv.ConvertOptions(
        include_columns=columns,
        column_types=_csv_types(path, columns, names, kinds),
        strings_can_be_null=True,
    )
    return arrow_csv.read_csv(path, **_csv_options(), convert_options=conversion)


def _parquet_batches(path: PathLike, columns: list[str]) -> Iterator[pa.Table]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
        yield file.schema_arrow.empty_table()
        for batch in file.iter_batches(batch_size=_ROWS, columns=columns):
            yield pa.Table.from_batches([batch])


def _csv_batches(path: PathLike, columns: list[str], types: dict[str, Any]) -> Iterator[pa.Table]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    # What is kept stays just as it stands there, so gaps among texts are found by `_with_missing`.
    conversion = arrow_csv.ConvertOptions(include_columns=columns, column_types=types)
    with arrow_csv.open_csv(path, **_csv_options(), convert_options=conversion) as reader:
        yield reader.schema.empty_table()
        for batch in reader:
            yield pa.Table.from_batches([batch])


def _csv_options() -> dict[str, Any]:
    from pyarrow import csv as arrow_csv

    return {
        "read_options": arrow_csv.ReadOptions(block_size=_BLOCK),
        "parse_options": arrow_csv.ParseOptions(newlines_in_values=True),
    }


def _csv_schema(path: PathLike) -> pa.Schema:
    """Names of the columns, and types guessed from the first block."""
    from pyarrow import csv as arrow_csv

    with arrow_csv.open_csv(path, **_csv_options()) as reader:
        return reader.schema


def _csv_types(
    path: PathLike, columns: Sequence[str], names: Sequence[str], kinds: Kinds | None
) -> dict[str, Any]:
    """Types to read columns of CSV as: those called `names` by their kind, others as text.

    What a file begins with tells truth values from numbers, whose values may be either. It tells
    text from both where kinds are not known; else other text than a category is refused.
    """
    import pyarrow as pa

    guessed = _csv_schema(path)
    types = dict.fromkeys(columns, pa.string())
    for name in names:
        begins = guessed.field(name).type
        number = pa.types.is_integer(begins) or pa.types.is_floating(begins)
        kind = "number" if kinds is None else kinds.get(name, "number")
        if begins == pa.bool_() or (kind == "truth" and not number):
            types[name] = pa.bool_()
        else:
            types[name] = pa.float64()
        if kind == "category" or (kinds is None and _is_text(begins)):
            types[name] = pa.string()
    return types


def _check_texts(path: PathLike, table: pa.Table) -> None:
    """Refuse columns with text and numbers: a slip of the pen must not make all text."""
    import pyarrow as pa
    from pyarrow import compute

    for name in table.column_names:
        column = table.column(name)
        if not _is_text(column.type):
            continue
        numbers = [
            text for text in column.unique().to_pylist() if text and _NUMBER.fullmatch(text.strip())
        ]
        is_number = compute.is_in(column, value_set=pa.array(numbers, pa.string())).to_numpy()
        is_text = column.is_valid().to_numpy() & ~is_number
        if not is_number.any() or not is_text.any():
            continue
        mostly_text = is_text.sum() > is_number.sum()
        row = int(np.argmax(is_number if mostly_text else is_text))
        rule, got = "text" if mostly_text else "numbers", column[row].as_py().strip()
        raise DataError(
            f"{path} must hold {rule} only, got {got!r} in column {name!r}, row {row + 1}."
        )


def _with_missing(table: pa.Table, texts: Sequence[str]) -> pa.Table:
    """The same table, where texts that stand for a missing value are missing."""
    import pyarrow as pa
    from pyarrow import compute
    from pyarrow import csv as arrow_csv

    gaps = pa.array(arrow_csv.ConvertOptions().null_values, pa.string())
    for name in texts:
        column = table.column(name)
        found = compute.if_else(compute.is_in(column, value_set=gaps), None, column)
        table = table.set_column(table.column_names.index(name), name, found)
    return table


def _check_names(path: PathLike, there: Sequence[str], wanted: Sequence[str]) -> None:
    if missing := [name for name in wanted if name not in there]:
        meant = what_was_meant(missing[0], there)
        raise DataError(f"{path} must have a column {missing[0]!r}, got {some(there)}{meant}")
    if twice := [name for name in wanted if list(there).count(name) > 1]:
        raise DataError(f"{path} must have one column {twice[0]!r}, got several.")


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _arrow(column: Any) -> Any:
    import pyarrow as pa

    if np.ma.isMaskedArray(column):
        values = np.ma.getdata(column)
        return pa.array(values, mask=np.ma.getmaskarray(column))
    return column if isinstance(column, (pa.Array, pa.ChunkedArray)) else pa.array(column)
