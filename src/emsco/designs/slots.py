"""A bounded number of slots, given to keys and taken back from the least recently used."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from emsco._base.typing import BoolArray, IntArray, WordArray
from emsco._kernels.slots import claim_slots, find_slots
from emsco.errors import ParameterError

UNBOUNDED = 2**62  # capacity of slots that never drop a key
_FIRST_ROOM = 256


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """Slots of the keys asked for; which keys are new, each once, their slots and first places."""

    slots: IntArray
    new_keys: WordArray
    new_slots: IntArray
    new_places: IntArray


class Slots:
    """At most `capacity` keys, each a row of words with a slot number.

    Parameters
    ----------
    capacity : int
        Most keys at a time, and most different keys in one claim.
    n_words : int
        Width of a key.

    Examples
    --------
    >>> slots = Slots(capacity=2, n_words=1)
    >>> with slots.claim(np.array([[7], [9], [7]], dtype=np.uint64)) as claim:
    ...     claim.slots.tolist()
    [0, 1, 0]
    >>> with slots.claim(np.array([[9], [5]], dtype=np.uint64)) as claim:  # 5 replaces 7
    ...     claim.slots.tolist(), claim.new_keys.tolist(), claim.new_slots.tolist()
    ([1, 0], [[5]], [0])
    """

    def __init__(self, capacity: int, n_words: int) -> None:
        self.capacity = capacity
        self.n_used = 0
        self._kept: BoolArray = np.zeros(_FIRST_ROOM, dtype=np.bool_)
        self._free: IntArray = np.zeros(0, dtype=np.int64)
        self._keys: WordArray = np.zeros((_FIRST_ROOM, n_words), dtype=np.uint64)
        self._last_use: IntArray = np.zeros(_FIRST_ROOM, dtype=np.int64)
        self._index: IntArray = np.full(4 * _FIRST_ROOM, -1, dtype=np.int64)
        self._clock = 0

    @staticmethod
    def bytes_per_key(n_words: int) -> int:
        """Most memory per key: the room doubles when all slots are taken."""
        return 2 * (8 * n_words + 41)

    def __len__(self) -> int:
        """How many keys have a slot now; `n_used` counts slots that were ever given out."""
        return self.n_used - len(self._free)

    @property
    def keys(self) -> WordArray:
        """The keys that have a slot, in the order of their slots."""
        return self._keys[np.flatnonzero(self._kept)]

    @property
    def room(self) -> int:
        """Slots to reserve beside these keys, so that growing arrays are copied only a few times.

        Above a third of the capacity, all of it is reserved: otherwise the old and the new array
        together could exceed the memory limit. Pages that are never touched take no memory.
        """
        room = 1 << max(6, (self.n_used - 1).bit_length())
        return self.capacity if 3 * room > self.capacity else room

    @contextmanager
    def claim(self, keys: WordArray) -> Iterator[Claim]:
        """Find or make a slot for each row of `keys`, which may repeat.

        New slots are kept when the block ends. If it fails or is interrupted, at whatever
        point, they are taken back: what they were claimed for did not come about.
        """
        try:
            claim = self._claim(np.ascontiguousarray(keys))
            yield claim
            self._kept[claim.new_slots] = True
        except BaseException:
            self._restore()
            raise

    def find(self, keys: WordArray) -> IntArray:
        """Slot of each key, -1 where it has none; nothing is claimed."""
        slots = np.empty(len(keys), dtype=np.int64)
        find_slots(self._index, self._keys, np.ascontiguousarray(keys), slots)
        return slots

    def _claim(self, keys: WordArray) -> Claim:
        self._clock += 1
        if len(self) + len(keys) > self.capacity:
            self._evict(keys)
        unused = np.arange(self.n_used, min(self.n_used + len(keys), self.capacity))
        self._grow(self.n_used + len(unused))
        places = np.concatenate([self._free, unused])
        slots, new = np.empty((2, len(keys)), dtype=np.int64)
        n_new = claim_slots(self._index, self._keys, keys, places, slots, new)
        if n_new < 0:
            raise ParameterError(
                f"keys must be at most {self.capacity} different ones at a time, got {n_new} more."
            )
        reused = min(n_new, len(self._free))
        self._free = self._free[reused:]
        self.n_used += n_new - reused
        self._last_use[slots] = self._clock
        new_places = new[:n_new]
        return Claim(slots, keys.take(new_places, axis=0), slots[new_places], new_places)

    def _evict(self, keys: WordArray) -> None:
        """Drop the least recently used of the other keys where `keys` would not fit beside all."""
        slots = self.find(keys)
        self._last_use[slots[slots >= 0]] = self._clock
        n_new = len(np.unique(keys[slots < 0], axis=0))
        n_dropped = len(self) + n_new - self.capacity
        if n_dropped > 0:
            kept = np.flatnonzero(self._kept)
            by_age = np.argsort(self._last_use[kept], kind="stable")
            self._kept[kept[by_age[:n_dropped]]] = False
            self._restore()

    def _grow(self, n_slots: int) -> None:
        if n_slots > len(self._keys):
            room = 1 << (n_slots - 1).bit_length()
            more = room - len(self._keys)
            self._keys = np.pad(self._keys, ((0, more), (0, 0)))
            self._last_use = np.pad(self._last_use, (0, more))
            self._kept = np.pad(self._kept, (0, more))
            self._index = np.empty(4 * room, dtype=np.int64)
            self._restore()

    def _restore(self) -> None:
        """Index the keys that are kept, and nothing else."""
        self._free = np.flatnonzero(~self._kept[: self.n_used])
        self._index.fill(-1)
        kept = np.flatnonzero(self._kept)
        unwanted = np.empty((2, len(kept)), dtype=np.int64)
        claim_slots(self._index, self._keys, self._keys[kept], kept, *unwanted)
