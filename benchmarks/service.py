"""How many cases a second `emsco serve` opens, feeds and decides, and how long a case waits.

    python benchmarks service               about a minute on two cores

The service runs in a process of its own; clients run in this one, on keep-alive connections, and
use both cores together with it. Every answer waits for the disk (SQLite, synchronous=FULL).

single: each step is a request; a case of two stages takes three of them.
fed: the values of the first stage come with the opening, which saves one request a case.
batch: many cases in one request.
nothing: requests that do no work (GET /health), for comparison: what HTTP alone allows here.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
from common import SEED

from emsco import EMSCOClassifier

N_FEATURES = 8


class Connection:
    """A keep-alive connection that sends one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Return what the answer says; raise if it is an error."""
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n"
        if body is not None:
            head += f"Content-Type: application/json\r\nContent-Length: {len(content)}\r\n"
        self._writer.write(head.encode() + b"\r\n" + content)
        start = await self._reader.readuntil(b"\r\n\r\n")
        status = int(start[9:12])
        at = start.index(b"content-length: ") + 16
        reply = await self._reader.readexactly(int(start[at : start.index(b"\r", at)]))
        if status >= 300:
            raise RuntimeError(f"{status}: {reply.decode()}")
        return json.loads(reply)


def fit(folder: Path) -> tuple[list[dict[str, float]], float]:
    """Save a cascade of two or three stages; return rows, and the mean number of their stages."""
    rng = np.random.default_rng(SEED)
    X = rng.normal(size=(3_000, N_FEATURES))
    y = X @ rng.normal(size=N_FEATURES) + rng.normal(size=len(X)) > 0
    settings = {"min_confidence": 0.8, "search": "evolution", "generations": 20}
    clf = EMSCOClassifier(
        max_stages=3, estimator="logistic", cv=1 / 3, random_state=SEED, **settings
    ).fit(X[:1_000], y[:1_000])
    points = [point for point in clf.front_ if point.n_stages > 1]
    cascade = clf.front_.cascade(points[0])
    cascade.save(folder / "cascade.json")
    names = cascade.encoding.columns
    rows = [dict(zip(names, row, strict=True)) for row in X.tolist()]
    return rows, float(cascade.decide(X).stage.mean())


def start(folder: Path) -> tuple[subprocess.Popen[str], int]:
    command = [sys.executable, "-m", "emsco", "serve", str(folder), "--port=0", "--json"]
    server = subprocess.Popen([*command, "--rate=inf"], stdout=subprocess.PIPE, text=True)
    lines = ""
    while not lines.endswith("}\n"):
        lines += server.stdout.readline()
    return server, int(json.loads(lines)["url"].rpartition(":")[2])


async def with_clients(
    port: int, n: int, n_clients: int, job: Callable[[Connection, range], Awaitable[None]]
) -> float:
    """Share n jobs among clients; return the seconds they take."""
    clients = [
        Connection(*await asyncio.open_connection("127.0.0.1", port)) for _ in range(n_clients)
    ]
    shares = [range(i, n, n_clients) for i in range(n_clients)]
    started = time.perf_counter()
    await asyncio.gather(
        *(job(client, share) for client, share in zip(clients, shares, strict=True))
    )
    seconds = time.perf_counter() - started
    for client in clients:
        client._writer.close()
    return seconds


def single(
    rows: list[dict[str, float]], waits: list[float], first: list[str]
) -> Callable[[Connection, range], Awaitable[None]]:
    async def play(client: Connection, share: range) -> None:
        for i in share:
            row, started = rows[i % len(rows)], time.perf_counter()
            opening = {"values": {name: row[name] for name in first}} if first else {}
            case = await client.ask("POST", "/cases", opening)
            while case["needs"]:
                values = {name: row[name] for name in case["needs"]}
                case = await client.ask("POST", f"/cases/{case['id']}/values", {"values": values})
            waits.append(time.perf_counter() - started)

    return play


def batch(
    rows: list[dict[str, float]], size: int
) -> Callable[[Connection, range], Awaitable[None]]:
    async def play(client: Connection, share: range) -> None:
        for k in range(0, len(share), size):
            mine = share[k : k + size]
            answer = await client.ask("POST", "/batch/open", {"cases": [{} for _ in mine]})
            left = answer["cases"]
            row_of = {c["id"]: rows[i % len(rows)] for c, i in zip(left, mine, strict=True)}
            while left := [case for case in left if case["needs"]]:
                given = [
                    {"id": c["id"], "values": {name: row_of[c["id"]][name] for name in c["needs"]}}
                    for c in left
                ]
                left = (await client.ask("POST", "/batch/values", {"cases": given}))["cases"]

    return play


async def nothing(client: Connection, share: range) -> None:
    for _ in share:
        await client.ask("GET", "/health")


def report(folder: Path, n_cases: int, n_clients: int) -> None:
    rows, n_stages = fit(folder)
    server, port = start(folder)
    try:
        about = asyncio.run(_first_stage(port))
        waits: list[float] = []
        jobs = {
            "nothing": (nothing, 2 * n_cases),
            "single": (single(rows, waits, []), n_cases),
            "fed": (single(rows, [], about), n_cases),
            "batch of 100": (batch(rows, 100), 4 * n_cases),
        }
        print(f"stages a case: {n_stages:.2f}; clients: {n_clients}")
        for name, (job, n) in jobs.items():
            few = 4 if name.startswith("batch") else n_clients
            before = _seconds_of(server.pid), _own_seconds()
            seconds = asyncio.run(with_clients(port, n, few, job))
            spent = _seconds_of(server.pid) - before[0], _own_seconds() - before[1]
            what = "requests" if name == "nothing" else "cases"
            print(
                f"{name:14} {n / seconds:7,.0f} {what} a second; processor time of the service "
                f"{1e6 * spent[0] / n:5.0f} µs each, of the clients {1e6 * spent[1] / n:5.0f} µs",
                flush=True,
            )
        ordered = sorted(waits)
        middle, late = ordered[len(ordered) // 2], ordered[int(0.99 * len(ordered))]
        print(f"a single case takes {1e3 * middle:.0f} ms, 99 % at most {1e3 * late:.0f} ms")
    finally:
        server.terminate()
        server.wait()


async def _first_stage(port: int) -> list[str]:
    client = Connection(*await asyncio.open_connection("127.0.0.1", port))
    about = await client.ask("GET", "/cascade")
    needs: list[str] = about["stages"][0]["needs"]
    return needs


def _seconds_of(process: int) -> float:
    """Processor time of another process, where the system tells it."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=5_000, help="cases of each kind")
    parser.add_argument("--clients", type=int, default=64, help="connections at a time")
    options = parser.parse_args()
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    print(f"seed {SEED}, load before {load}")
    with tempfile.TemporaryDirectory() as folder:
        report(Path(folder), options.cases, options.clients)
