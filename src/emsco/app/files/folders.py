"""Folders of Parquet files that are one table, read part by part."""

from __future__ import annotations

import hashlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import groupby, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from emsco._base.digests import DIGEST
from emsco._base.documents import PathLike
from emsco._base.typing import AnyArray, FloatArray
from emsco.app.files.parquet import ParquetFile
from emsco.app.files.reading import AS_FOUND, Reading
from emsco.app.files.tables import joined, open_table
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
        files = sorted(
            path
            for path in Path(folder).iterdir()
            if path.name.lower().endswith((".parquet", ".pq"))
        )
        if not files:
            raise FileError(f"{folder} must be a folder of Parquet files, got none in it.")
        self.folder, self.reading, self.files = Path(folder), reading, files
        self.what = str(folder)
        self._parts: list[_Part] = []
        for path in files:
            with open_table(path, reading) as opened:
                file = cast(ParquetFile, opened)
                if path == files[0]:
                    self.names, self.shell = file.names, file.schema.empty_table()
                _check_columns(path, file.names, files[0], self.names)
                self._parts += [
                    _Part(path, group, first, n_rows)
                    for group, (first, n_rows) in enumerate(file.row_groups())
                    if n_rows
                ]
        self.parts = [str(part.path) for part in self._parts]
        self.places = [(part.first_row, str(part.path)) for part in self._parts]

    def __len__(self) -> int:
        return sum(part.n_rows for part in self._parts)

    def only(self, names: Sequence[str]) -> ParquetFolder:
        """Return the table of some columns."""
        narrower = copy(self)
        narrower.names, narrower.shell = tuple(names), self.shell.select(list(names))
        return narrower

    def run(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[tuple[Any, ...]] = ()
    ) -> list[Any]:
        """Return ``function(part, *shared, *more)`` of each row group; `each` holds `more`."""
        return [
            function(self._read(part, self.names), *shared, *more)
            for part, more in zip(self._parts, each or repeat(()), strict=False)
        ]

    def columns(self, names: Sequence[str]) -> pa.Table:
        """Return some columns of all rows as a table in memory."""
        return joined(*(self._read(part, names) for part in self._parts))

    def labels(self, target: str) -> AnyArray:
        """Return the labels of all files, which must be of one type."""
        of_files: dict[Path, AnyArray] = {}
        for path, parts in groupby(self._parts, key=lambda part: part.path):
            of_parts = [
                labels_of(self._read(part, [target]).column(target), path, part.first_row)
                for part in parts
            ]
            of_files[path] = np.concatenate(of_parts)
        if not of_files:
            raise DataError(f"{self.folder} must have rows, got none.")
        first, first_labels = next(iter(of_files.items()))
        for path, labels in of_files.items():
            if (labels.dtype.kind == "U") != (first_labels.dtype.kind == "U"):
                raise DataError(
                    f"{self.folder} must have labels of one type in column {target!r}, got "
                    f"{first_labels[0].item()!r} in {first.name} and {labels[0].item()!r} in "
                    f"{path.name}."
                )
        return np.concatenate(list(of_files.values()))

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
        with open_table(part.path, self.reading) as file:
            return cast(ParquetFile, file).read_group(part.group, names)


def _check_columns(path: Path, there: Sequence[str], first: Path, names: Sequence[str]) -> None:
    """Refuse a file that has other columns than the first one."""
    if missing := [name for name in names if name not in there]:
        raise DataError(f"{path} must have the columns of {first.name}, got no {missing[0]!r}.")
    if more := [name for name in there if name not in names]:
        raise DataError(f"{path} must have the columns of {first.name}, got {more[0]!r} too.")
