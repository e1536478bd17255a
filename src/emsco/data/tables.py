"""Tables in CSV and Parquet files, read at once or in chunks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emsco._base.documents import PathLike
from emsco._base.text import first_line, some, what_was_meant
from emsco._base.typing import AnyArray
from emsco.data.csv_files import (
    Kinds,
    check_texts,
    csv_batches,
    csv_schema,
    csv_types,
    read_csv,
    what_is_bad,
    with_missing,
)
from emsco.data.labels import labels_of
from emsco.errors import DataError, FileError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = [
    "Chunk",
    "column_names",
    "file_kind",
    "joined",
    "read_chunks",
    "read_labelled",
]

_ENDINGS = {".csv": "csv", ".csv.gz": "csv", ".parquet": "parquet", ".pq": "parquet"}
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
    """

    first: int
    table: pa.Table
    kept: Mapping[str, Any]
    labels: AnyArray | None = None


def column_names(path: PathLike) -> list[str]:
    """Return the names of the columns of a CSV or Parquet file."""
    with _readable(path) as kind:
        if kind == "parquet":
            import pyarrow.parquet as pq

            return list(pq.read_schema(path).names)
        return list(csv_schema(path).names)


def read_labelled(
    path: PathLike,
    target: str,
    names: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    kinds: Kinds | None = None,
    classes: AnyArray | None = None,
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
        holds text if it begins with text and none of its values is a number.
    classes : ndarray, optional
        The possible labels if known; see `labels_of`.
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
            check_texts(path, features)
        return features, labels_of(table.column(target), path, classes=classes), names


def read_chunks(
    path: PathLike,
    columns: Sequence[str],
    keep: Sequence[str] = (),
    kinds: Kinds | None = None,
    target: str | None = None,
    classes: AnyArray | None = None,
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
            csv_batches(path, wanted, csv_types(path, wanted, columns, kinds))
            if is_csv
            else _parquet_batches(path, wanted)
        )
        for batch in batches:
            table = with_missing(batch, texts) if is_csv else batch
            kept = {name: batch.column(name) for name in keep}
            labels = None
            if target is not None:
                labels = labels_of(table.column(target), path, first + 1, classes)
            yield Chunk(first, table.select(list(columns)), kept, labels)
            first += batch.num_rows


def joined(first: pa.Table, second: pa.Table) -> pa.Table:
    """Join the rows of two tables with the same columns; their types may differ slightly."""
    import pyarrow as pa

    return pa.concat_tables([first, second], promote_options="permissive")


def file_kind(path: PathLike) -> str:
    """Return "csv" or "parquet" by the ending of a file's name."""
    name = os.fspath(path).lower()
    for ending, kind in _ENDINGS.items():
        if name.endswith(ending):
            return kind
    raise FileError(f"{path} must end in {', '.join(_ENDINGS)}, got {Path(path).suffix!r}.")


@contextmanager
def _readable(path: PathLike) -> Iterator[str]:
    """Yield the kind of a file, and turn every failure to read it into one sentence."""
    import pyarrow as pa

    try:
        kind = file_kind(path)
        if Path(path).is_dir():
            raise FileError(f"{path} must be a file that can be read, got a folder.")
        yield kind
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else first_line(error)
        raise FileError(f"{path} must be a file that can be read ({why}).") from None
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise DataError(what_is_bad(path, error)) from None


def _read_whole(
    path: PathLike, kind: str, columns: list[str], names: tuple[str, ...], kinds: Kinds | None
) -> pa.Table:
    if kind == "parquet":
        import pyarrow.parquet as pq

        with pq.ParquetFile(path) as file:
            return file.read(columns)
    return read_csv(path, columns, csv_types(path, columns, names, kinds))


def _parquet_batches(path: PathLike, columns: list[str]) -> Iterator[pa.Table]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    with pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
        yield file.schema_arrow.empty_table()
        for batch in file.iter_batches(batch_size=_ROWS, columns=columns):
            yield pa.Table.from_batches([batch])


def _check_names(path: PathLike, there: Sequence[str], wanted: Sequence[str]) -> None:
    if missing := [name for name in wanted if name not in there]:
        meant = what_was_meant(missing[0], there)
        raise DataError(f"{path} must have a column {missing[0]!r}, got {some(there)}{meant}")
    if twice := [name for name in wanted if list(there).count(name) > 1]:
        raise DataError(f"{path} must have one column {twice[0]!r}, got several.")
