"""The evaluator: scores designs on held-out rows, each distinct design once."""

from __future__ import annotations

import numpy as np

from emsco._base.typing import FloatArray, IntArray, StageArray
from emsco._kernels.slots import UNBOUNDED, Slots
from emsco.costs import FeatureCosts
from emsco.designs.chromosomes import (
    design_keys,
    designs_of_keys,
    stage_counts,
    subset_words,
    totals_by_stage,
)
from emsco.models.bank import SubsetBank
from emsco.scoring.journal import Journal
from emsco.scoring.scores import Limits, Scores

__all__ = ["Evaluator"]


class Evaluator:
    """Scores designs at one threshold, each distinct design once.

    Parameters
    ----------
    bank : SubsetBank
        Where the stage models come from; evaluators may share one.
    costs : FeatureCosts
    min_confidence : float or ndarray of shape (n_classes,)
        A row leaves at the first stage whose largest class probability reaches this; or reaches
        the threshold of that class.
    max_stages : int
        Most stages that a design may have.
    journal : Journal or None
        Where counts are kept on disk; what is found there is not counted again.
    limits : Limits or None
        Costs past which a design is not feasible.
    per_row : float
        What a held-out row of weight 1 counts.
    """

    def __init__(
        self,
        bank: SubsetBank,
        costs: FeatureCosts,
        min_confidence: float | FloatArray,
        max_stages: int,
        journal: Journal | None = None,
        limits: Limits | None = None,
        per_row: float = 1.0,
    ) -> None:
        self.bank = bank
        self.costs = costs
        self.units = costs.in_units(bank.n_rows)
        self.thresholds = np.full(bank.engine.n_classes, min_confidence, dtype=np.float64)
        self.limits = limits or Limits()
        self.per_row = per_row
        self._journal = journal
        self._max_stages = max_stages
        n_features = bank.n_features
        self._designs = Slots(UNBOUNDED, n_words=-(-n_features // 4))
        self._subsets = Slots(UNBOUNDED, n_words=-(-n_features // 32))
        self._counts: IntArray = np.zeros((2, 1024, max_stages), dtype=np.int64)

    @property
    def n_designs(self) -> int:
        """Distinct designs scored so far."""
        return len(self._designs)

    @property
    def n_subsets(self) -> int:
        """Distinct subsets that those designs go through."""
        return len(self._subsets)

    @property
    def most_spent(self) -> float:
        """What all rows together may cost, in those units; infinity without a limit."""
        return self.limits.most_spent(self.bank.n_rows, self.units.per_one)

    @property
    def most_paid(self) -> float:
        """What any row may cost, in those units; infinity without a limit."""
        return self.limits.most_paid(self.units.per_one)

    def score(self, designs: StageArray) -> Scores:
        """Score compressed designs of shape (n_designs, n_features), in their order."""
        with self._designs.claim(design_keys(designs)) as claim:
            if claim.new_slots.size:
                self._count(designs_of_keys(claim.new_keys, designs.shape[1]), claim.new_slots)
        exits, correct_exits = self._counts[:, claim.slots]
        paid = self._paid(designs)
        rejected = self.bank.n_rows - exits.sum(axis=1)
        spent: IntArray | FloatArray = (exits * paid).sum(axis=1) + rejected * paid[:, -1]
        excess = None if self.limits == Limits() else self._excess(spent, paid[:, -1])
        return Scores(self.bank.n_rows, exits, correct_exits, spent, self.units.per_one, excess)

    def worst_costs(self, designs: StageArray) -> FloatArray:
        """What a rejected row costs by each design."""
        return self._paid(designs)[:, -1] / self.units.per_one

    def _count(self, designs: StageArray, slots: IntArray) -> None:
        """Have designs counted that are not known yet, and keep their counts."""
        n_stages = stage_counts(designs)
        words = subset_words(designs, int(n_stages.max()))

        def count(which: IntArray | slice) -> IntArray:
            return self.bank.count(designs[which], n_stages[which], self.thresholds)

        journal = self._journal
        counts = journal.complete(designs, count) if journal else count(slice(None))
        with self._subsets.claim(words.reshape(-1, words.shape[2])):
            pass  # only to count the different ones
        while self._counts.shape[1] < self._designs.n_used:
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)], axis=1)
        self._counts[:, slots, : counts.shape[2]] = counts

    def _paid(self, designs: StageArray) -> IntArray | FloatArray:
        """Cost, in units, of a row that leaves at each stage; past the last, of a rejected one."""
        bought = totals_by_stage(designs, self._max_stages, self.units.features)
        run = np.minimum(np.arange(1, self._max_stages + 1), stage_counts(designs)[:, None])
        paid: FloatArray = bought + run * self.units.evaluation
        return paid if self.units.features.dtype.kind == "f" else paid.astype(np.int64)

    def _excess(self, spent: IntArray | FloatArray, paid: IntArray | FloatArray) -> FloatArray:
        """Costs past the limits, added up, as a share of the cost of everything."""
        excess = np.zeros(len(spent))
        for most, value, factor in (
            (self.most_spent, spent, self.bank.n_rows * self.units.per_one),
            (self.most_paid, paid, self.units.per_one),
        ):
            over = value > most
            excess[over] += (value[over] - most) / factor
        return excess / self.costs.total
