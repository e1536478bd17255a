"""Record the golden fits anew, after a change that means to change results.

python tests/golden/record.py --reason "thresholds are halved"           all of them
python tests/golden/record.py --reason "curves have knots" spline        some

It prints what changes. The reason goes into each file that does; say in the commit what it did to
the quick yardstick (`python benchmarks bakeoff --quick --against …`).
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER.parent))

from golden.facts import Facts, differences, facts_of  # noqa: E402 - found by the line above
from golden.fits import FITS  # noqa: E402


def read(name: str) -> dict[str, Any]:
    """Read a recorded fit: where, when and why it was recorded, and its facts."""
    return json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8"))


def record(name: str, reason: str) -> dict[str, str]:
    """Fit, write the facts if they are new, and return what differs from the last ones."""
    facts: Facts = facts_of(FITS[name]())
    path = FOLDER / f"{name}.json"
    told = differences(read(name)["facts"] if path.exists() else {}, facts)
    if told:
        about = {
            "reason": reason,
            "date": f"{datetime.date.today()}",
            "machine": platform.machine(),
            **{package: version(package) for package in ("emsco", "numpy", "scikit-learn")},
        }
        text = json.dumps({**about, "facts": facts}, indent=0, ensure_ascii=False)
        path.write_text(text + "\n", encoding="utf-8")
    return told


def main() -> None:
    """Record the fits that the command line names, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--reason", required=True, help="why results change, for whoever reads it")
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(FITS))
    asked = parser.parse_args()
    if unknown := {*asked.names} - {*FITS}:
        parser.error(f"NAME must be one of {', '.join(FITS)}, got {min(unknown)!r}")
    if not asked.reason.strip():
        parser.error("--reason must say why results change, got nothing")
    for name in asked.names or FITS:
        told = record(name, asked.reason)
        print(name, "is as it was" if not told else "")
        for section, what in told.items():
            print(f"  {section}: {what}")


if __name__ == "__main__":
    main()
