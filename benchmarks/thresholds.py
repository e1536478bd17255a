"""Thresholds of their own for every stage, beside one threshold for all, on test rows.

    python benchmarks/thresholds.py [--sets heart,pima] [--seeds 5] [--first 10]

Public sets are read from the folder that EMSCO_DATA names. Each seed holds out 30 % of the rows for
tests; 5 folds of the others score designs. "one" is the former default: half-way between the share
of a class and 1, for all stages. "own" is min_confidence="auto".

deployed: the design that is deployed by default, on test rows: coverage, accuracy, share found of
    the class found least, share of the cost of everything; and what was promised of the first two.
answered: everyone gets an answer. Accuracy on test rows of the design that was scored most accurate
    within 5, 10, 20, 40 and 70 % of the cost of everything, and promised less kept, in the mean.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from sklearn.model_selection import train_test_split
from tables import Table, load

from emsco import EMSCOClassifier
from emsco.designs.thresholds import auto_min_confidence
from emsco.errors import EMSCOWarning

SETS = ("heart", "pima", "cleveland", "credit", "breast_cancer", "rare24")
BUDGETS = (0.05, 0.1, 0.2, 0.4, 0.7)


def one_threshold(y: np.ndarray) -> dict[object, float]:
    """Return the former default: half-way between the share of a class and 1."""
    classes, counts = np.unique(y, return_counts=True)
    return auto_min_confidence(counts.astype(float), classes)


def fit(table: Table, X: object, y: np.ndarray, seed: int, **settings: object) -> EMSCOClassifier:
    """Fit with 5 folds, without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EMSCOWarning)
        return EMSCOClassifier(table.costs, cv=5, random_state=seed, **settings).fit(X, y)


def deployed(table: Table, parts: list, seed: int, **settings: object) -> list[float]:
    """Figures of the deployed design."""
    X, X_test, y, y_test = parts
    start = time.perf_counter()
    clf = fit(table, X, y, seed, **settings)
    seconds = time.perf_counter() - start
    seen, total = clf.evaluate(X_test, y_test), clf.front_.costs.total
    found = min(seen.by_class.recall)
    kept = [seen.coverage, seen.accuracy, found, seen.cost / total]
    return [*kept, clf.point_.coverage, clf.point_.accuracy, seconds]


def answered(table: Table, parts: list, seed: int, **settings: object) -> list[float]:
    """Accuracy on test rows within each budget if everyone is answered, and the broken promise."""
    X, X_test, y, y_test = parts
    front = fit(table, X, y, seed, always_answer=True, prefer="knee", **settings).front_
    kept, promised = [], []
    for budget in BUDGETS:
        within = [p for p in front if p.cost <= budget * front.costs.total]
        best = max(within or [min(front, key=lambda p: p.cost)], key=lambda p: p.accuracy)
        kept.append(front.cascade(best).evaluate(X_test, y_test).accuracy)
        promised.append(best.accuracy)
    return [*kept, float(np.mean(promised) - np.mean(kept))]


def main() -> None:
    """Print both comparisons for each set."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=10)
    parser.add_argument("--estimator", default="logistic")
    parser.add_argument("--generations", type=int, default=60)
    options = parser.parse_args()
    shared = {"estimator": options.estimator, "generations": options.generations, "n_jobs": 1}
    for name in options.sets.split(","):
        lines: dict[str, list[list[float]]] = {}
        for seed in range(options.first, options.first + options.seeds):
            table = load(name, seed)
            parts = train_test_split(
                table.X, table.y, test_size=0.3, stratify=table.y, random_state=seed
            )
            for words, least in (("one", one_threshold(np.asarray(parts[2]))), ("own", "auto")):
                for what in (deployed, answered):
                    found = what(table, parts, seed, min_confidence=least, **shared)
                    lines.setdefault(f"{what.__name__} {words}", []).append(found)
        print(f"{name}, seeds {options.first} to {options.first + options.seeds - 1}")
        for words, found in sorted(lines.items()):
            figures = np.array(found)
            error = figures.std(axis=0, ddof=min(1, len(figures) - 1)) / np.sqrt(len(figures))
            print(f"  {words:13}", *(f"{x:6.3f}" for x in figures.mean(axis=0)), flush=True)
            print(
                f"  {'± SE':13}", *(f"{x:6.3f}" for x in np.broadcast_to(error, figures[0].shape))
            )


if __name__ == "__main__":
    main()
