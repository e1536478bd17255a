"""Places in a bounded table, given to keys and taken back from the least recently used."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from emsco._typing import IntArray

__all__ = ["SlotTable"]


class SlotTable:
    """At most `capacity` keys, each with a slot number.

    Examples
    --------
    >>> table = SlotTable(capacity=2)
    >>> slots, fresh = table.claim(["a", "b"])
    >>> slots.tolist(), fresh.tolist()
    ([0, 1], [0, 1])
    >>> slots, fresh = table.claim(["b", "c"])  # takes the place of "a"
    >>> slots.tolist(), fresh.tolist()
    ([1, 0], [1])
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._slots: dict[Hashable, int] = {}
        self._keys: list[Hashable] = []
        self._last_use: IntArray = np.zeros(64, dtype=np.int64)
        self._free: list[int] = []
        self._clock = 0

    def __contains__(self, key: Hashable) -> bool:
        """Whether the key has a slot now."""
        return key in self._slots

    @property
    def n_used(self) -> int:
        """How many slots have ever been given out: the size that a table behind it needs."""
        return len(self._keys)

    def claim(self, keys: Sequence[Hashable]) -> tuple[IntArray, IntArray]:
        """Slots of all keys, and the positions of those that are fresh.

        No key comes twice, and there are at most `capacity` of them.
        """
        self._clock += 1
        found = list(map(self._slots.get, keys))
        fresh = [i for i, slot in enumerate(found) if slot is None]
        slots = np.array([-1 if slot is None else slot for slot in found], dtype=np.int64)
        self._last_use[slots[slots >= 0]] = self._clock
        if fresh:
            places = self._places(len(fresh))
            for i, slot in zip(fresh, places, strict=True):
                self._slots[keys[i]] = slot
                self._keys[slot] = keys[i]
            slots[fresh] = places
        return slots, np.array(fresh, dtype=np.int64)

    def forget(self, keys: Sequence[Hashable]) -> None:
        """Take the slots of `keys` back: what they were claimed for did not come about."""
        for key in keys:
            slot = self._slots.pop(key, None)
            if slot is not None:
                self._free.append(slot)

    def _places(self, n: int) -> list[int]:
        """Slots for n new keys: given back, never used, or least recently used, in that order."""
        places = [self._free.pop() for _ in range(min(n, len(self._free)))]
        first = len(self._keys)
        unused = range(first, min(first + n - len(places), self.capacity))
        self._keys.extend([None] * len(unused))
        places.extend(unused)
        while len(self._last_use) < len(self._keys):
            self._last_use = np.concatenate([self._last_use, np.zeros_like(self._last_use)])
        self._last_use[places] = self._clock
        if n > len(places):
            oldest = np.argsort(self._last_use[: self.capacity], kind="stable")[: n - len(places)]
            for slot in oldest.tolist():
                del self._slots[self._keys[slot]]
            self._last_use[oldest] = self._clock
            places.extend(oldest.tolist())
        return places
