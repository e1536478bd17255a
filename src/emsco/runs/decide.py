"""Decide the rows of a file with a cascade, in chunks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from emsco._base.checks import refused
from emsco._base.documents import PathLike
from emsco._base.typing import IntArray
from emsco.cascade import Cascade
from emsco.data.frames import Columns
from emsco.data.tables import read_chunks
from emsco.data.writing import write_table
from emsco.errors import Parameter

__all__ = ["DecisionCounts", "decide_file"]


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
    """

    n_rows: int
    n_accepted: int
    exits: tuple[int, ...]
    cost: float
    cost_of_everything: float

    @classmethod
    def from_exits(
        cls, cascade: Cascade, n_rows: int, exits: IntArray, spent: float | None = None
    ) -> DecisionCounts:
        """Add up costs from the exits, so that chunks of any size give the same total.

        `spent` is what all rows paid, if they have prices of their own.
        """
        n_accepted = int(exits.sum())
        cost = exits @ cascade.stage_costs + (n_rows - n_accepted) * cascade.stage_costs[-1]
        cost = cost if spent is None else spent
        everything = n_rows * cascade.costs.total
        return cls(n_rows, n_accepted, tuple(exits.tolist()), float(cost), everything)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def decide_file(
    cascade: Cascade,
    new: PathLike,
    out: PathLike,
    keep: tuple[str, ...] = (),
    report: Callable[[int], None] | None = None,
) -> DecisionCounts:
    """Decide every row of a file, and write its label, confidence, stage and cost.

    The file is processed in chunks, so it may be larger than memory.

    Parameters
    ----------
    cascade : Cascade
    new, out : path
        CSV or Parquet; `out` appears once all rows are decided.
    keep : tuple of str
        Columns of `new` to copy before the decisions.
    report : callable, optional
        ``report(n_rows)`` receives the number of rows decided so far.
    """
    if Path(new).resolve() == Path(out).resolve():
        raise refused(
            "out", ("be another file than ", Parameter("new")), out, got=f"{str(out)!r} for both"
        )
    encoding = cascade.encoding
    exits = np.zeros(cascade.n_stages, dtype=np.int64)
    n_rows, spent = 0, 0.0
    columns = list(dict.fromkeys([*encoding.columns, *cascade.stages.prices.columns]))
    with write_table(out) as table:
        for chunk in read_chunks(new, columns, keep, encoding.kinds):
            rows = encoding.rows(chunk.table, chunk.first + 1, str(new))
            prices = cascade.row_prices(chunk.table, len(rows), first_row=chunk.first + 1)
            decisions = cascade.decide_rows(rows, prices)
            spent += float(decisions.cost.sum())
            table.write(_side_by_side(chunk.kept, decisions.columns()))
            leaving = decisions.stage[decisions.accepted] - 1
            exits += np.bincount(leaving, minlength=len(exits))
            n_rows += len(decisions)
            if report:
                report(n_rows)
    own = spent if len(cascade.stages.prices) else None
    return DecisionCounts.from_exits(cascade, n_rows, exits, own)


def _side_by_side(kept: Columns, decided: Columns) -> Columns:
    if twice := [name for name in kept if name in decided]:
        raise refused(
            "keep",
            f"name columns other than those of decisions ({', '.join(decided)})",
            tuple(kept),
            got=repr(twice[0]),
            hint="rename it",
        )
    return {**kept, **decided}
