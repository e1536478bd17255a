"""The journal: keeps every score of a search on disk, so that the search can be replayed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from time import monotonic
from typing import Any, Self

import numpy as np

from emsco._base.digests import DIGEST
from emsco._base.store import LockedError, Place, Store
from emsco._base.typing import IntArray
from emsco.designs.chromosomes import NEVER, compress
from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.designs.slots import UNBOUNDED, Slots
from emsco.errors import CheckpointError

_FORMAT = 5
_FILE = "journal.sqlite"
_FIRST_FORMAT = "problem.json"  # a file that folders of format 1 have
_DERIVED = "thresholds"  # they follow from other settings, and are named only if these are alike
_SECONDS = 2.0  # between two writes
_AT_ONCE = 64  # designs to count between looks at the clock; with fewer, threads would be idle


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
        # A fit that failed at once leaves nothing behind that could be resumed.
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
    # Through JSON and back, as the stored one went: tuples become lists, keys become text.
    there, here = stored["problem"], json.loads(json.dumps(dict(problem)))
    if stored["seed"] != seed:
        differing = ["random_state"]
    else:
        names = [*here, *(name for name in there if name not in here)]
        unlike = [name for name in names if there.get(name) != here.get(name)]
        differing = []
        # What follows from other differences is named only if it is the only one.
        for name in [name for name in unlike if name != _DERIVED] or unlike:
            value = here.get(name)  # lists, mappings and digests are too long to show
            is_long = isinstance(value, (list, dict)) or str(value).startswith(DIGEST)
            both = "" if is_long else f" ({there.get(name)!r} there, {value!r} here)"
            differing.append(name + both)
    if differing:
        raise CheckpointError(
            f"checkpoint must be of this problem, got {str(folder)!r}, which differs in "
            f"{', '.join(differing)}; use the values it was started with, or name another folder."
        )


@dataclass(frozen=True, slots=True, eq=False)
class EntryRules:
    """What entries of a journal must obey.

    Attributes
    ----------
    n_rows : int
        Scored rows, or the sum of their weights.
    max_stages : int
    grid : ThresholdGrid
        Thresholds that stages may have.
    n_counted : int
        Classes whose rows are also counted apart, before the counts of the stages.
    most_spent : int or None
        Most that all rows together can pay by prices of their own, which is counted first of all;
        None if they have no such prices.
    """

    n_rows: int
    max_stages: int
    grid: ThresholdGrid
    n_counted: int = 0
    most_spent: int | None = None

    @property
    def n_ahead(self) -> int:
        """Number of counts before those of the stages."""
        return self.n_counted + (self.most_spent is not None)

    @property
    def n_counts(self) -> int:
        """Number of counts of a design."""
        return self.n_ahead + self.max_stages

    def breach(self, designs: Designs, counts: IntArray) -> str | None:
        """Say which rule designs or their counts, shape (2, n_designs, n_counts), break, if any."""
        if not len(designs):
            return None
        if not self._are_designs(designs):
            return "has designs that no search of this problem makes"
        exits, correct = counts
        # Written by no search: bits count rows, and correct ones among them.
        if (counts < 0).any() or (correct > exits).any():
            return "has counts below 0, or more correct rows than rows"
        at_stages = exits[:, self.n_ahead :]
        # No count is above the number of rows, so that their sum cannot overflow.
        too_many = (at_stages > self.n_rows).any() or (at_stages.sum(axis=1) > self.n_rows).any()
        overspent = self.most_spent is not None and (exits[:, 0] > self.most_spent).any()
        if too_many or overspent:
            return f"counts more than the {self.n_rows:,} rows of this problem"
        # Stages that a design does not have cannot lose rows.
        after_last = np.arange(self.max_stages) >= designs.n_stages[:, None]
        # The classes that are counted apart add up to the stages.
        by_class = counts[:, :, self.n_ahead - self.n_counted : self.n_ahead]
        fits = not self.n_counted or (
            not (by_class > self.n_rows).any()
            and np.array_equal(by_class.sum(axis=2), counts[:, :, self.n_ahead :].sum(axis=2))
        )
        if at_stages[after_last].any() or not fits:
            return "has counts that contradict each other"
        return None

    def _are_designs(self, designs: Designs) -> bool:
        """Whether designs are compressed, not too long, and have levels of the grid."""
        stages = designs.stages
        if stages.min() < NEVER or (stages.max(axis=1) < 0).any():
            return False
        if stages.max() >= self.max_stages or not np.array_equal(compress(stages), stages):
            return False
        same = np.array_equal(Designs.of(stages, designs.levels).levels, designs.levels)
        return same and self.grid.holds(designs)


class Journal:
    """Keeps the counts of every design that a search scores, for later searches.

    A search is determined by its seed and its scores. Started again with its journal, it goes
    the same way, and fits and counts only the designs that the journal lacks. An interrupted
    write may leave a design there twice, with the same counts.

    Parameters
    ----------
    store : Store
        Designs are its keys and counts its rows. It is closed with the journal.
    n_features : int
    rules : EntryRules
        What designs and their counts must obey. A design has as many counts as bits make: one
        for each counted class and each stage.

    Raises
    ------
    CheckpointError
        If the store is damaged, or breaks the rules.
    """

    def __init__(self, store: Store, n_features: int, rules: EntryRules) -> None:
        self._store = store
        self._n_counts = n_counts = rules.n_counts
        self._new: list[tuple[Designs, IntArray]] = []
        self._last_write = monotonic()
        self._at_once = _AT_ONCE
        batches = list(store.batches())
        keys = [np.zeros((0, 4 * n_features), dtype=np.uint8), *(one.keys for one in batches)]
        rows = [np.zeros((0, 2, n_counts), dtype=np.int64), *map(store.rows, batches)]
        # Designs are stored with a fixed byte order, so that a file can move to another machine.
        genes = np.concatenate(keys).view("<i2").astype(np.int16)
        designs = Designs(genes[:, :n_features], genes[:, n_features:])
        counts = np.concatenate(rows).swapaxes(0, 1)
        if why := rules.breach(designs, counts):
            raise store.place.damaged(why)
        self._known = Slots(UNBOUNDED, n_words=designs.keys.shape[1])
        with self._known.claim(designs.keys) as claim:
            self._counts: IntArray = np.zeros((2, len(self._known), n_counts), dtype=np.int64)
            self._counts[:, claim.slots] = counts

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        problem: Mapping[str, Any],
        seed: int,
        n_features: int,
        rules: EntryRules,
    ) -> Self:
        """Start a journal of `problem` in a new or empty folder, or reopen the one there.

        No other process can open it until it is closed.

        Parameters
        ----------
        path : str or path
        problem : mapping
            Everything that affects a search, by name: numbers, text, lists of them, fingerprints.
        seed : int
        n_features, rules
            As for the class.

        Raises
        ------
        CheckpointError
            If the folder cannot be used, has other files, is in use, or belongs to another problem.
        """
        folder = Path(path)
        with _usable(folder):
            _check_place(folder)
            folder.mkdir(parents=True, exist_ok=True)
        store = _opened(folder, 4 * n_features, np.dtype(("<i8", (2, rules.n_counts))))
        try:
            if (stored := _stored(store)) is not None:
                _check_same(folder, stored, problem, seed)
            else:
                store.say({"emsco": version("emsco"), "seed": seed, "problem": dict(problem)})
            return cls(store, n_features, rules)
        # Otherwise nobody could open the folder until this process ends.
        except BaseException:
            store.close()
            raise

    def __enter__(self) -> Self:
        """Open a block that flushes and closes the journal at its end, even after an error."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Write new counts and release the folder."""
        try:
            self.flush()
        finally:
            self._store.close()

    def find(self, designs: Designs) -> tuple[IntArray, IntArray]:
        """Positions of designs that the journal had when it was opened, and their counts.

        Counts have shape (2, n_found, n_counts): rows that leave, and the correct ones among
        them.
        """
        slots = self._known.find(designs.keys)
        places = np.flatnonzero(slots >= 0)
        return places, self._counts[:, slots[places]]

    def add(self, designs: Designs, counts: IntArray) -> None:
        """Take counts of shape (2, n_designs, n_counts), and write every few seconds."""
        self._new.append((designs, counts))
        if monotonic() - self._last_write >= _SECONDS:
            self.flush()

    def complete(self, designs: Designs, count: Callable[[IntArray], IntArray]) -> IntArray:
        """Counts of all designs: from the journal, or else from `count`, and then added.

        `count` takes positions in `designs`. Each call gets about as many as it can count between
        two writes, so a long generation is written bit by bit.
        """
        counts = np.zeros((2, len(designs), self._n_counts), dtype=np.int64)
        places, known = self.find(designs)
        counts[:, places] = known
        rest = np.delete(np.arange(len(designs)), places)
        while rest.size:
            part, rest = rest[: self._at_once], rest[self._at_once :]
            started = monotonic()
            counted = count(part)
            pace = len(part) / max(monotonic() - started, 1e-6)
            # Faster counting takes larger parts, so that there is one write for each part.
            self._at_once = max(_AT_ONCE, int(pace * _SECONDS))
            # Designs of fewer stages have fewer counts; the rest stays 0.
            counts[:, part, : counted.shape[2]] = counted
            self.add(designs[part], counts[:, part])
        return counts

    def flush(self) -> None:
        """Write the counts added since the last write."""
        if self._new:
            designs = Designs.concatenate([some for some, _ in self._new])
            counts = np.concatenate([some for _, some in self._new], axis=1)
            genes = np.concatenate([designs.stages, designs.levels], axis=1)
            self._store.add(genes.astype("<i2").view(np.uint8), counts.swapaxes(0, 1))
            self._new = []
        self._last_write = monotonic()
