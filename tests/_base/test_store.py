"""The store alone: types of rows, many writers, one writer."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from emsco._base.store import LockedError, Place, Store
from emsco.errors import FileError

PLAIN = np.dtype(("<i8", (2, 3)))
FIELDS = np.dtype([("winner", "u1", (5,)), ("confidence", "<f8", (5,))])


def opened(folder, row_type=PLAIN, exclusive=False):
    place = Place(folder / "rows.sqlite", "cache", FileError, 1, "its rows are made again")
    return Store(place, 4, row_type, exclusive=exclusive)


def some_rows(row_type, n=7, seed=0):
    content = np.random.default_rng(seed).integers(0, 256, n * row_type.itemsize, dtype=np.uint8)
    return np.frombuffer(content.tobytes(), row_type)


def keys_from(start, n=7):
    return np.arange(start, start + n, dtype="<u4").view(np.uint8).reshape(n, 4)


@pytest.mark.parametrize("row_type", [PLAIN, FIELDS], ids=["plain", "fields"])
@pytest.mark.parametrize("exclusive", [True, False])
def test_rows_come_back_to_the_bit_and_in_order(tmp_path, row_type, exclusive):
    written = [some_rows(row_type, seed=seed) for seed in range(3)]
    with opened(tmp_path, row_type, exclusive) as store:
        for i, rows in enumerate(written):
            store.add(keys_from(10 * i), rows)
    with opened(tmp_path, row_type, exclusive) as store:
        batches = list(store.batches())
        read = [store.rows(batch) for batch in batches]
    assert [batch.keys.tolist() for batch in batches] == [
        keys_from(10 * i).tolist() for i in range(3)
    ]
    assert [rows.tobytes() for rows in read] == [rows.tobytes() for rows in written]
    assert all(rows.dtype == row_type.base for rows in read)


def test_only_newer_batches_are_asked_for(tmp_path):
    with opened(tmp_path) as store:
        store.add(keys_from(0), some_rows(PLAIN))
        (first,) = store.batches()
        store.add(keys_from(10), some_rows(PLAIN))
        assert [batch.number for batch in store.batches(after=first.number)] == [first.number + 1]


def test_a_new_store_says_nothing_until_it_is_told(tmp_path):
    with opened(tmp_path) as store:
        assert store.about is None
        store.say({"seed": 3, "costs": [1.5]})
    with opened(tmp_path) as store:
        assert store.about == {"seed": 3, "costs": [1.5]}


def test_an_exclusive_store_is_opened_once_at_a_time(tmp_path):
    with (
        opened(tmp_path, exclusive=True),
        pytest.raises(LockedError, match=r"rows\.sqlite"),
    ):
        opened(tmp_path, exclusive=True)
    opened(tmp_path, exclusive=True).close()


ADDING = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_store import keys_from, opened, some_rows, PLAIN

start = int(sys.argv[3])
for i in range(20):
    with opened(Path(sys.argv[2])) as store:
        store.add(keys_from(start + 7 * i), some_rows(PLAIN, seed=start + i))
"""


def test_processes_that_add_at_the_same_time_lose_nothing(tmp_path):
    here = sys.modules[__name__].__file__.rpartition("test_store")[0]
    adding = [
        subprocess.Popen([sys.executable, "-c", ADDING, here, str(tmp_path), str(start)])
        for start in (0, 1000, 2000)
    ]
    assert [process.wait() for process in adding] == [0, 0, 0]
    with opened(tmp_path) as store:
        numbers = [key for batch in store.batches() for key in batch.keys.view("<u4").ravel()]
        assert sorted(numbers) == [start + i for start in (0, 1000, 2000) for i in range(140)]
        assert sum(len(store.rows(batch)) for batch in store.batches()) == 3 * 140
