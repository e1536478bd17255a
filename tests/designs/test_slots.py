"""Slot tables: places given out, reused, and taken back."""

from __future__ import annotations

from contextlib import suppress
from copy import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emsco.designs.slots import Slots


def words(keys):
    """One row of two words for each letter or number."""
    numbers = [ord(key) if isinstance(key, str) else key for key in keys]
    return np.array([[number, number % 3] for number in numbers], dtype=np.uint64).reshape(-1, 2)


class Table:
    """A slot table that is asked by letters, and answers with them."""

    def __init__(self, capacity):
        self.table = Slots(capacity, n_words=2)
        self.slots = {}

    def claim(self, keys, fails=False):
        """Keys that are new, in order; `slots` remembers where every key was put last."""
        with suppress(ZeroDivisionError), self.table.claim(words(keys)) as claim:
            self.slots.update(zip(keys, claim.slots.tolist(), strict=True))
            by_slot = {self.slots[key]: key for key in keys}
            new = [by_slot[slot] for slot in claim.new_slots.tolist()]
            assert claim.new_keys.tolist() == words(new).tolist()
            if fails:
                raise ZeroDivisionError
        return new

    def is_new(self, key):
        """Whether a key has no slot now; asks a copy, so that nothing is used by it."""
        probe = copy(self.table)
        for name, value in vars(self.table).items():
            setattr(probe, name, value.copy() if isinstance(value, np.ndarray) else value)
        with probe.claim(words([key])) as claim:
            return claim.new_slots.size == 1


def test_new_keys_of_a_claim_that_fails_are_forgotten_and_the_others_kept():
    table = Table(capacity=4)
    table.claim("ab")
    before = dict(table.slots)
    assert table.claim("bcd", fails=True) == ["c", "d"]
    assert len(table.table) == 2
    assert table.table.find(words("abcd")).tolist() == [before["a"], before["b"], -1, -1]
    assert table.claim("abc") == ["c"]
    assert table.table.n_used == 4  # a slot that was taken back is given out again


def test_keys_are_found_in_any_layout_and_none_in_an_empty_table():
    table, keys = Table(capacity=4), np.asfortranarray(words("abcd"))
    assert table.table.find(keys).tolist() == [-1] * 4
    assert table.table.find(words("")).tolist() == []
    table.claim("abcd")
    assert table.table.find(keys[::2]).tolist() == [table.slots["a"], table.slots["c"]]


@pytest.mark.parametrize("capacity", [2**62, 5000])
def test_thousands_of_keys_keep_their_slots_while_the_table_grows(capacity):
    table, keys = Table(capacity), list(range(5000))
    for start in range(0, 5000, 700):
        table.claim(keys[start : start + 700])
    assert sorted(table.slots.values()) == keys
    before = dict(table.slots)
    assert table.claim(keys[::-1]) == []
    assert table.slots == before


@settings(deadline=None, max_examples=100, derandomize=True)
@given(
    st.lists(st.tuples(st.booleans(), st.sets(st.integers(0, 12), max_size=5)), max_size=30),
    st.integers(5, 8),
)
def test_only_the_least_recently_used_are_dropped_and_no_two_keys_share_a_slot(calls, capacity):
    table, last_use = Table(capacity), {}  # of the keys that are in the table
    for number, (fails, keys) in enumerate(calls):
        before = dict(table.slots)
        new = [key for key in sorted(keys) if key not in last_use]
        others = sorted((use, key) for key, use in last_use.items() if key not in keys)
        assert table.claim(sorted(keys), fails) == new
        assert all(table.slots[key] == before[key] for key in keys & last_use.keys())
        n_dropped = max(0, len(last_use) + len(new) - capacity)
        taken = {table.slots[key] for key in new}
        oldest = max((use for use, _ in others[:n_dropped]), default=-1)
        assert all(use <= oldest for use, key in others if before[key] in taken)
        last_use |= dict.fromkeys(keys, number)
        held = {key for key in last_use if not table.is_new(key)}
        assert len(held) == len(last_use) - n_dropped - fails * len(new) == len(table.table)
        last_use = {key: last_use[key] for key in held}
        assert len({table.slots[key] for key in held}) == len(held)
