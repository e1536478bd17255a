"""A batch: rows that go through the stages together and buy features on demand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from emsco._base.typing import AnyArray, BoolArray, FloatArray
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
    failures : list of str
        One reason for each row that `reject` ended or whose values could not be used.
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
        self._passed = 0  # stages that the undecided rows have passed
        self._undecided = np.arange(n_rows)
        self._stage, self._winner = np.zeros((2, n_rows), dtype=np.int64)
        self._confidence = np.full(n_rows, np.nan)
        self._accepted = np.zeros(n_rows, dtype=np.bool_)
        self._reasons = np.empty(n_rows, dtype=object)
        self.failures: list[str] = []
        self._check_next()

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of the columns to buy next; empty once all rows are decided."""
        return self._stages.columns[self._passed] if len(self._undecided) else ()

    @property
    def ids(self) -> list[Any]:
        """Ids of the undecided rows."""
        return [self.all_ids[i] for i in self._undecided]

    def give(self, table: Any, spent: Mapping[str, Any] | None = None) -> None:
        """Take the needed columns of the undecided rows, in the order of `ids`, and judge them.

        Rows with values that are not valid are rejected, and so are rows with missing values if
        the cascade refuses these. The other rows go on. `spent` has what rows paid for features
        with prices by row, if that was not known before.
        """
        self._pay(spent)
        encoding = self._stages.encoding.only(self._stages.buys[self._passed])
        values = answer_rows(encoding, table, len(self._undecided))
        refused = ~(np.abs(values) <= LARGEST)  # written so that NaN fails too
        if encoding.gaps != "refuse":
            refused &= ~np.isnan(values)
        for i in np.flatnonzero(refused.any(axis=1)):
            self.failures.append(self._lacking(encoding, values[i], refused[i]))
            self._end(self._undecided[i : i + 1], self.failures[-1])
        usable = ~refused.any(axis=1)
        rows = self._undecided[usable]
        self._rows[rows[:, None], self._stages.inputs[self._passed]] = values[usable]
        self._judge(rows)

    def reject(self, reason: str) -> None:
        """Reject all undecided rows."""
        # Ctrl-C may stop `_judge` after it accepted rows and before it updated the undecided.
        left = self._undecided[~self._accepted[self._undecided]]
        self.failures += [reason] * len(left)
        self._end(left, reason)
        self._undecided = left[:0]

    def decisions(self) -> Decisions:
        """Return the decisions in the order of `all_ids`."""
        delays = np.array([0.0, *self._stages.delays])
        why_labelled = self._stages.why_labelled[self._stage - 1, self._winner]
        return Decisions(
            guesses=self._stages.classes[self._winner],
            accepted=self._accepted,
            confidence=self._confidence,
            stage=self._stage,
            cost=self._costs(self._prices)[np.arange(len(self._stage)), self._stage],
            reasons=np.where(self._accepted, why_labelled, self._reasons),
            delay=delays[self._stage] if self._stages.delays else None,
        )

    def _pay(self, spent: Mapping[str, Any] | None) -> None:
        """Note what the undecided rows paid; the price of what they bought must be known."""
        own, rows = self._stages.prices, self._undecided
        if spent is not None:
            paid = own.of_run("spent", spent, len(rows))
            self._prices[rows] = np.where(np.isnan(paid), self._prices[rows], paid)
        for at in own.at(self._passed):
            if np.isnan(self._prices[rows, at]).any():
                raise own.unknown(own.features[at])

    def _costs(self, prices: FloatArray) -> FloatArray:
        """Cost of each row before the first stage, and after each."""
        own, free = self._stages.prices, np.zeros((len(prices), 1))
        if not len(own):
            return np.hstack([free, np.tile(self._stages.costs, (len(prices), 1))])
        return np.hstack([free, own.costs(np.where(np.isnan(prices), own.usual, prices))])

    def _judge(self, rows: AnyArray) -> None:
        stage = self._passed
        left, self._winner[rows], self._confidence[rows] = self._stages.label(
            self._rows[rows], stage, stage + 1
        )
        self._stage[rows] = stage + 1
        sure = left == stage
        self._accepted[rows[sure]] = True
        self._undecided = rows[~sure]
        self._passed += 1
        self._check_next()

    def _check_next(self) -> None:
        """Reject undecided rows if no stage is left, or if the next would exceed the budget."""
        if not len(self._stages.prices) or self._passed == len(self._stages):
            if reason := why_no_more(self._stages, self._passed, self._budget):
                self._end(self._undecided, reason)
                self._undecided = self._undecided[:0]
            return
        rows, stay = self._undecided, []
        for row, cost in zip(
            rows, self._costs(self._prices[rows])[:, self._passed + 1], strict=True
        ):
            reason = why_no_more(self._stages, self._passed, self._budget, float(cost))
            if reason is None:
                stay.append(row)
            else:
                self._reasons[row] = reason
        self._undecided = np.array(stay, dtype=np.int64)

    def _end(self, rows: AnyArray, reason: str) -> None:
        self._reasons[rows] = reason

    def _lacking(self, encoding: Encoding, values: FloatArray, refused: BoolArray) -> str:
        first = int(np.argmax(refused))
        value, column = float(values[first]), encoding.input_columns[first]
        kind = "value" if encoding.kinds[column] == "category" else "number"
        got = f"no {kind}" if np.isnan(value) else what_is_wrong(value)[1]
        return f"stage {self._passed + 1} got {got} for {column!r}"
