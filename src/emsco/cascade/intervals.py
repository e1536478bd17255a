"""95 % intervals of the figures of an evaluation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from emsco._base.intervals import LEVEL, Interval
from emsco._base.objectives import Objectives
from emsco.cascade.effective import EffectiveRows
from emsco.trust.by_class import ByClass
from emsco.trust.intervals import cost_interval, normal_interval, share_intervals

__all__ = ["Intervals"]


@dataclass(frozen=True, slots=True)
class Intervals:
    """95 % intervals of the figures of an evaluation.

    Shares have Clopper and Pearson's intervals, which are exact. The mean cost has the interval of
    Learned-Miller and Thomas (2019), which is the same if a row can have two costs. Sample weights
    and groups make both approximate. They are then computed for an *effective* number of rows: with
    weights by Kish's formula, with groups from how far groups differ (Korn and Graubard, 1998).
    If the cost of a row is not fixed by its stage, as with some rivals, Student's interval is used.

    Attributes
    ----------
    kind : {"exact", "weights", "groups"}
    coverage, accuracy, cost : Interval
    exits : tuple of Interval
        Accuracy of each stage.
    recall, precision : tuple of Interval
        For each class: the share of its rows with the correct label, and the share of its labels
        that are correct.
    """

    kind: str
    coverage: Interval
    accuracy: Interval
    cost: Interval
    exits: tuple[Interval, ...]
    recall: tuple[Interval, ...]
    precision: tuple[Interval, ...]

    @classmethod
    def from_counts(
        cls,
        found: Objectives,
        rows: EffectiveRows,
        exit_accuracy: Sequence[float],
        by_class: ByClass,
        costs: Sequence[tuple[float, float]],
        cost_deviation: float | None,
    ) -> Self:
        """Compute the intervals of figures, given the effective number of rows behind each.

        `costs` has the cost and the share of the rows of each exit. If rows of one exit differ in
        cost, `cost_deviation` is the standard deviation over all rows.
        """
        coverage, accuracy = share_intervals(
            np.array([found.coverage, found.accuracy]) * [rows.coverage, rows.accuracy],
            [rows.coverage, rows.accuracy],
        )
        if cost_deviation is None:
            paid, shares = np.array(costs).T
            cost = cost_interval(paid, shares * rows.cost)
        else:
            cost = normal_interval(found.cost, cost_deviation, rows.cost)
        return cls(
            rows.kind,
            coverage,
            accuracy,
            cost,
            exits=_shares(exit_accuracy, rows.exits),
            recall=_shares(by_class.recall, rows.recall),
            precision=_shares(by_class.precision, rows.precision),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        single = {name: list(getattr(self, name)) for name in ("coverage", "accuracy", "cost")}
        many = {
            name: [list(one) for one in getattr(self, name)]
            for name in ("exits", "recall", "precision")
        }
        return {"level": LEVEL, "kind": self.kind, **single, **many}


def _shares(shares: Any, rows: Sequence[float]) -> tuple[Interval, ...]:
    return share_intervals(np.asarray(shares) * np.asarray(rows), rows) if len(rows) else ()
