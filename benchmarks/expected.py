"""Expected figures against the truth, on random problems whose truth is known.

python benchmarks/expected.py [--problems 200] [--first 2000] [--quick] [--estimator logistic]

Each problem has 100 to 1,000 rows of 6 to 12 features with random costs, and 20,000 more rows that
tell the truth. For each rule, the design that it deploys; for "points", 20 designs of the front.
Columns: mean of scored minus true, and of expected minus true, in percentage points; the share
of problems whose 95 % interval holds the truth; and the mean width of intervals of accuracy,
divided by that of the Wilson interval for as many rows. Seeds before 2000 were used to build it.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator

from emsco import EMSCOClassifier, ParetoFront, ParetoPoint
from emsco._base.progress import JobProgress
from emsco.errors import EMSCOWarning
from emsco.stats.expected import share_estimate

N_TRUE = 20_000
RULES = ("economical", "one_standard_error", "balanced", "accurate", "knee")
NAMES = ("coverage", "accuracy", "cost")


def rows_of(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Rows, labels and costs of a random problem, and the number of rows to fit on."""
    rng = np.random.default_rng(seed)
    n_features = int(rng.integers(6, 13))
    n_rows = int(np.exp(rng.uniform(np.log(100), np.log(1000))))
    X = rng.normal(size=(n_rows + N_TRUE, n_features)) @ _mixing(n_features, rng)
    weights = np.zeros(n_features)
    n_useful = int(rng.integers(3, n_features))
    weights[:n_useful] = rng.normal(size=n_useful) * rng.uniform(0.8, 2)
    logit = X @ rng.permutation(weights) + rng.choice([0.0, 0.0, 1.0])
    logit += 0.5 * rng.integers(0, 2) * X[:, 0] * X[:, 1]
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-logit))).astype(int)
    costs = np.round(np.exp(rng.normal(size=n_features)) * 5 + 1)
    return X, y, costs, n_rows


def _mixing(n_features: int, rng: Generator) -> np.ndarray:
    return np.eye(n_features) + 0.4 * rng.normal(size=(n_features, n_features)) / n_features**0.5


def lines_of(seed: int, estimator: str, generations: int) -> Iterator[tuple[str, np.ndarray]]:
    """Name of a rule, and what the design it chooses was off by; see `_off`."""
    X, y, costs, n_rows = rows_of(seed)
    clf = EMSCOClassifier(
        costs, estimator=estimator, generations=generations, random_state=seed, n_jobs=-1
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EMSCOWarning)
        clf.fit(X[:n_rows], y[:n_rows])
    new, front = (X[n_rows:], y[n_rows:]), clf.front_
    for rule in RULES:
        yield rule, _off(front, front.prefer(rule), new, n_rows)
    order = np.random.default_rng(seed).permutation(len(front)).tolist()
    some = [i for i in order if front[i].coverage >= 0.05][:20]
    yield "points", np.mean([_off(front, front[i], new, n_rows) for i in some], axis=0)


def _off(
    front: ParetoFront, point: ParetoPoint, new: tuple[np.ndarray, np.ndarray], n_rows: int
) -> np.ndarray:
    """Scored and expected minus true, whether the interval holds, and its width; by figure."""
    true, found = front.cascade(point).evaluate(*new), []
    for name in NAMES:
        unit = front.costs.total if name == "cost" else 1.0
        scored, expected, kept = (getattr(one, name) for one in (point, point.expected, true))
        plain = share_estimate(expected.value, max(1.0, point.coverage * n_rows))
        holds = expected.low <= kept <= expected.high
        width = (expected.high - expected.low) / (plain.high - plain.low)
        found.append([(scored - kept) / unit, (expected.value - kept) / unit, holds, width])
    return np.array(found, dtype=float).T


def main() -> None:
    """Print a line for each rule and figure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--problems", type=int, default=200)
    parser.add_argument("--first", type=int, default=2000)
    parser.add_argument("--quick", action="store_true", help="20 problems, 20 generations")
    parser.add_argument("--estimator", default="logistic")
    asked = parser.parse_args()
    n_problems, generations = (20, 20) if asked.quick else (asked.problems, 60)
    found: dict[str, list[np.ndarray]] = {}
    with JobProgress("problems") as progress:
        for i in range(n_problems):
            for rule, line in lines_of(asked.first + i, asked.estimator, generations):
                found.setdefault(rule, []).append(line)
            progress.job(i + 1, n_problems, "")
    print(f"{'':31}{'scored off':>12}{'expected off':>20}{'holds':>8}{'width':>8}")
    for rule, lines in found.items():
        means, spread = np.mean(lines, axis=0), np.std(lines, axis=0)
        for j, name in enumerate(NAMES):
            error = spread[1, j] / n_problems**0.5
            width = f"{means[3, j]:8.2f}" if name == "accuracy" else ""
            print(
                f"{rule:20}{name:11}{100 * means[0, j]:12.2f}{100 * means[1, j]:12.2f} ± "
                f"{100 * error:5.2f}{means[2, j]:8.1%}{width}"
            )


if __name__ == "__main__":
    main()
