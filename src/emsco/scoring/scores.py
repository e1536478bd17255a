"""Counts of what designs do, the objectives that follow from them, and limits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco.costs import FeatureCosts

if TYPE_CHECKING:
    from emsco.scoring.outcomes import Outcomes
    from emsco.scoring.rows import ScoredRows

_ROUNDING = 1e-9  # relative; a cost this close above a limit is still within it
_BY_DESIGN = ("exits", "correct_exits", "spent", "excess", "by_class", "rejected_exits")


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
    """

    mean: float | None = None
    worst: float | None = None
    mean_delay: float | None = None
    worst_delay: float | None = None

    def __str__(self) -> str:
        """The limits in words."""
        names = "mean cost", "worst-case cost", "mean delay", "worst-case delay"
        limits = zip(names, self._limits, strict=True)
        return " and ".join(f"a {name} of at most {m:g}" for name, m in limits if m is not None)

    @property
    def _limits(self) -> tuple[float | None, ...]:
        return self.mean, self.worst, self.mean_delay, self.worst_delay

    @property
    def most(self) -> FloatArray:
        """Each limit with room for rounding; infinity where there is none."""
        return np.array([np.inf if m is None else m * (1 + _ROUNDING) for m in self._limits])

    @property
    def has_delays(self) -> bool:
        """Whether a delay is limited."""
        return self.mean_delay is not None or self.worst_delay is not None

    def excess(self, figures: ArrayLike, costs: FeatureCosts) -> FloatArray:
        """How far designs are above the limits, all added up; 0 if they are within them.

        `figures` has a line for each limit and a column for each design. Each counts as a share of
        the cost of all features, or of their delays one after the other.
        """
        wholes = np.repeat([costs.total or 1.0, costs.delays.sum() or 1.0], 2)
        over = np.maximum(np.asarray(figures).T - self.most, 0) / wholes
        excess: FloatArray = over.sum(axis=1)
        return excess


@dataclass(frozen=True, eq=False)
class Counts:
    """What designs do with the scored rows, as sums: an entry for each design.

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
        How far each design is above the limits; 0 within them, and where there are none.
    by_class : ndarray of shape (n_designs, 2, n_classes), optional
        Accepted and correct rows of each class, over all stages: then `accuracy` is the balanced
        one. By default, of all classes together.
    rejected_exits : ndarray of shape (n_designs, max_stages), optional
        Rows that each stage is the last to judge without a label, if a walk has counted them.
    """

    n_rows: int
    exits: IntArray
    correct_exits: IntArray
    spent: IntArray | FloatArray
    per_one: int = 1
    excess: Any = None
    by_class: Any = None
    rejected_exits: Any = None

    def __post_init__(self) -> None:
        """Fill in what was not given."""
        if self.excess is None:
            object.__setattr__(self, "excess", np.zeros(len(self.spent)))
        if self.by_class is None:
            of_all = np.stack([self.accepted, self.correct], axis=1)
            object.__setattr__(self, "by_class", of_all[:, :, None])

    @classmethod
    def of_outcomes(
        cls, designs: Iterable[Outcomes], scored: ScoredRows, metric: str = "accuracy"
    ) -> Self:
        """Score designs by what they do with each row, each by its weight in units."""
        of_stages, of_classes, spent = [], [], []
        for outcomes in designs:
            counts = outcomes.counts(scored, scored.units).astype(np.int64)
            accepted = counts[:, :, :-1].sum(axis=2)  # by class and stage
            correct = np.diagonal(counts, axis1=0, axis2=2).T
            of_stages.append(np.sum([accepted, correct, counts[:, :, -1]], axis=1))
            of_classes.append(np.sum([accepted, correct], axis=2))
            spent.append(scored.units @ outcomes.paid)
        most = max(one.shape[1] for one in of_stages)
        wide = [np.pad(one, ((0, 0), (0, most - one.shape[1]))) for one in of_stages]
        exits, correct_exits, rejected_exits = np.stack(wide, axis=1)
        return cls(
            int(scored.units.sum()),
            exits,
            correct_exits,
            np.array(spent),
            by_class=None if metric == "accuracy" else np.array(of_classes),
            rejected_exits=rejected_exits,
        )

    def __len__(self) -> int:
        """Number of designs."""
        return len(self.spent)

    def __getitem__(self, which: IntArray | BoolArray | list[int]) -> Self:
        """The scores of some of the designs."""
        some: dict[str, Any] = {}
        for name in _BY_DESIGN:
            column = getattr(self, name)
            some[name] = None if column is None else column[which]
        return replace(self, **some)

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Join the scores of several sets of designs, in order."""
        joined: dict[str, Any] = {}
        for name in _BY_DESIGN:
            columns = [getattr(part, name) for part in parts]
            lacks = any(column is None for column in columns)
            joined[name] = None if lacks else np.concatenate(columns)
        return replace(parts[0], **joined)

    @property
    def metric(self) -> str:
        """The metric that `accuracy` is: "accuracy" or "balanced_accuracy"."""
        return "accuracy" if self.by_class.shape[2] == 1 else "balanced_accuracy"

    @cached_property
    def feasible(self) -> BoolArray:
        """Whether each design is within the limits."""
        within: BoolArray = self.excess == 0
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

    @cached_property
    def coverage(self) -> FloatArray:
        """Share of rows that leave with a label."""
        return self.accepted / self.n_rows

    @cached_property
    def accuracy(self) -> FloatArray:
        """Share of the accepted rows that are correct, as a mean over `by_class`; 0 of 0 is 0."""
        accepted, correct = self.by_class[:, 0], self.by_class[:, 1]
        shares: FloatArray = (correct / np.maximum(accepted, 1)).mean(axis=1)
        return shares

    @cached_property
    def cost(self) -> FloatArray:
        """Mean cost of all rows, including rejected ones."""
        return self.spent / (self.per_one * self.n_rows)

    def errors_behind(self, one: Counts) -> FloatArray:
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
