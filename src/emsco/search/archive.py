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
        members, starts = self._order()
        first = members[starts]
        return self.designs[first], self.scores[first]

    def ties(self) -> list[StageArray]:
        """For each design of `front`, all designs seen with its objectives, itself first."""
        members, starts = self._order()
        ends = np.append(np.sort(starts), len(members))
        ends = ends[np.searchsorted(ends, starts) + 1]
        return [self.designs[members[start:end]] for start, end in zip(starts, ends, strict=True)]

    def _order(self) -> tuple[IntArray, IntArray]:
        """Where designs stand, those that tie side by side; where each group of the front begins.

        Groups are not cut here: a search asks for its front in every generation, for ties once.
        """
        order = simplest_first(self.designs)
        group = tie_groups(self.scores)[order]
        by_group = np.argsort(group, kind="stable")
        members = order[by_group]
        starts = np.flatnonzero(np.diff(group[by_group], prepend=-1))
        first = members[starts]
        ranked = best_balanced_first(self.designs[first], self.scores[first], self._total_cost)
        return members, starts[ranked]
