"""Places in a bounded table, given to keys and taken back from the least recently used."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emsco._typing import BoolArray, IntArray, WordArray

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
        from emsco import kernels

        self._kernels = kernels
        self.capacity = capacity
        self.n_used = 0
        self._keys: WordArray = np.zeros((_FIRST_ROOM, n_words), dtype=np.uint64)
        self._live: BoolArray = np.zeros(_FIRST_ROOM, dtype=np.bool_)
        self._last_use: IntArray = np.zeros(_FIRST_ROOM, dtype=np.int64)
        self._index: IntArray = np.full(4 * _FIRST_ROOM, -1, dtype=np.int64)
        self._free: list[int] = []
        self._clock = 0

    def __len__(self) -> int:
        """How many keys have a slot now."""
        return int(self._live.sum())

    def claim(self, keys: WordArray) -> Claim:
        """Find or make a slot for each row of `keys`, which may repeat."""
        self._clock += 1
        slots = np.empty(len(keys), dtype=np.int64)
        self._kernels.find_slots(self._index, self._keys, keys, slots)
        known = slots >= 0
        self._last_use[slots[known]] = self._clock
        n_unknown = len(slots) - int(np.count_nonzero(known))
        new = np.empty(n_unknown, dtype=np.int64)
        if n_unknown:
            if n_unknown > self.capacity - len(self):
                n_unknown = len(np.unique(keys[~known], axis=0))
            places = self._places(n_unknown)
            n_new = self._kernels.add_keys(self._index, self._keys, keys, slots, places, new)
            self._give_back(places[n_new:])
            new = new[:n_new]
            self._live[slots[new]] = True
            self._last_use[slots[new]] = self._clock
        return Claim(slots, keys[new], slots[new])

    def forget(self, slots: IntArray) -> None:
        """Take slots back: what they were claimed for did not come about."""
        self._free.extend(slots.tolist())
        self._drop(slots)

    def _places(self, n: int) -> IntArray:
        """Slots for n new keys: given back, never used, or least recently used, in that order."""
        places = [self._free.pop() for _ in range(min(n, len(self._free)))]
        unused = range(self.n_used, min(self.n_used + n - len(places), self.capacity))
        self.n_used += len(unused)
        self._grow()
        places.extend(unused)
        if len(places) < n:
            live = np.flatnonzero(self._live)
            by_age = np.argsort(self._last_use[live], kind="stable")
            oldest = live[by_age[: n - len(places)]]
            self._drop(oldest)
            places.extend(oldest.tolist())
        return np.array(places, dtype=np.int64)

    def _give_back(self, places: IntArray) -> None:
        """Places that repeated keys did not need, the last ones first."""
        for place in reversed(places.tolist()):
            if place == self.n_used - 1:
                self.n_used = place
            else:
                self._free.append(place)

    def _grow(self) -> None:
        if self.n_used <= len(self._keys):
            return
        room = 1 << (self.n_used - 1).bit_length()
        more = room - len(self._keys)
        self._keys = np.pad(self._keys, ((0, more), (0, 0)))
        self._live = np.pad(self._live, (0, more))
        self._last_use = np.pad(self._last_use, (0, more))
        self._index = np.full(4 * room, -1, dtype=np.int64)
        self._drop(np.zeros(0, dtype=np.int64))

    def _drop(self, slots: IntArray) -> None:
        """Take the keys of `slots` out and index the others anew."""
        self._live[slots] = False
        self._index.fill(-1)
        self._kernels.insert_slots(self._index, self._keys, np.flatnonzero(self._live))
