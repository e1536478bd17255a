"""Standings of methods over splits, and paired tests of their differences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import stats

from emsco._base.objectives import Objectives
from emsco._base.typing import FloatArray
from emsco.stats.error_costs import ErrorCosts
from emsco.stats.tests import ALPHA, holm, margin, paired_p_values
from emsco_lab.trials import TEST_SHARE, Offer, Question

SHARED = TEST_SHARE / (1 - TEST_SHARE)  # test rows per row that is fitted or chosen on
AHEAD, LEVEL, BEHIND = "ahead", "level", "behind"
DIGITS = 9  # beyond these digits, figures differ by rounding alone


@dataclass(frozen=True, eq=False)
class Standing:
    """A method's offers to one question on many splits, one or more repeats on each.

    Attributes
    ----------
    offers : dict of int to sequence of Offer
        By split, in ascending order.
    total_cost : float
        All costs are divided by it; 1 leaves them as they are.
    """

    offers: Mapping[int, Sequence[Offer]]
    total_cost: float = 1.0

    @property
    def question(self) -> Question:
        """The limits that were asked for."""
        return next(iter(self.offers.values()))[0].question

    @property
    def splits(self) -> tuple[int, ...]:
        """Splits with offers."""
        return tuple(self.offers)

    @property
    def n_repeats(self) -> int:
        """Most repeats on a split."""
        return max(map(len, self.offers.values()))

    @cached_property
    def by_split(self) -> FloatArray:
        """Coverage, accuracy and cost on the test rows, (n_splits, 3), averaged over repeats."""
        return np.array([one.mean(axis=0) for one in self._repeats])

    @cached_property
    def promised(self) -> FloatArray:
        """The same on the rows that chose."""
        return np.array(
            [
                self._figures([offer.promised for offer in offers]).mean(axis=0)
                for offers in self.offers.values()
            ]
        )

    @cached_property
    def _repeats(self) -> list[FloatArray]:
        """Coverage, accuracy and cost of each repeat on the test rows, split by split."""
        return [self._figures([offer.seen for offer in offers]) for offers in self.offers.values()]

    def _figures(self, objectives: Iterable[Objectives]) -> FloatArray:
        table = [[one.coverage, one.accuracy, one.cost / self.total_cost] for one in objectives]
        return np.array(table, dtype=np.float64)

    @property
    def accuracy(self) -> FloatArray:
        """Accuracy of each split on the test rows."""
        return self.by_split[:, 1]

    @property
    def log_loss(self) -> FloatArray:
        """Mean log loss of labelled test rows, by split."""
        return np.array(
            [np.mean([offer.seen.log_loss for offer in one]) for one in self.offers.values()]
        )

    @property
    def promised_total(self) -> FloatArray:
        """Mean total of a row that offers of the lowest total promised, by split."""
        return np.array(
            [np.mean([offer.promised_total for offer in one]) for one in self.offers.values()],
            dtype=np.float64,
        )

    def money(self, costs: ErrorCosts) -> FloatArray:
        """Mean total of a test row, by split, if errors and rejections cost so much."""
        return np.array(
            [
                np.mean([offer.seen.money(costs) for offer in offers])
                for offers in self.offers.values()
            ]
        )

    def recall(self, shares: Mapping[int, FloatArray]) -> FloatArray | None:
        """Share of each class that gets its correct label on test rows, (n_splits, n_classes).

        NaN for a class without test rows; None if some results have no classes.

        Parameters
        ----------
        shares : dict of int to ndarray of shape (n_classes,)
            Share of the test rows that are of each class, by split.
        """
        table = []
        for split, offers in self.offers.items():
            share = np.where(shares[split] > 0, shares[split], np.nan)
            if any(len(offer.seen.wrong) != len(share) for offer in offers):
                return None
            missed = [np.add(offer.seen.wrong, offer.seen.rejected) for offer in offers]
            table.append(np.clip(1 - np.mean(missed, axis=0) / share, 0.0, 1.0))
        return np.array(table)

    @cached_property
    def mean(self) -> Objectives:
        """Averaged over splits."""
        return Objectives(*(float(column.mean()) for column in self.by_split.T))

    @cached_property
    def margin(self) -> Objectives:
        """95 % margins of error of these means over splits; 0 for a single split."""
        return Objectives(*(margin_of(column) for column in self.by_split.T))

    @property
    def repeat_margin(self) -> Objectives:
        """95 % margins of error of a split's mean over repeats, averaged over splits.

        The paper prints this margin for its one split.
        """
        return Objectives(*np.mean([margin(one) for one in self._repeats], axis=0).tolist())

    @property
    def overspent(self) -> float:
        """Mean share of the cost of everything beyond the budget; 0 where it was kept."""
        return float(np.maximum(0.0, self.by_split[:, 2] - self.question.budget).mean())

    @property
    def short(self) -> float:
        """Mean coverage below the one asked for; 0 where it was kept."""
        return float(np.maximum(0.0, self.question.coverage - self.by_split[:, 0]).mean())


def margin_of(figures: FloatArray) -> float:
    """95 % margin of error of a mean over splits, which share rows."""
    return float(margin(figures[:, None], SHARED)[0])


@dataclass(frozen=True, slots=True)
class Duel:
    """Two methods on the same splits, in one figure or in coverage, accuracy and cost.

    Attributes
    ----------
    gains : tuple of float
        Mean advantage of the first in each figure; below 0 where the second is better.
    p_values : tuple of float
        One per gain, by the paired t-test for splits that share rows, corrected by Holm's method
        over all duels that are tested together.
    n_splits, n_won, n_lost : int
        Splits in common, splits where the first is better in some figure and worse in none, and
        splits where the second is.
    method, rival : str
    budget : float or None
        None if the figures are of all budgets, or of none.
    """

    gains: tuple[float, ...]
    p_values: tuple[float, ...]
    n_splits: int
    n_won: int
    n_lost: int
    method: str = ""
    rival: str = ""
    budget: float | None = None

    @property
    def gain(self) -> float:
        """The gain, if there is one figure."""
        return self.gains[0]

    @property
    def p_value(self) -> float:
        """The p-value, if there is one figure."""
        return self.p_values[0]

    @property
    def verdict(self) -> str:
        """The outcome in a word or two.

        In one figure the first is ahead or behind beyond chance, else level. In three, to dominate
        takes a significant gain and no mean loss.

        Examples
        --------
        >>> Duel((0.0, 0.1, 5.0), (1.0, 0.01, 0.2), 10, 4, 0).verdict
        'dominates'
        >>> Duel((0.1,), (0.01,), 10, 4, 0).verdict
        'ahead'
        """
        sure = [
            gain for gain, p in zip(self.gains, self.p_values, strict=True) if gain and p < ALPHA
        ]
        better, worse = any(gain > 0 for gain in sure), any(gain < 0 for gain in sure)
        if len(self.gains) == 1:
            return AHEAD if better else BEHIND if worse else LEVEL
        if better and min(self.gains) >= 0:
            return "dominates"
        if worse and max(self.gains) <= 0:
            return "is dominated"
        if better and worse:
            return "trades"
        if better:
            return "is ahead"
        return "is behind" if worse else "no difference"


def corrected_p_values(
    gains: Sequence[FloatArray], min_deviation: float = 0.0
) -> list[list[float]]:
    """Test every column of tables of gains, (n_splits, n_figures), and correct all tests together.

    Deviations between splits count as `min_deviation` or more.
    """
    raw = [paired_p_values(table, SHARED, min_deviation) for table in gains]
    corrected = iter(holm([p for some in raw for p in some]).tolist())
    return [[next(corrected) for _ in some] for some in raw]


def duels(first: Standing, others: Sequence[Standing]) -> list[Duel]:
    """Compare a method with others in all three objectives, and correct all tests together."""
    gains = [_gains(first, other) for other in others]
    return [
        Duel(
            gains=tuple(table.mean(axis=0).tolist()) if len(table) else (0.0, 0.0, 0.0),
            p_values=tuple(p_values),
            n_splits=len(table),
            n_won=int((table.any(axis=1) & (table >= 0).all(axis=1)).sum()),
            n_lost=int((table.any(axis=1) & (table <= 0).all(axis=1)).sum()),
        )
        for table, p_values in zip(gains, corrected_p_values(gains), strict=True)
    ]


def _gains(first: Standing, second: Standing) -> FloatArray:
    """Advantage of the first on each common split (line) and in each objective (column).

    Rounded to nine digits: the mean of equal repeats may be off by a last bit, which tests and
    counts of wins would take for a difference.
    """
    common = [split for split in first.splits if split in second.splits]
    better = np.array([1.0, 1.0, -1.0])  # coverage and accuracy up, cost down
    mine, their = (
        one.by_split[[one.splits.index(split) for split in common]] * better
        for one in (first, second)
    )
    # Relative to the largest figure of an objective, since costs may have any unit; never 0.
    size = np.abs([*mine, *their, np.full(3, 1e-300)]).max(axis=0)
    gains: FloatArray = ((mine - their) / size).round(DIGITS) * size
    return gains


def ranks_of(figures: Mapping[str, float]) -> dict[str, float]:
    """Rank methods by a figure, the largest first, from 1; equal ones share the mean rank."""
    places = stats.rankdata([-round(figure, DIGITS) for figure in figures.values()])
    return dict(zip(figures, places.tolist(), strict=True))


def mean_ranks(cells: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Mean rank of every method over the cells that it is in, the best method first."""
    ranks: dict[str, list[float]] = {}
    for cell in cells:
        for method, rank in cell.items():
            ranks.setdefault(method, []).append(rank)
    means = {method: float(np.mean(some)) for method, some in ranks.items()}
    return dict(sorted(means.items(), key=lambda item: item[1]))
