"""Where calibration helps and where it does not: naive Bayes, which is too sure, on small sets.

EMSCO_DATA=… python benchmarks/calibration.py        ten seconds

One stage buys everything. Three fifths of the rows fit and calibrate it, the rest test it: the gap
between confidence and accuracy (expected calibration error) and the share of rows labelled at 0.9,
means over five splits, whose seeds are 0 to 4. No figure depends on the machine; those in
docs/guides/problems.md are of 2026-11-17, 2 cores (aarch64).
"""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from emsco import EMSCOClassifier
from emsco._base.typing import AnyArray, FloatArray
from emsco.lab.datasets import load

SETS = ("credit", "pima", "breast_cancer", "heart", "wine")
KINDS = (None, "sigmoid", "isotonic")
SPLITS = 5


def rows_of(name: str) -> tuple[FloatArray, AnyArray]:
    """Rows and labels of a set."""
    if name == "wine":
        wine = load_wine()
        return wine.data, wine.target
    data = load(name)
    return data.X, data.y


def measured(X: FloatArray, y: AnyArray, calibration: str | None, seed: int) -> tuple[float, float]:
    """Fit on one split, and return the calibration error and the coverage on its test rows."""
    parts = train_test_split(X, y, stratify=y, test_size=0.4, random_state=seed)
    X_train, X_test, y_train, y_test = parts
    clf = EMSCOClassifier(
        estimator=GaussianNB(),
        calibration=calibration,
        min_confidence=0.9,
        max_stages=1,
        allow_exclusion=False,
        search="evolution",
        generations=1,
        population_size=4,
        cv=1 / 3,
        random_state=seed,
    ).fit(X_train, y_train)
    found = clf.reliability(X_test, y_test)[0].error
    return found, float(clf.decide(X_test).accepted.mean())


def main() -> None:
    """Print a table."""
    warnings.simplefilter("ignore")
    print("| set | rows | none | sigmoid | isotonic |\n|---|---|---|---|---|")
    for name in SETS:
        X, y = rows_of(name)
        cells = []
        for kind in KINDS:
            found = [measured(X, y, kind, seed) for seed in range(SPLITS)]
            error, coverage = np.mean(found, axis=0)
            cells.append(f"{100 * error:.0f} points, {coverage:.0%}")
        print(f"| {name} | {len(y)} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
