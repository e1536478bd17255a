"""Scores of designs: whole-number counts, the objectives that follow from them, limits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from emsco._base.checks import check_number
from emsco._base.objectives import Objectives
from emsco._base.typing import BoolArray, FloatArray, IntArray

_LARGEST = 1e300
_ROUNDING = 1e-9  # relative; a cost this close above a limit is still within it


@dataclass(frozen=True, slots=True)
class CostLimits:
    """Limits on the cost and the delay of a design.

    Parameters
    ----------
    mean : float or None
        Largest mean cost of a scored row.
    worst : float or None
        Largest cost of a single row. A rejected row costs most: it pays for all features of the
        design and for the evaluation of all its stages.
    mean_delay : float or None
        Longest mean time that a scored row waits.
    worst_delay : float or None
        Longest time that a single row waits. A rejected row waits longest: for all stages.

    Examples
    --------
    >>> str(CostLimits(mean=20, worst=110.5))
    'a mean cost of at most 20 and a worst-case cost of at most 110.5'
    >>> str(CostLimits(worst_delay=2))
    'a worst-case delay of at most 2'
    """

    mean: float | None = None
    worst: float | None = None
    mean_delay: float | None = None
    worst_delay: float | None = None

    def __post_init__(self) -> None:
        """Check that the limits are costs and times."""
        for name in ("mean", "worst", "mean_delay", "worst_delay"):
            if getattr(self, name) is not None:
                check_number(name, getattr(self, name), 0, _LARGEST)

    def __str__(self) -> str:
        """The limits in words."""
        named = {
            "mean cost": self.mean,
            "worst-case cost": self.worst,
            "mean delay": self.mean_delay,
            "worst-case delay": self.worst_delay,
        }
        return " and ".join(
            f"a {name} of at most {m:g}" for name, m in named.items() if m is not None
        )

    @property
    def has_delays(self) -> bool:
        """Whether a delay is limited."""
        return self.mean_delay is not None or self.worst_delay is not None

    def most_spent(self, n_rows: int, per_one: int = 1) -> float:
        """Most that all rows together may cost, in units; `per_one` units are a cost of 1."""
        return _most(self.mean, n_rows * per_one)

    def most_paid(self, per_one: int = 1) -> float:
        """Most that a single row may cost, in units; `per_one` units are a cost of 1."""
        return _most(self.worst, per_one)

    def beyond_delays(self, mean: FloatArray, worst: FloatArray) -> FloatArray:
        """Time above the limits on the mean and the worst delay of each design, added up."""
        beyond = np.zeros(len(mean))
        for limit, waited in ((self.mean_delay, mean), (self.worst_delay, worst)):
            over = waited > _most(limit, 1)
            # Above the limit itself, not above the room for rounding.
            beyond[over] += waited[over] - (limit or 0.0)
        return beyond


def _most(limit: float | None, factor: float) -> float:
    """Convert a limit to units, with room for rounding; infinity if there is none."""
    return np.inf if limit is None else limit * factor * (1 + _ROUNDING)


@dataclass(frozen=True, eq=False)
class Scores:
    """Results of designs on the scored rows.

    Parameters
    ----------
    n_rows : int
        Scored rows; with several splits, a row counts once per split that scores it.
    exits, correct_exits : ndarray of shape (n_designs, max_stages)
        Rows that leave at each stage, and the correct ones among them.
    spent : ndarray of shape (n_designs,)
        Cost of all rows together, as a whole number of units if the costs allow.
    per_one : int
        Units that make a cost of 1.
    excess : ndarray of shape (n_designs,), optional
        Amount by which each design exceeds the limits, as a share of the cost of all features,
        and of their delays one after the other; 0 for designs within the limits. None: no limits.
    by_class : ndarray of shape (n_designs, 2, n_classes), optional
        Accepted and correct rows of each class, over all stages. With them, `accuracy` is the
        balanced one.
    rejected_exits : ndarray of shape (n_designs, max_stages), optional
        Rows that each stage is the last to judge without a label, if the designs branch.
    """

    n_rows: int
    exits: IntArray
    correct_exits: IntArray
    spent: IntArray | FloatArray
    per_one: int = 1
    excess: FloatArray | None = None
    by_class: IntArray | None = None
    rejected_exits: IntArray | None = None

    def __len__(self) -> int:
        """Number of designs."""
        return len(self.spent)

    def __getitem__(self, which: IntArray | BoolArray | list[int]) -> Self:
        """The scores of some of the designs."""
        return type(self)(
            self.n_rows,
            self.exits[which],
            self.correct_exits[which],
            self.spent[which],
            self.per_one,
            None if self.excess is None else self.excess[which],
            None if self.by_class is None else self.by_class[which],
            None if self.rejected_exits is None else self.rejected_exits[which],
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Join the scores of several sets of designs, in order."""
        limited = any(part.excess is not None for part in parts)
        by_class = [part.by_class for part in parts if part.by_class is not None]
        return cls(
            parts[0].n_rows,
            np.concatenate([part.exits for part in parts]),
            np.concatenate([part.correct_exits for part in parts]),
            np.concatenate([part.spent for part in parts]),
            parts[0].per_one,
            # Parts without limits are within them.
            np.concatenate([part.beyond for part in parts]) if limited else None,
            np.concatenate(by_class) if by_class else None,
        )

    @property
    def metric(self) -> str:
        """The metric that `accuracy` is: "accuracy" or "balanced_accuracy"."""
        return "accuracy" if self.by_class is None else "balanced_accuracy"

    @property
    def beyond(self) -> FloatArray:
        """`excess`, or 0 for each design if there are no limits."""
        return np.zeros(len(self)) if self.excess is None else self.excess

    @cached_property
    def feasible(self) -> BoolArray:
        """Whether each design is within the limits."""
        within: BoolArray = self.beyond == 0
        return within

    @cached_property
    def accepted(self) -> IntArray:
        """Rows that leave with a label."""
        total: IntArray = self.exits.sum(axis=1)
        return total

    @cached_property
    def correct(self) -> IntArray:
        """Rows that leave with the correct label."""
        total: IntArray = self.correct_exits.sum(axis=1)
        return total

    def objectives(self, which: int) -> Objectives:
        """The objectives of one design."""
        columns = self.coverage, self.accuracy, self.cost
        return Objectives(*(float(column[which]) for column in columns))

    @cached_property
    def coverage(self) -> FloatArray:
        """Share of rows that leave with a label."""
        return self.accepted / self.n_rows

    @cached_property
    def accuracy(self) -> FloatArray:
        """Share of the accepted rows that are correct; 0 if none is accepted.

        With `by_class`, the mean of this share over the classes.
        """
        if self.by_class is None:
            # 0 of 0 labels correct is 0.
            return self.correct / np.maximum(self.accepted, 1)
        accepted, correct = self.by_class[:, 0], self.by_class[:, 1]
        balanced: FloatArray = (correct / np.maximum(accepted, 1)).mean(axis=1)
        return balanced

    @cached_property
    def cost(self) -> FloatArray:
        """Mean cost of all rows, including rejected ones."""
        return self.spent / (self.per_one * self.n_rows)

    def errors_behind(self, one: Scores) -> FloatArray:
        """Standard errors by which designs are behind one, in coverage or accuracy; 0 if in none.

        The errors are those of the coverage and the accuracy of that one design.
        """
        behind = np.zeros(len(self))
        n_accepted = max(1, int(one.accepted[0]))
        for name, n_rows in (("coverage", self.n_rows), ("accuracy", n_accepted)):
            best = float(getattr(one, name)[0])
            # A share of 0 or 1 has no spread by its formula, but one row could have changed it.
            error = np.sqrt(max(best * (1 - best), 1 / n_rows) / n_rows)
            behind = np.maximum(behind, (best - getattr(self, name)) / error)
        return behind
