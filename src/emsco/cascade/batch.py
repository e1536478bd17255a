"""A batch: rows that go through the stages together and buy features on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco.cascade.case import why_no_more
from emsco.cascade.decisions import Decisions
from emsco.cascade.stages import Stages
from emsco.data.encoding import Encoding, answer_rows
from emsco.data.rows import LARGEST, what_is_wrong

__all__ = ["Batch"]


class Batch:
    """Rows that go through the stages together; the batch itself does no input or output.

    Parameters
    ----------
    stages : Stages
    ids : sequence
        Identify the rows.
    budget : float or None
        Highest cost of a row.
    prices : ndarray of shape (n_rows, n_priced) or None
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
        self._now = self._check_next(_Progress.of(n_rows))

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the columns to buy next; empty once all rows are decided."""
        return self._stages.columns[self._now.passed] if len(self._now.undecided) else ()

    @property
    def ids(self) -> list[Any]:
        """Ids of the undecided rows."""
        return [self.all_ids[i] for i in self._now.undecided]

    @property
    def failures(self) -> list[str]:
        """One reason for each row that `reject` ended or whose values could not be used."""
        return self._now.failures

    def give(self, table: Any, spent: Mapping[str, Any] | None = None) -> None:
        """Take the needed columns of the undecided rows, in the order of `ids`, and judge them.

        Rows with values that are not valid are rejected, and so are rows with missing values if
        the cascade refuses these. The other rows go on. `spent` has what rows paid for features
        with prices by row, if that was not known before.
        """
        self._pay(spent)
        now = self._now.copy()
        encoding = self._stages.encoding.only(self._stages.buys[now.passed])
        values = answer_rows(encoding, table, len(now.undecided))
        refused = ~(np.abs(values) <= LARGEST)  # written so that NaN fails too
        if encoding.gaps != "refuse":
            refused &= ~np.isnan(values)
        for i in np.flatnonzero(refused.any(axis=1)):
            now.failures.append(_lacking(encoding, now.passed, values[i], refused[i]))
            now.reasons[now.undecided[i]] = now.failures[-1]
        usable = ~refused.any(axis=1)
        rows = now.undecided[usable]
        self._rows[rows[:, None], self._stages.inputs[now.passed]] = values[usable]
        self._now = self._judge(now, rows)

    def reject(self, reason: str) -> None:
        """Reject all undecided rows."""
        now = self._now.copy()
        now.failures += [reason] * len(now.undecided)
        now.end(reason)
        self._now = now

    def decisions(self) -> Decisions:
        """Return the decisions in the order of `all_ids`."""
        now, delays = self._now, np.array([0.0, *self._stages.delays])
        why_labelled = self._stages.why_labelled[now.stage - 1, now.winner]
        return Decisions(
            guesses=self._stages.classes[now.winner],
            accepted=now.accepted,
            confidence=now.confidence,
            stage=now.stage,
            cost=self._costs(self._prices)[np.arange(len(now.stage)), now.stage],
            reasons=np.where(now.accepted, why_labelled, now.reasons),
            delay=delays[now.stage] if self._stages.delays else None,
        )

    def _pay(self, spent: Mapping[str, Any] | None) -> None:
        """Note what the undecided rows paid; the price of what they bought must be known."""
        own, rows = self._stages.prices, self._now.undecided
        if spent is not None:
            paid = own.of_run("spent", spent, len(rows))
            self._prices[rows] = np.where(np.isnan(paid), self._prices[rows], paid)
        for at in own.at(self._now.passed):
            if np.isnan(self._prices[rows, at]).any():
                raise own.unknown(own.features[at])

    def _costs(self, prices: FloatArray) -> FloatArray:
        """Cost of each row before the first stage, and after each."""
        own, free = self._stages.prices, np.zeros((len(prices), 1))
        if not len(own):
            return np.hstack([free, np.tile(self._stages.costs, (len(prices), 1))])
        return np.hstack([free, own.costs(np.where(np.isnan(prices), own.usual, prices))])

    def _judge(self, now: _Progress, rows: AnyArray) -> _Progress:
        """Send rows through their next stage."""
        stage = now.passed
        left, now.winner[rows], now.confidence[rows] = self._stages.label(
            self._rows[rows], stage, stage + 1
        )
        now.stage[rows] = stage + 1
        sure = left == stage
        now.accepted[rows[sure]] = True
        now.undecided, now.passed = rows[~sure], stage + 1
        return self._check_next(now)

    def _check_next(self, now: _Progress) -> _Progress:
        """Reject undecided rows if no stage is left, or if the next would exceed the budget."""
        if not len(self._stages.prices) or now.passed == len(self._stages):
            if reason := why_no_more(self._stages, now.passed, self._budget):
                now.end(reason)
            return now
        rows, stay = now.undecided, []
        for row, cost in zip(rows, self._costs(self._prices[rows])[:, now.passed + 1], strict=True):
            reason = why_no_more(self._stages, now.passed, self._budget, float(cost))
            if reason is None:
                stay.append(row)
            else:
                now.reasons[row] = reason
        now.undecided = np.array(stay, dtype=np.int64)
        return now


@dataclass(slots=True, eq=False)
class _Progress:
    """How far the rows of a batch are.

    A step changes a copy, which then takes the place of the old one at once: after Ctrl-C in the
    middle of a step, the batch is as before it.
    """

    passed: int  # stages that the undecided rows have passed
    undecided: AnyArray
    stage: IntArray
    winner: IntArray
    confidence: FloatArray
    accepted: BoolArray
    reasons: AnyArray
    failures: list[str]

    @classmethod
    def of(cls, n_rows: int) -> _Progress:
        """No row has passed a stage."""
        return cls(
            passed=0,
            undecided=np.arange(n_rows),
            stage=np.zeros(n_rows, dtype=np.int64),
            winner=np.zeros(n_rows, dtype=np.int64),
            confidence=np.full(n_rows, np.nan),
            accepted=np.zeros(n_rows, dtype=np.bool_),
            reasons=np.empty(n_rows, dtype=object),
            failures=[],
        )

    def copy(self) -> _Progress:
        """Copy all that a step may change."""
        return replace(
            self,
            stage=self.stage.copy(),
            winner=self.winner.copy(),
            confidence=self.confidence.copy(),
            accepted=self.accepted.copy(),
            reasons=self.reasons.copy(),
            failures=self.failures.copy(),
        )

    def end(self, reason: str) -> None:
        """Reject all undecided rows."""
        self.reasons[self.undecided] = reason
        self.undecided = self.undecided[:0]


def _lacking(encoding: Encoding, passed: int, values: FloatArray, refused: BoolArray) -> str:
    first = int(np.argmax(refused))
    value, column = float(values[first]), encoding.input_columns[first]
    kind = "value" if encoding.kinds[column] == "category" else "number"
    got = f"no {kind}" if np.isnan(value) else what_is_wrong(value)[1]
    return f"stage {passed + 1} got {got} for {column!r}"
