"""Services that are killed while they are asked, by friends and by foes.

Each trial starts `emsco serve`, some with a token and some behind a proxy, lets clients open, feed
and delete cases while others send nonsense, wrong tokens and false addresses, kills the service at
a moment drawn by the seed, starts it again, and asks for everything that was acknowledged.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Collection, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from attacks.fits import Disturbed
from emsco import EMSCOClassifier

__all__ = ["TOKEN", "attack_services", "save_cascade", "start_service"]

_PATIENCE = 60.0  # seconds for a service to start
_N_CLIENTS = 8
TOKEN = "correct-horse-battery-staple"
_WRONG = ["", "Bearer", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", f"bearer {TOKEN}",
          TOKEN, f"Basic {TOKEN}", f"Bearer \xff{TOKEN}", "Bearer " + "x" * 9_000]  # fmt: skip
_RIGHT = [("GET", "/cascade", b""), ("GET", "/metrics", b""), ("POST", "/cases", b"{}")]
_RATE = 100  # requests a second of a client behind a proxy
_JSON = {"Content-Type": "application/json"}
_NO_HTTP = [
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"BREW /coffee HTTP/1.1\r\n\r\n",
    b"GET /health HTTP/1.1\r\nX: " + b"y" * 100_000 + b"\r\n\r\n",
    b"POST /cases HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
]


class _EscapeError(Exception):
    """Something that must not happen."""


def attack_services(folder: Path, seed: int, numbers: range) -> Iterator[Disturbed]:
    """Carry out trials."""
    save_cascade(folder / "cascade.json")
    for number in numbers:
        rng = random.Random(f"service {seed} {number}")
        trial = _Trial(folder, number, rng)
        try:
            wrong = trial.carry_out()
        except _EscapeError as error:
            wrong = str(error)
        finally:
            trial.end()
        yield Disturbed(number, trial.what, wrong)


def save_cascade(path: Path) -> None:
    """Fit a cascade of a few stages, and save it."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    clf = EMSCOClassifier(min_confidence=0.9, max_stages=3, generations=8, estimator="logistic",
                          cv=1 / 3, random_state=0, search="evolution")  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(X, X[:, 0] + X[:, 1] - X[:, 2] + rng.normal(size=200) > 0)
    deepest = max(clf.front_, key=lambda point: point.n_stages)
    clf.front_.cascade(deepest).save(path)


def start_service(
    cascade: Path, database: Path, log: Path, options: list[str]
) -> tuple[subprocess.Popen[bytes], int]:
    """Start `emsco serve`; return its process and its port once it listens."""
    command = [sys.executable, "-m", "emsco", "serve", str(cascade), f"--database={database}"]
    with log.open("ab") as file:
        process = subprocess.Popen(
            [*command, "--port=0", "--json", *options],
            stdout=subprocess.PIPE,
            stderr=file,
            env={**os.environ, "NO_COLOR": "1"},
        )
    said = b""
    while not said.endswith(b"}\n"):
        line = process.stdout.readline() if process.stdout else b""
        if not line:
            raise _EscapeError(f"does not start: {log.read_text()[-300:]}")
        said += line
    return process, int(json.loads(said)["url"].rpartition(":")[2])


@dataclass
class _Told:
    """What clients were told: the last answer about each case, and what is on its way."""

    cases: dict[str, dict[str, Any]] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    doubtful: set[str] = field(default_factory=set)  # deletions without an answer
    wrong: list[str] = field(default_factory=list)


