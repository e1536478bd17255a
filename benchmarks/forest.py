"""Forests as stage models, beside logistic regression: gains and training time.

    python benchmarks/forest.py                  about two minutes on two cores

The paper says in a footnote that random forests improve EMSCO at a price in training time. Both
models search the same designs on the same splits. Scored figures: the volume that the front
dominates (coverage, accuracy and cost as losses in the unit cube), and the best balanced score.
Seen figures, on test rows: the volume of all those cascades, and the figures of the balanced one.
EMSCO_DATA names the folder with the sets of the paper; without it, the ten means of the breast
cancer data are used.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import sys
import time
from dataclasses import dataclass, fields

import moocore
import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import PredefinedSplit
from timing import CORES, SEED

from emsco import EMSCOClassifier
from emsco.costs import FeatureCosts
from emsco.lab import datasets

SETS = ("pima", "heart", "credit", "breast_cancer")
MOST_FEATURES = 14


@dataclass(frozen=True)
class Result:
    """Figures of one fit."""

    scored_volume: float
    scored_balanced: float
    seen_volume: float
    seen_balanced: float
    seen_accuracy: float
    seen_coverage: float
    seen_cost: float
    seconds: float


def load(name: str) -> datasets.Dataset:
    """Load a set, with few enough columns for thousands of forests."""
    data = datasets.load(name, SEED)
    if data.X.shape[1] <= MOST_FEATURES:
        return data
    columns = [i for i, column in enumerate(data.costs.names) if column.startswith("mean")]
    costs = FeatureCosts.from_array(
        data.costs.costs[columns], [data.costs.names[i] for i in columns]
    )
    X = np.ascontiguousarray(data.X[:, columns])
    return datasets.Dataset(
        f"{name} (means)", X, data.y, costs, data.min_confidence, data.about_costs
    )


def volume(figures: np.ndarray, total_cost: float) -> float:
    """Volume that rows of (coverage, accuracy, cost) dominate together."""
    coverage, accuracy, cost = figures.T
    losses = np.column_stack([1 - coverage, 1 - accuracy, cost / total_cost])
    return float(moocore.hypervolume(losses, ref=[1.0, 1.0, 1.0]))


def balanced(figures: np.ndarray, total_cost: float) -> float:
    """The largest balanced score of rows of (coverage, accuracy, cost)."""
    coverage, accuracy, cost = figures.T
    return float(np.sqrt(coverage**2 + accuracy**2 + (1 - cost / total_cost) ** 2).max())


def one_fit(
    data: datasets.Dataset, seed: int, settings: argparse.Namespace, **changes: object
) -> Result:
    """Search on one split of the paper's kind, and test the whole front."""
    train, val, test = datasets.paper_split(len(data.X), seed)
    rows = np.concatenate([train, val])
    fold = np.where(np.arange(len(rows)) < len(train), -1, 0)
    classifier = EMSCOClassifier(
        costs=data.costs,
        min_confidence=data.min_confidence,
        max_stages=settings.stages,
        search="evolution",
        population_size=settings.population,
        generations=settings.generations,
        cv=PredefinedSplit(fold),
        n_jobs=CORES,
        random_state=seed,
        **changes,
    )
    started = time.perf_counter()
    classifier.fit(data.X[rows], data.y[rows])
    seconds = time.perf_counter() - started
    front, total = classifier.front_, data.costs.total
    scored = np.array([(point.coverage, point.accuracy, point.cost) for point in front])
    tested = [front.cascade(point).evaluate(data.X[test], data.y[test]) for point in front]
    seen = np.array([(found.coverage, found.accuracy, found.cost) for found in tested])
    chosen = seen[list(front).index(front.balanced())]
    return Result(
        volume(scored, total),
        balanced(scored, total),
        volume(seen, total),
        balanced(chosen[None], total),
        chosen[1],
        chosen[0],
        chosen[2],
        seconds,
    )


def report(data: datasets.Dataset, settings: argparse.Namespace) -> None:
    """Print the models side by side, and in how many splits the forest is ahead."""
    forest = RandomForestClassifier(n_estimators=settings.trees)
    rivals: dict[str, dict[str, object]] = {
        "logistic": {},
        "forest": {"estimator": forest},
        "forest, sigmoid": {"estimator": forest, "calibration": "sigmoid"},
    }
    results: dict[str, list[Result]] = {name: [] for name in rivals}
    for seed in range(settings.splits):
        for name, changes in rivals.items():
            results[name].append(one_fit(data, seed, settings, **changes))
            seconds = results[name][-1].seconds
            print(f"{data.name} split {seed}, {name}: {seconds:.1f} s", file=sys.stderr, flush=True)
    n_rows, n_features = data.X.shape
    print(f"\n{data.name}: {n_rows} × {n_features}, {settings.splits} splits, means ± deviations")
    print(f"  {'':14}" + "".join(f"{name:>22}" for name in rivals) + f"{'forest ahead':>16}")
    for field in fields(Result):
        values = {n: np.array([getattr(r, field.name) for r in f]) for n, f in results.items()}
        line = "".join(f"{f'{v.mean():.3f} ± {v.std():.3f}':>22}" for v in values.values())
        ahead = int((values["forest"] > values["logistic"]).sum())
        if field.name in ("seen_cost", "seconds"):
            ahead = int((values["forest"] < values["logistic"]).sum())
        print(f"  {field.name:14}{line}{f'{ahead} of {settings.splits}':>16}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = ["pima"] if os.environ.get("EMSCO_DATA") else ["breast_cancer"]
    parser.add_argument("--sets", nargs="+", choices=SETS, default=default)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--stages", type=int, default=3)
    parser.add_argument("--population", type=int, default=20, help="designs a generation")
    parser.add_argument("--generations", type=int, default=10)
    settings = parser.parse_args()
    where = f"{platform.machine()}, {CORES} cores, Python {platform.python_version()}"
    print(f"{datetime.date.today()}, {where}, {settings.trees} trees, {settings.stages} stages")
    rng = np.random.default_rng(SEED)
    EMSCOClassifier(search="evolution", generations=2).fit(  # kernels are compiled outside timings
        rng.normal(size=(60, 3)), np.arange(60) % 2
    )
    for name in settings.sets:
        report(load(name), settings)


if __name__ == "__main__":
    main()
