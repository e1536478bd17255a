"""Rows of arrays by key, in one SQLite file that is whole whenever the process is killed."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from emsco._base.typing import AnyArray, LabelArray

__all__ = ["Batch", "LockedError", "Place", "Store"]

_APPLICATION = 0x454D5343  # "EMSC", by which SQLite files tell whose they are
_BYTES = 2**24  # of rows in one batch; what is looked up is read by whole batches
_PATIENCE = 60.0  # seconds to wait for another process that is writing
_TABLES = [
    "CREATE TABLE about (text TEXT NOT NULL)",
    "CREATE TABLE batches (number INTEGER PRIMARY KEY, keys BLOB NOT NULL, keys_crc INTEGER, "
    "rows BLOB NOT NULL, rows_crc INTEGER)",
]
_INSERT = "INSERT INTO batches VALUES (NULL, ?, ?, ?, ?)"
_NO_LOCKS = ("SQLITE_IOERR_LOCK", "SQLITE_IOERR_RDLOCK")  # what file systems without locks say


class LockedError(Exception):
    """Another process, or another part of this one, has the file to itself."""


@dataclass(frozen=True, slots=True)
class Place:
    """A file of a store, and how to speak of it.

    Attributes
    ----------
    path : Path
    name : str
        What messages call it, such as "checkpoint".
    error : type of Exception
        What is raised where it cannot be used.
    form : int
        Version of what is in it; a file of another is refused.
    way_out : str
        What happens where the file is deleted, as the end of a sentence.
    """

    path: Path
    name: str
    error: type[Exception]
    form: int
    way_out: str

    def unusable(self, why: str) -> Exception:
        """The file system, or SQLite on its behalf, does not let the file be used."""
        return self.error(
            f"{self.name} must be a folder that can be read and written, got "
            f"{str(self.path.parent)!r} ({why})."
        )

    def damaged(self, why: str) -> Exception:
        """What the file holds cannot be used."""
        return self.error(
            f"{self.name} must be whole, got {str(self.path)!r}, which {why}; delete that file, "
            f"and {self.way_out}."
        )

    def check_form(self, found: int) -> None:
        """Refuse a file that an older or newer emsco has written."""
        if found != self.form:
            who = "a newer" if found > self.form else "an older"
            raise self.error(
                f"{self.name} must have format {self.form}, got {found} in {str(self.path)!r}; "
                f"go on with {who} emsco, which wrote it, or name another folder."
            )


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Rows that were added together: the number of the batch, and the key of each row."""

    number: int
    keys: LabelArray


