"""The bake-off: EMSCO and its rivals answer the same questions on many sets and splits.

python benchmarks/bakeoff.py --out bakeoff                some ten hours on two cores; 20 splits
python benchmarks/bakeoff.py --out bakeoff --quick        ten minutes; 2 splits of small sets
python benchmarks/bakeoff.py --out bakeoff --known        run nothing; report what is there
python benchmarks/bakeoff.py --out bakeoff --sets heart,regions:7 --methods emsco,cstc
python benchmarks/bakeoff.py --out fresh --sets regions:7:20000 --splits 1   test on 20,000 new rows

Every result is kept as soon as it ends, and the same command continues. Jobs run split by split, so
early results cover all sets. Writes bakeoff.md, bakeoff.json and a picture of every set. Splits
that some method has not answered yet wait until it has.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bakeoff_sets import QUICK_SETS, SEALED, SETS, costed_rows, work
from league import League

from emsco._base.documents import write_text
from emsco._base.progress import JobProgress
from emsco.errors import EMSCOError, FileError
from emsco.lab import datasets
from emsco.lab.compare_figure import draw_contest
from emsco.lab.contest_records import Contest
from emsco.lab.contest_report import ContestReport
from emsco.lab.contests import (
    FULL,
    METHODS,
    QUICK,
    Answers,
    ContestJob,
    Effort,
    run_contest,
)
from emsco.lab.jobs import ResultStore
from emsco.plotting import save_figure

_QUICK_SPLITS = 2


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run, or what to report."""

    sets: tuple[str, ...]
    methods: tuple[str, ...]
    first: int
    splits: int
    seed: int
    effort: Effort

    def jobs(self) -> list[ContestJob]:
        """All jobs, split by split."""
        return [
            ContestJob(name, split, method, self.seed, self.effort.most, self.effort.generations)
            for split in range(self.first, self.first + self.splits)
            for name in self.sets
            for method in self.methods
        ]

    def known(self, store: ResultStore) -> dict[ContestJob, Answers]:
        """Results in a folder, of any split; those that cannot be read are named."""
        found = {}
        for job, fields in store.every(ContestJob):
            effort = Effort(job.most, job.generations)
            if (job.seed, effort) != (self.seed, self.effort):
                continue
            if job.data in self.sets and job.method in self.methods:
                try:
                    found[job] = Answers.from_dict(fields)
                except FileError as error:
                    print(f"passed over: {error}")
        return found


def reports_of(
    found: Mapping[ContestJob, Answers], sets: tuple[str, ...], methods: tuple[str, ...]
) -> dict[str, ContestReport]:
    """Report every set that has results, methods in their usual order."""
    reports = {}
    for name in sets:
        own = {
            job: found[job]
            for method in methods
            for job in found
            if (job.data, job.method) == (name, method)
        }
        if own:
            reports[name] = ContestReport(Contest.from_answers(name, costed_rows(name), own))
    return {name: one for name, one in reports.items() if one.contest.methods}


def write(reports: dict[str, ContestReport], out: Path) -> None:
    """Write tables, values and pictures."""
    league = League(reports)
    write_text(out / "bakeoff.md", league.to_markdown() + "\n")
    write_text(out / "bakeoff.json", json.dumps(league.to_dict(), indent=1) + "\n")
    for name, report in reports.items():
        save_figure(draw_contest(report.contest), out / name.replace(":", "-"))
    print(league.to_markdown().partition("\n\n## Methods on ")[0])
    print(f"\nTables of every set are in {out / 'bakeoff.md'}.")


def main() -> None:
    """Run or continue the bake-off, and report it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", type=_names)
    parser.add_argument("--sealed", action="store_true", help="the sets that nothing is chosen on")
    parser.add_argument("--methods", type=_names, default=METHODS)
    parser.add_argument("--splits", type=int)
    parser.add_argument("--first-split", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--known", action="store_true")
    asked = parser.parse_args()
    if unknown := [one for one in asked.methods if one not in METHODS]:
        parser.error(f"--methods must be some of {', '.join(METHODS)}, got {unknown[0]!r}")
    if unknown := [one for one in asked.sets or () if one.partition(":")[0] not in datasets.NAMES]:
        parser.error(f"--sets must be some of {', '.join(datasets.NAMES)}, got {unknown[0]!r}")
    usual = SEALED if asked.sealed else QUICK_SETS if asked.quick else SETS
    plan = Plan(
        asked.sets or usual,
        tuple(one for one in METHODS if one in asked.methods),
        asked.first_split,
        asked.splits or (_QUICK_SPLITS if asked.quick else 20),
        asked.seed,
        QUICK if asked.quick else FULL,
    )
    asked.out.mkdir(parents=True, exist_ok=True)
    store = ResultStore(asked.out / "results")
    try:
        if not asked.known:
            with JobProgress("jobs") as progress:
                run_contest(plan.jobs(), work, store, asked.jobs, progress.job)
    except EMSCOError as error:
        print(f"stopped: {error}")
    if reports := reports_of(plan.known(store), plan.sets, plan.methods):
        write(reports, asked.out)
    else:
        parser.exit(1, f"{asked.out} holds no results of these sets and methods\n")


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


if __name__ == "__main__":
    main()
