"""Decide many rows by buying features on demand, with retries, timeouts and concurrency."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import dataclass, field, fields, replace
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from emsco._base.checks import check_number, check_whole
from emsco._base.text import brief, message_of
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray, Report
from emsco.cascade import telemetry
from emsco.cascade.case import check_budget, over_budget
from emsco.cascade.decisions import Decisions
from emsco.cascade.stages import Stages
from emsco.costs import GivenPrices
from emsco.data.answers import answer_rows
from emsco.data.rows import LARGEST, what_is_wrong
from emsco.errors import CostsError, DataError, ParameterError

if TYPE_CHECKING:
    import asyncio

Acquire: TypeAlias = Callable[[list[str], list[Any]], Any]
AsyncAcquire: TypeAlias = Callable[[list[str], list[Any]], Awaitable[Any]]

_NOT_PLAIN = "acquire must be a plain function, got an async one; await arun()."


@dataclass(frozen=True, slots=True, eq=False)
class Bought:
    """Values that a source returns together with what they turned out to cost.

    Attributes
    ----------
    values : table
        As `acquire` returns it without this class.
    spent : mapping
        Name of a feature with prices by row → what each row paid, in the order of the ids; or one
        number for all.
    why_missing : mapping
        Position of a row in the ids → why a value of it is missing. If the cascade refuses
        missing values, this is the reason of its rejection.
    """

    values: Any
    spent: Mapping[str, Any]
    why_missing: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Retries:
    """Number of retries after `acquire` fails, and the pause before the first, in seconds.

    Each further pause is twice as long.
    """

    retries: int = 2
    pause: float = 0.1

    def __post_init__(self) -> None:
        """Check both settings."""
        check_whole("retries", self.retries, 0)
        check_number("pause", self.pause, 0, np.inf, "[)")

    def pauses(self) -> Iterator[float | None]:
        """Seconds to wait after each attempt; None after the last."""
        pause = float(self.pause)
        for _ in range(self.retries):
            yield pause
            pause *= 2
        yield None


def run(
    batches: Sequence[Batch], acquire: Acquire, retries: Retries, report: Report | None
) -> Decisions:
    """Decide many rows with a plain `acquire`; see `Cascade.run`."""
    # Found out before the first call, which would buy something.
    if inspect.iscoroutinefunction(acquire):
        raise ParameterError(_NOT_PLAIN)
    try:
        for done, batch in enumerate(batches, start=1):
            while batch.needs:
                with batch.purchase():
                    _ask(batch, acquire, retries)
            if report:
                report(done, len(batches))
        return _joined(batches)
    except KeyboardInterrupt:
        while True:  # pressing Ctrl-C again does not lose the decisions
            with suppress(KeyboardInterrupt):
                decisions = _stopped(batches, "interrupted")
                break
        warnings.warn("Interrupted; the decisions so far are kept.", stacklevel=3)
        return decisions


async def run_async(
    batches: Sequence[Batch],
    acquire: AsyncAcquire,
    concurrency: int,
    timeout: float | None,
    retries: Retries,
    report: Report | None,
) -> Decisions:
    """Decide many rows with an async `acquire`; see `Cascade.arun`."""
    import asyncio  # only here and below, since few buy so

    check_whole("concurrency", concurrency, 1)
    if timeout is not None:
        check_number("timeout", timeout, 0, np.inf, "(]")
    waiting, done, stopping = iter(batches), count(1), asyncio.Event()

    async def work() -> None:
        for batch in waiting:
            while batch.needs:
                with batch.purchase():
                    await _ask_async(batch, acquire, timeout, retries, stopping)
            if report:
                report(next(done), len(batches))

    # As many workers as may ask at a time; they share one iterator of batches.
    tasks = [asyncio.create_task(work()) for _ in range(min(concurrency, len(batches)))]
    try:
        ended, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in ended:
            task.result()  # errors of `acquire` became reasons; raise any other error
    except BaseException as error:
        stopping.set()
        for task in tasks:
            task.cancel()
        # Whatever they were doing, nobody may go on buying after this.
        await asyncio.gather(*tasks, return_exceptions=True)
        if isinstance(error, asyncio.CancelledError):
            # An exception class of our own would not do: asyncio.timeout() looks for this one.
            error.__dict__["decisions"] = _stopped(batches, "cancelled")
        raise
    return _joined(batches)


def _ask(batch: Batch, acquire: Acquire, retries: Retries) -> None:
    """Buy the next features of a batch; reject its rows if the last attempt fails."""
    for pause in retries.pauses():
        try:
            table = acquire(list(batch.needs), batch.ids)
        except Exception as error:  # the user's function may raise anything
            if pause is None:
                batch.reject(_failure(error))
            else:
                time.sleep(pause)
        else:
            if inspect.iscoroutine(table):
                # A coroutine that nobody awaits would complain later.
                table.close()
                raise ParameterError(_NOT_PLAIN)
            _hand_over(batch, table)
            return


async def _ask_async(
    batch: Batch,
    acquire: AsyncAcquire,
    timeout: float | None,
    retries: Retries,
    stopping: asyncio.Event,
) -> None:
    """Await the next features of a batch; reject its rows if the last attempt fails."""
    import asyncio

    for pause in retries.pauses():
        deadline = asyncio.timeout(timeout)
        try:
            async with deadline:
                answer = acquire(list(batch.needs), batch.ids)
                table = await answer if inspect.isawaitable(answer) else None
        except (Exception, asyncio.CancelledError) as error:  # `acquire` may cancel its own tasks
            if stopping.is_set():
                raise asyncio.CancelledError from None
            if pause is None:
                late = f"no answer within {timeout:g} s" if deadline.expired() else None
                batch.reject(_failure(error, late))
            else:
                await asyncio.sleep(pause)
        else:
            if stopping.is_set():  # `acquire` caught its cancellation and returned a table
                raise asyncio.CancelledError
            if not inspect.isawaitable(answer):
                raise ParameterError(
                    "acquire must be an async function here, got one that returns "
                    f"{brief(answer)}; a plain one goes with run()."
                )
            _hand_over(batch, table)
            return


def _hand_over(batch: Batch, table: Any) -> None:
    try:
        if isinstance(table, Bought):
            batch.give(table.values, table.spent, table.why_missing)
        else:
            batch.give(table)
    except (CostsError, DataError) as error:  # a retry would return the same table
        batch.reject(_failure(error))


def _failure(error: BaseException, words: str | None = None) -> str:
    # A group of one error is that error in a wrapper.
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]  # a TaskGroup wraps the error of its task
    words = words or ": ".join(filter(None, (type(error).__name__, message_of(error))))
    return f"could not be acquired: {words}"


def batches_of(
    stages: Stages,
    ids: Sequence[Any],
    acquire: object,
    budget: float | None,
    batch_size: int | None,
    prices: GivenPrices,
) -> list[Batch]:
    """Check the arguments of `Cascade.run` and split the rows into batches."""
    if isinstance(ids, (str, bytes)) or not isinstance(ids, Iterable):
        raise ParameterError(f"ids must be a sequence, one id per row, got {brief(ids)}.")
    if not callable(acquire):
        raise ParameterError(f"acquire must be a function of names and ids, got {brief(acquire)}.")
    # Database drivers accept plain numbers, not those of NumPy.
    rows = ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
    limit, size = check_budget(budget), len(rows) or 1
    if batch_size is not None:
        size = check_whole("batch_size", batch_size, 1)
    known = stages.prices.of_rows(len(rows), prices, rows)
    return [
        Batch(stages, rows[at : at + size], limit, known[at : at + size])
        # An empty list of rows makes one empty batch, so that the decisions have their columns.
        for at in range(0, max(len(rows), 1), size)
    ]


def _stopped(batches: Sequence[Batch], reason: str) -> Decisions:
    """Reject all undecided rows and return the decisions."""
    for batch in batches:
        while batch.needs:  # rows of each part in turn
            batch.reject(reason)
    return _concatenated(batches)


def _joined(batches: Sequence[Batch]) -> Decisions:
    """Return the decisions, and warn of rows whose features could not be acquired."""
    decisions = _concatenated(batches)
    if failures := [reason for batch in batches for reason in batch.failures]:
        # Of equally common reasons, the first.
        commonest = max(dict.fromkeys(failures), key=failures.count)
        warnings.warn(
            f"{len(failures)} of {len(decisions)} rows were rejected because their features could "
            f"not be acquired; `reasons` says why, most often: {brief(commonest)[1:-1]}.",
            stacklevel=4,
        )
    return decisions


def _concatenated(batches: Sequence[Batch]) -> Decisions:
    decisions = Decisions.concatenate([batch.decisions() for batch in batches])
    ids = [one for batch in batches for one in batch.all_ids]
    # Integers and text keep their types, all other ids become objects.
    kinds, array = {type(one) for one in ids}, np.fromiter(ids, dtype=object, count=len(ids))
    with suppress(OverflowError):
        # NumPy drops trailing zero characters, and such ids would no longer be the same.
        if kinds == {int} or (kinds == {str} and not any(one.endswith("\0") for one in ids)):
            array = np.array(ids, dtype=np.int64 if kinds == {int} else np.str_)
    return replace(decisions, ids=array)


class Batch:
    """Rows that go through the stages together; the batch itself does no input or output.

    Parameters
    ----------
    stages : Stages
    ids : sequence
        Identify the rows.
    budget : float or None
        Highest cost of a row.
    prices : ndarray of shape (n_rows, n_priced), optional
        What rows pay for features with prices by row; NaN where it is not known yet.

    Attributes
    ----------
    all_ids : list
        Ids of all rows, decided or not.
    """

    def __init__(
        self,
        stages: Stages,
        ids: Sequence[Any],
        budget: float | None = None,
        prices: FloatArray | None = None,
    ) -> None:
        n_rows = len(ids)
        shape = n_rows, len(stages.prices)
        self._prices = np.full(shape, np.nan) if prices is None else prices
        self._stages, self.all_ids, self._budget = stages, list(ids), budget
        self._rows = np.zeros((n_rows, stages.encoding.n_inputs))
        self._now = self._check_next(_Progress.of(n_rows, len(stages)))

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the columns to buy next; empty once all rows are decided."""
        return self._stages.columns[self._now.stage_now] if len(self._now.asked) else ()

    @property
    def ids(self) -> list[Any]:
        """Ids of the undecided rows that need these columns; other rows have their turn later."""
        return [self.all_ids[i] for i in self._now.asked]

    @property
    def failures(self) -> list[str]:
        """One reason for each row that `reject` ended or whose values could not be used."""
        return self._now.failures

    @contextmanager
    def purchase(self) -> Iterator[None]:
        """Record a span while the needed columns are bought; see `trace_purchases`."""
        if telemetry.tracer is None:
            yield
            return
        asked, stage = self._now.asked, self._now.stage_now
        with telemetry.tracer.start_as_current_span(
            telemetry.NAME,
            attributes={
                **telemetry.attributes_of(self._stages, stage),
                "emsco.rows": len(asked),
            },
            record_exception=False,  # its message may have values
            set_status_on_exception=False,
        ) as span:
            yield
            # Rows that this stage has judged; the others got nothing that they could use.
            paid = asked[self._now.stage[asked] > stage]
            costs, before = self._costs(self._prices[paid]), self._stages.stage_before(stage)
            price = costs[:, stage + 1] - costs[:, before + 1]
            span.set_attribute("emsco.price", float(price.sum()))
            span.set_attribute("emsco.rows_failed", len(asked) - len(paid))
            if len(paid) < len(asked):
                telemetry.mark_failed(span)

    def give(
        self,
        table: Any,
        spent: Mapping[str, Any] | None = None,
        why_missing: Mapping[int, str] | None = None,
    ) -> None:
        """Take the needed columns of the undecided rows, in the order of `ids`, and judge them.

        Rows with values that are not valid are rejected, and so are rows with missing values if
        the cascade refuses these. The other rows go on. `spent` has what rows paid for features
        with prices by row, if that was not known before, and `why_missing` has reasons for
        missing values.
        """
        prices, asked = self._stages.prices, self._now.asked
        if spent is not None:
            paid = prices.of_rows(len(asked), spent, what="spent")
            # What was known before stays where nothing new was said.
            self._prices[asked] = np.where(np.isnan(paid), self._prices[asked], paid)
        prices.check_paid(np.full(len(asked), self._now.stage_now), self._prices[asked])
        # A copy, which becomes the state only at the end.
        now = self._now.copy()
        stage = now.stage_now
        encoding = self._stages.encoding.only(self._stages.buys[stage])
        values = answer_rows(encoding, table, len(asked))
        refused = ~(np.abs(values) <= LARGEST)  # written so that NaN fails too
        if encoding.gaps != "refuse":
            refused &= ~np.isnan(values)
        for i in np.flatnonzero(refused.any(axis=1)):
            first = int(np.argmax(refused[i]))
            value, column = float(values[i, first]), encoding.input_columns[first]
            kind = "value" if encoding.kinds[column] == "category" else "number"
            got = f"no {kind}" if np.isnan(value) else what_is_wrong(value)[1]
            reason = f"stage {stage + 1} got {got} for {column!r}"
            if np.isnan(value) and why_missing and int(i) in why_missing:
                reason = f"could not be acquired: {why_missing[int(i)]}"
            now.failures.append(reason)
            now.reject(asked[[i]], now.failures[-1])
        usable = ~refused.any(axis=1)
        rows = asked[usable]
        # Only columns that this stage bought; those of earlier stages are there already.
        self._rows[rows[:, None], self._stages.inputs[stage]] = values[usable]
        self._judge(now, stage, rows)
        self._now = self._check_next(now)

    def reject(self, reason: str) -> None:
        """Reject the rows that need values now."""
        now = self._now.copy()
        now.failures += [reason] * len(now.asked)
        now.reject(now.asked, reason)
        self._now = self._check_next(now)

    def decisions(self) -> Decisions:
        """Return the decisions in the order of `all_ids`."""
        now, delays = self._now, np.array([0.0, *self._stages.delays])
        why_labelled = self._stages.why_labelled[now.stage - 1, now.winner]
        return Decisions(
            guesses=self._stages.classes[now.winner],
            accepted=now.accepted,
            confidence=now.confidence,
            stage=now.stage,
            # Column 0 is the cost before any stage, so that the stage is the position.
            cost=self._costs(self._prices)[np.arange(len(now.stage)), now.stage],
            reasons=np.where(now.accepted, why_labelled, now.reasons),
            delay=delays[now.stage] if self._stages.delays else None,
            paths_to=self._stages.paths_to,
        )

    def _costs(self, prices: FloatArray) -> FloatArray:
        """Cost of each row before the first stage, and after each."""
        free = np.zeros((len(prices), 1))
        if not len(self._stages.prices):
            return np.hstack([free, np.tile(self._stages.costs, (len(prices), 1))])
        return np.hstack([free, self._stages.prices.after_stages(prices)])

    def _judge(self, now: _Progress, stage: int, rows: IntArray) -> None:
        """Let a stage judge rows, and find the next stage of those that it is not sure of."""
        stages, values = self._stages, self._rows[rows]
        left, winner, confidence = stages.judge(values, stage, stage + 1)
        sure = left == stage
        on, unsure = rows[~sure], ~sure
        now.coming[rows] = len(stages)
        now.coming[on] = stages.go_on(stage, values[unsure], winner[unsure], confidence[unsure])
        relabelled = stages.relabelled(values, stage)
        now.winner[rows], now.confidence[rows] = relabelled or (winner, confidence)
        now.stage[rows] = stage + 1
        now.accepted[rows[sure]] = True
        ends = on[now.coming[on] == len(stages)]
        now.reject(ends, stages.why_rejected(self._rows[ends], stage))

    def _check_next(self, now: _Progress) -> _Progress:
        """Judge rows whose next stage buys nothing; reject rows that it would take past the budget.

        Returns once some row needs a value, or all are decided.
        """
        while len(rows := now.asked):
            stage = now.stage_now
            if not self._stages.columns[stage]:
                self._judge(now, stage, rows)
                continue
            if self._budget is None:
                return now
            # What the row would have paid after the next stage.
            costs = self._costs(self._prices[rows])[:, stage + 1]
            is_over = costs > self._budget
            if not is_over.any():
                return now
            for row, cost in zip(rows[is_over], costs[is_over].tolist(), strict=True):
                now.reject(np.array([row]), over_budget(stage, cost, self._budget))
        return now


