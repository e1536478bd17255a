"""The journal: every score of a search, on disk as it comes, so that the search can be replayed."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any, Self

import numpy as np

from emsco._base.typing import IntArray, StageArray
from emsco._kernels.slots import UNBOUNDED, Slots
from emsco.designs.chromosomes import design_keys
from emsco.errors import CheckpointError
from emsco.scoring.checkpoint import CheckpointFolder

__all__ = ["Journal"]

_SECONDS = 2.0  # between two writes
_AT_ONCE = 64  # designs to count between looks at the clock; with fewer, threads would stand idle
_LARGE = 2**16  # designs from which on a part is left as it is

Entries = tuple[StageArray, IntArray]  # designs, and their counts


@dataclass(frozen=True, slots=True)
class _Part:
    """A file of the journal: its number, and how many designs it holds."""

    number: int
    size: int

    @property
    def name(self) -> str:
        return f"part-{self.number:06d}.npz"


class Journal:
    """Counts of every design that a search has scored, in a folder that outlives the process.

    A search is determined by its seed and the scores it is told. Run again on its journal it
    goes the same way, and what the journal holds is neither fitted nor counted again. A small
    part is merged with those before it that are no larger, so there are few files; should the
    process be killed meanwhile, a design is there twice, with the same counts.

    Parameters
    ----------
    folder : CheckpointFolder
        Where parts are read from now, and written to; closed with the journal.
    n_features, max_stages : int

    Raises
    ------
    CheckpointError
        Where a part is damaged.
    """

    def __init__(self, folder: CheckpointFolder, n_features: int, max_stages: int) -> None:
        self._folder = folder
        self._n_features, self._max_stages = n_features, max_stages
        self._new: list[Entries] = []
        self._last_write = monotonic()
        self._at_once = _AT_ONCE
        entries = {number: self._read(number) for number in _part_numbers(folder.path)}
        self._parts = [_Part(number, len(designs)) for number, (designs, _) in entries.items()]
        designs, counts = self._joined(list(entries.values()))
        self._known = Slots(UNBOUNDED, n_words=-(-n_features // 4))
        with self._known.claim(design_keys(designs)) as claim:
            self._counts: IntArray = np.zeros((2, len(self._known), max_stages), dtype=np.int64)
            self._counts[:, claim.slots] = counts

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        problem: Mapping[str, Any],
        seed: int,
        n_features: int,
        max_stages: int,
    ) -> Self:
        """Begin a journal in a folder, or go on with the one there; see `CheckpointFolder`."""
        folder = CheckpointFolder.open(path, problem, seed)
        try:
            return cls(folder, n_features, max_stages)
        except BaseException:
            folder.close()
            raise

    def __enter__(self) -> Self:
        """Flush and close when the block ends, however it ends."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Write what is not yet written, and let others use the folder."""
        try:
            self.flush()
        finally:
            self._folder.close()

    def find(self, designs: StageArray) -> tuple[IntArray, IntArray]:
        """Positions of designs that were there when the journal was opened, and their counts.

        Counts are of shape (2, n_found, max_stages): rows that leave at each stage, and rows
        that leave there with the right label.
        """
        slots = self._known.find(design_keys(designs))
        found = np.flatnonzero(slots >= 0)
        return found, self._counts[:, slots[found]]

    def add(self, designs: StageArray, counts: IntArray) -> None:
        """Take counts of shape (2, n_designs, max_stages); write them when it is time to."""
        self._new.append((designs, counts))
        if monotonic() - self._last_write >= _SECONDS:
            self.flush()

    def complete(self, designs: StageArray, count: Callable[[IntArray], IntArray]) -> IntArray:
        """Counts of all designs: those found, and of the rest what `count` says, which is added.

        `count` is given positions in `designs`, as many at a time as it seems to need one
        interval for, so that a long generation is written bit by bit.
        """
        counts = np.zeros((2, len(designs), self._max_stages), dtype=np.int64)
        found, known = self.find(designs)
        counts[:, found] = known
        rest = np.delete(np.arange(len(designs)), found)
        while rest.size:
            part, rest = rest[: self._at_once], rest[self._at_once :]
            started = monotonic()
            counted = count(part)
            pace = len(part) / max(monotonic() - started, 1e-6)
            self._at_once = max(_AT_ONCE, int(pace * _SECONDS))
            counts[:, part, : counted.shape[2]] = counted
            self.add(designs[part], counts[:, part])
        return counts

    def flush(self) -> None:
        """Write what has been added since the last write."""
        if self._new:
            n_kept, size = self._to_keep(sum(len(designs) for designs, _ in self._new))
            merged = self._parts[n_kept:]
            last = self._parts[-1].number if self._parts else 0
            part = _Part(merged[0].number if merged else last + 1, size)
            earlier = [self._read(old.number) for old in merged]
            designs, counts = self._joined(earlier + self._new)
            self._folder.write(
                part.name, lambda file: np.savez(file, designs=designs, counts=counts)
            )
            self._parts[n_kept:], self._new = [part], []
            for old in merged[1:]:
                self._folder.remove(old.name)
        self._last_write = monotonic()

    def _to_keep(self, size: int) -> tuple[int, int]:
        """How many parts stay when so many designs are new, and the size of one with the rest."""
        n_kept = len(self._parts)
        while n_kept and self._parts[n_kept - 1].size <= size < _LARGE:
            n_kept -= 1
            size += self._parts[n_kept].size
        return n_kept, size

    def _joined(self, entries: list[Entries]) -> Entries:
        no_designs = np.zeros((0, self._n_features), dtype=np.int16)
        no_counts = np.zeros((2, 0, self._max_stages), dtype=np.int64)
        designs = np.concatenate([no_designs, *(designs for designs, _ in entries)])
        return designs, np.concatenate([no_counts, *(counts for _, counts in entries)], axis=1)

    def _read(self, number: int) -> Entries:
        file = self._folder.path / _Part(number, 0).name
        try:
            with file.open("rb") as content, np.load(content, allow_pickle=False) as arrays:
                designs, counts = arrays["designs"], arrays["counts"]
        except Exception as error:  # whatever zipfile and NumPy make of a damaged file
            raise _damaged(file, f"cannot be read ({error})") from error
        fits = (
            (designs.dtype, counts.dtype) == (np.int16, np.int64)
            and designs.ndim == 2
            and designs.shape[1] == self._n_features
            and counts.shape == (2, len(designs), self._max_stages)
        )
        if not fits:
            got = f"{designs.dtype} {designs.shape} and {counts.dtype} {counts.shape}"
            raise _damaged(file, f"has arrays of other types or shapes, {got}")
        return designs, counts


def _part_numbers(folder: Path) -> list[int]:
    names = (re.fullmatch(r"part-(\d{6})\.npz", file.name) for file in folder.iterdir())
    return sorted(int(name[1]) for name in names if name)


def _damaged(file: Path, what: str) -> CheckpointError:
    return CheckpointError(
        f"checkpoint must have whole parts, got {str(file)!r}, which {what}; delete that file, "
        "and what it held is scored again."
    )
