"""Attack emsco: damage its files, kill its fits, fill the disk, race it, let sources misbehave.

python tools/attack.py files                          100 trials of every kind of file
python tools/attack.py files --trials 5000 --seed 7   more of them, and others
python tools/attack.py files --kind front --kind run  some kinds only; --list names all
python tools/attack.py files --kind run --seed 7 --trial 41   one trial again, with its traceback

Values are dropped, renamed, swapped and replaced with a right checksum, and bytes are changed
without one. A damaged file must be refused with one sentence, or be read and be usable. Anything
else is an escape: another error, figures that contradict each other, a crash, more than 5 s of
processor time, or more memory than ten times the file and 50 MB. The exit code is then 1.

python tools/attack.py kill --trials 20      kill fits at any moment, and resume them
python tools/attack.py halt --trials 20      kill commands when they touch a run, and repeat them
python tools/attack.py disk --trials 20      let no file grow beyond a size, and resume with room
python tools/attack.py race --trials 20      processes and connections that change one thing at once
python tools/attack.py vary --trials 20      other numbers of threads and other memory
python tools/attack.py sources --trials 1000 sources that fail, lie or stall, in run and arun
python tools/attack.py service --trials 20   kill services while they are asked, also for nonsense
python tools/attack.py clicks --trials 20    click and type at random on pages, in Chromium
python tools/attack.py tables --trials 1000  nasty tables, labels, weights, groups and costs
python tools/attack.py copies --trials 100   certify with rows that are not fresh, but changed

A fit that was disturbed must end with the front of one that was not. Of a race (--kind fit, open,
give, monitor, certify, choose or decide) nothing may be lost, and nobody beside it may fail. A run
must decide every row once, charge it what it bought, and give no label that the table would not
get. A service must have everything that it acknowledged, and refuse nonsense in one sentence. A
nasty table is used, or refused in one sentence; copies of rows are refused, and honest rows are
not.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from itertools import groupby
from pathlib import Path

from attacks.trials import Plan, run_apart, work

MOST = 300  # characters of a damage, and of a reason
ENDS = ("refused", "same", "other", "escape")
HEADINGS = ("kind", "trials", "refused", "same result", "other result", "escapes")

RACES = ("fit", "open", "give", "monitor", "certify", "choose", "decide")
OTHERS = {
    "kill": "kill fits at any moment, and resume them",
    "halt": "kill commands when they touch a file of a run, and give them again",
    "disk": "let no file of a fit grow beyond a size, and resume it with room",
    "race": "let processes change one folder at once, and connections one case",
    "vary": "fit with other numbers of threads and other memory",
    "sources": "run cascades with sources that fail, lie or stall",
    "service": "kill services while they are asked, also for nonsense",
    "clicks": "click and type at random on the page of a service and on an explorer",
    "tables": "use nasty tables, labels, weights, groups and costs",
    "copies": "certify with rows that are not fresh, but changed",
}


def parser() -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    shape = argparse.RawDescriptionHelpFormatter
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=shape)
    commands = arguments.add_subparsers(dest="command", required=True)
    files = commands.add_parser(
        "files", help="damage files, read and use them", description=__doc__, formatter_class=shape
    )
    files.add_argument("--trials", type=int, default=100, help="trials of each kind (100)")
    files.add_argument("--seed", type=int, default=0, help="another seed damages otherwise (0)")
    files.add_argument("--kind", action="append", help="attack this kind only; may be repeated")
    files.add_argument("--trial", type=int, help="repeat the trial with this number alone")
    files.add_argument("--list", action="store_true", help="name all kinds, and do nothing else")
    for name, what in OTHERS.items():
        other = commands.add_parser(name, help=what, description=what)
        other.add_argument("--trials", type=int, default=20, help="number of trials (20)")
        other.add_argument(
            "--seed", type=int, default=0, help="another seed disturbs otherwise (0)"
        )
        other.add_argument("--trial", type=int, help="repeat the trial with this number alone")
        if name == "race":
            other.add_argument(
                "--kind", action="append", choices=RACES, help="race so only; may be repeated"
            )
    worker = commands.add_parser("work", help="carry out a plan; `files` starts this by itself")
    worker.add_argument("folder", type=Path)
    return arguments


def main(arguments: list[str] | None = None) -> int:
    """Run a command; 1 if anything escaped."""
    given = parser().parse_args(arguments)
    if given.command == "work":
        return work(given.folder)
    if given.command in OTHERS:
        first = given.trial or 0
        n_trials = given.trials if given.trial is None else 1
        numbers = range(first, first + n_trials)
        if given.command == "race":
            kinds = given.kind or RACES
            return max(disturb("race", given.seed, numbers, kind) for kind in kinds)
        return disturb(given.command, given.seed, numbers)
    from attacks.kinds import KINDS

    if given.list:
        print("\n".join(KINDS))
        return 0
    names = given.kind or list(KINDS)
    if unknown := [name for name in names if name not in KINDS]:
        print(f"no kind {unknown[0]!r}; --list names all", file=sys.stderr)
        return 2
    if given.trial is not None:
        numbers = range(given.trial, given.trial + 1)
    else:
        numbers = range(given.trials)
    return attack(names, given.seed, numbers)


def disturb(name: str, seed: int, numbers: range, kind: str = "") -> int:
    """Carry out trials of one kind, and print a line for each escape and a sum."""
    from attacks import clicks, fits, halts, races, service, sources, tables

    of_folders = {"kill": fits.kill_fits, "disk": fits.fill_disks, "vary": fits.vary_fits,
                  "halt": halts.halt_commands, "clicks": clicks.click_pages,
                  "service": service.attack_services}  # fmt: skip
    of_numbers = {"sources": sources.try_sources, "tables": tables.try_tables,
                  "copies": tables.try_copies}  # fmt: skip
    n_trials = n_escaped = 0
    with tempfile.TemporaryDirectory(prefix="emsco-attack-") as folder:
        if name in of_numbers:
            trials = of_numbers[name](seed, numbers)
        elif name == "race":
            trials = races.race(kind, Path(folder), seed, numbers)
            name = f"race --kind {kind}"
        else:
            trials = of_folders[name](Path(folder), seed, numbers)
        for one in trials:
            n_trials += 1
            if one.escape or len(numbers) == 1:
                n_escaped += bool(one.escape)
                again = f"{name} --seed {seed} --trial {one.number}"
                print(
                    f"  {again}\n    {one.what}\n    {one.escape or 'as it should be'}", flush=True
                )
    print(f"{name}: {n_trials:,} trials, {n_escaped:,} escapes", flush=True)
    return 1 if n_escaped else 0


def attack(names: list[str], seed: int, numbers: range) -> int:
    """Carry out trials of every kind, and print a line for each escape and each kind."""
    print(("{:22}" + "{:>14}" * 5).format(*HEADINGS), flush=True)
    n_escaped = 0
    with tempfile.TemporaryDirectory(prefix="emsco-attack-") as folder:
        plan = Plan(tuple(names), seed, numbers.start, numbers.stop)
        for name, trials in groupby(run_apart(plan, Path(folder)), key=lambda trial: trial.kind):
            ends: Counter[str] = Counter()
            for one in trials:
                ends[one.end] += 1
                if one.end == "escape" or len(numbers) == 1:
                    again = f"--kind {name!r} --seed {seed} --trial {one.number}"
                    told = one.damage, f"{one.end}: {' '.join(one.why.split())}"
                    print(
                        "\n    ".join([f"  {again}", *(text[:MOST] for text in told)]), flush=True
                    )
            shown = [f"{ends[end]:,}" for end in ENDS]
            print(("{:22}" + "{:>14}" * 5).format(name, f"{ends.total():,}", *shown), flush=True)
            n_escaped += ends["escape"]
    print(f"{n_escaped:,} escapes" if n_escaped else "nothing escaped")
    return 1 if n_escaped else 0


if __name__ == "__main__":
    raise SystemExit(main())
