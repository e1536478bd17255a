"""The bake-off: EMSCO and its rivals answer the same questions on many sets and splits.

python benchmarks bakeoff --out bakeoff                10 splits of 13 sets: 15 h of a core
python benchmarks bakeoff --quick                      ten minutes; see yardstick.py
python benchmarks bakeoff --out bakeoff --known        run nothing; report what is there
python benchmarks bakeoff --out bakeoff --sets heart,regions:7 --methods emsco,cstc
python benchmarks bakeoff --out again --sets heart --methods catboost --first-split 3 --splits 1
python benchmarks bakeoff --out fresh --sets regions:7:20000 --splits 1   test on 20,000 new rows

Every result is kept as soon as it ends, and the same command continues. Jobs run split by split, so
early results cover all sets. Writes bakeoff.md, bakeoff.json and a picture of every set. Splits
that some method has not answered yet wait until it has. The command with --first-split runs one
method on one split again.

EMSCO without branches is run last, on the splits where its designs branch; elsewhere it is EMSCO
itself. It has a table of its own and no rank.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import yardstick

from emsco._base.documents import write_text
from emsco._base.progress import JobProgress
from emsco._base.text import counted
from emsco.errors import EMSCOError, FileError
from emsco_lab import (
    EMSCO,
    FULL,
    METHODS,
    TASKS,
    TESTED,
    ComparisonReport,
    CostedRows,
    LabelledRows,
    MethodComparison,
    TuningEffort,
    datasets,
    draw_comparison,
    label_of,
)
from emsco_lab.compare import EVERYONE, TrialJob, run_trials, try_job
from emsco_lab.compare_report import MARGIN_SPLITS, markdown_table, signed
from emsco_lab.jobs import ResultStore
from emsco_lab.methods import CHAINS
from emsco_lab.standings import AHEAD, BEHIND, LEVEL, Duel, margin_of, mean_ranks
from emsco_lab.trials import Answers, Question
from emsco.plotting import save_figure

SETS = (
    "heart",
    "cleveland",
    "pima_turney",
    "breast_cancer",
    "credit",
    "thyroid",
    "synthetic15",
    "synthetic50",
    "interactions",
    "regions",
    "cube",
    "cube_nm3",
    "digits",
)
# Never run, so that nothing is tuned or chosen on them; new seeds replace those that have been run,
# which were regions:21020 and interactions:771612.
SEALED = ("regions:40213", "interactions:505129")
_FRESH = 10**6  # seeds of fresh rows; no set is made from these


@lru_cache(maxsize=4)
def costed_rows(name: str) -> CostedRows:
    """Load a set once per process; "regions:7" is made from seed 7.

    "regions:7:20000" is fitted on all of its rows and tested on at least 20,000 fresh ones, so that
    small differences are told apart.
    """
    plain, seed, fresh = (*name.split(":"), "", "")[:3]
    data = datasets.load(plain, int(seed or 0))
    if not fresh:
        return CostedRows(LabelledRows(data.X, data.y), data.costs)
    test = drawn_rows(plain, _FRESH, int(fresh))
    rows = LabelledRows(np.concatenate([data.X, test.X]), np.concatenate([data.y, test.y]))
    return CostedRows(rows, data.costs, np.arange(len(data.y), len(rows.y)))


def drawn_rows(name: str, seed: int, n_rows: int) -> LabelledRows:
    """Make at least so many rows of a generated set, from this seed and those after it."""
    draws = [datasets.load(name, seed)]
    while sum(len(one.y) for one in draws) < n_rows:
        draws.append(datasets.load(name, seed + len(draws)))
    X, y = (np.concatenate([getattr(one, part) for one in draws]) for part in ("X", "y"))
    return LabelledRows(X, y)


def work(job: TrialJob) -> Mapping[str, Any]:
    """Do one job of the bake-off."""
    return try_job(job, costed_rows(job.data))


_TITLES = {**{task.key: task.title for task in TASKS}, "volume": "All offers together"}
_LARGE = 1000  # rows from which on a set counts as large
_TIE = 1e-9  # of accuracies


_AGAIN = (
    "One method on one split again: `python benchmarks bakeoff --out again --sets heart --methods "
    "catboost --first-split 3 --splits 1`."
)


def has_branches(answers: Answers) -> bool:
    """Whether some design that EMSCO offers branches, by the text that is kept of it."""
    return any("→ {" in offer.setting for offer in answers.offers)


@dataclass(frozen=True, eq=False)
class ChainsAlone:
    """EMSCO beside EMSCO without branches on one set, if every row is answered.

    Attributes
    ----------
    branching : set of int
        Splits where EMSCO offers designs that branch.
    pairs : dict of int to pair of Answers
        EMSCO and chains alone, by split; the same twice where nothing branches.
    """

    branching: set[int]
    pairs: Mapping[int, tuple[Answers, Answers]]

    @classmethod
    def from_answers(
        cls, emsco: Mapping[int, Answers], chains: Mapping[int, Answers]
    ) -> ChainsAlone:
        """Pair the answers of splits; a split that branches and has no chains yet is left out."""
        answered = {split: one for split, one in emsco.items() if one.offers}
        branching = {split for split, one in answered.items() if has_branches(one)}
        pairs = {}
        for split, one in answered.items():
            if split not in branching:
                pairs[split] = one, one
            elif split in chains and chains[split].offers:
                pairs[split] = one, chains[split]
        return cls(branching, pairs)

    def figures(self, budget: float) -> dict[str, float]:
        """Mean accuracy of both, the gain of EMSCO and its margin."""
        table = np.array(
            [
                [
                    offer.seen.accuracy
                    for answers in pair
                    for offer in answers.by_rule("")
                    if offer.question == Question(EVERYONE.coverage, budget)
                ]
                for pair in self.pairs.values()
            ]
        )
        gains = table[:, 0] - table[:, 1]
        emsco, chains = table.mean(axis=0).tolist()
        return {
            "emsco": emsco,
            "chains": chains,
            "gain": float(gains.mean()),
            "margin": margin_of(gains),
        }

    def cells(self) -> list[str]:
        """Splits, splits that branch, and the figures of each budget in words."""
        n_splits, n_branching = len(self.pairs), len(self.branching)
        if not self.branching:
            return [f"{n_splits}", "no design branches", *[""] * len(TESTED)]
        if not self.branching & set(self.pairs):
            return ["0", f"{n_branching}, chains not run yet", *[""] * len(TESTED)]
        cells = [f"{n_splits}", f"{n_branching}"]
        for budget in TESTED:
            one = self.figures(budget)
            spread = f" ± {100 * one['margin']:.2f}" if n_splits >= MARGIN_SPLITS else ""
            both = f"{100 * one['emsco']:.1f} / {100 * one['chains']:.1f}"
            cells.append(f"{both} ({signed(one['gain'])}{spread})")
        return cells

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "splits": list(self.pairs),
            "branching": sorted(self.branching),
            "budgets": {f"{one:g}": self.figures(one) for one in TESTED} if self.pairs else {},
        }


def beats_commonest(comparison: MethodComparison, method: str, question: Question) -> bool:
    """Whether a method is more accurate than the commonest class."""
    seen = comparison.standings[method, question].mean.accuracy
    return seen > comparison.commonest.mean.accuracy + _TIE


@dataclass(frozen=True, eq=False)
class League:
    """Reports of all sets, and answers of chains alone by set and split."""

    reports: Mapping[str, ComparisonReport]
    chains: Mapping[str, Mapping[int, Answers]] = field(default_factory=dict)

    @cached_property
    def methods(self) -> list[str]:
        """Methods with results on any set."""
        there = {one for report in self.reports.values() for one in report.comparison.methods}
        return [method for method in METHODS if method in there]

    @cached_property
    def large(self) -> list[str]:
        """Sets with 1,000 rows or more."""
        return [
            name for name, report in self.reports.items() if sum(report.comparison.n_rows) >= _LARGE
        ]

    def ranks(
        self, task: str | None = None, sets: list[str] | None = None, *, bought: bool = False
    ) -> dict[str, float]:
        """Mean rank of every method over some sets and all budgets, the best first.

        If `bought`, cells in which no method beats the commonest class are left out.
        """
        return mean_ranks(
            cell
            for name, report in self.reports.items()
            for key, cells in report.comparison.ranks.items()
            for budget, cell in cells.items()
            if task in (None, key)
            and (sets is None or name in sets)
            and not (bought and (name, key, budget) in self.idle)
        )

    @cached_property
    def idle(self) -> set[tuple[str, str, str]]:
        """Cells, as set, task and budget, in which no method beats the commonest class."""
        idle = set()
        for name, report in self.reports.items():
            comparison = report.comparison
            for task in TASKS:
                for budget in comparison.ranks[task.key]:
                    question = Question(task.coverage, float(budget))
                    if not any(
                        beats_commonest(comparison, one, question) for one in comparison.methods
                    ):
                        idle.add((name, task.key, budget))
        return idle

    def duels(self, task: str | None = None, sets: list[str] | None = None) -> list[Duel]:
        """Duels of EMSCO on some sets, in one task or all."""
        return [
            duel
            for name, report in self.reports.items()
            for key, duels in report.comparison.duels.items()
            for duel in duels
            if task in (None, key) and (sets is None or name in sets)
        ]

    def hardest(self, task: str | None = None, sets: list[str] | None = None) -> list[Duel]:
        """Of every cell, the duel of EMSCO with the rival that has the highest mean there."""
        hardest = []
        for name in self.reports if sets is None else sets:
            for key in _TITLES if task is None else [task]:
                cells: dict[float | None, list[Duel]] = {}
                for duel in self.duels(key, [name]):
                    cells.setdefault(duel.budget, []).append(duel)
                hardest += [min(duels, key=lambda duel: duel.gain) for duels in cells.values()]
        return hardest

    def weak_wins(self) -> list[Duel]:
        """Duels won at budgets over rivals no more accurate than the commonest class."""
        weak = []
        for report in self.reports.values():
            comparison = report.comparison
            for task in TASKS:
                for duel in comparison.duels[task.key]:
                    assert duel.budget is not None  # duels of tasks are at budgets
                    question = Question(task.coverage, duel.budget)
                    is_weak = not beats_commonest(comparison, duel.rival, question)
                    if duel.verdict == AHEAD and is_weak:
                        weak.append(duel)
        return weak

    def promise(self, method: str) -> dict[str, float | None]:
        """What a method promised and kept, averaged over sets."""
        promises = [report.comparison.promises[method] for report in self._with(method)]
        errors = [one.in_errors for one in promises if one.in_errors is not None]
        return {
            "promised": float(np.mean([one.promised for one in promises])),
            "kept": float(np.mean([one.kept for one in promises])),
            "gap": float(np.mean([one.gap for one in promises])),
            "in_errors": float(np.mean(errors)) if errors else None,
            "distance": float(np.mean(np.abs(errors))) if errors else None,
            "most_errors": max(errors, key=abs) if errors else None,
            "overspent": float(np.mean([one.overspent for one in promises])),
            "coverage_short": float(np.mean([one.short for one in promises])),
        }

    @cached_property
    def chains_alone(self) -> dict[str, ChainsAlone]:
        """EMSCO beside chains alone, on the sets that it has answered."""
        return {
            name: ChainsAlone.from_answers(
                report.comparison.answers[EMSCO], self.chains.get(name, {})
            )
            for name, report in self.reports.items()
            if EMSCO in report.comparison.methods
        }

    def _with(self, method: str) -> list[ComparisonReport]:
        return [one for one in self.reports.values() if method in one.comparison.methods]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return {
            "sets": {name: report.to_dict() for name, report in self.reports.items()},
            "mean_ranks": {task: self.ranks(task) for task in _TITLES}
            | {
                "all": self.ranks(),
                "large": self.ranks(sets=self.large),
                "bought": self.ranks(bought=True),
            },
            "duels": {
                which: {
                    rival: {task: _counts(self._against(rival, task, sets)) for task in _TITLES}
                    for rival in self.methods
                    if rival != EMSCO
                }
                for which, sets in (("all", None), ("large", self.large))
            },
            "hardest": {
                which: {task: _counts(self.hardest(task, sets)) for task in _TITLES}
                for which, sets in (("all", None), ("large", self.large))
            },
            "promises": {method: self.promise(method) for method in self.methods},
            "chains": {name: one.to_dict() for name, one in self.chains_alone.items()},
        }

    def _against(self, rival: str, task: str | None, sets: list[str] | None) -> list[Duel]:
        return [duel for duel in self.duels(task, sets) if duel.rival == rival]

    def to_markdown(self) -> str:
        """Tables over all sets, then those of each set."""
        splits = [len(report.comparison.splits) for report in self.reports.values()]
        fewest, most = min(splits), max(splits)
        ran = counted(most, "split") if fewest == most else f"{fewest} to {most} splits"
        parts = [
            "# Bake-off",
            f"{counted(len(self.reports), 'set')}, {ran} of each. "
            f"75 % of the rows to fit and choose on, 25 % to test on. {_AGAIN}",
            "## Mean ranks",
            self._rank_table(),
            self._idle_words(),
            "## EMSCO against each rival",
            "Cells won / level / lost beyond chance, corrected over rivals and budgets of a set. A "
            "cell is a set at one budget, or its hypervolume. The best rival of a cell is the one "
            "with the highest mean there.",
            self._duel_table(None),
            self._caveat(),
            f"On the {counted(len(self.large), 'set')} with {_LARGE:,} rows or more:",
            self._duel_table(self.large),
            "## EMSCO on each set",
            "Rivals that EMSCO beats / is level with / loses to, by budget.",
            *(self._set_table(task.key, task.title) for task in TASKS),
            self._volume_table(),
            "## EMSCO and chains alone",
            "Accuracy of EMSCO / without branches (difference in points ± 95 % margin), every row "
            "answered. No rank counts chains alone; where nothing branches, they are EMSCO itself.",
            self._chains_table(),
            "## Promised and kept",
            self._promise_table(),
            "## Splits answered",
            "By each method; compared are those that all methods of a set have answered.",
            self._splits_table(),
            "## Seconds of processor time for a split",
            self._seconds_table(),
        ]
        return "\n\n".join(
            [*parts, *(report.to_markdown(level=2) for report in self.reports.values())]
        )

    def _rank_table(self) -> str:
        small = [name for name in self.reports if name not in self.large]
        columns = [self.ranks(task) for task in (None, *_TITLES)]
        columns += [self.ranks(sets=sets) for sets in (self.large, small)]
        lines = [
            [
                label_of(method),
                *(f"{ranks[method]:.2f}" if method in ranks else "" for ranks in columns),
                f"{len(self._with(method))}",
            ]
            for method in columns[0]
        ]
        heads = ["method", "all", *_TITLES.values(), f"{_LARGE:,} rows or more", "fewer", "sets"]
        return markdown_table(heads, lines)

    def _idle_words(self) -> str:
        """Ranks without cells in which nothing worth buying is within the budget."""
        ranks = self.ranks(bought=True)
        best = [f"{label_of(method)} {ranks[method]:.2f}" for method in list(ranks)[:3]]
        return (
            f"In {counted(len(self.idle), 'cell')} no method beats the commonest class. Without "
            f"them, mean ranks are {', '.join(best)}."
        )

    def _duel_table(self, sets: list[str] | None) -> str:
        lines = [
            [
                label_of(rival),
                *(_record(self._against(rival, task, sets)) for task in (*_TITLES, None)),
            ]
            for rival in self.methods
            if rival != EMSCO
        ]
        tasks = (*_TITLES, None)
        lines.append(["all rivals", *(_record(self.duels(task, sets)) for task in tasks)])
        lines.append(["the best rival", *(_record(self.hardest(task, sets)) for task in tasks)])
        return markdown_table(["rival", *_TITLES.values(), "all"], lines)

    def _caveat(self) -> str:
        """How many wins at budgets are over weak rivals, and how often a rival's mean is higher."""
        keys = [task.key for task in TASKS]
        won = sum(duel.verdict == AHEAD for key in keys for duel in self.duels(key))
        hardest = [duel for key in keys for duel in self.hardest(key)]
        higher = sum(duel.gain < 0 for duel in hardest)
        return (
            f"Of {won} wins at budgets, {len(self.weak_wins())} are over a rival no more accurate "
            f"than the commonest class. In {higher} of {len(hardest)} cells at budgets, some rival "
            "has a higher mean."
        )

    def _set_table(self, task: str, title: str) -> str:
        def cell(name: str, budget: float) -> str:
            return _record([one for one in self.duels(task, [name]) if one.budget == budget])

        lines = [[name, *(cell(name, budget) for budget in TESTED)] for name in self.reports]
        return markdown_table([title, *(f"{100 * one:g} %" for one in TESTED)], lines)

    def _volume_table(self) -> str:
        lines = [[name, _record(self.duels("volume", [name]))] for name in self.reports]
        return markdown_table([_TITLES["volume"], "hypervolume"], lines)

    def _promise_table(self) -> str:
        lines = []
        for method in self.methods:
            one = self.promise(method)
            lines.append(
                [
                    label_of(method),
                    _points(one["promised"]),
                    _points(one["kept"]),
                    signed(one["gap"] or 0.0),
                    _number(one["in_errors"]),
                    _number(one["distance"]),
                    _number(one["most_errors"]),
                    _points(one["overspent"]),
                    _points(one["coverage_short"]),
                ]
            )
        heads = ["method", "promised, %", "kept, %", "promised less kept", "in standard errors"]
        heads += ["their mean distance from 0", "most on a set"]
        heads += ["overspent, % of everything", "coverage short, %"]
        return markdown_table(heads, lines)

    def _chains_table(self) -> str:
        heads = ["set", "splits", "with branches", *(f"{100 * one:g} %" for one in TESTED)]
        lines = [[name, *one.cells()] for name, one in self.chains_alone.items()]
        return markdown_table(heads, lines)

    def _splits_table(self) -> str:
        def cell(method: str, report: ComparisonReport) -> str:
            answers = report.comparison.answers.get(method, {}).values()
            return str(sum(bool(one.offers) for one in answers))

        asked = {one for report in self.reports.values() for one in report.comparison.answers}
        lines = [
            [label_of(method), *(cell(method, report) for report in self.reports.values())]
            for method in METHODS
            if method in asked
        ]
        compared = [f"{len(report.comparison.splits)}" for report in self.reports.values()]
        return markdown_table(["method", *self.reports], [*lines, ["compared", *compared]])

    def _seconds_table(self) -> str:
        def cell(method: str, report: ComparisonReport) -> str:
            there = method in report.comparison.methods
            return f"{report.comparison.seconds(method):.1f}" if there else ""

        lines = [
            [label_of(method), *(cell(method, report) for report in self.reports.values())]
            for method in self.methods
        ]
        return markdown_table(["method", *self.reports], lines)