@dataclass(slots=True, eq=False)
class _Progress:
    """How far the rows of a batch are.

    A step changes a copy, which then takes the place of the old one at once: after Ctrl-C in the
    middle of a step, the batch is as before it.
    """

    n_stages: int
    coming: IntArray  # next stage of each row; the number of stages if it is decided
    stage: IntArray  # last stage that judged each row, from 1
    winner: IntArray
    confidence: FloatArray
    accepted: BoolArray
    reasons: AnyArray
    failures: list[str]

    @classmethod
    def of(cls, n_rows: int, n_stages: int) -> _Progress:
        """No row has passed a stage."""
        return cls(
            n_stages=n_stages,
            coming=np.zeros(n_rows, dtype=np.int64),
            stage=np.zeros(n_rows, dtype=np.int64),
            winner=np.zeros(n_rows, dtype=np.int64),
            confidence=np.full(n_rows, np.nan),
            accepted=np.zeros(n_rows, dtype=np.bool_),
            reasons=np.empty(n_rows, dtype=object),
            failures=[],
        )

    def copy(self) -> _Progress:
        """Copy all that a step may change."""
        return replace(self, **{one.name: copy(getattr(self, one.name)) for one in fields(self)})

    @property
    def stage_now(self) -> int:
        """The first stage that some row has yet to pass; parts of a branch have their turns."""
        return int(self.coming.min(initial=self.n_stages))

    @property
    def asked(self) -> IntArray:
        """Rows that this stage is to judge; none once all rows are decided."""
        stage = self.stage_now
        return np.flatnonzero(self.coming == stage) if stage < self.n_stages else np.arange(0)

    def reject(self, rows: IntArray, reason: str | AnyArray) -> None:
        """Decide rows without a label; the reason may differ from row to row."""
        self.reasons[rows] = reason
        self.coming[rows] = self.n_stages
