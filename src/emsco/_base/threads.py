"""Tasks in threads; rows in parts, one for each thread, if there are enough of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import TypeVar

import numpy as np

__all__ = ["by_parts", "in_threads"]

_MANY = 100_000  # fewer rows than this take less time than starting threads
_MOST_THREADS = 8

S = TypeVar("S")
T = TypeVar("T")


def by_parts(n_rows: int, job: Callable[[slice], T]) -> list[T]:
    """Call `job` on slices that cover all rows, in threads, and return its results in order.

    Few rows are a single slice.
    """
    if n_rows < _MANY:
        return [job(slice(0, n_rows))]
    n_threads = min(_n_cores(), _MOST_THREADS)
    edges = np.linspace(0, n_rows, n_threads + 1, dtype=np.int64).tolist()
    return in_threads(job, [slice(*edge) for edge in pairwise(edges)])


def in_threads(job: Callable[[S], T], tasks: Sequence[S], most: int = _MOST_THREADS) -> list[T]:
    """Call `job` on each task, in at most `most` threads, and return its results in order.

    0 or 1 start none.
    """
    n_threads = min(_n_cores(), len(tasks), most)
    if n_threads <= 1:
        return [job(task) for task in tasks]
    with ThreadPoolExecutor(n_threads) as threads:
        return list(threads.map(job, tasks))


def _n_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
