"""Compilation time of the very first fit in a fresh environment.

As a script, it makes one small fit and prints its seconds. `report` runs it in new processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

import numpy as np


def fit_once() -> float:
    from emsco import EMSCOClassifier

    X = np.random.default_rng(0).normal(size=(60, 5))
    started = time.perf_counter()
    EMSCOClassifier(generations=2, cv=1 / 3, random_state=0).fit(X, X[:, 0] > 0).decide(X)
    return time.perf_counter() - started


def report() -> None:
    """Time the first fit with an empty cache, and fits of later processes."""
    with tempfile.TemporaryDirectory() as cache:
        command, environment = [sys.executable, __file__], {**os.environ, "NUMBA_CACHE_DIR": cache}
        first, *later = (
            float(subprocess.check_output(command, env=environment, text=True)) for _ in range(4)
        )
    print(f"first fit, nothing compiled: {first:.1f} s; in later processes: {min(later):.1f} s")
    print(f"  compiling adds {first - min(later):.1f} s")


if __name__ == "__main__":
    print(fit_once())
