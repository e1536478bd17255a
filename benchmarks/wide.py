"""What a time limit does on a table of many columns, whose models take long.

python benchmarks/wide.py [--rows 2000] [--columns 1000] [--time-limit 10] [--seed 0]

Processor time counts, since other work on the machine counts less in it.
"""

from __future__ import annotations

import argparse
import datetime
import warnings
from time import perf_counter, process_time

import numpy as np

from emsco import EMSCOClassifier


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--columns", type=int, default=1000)
    parser.add_argument("--time-limit", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    X = rng.normal(size=(asked.rows, asked.columns))
    slope = rng.normal(size=asked.columns) * (rng.random(asked.columns) < 0.1)
    y = (X @ slope + rng.normal(size=asked.rows) > 0).astype(int)
    costs = rng.integers(1, 20, asked.columns).astype(float)
    warnings.simplefilter("ignore")  # so few rows for so many columns look odd
    clf = EMSCOClassifier(costs, time_limit=asked.time_limit, random_state=asked.seed, n_jobs=1)
    cpu, wall = process_time(), perf_counter()
    clf.fit(X, y)
    cpu, wall = process_time() - cpu, perf_counter() - wall
    print(f"{datetime.date.today()}, {asked.rows:,} × {asked.columns:,}, seed {asked.seed}")
    print(f"time_limit={asked.time_limit:g}: {cpu:.0f} s of processor time, {wall:.0f} s")
    print(f"{len(clf.front_)} points; {clf.stop_reason_}")


if __name__ == "__main__":
    main()
