"""Decide the rows of a file with a cascade, in chunks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from emsco._base.checks import refused
from emsco._base.documents import PathLike
from emsco._base.typing import FloatArray, IntArray
from emsco.app.files.reading import AS_FOUND, Reading
from emsco.app.files.table_files import by_line, read_chunks, write_table
from emsco.cascade import Cascade
from emsco.errors import Parameter


@dataclass(frozen=True, slots=True)
class DecisionCounts:
    """Totals of the decisions about a file.

    Attributes
    ----------
    n_rows, n_accepted : int
    exits : tuple of int
        Rows that each stage accepted.
    cost, cost_of_everything : float
        Total cost of all rows, and the total if every row bought every feature, at its usual price.
    exit_costs : tuple of float
        Mean cost of a row that leaves at each stage, and of a rejected one.
    """

    n_rows: int
    n_accepted: int
    exits: tuple[int, ...]
    cost: float
    cost_of_everything: float
    exit_costs: tuple[float, ...]

    @classmethod
    def from_exits(cls, cascade: Cascade, exits: IntArray, spent: FloatArray) -> DecisionCounts:
        """Add up costs from the exits, so that chunks of any size give the same total.

        `exits` has the rows of each stage, and the rejected ones; `spent` what they paid, which
        counts if they have prices of their own.
        """
        n_rows, costs = int(exits.sum()), np.append(cascade.stage_costs, cascade.stage_costs[-1])
        if len(cascade.stages.prices):
            # With prices by row, an exit costs what its rows paid on average; one without rows, the
            # usual.
            costs = np.divide(spent, exits, out=costs.copy(), where=exits > 0)
        return cls(
            n_rows,
            n_rows - int(exits[-1]),
            tuple(exits[:-1].tolist()),
            float(exits @ costs),
            n_rows * cascade.costs.total,
            tuple(costs.tolist()),
        )


def check_other_file(out: PathLike | None, read: PathLike, name: str) -> None:
    """Refuse to write over the file that is read; `name` is its parameter."""
    # The file would be gone before it is read to the end.
    if out is not None and Path(out).resolve() == Path(read).resolve():
        rule = ("be another file than ", Parameter(name))
        raise refused("out", rule, out, got=f"{str(out)!r} for both")


def decide_file(
    cascade: Cascade,
    new: PathLike,
    out: PathLike,
    keep: tuple[str, ...] = (),
    report: Callable[[int], None] | None = None,
    reading: Reading = AS_FOUND,
) -> DecisionCounts:
    """Decide every row of a file, and write its label, confidence, stage and cost.

    The file is processed in chunks, so it may be larger than memory.

    Parameters
    ----------
    cascade : Cascade
    new, out : path
        CSV or Parquet; `out` appears once all rows are decided. `new` needs only the columns that
        the design buys, and those with its prices by row.
    keep : tuple of str
        Columns of `new` to copy before the decisions.
    report : callable, optional
        ``report(n_rows)`` receives the number of rows decided so far.
    reading : Reading, optional
        How to read `new`, such as ``Run.reading``.
    """
    check_other_file(out, new, "new")
    exits, spent = np.zeros(cascade.n_stages + 1, dtype=np.int64), np.zeros(cascade.n_stages + 1)
    # A price may be in a column that is also bought.
    columns = list(dict.fromkeys([*cascade.columns, *cascade.stages.prices.columns]))
    with write_table(out) as table, by_line(new, reading):
        for chunk in read_chunks(new, columns, keep, cascade.encoding.kinds, reading=reading):
            rows = cascade.rows(chunk.table, chunk.first + 1, str(new))
            prices = cascade.row_prices(chunk.table, len(rows), first_row=chunk.first + 1)
            decisions = cascade.decide_rows(rows, prices)
            decided = decisions.columns()
            if twice := [name for name in chunk.kept if name in decided]:
                raise refused(
                    "keep",
                    f"name columns other than those of decisions ({', '.join(decided)})",
                    tuple(chunk.kept),
                    got=repr(twice[0]),
                    hint="rename it",
                )
            table.write({**chunk.kept, **decided})
            # Exits from 0, rejected rows last.
            left = np.where(decisions.accepted, decisions.stage - 1, cascade.n_stages)
            exits += np.bincount(left, minlength=len(exits))
            spent += np.bincount(left, decisions.cost, len(spent))
            if report:
                report(int(exits.sum()))
    return DecisionCounts.from_exits(cascade, exits, spent)
