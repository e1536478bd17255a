"""Folders of Parquet files that are one table, read part by part."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from emsco._base.digests import DIGEST
from emsco._base.documents import PathLike
from emsco._base.typing import AnyArray, FloatArray
from emsco.app.files.reading import AS_FOUND, Reading
from emsco.app.files.tables import (
    column_names,
    is_parquet,
    joined,
    parquet_part,
    parquet_parts,
    parquet_schema,
)
from emsco.data.encoding import Encoding, PartedTable
from emsco.data.labels import labels_of
from emsco.errors import DataError, FileError, ReadingWarning
from emsco.scale.disk import fits_into_memory, on_disk

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class _Part:
    """A row group of a file: the number of its first row in the file, from 1, and its rows."""

    path: Path
    group: int
    first_row: int
    n_rows: int


class ParquetFolder(PartedTable):
    """The Parquet files of a folder, in the order of their names.

    Parameters
    ----------
    folder : path
    reading : Reading, optional
        Whether dates become numbers.

    Attributes
    ----------
    names : tuple of str
        Columns, of which `only` takes some.
    """

    def __init__(self, folder: PathLike, reading: Reading = AS_FOUND) -> None:
        files = sorted(one for one in Path(folder).iterdir() if is_parquet(one))
        if not files:
            raise FileError(f"{folder} must be a folder of Parquet files, got none in it.")
        self.folder, self.reading, self.files = Path(folder), reading, files
        self.what = str(folder)
        self.names = tuple(column_names(files[0]))
        self.shell = parquet_schema(files[0]).empty_table()
        for path in files[1:]:
            _check_columns(path, files[0], self.names)
        self._parts = [
            _Part(path, group, first, n_rows)
            for path in files
            for group, (first, n_rows) in enumerate(parquet_parts(path))
        ]
        self.parts = [str(part.path) for part in self._parts]
        self.places = [(part.first_row, str(part.path)) for part in self._parts]

    def __len__(self) -> int:
        return sum(part.n_rows for part in self._parts)

    def only(self, names: Sequence[str]) -> ParquetFolder:
        """Return the table of some columns."""
        found = object.__new__(ParquetFolder)
        shell = self.shell.select(list(names))
        found.__dict__.update(self.__dict__, names=tuple(names), shell=shell)
        return found

    def run(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[tuple[Any, ...]] = ()
    ) -> list[Any]:
        """Return ``function(part, *shared, *own)`` of each row group; `own` is from `each`."""
        return [
            function(self._read(part, self.names), *shared, *own)
            for part, own in zip(self._parts, each or repeat(()), strict=False)
        ]

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Return some columns of all rows as a table in memory."""
        return joined(*(self._read(part, names) for part in self._parts))

    def labels(self, target: str) -> AnyArray:
        """Return the labels of all files, which must be of one type."""
        found: dict[Path, AnyArray] = {}
        for path in self.files:
            own = [part for part in self._parts if part.path == path]
            if own:
                found[path] = np.concatenate([self._labels(part, target) for part in own])
        first = next(iter(found), None)
        for path, labels in found.items():
            if first is not None and (labels.dtype.kind == "U") != (found[first].dtype.kind == "U"):
                raise DataError(
                    f"{self.folder} must have labels of one type in column {target!r}, got "
                    f"{found[first][0].item()!r} in {first.name} and {labels[0].item()!r} in "
                    f"{path.name}."
                )
        if not found:
            raise DataError(f"{self.folder} must have rows, got none.")
        return np.concatenate(list(found.values()))

    def _labels(self, part: _Part, target: str) -> AnyArray:
        column = self._read(part, [target]).column(target)
        return labels_of(column, part.path, part.first_row)

    def rows(self, encoding: Encoding) -> Any:
        """Return the inputs of all rows: in memory if they fit, else on disk."""
        shape = len(self), encoding.n_inputs
        if not fits_into_memory(shape[0] * shape[1]):
            said = f"{self.folder} is larger than memory, so its rows stay on disk"
            warnings.warn(ReadingWarning(f"{said}; stages are logistic."), stacklevel=6)
            return on_disk(self._encoded(encoding), *shape)
        rows, first = np.empty(shape), 0
        for block in self._encoded(encoding):
            rows[first : first + len(block)] = block
            first += len(block)
        return rows

    def fingerprint(self) -> str:
        """Return a digest of the names and contents of all files."""
        digest = hashlib.sha256()
        for path in self.files:
            digest.update(path.name.encode())
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        return DIGEST + digest.hexdigest()

    def _encoded(self, encoding: Encoding) -> Iterator[FloatArray]:
        for part in self._parts:
            table = self._read(part, self.names)
            yield encoding.rows(table, part.first_row, str(part.path))

    def _read(self, part: _Part, names: Sequence[str]) -> pa.Table:
        return parquet_part(part.path, part.group, list(names), self.reading)


def _check_columns(path: Path, first: Path, names: tuple[str, ...]) -> None:
    """Refuse a file that has other columns than the first one."""
    there = column_names(path)
    if missing := [name for name in names if name not in there]:
        raise DataError(f"{path} must have the columns of {first.name}, got no {missing[0]!r}.")
    if more := [name for name in there if name not in names]:
        raise DataError(f"{path} must have the columns of {first.name}, got {more[0]!r} too.")
