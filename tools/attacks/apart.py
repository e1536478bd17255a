"""Trials in a process of their own, so that a crash or a hang is an escape like others."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO

from attacks.trials import Trial, try_kind, warm_up

__all__ = ["Plan", "run_apart", "work"]

_COMMAND = Path(__file__).resolve().parent.parent / "attack.py"


@dataclass(frozen=True, slots=True)
class Plan:
    """Trials of kinds of files, one kind after the other, each with the same numbers of trials.

    The first kind begins with number `go_on` if an earlier process got that far.
    """

    kinds: tuple[str, ...]
    seed: int
    first: int
    last: int
    go_on: int | None = None

    def after(self, trial: Trial) -> Plan:
        """Return what is left of the plan after a trial."""
        kinds = self.kinds[self.kinds.index(trial.kind) :]
        if trial.number + 1 < self.last:
            return replace(self, kinds=kinds, go_on=trial.number + 1)
        return replace(self, kinds=kinds[1:], go_on=None)

    def next_number(self) -> int:
        """Return the number of the next trial."""
        return self.first if self.go_on is None else self.go_on


def run_apart(plan: Plan, folder: Path) -> Iterator[Trial]:
    """Carry out a plan in another process; after a crash, a new one goes on with the next trial."""
    while plan.kinds and plan.first < plan.last:
        kind, is_ready, last = plan.kinds[0], False, None
        with tempfile.TemporaryFile("w+") as errors, _start(folder, errors) as worker:
            assert worker.stdin is not None
            assert worker.stdout is not None
            with worker.stdin as told:
                told.write(json.dumps(asdict(plan)))
            for line in worker.stdout:
                if line.startswith("{"):
                    yield (last := Trial(**json.loads(line)))
                    plan = plan.after(last)
                elif line.startswith("ready "):
                    kind, is_ready = line.removeprefix("ready ").strip(), True
            code = worker.wait()
            errors.seek(0)
            words = errors.read()
        if code == 0:
            return
        if not is_ready:
            raise RuntimeError(f"no trial of {kind!r} could be made:\n{words}")
        why = _how_it_ended(code, words)
        if not plan.kinds and last is not None:  # memory that an earlier trial has spoilt
            yield replace(last, end="escape", damage="unknown", why=f"{why} after the last trial")
            return
        yield (last := Trial(plan.kinds[0], plan.next_number(), "escape", "unknown", why))
        plan = plan.after(last)


def _start(folder: Path, errors: IO[str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(_COMMAND), "work", str(folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
    )


def _how_it_ended(code: int, errors: str) -> str:
    """Say how a process ended in the middle of a trial."""
    own = [
        line.strip() for line in errors.splitlines() if "emsco" in line and "attacks" not in line
    ]
    timeout = "Timeout" in errors
    how = "hung" if timeout else f"crashed with code {code}"
    return f"{how} ({own[0] if own else errors[-200:]})"


def _do_nothing(fd: object) -> None:
    """Stand in for `os.fsync`."""


def work(folder: Path) -> int:
    """Carry out the plan on standard input; print every trial as a line of JSON."""
    import faulthandler

    from attacks.kinds import KINDS
    from attacks.samples import make_samples

    faulthandler.enable()
    # What is tried is reading, and waiting for the disk would take most of the time.
    os.fsync = _do_nothing
    plan, out = Plan(**json.load(sys.stdin)), sys.stdout
    first = plan.next_number()
    for name in plan.kinds:
        kind = KINDS[name]
        make_samples(folder, [kind.sample])
        whole = warm_up(kind, folder)
        print(f"ready {name}", file=out, flush=True)
        for trial in try_kind(name, kind, folder, plan.seed, range(first, plan.last), whole):
            print(json.dumps(trial.to_dict()), file=out, flush=True)
        first = plan.first
    return 0
