"""Fits that are killed, or whose disk fills up: what was scored must not be lost.

Each trial starts a fit as a command in a process of its own, ends it at a moment drawn by the seed,
resumes it, and compares the front with that of a fit which nobody disturbed. Processes are forked
from one that has made a small fit, so that they need not load and compile anything.
"""

from __future__ import annotations

import multiprocessing
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import emsco.app.cli.application
import emsco.app.cli.fit  # noqa: F401
from emsco.app.files.sources import FitFiles
from emsco.app.runs.fit import fit_files

_FILE = "journal.sqlite"
_PATIENCE = 300  # seconds for any fit
_OPTIONS = [
    "--target=sick",
    "--seed=5",
    "--search=evolution",
    "--generations=40",
    "--estimator=logistic",
    "--population-size=16",
    "--max-stages=3",
    "--min-confidence=0.8",
    "--cv=0.33",
]


@dataclass(frozen=True, slots=True)
class Disturbed:
    """How one trial ended: what happened, and what is wrong, if anything."""

    number: int
    what: str
    escape: str = ""


def kill_fits(folder: Path, seed: int, numbers: range) -> Iterator[Disturbed]:
    """Kill fits at any moment, one or several times, and resume them."""
    bench = _Bench(folder)
    for number in numbers:
        rng = random.Random(f"kill {seed} {number}")
        moments = [rng.uniform(0.0, bench.seconds) for _ in range(rng.randint(1, 3))]

        def disturb(out: Path, moments: list[float] = moments) -> str:
            for i, moment in enumerate(moments):
                process = bench.start(out, resume=i > 0 and (out / "checkpoint").exists())
                process.kill_after(moment)
                if (out / "run.json").exists():
                    return f"ended before kill {i + 1}"
            return "killed after " + ", ".join(f"{moment:.2f}" for moment in moments) + " s"

        yield bench.trial(number, disturb)


def fill_disks(folder: Path, seed: int, numbers: range) -> Iterator[Disturbed]:
    """Let no file grow beyond a size, as on a full disk, and resume with room."""
    bench = _Bench(folder)
    for number in numbers:
        rng = random.Random(f"disk {seed} {number}")
        most = int(2 ** rng.uniform(10, 19))

        def disturb(out: Path, most: int = most) -> str:
            code, words = bench.start(out, most_bytes=most).ended()
            if code == 0:
                return f"fits into {most:,} bytes a file"
            if "Traceback" in words:
                raise _EscapeError(f"traceback with files of {most:,} bytes: {words[-400:]}")
            return f"files of at most {most:,} bytes"

        yield bench.trial(number, disturb)


def race_fits(folder: Path, seed: int, numbers: range) -> Iterator[Disturbed]:
    """Start two fits into one folder, one a moment after the other; one of them must win."""
    bench = _Bench(folder)
    for number in numbers:
        moment = random.Random(f"race {seed} {number}").uniform(0.0, 0.7 * bench.seconds)

        def disturb(out: Path, moment: float = moment) -> str:
            both = [bench.start(out)]
            time.sleep(moment)
            both.append(bench.start(out))
            (one, first), (other, second) = (fit.ended() for fit in both)
            if one and other:
                raise _EscapeError(f"nobody wins: {first[-200:]} {second[-200:]}")
            if "Traceback" in first + second:
                raise _EscapeError(f"traceback: {first[-200:]} {second[-200:]}")
            return f"two fits, {moment:.2f} s apart"

        yield bench.trial(number, disturb)


def vary_fits(folder: Path, seed: int, numbers: range) -> Iterator[Disturbed]:
    """Fit with other numbers of threads and other memory; the front must stay the same."""
    bench = _Bench(folder)
    for number in numbers:
        rng = random.Random(f"vary {seed} {number}")
        threads, memory = rng.choice([1, 2, 3]), rng.choice(["2MB", "20MB", "1GB"])

        def disturb(out: Path, threads: int = threads, memory: str = memory) -> str:
            more = [f"--jobs={threads}", f"--memory-limit={memory}"]
            code, words = bench.start(out, more=more).ended()
            if code:
                raise _EscapeError(words[-300:])
            return f"{threads} threads, {memory}"

        yield bench.trial(number, disturb)


