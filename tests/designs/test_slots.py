"""Slot tables: places given out, reused, and taken back."""

from __future__ import annotations

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emsco.designs.slots import Slots


def words(keys):
    """One row of two words for each number."""
    numbers = np.array(keys, dtype=np.uint64)
    return np.stack([numbers, numbers % np.uint64(3)], axis=1)


class Table:
    """A slot table that is asked by numbers, and answers with them."""

    def __init__(self, capacity):
        self.table = Slots(capacity, n_words=2)
        self.slots = {}

    def claim(self, keys, fails=False):
        """Keys that are new, in order; `slots` remembers where every key was put last."""
        with suppress(ZeroDivisionError), self.table.claim(words(keys)) as claim:
            self.slots.update(zip(keys, claim.slots.tolist(), strict=True))
            new = [keys[place] for place in claim.new_places]
            assert [self.slots[key] for key in new] == claim.new_slots.tolist()
            assert claim.new_keys.tolist() == words(new).tolist()
            if fails:
                raise ZeroDivisionError
        return new

    def held(self, keys=range(13)):
        """Those of the keys that have a slot."""
        found = self.table.find(np.asfortranarray(words(keys))).tolist()
        held = {key for key, slot in zip(keys, found, strict=True) if slot >= 0}
        assert {key: self.slots[key] for key in held}.items() <= {*zip(keys, found, strict=True)}
        assert sorted(self.table.keys.tolist()) == words(sorted(held)).tolist()
        assert len(held) == len(self.table)
        return held


@pytest.mark.parametrize("capacity", [2**62, 5000])
def test_thousands_of_keys_keep_their_slots_while_the_table_grows(capacity):
    table, keys = Table(capacity), list(range(5000))
    for start in range(0, 5000, 700):
        table.claim(keys[start : start + 700])
    assert table.claim(keys[::-1]) == []
    assert list(table.slots.values()) == keys == sorted(table.held(keys))
    assert table.table.room == min(8192, capacity)


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.booleans(), st.sets(st.integers(0, 12), max_size=5)), max_size=30),
    st.integers(5, 8),
)
def test_only_the_least_recently_used_are_dropped_and_no_two_keys_share_a_slot(calls, capacity):
    table, last_use = Table(capacity), {}  # of the keys that are in the table
    assert table.held() == set()
    for number, (fails, keys) in enumerate(calls):
        before = dict(table.slots)
        new = [key for key in sorted(keys) if key not in last_use]
        others = sorted(use for key, use in last_use.items() if key not in keys)
        assert table.claim(sorted(keys), fails) == new
        n_dropped = max(0, len(last_use) + len(new) - capacity)
        oldest = max(others[:n_dropped], default=-1)
        held = table.held()
        dropped = last_use.keys() - held
        assert all(last_use[key] <= oldest for key in dropped - keys)
        assert len(dropped) == n_dropped
        assert held == (last_use.keys() - dropped) | {*(() if fails else new)}
        last_use = {key: number if key in keys else last_use[key] for key in held}
        assert all(table.slots[key] == before[key] for key in held - {*new})
    assert table.table.n_used <= capacity
