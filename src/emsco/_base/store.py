"""Values by key in one SQLite file, safe under kills and several writers."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from emsco._base.documents import PathLike

_APPLICATION = 0x454D5343  # "EMSC", SQLite's mark of the application that owns a file
_FORMAT = 6
_MARKS = {"application_id": _APPLICATION, "user_version": _FORMAT}
_TABLE = "CREATE TABLE stored (key BLOB PRIMARY KEY, value BLOB NOT NULL, crc INTEGER NOT NULL)"
_PATIENCE = 60.0  # seconds to wait for another process that is writing
_NO_LOCKS = ("SQLITE_IOERR_LOCK", "SQLITE_IOERR_RDLOCK")  # errors of file systems without locks
_ABOUT = b""  # the key of the description


class Store:
    """Values by key, added and never changed.

    What `add` takes is on the disk when it returns, either all of it or nothing. Several processes
    may use a file. Each value has a checksum, since SQLite has none.

    Parameters
    ----------
    path : path
        The file; it is made if there is none.
    name : str
        What messages call the file, such as "checkpoint".
    error : type of Exception
        Raised if the file cannot be used, is damaged, or is another program's.
    """

    def __init__(self, path: PathLike, name: str, error: type[Exception]) -> None:
        self.path, self._name, self._error = Path(path), name, error
        with self._in_a_sentence():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._open("")
            except sqlite3.OperationalError as failure:
                if failure.sqlite_errorname not in _NO_LOCKS:
                    raise
                self._open("?nolock=1")

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def get(self, keys: Iterable[bytes]) -> list[bytes | None]:
        """Values of keys; None for those that are not there."""
        values: list[bytes | None] = []
        with self._in_a_sentence():
            for key in keys:
                found = self._file.execute("SELECT value, crc FROM stored WHERE key = ?", (key,))
                value, crc = found.fetchone() or (None, None)
                if crc is not None and (not isinstance(value, bytes) or crc != _sum(key, value)):
                    raise self.damaged("a value does not fit its checksum")
                values.append(value)
        return values

    def add(self, items: Mapping[bytes, bytes]) -> None:
        """Add values; a key that is there already keeps its value."""
        rows = ((key, value, _sum(key, value)) for key, value in items.items())
        with self._in_a_sentence(), self._at_once():
            self._file.executemany("INSERT OR IGNORE INTO stored VALUES (?, ?, ?)", rows)

    def about(self, new: Mapping[str, Any] | None = None) -> dict[str, Any] | None:
        """Return what the file says it is of; a file that does not say it yet is told `new`."""
        if new is not None:
            self.add({_ABOUT: json.dumps(new).encode()})
        (text,) = self.get([_ABOUT])
        try:
            about = text and json.loads(text)
        except (RecursionError, ValueError):
            about = text
        if isinstance(about, dict) or about is None:
            return about
        raise self.damaged("it does not say what it is of")

    def damaged(self, why: str) -> Exception:
        """Return the error for a file with unusable content."""
        return self._error(
            f"{self._name} must be whole, got {str(self.path)!r} ({why}); delete that file, or "
            "name another."
        )

    def _open(self, query: str) -> None:
        """Connect to the file and make its table; refuse a file with anything else in it."""
        self._file = sqlite3.connect(
            self.path.absolute().as_uri() + query,
            uri=True,
            timeout=_PATIENCE,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            with self._at_once():
                marks = {
                    name: self._file.execute(f"PRAGMA {name}").fetchone()[0] for name in _MARKS
                }
                schema = "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL"
                tables = [sql for (sql,) in self._file.execute(schema)]
                if not tables and not any(marks.values()):
                    self._file.execute(_TABLE)
                    for name, mark in _MARKS.items():
                        self._file.execute(f"PRAGMA {name} = {mark}")
                elif (tables, marks) != ([_TABLE], _MARKS):
                    raise self._error(
                        f"{self._name} must be a file of this version of emsco, got "
                        f"{str(self.path)!r}, which is not; name another."
                    )
        except BaseException:
            self.close()
            raise

    @contextmanager
    def _at_once(self) -> Iterator[None]:
        """Carry out all statements of a block, or none."""
        self._file.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._file.execute("COMMIT")
        except BaseException:
            if self._file.in_transaction:
                self._file.execute("ROLLBACK")
            raise

    @contextmanager
    def _in_a_sentence(self) -> Iterator[None]:
        """Turn failures of SQLite and of the file system into one sentence."""
        try:
            yield
        except (OSError, sqlite3.OperationalError) as failure:
            raise self._error(
                f"{self._name} must be a file that can be read and written, got "
                f"{str(self.path)!r} ({failure})."
            ) from failure
        except sqlite3.Error as failure:
            raise self.damaged(str(failure)) from failure


def _sum(key: bytes, value: bytes) -> int:
    return zlib.crc32(value, zlib.crc32(key))
