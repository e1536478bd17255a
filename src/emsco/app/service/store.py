"""Cases in one SQLite file: writes are gathered, and acknowledged once they are on the disk."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from emsco._base.documents import is_finite_number
from emsco._base.text import brief, first_line
from emsco.errors import FileError

_APPLICATION = 0x454D5356  # "EMSV", SQLite's mark of the application that owns a file
_FORM = 1
_TABLES = [
    "CREATE TABLE about (name TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE cases (id TEXT PRIMARY KEY, decided INTEGER NOT NULL, version INTEGER NOT NULL, "
    "opened REAL NOT NULL, changed REAL NOT NULL, document TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE counts (sample TEXT PRIMARY KEY, value REAL NOT NULL) WITHOUT ROWID",
    "CREATE INDEX decided ON cases (changed) WHERE decided",
]
_INSERT = "INSERT INTO cases VALUES (:id, :decided, :version, :opened, :changed, :document)"
_UPDATE = (
    "UPDATE cases SET decided = :decided, version = :version, changed = :changed, "
    "document = :document WHERE id = :id AND version = :version - 1 AND opened = :opened"
)
_DELETE = "DELETE FROM cases WHERE id = :id"
_EXPIRE = (
    "DELETE FROM cases WHERE id IN (SELECT id FROM cases WHERE decided AND changed < ? LIMIT ?)"
)
_COUNT = (
    "INSERT INTO counts VALUES (?, ?) "
    "ON CONFLICT (sample) DO UPDATE SET value = value + excluded.value"
)
_AT_ONCE = 2_000  # old cases deleted in one batch

_Found = TypeVar("_Found")


class WriteError(Exception):
    """A change could not be written; nothing of it is stored."""


class Stored(NamedTuple):
    """A case as the database has it.

    Attributes
    ----------
    id : str
    decided : bool
    version : int
        Number of changes, from 0.
    opened, changed : float
        Seconds since 1970.
    document : str
        What `Case.to_json` wrote.
    """

    id: str
    decided: bool
    version: int
    opened: float
    changed: float
    document: str

    def check(self) -> None:
        """Refuse a row that no service has written: SQLite keeps any type in any column."""
        times_are = is_finite_number(self.opened) and is_finite_number(self.changed)
        # Room to count up for ever without overflow of SQLite's integers.
        if type(self.version) is not int or not 0 <= self.version < 2**62 or not times_are:
            raise FileError(f"a case must have a version and two times, got {brief(self[2:5])}.")
        if not isinstance(self.document, str):
            raise FileError(f"a case must be text, got {brief(self.document)}.")


class Sums(dict[str, float]):
    """Numbers by name, which are added up.

    Examples
    --------
    >>> sums = Sums({"cost": 2.5})
    >>> sums.add({"cost": 1, "cases": 1})
    >>> sums
    {'cost': 3.5, 'cases': 1}
    """

    def add(self, more: Mapping[str, float]) -> None:
        """Add each number to that of the same name."""
        for name, number in more.items():
            self[name] = self.get(name, 0) + number


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    """One write: its statement, what it adds to the counts, and who waits for it."""

    statement: str
    fields: Mapping[str, Any]
    counts: Mapping[str, float]
    done: asyncio.Future[None]

    def fail(self, error: Exception) -> None:
        """Tell whoever waits."""
        self.done.set_exception(WriteError(first_line(error)))
        self.done.exception()  # somebody may have hung up before: nobody has to ask


@dataclass(slots=True)
class _Batch:
    """Writes that go to the disk together, and counts that belong to none of them."""

    steps: list[_Step] = field(default_factory=list)
    counts: Sums = field(default_factory=Sums)


class CaseStore:
    """Cases of one cascade, in a file that one service has open.

    Each write joins the batch that waits while the one before it goes to the disk. Statements run
    in the event loop, where they take microseconds; only the commit, which waits for the disk, runs
    in a thread of its own.

    Parameters
    ----------
    path : Path
        The file; it is created if it does not exist.
    cascade : str
        Fingerprint of the cascade.

    Attributes
    ----------
    counts : Sums
        Every count that is on the disk, by the name of its sample.
    """

    def __init__(self, path: Path, cascade: str) -> None:
        self.path = path
        self.n_commits = self.n_failures = 0
        self.is_failing = False
        with _speaking_plainly(path):
            self._file, self.counts = _open(path, cascade)
        self._thread = ThreadPoolExecutor(1, "emsco-commit")
        self._next: _Batch | None = None
        self._flushing: asyncio.Task[None] | None = None

    def n_cases(self) -> tuple[int, int]:
        """Return the numbers of open and of decided cases."""
        with _speaking_plainly(self.path):
            row = self._file.execute(
                "SELECT (SELECT count(*) FROM cases), (SELECT count(*) FROM cases WHERE decided)"
            ).fetchone()
        return row[0] - row[1], row[1]

    async def find(self, case: str) -> Stored | None:
        """Read a case; None if there is none."""
        columns = "SELECT id, decided, version, opened, changed, document FROM cases WHERE id = ?"
        row = await self._in_thread(lambda: self._file.execute(columns, (case,)).fetchone())
        return None if row is None else Stored(row[0], bool(row[1]), *row[2:])

    def save(self, stored: Stored, counts: Mapping[str, float]) -> asyncio.Future[None]:
        """Write a new case, or the next version of one; the future is done once it is safe."""
        return self._add(_UPDATE if stored.version else _INSERT, stored._asdict(), counts)

    def delete(self, case: str, counts: Mapping[str, float]) -> asyncio.Future[None]:
        """Delete a case."""
        return self._add(_DELETE, {"id": case}, counts)

    def count(self, counts: Mapping[str, float]) -> None:
        """Keep counts that belong to no case, with the next batch."""
        self._waiting().counts.add(counts)

    async def expire(self, days: float) -> int:
        """Delete cases that were decided so many days ago; return their number."""
        given, total = (time.time() - 86_400 * days, _AT_ONCE), 0
        with _speaking_plainly(self.path):
            while True:
                n = await self._in_thread(lambda: self._file.execute(_EXPIRE, given).rowcount)
                total += n
                # A full batch may have left others behind.
                if n < _AT_ONCE:
                    return total

    async def close(self) -> None:
        """Write what waits, and let others use the file."""
        if self._flushing is not None:
            await self._flushing
        self._thread.shutdown()
        with suppress(sqlite3.Error):
            # Best effort: the next service reads a file with a log as well.
            self._file.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._file.close()

    def _add(
        self, statement: str, fields: Mapping[str, Any], counts: Mapping[str, float]
    ) -> asyncio.Future[None]:
        step = _Step(statement, fields, counts, asyncio.get_running_loop().create_future())
        self._waiting().steps.append(step)
        return step.done

    def _waiting(self) -> _Batch:
        """Return the batch that gathers writes; see to it that it will be written."""
        if self._next is None:
            self._next = _Batch()
        if self._flushing is None or self._flushing.done():
            self._flushing = asyncio.create_task(self._flush())
        return self._next

    async def _flush(self) -> None:
        """Write batches until none waits, each in a transaction."""
        # Whatever came in while a batch was written goes with the next one.
        while self._next is not None:
            batch, self._next = self._next, None
            written: list[_Step] = []
            counts = Sums(batch.counts)
            try:
                self._file.execute("BEGIN IMMEDIATE")
                for step in batch.steps:
                    if self._is_written(step):
                        written.append(step)
                        counts.add(step.counts)
                self._file.executemany(_COUNT, counts.items())
                # Only this waits for the disk; the event loop goes on meanwhile.
                await self._in_thread(lambda: self._file.execute("COMMIT"))
            except Exception as error:  # whatever it is, nobody may wait for ever
                with suppress(sqlite3.Error):
                    if self._file.in_transaction:
                        self._file.execute("ROLLBACK")
                self.n_failures, self.is_failing = self.n_failures + 1, True
                for step in batch.steps:
                    if not step.done.done():
                        step.fail(error)
            else:
                self.n_commits, self.is_failing = self.n_commits + 1, False
                self.counts.add(counts)
                for step in written:
                    step.done.set_result(None)

    def _is_written(self, step: _Step) -> bool:
        """Carry out a step; one that cannot be must not take the others of its batch with it.

        A disk that fails raises an error, and with it the whole batch fails.
        """
        try:
            touched = self._file.execute(step.statement, step.fields).rowcount
        except (sqlite3.IntegrityError, OverflowError, UnicodeError) as error:
            step.fail(error)  # SQLite has undone this statement alone
            return False
        if touched != 1:
            step.fail(WriteError(f"case {step.fields['id']} has changed meanwhile"))
            return False
        return True

    async def _in_thread(self, job: Callable[[], _Found]) -> _Found:
        return await asyncio.get_running_loop().run_in_executor(self._thread, job)


def _open(path: Path, cascade: str) -> tuple[sqlite3.Connection, Sums]:
    """Open the file, and create it for this user alone if it does not exist; read its counts."""
    with suppress(FileExistsError):
        # Created first, because SQLite would create it readable for others.
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    file = sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False)
    try:
        file.execute("PRAGMA trusted_schema = OFF")
        # Deleted values must not stay readable in the file.
        file.execute("PRAGMA secure_delete = ON")
        # Two services on one file would count and answer past each other.
        file.execute("PRAGMA locking_mode = EXCLUSIVE")
        file.execute("PRAGMA journal_mode = WAL")
        # An answer is given only when a power cut cannot take it back.
        file.execute("PRAGMA synchronous = FULL")
        file.execute("BEGIN IMMEDIATE")
        _check_tables(path, file, cascade)
        file.execute("COMMIT")
        counts = Sums(file.execute("SELECT sample, value FROM counts").fetchall())
        for name, value in counts.items():
            if not is_finite_number(value) or value < 0:
                raise FileError(
                    f"database must have counts from 0 up, got {str(path)!r}, where {brief(name)} "
                    f"is {brief(value)}."
                )
    except BaseException:
        # Ctrl-C, too, must not leave the file locked.
        file.close()
        raise
    return file, counts


def _check_tables(path: Path, file: sqlite3.Connection, cascade: str) -> None:
    """Create the tables of a new file; refuse the file of another application or cascade."""
    application, form = (
        file.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version")
    )
    tables = [sql for (sql,) in file.execute("SELECT sql FROM sqlite_schema WHERE sql NOT NULL")]
    # Neither tables nor marks: a new file, or an empty one.
    if not tables and not application and not form:
        for table in _TABLES:
            file.execute(table)
        file.execute("INSERT INTO about VALUES ('cascade', ?)", (cascade,))
        file.execute(f"PRAGMA application_id = {_APPLICATION}")
        file.execute(f"PRAGMA user_version = {_FORM}")
        return
    rule = f"database must be a file of emsco serve, got {str(path)!r}, which"
    if application != _APPLICATION:
        raise FileError(f"{rule} is something else's; name another.")
    if form != _FORM or sorted(tables) != sorted(_TABLES):
        raise FileError(f"{rule} another version of emsco has written; name another.")
    row = file.execute("SELECT text FROM about WHERE name = 'cascade'").fetchone()
    if row is None or row[0] != cascade:
        raise FileError(
            f"database must have cases of this cascade, got {str(path)!r}, whose cases belong to "
            "another one; serve that cascade, or name another file."
        )


@contextmanager
def _speaking_plainly(path: Path) -> Iterator[None]:
    """Turn failures of SQLite and of the system into one sentence."""
    where = repr(str(path))
    try:
        yield
    except sqlite3.OperationalError as error:
        if error.sqlite_errorname.startswith("SQLITE_BUSY"):
            raise FileError(
                f"database must be free, got {where}, which another service has open."
            ) from None
        raise _unusable(where, str(error)) from error
    except sqlite3.Error as error:
        raise _unusable(where, str(error)) from error
    except OSError as error:
        raise _unusable(where, error.strerror or str(error)) from None


def _unusable(where: str, why: str) -> FileError:
    return FileError(f"database must be a file that can be read and written, got {where} ({why}).")
