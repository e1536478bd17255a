"""The bake-off: EMSCO and its rivals answer the same questions on many sets and splits.

python benchmarks bakeoff --out bakeoff                10 splits of 13 sets: 15 h of a core
python benchmarks bakeoff --quick                      eight minutes; see yardstick.py
python benchmarks bakeoff --out bakeoff --known        seconds; run nothing, report what is there
python benchmarks bakeoff --out bakeoff --sets heart,regions:7 --methods emsco,cstc
python benchmarks bakeoff --out again --sets heart --methods catboost --first-split 3 --splits 1
python benchmarks bakeoff --out fresh --sets regions:7:20000 --splits 1   test on 20,000 new rows

A method fits, tunes and chooses on 75 % of the rows as it likes, and is tested on the rest: the
most accurate answers for at most 2, 5, 10, 20 or 40 % of the cost of everything, for every row or
for 90 % of them, and the hypervolume of all its offers. A cell is a set at one budget, or its
hypervolume. Tests allow for the rows that splits share, and for all rivals and budgets of a set.

Results are kept one by one, and the same command continues. Jobs run split by split, so early
results cover all sets. Compared are the splits that all methods of a set have answered. Prints mean
ranks, wins and losses, promises and seconds; bakeoff.md also has the accuracies of every set, and
each set has a picture. EMSCO without branches is run last, where its designs branch; it has no
rank.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import yardstick
from common import markdown, names, options, progress
from emsco_lab.jobs import ResultStore
from emsco_lab.methods import CHAINS
from emsco_lab.standings import AHEAD, BEHIND, LEVEL, margin_of
from emsco_lab.trials import Answers

from emsco.errors import EMSCOError
from emsco.plotting import save_figure
from emsco_lab import (
    EMSCO,
    FULL,
    METHODS,
    TASKS,
    CostedRows,
    LabelledRows,
    MethodComparison,
    datasets,
    draw_comparison,
    label_of,
)
from emsco_lab.compare import VOLUME, TrialJob, run_trials, try_job

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
TITLES = {**{task.key: task.title for task in TASKS}, VOLUME: "All offers together"}
BOUGHT = "where some method beats the commonest class"
LARGE = 1000  # rows from which on a set counts as large
_FRESH = 10**6  # seeds of fresh rows; no set is made from these
_TIE = 1e-9  # of accuracies

Results = Mapping[TrialJob, Answers]


@cache
def costed_rows(name: str) -> CostedRows:
    """Load a set once per process; "regions:7" is made from seed 7.

    "regions:7:20000" is fitted on all of its rows and tested on at least 20,000 fresh ones, so that
    small differences are told apart.
    """
    plain, seed, fresh = (*name.split(":"), "", "")[:3]
    data = datasets.load(plain, int(seed or 0))
    X, y = [data.X], [data.y]
    while sum(map(len, y[1:])) < int(fresh or 0):
        draw = datasets.load(plain, _FRESH + len(y) - 1)
        X.append(draw.X)
        y.append(draw.y)
    rows = LabelledRows(np.concatenate(X), np.concatenate(y))
    return CostedRows(rows, data.costs, np.arange(len(data.y), len(rows.y)) if fresh else None)


def work(job: TrialJob) -> Mapping[str, object]:
    """Do one job of the bake-off."""
    return try_job(job, costed_rows(job.data))


def branches(answers: Answers) -> bool:
    """Whether some design that EMSCO offers branches, by the text that is kept of it."""
    return any("→ {" in offer.setting for offer in answers.offers)


def run(jobs: list[TrialJob], store: ResultStore, n_jobs: int) -> None:
    """Do all jobs; last those of chains alone, but not where EMSCO offers no other designs."""
    usual = [job for job in jobs if job.method != CHAINS]
    _, complete = run_trials(usual, work, store, n_jobs, progress)
    known = read(store, [replace(job, method=EMSCO) for job in jobs])
    same = {replace(job, method=CHAINS) for job, one in known.items() if not branches(one)}
    alone = [job for job in jobs if job.method == CHAINS and job not in same]
    if complete and alone:
        run_trials(alone, work, store, n_jobs, progress)


def read(store: ResultStore, jobs: list[TrialJob]) -> dict[TrialJob, Answers]:
    """Read the results that there are."""
    found = {job: store.find(job) for job in jobs}
    return {job: Answers.from_dict(one) for job, one in found.items() if one is not None}


def compared(results: Results) -> dict[str, MethodComparison]:
    """Compare methods, but not chains alone, on every set that has answers."""
    found = {}
    for name in dict.fromkeys(job.data for job in results):
        answers = {job: one for job, one in results.items() if job.data == name}
        usual = {job: one for job, one in answers.items() if job.method != CHAINS}
        if usual:
            found[name] = MethodComparison.from_answers(name, costed_rows(name), usual)
    return {name: one for name, one in found.items() if one.methods}


def cells_of(comparisons: Mapping[str, MethodComparison]) -> pd.DataFrame:
    """A line for each method in each cell: rank, accuracy (or hypervolume), and EMSCO's lead on it.

    A method is weak in a cell if it does no better there than the commonest class, for nothing. A
    cell is idle if all methods are. For the cost of everything, there is accuracy alone.
    """
    lines, tasks = [], {task.coverage: task.key for task in TASKS}
    for name, one in comparisons.items():
        leads = {
            (task, duel.budget or "", duel.rival): duel
            for task, duels in one.duels.items()
            for duel in duels
        }
        figures = {
            (tasks[question.coverage], question.budget, method): standing.mean.accuracy
            for (method, question), standing in one.standings.items()
            if question.coverage in tasks
        }
        figures |= {(VOLUME, "", method): volumes.mean() for method, volumes in one.volumes.items()}
        floor = one.commonest.mean.accuracy + _TIE
        for (task, budget, method), figure in figures.items():
            duel = leads.get((task, budget, method))
            ranks = one.ranks[task].get(f"{budget:g}" if budget else "", {})
            lines.append(
                {
                    "set": name,
                    "large": sum(one.n_rows) >= LARGE,
                    "task": task,
                    "budget": f"{100 * budget:g} %" if budget else "",
                    "method": label_of(method),
                    "rank": ranks.get(method, np.nan),
                    "figure": 100 * figure,
                    "weak": bool(budget) and figure <= floor,
                    "lead": duel.gain if duel else np.nan,
                    "verdict": duel.verdict if duel else "",
                }
            )
    cells = pd.DataFrame(lines)
    cells["idle"] = cells.groupby(["set", "task", "budget"])["weak"].transform("all")
    return cells


def views(cells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """All cells, and those of each task."""
    return {"all": cells, **{title: cells[cells.task == key] for key, title in TITLES.items()}}


def record(verdicts: pd.Series) -> str:
    """Won / level / lost."""
    return " / ".join(str((verdicts == one).sum()) for one in (AHEAD, LEVEL, BEHIND))


def rank_table(cells: pd.DataFrame) -> pd.DataFrame:
    """Mean rank of every method, the best first."""
    some = views(cells)
    some |= {f"{LARGE:,} rows or more": cells[cells.large], "fewer": cells[~cells.large]}
    some[BOUGHT] = cells[~cells.idle]
    ranks = {title: view.groupby("method")["rank"].mean() for title, view in some.items()}
    table = pd.DataFrame(ranks).sort_values("all")
    return table.assign(sets=cells.groupby("method")["set"].nunique())


def hardest(duels: pd.DataFrame) -> pd.DataFrame:
    """Of every cell, the duel with the rival that has the highest mean there."""
    return duels.loc[duels.groupby(["set", "task", "budget"])["lead"].idxmin()]


def duel_table(duels: pd.DataFrame) -> pd.DataFrame:
    """Duels with each rival, with all, and with the best of each cell."""
    shown = pd.concat(
        [duels, duels.assign(method="all rivals"), hardest(duels).assign(method="the best rival")]
    )
    by_task = {
        title: view.groupby("method", sort=False)["verdict"].agg(record)
        for title, view in views(shown).items()
    }
    return pd.DataFrame(by_task)


def set_table(duels: pd.DataFrame) -> pd.DataFrame:
    """Duels on each set, by budget; the last column is of hypervolumes."""
    table = duels.groupby(["set", "task", "budget"], sort=False)["verdict"].agg(record)
    table = table.unstack(["task", "budget"])
    return table.set_axis([" ".join(column) for column in table.columns], axis=1)


def caveat(duels: pd.DataFrame) -> str:
    """How many wins at budgets are over weak rivals, and how often a rival's mean is higher."""
    duels = duels[duels.budget != ""]
    won, best = duels[duels.verdict == AHEAD], hardest(duels)
    return (
        f"Of {len(won)} wins at budgets, {won.weak.sum()} are over a rival no more accurate than "
        f"the commonest class. In {(best.lead < 0).sum()} of {len(best)} cells at budgets, some "
        "rival has a higher mean."
    )


