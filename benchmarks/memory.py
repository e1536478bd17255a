"""Peak memory of a fit on 100,000 × 50 rows, beyond the memory of the loaded data.

As a script with a memory limit, it makes the fit and prints the peak in MiB; Linux only.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np

ROWS, FEATURES = 100_000, 50


def status(key: str) -> float:
    """Read a line of this process's status, in MiB."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1]) / 1024


def fit(memory_limit: str) -> tuple[float, int, float]:
    """Fit once; return the peak in MiB, the subsets fitted, and the seconds."""
    from emsco import EMSCOClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, FEATURES))
    y = X[:, :10].sum(axis=1) + rng.normal(scale=2, size=ROWS) > 0
    before = status("VmRSS")
    clf = EMSCOClassifier(
        population_size=50,
        generations=3,
        cv=1 / 3,
        memory_limit=memory_limit,
        n_jobs=-1,
        random_state=0,
    ).fit(X, y)
    last = clf.history_[-1]
    return status("VmHWM") - before, last.n_subsets, last.seconds


def report() -> None:
    """Print the peak under two limits."""
    for limit in ("1GiB", "2MB"):
        done = subprocess.check_output([sys.executable, __file__, limit], text=True)
        peak, n_subsets, seconds = map(float, done.split())
        print(
            f"{ROWS:,} × {FEATURES}, population 50, 3 generations, memory_limit {limit}: "
            f"{peak:.0f} MiB above the data ({n_subsets:.0f} subsets, {seconds:.1f} s)"
        )


if __name__ == "__main__":
    print(*fit(sys.argv[1]))
