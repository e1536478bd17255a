"""Whether certificates, monitors, intervals and expected figures are kept on fresh rows.

python benchmarks trust                            an hour of a core
python benchmarks trust --problems 2 --draws 2     a quarter of a minute

A problem has 100 to 1,000 random rows of 6 to 12 features with random costs to fit on, and 20,000
fresh ones that tell the truth. Seeds before 2000 served to build expected figures.

expected: what the deployed design, and 20 others of the front, are off by; costs in per cent of
everything. "held" counts intervals of 95 % that have the truth in them.
evaluate: intervals of the deployed design on draws of fresh rows.
certify: a promise of exactly the true accuracy is false if any design is certified that is not
better. An easy promise is one that allows twice the errors.
monitor: an alarm is false, however late, if the true accuracy is promised. If half the errors are
promised, it should come soon; those that come are counted, and the rows they take.
Prints the mean of each line, the number of trials, and the standard error over problems.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache

import numpy as np
import pandas as pd
from common import markdown, options, progress

from emsco import EMSCOClassifier, Evaluation, Monitor, ParetoPoint

N_TRUE = 20_000
FIGURES = ("coverage", "accuracy", "cost")
DELTA = 0.05
ROWS = 300  # of a draw
LOOKS, ROWS_A_LOOK = 40, 25


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Rows, labels and costs, and the number of rows to fit on."""
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(6, 13))
    n_rows = int(np.exp(rng.uniform(np.log(100), np.log(1000))))
    mixing = np.eye(n_features) + 0.4 * rng.normal(size=(n_features,) * 2) / n_features**0.5
    X = rng.normal(size=(n_rows + N_TRUE, n_features)) @ mixing
    weights = rng.normal(size=n_features) * rng.uniform(0.8, 2)
    weights[: rng.integers(0, n_features - 2)] = 0
    logit = X @ rng.permutation(weights) + rng.choice([0.0, 0.0, 1.0])
    logit += 0.5 * rng.integers(0, 2) * X[:, 0] * X[:, 1]
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-logit))).astype(int)
    return X, y, np.round(np.exp(rng.normal(size=n_features)) * 5 + 1), n_rows


def trials(seed: int, draws: int, generations: int) -> Iterator[tuple[str, float]]:
    """Everything that is counted about one problem, by name."""
    X, y, costs, n_rows = problem(seed)
    clf = EMSCOClassifier(costs, estimator="logistic", generations=generations, random_state=seed)
    clf.fit(X[:n_rows], y[:n_rows])
    X, y = X[n_rows:], y[n_rows:]
    rng, front, cascade = np.random.default_rng(seed), clf.front_, clf.cascade_

    @cache
    def truth(point: ParetoPoint) -> Evaluation:
        return front.cascade(point).evaluate(X, y)

    places = rng.permutation(len(front))[:20].tolist()
    for which, points in (("deployed", [clf.point_]), ("others", [front[i] for i in places])):
        for point in points:
            for name in FIGURES:
                expected, kept = getattr(point.expected, name), getattr(truth(point), name)
                unit = costs.sum() / 100 if name == "cost" else 0.01
                yield f"expected {name} - true, {which}", (expected.value - kept) / unit
                held = expected.low <= kept <= expected.high
                yield f"expected {name}, {which}: held, %", 100 * held

    true = truth(clf.point_)
    exact, easy = true.accuracy, 1 - 2 * (1 - true.accuracy)
    for _ in range(draws):
        rows = rng.choice(len(y), ROWS, replace=False)
        seen = cascade.evaluate(X[rows], y[rows]).intervals
        for name in FIGURES:
            interval = getattr(seen, name)
            yield (
                f"evaluate, {name}: held, %",
                100 * (interval.low <= getattr(true, name) <= interval.high),
            )
        signed = clf.certify(X[rows], y[rows], min_accuracy=exact, delta=DELTA)
        wrong = any(truth(point).accuracy <= exact for point in signed.certified)
        yield "certify, exact: false, %", 100 * wrong
        if easy > 0:
            signed = clf.certify(X[rows], y[rows], min_accuracy=easy, delta=DELTA)
            yield "certify, easy: certified, %", 100 * bool(signed.certified)

        order = rng.permutation(len(y))[: LOOKS * ROWS_A_LOOK]
        for which, limit in (("exact: false", exact), ("half the errors", (1 + exact) / 2)):
            monitor = Monitor(cascade, min_accuracy=limit, delta=DELTA)
            for look in np.split(order, LOOKS):
                monitor = monitor.update(cascade.decide(X[look]), y[look])
            yield f"monitor, {which} alarms, %", 100 * monitor.alarm
            alarm = monitor.promises[0].alarm
            if alarm and limit > exact:
                yield "monitor, half the errors: rows to an alarm", alarm.row


def measure(seeds: range, draws: int, generations: int) -> pd.DataFrame:
    """Mean of every line, its standard error over problems, and the number of trials."""
    lines = []
    with warnings.catch_warnings(action="ignore"):
        for done, seed in enumerate(seeds, 1):
            lines += [(name, seed, value) for name, value in trials(seed, draws, generations)]
            progress(done, len(seeds), f"problem {seed}")
    values = pd.DataFrame(lines, columns=["what", "problem", "value"])
    table = values.groupby("what", sort=False)["value"].agg(["mean", "size"])
    of_problems = values.groupby(["what", "problem"])["value"].mean()
    errors = of_problems.groupby("what").sem()
    return table.assign(**{"standard error": errors})


def main() -> None:
    """Measure, and print a table."""
    parser = options(__doc__)
    parser.add_argument("--problems", type=int, default=50)
    parser.add_argument("--first", type=int, default=2000, help="seed of the first problem")
    parser.add_argument("--draws", type=int, default=20, help="of fresh rows, for each problem")
    parser.add_argument("--generations", type=int, default=30)
    asked = parser.parse_args()
    seeds = range(asked.first, asked.first + asked.problems)
    print(f"{len(seeds)} problems from seed {asked.first} on, delta {DELTA:g}\n")
    print(markdown(measure(seeds, asked.draws, asked.generations)))
