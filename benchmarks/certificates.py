"""How often certificates are false, by kind of promise, where the truth sits on the promise.

python benchmarks/certificates.py [--sets 10000] [--rows 150] [--delta 0.05] [--quick]

Every data set has fresh rows and three designs. In the first three columns all designs sit exactly
on the promise: the share of data sets in which any is certified, its limit (delta plus three
standard errors), and whether it holds. The last two columns are about a design far inside its
promises: how often it is certified, and how often a bad design after it is. "Others kept" has three
more promises that are kept by far, and "all together" misses all by a hair.
"""

from __future__ import annotations

import argparse
import math
import sys
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).parents[1] / "tests"))

from support.certificates import KINDS, draw

from emsco.front.certification import check_promises, n_passing
from emsco.stats.promises import Promise

ALL = [promise for promises in KINDS.values() for promise in promises]
KEPT = [Promise("coverage", 0.5), Promise("recall", 0.4, "ill"), Promise("cost", 8.0)]
QUESTIONS = {**KINDS, "accuracy, others kept": [*KINDS["accuracy"], *KEPT], "all together": ALL}
QUESTIONS |= {"weighted accuracy": KINDS["accuracy"]}
QUESTIONS |= {"weighted coverage": KINDS["coverage"], "weighted recall": KINDS["recall"]}


def loosened(promise: Promise) -> Promise:
    """A promise that the drawn designs keep by far."""
    limit = promise.limit * 1.6 if promise.kind == "cost" else promise.limit - 0.18
    return Promise(promise.kind, limit, promise.label)


def rates(
    promises: list[Promise], asked: argparse.Namespace, weighted: bool
) -> tuple[float, float, float]:
    """False certificates; good designs certified; false certificates after a good design."""
    rng, easy = np.random.default_rng(asked.seed), [loosened(promise) for promise in promises]
    counts = np.zeros(3)
    for _ in range(asked.sets):
        designs = [draw(rng, asked.rows) for _ in range(3)]
        weights = rng.uniform(0.2, 2.0, asked.rows) if weighted else None

        def largest(number, wanted, designs=designs, weights=weights):
            checks = check_promises(wanted, designs[number], asked.delta, weights, 2.0)
            return max(check.p_value for check in checks)

        counts[0] += n_passing((largest(i, promises) for i in range(3)), asked.delta) > 0
        good = (largest(i, promises if i else easy) for i in range(3))
        passed = n_passing(good, asked.delta)
        counts[1:] += passed > 0, passed > 1
    return tuple((counts / asked.sets).tolist())


def main() -> None:
    """Print a line per kind of promise."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--sets", type=int, default=10_000)
    parser.add_argument("--rows", type=int, default=150)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="500 data sets")
    asked = parser.parse_args()
    asked.sets = 500 if asked.quick else asked.sets
    most = asked.delta + 3 * math.sqrt(asked.delta * (1 - asked.delta) / asked.sets)
    print(f"{asked.sets:,} data sets of {asked.rows} rows, delta {asked.delta:g}\n")
    print(f"{'promise':22}{'false':>8}{'limit':>8}{'holds':>7}{'good':>8}{'false after':>13}")
    for name, promises in QUESTIONS.items():
        false, good, after = rates(promises, asked, name.startswith("weighted"))
        holds = "yes" if max(false, after) <= most else "NO"
        print(f"{name:22}{false:8.2%}{most:8.2%}{holds:>7}{good:8.1%}{after:13.2%}", flush=True)


if __name__ == "__main__":
    main()
