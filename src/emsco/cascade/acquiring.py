"""Many rows whose features are bought on demand: stage by stage, only for those still undecided."""

from __future__ import annotations

import asyncio
import time
import warnings
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any, TypeAlias

import numpy as np

from emsco.cascade.batch import Batch
from emsco.cascade.case import check_budget
from emsco.cascade.decisions import Decisions
from emsco.cascade.stages import Stages
from emsco.errors import DataError
from emsco.parameters import check_number, check_whole

__all__ = ["Acquire", "AsyncAcquire", "Retries", "run", "run_async"]

Acquire: TypeAlias = Callable[[tuple[str, ...], list[Any]], Any]
AsyncAcquire: TypeAlias = Callable[[tuple[str, ...], list[Any]], Awaitable[Any]]
Report: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Retries:
    """How often a failing source is asked again, and the pause before, doubled each time."""

    retries: int = 2
    pause: float = 0.1

    def __post_init__(self) -> None:
        """Check both."""
        check_whole("retries", self.retries, 0)
        check_number("pause", self.pause, 0, np.inf, "[)")

    def pauses(self) -> Iterator[float | None]:
        """Seconds to wait after each attempt; None after the last."""
        for attempt in range(self.retries):
            yield self.pause * 2**attempt
        yield None


def run(
    stages: Stages,
    ids: Sequence[Any],
    acquire: Acquire,
    budget: float | None,
    batch_size: int | None,
    retries: Retries,
    report: Report | None,
) -> Decisions:
    """See `Cascade.run`."""
    batches = _batches(stages, ids, budget, batch_size)
    try:
        for done, batch in enumerate(batches, start=1):
            while batch.needs:
                _ask(batch, acquire, retries)
            if report:
                report(done, len(batches))
    except KeyboardInterrupt:
        warnings.warn("Run interrupted; what was decided so far is kept.", stacklevel=3)
        return _stopped(batches, "interrupted")
    return _joined(batches)


async def run_async(
    stages: Stages,
    ids: Sequence[Any],
    acquire: AsyncAcquire,
    budget: float | None,
    batch_size: int | None,
    concurrency: int,
    timeout: float | None,
    retries: Retries,
    report: Report | None,
) -> Decisions:
    """See `Cascade.arun`."""
    check_whole("concurrency", concurrency, 1)
    if timeout is not None:
        check_number("timeout", timeout, 0, np.inf, "(]")
    batches = _batches(stages, ids, budget, batch_size)
    waiting, done = iter(batches), count(1)

    async def work() -> None:
        for batch in waiting:
            while batch.needs:
                await _ask_async(batch, acquire, timeout, retries)
            if report:
                report(next(done), len(batches))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(batches))):
                group.create_task(work())
    except asyncio.CancelledError as cancelled:
        # Not an exception of our own: asyncio.timeout() looks for this very class.
        cancelled.__dict__["decisions"] = _stopped(batches, "cancelled")
        raise
    return _joined(batches)


def _ask(batch: Batch, acquire: Acquire, retries: Retries) -> None:
    """Have the next features of a batch bought; where that fails for good, its rows end."""
    for pause in retries.pauses():
        try:
            table = acquire(batch.needs, batch.ids)
        except Exception as error:  # whatever a source may raise
            if pause is None:
                batch.reject(_failure(error))
            else:
                time.sleep(pause)
        else:
            _hand_over(batch, table)
            return


async def _ask_async(
    batch: Batch, acquire: AsyncAcquire, timeout: float | None, retries: Retries
) -> None:
    for pause in retries.pauses():
        try:
            async with asyncio.timeout(timeout):
                table = await acquire(batch.needs, batch.ids)
        except Exception as error:
            if pause is None:
                batch.reject(_failure(error, timeout))
            else:
                await asyncio.sleep(pause)
        else:
            _hand_over(batch, table)
            return


def _hand_over(batch: Batch, table: Any) -> None:
    try:
        batch.give(table)
    except DataError as error:  # asking again would bring the same
        batch.reject(_failure(error))


def _failure(error: Exception, timeout: float | None = None) -> str:
    if timeout is not None and isinstance(error, TimeoutError):
        return f"could not be acquired: no answer within {timeout:g} s"
    return f"could not be acquired: {type(error).__name__}: {error}"


def _batches(
    stages: Stages, ids: Sequence[Any], budget: float | None, batch_size: int | None
) -> list[Batch]:
    rows = list(ids)
    limit = check_budget(budget)
    size = len(rows) or 1
    if batch_size is not None:
        size = check_whole("batch_size", batch_size, 1)
    starts = range(0, max(len(rows), 1), size)
    return [Batch(stages, rows[start : start + size], limit) for start in starts]


def _stopped(batches: Sequence[Batch], reason: str) -> Decisions:
    for batch in batches:
        if batch.needs:
            batch.reject(reason)
    return Decisions.concatenate([batch.decisions() for batch in batches])


def _joined(batches: Sequence[Batch]) -> Decisions:
    decisions = Decisions.concatenate([batch.decisions() for batch in batches])
    if n_failed := sum(batch.n_failed for batch in batches):
        warnings.warn(
            f"{n_failed} of {len(decisions)} rows were rejected because their features could not "
            "be acquired; the column reasons says why.",
            stacklevel=3,
        )
    return decisions
