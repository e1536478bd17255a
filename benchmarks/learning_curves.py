"""Learning curves: when which stage model pays, by the number of rows to fit on.

python benchmarks learning_curves --out curves [--sets interactions,thyroid] [--rows 250,500,…]
    [--families logistic,spline,boosting,auto] [--splits 2] [--generations 30] [--jobs 2]

Everyone is answered. Columns are the accuracy on test rows, in %, of the most accurate design
within 5, 20 and 100 % of the cost of everything, chosen out of fold; then the processor time of a
fit. The first line of a size is LightGBM with costs (CEGB), tuned on folds. Test rows are the same
for all sizes of a split: 5,000 new ones of a generated set, a quarter of thyroid. Every result is
kept as soon as it ends, and the same command continues. Writes curves.md and a picture of each set.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from bakeoff import drawn_rows
from sklearn.model_selection import train_test_split

from emsco._base.documents import write_text
from emsco._base.progress import JobProgress
from emsco_lab import datasets
from emsco_lab.datasets.generated import GENERATED
from emsco_lab.jobs import ResultStore, finish_jobs
from emsco_lab.methods import answer_with_emsco, answer_with_rival
from emsco_lab.rivals import CostAwareBoosting
from emsco_lab.trials import LabelledRows, Question, TrialRows
from emsco.plotting import save_figure
from emsco.plotting.figures import line_look, new_figure, soften

ROWS = (250, 500, 1000, 2000, 4000, 8000, 16_000, 50_000)
FAMILIES = ("logistic", "spline", "boosting", "auto")
RIVAL = "CEGB"
QUESTIONS = tuple(Question(1.0, budget) for budget in (0.05, 0.2, 1.0))
N_TEST = 5000
MOST_SETTINGS = 12


@dataclass(frozen=True, slots=True)
class CurveJob:
    """One fit of one method on so many rows."""

    data: str
    n_rows: int
    method: str
    split: int
    generations: int

    @property
    def title(self) -> str:
        """A few words for people."""
        return f"{self.data} {self.n_rows} rows {self.method} split {self.split}"


def rows_of(name: str, n_rows: int, split: int) -> TrialRows | None:
    """Return rows to fit on and rows to test on; None if the set has too few."""
    if name not in GENERATED:
        data = datasets.load(name)
        rows = LabelledRows(data.X, data.y)
        fitted, test = train_test_split(
            np.arange(len(data.y)), test_size=0.25, stratify=data.y, random_state=split
        )
        few = fitted[:n_rows]
        return (
            TrialRows(rows.take(few), rows.take(test), data.costs, split)
            if len(few) == n_rows
            else None
        )
    seed = 1000 * (split + 1)
    rows, costs = drawn_rows(name, seed, n_rows + N_TEST), datasets.load(name, seed).costs
    places = np.arange(N_TEST, N_TEST + n_rows)
    return TrialRows(rows.take(places), rows.take(np.arange(N_TEST)), costs, split)


def work(job: CurveJob) -> Mapping[str, Any]:
    """Accuracies in % at the budgets, and seconds; nothing if the set has too few rows."""
    trial = rows_of(job.data, job.n_rows, job.split)
    if trial is None:
        return {"accuracies": [], "seconds": 0.0}
    start = process_time()
    if job.method == RIVAL:
        rival = CostAwareBoosting(trial.costs, random_state=job.split)
        offers = answer_with_rival(rival, trial, QUESTIONS, MOST_SETTINGS)
    else:
        options = {"estimator": job.method, "generations": job.generations}
        offers, _ = answer_with_emsco(trial, QUESTIONS, **options)
    accuracies = [100 * offer.seen.accuracy for offer in offers]
    return {"accuracies": accuracies, "seconds": process_time() - start}


@dataclass(frozen=True, slots=True)
class Curves:
    """Mean accuracies and seconds over the splits, by set, rows and method.

    Attributes
    ----------
    means : dict
        An accuracy in % for each question, then seconds.
    n_splits : dict
    """

    means: Mapping[tuple[str, int, str], list[float]]
    n_splits: Mapping[tuple[str, int, str], int]

    @classmethod
    def from_results(cls, by_job: Mapping[CurveJob, Any]) -> Curves:
        """Average the results of all splits."""
        every: dict[tuple[str, int, str], list[list[float]]] = {}
        for job, fields in by_job.items():
            if accuracies := fields.get("accuracies"):
                results = every.setdefault((job.data, job.n_rows, job.method), [])
                results.append([*accuracies, fields.get("seconds")])
        means = {key: np.mean(results, axis=0).tolist() for key, results in every.items()}
        return cls(means, {key: len(results) for key, results in every.items()})

    def sizes(self, name: str) -> list[int]:
        """Numbers of rows that a set has figures of."""
        return sorted({n_rows for data, n_rows, _ in self.means if data == name})


def table(curves: Curves, name: str, methods: tuple[str, ...]) -> str:
    """Return the table of one set, in Markdown."""
    heads = [f"{name}: rows", "method", *(f"{question.budget:.0%}" for question in QUESTIONS)]
    heads += ["seconds", "splits"]
    lines = [f"| {' | '.join(heads)} |", "|---" * len(heads) + "|"]
    for n_rows in curves.sizes(name):
        for key in ((name, n_rows, method) for method in methods):
            if key in curves.means:
                *accuracies, seconds = curves.means[key]
                cells = [f"{n_rows:,}", key[2], *(f"{one:.1f}" for one in accuracies)]
                cells += [f"{seconds:.0f}", str(curves.n_splits[key])]
                lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def draw(curves: Curves, name: str, methods: tuple[str, ...]) -> Any:
    """Draw accuracy against rows, a panel for each budget."""
    figure = new_figure(5.0, 2.1 * len(QUESTIONS) + 0.3)
    panels = figure.subplots(len(QUESTIONS), 1, sharex=True)
    for place, (panel, question) in enumerate(zip(panels, QUESTIONS, strict=True)):
        for number, method in enumerate(methods):
            sizes = [n for n in curves.sizes(name) if (name, n, method) in curves.means]
            line = [curves.means[name, n, method][place] for n in sizes]
            panel.plot(sizes, line, label=method, **line_look(number) | {"markevery": 1})
        panel.set_xscale("log")
        panel.set_xticks(curves.sizes(name), [f"{n:,}" for n in curves.sizes(name)], fontsize=7)
        panel.minorticks_off()
        panel.set_title(f"at most {question.budget:.0%} of the cost", fontsize=9, loc="left")
        panel.set_ylabel("correct, % of test rows", fontsize=8)
        soften(panel)
    panels[0].legend(fontsize=7, frameon=False, ncols=2)
    panels[-1].set_xlabel("rows to fit, tune and choose on", fontsize=8)
    return figure


def main() -> None:
    """Run or continue the fits, and report them."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", default="interactions,thyroid")
    parser.add_argument("--rows", default=",".join(map(str, ROWS)))
    parser.add_argument("--families", default=",".join(FAMILIES))
    parser.add_argument("--splits", type=int, default=2)
    parser.add_argument("--generations", type=int, default=30)
    parser.add_argument("--jobs", type=int, default=2)
    asked = parser.parse_args()
    methods = (RIVAL, *asked.families.split(","))
    jobs = [
        CurveJob(name, n_rows, method, split, asked.generations)
        for split in range(asked.splits)
        for n_rows in map(int, asked.rows.split(","))
        for name in asked.sets.split(",")
        for method in methods
    ]
    with JobProgress("fits") as progress:
        store = ResultStore(asked.out / "results")
        results, is_complete = finish_jobs(jobs, work, store, asked.jobs, progress.job)
    curves = Curves.from_results(results)
    text = "\n\n".join(table(curves, name, methods) for name in asked.sets.split(","))
    text += "" if is_complete else "\n\nIncomplete: the same command continues."
    print(text)
    write_text(asked.out / "curves.md", text + "\n")
    for name in asked.sets.split(","):
        save_figure(draw(curves, name, methods), asked.out / f"curves_{name}")
