"""Slot tables: places given out, reused, and taken back."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from emsco.subsets.slots import SlotTable


def claim(table, keys):
    """Slot of each key, and the keys that are fresh."""
    slots, fresh = table.claim(list(keys))
    return dict(zip(keys, slots.tolist(), strict=True)), [keys[i] for i in fresh]


def test_a_known_key_keeps_its_slot_and_is_not_fresh():
    table = SlotTable(capacity=4)
    first, fresh = claim(table, "abc")
    assert fresh == ["a", "b", "c"]
    again, fresh = claim(table, "cad")
    assert fresh == ["d"]
    assert [again["c"], again["a"]] == [first["c"], first["a"]]


def test_the_least_recently_used_key_makes_room():
    table = SlotTable(capacity=3)
    first, _ = claim(table, "a")
    first |= claim(table, "bc")[0]
    claim(table, "a")
    claim(table, "c")
    later, _ = claim(table, "d")
    assert later["d"] == first["b"]
    assert [key in table for key in "abcd"] == [True, False, True, True]


def test_keys_of_the_same_claim_never_make_room_for_each_other():
    table = SlotTable(capacity=3)
    for key in "abc":
        claim(table, key)  # "a" is the oldest, yet claimed again below
    slots, fresh = claim(table, "xya")
    assert sorted(slots.values()) == [0, 1, 2]
    assert fresh == ["x", "y"]


def test_a_forgotten_slot_is_given_out_again_before_any_key_is_dropped():
    table = SlotTable(capacity=3)
    first, _ = claim(table, "abc")
    table.forget(["b", "never seen"])
    later, _ = claim(table, "d")
    assert later["d"] == first["b"]
    assert "a" in table
    assert claim(table, "b")[1] == ["b"]


def test_n_used_is_the_size_that_a_table_behind_it_needs():
    table = SlotTable(capacity=3)
    assert table.n_used == 0
    sizes = []
    for keys in ("a", "ab", "bc", "de", "a"):
        slots, _ = claim(table, keys)
        assert max(slots.values()) < table.n_used
        sizes.append(table.n_used)
    assert sizes == [1, 2, 3, 3, 3]


def test_claiming_nothing_gives_nothing():
    slots, fresh = SlotTable(capacity=1).claim([])
    assert slots.tolist() == fresh.tolist() == []


@settings(deadline=None, max_examples=100, derandomize=True)
@given(
    st.lists(st.tuples(st.booleans(), st.sets(st.integers(0, 12), max_size=5)), max_size=30),
    st.integers(5, 8),
)
def test_only_the_least_recently_used_are_dropped_and_no_two_keys_share_a_slot(calls, capacity):
    table, content, last_use = SlotTable(capacity), {}, {}
    for number, (forgets, keys) in enumerate(calls):
        if forgets:
            table.forget(keys)
            for key in keys:
                content.pop(key, None)
            continue
        slots, fresh = claim(table, sorted(keys))
        assert fresh == [key for key in sorted(keys) if key not in content]
        assert len(set(slots.values())) == len(keys)
        dropped = [key for key in content if key not in table]
        assert len(dropped) == max(0, len(content) + len(fresh) - capacity)
        kept = [last_use[key] for key in content if key not in {*dropped, *keys}]
        assert all(last_use[key] <= oldest for key in dropped for oldest in kept)
        for key in dropped:
            del content[key]
        for key in keys:
            assert content.setdefault(key, slots[key]) == slots[key]
            last_use[key] = number
        assert len(set(content.values())) == len(content)  # no two share a slot
