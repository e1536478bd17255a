"""The folder of a checkpoint: it knows its problem, and allows one writer at a time."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from emsco._base.digests import DIGEST
from emsco._base.store import LockedError, Place, Store
from emsco.errors import CheckpointError

__all__ = ["open_checkpoint", "remove_empty_checkpoint", "stored_seed"]

_FORMAT = 3
_FILE = "journal.sqlite"
_FIRST_FORMAT = "problem.json"  # a file that folders of format 1 have
_DERIVED = "thresholds"  # they follow from other settings, and are named only if these are alike


def open_checkpoint(
    path: str | os.PathLike[str],
    problem: Mapping[str, Any],
    seed: int,
    key_width: int,
    row_type: np.dtype[Any],
) -> Store:
    """Start a checkpoint of `problem` in a new or empty folder, or reopen the one there.

    No other process can open it until it is closed.

    Parameters
    ----------
    path : str or path
    problem : mapping
        Everything that affects a search, by name: numbers, text, lists of them, fingerprints.
    seed : int
    key_width, row_type
        Parameters of the `Store`.

    Raises
    ------
    CheckpointError
        If the folder cannot be used, has other files, is in use, or belongs to another problem.
    """
    folder = Path(path)
    with _usable(folder):
        _check_place(folder)
        folder.mkdir(parents=True, exist_ok=True)
    store = _opened(folder, key_width, row_type)
    try:
        if (stored := _stored(store)) is not None:
            _check_same(folder, stored, problem, seed)
        else:
            store.say({"emsco": version("emsco"), "seed": seed, "problem": dict(problem)})
    except BaseException:
        store.close()
        raise
    return store


def stored_seed(path: str | os.PathLike[str]) -> int | None:
    """Seed of the checkpoint in this folder, or None if there is none yet."""
    folder = Path(path)
    with _usable(folder):
        _check_place(folder)
        if not (folder / _FILE).exists():
            return None
    with _opened(folder, 1, np.dtype(np.uint8)) as store:
        stored = _stored(store)
    return None if stored is None else int(stored["seed"])


def remove_empty_checkpoint(path: str | os.PathLike[str]) -> None:
    """Remove a checkpoint without any scores, unless it is in use or cannot be read."""
    folder = Path(path)
    if not (folder / _FILE).exists():
        return
    with suppress(CheckpointError, OSError), _opened(folder, 1, np.dtype(np.uint8)) as store:
        if store.is_empty:
            shutil.rmtree(folder)


def _place(folder: Path) -> Place:
    return Place(
        folder / _FILE, "checkpoint", CheckpointError, _FORMAT, "its designs are scored again"
    )


def _opened(folder: Path, key_width: int, row_type: np.dtype[Any]) -> Store:
    try:
        return Store(_place(folder), key_width, row_type, exclusive=True)
    except LockedError:
        raise CheckpointError(
            f"checkpoint must be a folder that no other fit is writing to, got {str(folder)!r}; "
            "wait until that one ends, or name another folder."
        ) from None


@contextmanager
def _usable(folder: Path) -> Iterator[None]:
    """Turn a failure of the file system into a `CheckpointError`."""
    try:
        yield
    except OSError as error:
        raise _place(folder).unusable(error.strerror or str(error)) from error


def _check_place(folder: Path) -> None:
    """Refuse a file, or a folder with other files, before anything is written."""
    if folder.exists() and not folder.is_dir():
        raise CheckpointError(f"checkpoint must be a folder, got the file {str(folder)!r}.")
    if not folder.exists() or (folder / _FILE).exists():
        return
    if (folder / _FIRST_FORMAT).exists():
        replace(_place(folder), path=folder / _FIRST_FORMAT).check_form(1)
    if others := sorted(file.name for file in folder.iterdir()):
        raise CheckpointError(
            f"checkpoint must be a new or empty folder or one with {_FILE}, got {str(folder)!r}, "
            f"which has {others[0]!r} and no {_FILE}; name another folder."
        )


def _stored(store: Store) -> dict[str, Any] | None:
    """Seed and problem of a checkpoint, or None if it is new."""
    stored = store.about
    if stored is None:
        return None
    seed, problem = (
        (stored.get("seed"), stored.get("problem")) if isinstance(stored, dict) else (None, None)
    )
    if type(seed) is not int or seed < 0 or not isinstance(problem, dict):
        raise store.place.damaged("does not say what it is of")
    return dict(stored)


def _check_same(
    folder: Path, stored: Mapping[str, Any], problem: Mapping[str, Any], seed: int
) -> None:
    """Refuse a checkpoint of another problem.

    The seed is compared first: splits depend on it, so they would differ too.
    """
    there, here = stored["problem"], json.loads(json.dumps(dict(problem)))
    if stored["seed"] != seed:
        differing = ["random_state"]
    else:
        names = [*here, *(name for name in there if name not in here)]
        found = [name for name in names if there.get(name) != here.get(name)]
        own = [name for name in found if name != _DERIVED] or found
        differing = [name + _values(there.get(name), here.get(name)) for name in own]
    if differing:
        raise CheckpointError(
            f"checkpoint must be of this problem, got {str(folder)!r}, which differs in "
            f"{', '.join(differing)}; use the values it was started with, or name another folder."
        )


def _values(there: Any, here: Any) -> str:
    """Both values in words, or nothing if they are lists, mappings or digests."""
    if isinstance(here, (list, dict)) or str(here).startswith(DIGEST):
        return ""
    return f" ({there!r} there, {here!r} here)"