class _Trial:
    """One service, killed once or twice."""

    def __init__(self, folder: Path, number: int, rng: random.Random) -> None:
        self._folder, self._rng, self._told = folder, rng, _Told()
        self._database = folder / f"cases-{number}.sqlite"
        self._log = folder / f"log-{number}.txt"
        self._moments = [rng.uniform(0.05, 1.5) for _ in range(rng.randint(1, 2))]
        self._seeds = [rng.random() for _ in range(_N_CLIENTS)]
        self._has_token, self._has_proxy = rng.random() < 0.5, rng.random() < 0.5
        self._process: subprocess.Popen[bytes] | None = None
        self._port = self._n_asked = 0

    @property
    def what(self) -> str:
        """The schedule in words."""
        moments = ", ".join(f"{moment:.2f}" for moment in self._moments)
        told = self._told
        mode = ", token" * self._has_token + ", proxy" * self._has_proxy
        cases = f"{len(told.cases)} cases, {len(told.deleted)} deleted"
        return f"killed after {moments} s{mode}; {cases}"

    def carry_out(self) -> str:
        """Ask and kill, and say what was lost."""
        for i, moment in enumerate(self._moments):
            self._start()
            friends = [self._friend(i, j, seed) for j, seed in enumerate(self._seeds)]
            foe = threading.Thread(target=self._foe, args=(random.Random(self._seeds[0] + i),))
            for one in [*friends, foe]:
                one.start()
            time.sleep(moment)
            self.end()
            for one in [*friends, foe]:
                one.join(_PATIENCE)
            if self._told.wrong:
                return self._told.wrong[0]
        self._start()
        lost = self._lost() or self._miscounted()
        return lost or ("a traceback in the log" if "Traceback" in self._log.read_text() else "")

    def end(self) -> None:
        """Kill the service."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.communicate()
            self._process = None

    def _start(self) -> None:
        options = ["--behind-proxy", f"--rate={_RATE}"] if self._has_proxy else ["--rate=inf"]
        if self._has_token:
            (self._folder / "token").write_text(TOKEN)
            options.append(f"--token-file={self._folder / 'token'}")
        cascade = self._folder / "cascade.json"
        self._process, self._port = start_service(cascade, self._database, self._log, options)
        self._ask("GET", "/health")

    def _headers(self) -> dict[str, str]:
        """Return headers of a friend: the token, and an address that nobody had before."""
        self._n_asked += 1
        address = ".".join(map(str, [10, *self._n_asked.to_bytes(3)]))
        return {"Authorization": f"Bearer {TOKEN}", "X-Forwarded-For": f"6.6.6.6, {address}"}

    def _ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        status, answer = self._ask_for_text(method, path, body)
        return status, json.loads(answer)

    def _ask_for_text(self, method: str, path: str, body: Any = None) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=_PATIENCE)
        with closing(connection):
            content = None if body is None else json.dumps(body)
            headers = {**self._headers(), **(_JSON if body is not None else {})}
            connection.request(method, path, content, headers)
            with connection.getresponse() as answer:
                return answer.status, answer.read().decode()

    def _friend(self, turn: int, number: int, seed: float) -> threading.Thread:
        rng, told = random.Random(seed + turn), self._told

        def play() -> None:
            for i in range(100_000):
                name = f"t{turn}-{number}-{i}"
                body = {"id": name} if rng.random() < 0.8 else {"id": name, "budget": 2}
                case = self._ask("POST", "/cases", body)[1]
                told.cases[name] = case
                while case["needs"] and rng.random() < 0.95:
                    values = {one: rng.gauss(0, 1) for one in case["needs"]}
                    status, case = self._ask("POST", f"/cases/{name}/values", {"values": values})
                    if status != 200:
                        told.wrong.append(f"values were answered with {status}: {case}")
                        return
                    told.cases[name] = case
                if rng.random() < 0.1:
                    told.doubtful.add(name)
                    self._ask("DELETE", f"/cases/{name}")
                    told.deleted.add(name)

        def until_killed() -> None:
            try:
                play()
            except (OSError, http.client.HTTPException, ValueError):
                return  # the service was killed

        return threading.Thread(target=until_killed)

    def _foe(self, rng: random.Random) -> None:
        """Send nonsense; what is answered must be a refusal in one sentence."""
        start, n_let_in = time.monotonic(), 0
        while self._process is not None:
            method, path, headers, content = _nonsense(rng)
            refusals: Collection[int] = range(400, 500)
            if self._has_token and rng.random() < 0.5:
                headers["Authorization"] = rng.choice(_WRONG)
                if rng.random() < 0.5:
                    method, path, content = rng.choice(_RIGHT)
                refusals = (400, 401, 429)
            elif self._has_token:
                headers["Authorization"] = f"Bearer {TOKEN}"
            # A foe may say what it likes, but the proxy adds the true address.
            headers["X-Forwarded-For"] = rng.choice(
                ["", "10.0.0.9, ", "x" * 99 + ","]
            ) + rng.choice(
                [
                    "6.6.6.6",
                    f"6.6.6.6:{rng.randrange(9999)}",
                    "::ffff:6.6.6.6",
                    "[::ffff:6.6.6.6]:9",
                ]
            )
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=5)
                with closing(connection):
                    connection.request(method, path, content, headers)
                    if rng.random() < 0.2:  # and what is no HTTP at all, on the same connection
                        connection.sock.sendall(rng.choice(_NO_HTTP))
                    with connection.getresponse() as answer:
                        status, body = answer.status, answer.read()
            except (OSError, http.client.HTTPException, ValueError):
                continue
            shown = f"{method} {path[:80]!r} {content[:80]!r}: {status} {body[:200]!r}"
            n_let_in += status not in (400, 429)  # 400 may be no HTTP, of nobody
            allowed = _RATE * (time.monotonic() - start + 1) + 1
            if self._has_proxy and n_let_in > allowed:
                self._told.wrong.append(f"{n_let_in} requests of one client, not {allowed:g}")
            if status not in refusals:
                self._told.wrong.append(f"nonsense was not refused: {shown}")
            elif b"\n" in body.strip() or b"Traceback" in body:
                self._told.wrong.append(f"more than one sentence: {shown}")
            elif not body.startswith(b'{"error":"'):
                self._told.wrong.append(f"no error in JSON: {shown}")

    def _lost(self) -> str:
        """Say which acknowledged step is not there."""
        told = self._told
        for name, case in told.cases.items():
            status, now = self._ask("GET", f"/cases/{name}")
            if name in told.doubtful and status == 404:
                continue
            if name in told.deleted:
                return f"{name} was deleted, and is there"
            if status != 200:
                return f"{name} was acknowledged at stage {case['stage']}, and is gone: {now}"
            same = all(now[field] == value for field, value in case.items())
            if not same and (now["stage"] <= case["stage"] or case["decided"]):
                return f"{name} was {case}, and is {now}"
        return ""

    def _miscounted(self) -> str:
        """Say which count differs from the cases."""
        text = self._ask_for_text("GET", "/metrics")[1]
        counters = {
            name: float(number)
            for name, _, number in (line.rpartition(" ") for line in text.splitlines())
            if name.startswith("emsco_cases")
        }
        opened, deleted = (
            counters.get(f"emsco_cases_{what}_total", 0) for what in ("opened", "deleted")
        )
        told = self._told
        if opened < len(told.cases) or deleted < len(told.deleted):
            return f"counts {opened:g} opened and {deleted:g} deleted, fewer than acknowledged"
        exits = sum(n for name, n in counters.items() if name.startswith("emsco_cases_decided"))
        if exits > opened:
            return f"counts {exits:g} decided of {opened:g} opened"
        return ""


def _nonsense(rng: random.Random) -> tuple[str, str, dict[str, str], bytes]:
    """Draw a request that nobody should take."""
    path = rng.choice(["/cases", "/cases/none/values", "/decide", "/batch/open", "/batch/values"])
    body = rng.choice([
        b"", b"{", b"[" * rng.randint(1, 60_000), b"\xff\xfe", b"NaN", b"null", b"7", b'"x"',
        b'{"values":' * 500, b'{"id":"../../etc"}', b'{"id":"\\ud800"}', b'{"budget":"x"}',
        b'{"budget":-1}', b'{"prices":{"a":1e400}}', b'{"__class__":"os.system"}',
        b'{"values":{"a":{"b":1}}}', b'{"rows":"x"}', b'{"cases":7}', b'{"rows":[],"rows":[]}',
        b"x" * 2_000_000, rng.randbytes(rng.randint(1, 300)), b"1" * 9_999,
    ])  # fmt: skip
    kind = rng.choice(["application/json"] * 6 + ["text/plain", "application/x-pickle"])
    headers = {"Content-Type": kind}
    if rng.random() < 0.1:
        path = rng.choice(["/nothing", "/cases/..%2f..", "/cases/" + "x" * 3000, "/%00", "//x"])
        return "GET", path, {}, b""
    if rng.random() < 0.1:
        headers["Host"] = "evil.example"
    return rng.choice(["POST"] * 9 + ["PUT"]), path, headers, body
