"""The journal: every score of a search, on disk as it comes, so that the search can be replayed."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any, Self

import numpy as np

from emsco._base.store import Store
from emsco._base.typing import IntArray, StageArray
from emsco._kernels.slots import UNBOUNDED, Slots
from emsco.designs.chromosomes import design_keys
from emsco.scoring.checkpoint import open_checkpoint

__all__ = ["Journal"]

_SECONDS = 2.0  # between two writes
_AT_ONCE = 64  # designs to count between looks at the clock; with fewer, threads would stand idle


class Journal:
    """Counts of every design that a search has scored, in a folder that outlives the process.

    A search is determined by its seed and the scores it is told. Run again on its journal it
    goes the same way, and what the journal holds is neither fitted nor counted again. A write that
    is interrupted may leave a design there twice, with the same counts.

    Parameters
    ----------
    store : Store
        Where designs are keys and counts are rows; read now, written to, closed with the journal.
    n_features, max_stages : int

    Raises
    ------
    CheckpointError
        Where the store is damaged.
    """

    def __init__(self, store: Store, n_features: int, max_stages: int) -> None:
        self._store = store
        self._max_stages = max_stages
        self._new: list[tuple[StageArray, IntArray]] = []
        self._last_write = monotonic()
        self._at_once = _AT_ONCE
        batches = list(store.batches())
        keys = [np.zeros((0, 2 * n_features), dtype=np.uint8), *(one.keys for one in batches)]
        rows = [np.zeros((0, 2, max_stages), dtype=np.int64), *map(store.rows, batches)]
        designs = np.concatenate(keys).view("<i2").astype(np.int16)
        self._known = Slots(UNBOUNDED, n_words=-(-n_features // 4))
        with self._known.claim(design_keys(designs)) as claim:
            self._counts: IntArray = np.zeros((2, len(self._known), max_stages), dtype=np.int64)
            self._counts[:, claim.slots] = np.concatenate(rows).swapaxes(0, 1)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        problem: Mapping[str, Any],
        seed: int,
        n_features: int,
        max_stages: int,
    ) -> Self:
        """Begin a journal in a folder, or go on with the one there; see `open_checkpoint`."""
        row_type = np.dtype(("<i8", (2, max_stages)))
        store = open_checkpoint(path, problem, seed, 2 * n_features, row_type)
        try:
            return cls(store, n_features, max_stages)
        except BaseException:
            store.close()
            raise

    def __enter__(self) -> Self:
        """Flush and close when the block ends, however it ends."""
        return self

    def __exit__(self, *_error: object) -> None:
        """Write what is not yet written, and let others use the folder."""
        try:
            self.flush()
        finally:
            self._store.close()

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
            designs = np.concatenate([some for some, _ in self._new])
            counts = np.concatenate([some for _, some in self._new], axis=1)
            self._store.add(designs.astype("<i2").view(np.uint8), counts.swapaxes(0, 1))
            self._new = []
        self._last_write = monotonic()
