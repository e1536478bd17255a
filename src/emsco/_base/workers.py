"""Tasks in threads or processes; an exception ends them all."""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from itertools import islice, pairwise
from typing import Any, TypeVar

import numpy as np

_MANY = 100_000  # fewer rows than this take less time than starting threads
_MOST_THREADS = 8
_BLOCK = 65_536  # rows
_LOOK = 1.0  # seconds between looks at the parent of a worker

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


def in_threads(
    job: Callable[[S], T], tasks: Sequence[S], max_threads: int = _MOST_THREADS
) -> list[T]:
    """Call `job` on each task, in at most `max_threads` threads, and return its results in order.

    0 or 1 start none.
    """
    n_threads = min(_n_cores(), len(tasks), max_threads)
    if n_threads <= 1:
        return [job(task) for task in tasks]
    with ThreadPoolExecutor(n_threads) as threads:
        return list(threads.map(job, tasks))


def _n_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Workers:
    """A pool of threads that starts on first use.

    Parameters
    ----------
    n_jobs : int
        Number of threads. It changes the time taken and nothing else.
    """

    def __init__(self, n_jobs: int = 1) -> None:
        self.n_jobs = n_jobs
        self._threads: ThreadPoolExecutor | None = None

    def run(
        self,
        job: Callable[[Any], None],
        tasks: Sequence[Any],
        report: Callable[[int, int], None] | None = None,
    ) -> None:
        """Do all tasks, in threads if there are several; an exception leaves none running."""
        if self.n_jobs == 1 or len(tasks) <= 1:
            for done, task in enumerate(tasks, start=1):
                job(task)
                if report:
                    report(done, len(tasks))
            return
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.n_jobs, thread_name_prefix="emsco")
        futures = [self._threads.submit(job, task) for task in tasks]
        try:
            for done, future in enumerate(futures, start=1):
                future.result()
                if report:
                    report(done, len(tasks))
        finally:
            for future in futures:
                future.cancel()
            wait(futures)

    def map(self, job: Callable[[Any], T], tasks: Sequence[Any]) -> list[T]:
        """Do all tasks as `run` does; return their results in order."""
        results: list[Any] = [None] * len(tasks)

        def keep(i: int) -> None:
            results[i] = job(tasks[i])

        self.run(keep, range(len(tasks)))
        return results


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Yield lists of at most `size` items."""
    rest = iter(items)
    while few := list(islice(rest, size)):
        yield few


def slices(n: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` that cover `n` items."""
    return (slice(start, start + size) for start in range(0, n, max(1, size)))


def row_blocks(n_rows: int) -> list[slice]:
    """Cut the rows of a table into blocks, always the same ones; even no rows are a block."""
    return list(slices(max(1, n_rows), _BLOCK))


def in_processes(
    job: Callable[[Any], Any],
    tasks: Sequence[Any],
    n_jobs: int | None,
    report: Callable[[int, int], None] | None = None,
) -> Generator[Any, None, None]:
    """Yield the results of tasks in their order. Stopping early also stops the processes."""
    import joblib

    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    results = parallel(joblib.delayed(ending_with_parent(job))(task) for task in tasks)
    try:
        for done, result in enumerate(results, start=1):
            yield result
            if report:
                report(done, len(tasks))
    finally:
        with warnings.catch_warnings():
            # joblib warns about unused results, but stopping early is intended.
            warnings.simplefilter("ignore")
            results.close()


def ending_with_parent(job: Callable[..., Any]) -> Callable[..., Any]:
    """Return a job for joblib whose worker process ends when this process is killed.

    Otherwise a worker finishes its job first, and then waits minutes for the next one.
    """
    return _WithParent(job, os.getpid())


@dataclass(frozen=True, slots=True)
class _WithParent:
    """A job, and the process that hands it out."""

    job: Callable[..., Any]
    parent: int

    def __call__(self, *given: Any) -> Any:
        # A job may also run in that process itself, or on a cluster, where nobody is its child.
        if os.getppid() == self.parent:
            _watch(self.parent)
        return self.job(*given)


@cache
def _watch(parent: int) -> None:
    """Start a thread that ends this process when its parent is no more."""

    def watch() -> None:
        while os.getppid() == parent:  # an orphan is given another parent, but not on Windows
            time.sleep(_LOOK)
        os._exit(1)

    threading.Thread(target=watch, name="emsco parent", daemon=True).start()


def one_thread() -> Any:
    """Limit matrix products and scikit-learn to one thread: with more, last bits may differ."""
    return _controller().limit(limits=1)


@cache
def _controller() -> Any:
    """The thread pools of this process. Finding them is slow, so it is done once."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