def _counts(duels: list[Duel]) -> dict[str, int]:
    verdicts = [duel.verdict for duel in duels]
    return {verdict: verdicts.count(verdict) for verdict in (AHEAD, LEVEL, BEHIND)}


def _record(duels: list[Duel]) -> str:
    """Won / level / lost."""
    return " / ".join(map(str, _counts(duels).values()))


def _points(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.2f}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


_SPLITS = 10


@dataclass(frozen=True, slots=True)
class Plan:
    """What to run, or what to report."""

    sets: tuple[str, ...]
    methods: tuple[str, ...]
    first: int
    splits: int
    seed: int
    effort: TuningEffort

    def jobs(self) -> list[TrialJob]:
        """All jobs but those of chains alone, split by split."""
        return [job for job in self._all_jobs() if job.method != CHAINS]

    def chain_jobs(self, store: ResultStore) -> list[TrialJob]:
        """Jobs of chains alone, if asked for, where EMSCO branches or has no result."""
        jobs = []
        for job in self._all_jobs():
            if job.method == CHAINS:
                known = store.find(replace(job, method=EMSCO))
                if known is None or has_branches(Answers.from_dict(known)):
                    jobs.append(job)
        return jobs

    def _all_jobs(self) -> list[TrialJob]:
        return [
            TrialJob(
                name, split, method, self.seed, self.effort.max_settings, self.effort.generations
            )
            for split in range(self.first, self.first + self.splits)
            for name in self.sets
            for method in self.methods
        ]

    def known(self, store: ResultStore) -> dict[TrialJob, Answers]:
        """Results in a folder, of any split; those that cannot be read are named."""
        results = {}
        for job, fields in store.every(TrialJob):
            effort = TuningEffort(job.most, job.generations)
            if (job.seed, effort) != (self.seed, self.effort):
                continue
            if job.data in self.sets and job.method in self.methods:
                try:
                    results[job] = Answers.from_dict(fields)
                except FileError as error:
                    print(f"passed over: {error}")
        return results