class Store:
    """Rows of one type by keys of one width, added batch after batch and never changed.

    A batch is there as a whole or not at all, and is on the disk once `add` returns. Each has
    checksums, since SQLite has none. With `exclusive`, nobody else can open the file until it is
    closed or the process ends, however it ends; without, several processes may add to it.

    Parameters
    ----------
    place : Place
        Its folder exists.
    key_width : int
        Bytes of a key.
    row_type : dtype
        Of one row; with a shape or fields, as a row has them.
    exclusive : bool
    """

    def __init__(
        self, place: Place, key_width: int, row_type: np.dtype[Any], *, exclusive: bool
    ) -> None:
        self.place = place
        self._key_width, self._row_type = key_width, row_type
        self._file = _open(place, exclusive)

    def __enter__(self) -> Self:
        """Close the file when the block ends."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Let others use the file."""
        self._file.close()

    @property
    def about(self) -> Any:
        """What the rows are of, as plain values; None in a new file."""
        with _speaking_plainly(self.place):
            if not (found := self._file.execute("SELECT text FROM about").fetchall()):
                return None
        try:
            return json.loads(found[0][0])
        except (RecursionError, TypeError, ValueError):
            raise self.place.damaged("does not say what it is of") from None

    def say(self, about: Mapping[str, Any]) -> None:
        """Write what the rows of a new file are of."""
        with _speaking_plainly(self.place):
            self._file.execute("INSERT INTO about VALUES (?)", (json.dumps(about),))

    def add(self, keys: LabelArray, rows: AnyArray) -> None:
        """Write keys of shape (n, key_width), and their rows."""
        n_rows = max(1, _BYTES // self._row_type.itemsize)
        rows = np.ascontiguousarray(rows, dtype=self._row_type.base)
        with _speaking_plainly(self.place), _at_once(self._file):
            for start in range(0, len(keys), n_rows):
                part = slice(start, start + n_rows)
                values = keys[part].tobytes(), rows[part].tobytes()
                summed = [(value, zlib.crc32(value)) for value in values]
                self._file.execute(_INSERT, (*summed[0], *summed[1]))

    def batches(self, after: int = 0) -> Iterator[Batch]:
        """Batches with a number above `after`, in order; their rows are not read yet."""
        columns = "SELECT number, keys, keys_crc FROM batches WHERE number > ? ORDER BY number"
        with _speaking_plainly(self.place):
            found = self._file.execute(columns, (after,)).fetchall()
        for number, keys, crc in found:
            self._check(keys, crc, self._key_width)
            yield Batch(number, np.frombuffer(keys, np.uint8).reshape(-1, self._key_width))

    def rows(self, batch: Batch) -> AnyArray:
        """The rows of a batch, locked."""
        columns = "SELECT rows, rows_crc FROM batches WHERE number = ?"
        with _speaking_plainly(self.place):
            found = self._file.execute(columns, (batch.number,)).fetchone()
        content, crc = found or (b"", 0)
        self._check(content, crc, self._row_type.itemsize)
        if len(content) != len(batch.keys) * self._row_type.itemsize:
            raise self.place.damaged("has more keys than rows, or fewer")
        return np.frombuffer(content, self._row_type)

    def _check(self, content: Any, crc: Any, width: int) -> None:
        if not isinstance(content, bytes) or zlib.crc32(content) != crc:
            raise self.place.damaged("does not fit its checksums")
        if len(content) % width:
            raise self.place.damaged("has rows of another type or shape")


def _open(place: Place, exclusive: bool) -> sqlite3.Connection:
    """A file with its tables, made where there is none."""
    settings: dict[str, Any] = {
        "timeout": 0.0 if exclusive else _PATIENCE,
        "isolation_level": None,
        "check_same_thread": False,
    }
    with _speaking_plainly(place):
        try:
            return _prepared(place, sqlite3.connect(place.path, **settings), exclusive)
        except sqlite3.OperationalError as error:
            if exclusive and error.sqlite_errorname.startswith("SQLITE_BUSY"):
                raise LockedError(f"{place.path} is in use") from None
            if error.sqlite_errorname not in _NO_LOCKS:
                raise
        address = f"{place.path.resolve().as_uri()}?nolock=1"
        file = sqlite3.connect(address, uri=True, **settings)
        return _prepared(place, file, exclusive)


def _prepared(place: Place, file: sqlite3.Connection, exclusive: bool) -> sqlite3.Connection:
    try:
        file.execute("PRAGMA trusted_schema = OFF")
        file.execute("PRAGMA synchronous = FULL")
        if exclusive:
            # A log that is written ahead waits for the disk once, not five times. It takes memory
            # that processes share, which network drives have not, unless one keeps the lock.
            file.execute("PRAGMA locking_mode = EXCLUSIVE")
            file.execute("PRAGMA journal_mode = WAL")
        with _at_once(file):
            _check_tables(place, file)
    except BaseException:
        file.close()
        raise
    return file


def _check_tables(place: Place, file: sqlite3.Connection) -> None:
    """Make the tables of a new file; refuse one that has others, or is of another format."""
    application, form = (
        file.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    tables = [sql for (sql,) in file.execute("SELECT sql FROM sqlite_schema ORDER BY name")]
    if not tables and not application and not form:
        for table in _TABLES:
            file.execute(table)
        file.execute(f"PRAGMA application_id = {_APPLICATION}")
        file.execute(f"PRAGMA user_version = {place.form}")
        return
    if application != _APPLICATION:
        raise place.damaged("is something else's")
    place.check_form(form)
    if tables != _TABLES:
        raise place.damaged("has other tables")


@contextmanager
def _at_once(file: sqlite3.Connection) -> Iterator[None]:
    """All of a block's statements, or none."""
    file.execute("BEGIN IMMEDIATE")
    try:
        yield
        file.execute("COMMIT")
    except BaseException:
        if file.in_transaction:
            file.execute("ROLLBACK")
        raise


@contextmanager
def _speaking_plainly(place: Place) -> Iterator[None]:
    """Failures of SQLite as one sentence."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise place.unusable(str(error)) from error
    except sqlite3.Error as error:
        raise place.damaged(f"cannot be read ({error})") from error
