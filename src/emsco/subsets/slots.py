"""Places in a bounded table, given to keys and taken back from the least recently used."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from emsco._typing import BoolArray, IntArray

__all__ = ["SlotTable"]


class SlotTable:
    """At most `capacity` keys, each with a slot number.

    Examples
    --------
    >>> table = SlotTable(capacity=2)
    >>> slots, fresh = table.claim(["a", "b"])
    >>> slots.tolist(), fresh.tolist()
    ([0, 1], [True, True])
    >>> slots, fresh = table.claim(["b", "c"])  # takes the place of "a"
    >>> slots.tolist(), fresh.tolist()
    ([1, 0], [False, True])
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._slots: OrderedDict[Hashable, int] = OrderedDict()
        self._free: list[int] = []
        self._n_used = 0

    def __contains__(self, key: Hashable) -> bool:
        """Whether the key has a slot now."""
        return key in self._slots

    @property
    def n_used(self) -> int:
        """How many slots have ever been given out: the size that a table behind it needs."""
        return self._n_used

    def claim(self, keys: Sequence[Hashable]) -> tuple[IntArray, BoolArray]:
        """Slots of all keys, and which of them are fresh; at most `capacity` different keys."""
        fresh = np.array([key not in self._slots for key in keys], dtype=np.bool_)
        for key, is_fresh in zip(keys, fresh.tolist(), strict=True):
            if not is_fresh:
                self._slots.move_to_end(key)
        for key in keys:
            if key not in self._slots:
                self._slots[key] = self._place()
        return np.array([self._slots[key] for key in keys], dtype=np.int64), fresh

    def forget(self, keys: Iterable[Hashable]) -> None:
        """Take the slots of `keys` back: what they were claimed for did not come about."""
        for key in keys:
            slot = self._slots.pop(key, None)
            if slot is not None:
                self._free.append(slot)

    def _place(self) -> int:
        if self._free:
            return self._free.pop()
        if self._n_used < self.capacity:
            self._n_used += 1
            return self._n_used - 1
        return self._slots.popitem(last=False)[1]
