"""Speed and memory of the engine, each beside scikit-learn on the same machine.

    python benchmarks/engine.py                  all sections, some minutes on two cores
    python benchmarks/engine.py subsets fit      some of them
    python benchmarks/engine.py --full subsets   scikit-learn on every subset, not on a sample

Heart and Credit are read from the folder that EMSCO_DATA names.
"""

from __future__ import annotations

import argparse
import datetime
import platform

import first_call
import memory
import peak
import subsets
import whole_fits
from timing import CORES, SEED

HEART = {"max_stages": 6, "mutation_rate": 0.075, "crossover_rate": 0.75}
SYNTHETIC50 = {"max_stages": 10, "mutation_rate": 0.05, "stage_bias": 2.5}
SECTIONS = {
    "subsets": lambda full: subsets.report(full),
    "fit": lambda _: whole_fits.report("heart", 0.75, n_fits=5, **HEART),
    "synthetic50": lambda _: whole_fits.report("synthetic50", 0.55, n_fits=1, **SYNTHETIC50),
    "peak": lambda _: peak.report(),
    "compile": lambda _: first_call.report(),
    "memory": lambda _: memory.report(),
}


def main() -> None:
    """Run the sections named on the command line, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--full", action="store_true", help="no sampling on scikit-learn's side")
    arguments = parser.parse_args()
    if unknown := [name for name in arguments.sections if name not in SECTIONS]:
        parser.error(f"SECTION must be one of {', '.join(SECTIONS)}, got {unknown[0]!r}.")
    where = f"{platform.machine()}, {CORES} cores, Python {platform.python_version()}"
    print(f"{datetime.date.today()}, {where}, seed {SEED}")
    for name in arguments.sections or SECTIONS:
        print(f"\n## {name}", flush=True)
        SECTIONS[name](arguments.full)


if __name__ == "__main__":
    main()
