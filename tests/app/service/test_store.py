"""Cases on the disk: written in batches, there after a restart, and safe before they are told."""

import asyncio
import os
import sqlite3
import time

import pytest
from support.handmade import make_cascade
from support.services import serving

from emsco.app.service import Settings, cases
from emsco.app.service.cases import CaseService
from emsco.app.service.messages import RefusalError
from emsco.app.service.store import CaseStore, Stored, WriteError
from emsco.errors import FileError

CASCADE = make_cascade(classes=("ill", "well"))
PRAGMAS = ("synchronous", "journal_mode", "locking_mode", "secure_delete")
UNSURE = {"age": 0.1, "pulse": 0.2}


def stored(name, version=0, decided=False, changed=0.0):
    return Stored(name, decided, version, 0.0, changed, "{}")


def play(tmp_path, scene, **settings):
    """Let an asynchronous scene act on a store and its service."""

    async def act():
        store = CaseStore(tmp_path / "a.sqlite", CASCADE.stages.identity)
        await scene(store, CaseService(CASCADE, store, Settings(**settings)))
        await store.close()

    asyncio.run(act())


def test_cases_go_on_after_a_restart(tmp_path):
    with serving(CASCADE, tmp_path / "a.sqlite") as service:
        waiting = service.post("/cases", {"id": "w", "values": UNSURE, "budget": 60})[1]
        sure = service.post("/cases", {"id": "s", "values": {"age": 3.0, "pulse": 3.0}})[1]
    with serving(CASCADE, tmp_path / "a.sqlite") as service:
        answer = service.get("/cases/w")[1]
        assert {name: answer[name] for name in waiting} == waiting
        assert answer["given"] == UNSURE
        assert {name: service.get("/cases/s")[1][name] for name in sure} == sure
        assert service.post("/cases/w/values", {"values": {"scan": 5.0}})[1]["decided"] is True
        assert service.post("/cases", {"id": "s"})[0] == 409
        assert (service.service.n_open, service.service.n_decided) == (0, 2)


def test_writes_that_come_together_go_to_the_disk_together(tmp_path):
    async def write():
        store = CaseStore(tmp_path / "a.sqlite", "c")
        await asyncio.gather(*(store.save(stored(f"c{i}"), {"n": 1}) for i in range(500)))
        n_commits, counts = store.n_commits, dict(store.counts)
        await store.close()
        return n_commits, counts

    n_commits, counts = asyncio.run(write())
    assert n_commits <= 2
    assert counts == {"n": 500}


@pytest.mark.parametrize(
    "change",
    [
        "version = 'x'",
        "version = -1",
        "opened = x'00'",
        "document = x'7b7d'",
    ],
)
def test_a_case_that_no_service_has_written_is_refused(tmp_path, change):
    async def play():
        store = CaseStore(tmp_path / "a.sqlite", CASCADE.stages.identity)
        await CaseService(CASCADE, store, Settings()).open({"id": "a"})
        store._file.execute(f"UPDATE cases SET {change}")
        try:
            with pytest.raises(RefusalError) as refusal:
                await CaseService(CASCADE, store, Settings()).look("a")
        finally:
            await store.close()
        return refusal.value.status

    assert asyncio.run(play()) == 500


@pytest.mark.parametrize("value", ["'x'", "-1", "9e999", "x'00'"])
def test_counts_that_are_no_numbers_are_refused(tmp_path, value):
    store = CaseStore(tmp_path / "a.sqlite", "c")
    store._file.execute(f"INSERT INTO counts VALUES ('n', {value})")
    asyncio.run(store.close())
    with pytest.raises(FileError, match="'n'"):
        CaseStore(tmp_path / "a.sqlite", "c")


def test_no_write_waits_for_ever_whatever_fails(tmp_path):
    class Broken:
        in_transaction = False

        def execute(self, *_given):
            raise DeprecationWarning("as an error")

    async def write():
        store = CaseStore(tmp_path / "a.sqlite", "c")
        file, store._file = store._file, Broken()
        try:
            with pytest.raises(WriteError):
                await asyncio.wait_for(store.save(stored("a"), {}), 20)
        finally:
            store._file = file
            await store.close()

    asyncio.run(write())


