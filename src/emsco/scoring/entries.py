"""Entries of a journal: what designs and counts of one problem can be, so that files are checked.

Compiled loops index arrays by the stages and levels of designs without a look at their bounds. So
a design that no search could have made must be refused before it reaches them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emsco._base.typing import IntArray, StageArray
from emsco.designs.chromosomes import (
    MOST_STAGES,
    compress,
    levels_of,
    stage_counts,
    stages_of,
    with_levels,
)
from emsco.designs.grid import ThresholdGrid

__all__ = ["EntryRules"]


@dataclass(frozen=True, slots=True, eq=False)
class EntryRules:
    """What entries of a journal must obey.

    Attributes
    ----------
    n_rows : int
        Scored rows, or the sum of their weights.
    max_stages : int
    grid : ThresholdGrid
        Thresholds that stages may have.
    n_counted : int
        Classes whose rows are also counted apart, before the counts of the stages.
    most_spent : int or None
        Most that all rows together can pay by prices of their own, which is counted first of all;
        None if they have no such prices.
    """

    n_rows: int
    max_stages: int
    grid: ThresholdGrid
    n_counted: int = 0
    most_spent: int | None = None

    @property
    def n_ahead(self) -> int:
        """Number of counts before those of the stages."""
        return self.n_counted + (self.most_spent is not None)

    @property
    def n_counts(self) -> int:
        """Number of counts of a design."""
        return self.n_ahead + self.max_stages

    def breach(self, designs: StageArray, counts: IntArray) -> str | None:
        """Say which rule designs or their counts, shape (2, n_designs, n_counts), break, if any."""
        if not len(designs):
            return None
        if not self._are_designs(designs):
            return "has designs that no search of this problem makes"
        exits, correct = counts
        if (counts < 0).any() or (correct > exits).any():
            return "has counts below 0, or more correct rows than rows"
        at_stages = exits[:, self.n_ahead :]
        # No count is above the number of rows, so that their sum cannot overflow.
        too_many = (at_stages > self.n_rows).any() or (at_stages.sum(axis=1) > self.n_rows).any()
        if too_many or self._is_overspent(exits):
            return f"counts more than the {self.n_rows:,} rows of this problem"
        after_last = np.arange(self.max_stages) >= stage_counts(designs)[:, None]
        if at_stages[after_last].any() or not self._fit_classes(counts):
            return "has counts that contradict each other"
        return None

    def _are_designs(self, designs: StageArray) -> bool:
        """Whether designs are compressed, not too long, and have levels of the grid."""
        if designs.min() < -1 or (designs.max(axis=1) < 0).any():
            return False
        stages = np.where(designs < 0, designs, designs & MOST_STAGES).astype(np.int16)
        if stages.max() >= self.max_stages or not np.array_equal(compress(stages), stages):
            return False
        levels = levels_of(designs, self.max_stages)
        same = np.array_equal(with_levels(stages_of(designs), levels), designs)
        return same and self.grid.holds(designs)

    def _is_overspent(self, exits: IntArray) -> bool:
        return self.most_spent is not None and bool((exits[:, 0] > self.most_spent).any())

    def _fit_classes(self, counts: IntArray) -> bool:
        """Whether the classes that are counted apart add up to the stages."""
        if not self.n_counted:
            return True
        by_class = counts[:, :, self.n_ahead - self.n_counted : self.n_ahead]
        if (by_class > self.n_rows).any():
            return False
        at_stages = counts[:, :, self.n_ahead :]
        return np.array_equal(by_class.sum(axis=2), at_stages.sum(axis=2))
