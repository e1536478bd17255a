"""Learning curves: when which stage model pays, by the number of rows to fit on.

python benchmarks/learning_curves.py [--sets interactions,thyroid] [--rows 250,500,…] [--jobs 2]
    [--families logistic,spline,boosting,auto] [--splits 2] [--generations 30] [--out curves.md]

Everyone is answered. Columns are the accuracy on test rows, in %, of the most accurate design
within 5, 20 and 100 % of the cost of everything, chosen out of fold; then the processor time of a
fit. The first line of a size is LightGBM with costs (CEGB), tuned on folds. Test rows are the same
for all sizes of a split: 5,000 new ones of a generated set, a quarter of thyroid.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import process_time

import numpy as np
from joblib import Parallel, delayed
from sklearn.model_selection import train_test_split

from emsco import datasets
from emsco._base.documents import write_text
from emsco._base.progress import JobProgress
from emsco.baselines import CostAwareBoosting
from emsco.datasets.generated import GENERATED
from emsco.studies.answering import LabelledRows, Trial, answer_with_emsco, answer_with_rival
from emsco.studies.questions import Question

ROWS = (250, 500, 1000, 2000, 4000, 8000, 16_000, 50_000)
FAMILIES = ("logistic", "spline", "boosting", "auto")
RIVAL = "CEGB"
QUESTIONS = tuple(Question(1.0, budget) for budget in (0.05, 0.2, 1.0))
N_TEST = 5000
MOST_SETTINGS = 12


def rows_of(name: str, n_rows: int, split: int) -> Trial | None:
    """Return rows to fit on and rows to test on; None if the set has too few."""
    if name not in GENERATED:
        data = datasets.load(name)
        rows = LabelledRows(data.X, data.y)
        fitted, test = train_test_split(
            np.arange(len(data.y)), test_size=0.25, stratify=data.y, random_state=split
        )
        few = fitted[:n_rows]
        return (
            Trial(rows.take(few), rows.take(test), data.costs, split)
            if len(few) == n_rows
            else None
        )
    parts, n_found = [], 0
    while n_found < n_rows + N_TEST:
        parts.append(datasets.load(name, 1000 * (split + 1) + len(parts)))
        n_found += len(parts[-1].y)
    rows = LabelledRows(
        np.concatenate([one.X for one in parts]), np.concatenate([one.y for one in parts])
    )
    places = np.arange(N_TEST, N_TEST + n_rows)
    return Trial(rows.take(places), rows.take(np.arange(N_TEST)), parts[0].costs, split)


def figures(
    name: str, n_rows: int, method: str, split: int, generations: int
) -> list[float] | None:
    """Accuracies at the budgets and seconds of one method; None if the set has too few rows."""
    trial = rows_of(name, n_rows, split)
    if trial is None:
        return None
    start = process_time()
    if method == RIVAL:
        rival = CostAwareBoosting(trial.costs, random_state=split)
        offers = answer_with_rival(rival, trial, QUESTIONS, MOST_SETTINGS)
    else:
        offers, _ = answer_with_emsco(trial, QUESTIONS, estimator=method, generations=generations)
    return [*(100 * offer.seen.accuracy for offer in offers), process_time() - start]


def main() -> None:
    """Print a table per set, and write it if asked."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sets", default="interactions,thyroid")
    parser.add_argument("--rows", default=",".join(map(str, ROWS)))
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--generations", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    sizes, methods = map(int, asked.rows.split(",")), (RIVAL, *asked.families.split(","))
    jobs = [
        (name, n_rows, method, split, asked.generations)
        for n_rows in sizes
        for name in asked.sets.split(",")
        for method in methods
        for split in range(asked.splits)
    ]
    found: dict[tuple[str, int, str], list[list[float]]] = {}
    workers = Parallel(asked.jobs, return_as="generator", batch_size=1)
    with JobProgress("fits") as progress:
        done = workers(delayed(figures)(*job) for job in jobs)
        for i, (job, numbers) in enumerate(zip(jobs, done, strict=True)):
            if numbers is not None:
                found.setdefault(job[:3], []).append(numbers)
            progress.job(i + 1, len(jobs), f"{job[0]}, {job[1]:,} rows, {job[2]}")
    text = "\n".join(table(name, found) for name in asked.sets.split(","))
    print(text)
    if asked.out:
        write_text(asked.out, text + "\n")


def table(name: str, found: dict[tuple[str, int, str], list[list[float]]]) -> str:
    """Return the table of one set, in Markdown."""
    budgets = " | ".join(f"{question.budget:.0%}" for question in QUESTIONS)
    lines = [f"\n| {name}: rows | method | {budgets} | seconds |", "|---|---|---|---|---|---|"]
    for (own, n_rows, method), numbers in found.items():
        if own == name:
            *accuracies, seconds = np.mean(numbers, axis=0).tolist()
            cells = " | ".join(f"{one:.1f}" for one in accuracies)
            lines.append(f"| {n_rows:,} | {method} | {cells} | {seconds:.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
