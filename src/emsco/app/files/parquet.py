"""Parquet files, or folders of them: their columns, and dates as days."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from pyarrow import compute

from emsco._base.documents import PathLike
from emsco._base.text import first_line
from emsco._base.typing import Kind
from emsco.app.files.csv import DATES
from emsco.errors import DataError, FileError

_BYTES = 24  # that a fit takes for each value: the table, its rows, and columns of stage models
_ROWS = 2**17  # rows to read at a time
_BUFFER = 2**16  # bytes of a column to read at a time; row groups may be far larger


@dataclass(frozen=True, slots=True, eq=False)
class ParquetFile:
    """A Parquet file, or all of a folder as one table; read as `CsvFile` is.

    Attributes
    ----------
    path : path
    files : list of path
        The file itself, or those of the folder in the order of their names.
    schema : pyarrow.Schema
    dates : str or None
        As for `Reading`.
    """

    path: PathLike
    files: list[Path]
    schema: pa.Schema
    dates: str | None = None

    @classmethod
    def open(cls, path: PathLike, dates: str | None = None) -> ParquetFile:
        """Read what the file says of its columns; those of a folder must all have the same."""
        import pyarrow.parquet as pq  # here and below, since deciding CSV files does without

        files = [Path(path)]
        if files[0].is_dir():
            files = sorted(
                file for file in files[0].iterdir() if file.suffix.lower() in (".parquet", ".pq")
            )
        if not files:
            rule = f"{path} must be a file or a folder of Parquet files"
            raise FileError(f"{rule}, got a folder without any.")
        schema = pq.read_schema(files[0])
        for file in files[1:]:
            schema = _joined(schema, pq.read_schema(file), f"{file} must have", files[0].name)
        return cls(path, files, schema, dates)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.schema.names)

    def read_leniently(self, columns: Sequence[str]) -> pa.Table:
        """Read some columns as they are, if they fit into memory."""
        import pyarrow.parquet as pq

        n_rows = sum(pq.read_metadata(file).num_rows for file in self.files)
        needed, memory = _BYTES * n_rows * len(columns) / 1e9, _memory() / 1e9
        if needed > memory:
            raise DataError(
                f"{self.path} must fit into memory, got {n_rows:,} rows of {len(columns)} columns, "
                f"which take {needed:,.0f} GB of {memory:,.0f}; give a sample of its rows."
            )
        tables = []
        for path in self.files:
            with pq.ParquetFile(path) as file:
                tables.append(file.read(list(columns)))
        return pa.concat_tables(tables, promote_options="permissive")

    def features_and_target(
        self,
        names: Sequence[str],
        target: str,
        kinds: Mapping[str, Kind] | None,  # noqa: ARG002 - as for CSV
    ) -> pa.Table:
        """Read the features and the labels; types of columns are those of the file."""
        table = self.read_leniently([*names, target])
        return self._with_days(table, names)

    def chunks(
        self,
        columns: Sequence[str],
        keep: Sequence[str],
        kinds: Mapping[str, Kind],  # noqa: ARG002 - as for CSV, where they decide types
        target: str | None,
    ) -> Iterator[tuple[pa.Table, pa.Table]]:
        """Yield rows as they are in the file, and the same with days; the first batch is empty."""
        import pyarrow.parquet as pq

        labels = [] if target is None else [target]
        wanted = list(dict.fromkeys([*columns, *keep, *labels]))
        empty = self.schema.empty_table()
        yield empty, self._with_days(empty, columns)
        for path in self.files:
            with pq.ParquetFile(path, pre_buffer=False, buffer_size=_BUFFER) as file:
                for batch in file.iter_batches(batch_size=_ROWS, columns=wanted):
                    table = pa.Table.from_batches([batch])
                    yield table, self._with_days(table, columns)

    def marked(self, columns: Sequence[str], marker: str) -> Iterator[pa.Table]:
        """Yield which cells hold a marker, in the batches of `chunks`.

        The marker is compared with values as they are written in CSV, where null is empty.
        """
        for rows, _ in self.chunks(columns, (), {}, None):
            texts = {name: rows.column(name).cast(pa.string()).fill_null("") for name in columns}
            yield pa.table({name: compute.equal(text, marker) for name, text in texts.items()})

    def _with_days(self, table: pa.Table, names: Sequence[str]) -> pa.Table:
        """Return the table with dates as days since 1970-01-01, or refuse them."""
        for name in names:
            kind = table.column(name).type
            if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
                continue
            if self.dates is None:
                raise DataError(
                    f"{self.path} must hold numbers or text, got dates in column {name!r}; {DATES}."
                )
            moments = table.column(name).cast(pa.timestamp("us", getattr(kind, "tz", None)))
            days = compute.divide(moments.cast(pa.int64()).cast(pa.float64()), 86_400e6)
            table = table.set_column(table.column_names.index(name), name, days)
        return table


def _joined(schema: pa.Schema, other: pa.Schema, rule: str, first: str) -> pa.Schema:
    """Join the schemas of two files, which must have the same columns."""
    if missing := [name for name in schema.names if name not in other.names]:
        raise DataError(f"{rule} the columns of {first}, got no {missing[0]!r}.")
    if more := [name for name in other.names if name not in schema.names]:
        raise DataError(f"{rule} the columns of {first}, got {more[0]!r} too.")
    try:
        return pa.unify_schemas([schema, other], promote_options="permissive")
    except pa.ArrowTypeError as error:
        words = first_line(error).removeprefix("Unable to merge: ")
        raise DataError(f"{rule} the types of {first}: {words}.") from None


def _memory() -> float:
    """Return the bytes of memory of this machine; infinity if they are unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return math.inf
