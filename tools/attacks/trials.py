"""Trials: damage a copy of a sample, read it and use it, and note how that ended."""

from __future__ import annotations

import faulthandler
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from random import Random
from time import process_time
from typing import IO, Any, Protocol

from attacks.damage import damage
from emsco.errors import EMSCOError

SECONDS = 5.0  # of processor time that a trial may take
_PATIENCE = 60.0  # seconds after which it is ended, on however busy a machine
_MEMORY, _TIMES = 50 * 2**20, 10  # bytes that a trial may take, and times its file


class Attacked(Protocol):
    """A kind of file; see `attacks.kinds.Kind`."""

    @property
    def form(self) -> str:
        """How it is damaged."""

    def path(self, folder: Path) -> Path:
        """Path of the file."""

    def use(self, folder: Path, /) -> str:
        """Read and use the file."""


@dataclass(frozen=True, slots=True)
class Trial:
    """How one trial ended.

    Attributes
    ----------
    kind : str
    number : int
    end : {"refused", "same", "other", "escape"}
        Refused with an error of emsco; read with the same or with another result; or anything
        else, which is a fault of emsco.
    damage : str
        What was changed.
    why : str
        The message of the error, or what the escape was.
    """

    kind: str
    number: int
    end: str
    damage: str
    why: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)


def warm_up(kind: Attacked, folder: Path) -> str:
    """Use the whole file twice, and return the digest of the result; both must be the same."""
    path = kind.path(folder)
    content, digests = path.read_bytes(), []
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            digests.append(_digest(kind.use(folder)))
        _restore(path, content)
    if digests[0] != digests[1]:
        raise AssertionError(f"{path.name} has another result each time, so no trial can tell")
    return digests[0]


def try_kind(
    name: str, kind: Attacked, folder: Path, seed: int, numbers: Sequence[int], whole: str
) -> Iterator[Trial]:
    """Carry out trials of one kind of file in a folder of samples, which is left as it was.

    Parameters
    ----------
    name : str
    kind : Attacked
    folder : Path
    seed : int
        With the name and the number of a trial, it determines the damage.
    numbers : sequence of int
        Numbers of the trials.
    whole : str
        What `warm_up` returned.
    """
    path = kind.path(folder)
    content = path.read_bytes()
    for number in numbers:
        said = damage(path, kind.form, Random(f"{seed}/{name}/{number}"))
        size = path.stat().st_size
        faulthandler.dump_traceback_later(_PATIENCE, exit=True)
        try:
            end, why = _tried(kind, folder, whole, size)
        finally:
            faulthandler.cancel_dump_traceback_later()
            _restore(path, content)
        yield Trial(name, number, end, said, why)


def _tried(kind: Attacked, folder: Path, whole: str, size: int) -> tuple[str, str]:
    before, started = _reset_peak(), process_time()
    end, why = "refused", ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            end = "same" if _digest(kind.use(folder)) == whole else "other"
    except EMSCOError as error:
        why = str(error)
        if "\n" in why.strip():
            end = "escape"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        end, why = "escape", _last_lines(error)
    if (seconds := process_time() - started) > SECONDS:
        return "escape", f"took {seconds:.1f} s ({end}: {why})"
    if (taken := _peak() - before) > _MEMORY + _TIMES * size:
        return "escape", f"took {taken / 2**20:,.0f} MB for {size:,} bytes ({end}: {why})"
    return end, why


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()


def _restore(path: Path, content: bytes) -> None:
    for left in path.parent.glob(f"{path.name}-*"):  # the log of a database
        left.unlink()
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def _last_lines(error: BaseException) -> str:
    """Type and message of an error, and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    of_emsco = [frame for frame in frames if "emsco" in frame.filename] or frames
    place = f"{Path(of_emsco[-1].filename).name}:{of_emsco[-1].lineno}"
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]} ({place})"


def _reset_peak() -> int:
    """Forget the most memory that was taken so far, and return what is taken now, in bytes."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return 2**63  # only Linux can tell: no trial takes too much elsewhere
    return _status()["VmRSS"]


def _peak() -> int:
    return _status().get("VmHWM", 0)


def _status() -> Mapping[str, int]:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return {}
    pairs = (line.split() for line in lines if line.endswith("kB"))
    return {name[:-1]: int(number) * 1024 for name, number, _ in pairs}


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
    errors_of_emsco = [
        line.strip() for line in errors.splitlines() if "emsco" in line and "attacks" not in line
    ]
    timeout = "Timeout" in errors
    how = "hung" if timeout else f"crashed with code {code}"
    return f"{how} ({errors_of_emsco[0] if errors_of_emsco else errors[-200:]})"


def _do_nothing(fd: object) -> None:
    """Stand in for `os.fsync`."""


def work(folder: Path) -> int:
    """Carry out the plan on standard input; print every trial as a line of JSON."""
    import faulthandler

    from attacks.kinds import KINDS, make_samples

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
