"""Rows that go through the stages together: what to buy for which of them, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from emsco._typing import AnyArray, FloatArray
from emsco.cascade.case import NEVER_SURE, brief, budget_reason
from emsco.cascade.decisions import Decisions
from emsco.cascade.stages import Stages
from emsco.errors import DataError
from emsco.rows import LARGEST, NUMBERS, column_names, what_is_wrong

__all__ = ["Batch"]


class Batch:
    """Rows that go through the stages together, without any I/O of its own.

    Parameters
    ----------
    stages : Stages
    ids : sequence
        Which rows; handed back as they are.
    budget : float or None
        Most that may be spent on a row.

    Attributes
    ----------
    all_ids : list
    failures : list of str
        Why rows were ended by `reject`, or lacked a number, each with an entry.
    """

    def __init__(self, stages: Stages, ids: Sequence[Any], budget: float | None = None) -> None:
        n_rows = len(ids)
        self._stages, self.all_ids, self._budget = stages, list(ids), budget
        self._rows = np.zeros((n_rows, stages.encoding.n_inputs))
        self._passed = 0  # stages, by the rows that are still undecided
        self._undecided = np.arange(n_rows)
        self._stage, self._winner = np.zeros((2, n_rows), dtype=np.int64)
        self._confidence = np.full(n_rows, np.nan)
        self._accepted = np.zeros(n_rows, dtype=np.bool_)
        self._reasons = np.empty(n_rows, dtype=object)
        self.failures: list[str] = []
        self._check_next()

    @property
    def needs(self) -> tuple[str, ...]:
        """Names of what to buy next, the columns of a group each; none once all are decided."""
        return self._stages.columns[self._passed] if len(self._undecided) else ()

    @property
    def ids(self) -> list[Any]:
        """The rows to buy them for."""
        return [self.all_ids[i] for i in self._undecided]

    def give(self, table: Any) -> None:
        """Take the needed features of the undecided rows, in their order.

        A row with a value that its column cannot have is rejected; the others go on. So is a row
        with a gap, where gaps are refused.
        """
        encode = self._numbers if self._stages.encoding.is_plain else self._encoded
        values, lacking = encode(table)
        for i, reason in lacking.items():
            self.failures.append(reason)
            self._end(self._undecided[i : i + 1], reason)
        usable = np.delete(np.arange(len(values)), list(lacking))
        rows = self._undecided[usable]
        self._rows[rows[:, None], self._stages.inputs[self._passed]] = values[usable]
        self._judge(rows)

    def _numbers(self, table: Any) -> tuple[FloatArray, dict[int, str]]:
        """Inputs of the undecided rows where each is a column of numbers; why rows have none."""
        columns = [_column_values(*column) for column in self._answer(table)]
        values = np.column_stack(columns)
        usable = (np.abs(values) <= LARGEST).all(axis=1)  # written so that NaN fails too
        return values, {int(i): self._lacking(values[i]) for i in np.flatnonzero(~usable)}

    def _encoded(self, table: Any) -> tuple[FloatArray, dict[int, str]]:
        """The same for any columns, row by row."""
        names, stage = self.needs, self._passed
        columns = [_array(_native(column)).tolist() for column, _ in self._answer(table)]
        values = np.full((len(self._undecided), len(self._stages.inputs[stage])), np.nan)
        lacking = {}
        for i, row in enumerate(zip(*columns, strict=True)):
            try:
                given = dict(zip(names, row, strict=True))
                values[i] = self._stages.encoding.row(given, self._stages.buys[stage])
            except DataError as error:
                lacking[i] = f"stage {stage + 1}: {str(error).rstrip('.')}"
        return values, lacking

    def _answer(self, table: Any) -> list[tuple[Any, str]]:
        """Columns of what a source has answered, with their names, as long as they must be."""
        n_rows = len(self._undecided)
        try:
            columns = _columns(table, self.needs)
            lengths = [len(column) for column, _ in columns]
        except DataError:
            raise
        except Exception as error:  # whatever a table of a source's own making may raise
            raise DataError(
                f"acquire must return a table, got {brief(table)} ({error})."
            ) from error
        if wrong := [length for length in lengths if length != n_rows]:
            raise DataError(f"acquire must return {n_rows} rows, one per id, got {wrong[0]}.")
        return columns

    def reject(self, reason: str) -> None:
        """End all rows that are still undecided, without a label."""
        left = self._undecided[~self._accepted[self._undecided]]  # Ctrl-C may come in between
        self.failures += [reason] * len(left)
        self._end(left, reason)
        self._undecided = left[:0]

    def decisions(self) -> Decisions:
        """What is decided, rows in the order of `all_ids`."""
        costs = np.array([0.0, *self._stages.costs])
        sure = np.array([f"sure at stage {j}" for j in range(len(costs))], dtype=object)
        return Decisions(
            guesses=self._stages.classes[self._winner],
            accepted=self._accepted,
            confidence=self._confidence,
            stage=self._stage,
            cost=costs[self._stage],
            reasons=np.where(self._accepted, sure[self._stage], self._reasons),
        )

    def _judge(self, rows: AnyArray) -> None:
        stage = self._passed
        left, self._winner[rows], self._confidence[rows] = self._stages.judge(
            self._rows[rows], stage, stage + 1
        )
        self._stage[rows] = stage + 1
        sure = left == stage
        self._accepted[rows[sure]] = True
        self._undecided = rows[~sure]
        self._passed += 1
        self._check_next()

    def _check_next(self) -> None:
        """End all rows where no stage is left, or the next one would pass the budget."""
        stages, passed, budget = self._stages, self._passed, self._budget
        if passed == len(stages):
            reason = NEVER_SURE
        elif budget is not None and stages.costs[passed] > budget:
            reason = budget_reason(stages, passed, budget)
        else:
            return
        self._end(self._undecided, reason)
        self._undecided = self._undecided[:0]

    def _end(self, rows: AnyArray, reason: str) -> None:
        self._reasons[rows] = reason

    def _lacking(self, values: FloatArray) -> str:
        first = int(np.argmin(np.abs(values) <= LARGEST))
        value = float(values[first])
        got = "no number" if np.isnan(value) else what_is_wrong(value)[1]
        return f"stage {self._passed + 1} got {got} for {self.needs[first]!r}"


def _columns(table: Any, names: tuple[str, ...]) -> list[tuple[Any, str]]:
    """Columns of a 2-D array, a data frame, or a mapping of names to values."""
    if isinstance(table, Mapping) or hasattr(table, "columns"):
        known = list(table) if isinstance(table, Mapping) else column_names(table)
        if missing := [name for name in names if name not in known]:
            raise DataError(f"acquire must return a column {missing[0]!r}, got {brief(known)}.")
        return [(table[name], name) for name in names]
    array = _array(table)
    if array.ndim != 2 or array.shape[1] != len(names):
        raise DataError(
            f"acquire must return a table with the columns {', '.join(map(repr, names))}, "
            f"got {f'shape {array.shape}' if array.ndim else brief(table)}."
        )
    return [(array[:, i], name) for i, name in enumerate(names)]


def _native(column: Any) -> Any:
    return column.to_numpy() if hasattr(column, "to_numpy") else column


def _column_values(column: Any, name: str) -> FloatArray:
    """Numbers of a column; NaN for what is missing or no number."""
    array = _array(_native(column))
    if array.ndim != 1:
        raise DataError(f"acquire must return one value per row for {name!r}, got {array.shape}.")
    if array.dtype.kind in "fiub":
        return array.astype(np.float64)
    if array.dtype.kind != "O":  # text, dates, complex numbers
        return np.full(len(array), np.nan)
    return np.array([_number(value) for value in array], dtype=np.float64)


def _array(values: Any) -> AnyArray:
    """Values as an array, each for itself: text beside a number must not make it text."""
    if np.ma.isMaskedArray(values):
        values = np.ma.filled(values.astype(object), None)
    return np.asarray(values, dtype=object if isinstance(values, (list, tuple)) else None)


def _number(value: Any) -> float:
    """A number as float64; NaN for what is none, infinity for what is too large for one."""
    try:
        return float(value) if isinstance(value, NUMBERS) else math.nan
    except OverflowError:
        return math.inf
