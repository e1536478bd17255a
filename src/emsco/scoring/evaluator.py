"""The evaluator: scores designs on held-out rows, each distinct design once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from emsco._base.typing import FloatArray, IntArray, StageArray, WordArray
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
        Where the stage classifiers come from; evaluators may share one.
    costs : FeatureCosts
    min_confidence : float or ndarray of shape (n_classes,)
        A row leaves at the first stage whose largest class probability reaches this; or reaches
        the threshold of that class.
    n_rows : int
        Held-out rows of the bank, over all splits, or what they count.
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
        n_rows: int,
        max_stages: int,
        journal: Journal | None = None,
        limits: Limits | None = None,
        per_row: float = 1.0,
    ) -> None:
        self.per_row = per_row
        self._bank = bank
        self._journal = journal
        self._units, self._evaluation, self._per_one = costs.in_units(n_rows)
        self._limits = limits or Limits()
        self._costs = costs
        self._thresholds = np.full(bank.engine.n_classes, min_confidence, dtype=np.float64)
        self._n_rows = n_rows
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
    def costs(self) -> FeatureCosts:
        """Cost of each feature, and of running a stage."""
        return self._costs

    @property
    def units(self) -> IntArray | FloatArray:
        """Cost of each feature, in whole units where the costs allow."""
        return self._units

    @property
    def n_rows(self) -> int:
        """Held-out rows."""
        return self._n_rows

    @property
    def evaluation(self) -> int | float:
        """Cost of running a stage, in the same units."""
        return self._evaluation

    @property
    def limits(self) -> Limits:
        """Costs past which a design is not feasible."""
        return self._limits

    @property
    def total_cost(self) -> float:
        """Cost of a row for which everything is bought in one stage."""
        return self._costs.total

    @property
    def most_spent(self) -> float:
        """What all rows together may cost, in those units; infinity without a limit."""
        return self._limits.most_spent(self._n_rows, self._per_one)

    @property
    def most_paid(self) -> float:
        """What any row may cost, in those units; infinity without a limit."""
        return self._limits.most_paid(self._per_one)

    @property
    def n_words(self) -> int:
        """Words that hold a bit for each of them."""
        return self._bank.n_words

    @property
    def word_weights(self) -> IntArray:
        """How much each row of a word counts, by word; 1 without sample weights."""
        return self._bank.word_weights

    @property
    def missing(self) -> WordArray:
        """Rows that a stage which buys a feature cannot judge, (n_features, n_words)."""
        return self._bank.missing

    def bits(self, check: Callable[[], None] | None = None) -> tuple[WordArray, WordArray]:
        """Rows that every subset accepts, and gets right; see `SubsetBank.bits`."""
        return self._bank.bits(self._thresholds, check)

    def score(self, designs: StageArray) -> Scores:
        """Score compressed designs of shape (n_designs, n_features), in their order."""
        with self._designs.claim(design_keys(designs)) as claim:
            if claim.new_slots.size:
                self._count(designs_of_keys(claim.new_keys, designs.shape[1]), claim.new_slots)
        exits, correct_exits = self._counts[:, claim.slots]
        paid = self._paid(designs)
        rejected = self._n_rows - exits.sum(axis=1)
        spent: IntArray | FloatArray = (exits * paid).sum(axis=1) + rejected * paid[:, -1]
        excess = None if self._limits == Limits() else self._excess(spent, paid[:, -1])
        return Scores(self._n_rows, exits, correct_exits, spent, self._per_one, excess)

    def worst_costs(self, designs: StageArray) -> FloatArray:
        """What a rejected row costs by each design."""
        return self._paid(designs)[:, -1] / self._per_one

    def _count(self, designs: StageArray, slots: IntArray) -> None:
        """Have designs counted that are not known yet, and keep their counts."""
        n_stages = stage_counts(designs)
        words = subset_words(designs, int(n_stages.max()))

        def count(which: IntArray | slice) -> IntArray:
            return self._bank.count(designs[which], n_stages[which], self._thresholds)

        journal = self._journal
        counts = journal.complete(designs, count) if journal else count(slice(None))
        with self._subsets.claim(words.reshape(-1, words.shape[2])):
            pass  # only to count the different ones
        while self._counts.shape[1] < self._designs.n_used:
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)], axis=1)
        self._counts[:, slots, : counts.shape[2]] = counts

    def _paid(self, designs: StageArray) -> IntArray | FloatArray:
        """Cost, in units, of a row that leaves at each stage; past the last, of a rejected one."""
        bought = totals_by_stage(designs, self._max_stages, self._units)
        run = np.minimum(np.arange(1, self._max_stages + 1), stage_counts(designs)[:, None])
        paid: FloatArray = bought + run * self._evaluation
        return paid if self._units.dtype.kind == "f" else paid.astype(np.int64)

    def _excess(self, spent: IntArray | FloatArray, paid: IntArray | FloatArray) -> FloatArray:
        """Costs past the limits, added up, as a share of the cost of everything."""
        excess = np.zeros(len(spent))
        for most, value, factor in (
            (self.most_spent, spent, self._n_rows * self._per_one),
            (self.most_paid, paid, self._per_one),
        ):
            over = value > most
            excess[over] += (value[over] - most) / factor
        return excess / self.total_cost
