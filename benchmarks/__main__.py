"""Measure quality, speed and trust.

python benchmarks                    names every benchmark
python benchmarks NAME [options]     runs one; NAME --help says what it measures and how long
"""

from __future__ import annotations

import datetime
import os
import platform
import sys
from importlib import import_module

BENCHMARKS = {
    "bakeoff": "EMSCO and its rivals on many sets and splits; --quick: did a change help?",
    "counting": "fits that count what designs do with rows; --beside: those of other sources",
    "engine": "fits and counts of designs, beside plain twins",
    "fit": "default fits beside one boosted model, or beside other sources of emsco",
    "search": "how much of the true front a search finds; single rows and tables decided",
    "service": "cases a second of the service, beside requests that do nothing",
    "start": "seconds until emsco has started, and the megabytes of what it needs",
    "subsets": "answers of models of subsets; --beside: those of other sources of emsco",
    "trust": "certificates, monitors, intervals and expected figures, on fresh rows",
}


def main() -> int:
    """Run the benchmark that the command line names, or list all."""
    name = sys.argv[1] if len(sys.argv) > 1 else "--help"
    if name not in BENCHMARKS:
        if not name.startswith("-"):
            print(f"NAME must be one of those below, got {name!r}.\n")
        print(__doc__)
        print(*(f"{name:10} {what}" for name, what in BENCHMARKS.items()), sep="\n")
        return 0 if name in ("-h", "--help") else 2
    sys.argv[:2] = [f"benchmarks {name}"]
    if not {"-h", "--help"} & set(sys.argv):
        where = f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}"
        print(f"{datetime.date.today()}, {where}", flush=True)
    import_module(name).main()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
