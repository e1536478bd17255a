"""Everything worth keeping of what a search has seen: the non-dominated designs, ties included."""

from __future__ import annotations

import numpy as np

from emsco._typing import IntArray, StageArray
from emsco.pareto import best_balanced_first, front_mask, simplest_first, tie_groups
from emsco.scoring import Scores

__all__ = ["Archive"]


class Archive:
    """The designs that no design seen so far dominates, however many; equal ones all stay.

    Designs past the limits of costs are kept only until one within them is seen, and only those
    that exceed them the least.

    Parameters
    ----------
    n_features : int
    total_cost : float
        Cost of buying everything, which the balanced score compares with.
    """

    def __init__(self, n_features: int, total_cost: float) -> None:
        # One attribute, so that an interrupt never leaves designs beside scores of others.
        self._kept: tuple[StageArray, Scores | None]
        self._kept = np.zeros((0, n_features), dtype=np.int16), None
        self._total_cost = total_cost

    @property
    def designs(self) -> StageArray:
        """All designs kept."""
        return self._kept[0]

    @property
    def scores(self) -> Scores:
        """Their scores."""
        if self._kept[1] is None:
            raise RuntimeError("add() designs first.")
        return self._kept[1]

    def add(self, designs: StageArray, scores: Scores) -> bool:
        """Take in different designs not seen before; whether one brings new objectives."""
        n_before = len(self.designs)
        if n_before:
            designs = np.concatenate([self.designs, designs])
            scores = Scores.concatenate([self.scores, scores])
        kept = np.flatnonzero(front_mask(scores))
        self._kept = designs[kept], scores[kept]
        group = tie_groups(self.scores)
        return bool((~np.isin(group[kept >= n_before], group[kept < n_before])).any())

    def front(self) -> tuple[StageArray, Scores]:
        """The simplest design of each objective vector, the best balanced first."""
        first = self._order()[0]
        return self.designs[first], self.scores[first]

    def ties(self) -> list[StageArray]:
        """For each design of `front`, all designs seen with its objectives, itself first."""
        _, groups = self._order()
        return [self.designs[group] for group in groups]

    def _order(self) -> tuple[IntArray, list[IntArray]]:
        """Where the front's designs stand, and where all those that tie with each do."""
        order = simplest_first(self.designs)
        group = tie_groups(self.scores)[order]
        by_group = np.argsort(group, kind="stable")
        ends = np.flatnonzero(np.diff(group[by_group])) + 1
        groups = np.split(order[by_group], ends)
        first = np.array([members[0] for members in groups])
        ranked = best_balanced_first(self.designs[first], self.scores[first], self._total_cost)
        return first[ranked], [groups[i] for i in ranked]
