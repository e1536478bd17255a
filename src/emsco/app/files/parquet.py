"""Parquet files: their columns, their row groups, and dates as days."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import compute

from emsco._base.documents import PathLike
from emsco._base.typing import Kind
from emsco.app.files.csv import date_remedy
from emsco.errors import DataError

_ROWS = 2**17  # rows to read at a time
_BUFFER = 2**16  # bytes of a column to read at a time; row groups may be far larger


@dataclass(frozen=True, slots=True, eq=False)
class ParquetFile:
    """A Parquet file, read as `CsvFile` is.

    Attributes
    ----------
    path : path
    schema : pyarrow.Schema
    dates : str or None
        As for `Reading`.
    """

    path: PathLike
    schema: pa.Schema
    dates: str | None = None

    @classmethod
    def open(cls, path: PathLike, dates: str | None = None) -> ParquetFile:
        """Read what the file says of its columns."""
        return cls(path, pq.read_schema(path), dates)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tuple(self.schema.names)

    def read_leniently(self, columns: Sequence[str]) -> pa.Table:
        """Read some columns as they are."""
        with pq.ParquetFile(self.path) as file:
            return file.read(list(columns))

    def features_and_target(
        self, names: Sequence[str], target: str, kinds: Mapping[str, Kind] | None
    ) -> pa.Table:
        """Read the features and the labels; types of columns are those of the file."""
        table = self.read_leniently([*names, target])
        return self._with_days(table, names, may_drop=kinds is None)

    def chunks(
        self,
        columns: Sequence[str],
        keep: Sequence[str],
        kinds: Mapping[str, Kind],  # noqa: ARG002 - as for CSV, where they decide types
        target: str | None,
    ) -> Iterator[tuple[pa.Table, pa.Table]]:
        """Yield rows as they are in the file, and the same with days; the first batch is empty."""
        labels = [] if target is None else [target]
        wanted = list(dict.fromkeys([*columns, *keep, *labels]))
        with pq.ParquetFile(self.path, pre_buffer=False, buffer_size=_BUFFER) as file:
            empty = self.schema.empty_table()
            yield empty, self._with_days(empty, columns)
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

    def row_groups(self) -> list[tuple[int, int]]:
        """Return the number of each row group's first row, from 1, and of its rows."""
        about = pq.read_metadata(self.path)
        sizes = [about.row_group(i).num_rows for i in range(about.num_row_groups)]
        return [(1 + sum(sizes[:i]), size) for i, size in enumerate(sizes)]

    def read_group(self, group: int, columns: Sequence[str]) -> pa.Table:
        """Read some columns of a row group."""
        with pq.ParquetFile(self.path) as file:
            return self._with_days(file.read_row_group(group, list(columns)), columns)

    def _with_days(
        self, table: pa.Table, names: Sequence[str], *, may_drop: bool = False
    ) -> pa.Table:
        """Return the table with dates as days since 1970-01-01, or refuse them."""
        for name in names:
            kind = table.column(name).type
            if not (pa.types.is_date(kind) or pa.types.is_timestamp(kind)):
                continue
            if self.dates is None:
                raise DataError(
                    f"{self.path} must hold numbers or text, got dates in column {name!r}; ",
                    *date_remedy(name, may_drop=may_drop),
                )
            moments = table.column(name).cast(pa.timestamp("us", getattr(kind, "tz", None)))
            days = compute.divide(moments.cast(pa.int64()).cast(pa.float64()), 86_400e6)
            table = table.set_column(table.column_names.index(name), name, days)
        return table
