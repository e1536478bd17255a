"""A lock on a folder, for processes that read a file in it, change it and write it again."""

from __future__ import annotations

import os
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import local

from emsco.errors import FileError

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

LOCK = ".emsco.lock"
SHORT_PATIENCE = 1.0  # seconds to wait where another process would take minutes
_PATIENCE = 60.0  # seconds
_PAUSE = 0.02
_SAY_AFTER = 2.0

_held = local()  # folders that this thread has locked


@contextmanager
def locked_folder(
    folder: Path, patience: float = _PATIENCE, *, make: bool = False
) -> Iterator[None]:
    """Keep other processes and threads from changing the files of a folder.

    Whoever changes them waits until the block ends, or the process that runs it. The block may
    lock the same folder again. Without `make`, a folder that does not exist is not locked: there
    is nothing to change in it.

    Parameters
    ----------
    folder : Path
    patience : float
        Seconds to wait for another process.
    make : bool
        Whether to make the folder if it does not exist.

    Raises
    ------
    FileError
        If another process keeps the lock for longer, or if the folder cannot be written to.
    """
    place = folder.resolve()
    mine: set[Path] = _held.__dict__.setdefault("folders", set())
    if place in mine or not (make or place.is_dir()):
        yield
        return
    handle = _acquired(folder, place / LOCK, patience)
    mine.add(place)
    try:
        yield
    finally:
        mine.discard(place)
        _release(handle, place / LOCK)


def _acquired(folder: Path, path: Path, patience: float) -> int:
    """Return the handle of the lock file, once it is locked."""
    start, has_said = time.monotonic(), False
    while True:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)  # somebody may have removed it
            handle = os.open(path, os.O_CREAT | os.O_RDWR, 0o666)
        except FileNotFoundError:
            pass
        except PermissionError as error:
            # Windows refuses a file that its last owner is about to delete.
            if sys.platform != "win32" or not os.access(path.parent, os.W_OK):
                raise _unusable(folder, error) from None
        except OSError as error:
            raise _unusable(folder, error) from None
        else:
            if _is_locked(handle, folder) and _is_at(handle, path):
                return handle
            os.close(handle)
        waited = time.monotonic() - start
        if waited >= patience:
            raise FileError(
                f"{str(folder)!r} is being changed by another emsco process, which did not end "
                f"within {patience:g} s; nothing was changed: try again when it has ended."
            )
        if waited >= _SAY_AFTER and not has_said:
            has_said = True
            said = f"waiting for another emsco process that is changing {str(folder)!r}."
            warnings.warn(said, stacklevel=4)
        time.sleep(_PAUSE)


def _unusable(folder: Path, error: OSError) -> FileError:
    why = error.strerror or error
    return FileError(f"{str(folder)!r} must be a folder that can be written to ({why}).")


def _is_locked(handle: int, folder: Path) -> bool:
    """Lock a file, unless another process or thread has."""
    try:
        if sys.platform == "win32":
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:
        said = f"the file system of {str(folder)!r} has no locks"
        warnings.warn(f"{said}: let one process at a time change that folder.", stacklevel=5)
    return True


def _is_at(handle: int, path: Path) -> bool:
    """Whether a file is still the one at its path: its last owner may have deleted it."""
    try:
        return os.path.samestat(os.fstat(handle), path.stat())
    except OSError:
        return False


def _release(handle: int, path: Path) -> None:
    """Delete the lock file, so that it does not lie about, and unlock it."""
    if sys.platform == "win32":  # where nobody can delete a file that is open
        with suppress(OSError):
            msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)
        os.close(handle)
    with suppress(OSError):
        path.unlink()
    if sys.platform != "win32":
        with suppress(OSError):  # a forked process may have the handle too
            fcntl.flock(handle, fcntl.LOCK_UN)
        os.close(handle)
