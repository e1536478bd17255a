"""Rows of arrays by key, in one SQLite file that survives a killed process."""

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

_APPLICATION = 0x454D5343  # "EMSC", SQLite's mark of the application that owns a file
_BYTES = 2**24  # of rows in one batch; a lookup reads whole batches
_PATIENCE = 60.0  # seconds to wait for another process that is writing
_TABLES = [
    "CREATE TABLE about (text TEXT NOT NULL)",
    "CREATE TABLE batches (number INTEGER PRIMARY KEY, keys BLOB NOT NULL, keys_crc INTEGER, "
    "rows BLOB NOT NULL, rows_crc INTEGER)",
]
_INSERT = "INSERT INTO batches VALUES (NULL, ?, ?, ?, ?)"
_NO_LOCKS = ("SQLITE_IOERR_LOCK", "SQLITE_IOERR_RDLOCK")  # errors of file systems without locks


class LockedError(Exception):
    """Another process, or another part of this one, has the file open exclusively."""


@dataclass(frozen=True, slots=True)
class Place:
    """The file of a store, and its words in messages.

    Attributes
    ----------
    path : Path
    name : str
        Its name in messages, such as "checkpoint".
    error : type of Exception
        The error to raise if the file cannot be used.
    form : int
        Version of the content; a file of another version is refused.
    way_out : str
        The effect of deleting the file, as the end of a sentence.
    """

    path: Path
    name: str
    error: type[Exception]
    form: int
    way_out: str

    def unusable(self, why: str) -> Exception:
        """Return the error for a file that the file system or SQLite cannot open or write."""
        return self.error(
            f"{self.name} must be a folder that can be read and written, got "
            f"{str(self.path.parent)!r} ({why})."
        )

    def damaged(self, why: str) -> Exception:
        """Return the error for a file with unusable content."""
        return self.error(
            f"{self.name} must be whole, got {str(self.path)!r}, which {why}; delete that file, "
            f"and {self.way_out}."
        )

    def check_form(self, written: int) -> None:
        """Refuse a file that an older or newer emsco has written."""
        if written != self.form:
            who = "a newer" if written > self.form else "an older"
            raise self.error(
                f"{self.name} must have format {self.form}, got {written} in {str(self.path)!r}; "
                f"go on with {who} emsco, which wrote it, or name another folder."
            )


@dataclass(frozen=True, slots=True, eq=False)
class StoredBatch:
    """Rows that were added together: number of the batch, and key of each row."""

    number: int
    keys: LabelArray


class Store:
    """Rows of one type by keys of one width, added batch after batch and never changed.

    A batch is stored completely or not at all, and is on the disk once `add` returns. Each batch
    has checksums, since SQLite has none. With `exclusive`, no other process can open the file until
    it is closed or this process ends. Otherwise several processes may add to it.

    Parameters
    ----------
    place : Place
        The file, in a folder that exists.
    key_width : int
        Bytes of a key.
    row_type : dtype
        Type of one row, with its shape or fields.
    exclusive : bool
        Whether to keep other processes out.
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
        """Description of the rows as plain values; None in a new file."""
        with _speaking_plainly(self.place):
            if not (stored := self._file.execute("SELECT text FROM about").fetchall()):
                return None
        try:
            return json.loads(stored[0][0])
        except (RecursionError, TypeError, ValueError):
            raise self.place.damaged("does not say what it is of") from None

    @property
    def is_empty(self) -> bool:
        """Whether nothing was added yet."""
        with _speaking_plainly(self.place):
            return self._file.execute("SELECT 1 FROM batches LIMIT 1").fetchone() is None

    def say(self, about: Mapping[str, Any]) -> None:
        """Write the description of the rows into a new file."""
        with _speaking_plainly(self.place):
            self._file.execute("INSERT INTO about VALUES (?)", (json.dumps(about),))

    def add(self, keys: LabelArray, rows: AnyArray) -> None:
        """Add rows with keys of shape (n, key_width)."""
        n_rows = max(1, _BYTES // self._row_type.itemsize)
        rows = np.ascontiguousarray(rows, dtype=self._row_type.base)
        with _speaking_plainly(self.place), _at_once(self._file):
            for start in range(0, len(keys), n_rows):
                part = slice(start, start + n_rows)
                values = keys[part].tobytes(), rows[part].tobytes()
                summed = [(value, zlib.crc32(value)) for value in values]
                self._file.execute(_INSERT, (*summed[0], *summed[1]))

    def batches(self, after: int = 0) -> Iterator[StoredBatch]:
        """Yield the batches with a number above `after`, in order, without reading their rows."""
        columns = "SELECT number, keys, keys_crc FROM batches WHERE number > ? ORDER BY number"
        with _speaking_plainly(self.place):
            stored = self._file.execute(columns, (after,)).fetchall()
        for number, keys, crc in stored:
            self._check(keys, crc, self._key_width)
            yield StoredBatch(number, np.frombuffer(keys, np.uint8).reshape(-1, self._key_width))

    def rows(self, batch: StoredBatch) -> AnyArray:
        """Return the rows of a batch as a read-only array."""
        columns = "SELECT rows, rows_crc FROM batches WHERE number = ?"
        with _speaking_plainly(self.place):
            stored = self._file.execute(columns, (batch.number,)).fetchone()
        content, crc = stored or (b"", 0)
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
    """Open a file, and create it if it does not exist."""
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
            # A write-ahead log waits for the disk once instead of five times. Without the exclusive
            # lock it would need shared memory, which network drives do not have.
            file.execute("PRAGMA locking_mode = EXCLUSIVE")
            file.execute("PRAGMA journal_mode = WAL")
        with _at_once(file):
            _check_tables(place, file)
    except BaseException:
        file.close()
        raise
    return file


def _check_tables(place: Place, file: sqlite3.Connection) -> None:
    """Create the tables of a new file; refuse a file with other tables or another format."""
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
    """Carry out all statements of a block, or none."""
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
    """Turn failures of SQLite into one sentence."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise place.unusable(str(error)) from error
    except sqlite3.Error as error:
        raise place.damaged(f"cannot be read ({error})") from error