def reports_of(
    results: Mapping[TrialJob, Answers], sets: tuple[str, ...], methods: tuple[str, ...]
) -> dict[str, ComparisonReport]:
    """Report every set that has results, methods in their usual order, without chains alone."""
    reports = {}
    for name in sets:
        answers = {
            job: results[job]
            for method in methods
            if method != CHAINS
            for job in results
            if (job.data, job.method) == (name, method)
        }
        if answers:
            reports[name] = ComparisonReport(
                MethodComparison.from_answers(name, costed_rows(name), answers)
            )
    return {name: one for name, one in reports.items() if one.comparison.methods}


def chains_of(results: Mapping[TrialJob, Answers]) -> dict[str, dict[int, Answers]]:
    """Answers of chains alone, by set and split."""
    chains: dict[str, dict[int, Answers]] = {}
    for job, answers in results.items():
        if job.method == CHAINS:
            chains.setdefault(job.data, {})[job.split] = answers
    return chains


def write(league: League, out: Path) -> None:
    """Write tables, values and pictures."""
    write_text(out / "bakeoff.md", league.to_markdown() + "\n")
    write_text(out / "bakeoff.json", json.dumps(league.to_dict(), indent=1) + "\n")
    print(league.to_markdown().partition("\n\n## Methods on ")[0])
    print(f"\nTables of every set are in {out / 'bakeoff.md'}.")
    for name, report in league.reports.items():
        save_figure(draw_comparison(report.comparison), out / name.replace(":", "-"))


