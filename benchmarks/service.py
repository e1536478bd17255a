"""How many cases a second `emsco serve` opens, feeds and decides, beside requests that do nothing.

python benchmarks service                 half a minute of two cores
python benchmarks service --cases 100     a few seconds

The service runs in a process of its own; clients are threads of this one, on connections that stay
open, and share the cores with it. Every answer of a case waits for the disk.

nothing: GET /health, which is what HTTP and the clients alone allow here.
single: each step is a request; a case of two stages takes three of them.
fed: the values of the first stage come with the opening, which saves a request.
batch: a hundred cases in each request.

Prints cases a second, processor time of the service for each, and the ratio to "nothing".
"""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pandas as pd
from common import SEED, generated, markdown, options

from emsco import EMSCOClassifier

BATCH = 100
Row = dict[str, float]


class Client:
    """A connection that sends one request at a time."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port)
        self.close = self._connection.close

    def ask(self, path: str, body: Any = None) -> Any:
        """Return what the answer says; raise if it is an error."""
        content = None if body is None else json.dumps(body)
        head = {"Content-Type": "application/json"}
        self._connection.request("GET" if body is None else "POST", path, content, head)
        answer = self._connection.getresponse()
        said = json.loads(answer.read())
        if answer.status >= 300:
            raise RuntimeError(f"{answer.status}: {said}")
        return said

    def nothing(self, rows: list[Row]) -> None:
        """Ask for no work, once for each row."""
        for _ in rows:
            self.ask("/health")

    def single(self, rows: list[Row], first: list[str] | None = None) -> None:
        """Open, feed and decide cases, some values with the opening."""
        for row in rows:
            opening = {"values": {name: row[name] for name in first}} if first else {}
            case = self.ask("/cases", opening)
            while case["needs"]:
                values = {name: row[name] for name in case["needs"]}
                case = self.ask(f"/cases/{case['id']}/values", {"values": values})

    def fed(self, rows: list[Row]) -> None:
        """The same with the values of the first stage at once."""
        self.single(rows, self.ask("/cascade")["stages"][0]["needs"])

    def batch(self, rows: list[Row]) -> None:
        """Open and feed many cases together."""
        for i in range(0, len(rows), BATCH):
            some = rows[i : i + BATCH]
            cases = self.ask("/batch/open", {"cases": [{} for _ in some]})["cases"]
            row_of = {case["id"]: row for case, row in zip(cases, some, strict=True)}
            while cases := [case for case in cases if case["needs"]]:
                given = [
                    {"id": one["id"], "values": {k: row_of[one["id"]][k] for k in one["needs"]}}
                    for one in cases
                ]
                cases = self.ask("/batch/values", {"cases": given})["cases"]


def saved(folder: Path, n_cases: int) -> list[Row]:
    """Save a cascade of two stages or more; return rows for it."""
    table = generated(1000 + n_cases, 0.4, SEED)
    clf = EMSCOClassifier(
        table.costs,
        min_confidence=0.8,
        max_stages=3,
        estimator="logistic",
        branches=1,
        search="evolution",
        generations=20,
        cv=1 / 3,
        random_state=SEED,
    ).fit(table.X[:1000], table.y[:1000])
    staged = [point for point in clf.front_ if point.n_stages > 1]
    best = max(staged, key=lambda point: point.coverage)
    clf.front_.cascade(best).save(folder / "cascade.json")
    rows: list[Row] = table.X[1000:].to_dict("records")
    return rows


def started(folder: Path) -> tuple[subprocess.Popen[str], int]:
    """Start the service; return its process and port."""
    command = [sys.executable, "-m", "emsco", "serve", str(folder), "--port=0", "--json"]
    service = subprocess.Popen([*command, "--rate=inf"], stdout=subprocess.PIPE, text=True)
    lines = ""
    while not lines.endswith("}\n"):
        lines += service.stdout.readline()
    return service, int(json.loads(lines)["url"].rpartition(":")[2])


def processor_seconds(process: int) -> float:
    """Processor time of another process, where the system tells it."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(n_cases: int, n_clients: int) -> pd.DataFrame:
    """Every way to send cases, with clients side by side."""
    ways: dict[str, Callable[[Client, list[Row]], None]] = {
        "nothing": Client.nothing,
        "single": Client.single,
        "fed": Client.fed,
        "batch": Client.batch,
    }
    lines = {}
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(n_clients) as pool:
        rows = saved(Path(name), n_cases)
        service, port = started(Path(name))
        try:
            clients = [Client(port) for _ in range(n_clients)]
            shares = [rows[i::n_clients] for i in range(n_clients)]
            for title, way in ways.items():
                spent, clock = processor_seconds(service.pid), time.perf_counter()
                list(pool.map(way, clients, shares))
                seconds = time.perf_counter() - clock
                spent = processor_seconds(service.pid) - spent
                lines[title] = [n_cases / seconds, 1e6 * spent / n_cases]
            for client in clients:
                client.close()
        finally:
            service.terminate()
            service.communicate()
    table = pd.DataFrame.from_dict(lines, "index", columns=["a second", "processor µs each"])
    return table.assign(ratio=table["a second"] / table["a second"]["nothing"])


def main() -> None:
    """Measure, and print a table."""
    parser = options(__doc__)
    parser.add_argument("--cases", type=int, default=5_000, help="cases of each kind")
    parser.add_argument("--clients", type=int, default=16, help="connections at a time")
    asked = parser.parse_args()
    print(f"{asked.cases:,} cases, {asked.clients} clients, seed {SEED}\n")
    print(markdown(measure(asked.cases, asked.clients)))