def write_rows(path: Path) -> None:
    """Write a table of two noisy classes."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, size=400)
    X = rng.normal(size=(400, 10)) + y[:, None] * rng.uniform(0, 1, size=10)
    lines = [",".join([*(f"f{i}" for i in range(10)), "sick"])]
    lines += [",".join([*(f"{v:.3f}" for v in row), str(k)]) for row, k in zip(X, y, strict=True)]
    path.write_text("\n".join(lines))


class _EscapeError(Exception):
    """Something that must not happen."""


@cache
def processes() -> Any:
    """Return what starts processes, all of them forked from one that `attacks.fits` has made."""
    here = str(Path(__file__).resolve().parent.parent)
    os.environ["PYTHONPATH"] = os.pathsep.join([here, os.environ.get("PYTHONPATH", "")])
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["attacks.fits"])
    return context


class _Fit:
    """A fit in a process of its own."""

    def __init__(self, words: list[str], said: Path, most_bytes: int | None) -> None:
        self._said = said
        self._process = processes().Process(target=_run_command, args=(words, said, most_bytes))
        self._process.start()

    def kill_after(self, seconds: float) -> None:
        """Kill the process, unless it has ended by then."""
        self._process.join(seconds)
        self._process.kill()
        self._process.join()

    def ended(self) -> tuple[int, str]:
        """Wait for the end; return the exit code and what was said."""
        self._process.join(_PATIENCE)
        if self._process.exitcode is None:
            self._process.kill()
            raise _EscapeError(f"no end after {_PATIENCE} s")
        return self._process.exitcode, self._said.read_text(errors="replace")


def _run_command(words: list[str], said: Path, most_bytes: int | None) -> None:
    """Be the command `emsco`, whose words go to a file."""
    with said.open("wb") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.environ["NO_COLOR"] = "1"
    sys.argv = ["emsco", *words]
    if most_bytes is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writing fails instead
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    from emsco.app.cli import main
    from emsco.scoring import journal

    journal._SECONDS = 0.0
    main()


class _Bench:
    """A table, and the front of a fit that nobody disturbs."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._n_started = folder, 0
        self._data = folder / "data.csv"
        write_rows(self._data)
        self._expected = self._finish(folder / "undisturbed", resume=False)
        start = time.monotonic()
        self._finish(folder / "timed", resume=False)
        self.seconds = time.monotonic() - start

    def start(
        self,
        out: Path,
        *,
        resume: bool = False,
        most_bytes: int | None = None,
        more: Sequence[str] = (),
    ) -> _Fit:
        """Start the fit as a command."""
        words = ["fit", str(self._data), f"--out={out}", *_OPTIONS, *more]
        self._n_started += 1
        said = self._folder / f"said-{self._n_started}.txt"
        return _Fit([*words, *(["--resume"] if resume else [])], said, most_bytes)

    def trial(self, number: int, disturb: Callable[[Path], str]) -> Disturbed:
        """Disturb a fit, resume it, and compare its front."""
        out, what = self._folder / f"trial-{number}", "?"
        try:
            what = disturb(out)
            before = self._scored(out)
            if not (out / "run.json").exists():
                front = self._finish(out, resume=(out / "checkpoint").exists())
            else:
                front = (out / "front.json").read_bytes()
            if front != self._expected:
                return Disturbed(number, what, f"another front, from {before} bytes of scores")
        except _EscapeError as error:
            return Disturbed(number, what, str(error))
        shutil.rmtree(out)
        return Disturbed(number, what)

    def _scored(self, out: Path) -> int:
        file = out / "checkpoint" / _FILE
        return file.stat().st_size if file.exists() else 0

    def _finish(self, out: Path, *, resume: bool) -> bytes:
        """Run the fit to its end, and return its front."""
        code, words = self.start(out, resume=resume).ended()
        if code:
            raise _EscapeError(f"exit code {code}: {words[-400:]}")
        return (out / "front.json").read_bytes()


with tempfile.TemporaryDirectory(prefix="emsco-attack-") as name, warnings.catch_warnings():
    warnings.simplefilter("ignore")
    write_rows(Path(name) / "data.csv")
    fit_files(
        FitFiles("sick", Path(name) / "data.csv"),
        Path(name) / "out",
        search="evolution",
        estimator="logistic",
        generations=2,
        population_size=16,
        max_stages=3,
        min_confidence=0.8,
        cv=0.33,
        n_jobs=1,  # a process with threads must not be forked
    )