def chains_table(
    comparisons: Mapping[str, MethodComparison], results: Results
) -> Iterator[dict[str, object]]:
    """EMSCO and chains alone on each set, every row answered, with a 95 % margin of the gain."""
    for name in comparisons:
        by_split: dict[int, dict[str, Answers]] = {}
        for job, answers in results.items():
            if job.data == name and job.method in (EMSCO, CHAINS) and answers.offers:
                by_split.setdefault(job.split, {})[job.method] = answers
        trees = [one for one in by_split.values() if EMSCO in one and branches(one[EMSCO])]
        pairs = [
            (one[EMSCO], one.get(CHAINS, one[EMSCO]))
            for one in by_split.values()
            if EMSCO in one and (CHAINS in one or not branches(one[EMSCO]))
        ]
        line: dict[str, object] = {"set": name, "splits": len(pairs), "branching": len(trees)}
        for question in TASKS[0].questions if trees and pairs else ():
            both = np.array(
                [
                    [offer.seen.accuracy for offer in answers.offers if offer.question == question]
                    for pair in pairs
                    for answers in pair
                ]
            ).reshape(-1, 2)
            gains = 100 * (both[:, 0] - both[:, 1])
            emsco, chains = 100 * both.mean(axis=0)
            line[f"{100 * question.budget:g} %"] = (
                f"{emsco:.1f} / {chains:.1f} ({gains.mean():+.2f} ± {margin_of(gains):.2f})"
            )
        yield line


