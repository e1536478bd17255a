"""Races: several processes change one run, or several connections one case, at the same moment.

Processes wait for each other at a barrier and then run commands; connections are opened first and
then asked all at once. Whatever the order, nothing that was acknowledged may be lost, one of the
possible orders must explain the end, and whoever asks for something else must not notice.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import json
import os
import random
import shutil
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from pathlib import Path
from threading import Barrier
from typing import Any, NamedTuple

import numpy as np
import typer.main

from attacks.fits import Disturbed, processes, race_fits
from attacks.service import save_cascade, start_service
from emsco.app.runs.run import Run
from emsco.cascade.monitor import Monitor
from emsco.front import Certificate

__all__ = ["race"]

_N = 4  # racers, and innocent ones beside them
_PATIENCE = 120.0  # seconds for anything
_JSON = {"Content-Type": "application/json"}
_SETTINGS = ["--target=sick", "--seed=5", "--search=evolution", "--generations=15",
             "--estimator=logistic", "--max-stages=3", "--min-confidence=0.8",
             "--cv=0.33"]  # fmt: skip


class Ended(NamedTuple):
    """How a command ended: its exit code and its words."""

    code: int
    words: str


def race(kind: str, folder: Path, seed: int, numbers: range) -> Iterator[Disturbed]:
    """Carry out races of one kind."""
    if kind == "fit":
        yield from race_fits(folder, seed, numbers)
    elif kind in _REQUESTS:
        with _Service(folder) as service:
            for number in numbers:
                rng = random.Random(f"{kind} {seed} {number}")
                name = f"{kind}-{seed}-{number}"
                yield Disturbed(number, f"{_N} connections", _REQUESTS[kind](service, name, rng))
            if said := service.miscounted():
                yield Disturbed(numbers.stop, "all of them", said)
    else:
        with _Racers(folder) as racers:
            for number in numbers:
                rng = random.Random(f"{kind} {seed} {number}")
                run = shutil.copytree(racers.run, folder / f"run-{number}")
                wrong = _COMMANDS[kind](racers, run, rng)
                left = sorted(one.name for one in run.iterdir() if one.suffix in (".tmp", ".lock"))
                wrong = wrong or (f"left behind: {left}" if left else "")
                yield Disturbed(number, f"{_N} processes", wrong)
                shutil.rmtree(run)


# Processes


class _Racers:
    """Processes that run commands at the same moment, and a run for them to change."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.run = folder, folder / "raced"
        self.names = ["age", "pulse", "panel", "scan"]
        context = processes()
        self._barrier = context.Barrier(_N)
        self._pipes, self._started = [], []
        for _ in range(_N):
            here, there = context.Pipe()
            process = context.Process(target=_run_commands, args=(there, self._barrier))
            process.start()
            self._pipes.append(here)
            self._started.append(process)
        costs = folder / "costs.csv"
        costs.write_text("feature,cost\nage,1\npulse,2\npanel,10\nscan,40\n")
        data = self.rows("data", 240)
        fit = ["fit", str(data), f"--out={self.run}", f"--costs={costs}", *_SETTINGS]
        first = self.at_once([fit, *[["--version"]] * (_N - 1)])[0]
        if first.code:
            raise RuntimeError(first.words)
        self.n_designs = len(Run.open(self.run).front)

    def __enter__(self) -> _Racers:
        return self

    def __exit__(self, *_error: object) -> None:
        for process in self._started:
            process.kill()
            process.join()

    def rows(self, name: str, n_rows: int, seed: int = 4) -> Path:
        """Write labelled rows."""
        rng = np.random.default_rng(seed)
        y = rng.integers(0, 2, size=n_rows)
        X = rng.normal(size=(n_rows, 4)) + y[:, None] * np.array([0.4, 0.8, 1.2, 1.6])
        lines = [",".join([*self.names, "sick"])]
        lines += [",".join(map(str, [*row, k])) for row, k in zip(X.tolist(), y, strict=True)]
        path = self.folder / f"{name}.csv"
        path.write_text("\n".join([*lines, ""]))
        return path

    def at_once(self, commands: Sequence[Sequence[str]]) -> list[Ended]:
        """Run a command in each process, all at the same moment."""
        for pipe, words in zip(self._pipes, commands, strict=True):
            pipe.send(list(words))
        ends = []
        for pipe in self._pipes:
            if not pipe.poll(_PATIENCE):
                raise RuntimeError(f"no end after {_PATIENCE:g} s")
            ends.append(Ended(*pipe.recv()))
        return ends


def _run_commands(pipe: Any, barrier: Any) -> None:
    """Be the command `emsco`, again and again."""
    from emsco.app.cli import main

    os.environ["NO_COLOR"] = "1"
    typer.main.get_command = cache(typer.main.get_command)  # a third of the time of a command
    while True:
        sys.argv = ["emsco", *pipe.recv()]
        said, code = io.StringIO(), 0
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            barrier.wait()
            try:
                main()
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else bool(end.code)
            except BaseException:
                traceback.print_exc(file=said)
                code = -1
        pipe.send((code, said.getvalue()))


