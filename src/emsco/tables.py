"""Tables on disk: CSV and Parquet, read whole or in chunks, written whole or not at all."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np

from emsco._typing import AnyArray, FloatArray
from emsco.errors import DataError, FileError
from emsco.files import PathLike, writing_atomically

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Chunk", "TableWriter", "column_names", "read_chunks", "read_labelled", "write_table"]

_ENDINGS = {".csv": "csv", ".csv.gz": "csv", ".parquet": "parquet", ".pq": "parquet"}
_BLOCK = 2**24  # bytes of CSV at a time
_ROWS = 2**17  # rows of Parquet at a time
_BAD_VALUE = re.compile(r"In CSV column #(\d+): .*invalid value '(.*)'", re.DOTALL)

Values: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some rows of a file: their features as numbers, other columns as they are.

    Attributes
    ----------
    first : int
        How many rows come before them, the heading of a CSV file not counted.
    rows : ndarray of shape (n_rows, n_features)
    kept : mapping
        Columns to hand through.
    """

    first: int
    rows: FloatArray
    kept: Values


def column_names(path: PathLike) -> list[str]:
    """Names of the columns of a CSV or Parquet file."""
    with _readable(path) as kind:
        if kind == "parquet":
            import pyarrow.parquet as pq

            return list(pq.read_schema(path).names)
        from pyarrow import csv as arrow_csv

        with arrow_csv.open_csv(path) as reader:
            return list(reader.schema.names)


def read_labelled(
    path: PathLike, target: str, names: Sequence[str] | None = None
) -> tuple[FloatArray, AnyArray, tuple[str, ...]]:
    """All rows of a file with labels: features, labels, and names of the features.

    `names` are the features to read, in that order; by default all columns but the target.
    """
    table = _read_whole(path)
    _check_names(path, table.column_names, [target])
    if names is None:
        names = [name for name in table.column_names if name != target]
    _check_names(path, table.column_names, names)
    if not names:
        raise DataError(f"{path} must have a column beside {target!r}, got none.")
    labels = table.column(target)
    if labels.null_count:
        row = int(np.argmax(labels.is_null().to_numpy()))
        raise DataError(f"{path} must have a label in every row, got none in row {row + 1}.")
    values = labels.to_numpy()
    if values.dtype == object:
        values = values.astype(str)
    return _numbers(path, table, tuple(names)), values, tuple(names)


def read_chunks(path: PathLike, names: Sequence[str], keep: Sequence[str] = ()) -> Iterator[Chunk]:
    """The features called `names`, in that order, and columns to keep, some rows at a time."""
    columns = list(dict.fromkeys([*names, *keep]))
    _check_names(path, column_names(path), columns)
    first = 0
    with _readable(path) as kind:
        batches = (
            _parquet_batches(path, columns)
            if kind == "parquet"
            else _csv_batches(path, columns, names)
        )
        for batch in batches:
            kept = {name: batch.column(name) for name in keep}
            yield Chunk(first, _numbers(path, batch, tuple(names)), kept)
            first += batch.num_rows


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
    kind = _kind(path)
    try:
        with writing_atomically(path) as file:
            writer = TableWriter(file, kind)
            yield writer
            writer.close()
    except OSError as error:
        raise FileError(
            f"{path} must be a file that can be written ({error.strerror or error})."
        ) from error


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
        yield _kind(path)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else _first_line(error)
        raise FileError(f"{path} must be a file that can be read ({why}).") from None
    except pa.ArrowException as error:
        raise DataError(_what_is_bad(path, error)) from None


def _what_is_bad(path: PathLike, error: Exception) -> str:
    if found := _BAD_VALUE.search(str(error)):
        column, value = int(found[1]), found[2]
        name, row = _where(path, column, value)
        return f"{path} must hold numbers only, got {value!r} in column {name!r}{row}."
    return f"{path} must be a whole table: {_first_line(error)}."


def _where(path: PathLike, column: int, value: str) -> tuple[str, str]:
    """The name of a column of a CSV file, and the first row that has a value there."""
    import pyarrow as pa

    with TextIOWrapper(pa.input_stream(path, compression="detect"), newline="") as text:
        lines = csv.reader(text)
        name = next(lines)[column]
        for row, line in enumerate(lines, start=1):
            if len(line) > column and line[column] == value:
                return name, f", row {row}"
    return name, ""


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(".") if str(error) else type(error).__name__


def _read_whole(path: PathLike) -> pa.Table:
    with _readable(path) as kind:
        if kind == "parquet":
            import pyarrow.parquet as pq

            return pq.read_table(path)
        from pyarrow import csv as arrow_csv

        return arrow_csv.read_csv(path)


def _parquet_batches(path: PathLike, columns: list[str]) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        yield from file.iter_batches(batch_size=_ROWS, columns=columns)


def _csv_batches(
    path: PathLike, columns: list[str], names: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Features as numbers or truth values, other columns as text, just as they stand there."""
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    with arrow_csv.open_csv(path) as reader:
        guessed = reader.schema
    features = set(names)
    types = {name: pa.string() for name in columns if name not in features}
    for name in features:
        types[name] = pa.bool_() if guessed.field(name).type == pa.bool_() else pa.float64()
    reader = arrow_csv.open_csv(
        path,
        read_options=arrow_csv.ReadOptions(block_size=_BLOCK),
        convert_options=arrow_csv.ConvertOptions(include_columns=columns, column_types=types),
    )
    with reader:
        yield from reader


def _check_names(path: PathLike, there: Sequence[str], wanted: Sequence[str]) -> None:
    if missing := [name for name in wanted if name not in there]:
        listed = ", ".join(map(repr, there))
        raise DataError(f"{path} must have a column {missing[0]!r}, got {listed}.")
    if twice := [name for name in wanted if list(there).count(name) > 1]:
        raise DataError(f"{path} must have one column {twice[0]!r}, got several.")


def _numbers(path: PathLike, table: Any, names: tuple[str, ...]) -> FloatArray:
    """Columns side by side as float64; what is missing is NaN."""
    import pyarrow as pa

    rows = np.empty((table.num_rows, len(names)))
    for i, name in enumerate(names):
        column = table.column(name)
        kind = column.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or kind == pa.bool_()):
            what = "nothing" if pa.types.is_null(kind) else "text" if _is_text(kind) else str(kind)
            raise DataError(f"{path} must hold numbers only, got {what} in column {name!r}.")
        if kind == pa.bool_():
            column = column.cast(pa.int8())
        rows[:, i] = column.to_numpy(zero_copy_only=False)
    return rows


def _is_text(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _arrow(column: Any) -> Any:
    import pyarrow as pa

    if np.ma.isMaskedArray(column):
        values = np.ma.getdata(column)
        return pa.array(values, mask=np.ma.getmaskarray(column))
    return column if isinstance(column, (pa.Array, pa.ChunkedArray)) else pa.array(column)
