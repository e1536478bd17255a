"""Trials in a process of their own, so that a crash or a hang is an escape like others."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from attacks.trials import Trial, try_kind, warm_up

__all__ = ["Plan", "run_apart", "work"]

_COMMAND = Path(__file__).resolve().parent.parent / "attack.py"


@dataclass(frozen=True, slots=True)
class Plan:
    """Trials of one kind of file, with numbers from `first` to below `last`."""

    kind: str
    seed: int
    first: int
    last: int


def run_apart(plan: Plan, folder: Path) -> Iterator[Trial]:
    """Carry out a plan in another process; after a crash, a new one goes on with the next trial."""
    while plan.first < plan.last:
        done = plan.first
        command = [sys.executable, str(_COMMAND), "work", str(folder)]
        with subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as worker:
            said, errors = worker.communicate(json.dumps(asdict(plan)))
        lines = said.splitlines()
        for line in lines:
            if line.startswith("{"):
                yield (trial := Trial(**json.loads(line)))
                done = trial.number + 1
        if worker.returncode == 0:
            return
        if "ready" not in lines:
            raise RuntimeError(f"no trial of {plan.kind!r} could be made:\n{errors}")
        why = _how_it_ended(worker.returncode, errors)
        if done == plan.last:  # memory that an earlier trial has spoilt
            done, why = done - 1, f"{why} after the last trial"
        yield Trial(plan.kind, done, "escape", "unknown", why)
        plan = replace(plan, first=done + 1)


def _how_it_ended(code: int, errors: str) -> str:
    """Say how a process ended in the middle of a trial."""
    own = [
        line.strip() for line in errors.splitlines() if "emsco" in line and "attacks" not in line
    ]
    timeout = "Timeout" in errors
    how = "hung" if timeout else f"crashed with code {code}"
    return f"{how} ({own[0] if own else errors[-200:]})"


def work(folder: Path) -> int:
    """Carry out the plan on standard input; print every trial as a line of JSON."""
    import faulthandler

    from attacks.kinds import KINDS
    from attacks.samples import make_samples

    faulthandler.enable()
    plan = Plan(**json.load(sys.stdin))
    kind, out = KINDS[plan.kind], sys.stdout
    make_samples(folder, [kind.sample])
    whole = warm_up(kind, folder)
    print("ready", file=out, flush=True)
    numbers = range(plan.first, plan.last)
    for trial in try_kind(plan.kind, kind, folder, plan.seed, numbers, whole):
        print(json.dumps(trial.to_dict()), file=out, flush=True)
    return 0
