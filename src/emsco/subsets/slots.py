"""Places in a bounded table, given to keys and taken back from the least recently used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emsco._typing import IntArray, WordArray

__all__ = ["Claim", "SlotTable"]

_FIRST_ROOM = 256


@dataclass(frozen=True, slots=True, eq=False)
class Claim:
    """Slots of the keys asked for; which keys are new, each once, and their slots."""

    slots: IntArray
    new_keys: WordArray
    new_slots: IntArray


class SlotTable:
    """At most `capacity` keys, each with a slot number; a hash table over rows of words.

    Parameters
    ----------
    capacity : int
        Most keys at a time, and most different keys in one claim.
    n_words : int
        Width of a key.

    Examples
    --------
    >>> table = SlotTable(capacity=2, n_words=1)
    >>> table.claim(np.array([[7], [9], [7]], dtype=np.uint64)).slots.tolist()
    [0, 1, 0]
    >>> claim = table.claim(np.array([[9], [5]], dtype=np.uint64))  # 5 takes the place of 7
    >>> claim.slots.tolist(), claim.new_keys.tolist(), claim.new_slots.tolist()
    ([1, 0], [[5]], [0])
    """

    def __init__(self, capacity: int, n_words: int) -> None:
        from emsco.kernels import hashing

        self._kernels = hashing
        self.capacity = capacity
        self.n_used = 0
        self._free: IntArray = np.zeros(0, dtype=np.int64)
        self._keys: WordArray = np.zeros((_FIRST_ROOM, n_words), dtype=np.uint64)
        self._last_use: IntArray = np.zeros(_FIRST_ROOM, dtype=np.int64)
        self._index: IntArray = np.full(4 * _FIRST_ROOM, -1, dtype=np.int64)
        self._clock = 0

    def __len__(self) -> int:
        """How many keys have a slot now; `n_used` counts slots that were ever given out."""
        return self.n_used - len(self._free)

    def claim(self, keys: WordArray) -> Claim:
        """Find or make a slot for each row of `keys`, which may repeat."""
        keys = np.ascontiguousarray(keys)  # or else kernels are compiled twice
        self._clock += 1
        if len(self) + len(keys) > self.capacity:
            self._evict(keys)
        unused = np.arange(self.n_used, min(self.n_used + len(keys), self.capacity))
        self._grow(self.n_used + len(unused))
        places = np.concatenate([self._free, unused])
        slots, new = np.empty((2, len(keys)), dtype=np.int64)
        n_new = self._kernels.claim_slots(self._index, self._keys, keys, places, slots, new)
        reused = min(n_new, len(self._free))
        self._free = self._free[reused:]
        self.n_used += n_new - reused
        self._last_use[slots] = self._clock
        return Claim(slots, keys[new[:n_new]], slots[new[:n_new]])

    def forget(self, slots: IntArray) -> None:
        """Take slots back: what they were claimed for did not come about."""
        self._free = np.concatenate([self._free, slots])
        self._reindex()

    def _evict(self, keys: WordArray) -> None:
        """Drop the least recently used of the other keys where `keys` would not fit beside all."""
        slots = np.empty(len(keys), dtype=np.int64)
        self._kernels.find_slots(self._index, self._keys, keys, slots)
        self._last_use[slots[slots >= 0]] = self._clock
        n_new = len(np.unique(keys[slots < 0], axis=0))
        n_dropped = len(self) + n_new - self.capacity
        if n_dropped > 0:
            live = self._live()
            by_age = np.argsort(self._last_use[live], kind="stable")
            self.forget(live[by_age[:n_dropped]])

    def _grow(self, n_slots: int) -> None:
        if n_slots > len(self._keys):
            room = 1 << (n_slots - 1).bit_length()
            more = room - len(self._keys)
            self._keys = np.pad(self._keys, ((0, more), (0, 0)))
            self._last_use = np.pad(self._last_use, (0, more))
            self._index = np.empty(4 * room, dtype=np.int64)
            self._reindex()

    def _live(self) -> IntArray:
        live = np.ones(self.n_used, dtype=np.bool_)
        live[self._free] = False
        return np.flatnonzero(live)

    def _reindex(self) -> None:
        self._index.fill(-1)
        self._kernels.insert_slots(self._index, self._keys, self._live())