def promise_table(comparisons: Mapping[str, MethodComparison]) -> pd.DataFrame:
    """What every method promised and kept, on average over sets; in points and standard errors."""
    lines = pd.DataFrame(
        {
            "method": label_of(method),
            "promised, %": 100 * promise.promised,
            "kept, %": 100 * promise.kept,
            "promised less kept": 100 * promise.gap,
            "in standard errors": promise.in_errors,
            "their distance from 0": None if promise.in_errors is None else abs(promise.in_errors),
            "overspent, % of everything": 100 * promise.overspent,
            "coverage short, %": 100 * promise.short,
        }
        for one in comparisons.values()
        for method, promise in one.promises.items()
    )
    return lines.groupby("method", sort=False).mean()


def report(comparisons: Mapping[str, MethodComparison], results: Results) -> tuple[str, str]:
    """Tables over all sets, then the accuracies of each set."""
    cells = cells_of(comparisons)
    duels = cells[cells.verdict != ""]
    per_set = {
        name: {label_of(method): one.seconds(method) for method in one.methods}
        for name, one in comparisons.items()
    }
    answered = {
        name: {
            label_of(method): sum(bool(answers.offers) for answers in by_split.values())
            for method, by_split in one.answers.items()
        }
        | {"compared": len(one.splits)}
        for name, one in comparisons.items()
    }
    parts = ["# Bake-off", "## Mean ranks", markdown(rank_table(cells))]
    if len(duels):
        parts += [
            "## EMSCO against each rival",
            "Cells won / level / lost beyond chance. The best rival of a cell is the one with the "
            "highest mean there.",
            markdown(duel_table(duels)),
            caveat(duels),
            "## EMSCO on each set",
            markdown(set_table(duels)),
        ]
        if duels.large.any():
            parts[-2:-2] = [
                f"On sets of {LARGE:,} rows or more:",
                markdown(duel_table(duels[duels.large])),
            ]
    chains = pd.DataFrame(chains_table(comparisons, results)).set_index("set")
    parts += [
        "## EMSCO / chains alone",
        markdown(chains),
        "## Promised and kept",
        markdown(promise_table(comparisons)),
        "## Splits answered",
        markdown(pd.DataFrame(answered).convert_dtypes()),
        "## Seconds of processor time for a split",
        markdown(pd.DataFrame(per_set), 1),
    ]
    accuracies = ["## Accuracy and hypervolume, %"]
    for (name, task), some in cells.groupby(["set", "task"], sort=False):
        table = some.pivot(index="method", columns="budget", values="figure")
        accuracies += [f"{name}. {TITLES[task]}", markdown(table[some.budget.unique()], 1)]
    return "\n\n".join(parts), "\n\n".join(accuracies)


def main() -> None:
    """Run or continue the bake-off, and report it; or run the quick yardstick."""
    if "--quick" in sys.argv:
        yardstick.main()
        return
    every = (*METHODS, CHAINS)
    parser = options(__doc__)
    parser.add_argument("--out", type=Path, required=True, help="a folder for results and tables")
    parser.add_argument("--sets", type=names, default=SETS)
    parser.add_argument("--sealed", action="store_true", help="the sets that nothing is chosen on")
    parser.add_argument("--methods", type=names, default=every)
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--first-split", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--quick", action="store_true", help="a yardstick of its own; add --help")
    parser.add_argument("--known", action="store_true", help="run nothing")
    asked = parser.parse_args()
    sets = SEALED if asked.sealed else asked.sets
    for what, given, known in (
        ("methods", asked.methods, every),
        ("sets", [one.partition(":")[0] for one in sets], datasets.NAMES),
    ):
        if unknown := [one for one in given if one not in known]:
            parser.error(f"--{what} must be some of {', '.join(known)}, got {unknown[0]!r}")
    jobs = [
        TrialJob(name, split, method, asked.seed, FULL.max_settings, FULL.generations)
        for split in range(asked.first_split, asked.first_split + asked.splits)
        for name in sets
        for method in every
        if method in asked.methods
    ]
    store = ResultStore(asked.out / "results")
    try:
        if not asked.known:
            run(jobs, store, asked.jobs)
    except EMSCOError as error:
        print(f"stopped: {error}")
    results = read(store, jobs)
    comparisons = compared(results)
    if not comparisons:
        parser.exit(1, f"{asked.out} holds no results of these sets and methods\n")
    told, accuracies = report(comparisons, results)
    print(told)
    (asked.out / "bakeoff.md").write_text(f"{told}\n\n{accuracies}\n", encoding="utf-8")
    for name, one in comparisons.items():
        save_figure(draw_comparison(one), asked.out / name.replace(":", "-"))
