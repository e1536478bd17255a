"""Timing, shared by the benchmarks."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

SEED = 0
CORES = os.cpu_count() or 1


def best_of(n: int, job: Callable[[], object]) -> float:
    """Shortest of n timings, in seconds."""
    times = []
    for _ in range(n):
        started = time.perf_counter()
        job()
        times.append(time.perf_counter() - started)
    return min(times)
