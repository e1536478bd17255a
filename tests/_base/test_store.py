"""The store alone: many writers, kills, a full disk, and files that are damaged or foreign."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emsco._base.store import Store
from emsco.errors import FileError

ITEMS = {bytes([i]): bytes([i]) * 5000 for i in range(200)}
ADDING = """
import sys
from emsco._base.store import Store
from emsco.errors import FileError

store = Store(sys.argv[1], "store", FileError)
print("opened", flush=True)
for i in range(int(sys.argv[2])):
    store.add({bytes([i, j]): bytes([i]) * 5000 for j in range(20)})
"""


def opened(folder):
    return closing(Store(folder / "values.sqlite", "store", FileError))


def adding(folder, times):
    command = [sys.executable, "-c", ADDING, folder / "values.sqlite", str(times)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    with process.stdout as said:
        assert said.readline() == "opened\n"
    return process


@given(st.lists(st.dictionaries(st.binary(min_size=1), st.binary())))
def test_values_come_back_and_the_first_of_a_key_stays(tmp_path_factory, parts):
    folder, wanted = tmp_path_factory.mktemp("store"), {}
    for items in parts:
        with opened(folder) as store:
            store.add(items)
            wanted = items | wanted
            assert store.get([*wanted, b"none of them " * 9]) == [*wanted.values(), None]


def test_a_store_is_told_once_what_it_is_of(tmp_path):
    for new, said in ((None, None), ({"seed": 3}, {"seed": 3}), ({"seed": 4}, {"seed": 3})):
        with opened(tmp_path) as store:
            assert store.about(new) == said


def test_processes_that_add_at_the_same_time_lose_nothing(tmp_path):
    writers = [adding(tmp_path, 20) for _ in range(3)]
    assert [one.wait() for one in writers] == [0, 0, 0]
    with opened(tmp_path) as store:
        assert None not in store.get(bytes([i, j]) for i in range(20) for j in range(20))


@pytest.mark.parametrize("moment", range(4))
def test_a_killed_process_leaves_every_addition_whole_or_none_of_it(tmp_path, moment):
    process = adding(tmp_path, 250)
    time.sleep(0.02 * moment)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    with opened(tmp_path) as store:
        for i in range(250):
            assert len(set(store.get(bytes([i, j]) for j in range(20)))) == 1
        store.add(ITEMS)


def test_a_full_disk_is_a_sentence_and_leaves_what_was_there(tmp_path):
    with opened(tmp_path) as store:
        store.add({b"first": b"value"})
        store._file.execute("PRAGMA max_page_count = 9")
        with pytest.raises(FileError, match=r"store must be a file .* \(database or disk is full"):
            store.add(ITEMS)
        assert store.get([b"first", *ITEMS]) == [b"value"] + [None] * len(ITEMS)
        store._file.execute("PRAGMA max_page_count = 9999")
        store.add(ITEMS)
        assert store.get(ITEMS) == [*ITEMS.values()]


def altered(*statements):
    def alter(path):
        with closing(sqlite3.connect(path)) as file, file:
            for statement in statements:
                file.execute(statement)

    return alter


def rewritten(change):
    return lambda path: path.write_bytes(change(path.read_bytes()))


@pytest.mark.parametrize(
    "damage",
    [
        rewritten(lambda content: content[: len(content) // 2]),
        rewritten(lambda content: content.replace(ITEMS[b"\7"][:50], bytes(50))),
        rewritten(lambda _: b"garbage" * 99),
        altered("UPDATE stored SET value = 'text'"),
        altered("UPDATE stored SET value = (SELECT max(value) FROM stored)"),
        altered("CREATE TRIGGER t AFTER INSERT ON stored BEGIN DELETE FROM stored; END"),
        altered("PRAGMA application_id = 7"),
        altered("PRAGMA user_version = 5"),
        altered("DROP TABLE stored", "CREATE TABLE mine (a)"),
        lambda path: (path.unlink(), path.mkdir()),
    ],
)
def test_a_damaged_or_foreign_file_is_refused_by_name_and_left_as_it_is(tmp_path, damage):
    with opened(tmp_path) as store:
        store.add(ITEMS)
    path = tmp_path / "values.sqlite"
    damage(path)
    before = path.is_file() and path.read_bytes()
    with (
        pytest.raises(FileError, match=r"^store must be .*values\.sqlite.*\.$"),
        opened(tmp_path) as store,
    ):
        store.get(ITEMS)
    assert before == (path.is_file() and path.read_bytes())


def test_a_file_system_without_locks_is_used_without(tmp_path, monkeypatch):
    addresses, connect = [], sqlite3.connect

    def without_locks(address, **settings):
        addresses.append(address)
        if len(addresses) == 1:
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorname = "SQLITE_IOERR_LOCK"
            raise error
        return connect(address, **settings)

    monkeypatch.setattr(sqlite3, "connect", without_locks)
    with opened(tmp_path) as store:
        store.add(ITEMS)
    assert addresses[1].endswith("values.sqlite?nolock=1")
