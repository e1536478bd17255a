"""Commands that are killed when they touch a file of a run: each has then happened, or not.

A command kills itself right before one of the times that it opens, renames or removes a file in the
run folder. What belongs together must be of before or of after, and the same command, given again,
must end as if nothing had been.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from attacks.fits import Disturbed, _run_command, processes
from attacks.kinds import FRESH, ROWS, make_samples
from emsco.app.runs.run import Run
from emsco.cascade.monitor import Monitor
from emsco.errors import EMSCOError

__all__ = ["halt_commands"]

_PATIENCE = 120  # seconds
_MADE = ("certificate.json", "monitor.json", "spent.json")


def halt_commands(folder: Path, seed: int, numbers: range) -> Iterator[Disturbed]:
    """Carry out trials."""
    make_samples(folder, ["run"])
    start = shutil.copytree(folder / "run", folder / "start", ignore=lambda *_: _MADE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a design on so few rows is doubtful
        chosen = Run.open(start).choose(0, {"error_cost": 500.0, "reject_cost": 40.0})
    other = str(len(chosen.front) - 1)
    commands = {
        "choose": ["choose", other, "--error-cost=9", "--reject-cost=1"],
        "forget": ["choose", other, "--no-error-cost"],
        "certify": ["certify", str(folder / FRESH), "--min-accuracy=0.55", "--deploy"],
        "monitor": ["monitor", str(folder / FRESH), "--min-accuracy=0.5"],
        "decide": ["decide", str(folder / ROWS), "--out={run}/decisions.csv"],
    }
    before, ends = _state(start), {}
    for name, words in commands.items():
        run = shutil.copytree(start, folder / name)
        n_touched = _carry_out(words, run)
        ends[name] = n_touched, _state(run)
    for number in numbers:
        rng = random.Random(f"halt {seed} {number}")
        name = rng.choice(list(commands))
        n_touched, after = ends[name]
        moment = rng.randrange(n_touched)
        run = shutil.copytree(start, folder / f"run-{number}")
        what = f"{name}, killed before touch {moment + 1} of {n_touched}"
        try:
            _carry_out(commands[name], run, moment)
            now = _state(run)
            wrong = [part for part in now if now[part] not in (before[part], after[part])]
            if not wrong and now != after:
                _carry_out(commands[name], run)
                now = _state(run)
                wrong = [part for part in now if now[part] != after[part]]
            escape = f"{wrong} of {now}"[:600] if wrong else ""
        except (EMSCOError, RuntimeError) as error:
            escape = str(error)
        yield Disturbed(number, what, escape)
        shutil.rmtree(run)


def _state(run: Path) -> dict[str, Any]:
    """Return what a run says, by parts that belong together."""
    opened, monitor, decided = Run.open(run), run / "monitor.json", run / "decisions.csv"
    sources = Monitor.load(monitor, opened.cascade).state.sources if monitor.exists() else ()
    return {
        "choice": (opened.chosen, opened.given_error_costs),
        "certified": opened.certified,
        "monitored": [source.n_rows for source in sources],
        "decided": decided.read_bytes() if decided.exists() else None,
    }


def _carry_out(words: list[str], run: Path, moment: int | None = None) -> int:
    """Run a command to its end, or to a moment; return how often it has touched the run."""
    words = [words[0], str(run), *(word.format(run=run) for word in words[1:])]
    said = run.with_suffix(".txt")
    process = processes().Process(target=_halted, args=(words, said, run, moment))
    process.start()
    process.join(_PATIENCE)
    if process.exitcode not in ((0,) if moment is None else (0, -signal.SIGKILL)):
        process.kill()
        raise RuntimeError(f"exit code {process.exitcode}: {said.read_text()[-300:]}")
    return int(said.with_suffix(".n").read_text() if moment is None else moment)


def _halted(words: list[str], said: Path, run: Path, moment: int | None) -> None:
    n_touched = 0

    def watch(event: str, given: tuple[Any, ...]) -> None:
        nonlocal n_touched
        if event.startswith(("open", "os.")) and any(str(run) in str(one) for one in given[:2]):
            if n_touched == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            n_touched += 1

    sys.addaudithook(watch)
    try:
        _run_command(words, said, None)
    finally:
        said.with_suffix(".n").write_text(str(n_touched))