def _monitor(racers: _Racers, run: Path, rng: random.Random) -> str:
    """Count different files; all of them must be counted."""
    n_rows = [rng.randint(5, 40) for _ in range(_N)]
    files = [racers.rows(f"part{i}", n, rng.randrange(2**32)) for i, n in enumerate(n_rows)]
    ends = racers.at_once(
        [["monitor", str(run), str(file), "--min-accuracy=0.5"] for file in files]
    )
    if wrong := [end for end in ends if end.code not in (0, 4)]:
        return f"exit code {wrong[0].code}: {wrong[0].words[-300:]}"
    monitor = Monitor.load(run / "monitor.json", Run.open(run).cascade)
    counted = sorted(source.n_rows for source in monitor.state.sources)
    return "" if counted == sorted(n_rows) else f"counted {counted} of {sorted(n_rows)} rows"


def _certify(racers: _Racers, run: Path, rng: random.Random) -> str:
    """Spend the same rows on three promises, and others beside them."""
    same = racers.rows("same", 120, rng.randrange(2**32))
    other = racers.rows("other", 120, rng.randrange(2**32))
    targets = [0.5, 0.55, 0.6, 0.5]
    files = [same, same, same, other]
    ends = racers.at_once(
        [
            ["certify", str(run), str(file), f"--min-accuracy={target}", "--deploy"]
            for file, target in zip(files, targets, strict=True)
        ]
    )
    answered = [i for i, end in enumerate(ends) if end.code in (0, 3)]
    spent = json.loads((run / "spent.json").read_text())["body"]["tests"]
    kept = sorted(one["promises"][0]["limit"] for one in spent)
    if kept != sorted(targets[i] for i in answered):
        return f"tests {answered} were answered, and {kept} are noted"
    refused = [end for end in ends if end.code not in (0, 3)]
    if (
        len(refused) != 2
        or 3 not in answered
        or any("spent on" not in end.words for end in refused)
    ):
        return f"tests {answered} were answered: {[end.words[-200:] for end in refused]}"
    if any(ends[i].code == 0 for i in answered):
        certificate = Certificate.load(run / "certificate.json")
        if not certificate.covers(Run.open(run).cascade):
            return "the deployed design is not the certified one"
    return ""


def _choose(racers: _Racers, run: Path, rng: random.Random) -> str:
    """Deploy different designs with different costs of errors; the last one's must be there."""
    numbers = [rng.randrange(racers.n_designs) for _ in range(_N)]
    costs = rng.sample(range(100, 1000), _N)
    ends = racers.at_once(
        [
            ["choose", str(run), str(number), f"--error-cost={cost}", "--reject-cost=9"]
            for number, cost in zip(numbers, costs, strict=True)
        ]
    )
    if wrong := [end for end in ends if end.code]:
        return f"exit code {wrong[0].code}: {wrong[0].words[-300:]}"
    opened = Run.open(run)
    cost = opened.given_error_costs["error_cost"]
    if (opened.chosen, cost) not in zip(numbers, costs, strict=True):
        return f"deploys {opened.chosen} with {cost}, of {numbers} and {costs}"
    return ""


def _decide(racers: _Racers, run: Path, rng: random.Random) -> str:
    """Decide different files into one, and then each into its own; every file must be whole."""
    out, whole = run / "decisions.csv", []
    files = [racers.rows(f"new{i}", rng.randint(5, 400), rng.randrange(2**32)) for i in range(_N)]
    for outs in ([out] * _N, [run / f"decisions{i}.csv" for i in range(_N)]):
        ends = racers.at_once(
            [
                ["decide", str(run), str(file), f"--out={one}"]
                for file, one in zip(files, outs, strict=True)
            ]
        )
        if wrong := [end for end in ends if end.code]:
            return f"exit code {wrong[0].code}: {wrong[0].words[-300:]}"
        whole = [one.read_bytes() for one in outs]
    for file, content in zip(files, whole, strict=True):
        n_decided, n_rows = len(content.splitlines()) - 1, len(file.read_text().splitlines()) - 1
        if n_decided != n_rows:
            return f"{n_decided} decisions about {n_rows} rows"
    return "" if out.read_bytes() in whole else "the file that all wrote is none of theirs"


# Connections


