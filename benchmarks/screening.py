"""A search on a sample beside a search on all rows: hypervolume on fresh rows, and time.

python benchmarks/screening.py [--sets interactions,regions] [--rows 100000] [--sample 20000]
    [--estimator logistic] [--seeds 5] [--population 100] [--generations 40] [--out screening.md]
python benchmarks/screening.py --sets features:50 --rows 1000000 --population 300 --generations 150
    --device cuda --memory 16GiB

A front is judged on fresh rows, at most 150 points of it, evenly over its order: 100,000 rows of
"features:50" (50 correlated features, as in gpu.py), 5,000 of another generated set, a quarter of a
real one. The volume is that between (coverage, accuracy, cost saved) of its points and nothing.
Time is processor time of the fit, so that other work beside it counts less; on a GPU, seconds on
the clock. A fit on a few rows comes before.
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from pathlib import Path
from time import perf_counter, process_time

import numpy as np
from gpu import make_rows
from learning_curves import rows_of
from moocore import hypervolume

from emsco import EMSCOClassifier
from emsco._base.documents import write_text
from emsco._base.progress import JobProgress
from emsco._base.typing import FloatArray
from emsco.costs import FeatureCosts
from emsco.lab.answering import LabelledRows, Trial

MOST_POINTS = 150
FRESH_ROWS = 100_000
WARM_UP = 30_000  # rows
PREFIX = "features:"
HEADS = ("set", "seed", "volume, all rows", "volume, sample", "ratio", "s, all rows", "s, sample")


def trial_of(name: str, n_rows: int, seed: int) -> Trial:
    """Rows to fit on and fresh ones, of a set by name or of correlated features by their number."""
    if not name.startswith(PREFIX):
        trial = rows_of(name, n_rows, seed)
        if trial is None:
            raise SystemExit(f"{name} has fewer than {n_rows:,} rows to fit on.")
        return trial
    n_features = int(name.removeprefix(PREFIX))
    X, y = make_rows(n_rows + FRESH_ROWS, n_features, seed)
    costs = FeatureCosts.from_array(np.random.default_rng(seed).integers(1, 20, n_features))
    fitted, fresh = LabelledRows(X[:n_rows], y[:n_rows]), LabelledRows(X[n_rows:], y[n_rows:])
    return Trial(fitted, fresh, costs, seed)


def measured(trial: Trial, settings: dict, screen_rows: int | None) -> tuple[float, float]:
    """Hypervolume of a front on test rows, and the time of its fit."""
    clf = EMSCOClassifier(trial.costs, screen_rows=screen_rows, **settings)
    clock = process_time if settings["device"] == "cpu" else perf_counter
    started = clock()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clf.fit(trial.fitted.X, trial.fitted.y)
    seconds = clock() - started
    places = np.unique(np.linspace(0, len(clf.front_) - 1, MOST_POINTS).astype(int))
    points = np.array([figures(clf, int(i), trial) for i in places])
    return float(hypervolume(points, ref=[0.0] * 3, maximise=True)), seconds


def figures(clf: EMSCOClassifier, place: int, trial: Trial) -> FloatArray:
    """Coverage, accuracy and share of the cost saved of one point on test rows."""
    found = clf.front_.cascade(place).decide(trial.test.X)
    accepted = np.asarray(found.accepted)
    correct = np.asarray(found.guesses)[accepted] == trial.test.y[accepted]
    accuracy = float(correct.mean()) if accepted.any() else 0.0
    return np.array([accepted.mean(), accuracy, 1 - found.cost.mean() / trial.costs.total])


def report(asked: argparse.Namespace) -> str:
    """Fit both ways on every set and seed; return a table."""
    lines = [f"| {' | '.join(HEADS)} |", "| --- " * len(HEADS) + "|"]
    ratios, speed = [], []
    jobs = [(name, seed) for name in asked.sets.split(",") for seed in range(asked.seeds)]
    with JobProgress("fits") as progress:
        for done, (name, seed) in enumerate(jobs):
            trial = trial_of(name, asked.rows, seed)
            settings = {
                "estimator": asked.estimator,
                "population_size": asked.population,
                "generations": asked.generations,
                "search": "evolution",
                "device": asked.device,
                "memory_limit": asked.memory,
                "n_jobs": asked.jobs,
                "random_state": seed,
            }
            if not done:  # what compiles, compiles on a few rows
                few = trial.fitted.take(np.arange(min(asked.rows, WARM_UP)))
                measured(replace(trial, fitted=few), settings | {"generations": 12}, None)
            (whole, slow), (part, quick) = (
                measured(trial, settings, n) for n in (None, asked.sample)
            )
            ratios.append(part / whole)
            speed.append(slow / quick)
            cells = f"{whole:.4f} | {part:.4f} | {part / whole:.4f} | {slow:.0f} | {quick:.0f}"
            lines.append(f"| {name} | {seed} | {cells} |")
            progress.job(done + 1, len(jobs), lines[-1])
    sizes = f"{asked.rows:,} rows, {asked.sample:,} of them searched on, {asked.estimator}"
    total = f"Mean ratio of volumes {np.mean(ratios):.4f}, worst {np.min(ratios):.4f}"
    return "\n".join([*lines, "", f"{sizes}. {total}; {np.mean(speed):.1f} times as fast.", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", default="interactions,regions")
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--sample", type=int, default=20_000)
    parser.add_argument("--estimator", default="logistic")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--population", type=int, default=100)
    parser.add_argument("--generations", type=int, default=40)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--memory", default="1GiB", help="memory_limit of the fits")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    text = report(asked)
    print(text)
    if asked.out:
        write_text(asked.out, text)


if __name__ == "__main__":
    main()
