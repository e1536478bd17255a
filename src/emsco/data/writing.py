"""Tables written to CSV and Parquet files, completely or not at all."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from emsco._base.documents import PathLike, writing_atomically
from emsco._base.text import first_line
from emsco.data.tables import file_kind
from emsco.errors import FileError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["TableWriter", "write_table"]


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