class _Service:
    """A service in a process of its own, and connections to it."""

    def __init__(self, folder: Path) -> None:
        save_cascade(folder / "cascade.json")
        self._log = folder / "log.txt"
        self._process, self._port = start_service(
            folder / "cascade.json", folder / "cases.sqlite", self._log, ["--rate=inf"]
        )
        self._links = [
            http.client.HTTPConnection("127.0.0.1", self._port, timeout=_PATIENCE)
            for _ in range(2 * _N)
        ]
        self._threads = ThreadPoolExecutor(2 * _N)
        self.n_opened = 0

    def __enter__(self) -> _Service:
        return self

    def __exit__(self, *_error: object) -> None:
        self._threads.shutdown()
        for link in self._links:
            link.close()
        self._process.send_signal(signal.SIGKILL)
        self._process.communicate()

    def at_once(self, requests: Sequence[tuple[str, Any]]) -> list[tuple[int, Any]]:
        """POST on a connection each, all at the same moment; return statuses and answers."""
        barrier = Barrier(len(requests))

        def ask(link: http.client.HTTPConnection, path: str, body: Any) -> tuple[int, Any]:
            link.connect()
            with closing(link):
                barrier.wait(_PATIENCE)
                link.request("POST", path, json.dumps(body), _JSON)
                with link.getresponse() as answer:
                    return answer.status, json.loads(answer.read())

        asked = [
            self._threads.submit(ask, link, path, body)
            for link, (path, body) in zip(self._links, requests, strict=False)
        ]
        return [one.result(_PATIENCE) for one in asked]

    def get(self, path: str) -> tuple[int, bytes]:
        """GET, on a connection of its own."""
        link = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_PATIENCE)
        with closing(link):
            link.request("GET", path)
            with link.getresponse() as answer:
                return answer.status, answer.read()

    def miscounted(self) -> str:
        """Say what is wrong with the health, the counts or the log in the end."""
        if (health := self.get("/health"))[0] != 200:
            return f"health is {health}"
        lines = self.get("/metrics")[1].decode().splitlines()
        opened = [line for line in lines if line.startswith("emsco_cases_opened_total ")]
        if opened != [f"emsco_cases_opened_total {float(self.n_opened)}"]:
            return f"{opened} instead of {self.n_opened}"
        return "a traceback in the log" if "Traceback" in self._log.read_text() else ""


def _open(service: _Service, name: str, rng: random.Random) -> str:
    """Open one id several times, and others beside it."""
    requests = [("/cases", {"id": name})] * _N
    requests += [("/cases", {"id": f"{name}-{i}"}) for i in range(_N)]
    order = rng.sample(range(2 * _N), 2 * _N)
    answers = dict(zip(order, service.at_once([requests[i] for i in order]), strict=True))
    service.n_opened += 1 + _N
    statuses = [answers[i][0] for i in range(2 * _N)]
    if sorted(statuses[:_N]) != [201, *[409] * (_N - 1)] or statuses[_N:] != [201] * _N:
        return f"{statuses}: {answers}"[:600]
    cases = [answer.get("case", answer) for answer in (answers[i][1] for i in range(_N))]
    return "" if all(case == cases[0] for case in cases) else f"different cases: {cases}"


def _give(service: _Service, name: str, rng: random.Random) -> str:
    """Give values to one case several times, the same or others, and to others beside it."""
    names = [name, *(f"{name}-{i}" for i in range(_N))]
    opened = service.at_once([("/cases", {"id": one}) for one in names])
    service.n_opened += len(names)
    needs = opened[0][1]["needs"]
    is_same = rng.random() < 0.5
    first = {one: rng.choice([rng.gauss(0, 1), 2**53 + 1]) for one in needs}
    given = [first if is_same else {one: rng.gauss(0, 1) for one in needs} for _ in range(_N)]
    requests = [(f"/cases/{name}/values", {"values": values}) for values in given]
    requests += [(f"/cases/{one}/values", {"values": first}) for one in names[1:]]
    order = rng.sample(range(2 * _N), 2 * _N)
    answers = dict(zip(order, service.at_once([requests[i] for i in order]), strict=True))
    statuses = [answers[i][0] for i in range(2 * _N)]
    if statuses[_N:] != [200] * _N:
        return f"others got {statuses[_N:]}: {answers}"[:600]
    taken = [i for i in range(_N) if statuses[i] == 200]
    if len(taken) != (_N if is_same else 1) or set(statuses) - {200, 409, 422}:
        return f"{'same' if is_same else 'other'} values got {statuses[:_N]}: {answers}"[:600]
    now = json.loads(service.get(f"/cases/{name}")[1])
    kept = {one: float(value) for one, value in given[taken[0]].items()}
    return "" if now["given"] == kept else f"given {kept}, kept {now['given']}"


_REQUESTS: dict[str, Callable[[_Service, str, random.Random], str]] = {
    "open": _open,
    "give": _give,
}
_COMMANDS: dict[str, Callable[[_Racers, Path, random.Random], str]] = {
    "monitor": _monitor,
    "certify": _certify,
    "choose": _choose,
    "decide": _decide,
}