def test_a_commit_waits_for_the_disk(tmp_path):
    store = CaseStore(tmp_path / "a.sqlite", "c")
    told = [store._file.execute(f"PRAGMA {name}").fetchone()[0] for name in PRAGMAS]
    asyncio.run(store.close())
    assert told == [2, "wal", "exclusive", 1]


def test_a_write_that_fails_fails_alone(tmp_path):
    async def write():
        store = CaseStore(tmp_path / "a.sqlite", "c")
        await store.save(stored("a"), {"n": 1})
        together = [
            store.save(stored("b"), {"n": 1}),
            store.save(stored("a"), {"n": 1}),
            store.save(stored("a", version=2), {"n": 1}),
            store.save(stored("\ud800"), {"n": 1}),
            store.save(stored("c"), {"n": 1}),
        ]
        outcomes = await asyncio.gather(*together, return_exceptions=True)
        assert [type(one) for one in outcomes] == [type(None), *[WriteError] * 3, type(None)]
        assert "UNIQUE constraint failed" in str(outcomes[1])
        assert str(outcomes[2]) == "case a has changed meanwhile"
        assert not store.is_failing
        assert store.counts == {"n": 3}
        assert [await store.find(name) is not None for name in "abc"] == [True] * 3
        await store.close()

    asyncio.run(write())


def test_an_id_that_is_opened_while_it_is_deleted_is_a_new_case(tmp_path):
    async def scene(store, service):
        await service.open({"id": "a", "values": UNSURE})
        deleting = asyncio.create_task(service.delete("a"))
        while not service._entries["a"].is_gone:
            await asyncio.sleep(0)
        opened = await service.open({"id": "a"})
        assert (await deleting)["deleted"] is True
        assert opened["stage"] == 0
        assert "a" in service._entries
        assert (await service.give("a", {"values": UNSURE}))["stage"] == 1

    play(tmp_path, scene)


def test_no_more_cases_are_open_than_may_be_whoever_comes_at_once(tmp_path):
    async def scene(store, service):
        many = [service.open({"id": f"c{i}"}) for i in range(5)]
        outcomes = await asyncio.gather(*many, return_exceptions=True)
        assert [getattr(one, "status", 201) for one in outcomes] == [201, 201, 503, 503, 503]
        assert store.n_cases() == (2, 0)

    play(tmp_path, scene, max_open=2)


class FullDisk:
    """A connection that fails to commit and to count while it is told so."""

    def __init__(self, file):
        self.file, self.is_full = file, False

    def execute(self, statement, *values):
        if self.is_full and (statement == "COMMIT" or "count(*)" in statement):
            raise sqlite3.OperationalError("database or disk is full")
        return self.file.execute(statement, *values)

    def __getattr__(self, name):
        return getattr(self.file, name)


def test_on_a_full_disk_nothing_is_acknowledged_and_nothing_changes(tmp_path):
    async def play():
        store = CaseStore(tmp_path / "a.sqlite", CASCADE.stages.identity)
        disk = store._file = FullDisk(store._file)
        service = CaseService(CASCADE, store, Settings())
        await service.open({"id": "a"})
        before = await service.look("a")
        disk.is_full = True
        for step in (
            service.give("a", {"values": UNSURE}),
            service.open({"id": "b"}),
            service.delete("a"),
        ):
            with pytest.raises(RefusalError) as e:
                await step
            assert e.value.status == 503
        disk.is_full = False
        assert await service.look("a") == before
        with pytest.raises(RefusalError, match="'b'"):
            await service.look("b")
        assert (service.n_open, service.n_decided) == (1, 0)
        assert (await service.give("a", {"values": UNSURE}))["stage"] == 1
        assert b"emsco_cases_opened_total 1.0" in service.metrics.text()
        await store.close()

    asyncio.run(play())


