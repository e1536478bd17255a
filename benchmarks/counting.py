"""Fits that spend their time on what designs do with rows, beside those of other sources of emsco.

python benchmarks counting                              half a minute of a core
python benchmarks counting --beside ../earlier/src      the same of other sources, by turns
python benchmarks counting --cases money --rounds 5

judged: some 300 designs on 5,000 scored rows, with results by class and expected figures.
branches: a fit that branches, on 2,000 rows where the first column says which others tell anything.
prices: features with a price for each of 20,000 rows.
money: five classes, with a cost for every pair of true and given label.
memory: 200,000 rows of which half are scored.

Every fit is of logistic stages, on one thread, in a process of its own, and comes after a small one
that loads what is compiled. Its figures are all read. Prints the fewest processor seconds, the
megabytes that the process took, and what all figures add up to, which tells whether both sources
found the same. A ratio above 1 is in favour of these sources.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from common import OURS, in_new_process, markdown, names, options, progress

from emsco import EMSCOClassifier, FeatureCosts

QUICK = {"estimator": "logistic", "n_jobs": 1, "random_state": 0, "search": "evolution"}
SMALL = {"cv": 0.5, "generations": 1, "population_size": 16, "branches": 1}
NAMES = tuple("abcdefghij")
CASES: dict[str, tuple[int, int, dict[str, Any]]] = {  # rows, classes, settings
    "judged": (10_000, 2, {"cv": 0.5, "generations": 2, "population_size": 40, "branches": 1}),
    "branches": (2000, 2, {"cv": 0.5, "generations": 4, "population_size": 40}),
    "prices": (20_000, 2, {"cv": 0.5, "generations": 1, "population_size": 40, "branches": 1}),
    "money": (10_000, 5, {"cv": 0.5, "generations": 4, "population_size": 60, "branches": 1}),
    "memory": (200_000, 2, {"always_answer": True, "max_stages": 2, **SMALL}),
}


def made(case: str) -> tuple[pd.DataFrame, np.ndarray, FeatureCosts, dict[str, Any]]:
    """Rows, classes, costs and settings of a case."""
    n_rows, n_classes, settings = CASES[case]
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n_classes, len(NAMES))) * np.linspace(0.2, 0.6, len(NAMES))
    y = rng.integers(n_classes, size=n_rows)
    noise, shifts = rng.normal(size=(n_rows, len(NAMES))), centres[y]
    if case == "branches":
        half = np.arange(len(NAMES)) % 2 == 0
        shifts = np.where((noise[:, :1] > 0) == half, 0.0, 3 * shifts)
        shifts[:, 0] = 0.0
    X = pd.DataFrame(noise + shifts, columns=NAMES)
    costs: dict[str, Any] = {name: i + 1 for i, name in enumerate(NAMES)}
    if case == "prices":
        X["tokens"], X["hours"] = rng.integers(1, 9, size=(2, n_rows)) / 2
        costs |= {"i": "tokens", "j": "hours"}
    if case == "money":
        settings = settings | {"error_cost": 10 + 90 * rng.random((5, 5)) * (1 - np.eye(5))}
        settings["error_cost"][np.eye(5, dtype=bool)] = 0
    return X, y, FeatureCosts.from_mapping(costs, list(X)), settings


def fit(case: str) -> list[float]:
    """Fit a case and read all figures; return seconds, megabytes, designs and a sum of figures."""
    X, y, costs, settings = made(case)
    EMSCOClassifier(**QUICK, generations=2, cv=0.5).fit(X[:200], y[:200] % 2)
    started = time.process_time()
    front = EMSCOClassifier(costs, **QUICK, screen_rows=None, **settings).fit(X, y).front_
    total = 0.0
    for point in front:
        total += point.coverage + point.accuracy + point.cost + point.by_class.recall.sum()
        total += point.expected.accuracy.value + point.expected.cost.value
    seconds = time.process_time() - started
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [seconds, megabytes, len(front), total]


def main() -> None:
    """Fit every case by turns, and print a table."""
    parser = options(__doc__)
    parser.add_argument("--cases", type=names, default=tuple(CASES), help=", ".join(CASES))
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--beside", help="the src folder of another checkout of emsco")
    asked = parser.parse_args()
    heads, lines = ["CPU s", "MB", "designs", "figures"], []
    sources = {"": OURS, "other, ": asked.beside} if asked.beside else {"": OURS}
    for done, case in enumerate(asked.cases, 1):
        line: dict[str, float] = {}
        for _ in range(asked.rounds):
            for whose, source in sources.items():
                for head, value in zip(
                    heads, in_new_process(__file__, [case], source), strict=True
                ):
                    line[whose + head] = min(value, line.get(whose + head, value))
        lines.append(line)
        progress(done, len(asked.cases), case)
    table = pd.DataFrame(lines, index=list(asked.cases))
    if asked.beside:
        table["ratio"] = table["other, CPU s"] / table["CPU s"]
    print(markdown(table))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(json.dumps(fit(sys.argv[1])))
