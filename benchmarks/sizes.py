"""How far a fit goes on this machine: processor time and memory for tables of rising size.

python benchmarks/sizes.py [--sizes 10000x20,100000x50,1000000x50] [--estimator logistic]

Each size runs in a process of its own, at default settings, on a table in float32. Memory is the
peak above the loaded table and libraries, also in bytes for each value of the table; Linux only.
"""

from __future__ import annotations

import argparse
import datetime
import subprocess
import sys
from time import perf_counter, process_time

from gpu import make_rows
from memory import status


def fit(n_rows: int, n_features: int, estimator: str, seed: int) -> None:
    """Fit once, after a small fit that loads what is compiled; print a line of figures."""
    from emsco import EMSCOClassifier

    X, y = make_rows(n_rows, n_features, seed)
    costs = [1 + i % 7 for i in range(n_features)]
    clf = EMSCOClassifier(costs, estimator=estimator, n_jobs=-1, random_state=seed)
    EMSCOClassifier(costs, estimator=estimator, generations=2, random_state=0).fit(X[:900], y[:900])
    before, cpu, wall = status("VmRSS"), process_time(), perf_counter()
    clf.fit(X, y)
    cpu, wall, peak = process_time() - cpu, perf_counter() - wall, status("VmHWM") - before
    per_value = peak * 2**20 / (n_rows * n_features)
    screened = (
        f"{clf.refinement_.n_screened:,}"
        if clf.refinement_ and clf.refinement_.n_screened
        else "all"
    )
    print(
        f"| {n_rows:,} × {n_features} | {screened} | {cpu:.0f} | {wall:.0f} | {peak:,.0f} | "
        f"{per_value:.1f} | {len(clf.front_)} |",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="10000x20,100000x50,1000000x50")
    parser.add_argument("--estimator", default="logistic")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        n_rows, n_features = map(int, asked.one.split("x"))
        fit(n_rows, n_features, asked.estimator, asked.seed)
        return
    print(f"{datetime.date.today()}, {asked.estimator} stages, seed {asked.seed}")
    print("| rows × features | rows searched on | CPU s | s | MiB above | bytes a value | points |")
    print("|---|---|---|---|---|---|---|", flush=True)
    for size in asked.sizes.split(","):
        own = [sys.executable, __file__, "--one", size, "--estimator", asked.estimator]
        subprocess.run([*own, "--seed", str(asked.seed)], check=True)


if __name__ == "__main__":
    main()