def test_nobody_deletes_a_case_that_is_not_there(tmp_path):
    async def play():
        store = CaseStore(tmp_path / "a.sqlite", "c")
        with pytest.raises(WriteError):
            await store.delete("a", {"n": 1})
        assert store.counts == {}
        await store.close()

    asyncio.run(play())


def test_nothing_is_said_about_a_case_before_it_is_on_the_disk(tmp_path):
    async def scene(store, service):
        opening = asyncio.create_task(service.open({"id": "a"}))
        while "a" not in service._entries:
            await asyncio.sleep(0)
        pending = service._entries["a"].saved
        asks = [asyncio.create_task(one) for one in (service.look("a"), service.open({"id": "a"}))]
        for _ in range(10):
            await asyncio.sleep(0)
            assert pending.done() or not any(one.done() for one in [opening, *asks])
        outcomes = await asyncio.gather(opening, *asks, return_exceptions=True)
        assert pending.done()
        assert [type(one) for one in outcomes] == [dict, dict, RefusalError]

    play(tmp_path, scene)


def test_few_cases_stay_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(cases, "_MAX_AT_HAND", 5)

    async def scene(store, service):
        for i in range(20):
            await service.open({"id": f"c{i}"})
        assert len(service._entries) <= 6
        assert (await service.give("c0", {"values": UNSURE}))["stage"] == 1

    play(tmp_path, scene)


def test_old_decided_cases_are_deleted_and_open_ones_kept(tmp_path):
    async def play():
        store = CaseStore(tmp_path / "a.sqlite", CASCADE.stages.identity)
        now, old = time.time(), time.time() - 31 * 86_400
        await store.save(stored("new", decided=True, changed=now), {})
        await store.save(stored("old", decided=True, changed=old), {})
        await store.save(stored("open", changed=old), {})
        service = CaseService(CASCADE, store, Settings(retain=30))
        await service.expire()
        outcomes = [await store.find(name) is not None for name in ("new", "old", "open")]
        await store.close()
        return outcomes, service.n_open, service.n_decided

    assert asyncio.run(play()) == ([True, False, True], 1, 1)


def test_a_database_serves_one_service_and_one_cascade(tmp_path):
    path = tmp_path / "a.sqlite"
    store = CaseStore(path, "one")
    with pytest.raises(FileError):
        CaseStore(path, "one")
    asyncio.run(store.close())
    with pytest.raises(FileError):
        CaseStore(path, "two")
    asyncio.run(CaseStore(path, "one").close())


def test_only_its_owner_reads_a_new_database(tmp_path):
    asyncio.run(CaseStore(tmp_path / "a.sqlite", "one").close())
    assert os.name != "posix" or (tmp_path / "a.sqlite").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("kind", ["text", "folder", "other", "newer", "nowhere"])
def test_files_that_are_no_database_of_a_service_are_refused(tmp_path, kind):
    path = tmp_path / "a.sqlite"
    if kind == "text":
        path.write_text("no database, but long enough to be looked at " * 50)
    elif kind == "folder":
        path.mkdir()
    elif kind == "nowhere":
        path = tmp_path / "none" / "a.sqlite"
    else:
        with sqlite3.connect(path) as file:
            file.execute("CREATE TABLE t (x)")
            file.execute(f"PRAGMA application_id = {0x454D5356 if kind == 'newer' else 7}")
        file.close()
    with pytest.raises(FileError):
        CaseStore(path, "one")


def test_a_stored_case_that_is_damaged_is_told(tmp_path):
    with serving(CASCADE, tmp_path / "a.sqlite") as service:
        service.post("/cases", {"id": "a"})
    with sqlite3.connect(tmp_path / "a.sqlite") as file:
        file.execute("UPDATE cases SET document = replace(document, 'null', '7')")
    file.close()
    with serving(CASCADE, tmp_path / "a.sqlite") as service:
        status, said = service.get("/cases/a")
        assert status == 500
        assert said["error"].startswith("The stored case is damaged: the case must be unchanged")
