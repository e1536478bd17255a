"""The journal: keeps every score of a search on disk, so that the search can be replayed."""

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
from emsco.scoring.entries import EntryRules

__all__ = ["Journal"]

_SECONDS = 2.0  # between two writes
_AT_ONCE = 64  # designs to count between looks at the clock; with fewer, threads would be idle


class Journal:
    """Keeps the counts of every design that a search scores, for later searches.

    A search is determined by its seed and its scores. Started again with its journal, it goes
    the same way, and fits and counts only the designs that the journal lacks. An interrupted
    write may leave a design there twice, with the same counts.

    The chains that a search has made of its subsets are kept too, by the generation after which
    it made them.

    Parameters
    ----------
    store : Store
        Designs are its keys and counts its rows. It is closed with the journal.
    n_features : int
    rules : EntryRules
        What designs and their counts must obey. A design has as many counts as a bank makes: one
        for each counted class and each stage.

    Raises
    ------
    CheckpointError
        If the store is damaged, or breaks the rules.
    """

    def __init__(self, store: Store, n_features: int, rules: EntryRules) -> None:
        self._store = store
        self._n_counts = n_counts = rules.n_counts
        self._new: list[tuple[StageArray, IntArray, int]] = []
        self._last_write = monotonic()
        self._at_once = _AT_ONCE
        batches = list(store.batches())
        keys = [np.zeros((0, 2 * n_features), dtype=np.uint8), *(one.keys for one in batches)]
        rows = [np.zeros((0, 2, n_counts + 1), dtype=np.int64), *map(store.rows, batches)]
        designs = np.concatenate(keys).view("<i2").astype(np.int16)
        rows_of = np.concatenate(rows)
        made_after = rows_of[:, 0, -1]
        why = rules.breach(designs, rows_of[:, :, :-1].swapaxes(0, 1))
        if why is None and ((made_after < 0) | (made_after != rows_of[:, 1, -1])).any():
            why = "has chains of a generation that there is not"
        if why is not None:
            raise store.place.damaged(why)
        self._made = _chains_of(designs, made_after)
        self._known = Slots(UNBOUNDED, n_words=-(-n_features // 4))
        with self._known.claim(design_keys(designs)) as claim:
            self._counts: IntArray = np.zeros((2, len(self._known), n_counts), dtype=np.int64)
            self._counts[:, claim.slots] = rows_of[:, :, :-1].swapaxes(0, 1)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        problem: Mapping[str, Any],
        seed: int,
        n_features: int,
        rules: EntryRules,
    ) -> Self:
        """Start a journal in a folder, or reopen the one there; see `open_checkpoint`."""
        row_type = np.dtype(("<i8", (2, rules.n_counts + 1)))
        store = open_checkpoint(path, problem, seed, 2 * n_features, row_type)
        try:
            return cls(store, n_features, rules)
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

    def find(self, designs: StageArray) -> tuple[IntArray, IntArray]:
        """Positions of designs that the journal had when it was opened, and their counts.

        Counts have shape (2, n_found, n_counts): rows that leave, and the correct ones among
        them.
        """
        slots = self._known.find(design_keys(designs))
        found = np.flatnonzero(slots >= 0)
        return found, self._counts[:, slots[found]]

    def chains(self, generation: int) -> StageArray | None:
        """Designs that were made of fitted subsets after a generation; None if none were yet."""
        return self._made.get(generation + 1)

    def add_chains(self, generation: int, designs: StageArray, counts: IntArray) -> None:
        """Take the designs made after a generation, at least one, and their counts."""
        self._new.append((designs, counts, generation + 1))
        self.flush()

    def add(self, designs: StageArray, counts: IntArray) -> None:
        """Take counts of shape (2, n_designs, n_counts), and write every few seconds."""
        self._new.append((designs, counts, 0))
        if monotonic() - self._last_write >= _SECONDS:
            self.flush()

    def complete(self, designs: StageArray, count: Callable[[IntArray], IntArray]) -> IntArray:
        """Counts of all designs: from the journal, or else from `count`, and then added.

        `count` takes positions in `designs`. Each call gets about as many as it can count between
        two writes, so a long generation is written bit by bit.
        """
        counts = np.zeros((2, len(designs), self._n_counts), dtype=np.int64)
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
        """Write the counts added since the last write."""
        if self._new:
            designs = np.concatenate([some for some, _, _ in self._new])
            rows = np.zeros((len(designs), 2, self._n_counts + 1), dtype=np.int64)
            rows[:, :, :-1] = np.concatenate([some for _, some, _ in self._new], axis=1).swapaxes(
                0, 1
            )
            rows[:, :, -1] = np.concatenate(
                [np.full(len(some), step) for some, _, step in self._new]
            )[:, None]
            self._store.add(designs.astype("<i2").view(np.uint8), rows)
            self._new = []
        self._last_write = monotonic()


def _chains_of(designs: StageArray, made_after: IntArray) -> dict[int, StageArray]:
    """Return the designs made after each generation, by its number, in the order of the file."""
    made = np.flatnonzero(made_after)
    made = made[np.argsort(made_after[made], kind="stable")]
    steps, firsts = np.unique(made_after[made], return_index=True)
    parts = np.split(made, firsts[1:])
    return {step: _distinct(designs[own]) for step, own in zip(steps.tolist(), parts, strict=False)}


def _distinct(designs: StageArray) -> StageArray:
    """The designs without repeats, which an interrupted write may leave."""
    first = np.unique(designs, axis=0, return_index=True)[1]
    return designs[np.sort(first)]