def main() -> None:
    """Run or continue the bake-off, and report it; or run the quick yardstick."""
    if "--quick" in sys.argv:
        yardstick.main()
        return
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", type=_names)
    parser.add_argument("--sealed", action="store_true", help="the sets that nothing is chosen on")
    parser.add_argument("--methods", type=_names, default=(*METHODS, CHAINS))
    parser.add_argument("--splits", type=int)
    parser.add_argument("--first-split", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="a yardstick of its own; add --help")
    parser.add_argument("--known", action="store_true")
    asked = parser.parse_args()
    known = (*METHODS, CHAINS)
    if unknown := [one for one in asked.methods if one not in known]:
        parser.error(f"--methods must be some of {', '.join(known)}, got {unknown[0]!r}")
    if unknown := [one for one in asked.sets or () if one.partition(":")[0] not in datasets.NAMES]:
        parser.error(f"--sets must be some of {', '.join(datasets.NAMES)}, got {unknown[0]!r}")
    usual = SEALED if asked.sealed else SETS
    plan = Plan(
        asked.sets or usual,
        tuple(one for one in known if one in asked.methods),
        asked.first_split,
        asked.splits or _SPLITS,
        asked.seed,
        FULL,
    )
    asked.out.mkdir(parents=True, exist_ok=True)
    store = ResultStore(asked.out / "results")
    try:
        if not asked.known:
            with JobProgress("jobs") as progress:
                _, complete = run_trials(plan.jobs(), work, store, asked.jobs, progress.job)
                if complete and (chains := plan.chain_jobs(store)):
                    run_trials(chains, work, store, asked.jobs, progress.job)
    except EMSCOError as error:
        print(f"stopped: {error}")
    results = plan.known(store)
    if reports := reports_of(results, plan.sets, plan.methods):
        write(League(reports, chains_of(results)), asked.out)
    else:
        parser.exit(1, f"{asked.out} holds no results of these sets and methods\n")


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))
