"""Speed of exact search, and quality of the fronts that searches find.

    python benchmarks/search.py                    all sections, about an hour on two cores
    python benchmarks/search.py landscapes every   some of them
    python benchmarks/search.py found --seeds 5    fewer seeds

landscapes: the nine exact fronts of the paper, beside a NumPy twin and the machine's own limit.
every: exact fronts without a limit on stages (Pima, Heart; Credit with --credit).
excluding: exact fronts whose designs may leave features out.
thresholds: exact fronts whose stages have thresholds of their own.
found: share of the true front, hypervolume ratio, IGD+ and epsilon, over distinct designs scored.
volume: hypervolume on sets whose true front is unknown.

Heart, Credit and Pima are read from the folder that EMSCO_DATA names.
"""

from __future__ import annotations

import argparse
import datetime
import platform

import exact_speed
import search_quality
import threshold_speed
from timing import CORES, SEED

SECTIONS = {
    "landscapes": lambda _: exact_speed.report_landscapes(),
    "every": lambda options: exact_speed.report_all_stages(options.credit),
    "excluding": lambda _: exact_speed.report_excluding(),
    "thresholds": lambda _: threshold_speed.report(),
    "found": lambda options: search_quality.report_found(
        seeds_of(options), options.searches, options.sets or search_quality.KNOWN, options.stages
    ),
    "volume": lambda options: search_quality.report_volume(
        seeds_of(options), options.searches, options.sets or search_quality.UNKNOWN
    ),
}


def seeds_of(options: argparse.Namespace) -> range:
    """Seeds of the repeats."""
    return range(options.first_seed, options.first_seed + options.seeds)


def main() -> None:
    """Run the sections named on the command line, or all."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sections", nargs="*", metavar="SECTION", help=", ".join(SECTIONS))
    parser.add_argument("--seeds", type=int, default=20, help="repeats of each search")
    parser.add_argument("--credit", action="store_true", help="also Credit with 14 stages")
    parser.add_argument(
        "--searches",
        nargs="+",
        default=search_quality.SEARCHES,
        choices=search_quality.SEARCHES,
        help="searches to compare; must include evolution",
    )
    parser.add_argument("--first-seed", type=int, default=200, help="seed of the first repeat")
    parser.add_argument(
        "--stages", nargs="+", type=int, default=(2, 3, 4), help="stages of the section found"
    )
    parser.add_argument("--sets", nargs="+", help="sets of the sections found and volume")
    options = parser.parse_args()
    if unknown := [name for name in options.sections if name not in SECTIONS]:
        parser.error(f"SECTION must be one of {', '.join(SECTIONS)}, got {unknown[0]!r}.")
    where = f"{platform.machine()}, {CORES} cores, Python {platform.python_version()}"
    print(f"{datetime.date.today()}, {where}, seed {SEED}")
    for name in options.sections or SECTIONS:
        print(f"\n## {name}", flush=True)
        SECTIONS[name](options)


if __name__ == "__main__":
    main()
