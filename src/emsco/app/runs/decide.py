"""Decide the rows of a file with a cascade, in chunks."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from emsco._base.documents import PathLike
from emsco._base.text import what_was_meant
from emsco._base.typing import AnyArray, BoolArray
from emsco.app.files.reading import AS_FOUND, Reading
from emsco.app.files.table_files import (
    Chunk,
    by_line,
    check_columns_there,
    column_names,
    read_chunks,
    write_table,
)
from emsco.cascade import Cascade, Decisions
from emsco.cascade.decisions import NEEDS_BETWEEN, WARNINGS_BETWEEN
from emsco.errors import ParameterError, ReadingWarning


@dataclass(frozen=True, slots=True)
class DecisionCounts:
    """Totals of the decisions about a file.

    Attributes
    ----------
    n_rows, n_accepted, n_rejected, n_waiting : int
        All rows; those with a label, rejected, and not decided until more features are bought.
    exits : tuple of int
        Rows that each stage accepted.
    waiting : tuple of int
        Rows that wait for features of each stage.
    cost, cost_of_everything : float
        Total cost of all rows, and the total if every row bought every feature, at its usual price.
    exit_costs : tuple of float
        Mean cost of a row that leaves at each stage, and of a rejected one.
    waiting_costs : tuple of float
        Mean cost so far of a row that waits for each stage.
    needs : dict
        Column → rows that wait for it, the commonest first.
    warnings : dict
        What is unlike the training rows, column by column → rows, the commonest first.
    absent : tuple of str
        Columns that the file does not have.
    n_missing : int
        Missing values that the cascade took as bought, but not measured.
    """

    n_rows: int
    n_accepted: int
    n_rejected: int
    n_waiting: int
    exits: tuple[int, ...]
    waiting: tuple[int, ...]
    cost: float
    cost_of_everything: float
    exit_costs: tuple[float, ...]
    waiting_costs: tuple[float, ...]
    needs: dict[str, int]
    warnings: dict[str, int]
    absent: tuple[str, ...]
    n_missing: int = 0


class _Counter:
    """Adds up decisions chunk by chunk.

    Rows are counted by place: accepted at each stage, rejected after each stage, and waiting for
    each stage. Costs are added up from these counts, so that chunks of any size give the same
    total; with prices by row, they are what rows paid.
    """

    def __init__(self, cascade: Cascade) -> None:
        n_stages, costs = cascade.n_stages, cascade.stage_costs
        self._cascade = cascade
        self._rows = np.zeros(3 * n_stages, dtype=np.int64)
        self._spent = np.zeros(3 * n_stages)
        # A row that waits for a stage has paid for the one before it; nothing before the first.
        paid_before = np.append(costs, 0.0)[list(cascade.design.before)]
        self._usual = np.concatenate([costs, costs, paid_before])
        self._needs, self._warnings = Counter[str](), Counter[str]()
        self.n_missing = 0

    @property
    def n_rows(self) -> int:
        """Rows so far."""
        return int(self._rows.sum())

    def add(self, decisions: Decisions, needs: pa.Array, warnings: pa.Array) -> None:
        """Count some rows; their needs and warnings are missing where there are none."""
        n_stages = self._cascade.n_stages
        place = decisions.stage - 1 + np.where(decisions.accepted, 0, n_stages)
        if needs.null_count < len(needs) and decisions.waits_for is not None:
            waiting = 2 * n_stages + decisions.waits_for - 1
            place = np.where(decisions.waits_for > 0, waiting, place)
        self._rows += np.bincount(place, minlength=len(self._rows))
        self._spent += np.bincount(place, decisions.cost, len(self._spent))
        _count_parts(self._needs, needs, NEEDS_BETWEEN)
        _count_parts(self._warnings, warnings, WARNINGS_BETWEEN)

    def counts(self, absent: Sequence[str] = ()) -> DecisionCounts:
        """Return the totals; `absent` are the columns that the file does not have."""
        rows, costs = self._rows, self._usual
        if len(self._cascade.stages.prices):
            # A place without rows costs the usual.
            costs = np.divide(self._spent, rows, out=costs.copy(), where=rows > 0)
        labelled, rejected, waiting = np.split(rows, 3)
        cost_labelled, cost_rejected, cost_waiting = np.split(costs, 3)
        # After a branch, rejected rows have paid for different stages.
        ends = np.flatnonzero(rejected)
        mean_rejected = cost_rejected[ends[0] if len(ends) else -1]
        if len(ends) > 1:
            mean_rejected = np.average(cost_rejected[ends], weights=rejected[ends])
        return DecisionCounts(
            n_rows=self.n_rows,
            n_accepted=int(labelled.sum()),
            n_rejected=int(rejected.sum()),
            n_waiting=int(waiting.sum()),
            exits=tuple(labelled.tolist()),
            waiting=tuple(waiting.tolist()),
            cost=float(rows @ costs),
            cost_of_everything=self.n_rows * self._cascade.costs.total,
            exit_costs=(*cost_labelled.tolist(), float(mean_rejected)),
            waiting_costs=tuple(cost_waiting.tolist()),
            needs=dict(self._needs.most_common()),
            warnings=dict(self._warnings.most_common()),
            absent=tuple(absent),
            n_missing=self.n_missing,
        )


def _count_parts(counter: Counter[str], texts: pa.Array, between: str) -> None:
    """Count how many texts have each part."""
    for text, n_rows in Counter(texts.drop_null().to_pylist()).items():
        for part in text.split(between):
            counter[part] += n_rows


def _some_texts(texts: AnyArray) -> pa.Array:
    """Return texts as a PyArrow array in which empty ones are missing."""
    is_empty = texts == ""
    if is_empty.all():
        return pa.nulls(len(texts), pa.string())
    return pa.array(texts, pa.string(), mask=is_empty)


def check_other_file(out: PathLike | None, read: PathLike, name: str) -> None:
    """Refuse to write over the file that is read; `name` is its parameter."""
    # The file would be gone before it is read to the end.
    if out is not None and Path(out).resolve() == Path(read).resolve():
        raise ParameterError(f"out must be another file than {name}, got {str(out)!r} for both.")


def decide_file(
    cascade: Cascade,
    new: PathLike,
    out: PathLike,
    keep: tuple[str, ...] = (),
    report: Callable[[int], None] | None = None,
    reading: Reading = AS_FOUND,
    not_bought: str | None = None,
) -> DecisionCounts:
    """Decide every row of a file as far as its features are bought, and write the decisions.

    Each row gets a label, confidence, stage, cost, the columns to buy next and warnings. The file
    is processed in chunks, so it may be larger than memory.

    Parameters
    ----------
    cascade : Cascade
    new, out : path
        CSV or Parquet; `out` appears once all rows are decided. Columns that the design buys, but
        `new` does not have, are not bought yet.
    keep : tuple of str
        Columns of `new` to copy before the decisions.
    report : callable, optional
        ``report(n_rows)`` receives the number of rows decided so far.
    reading : Reading, optional
        How to read `new`, such as ``Run.reading``.
    not_bought : str, optional
        Text that stands in `new` for a value not bought yet; empty for empty cells. By default it
        is any missing value, and none if the cascade takes missing values.
    """
    check_other_file(out, new, "new")
    counter = _Counter(cascade)
    in_file = column_names(new, reading)
    absent = [name for name in cascade.columns if name not in in_file]
    if len(absent) == len(cascade.columns) and not keep:
        check_columns_there(new, in_file, absent)
    _warn_of_similar(
        new, absent, [name for name in in_file if name not in cascade.encoding.columns]
    )
    # A price may be in a column that is also bought.
    wanted = dict.fromkeys([*cascade.columns, *cascade.stages.prices.costs.price_columns])
    columns = [name for name in wanted if name in in_file]
    with write_table(out) as table, by_line(new, reading):
        for chunk in read_chunks(
            new, columns, keep, cascade.encoding.kinds, reading=reading, marker=not_bought
        ):
            marks = _marks(chunk, cascade.columns)
            decisions = cascade.decide_bought(
                chunk.table,
                not_bought=marks,
                first_row=chunk.first + 1,
                what=str(new),
            )
            decided = dict(decisions.columns())
            # What a row does not have is an empty cell.
            decided["confidence"] = pa.array(decisions.confidence, from_pandas=True)
            for name in ("path", "needs", "warnings"):
                if name in decided:
                    decided[name] = _some_texts(decided[name])
            if twice := [name for name in chunk.kept if name in decided]:
                raise ParameterError(
                    f"keep must name columns other than those of decisions ({', '.join(decided)}), "
                    f"got {twice[0]!r}; rename it."
                )
            table.write({**chunk.kept, **decided})
            counter.add(decisions, decided["needs"], decided["warnings"])
            if cascade.encoding.gaps != "refuse":
                bought = [name for name in cascade.columns if name not in absent]
                counter.n_missing += sum(chunk.table.column(name).null_count for name in bought)
                counter.n_missing -= 0 if marks is None else int(marks.sum())
            if report:
                report(counter.n_rows)
    return counter.counts(absent)


def _warn_of_similar(new: PathLike, absent: Sequence[str], others: Sequence[str]) -> None:
    """Warn of columns that may only be spelt in another way than those that are absent."""
    for name in absent:
        if (meant := what_was_meant(name, others)) != ".":
            warnings.warn(
                ReadingWarning(
                    f"{new} has no column {name!r}, which counts as not bought yet{meant}"
                ),
                stacklevel=3,
            )


def _marks(chunk: Chunk, columns: Sequence[str]) -> BoolArray | None:
    """Return which values of a chunk are marked, (n_rows, n_columns); None without a marker."""
    if chunk.marked is None:
        return None
    marks = np.zeros((len(chunk.marked), len(columns)), dtype=np.bool_)
    for i, name in enumerate(columns):
        if name in chunk.marked.column_names:
            marks[:, i] = chunk.marked.column(name).to_numpy()
    return marks
