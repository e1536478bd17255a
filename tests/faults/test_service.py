"""A service that is killed, raced and asked nonsense keeps what it said, in one sentence each."""

from __future__ import annotations

import json
import math
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from copy import deepcopy
from http.client import HTTPException
from itertools import count
from threading import Barrier

import pytest
from support.handmade import make_cascade
from support.services import JSON, Client, serving

from emsco.app.service import Settings
from faults import trial, trials
from faults.damage import change, damaged_bytes
from faults.processes import Command

CASCADE = make_cascade(classes=("ill", "well"))
GIVEN = {"age": 0.1, "pulse": 0.2}
BODIES = {
    "/cases": {"id": "a", "budget": 60, "values": GIVEN, "prices": {}},
    "/cases/b/values": {"values": GIVEN, "spent": {"scan": 3}},
    "/cases/b/reject": {"reason": "x"},
    "/decide": {"rows": [GIVEN], "budget": 5},
    "/batch/open": {"cases": [{"id": "c"}]},
    "/cases/..%2f..": {},
}
METHODS = ["POST", "POST", "POST", "PUT", "GET", "DELETE"]
N = 4  # clients


@pytest.fixture
def service(tmp_path):
    with serving(CASCADE, tmp_path / "cases.sqlite", Settings(rate=math.inf)) as client:
        yield client


@trials(150, 3000)
def test_nonsense_is_refused_in_one_sentence(numbers, service):
    service.post("/cases", {"id": "b"})
    for number in numbers:
        with trial(number) as rng:
            path = rng.choice(list(BODIES))
            body = deepcopy(BODIES[path])
            change(body, rng)
            content = json.dumps(body).encode()
            if rng.random() < 0.2:
                content = damaged_bytes(content, rng)
            status, _, answer = service.send(rng.choice(METHODS), path, content, JSON)
            assert status < 500
            assert status < 400 or "\n" not in json.loads(answer)["error"]
    assert service.get("/health")[0] == 200


@trials(20, 1000)
def test_of_many_who_change_one_case_one_is_taken_and_the_others_are_told(numbers, service):
    barrier = Barrier(N)

    def post(path, body):
        barrier.wait(20)
        return service.post(path, body)

    with ThreadPoolExecutor(N) as threads:
        for number in numbers:
            with trial(number):
                opened = threads.map(post, ["/cases"] * N, [{"id": f"{number}"}] * N)
                assert sorted(status for status, _ in opened) == [201, *[409] * (N - 1)]
                values = [{"age": i * (number % 2), "pulse": 0.2} for i in range(N)]
                bodies = [{"values": given} for given in values]
                answers = list(threads.map(post, [f"/cases/{number}/values"] * N, bodies))
                taken = [i for i in range(N) if answers[i][0] == 200]
                assert len(taken) == (1 if number % 2 else N)
                assert service.get(f"/cases/{number}")[1]["given"] == values[taken[0]]
    assert service.samples()["emsco_cases_opened_total"] == len(numbers)


def feed(service, name, told, rng):
    """Open and feed cases until the service is killed, and note what it acknowledged."""
    with suppress(OSError, HTTPException, ValueError):
        for i in count():
            path, body = "/cases", {"id": f"{name}-{i}"}
            case = {"needs": True}
            while case["needs"] and rng.random() < 0.9:
                case = service.post(path, body)[1]
                told[case["id"]] = case
                path = f"/cases/{case['id']}/values"
                body = {"values": {one: rng.gauss(0, 1) for one in case["needs"]}}


@trials(1, 20)
def test_a_killed_service_has_all_that_it_acknowledged(numbers, tmp_path):
    CASCADE.save(tmp_path / "c.json")
    told = {}

    def start():
        words = [tmp_path / "c.json", f"--database={tmp_path / 'c.sqlite'}", "--port=0", "--json"]
        command = Command(tmp_path, "serve", *words, "--rate=inf")
        while not command.said.endswith("}\n"):
            time.sleep(0.01)
        return command, Client(int(json.loads(command.said)["url"].rpartition(":")[2]))

    for number in numbers:
        with trial(number) as rng:
            command, service = start()
            with ThreadPoolExecutor(N) as threads:
                for i in range(N):
                    threads.submit(feed, service, f"{number}-{i}", told, rng)
                time.sleep(rng.uniform(0.05, 0.5))
                command.kill()
            command, service = start()
            for name, case in told.items():
                now = service.get(f"/cases/{name}")[1]
                is_later = now["stage"] > case["stage"] and not case["decided"]
                assert is_later or case.items() <= now.items()
            command.kill()
    assert told
