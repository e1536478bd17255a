"""Whether new rows keep what scored rows promise, by the way of scoring and of deploying.

    python benchmarks/scoring.py                      all sets, seeds 0 to 19: hours
    python benchmarks/scoring.py --sets heart,pima    some sets

Options: --seeds 10  --first 10  --cv 1/3,5,4x5  --jobs 2. Each seed splits the rows into two thirds
to fit on and one third to test on. Stages are logistic and all other settings are the defaults.
"4x5" is five folds, four times over. Sets are read from the folder that EMSCO_DATA names; "made"
and a number is a generated table with so many rows to fit on.

Columns: the promise less the figure on test rows, as mean ± standard error, of the balanced score,
coverage, accuracy and cost (as a share of everything); then test rows alone; then seconds per fit.
A search serves all ways of deploying, so they share their seconds.
"""

from __future__ import annotations

import argparse
import time
import warnings
from dataclasses import replace
from unittest import mock

import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold, train_test_split
from tables import Table, generated, load

from emsco import EMSCOClassifier
from emsco._base.objectives import Objectives
from emsco.errors import EMSCOWarning
from emsco.fitting import REFITS, Workbench

SETS = ("heart", "pima", "credit", "cleveland", "thyroid")
WAYS = ("1/3", "5", "2x5", "4x5", "auto")
HEADINGS = ("Δ balanced", "Δ coverage", "Δ accuracy", "Δ cost", "bal.", "cov.", "acc.", "cost", "s")


def table_of(name: str, seed: int) -> Table:
    if name.startswith("made"):
        return generated(round(int(name[4:]) * 1.5), 0.3, seed, 0.6)
    return load(name, seed)


def splitter(way: str, seed: int):
    if "x" in way:
        repeats, folds = map(int, way.split("x"))
        return RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
    return 1 / 3 if way == "1/3" else int(way) if way.isdigit() else way


def figures(promised: Objectives, seen: Objectives, total: float) -> list[float]:
    """What is promised less what is seen, then what is seen."""

    def four(found: Objectives) -> np.ndarray:
        share = found.cost / total
        return np.array([found.balanced(total), found.coverage, found.accuracy, share])

    return [*(four(promised) - four(seen)), *four(seen)]


def measured(table: Table, way: str, seed: int, n_jobs: int) -> dict[str, list[float]]:
    """Fit once; deploy in every way that differs; return the figures and the seconds."""
    X, X_test, y, y_test = train_test_split(
        table.X, table.y, test_size=1 / 3, stratify=table.y, random_state=seed
    )
    benches, stage_models = [], Workbench.stage_models

    def keep(bench: Workbench, *given):  # one search serves all ways of deploying
        benches.append(bench)
        return stage_models(bench, *given)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EMSCOWarning)
        started = time.perf_counter()
        clf = EMSCOClassifier(
            table.costs,
            estimator="logistic",
            cv=splitter(way, seed),
            random_state=seed,
            n_jobs=n_jobs,
        )
        with mock.patch.object(Workbench, "stage_models", keep):
            clf.fit(X, y)
        seconds = time.perf_counter() - started
    found, (bench,) = {}, benches
    for refit in REFITS:
        if refit == "first" and clf.n_splits_ == 1:
            continue  # the average of one
        front = replace(clf.front_, models=bench.stage_models(clf.front_, refit))
        seen = front.cascade(clf.point_).evaluate(X_test, y_test)
        found[refit] = [*figures(clf.point_, seen, front.costs.total), seconds]
    return found


def line(results: list[list[float]]) -> str:
    means, spread = np.mean(results, axis=0), np.std(results, axis=0, ddof=1)
    errors = spread / np.sqrt(len(results))
    bias = (f"{m:+.3f} ± {e:.3f}" for m, e in zip(means[:4], errors[:4], strict=True))
    return " | ".join([*bias, *(f"{m:.3f}" for m in means[4:8]), f"{means[8]:.1f}"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--cv", default=",".join(WAYS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=-1)
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    for name in options.sets.split(","):
        print(f"\n{name}, seeds {seeds[0]} to {seeds[-1]}\n")
        print(f"| cv | refit | {' | '.join(HEADINGS)} |\n|{'---|' * (len(HEADINGS) + 2)}")
        for way in options.cv.split(","):
            runs = [measured(table_of(name, seed), way, seed, options.jobs) for seed in seeds]
            for refit in runs[0]:
                print(f"| {way} | {refit} | {line([one[refit] for one in runs])} |", flush=True)


if __name__ == "__main__":
    main()
