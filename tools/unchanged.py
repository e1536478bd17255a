"""Prove that a change of the code changes no result: record seeded fits, compare every bit.

python tools/unchanged.py record FOLDER        fit with the installed emsco, a few minutes
python tools/unchanged.py compare A B          a table of cases; exit code 1 if any result differs
python tools/unchanged.py list                 the names of all cases

Record once before the change and once after it; PYTHONPATH chooses the version. Recordings only use
the public API and the command line, and load files before comparing them. So modules may move and
formats may change. `tools/recordings/facts.py` lists renamed fields.
EMSCO_DATA adds cases on the sets of the paper.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

from recordings.comparing import CaseComparison, compare_facts

_ABOUT = "about.json"
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "numba", "lightgbm", "pandas", "polars")

Case = Callable[[Path], dict[str, Any]]


def all_cases() -> dict[str, Case]:
    """All cases by name; each receives an empty folder."""
    from recordings.commands import COMMANDS, record_refusals
    from recordings.fits import FITS, RIVALS, record_fit, record_rival

    fits: dict[str, Case] = {name: partial(record_fit, fit) for name, fit in FITS.items()}
    rivals: dict[str, Case] = {name: partial(record_rival, one) for name, one in RIVALS.items()}
    return {**fits, **rivals, "refusals": record_refusals, **COMMANDS}


def record_case(case: Case) -> dict[str, Any]:
    """Record a case and its warnings, or the reason of its failure."""
    with (
        tempfile.TemporaryDirectory() as folder,
        warnings.catch_warnings(record=True) as raised,
    ):
        warnings.simplefilter("always")
        try:
            facts = case(Path(folder))
        except Exception as error:  # keep the other cases
            traceback.print_exc()
            return {"failed": f"{type(error).__name__}: {error}"}
    return {**facts, "warnings": sorted({str(one.message) for one in raised})}


def record(folder: Path, only: str) -> int:
    """Record the cases whose names contain `only`, one file each; 1 if any fails."""
    os.environ |= dict.fromkeys(_THREADS, "1")  # before NumPy is imported: sums depend on it
    import emsco

    folder.mkdir(parents=True, exist_ok=True)
    about = {"python": platform.python_version(), "machine": platform.machine()}
    about |= {name: version(name) for name in _LIBRARIES}
    (folder / _ABOUT).write_text(json.dumps(about, indent=2), encoding="utf-8")
    print(f"recording {Path(emsco.__file__).parent}")
    started, failed = time.perf_counter(), []
    cases = {name: case for name, case in all_cases().items() if only in name}
    for name, case in cases.items():
        begun = time.perf_counter()
        facts = record_case(case)
        (folder / f"{name}.json").write_text(json.dumps(facts), encoding="utf-8")
        failed += [name] if "failed" in facts else []
        print(f"  {name:<34}{time.perf_counter() - begun:6.1f} s", flush=True)
    print(f"{len(cases)} cases in {time.perf_counter() - started:.0f} s, written to {folder}")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def read(folder: Path, only: str) -> dict[str, Any]:
    """Read the cases of a recording, by name."""
    files = (path for path in sorted(folder.glob("*.json")) if path.name != _ABOUT)
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in files
        if only in path.stem
    }


def compare(before: Path, after: Path, only: str, notes: bool) -> int:
    """Print a line for every case; 1 if a result differs, or there is nothing to compare."""
    one, other = read(before, only), read(after, only)
    names = sorted({*one, *other})
    differences = [compare_facts(name, one.get(name), other.get(name)) for name in names]
    width = max((len(name) for name in names), default=0)
    for case in differences:
        print(f"  {case.name:<{width}}  {_in_short(case)}")
        for note in case.notes if notes else ():
            print(f"  {'':<{width}}  note: {note}")
    about = [(folder / _ABOUT).read_text(encoding="utf-8") for folder in (before, after)]
    if about[0] != about[1]:
        print(f"note: the recordings come from different environments; see {_ABOUT}")
    changed = sum(bool(case.changes) for case in differences)
    noted = sum(bool(case.notes) for case in differences)
    n_cases = len(differences)
    print(f"the same: {n_cases - changed} of {n_cases} cases; {noted} with notes (--notes)")
    return 1 if changed or not differences else 0


def _in_short(case: CaseComparison) -> str:
    if not case.changes:
        return "same"
    first, *more = case.changes
    return f"DIFFERS at {first}" + (f" (and {len(more):,} more)" if more else "")


def main(arguments: list[str] | None = None) -> int:
    """Record, compare or list; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="run all cases")
    recording.add_argument("folder", type=Path, metavar="FOLDER")
    comparing = commands.add_parser("compare", help="compare two recordings")
    comparing.add_argument("before", type=Path, metavar="A")
    comparing.add_argument("after", type=Path, metavar="B")
    comparing.add_argument("--notes", action="store_true", help="show changes of wording, too")
    listing = commands.add_parser("list", help="name the cases")
    for one in (recording, comparing, listing):
        one.add_argument("--only", default="", metavar="TEXT", help="cases with this in their name")
    asked = parser.parse_args(arguments)
    if asked.command == "record":
        if not asked.only and asked.folder.is_dir() and any(asked.folder.iterdir()):
            parser.error(f"FOLDER must be new or empty, got {asked.folder}; --only adds to it.")
        return record(asked.folder, asked.only)
    if asked.command == "compare":
        for folder in (asked.before, asked.after):
            if not (folder / _ABOUT).exists():
                parser.error(f"A and B must be folders of recordings, got {folder}.")
        return compare(asked.before, asked.after, asked.only, asked.notes)
    print(*(name for name in all_cases() if asked.only in name), sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
