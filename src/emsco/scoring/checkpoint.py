"""The folder of a checkpoint: whose it is, one writer at a time, files that are whole or absent."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import IO, Any, Self

from emsco._base.documents import UNFINISHED, writing_atomically
from emsco.errors import CheckpointError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl
from emsco._base.digests import _DIGEST

__all__ = ["CheckpointFolder", "stored_seed"]

_FORMAT = 1
_PROBLEM = "problem.json"
_LOCK = "lock"


class CheckpointFolder:
    """A folder with a checkpoint, which nobody else writes to until it is closed.

    Its file `problem.json` says what the checkpoint is of. Every file is written under another
    name, brought to the disk and then renamed: whenever the process is killed, a file is whole
    or not there.
    """

    def __init__(self, path: Path, lock: IO[bytes]) -> None:
        self.path = path
        self._lock = lock

    @classmethod
    def open(cls, path: str | os.PathLike[str], problem: Mapping[str, Any], seed: int) -> Self:
        """Make a new or empty folder a checkpoint of `problem`, or go on with one that is there.

        Parameters
        ----------
        path : str or path
        problem : mapping
            All that a search depends on, by name: numbers, text, lists of them, fingerprints.
        seed : int

        Raises
        ------
        CheckpointError
            Where the folder cannot be used, has other files, is in use or of another problem.
        """
        folder = Path(path)
        with _usable(folder):
            _check_place(folder)
            folder.mkdir(parents=True, exist_ok=True)
            opened = cls(folder, _lock(folder))
        try:
            opened._begin(problem, seed)
        except BaseException:
            opened.close()
            raise
        return opened

    def _begin(self, problem: Mapping[str, Any], seed: int) -> None:
        with _usable(self.path):
            for name in (_PROBLEM, "part-"):
                for unfinished in self.path.glob(f"{name}*{UNFINISHED}"):
                    unfinished.unlink()
        if stored := _stored(self.path):
            _check_same(self.path, stored, problem, seed)
        else:
            about = {"format": _FORMAT, "emsco": version("emsco"), "seed": seed}
            text = json.dumps({**about, "problem": dict(problem)}, indent=1)
            self.write(_PROBLEM, lambda file: file.write(text.encode()))

    def write(self, name: str, fill: Callable[[IO[bytes]], object]) -> None:
        """Write a file by `fill`, in place of one of that name where there is one."""
        with _usable(self.path), writing_atomically(self.path / name) as file:
            fill(file)

    def remove(self, name: str) -> None:
        """Delete a file, if it is there."""
        with _usable(self.path):
            (self.path / name).unlink(missing_ok=True)

    def close(self) -> None:
        """Let others write to the folder."""
        self._lock.close()


def stored_seed(path: str | os.PathLike[str]) -> int | None:
    """Seed of the checkpoint that is there, None where there is none yet."""
    stored = _stored(Path(path))
    return None if stored is None else int(stored["seed"])


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    """Failures of the file system, as one sentence."""
    try:
        yield
    except OSError as error:
        raise CheckpointError(
            "checkpoint must be a folder that can be read and written, got "
            f"{str(folder)!r} ({error.strerror or error})."
        ) from error


def _check_place(folder: Path) -> None:
    """Refuse a file, and a folder with files that are no checkpoint's, before touching either."""
    if folder.exists() and not folder.is_dir():
        raise CheckpointError(f"checkpoint must be a folder, got the file {str(folder)!r}.")
    if not folder.exists() or (folder / _PROBLEM).exists():
        return
    others = sorted(
        file.name
        for file in folder.iterdir()
        if file.name != _LOCK and not file.match(f"{_PROBLEM}*{UNFINISHED}")
    )
    if others:
        raise CheckpointError(
            f"checkpoint must be a new or empty folder or one with {_PROBLEM}, got "
            f"{str(folder)!r}, which has {others[0]!r} and no {_PROBLEM}; name another folder."
        )


def _lock(folder: Path) -> IO[bytes]:
    """A lock on the folder, which the system lets go when it is closed or the process ends."""
    file = (folder / _LOCK).open("ab")
    try:
        if sys.platform == "win32":
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        file.close()
        raise CheckpointError(
            f"checkpoint must be a folder that no other fit is writing to, got {str(folder)!r}; "
            "wait until that one ends, or name another folder."
        ) from None
    except OSError:
        pass  # the file system knows no locks
    return file


def _stored(folder: Path) -> dict[str, Any] | None:
    """What `problem.json` says; None where there is none."""
    file = folder / _PROBLEM
    try:
        with _usable(folder), suppress(FileNotFoundError, NotADirectoryError):
            stored = json.loads(file.read_text(encoding="utf-8"))
            return _checked(file, stored)
    except (RecursionError, UnicodeDecodeError, json.JSONDecodeError):
        raise _damaged(file) from None
    return None


def _checked(file: Path, stored: Any) -> dict[str, Any]:
    if not isinstance(stored, dict) or not isinstance(stored.get("format"), int):
        raise _damaged(file)
    if stored["format"] > _FORMAT:
        raise CheckpointError(
            f"checkpoint must have format {_FORMAT} or older, got {stored['format']} in "
            f"{str(file)!r}; go on with the newer emsco that wrote it, or name another folder."
        )
    seed, problem = stored.get("seed"), stored.get("problem")
    if not isinstance(seed, int) or seed < 0 or not isinstance(problem, dict):
        raise _damaged(file)
    return stored


def _damaged(file: Path) -> CheckpointError:
    return CheckpointError(
        f"checkpoint must say what it is of, got {str(file)!r}, which is damaged or something "
        "else's; name another folder."
    )


def _check_same(
    folder: Path, stored: Mapping[str, Any], problem: Mapping[str, Any], seed: int
) -> None:
    """Refuse a checkpoint of another problem; the seed comes first because splits follow it."""
    there, here = stored["problem"], json.loads(json.dumps(dict(problem)))
    if stored["seed"] != seed:
        differing = ["random_state"]
    else:
        names = [*here, *(name for name in there if name not in here)]
        differing = [
            name + _values(there.get(name), here.get(name))
            for name in names
            if there.get(name) != here.get(name)
        ]
    if differing:
        raise CheckpointError(
            f"checkpoint must be of this problem, got {str(folder)!r}, which differs in "
            f"{', '.join(differing)}; give what it was begun with, or name another folder."
        )


def _values(there: Any, here: Any) -> str:
    """Both values, where they are short enough to tell something."""
    if isinstance(here, (list, dict)) or str(here).startswith(_DIGEST):
        return ""
    return f" ({there!r} there, {here!r} here)"
