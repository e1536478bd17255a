"""Tasks in threads; an exception ends them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import Any

__all__ = ["Workers", "slices"]


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
        futures = [self._pool().submit(job, task) for task in tasks]
        try:
            for done, future in enumerate(futures, start=1):
                future.result()
                if report:
                    report(done, len(tasks))
        finally:
            for future in futures:
                future.cancel()
            wait(futures)

    def _pool(self) -> ThreadPoolExecutor:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(self.n_jobs, thread_name_prefix="emsco")
        return self._threads


def slices(n: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` that cover `n` items."""
    return (slice(start, start + size) for start in range(0, n, max(1, size)))
