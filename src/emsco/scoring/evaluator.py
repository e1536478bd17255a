"""The evaluator: scores designs on the scored rows, each distinct design once."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

import numpy as np

from emsco._base.checks import check_choice
from emsco._base.objectives import METRICS
from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray, WordArray
from emsco.costs import CostUnits, FeatureCosts
from emsco.costs.prices import ScoredPrices
from emsco.designs.chromosomes import (
    design_keys,
    designs_of_keys,
    levels_of,
    stage_counts,
    stages_of,
    subset_words,
    totals_by_stage,
    waits_by_stage,
)
from emsco.designs.slots import UNBOUNDED, Slots
from emsco.designs.thresholds import ThresholdGrid
from emsco.errors import ParameterError
from emsco.models.bank import SubsetBank
from emsco.scoring.journal import Journal
from emsco.scoring.scores import CostLimits, Scores


class Evaluator:
    """Scores designs, each distinct one once.

    Parameters
    ----------
    bank : SubsetBank
        Provides the stage models. Several evaluators may share one.
    costs : FeatureCosts
    min_confidence : float, ndarray of shape (n_classes,) or ThresholdGrid
        A row leaves at the first stage whose largest class probability reaches this. An array has
        a threshold for each class, and a grid has several, of which each stage has one.
    max_stages : int
        Most stages of a design.
    journal : Journal or None
        Keeps counts on disk. Designs found there are not counted again.
    limits : CostLimits or None
        Limits on costs and delays. Designs above them are not feasible.
    per_row : float
        Units that a scored row of weight 1 counts in `Scores.n_rows`.
    metric : {"accuracy", "balanced_accuracy"}
        The objective "accuracy". The balanced one needs a bank that counts classes.
    prices : ScoredPrices or None
        Prices of features that do not cost every scored row the same; the bank has them too.
    """

    def __init__(
        self,
        bank: SubsetBank,
        costs: FeatureCosts,
        min_confidence: float | FloatArray | ThresholdGrid,
        max_stages: int,
        journal: Journal | None = None,
        limits: CostLimits | None = None,
        per_row: float = 1.0,
        metric: str = "accuracy",
        prices: ScoredPrices | None = None,
    ) -> None:
        if check_choice("metric", metric, METRICS) != "accuracy" and not bank.n_counted:
            raise ParameterError(
                f'metric must be "accuracy" for a bank that counts no classes, got {metric!r}.'
            )
        self.bank = bank
        self.costs = costs
        self.units = costs.in_units(bank.n_rows) if prices is None else prices.fixed
        self.prices = prices
        if not isinstance(min_confidence, ThresholdGrid):
            thresholds = np.full(bank.engine.n_classes, min_confidence, dtype=np.float64)
            min_confidence = ThresholdGrid.single(thresholds)
        self.grid = min_confidence
        self.limits = limits or CostLimits()
        self.per_row = per_row
        self.metric = metric
        self._journal = journal
        self._max_stages = max_stages
        n_features = bank.n_features
        self._designs = Slots(UNBOUNDED, n_words=-(-n_features // 4))
        self._subsets = Slots(UNBOUNDED, n_words=-(-n_features // 32))
        self._counts: IntArray = np.zeros((2, 1024, bank.n_ahead + max_stages), dtype=np.int64)
        # What all rows together, and a rejected row, pay with each design.
        self._costs: Any = np.zeros((2, 1024), dtype=self.units.features.dtype)

    @property
    def n_designs(self) -> int:
        """Distinct designs scored so far."""
        return len(self._designs)

    @property
    def designs(self) -> StageArray:
        """Distinct designs scored so far."""
        return designs_of_keys(self._designs.keys, self.bank.n_features)

    @property
    def usual(self) -> CostUnits:
        """Costs of features for all rows, with the mean of prices that differ; see `units`."""
        return self.units if self.prices is None else self.prices.usual

    @property
    def n_subsets(self) -> int:
        """Distinct subsets among the stages of all designs scored so far."""
        return len(self._subsets)

    @property
    def subsets(self) -> WordArray:
        """Distinct subsets among the stages of all designs scored so far, as words."""
        return self._subsets.keys

    @property
    def most_spent(self) -> float:
        """Most that all rows together may cost, in `units`; infinity without a limit."""
        return self.limits.most_spent(self.bank.n_rows, self.units.per_one)

    @property
    def most_paid(self) -> float:
        """Most that a single row may cost, in `units`; infinity without a limit."""
        return self.limits.most_paid(self.units.per_one)

    def without_scores(self) -> Self:
        """Return a copy that knows thresholds and costs, but holds no bank and scores nothing."""
        other = copy(self)
        del other.bank, other._journal, other._designs, other._subsets, other._counts, other._costs
        return other

    def score(self, designs: StageArray) -> Scores:
        """Score compressed designs of shape (n_designs, n_features); scores keep their order."""
        with self._designs.claim(design_keys(designs)) as claim:
            if claim.new_slots.size:
                self._count(designs_of_keys(claim.new_keys, designs.shape[1]), claim.new_slots)
        # `take` is several times as fast as an index where each number stands for a few values.
        counts, n_ahead = self._counts.take(claim.slots, axis=1), self.bank.n_ahead
        exits, correct_exits = counts[:, :, n_ahead:]
        by_class = None
        if self.metric == "balanced_accuracy":
            by_class = counts[:, :, n_ahead - self.bank.n_counted : n_ahead].swapaxes(0, 1)
        spent, paid = self._costs.take(claim.slots, axis=1)
        excess = None
        if self.limits != CostLimits():
            # Above the cost limits, as a share of the cost of all features, and above the limits
            # on delays, as a share of all delays one after the other.
            excess = np.zeros(len(spent))
            for limit, value, factor in (
                (self.most_spent, spent, self.bank.n_rows * self.units.per_one),
                (self.most_paid, paid, self.units.per_one),
            ):
                over = value > limit
                excess[over] += (value[over] - limit) / factor
            excess /= self.costs.total
            if self.limits.has_delays:
                late = self.limits.beyond_delays(*self.delays(designs, exits))
                excess += late / (self.costs.delays.sum() or 1.0)
        return Scores(
            self.bank.n_rows,
            exits,
            correct_exits,
            spent,
            self.units.per_one,
            excess,
            by_class,
        )

    def costs_after(self, designs: StageArray) -> FloatArray:
        """Cost of a row after each stage of each design; after its last one, of a rejected row.

        Without what a row pays by its own prices.
        """
        return self._paid(stages_of(designs), stage_counts(designs)) / self.units.per_one

    def worst_costs(self, designs: StageArray) -> FloatArray:
        """Cost of a rejected row with each design; of the row with the highest prices."""
        worst: FloatArray = self.costs_after(designs)[:, -1]
        return worst if self.prices is None else worst + self.prices.worst(stages_of(designs))

    def delays(self, designs: StageArray, exits: IntArray) -> tuple[FloatArray, FloatArray]:
        """Mean and longest time that a row waits with each design, given its exits."""
        waits = waits_by_stage(stages_of(designs), self._max_stages, self.costs.delays)
        rejected = self.bank.n_rows - exits.sum(axis=1)
        waited = (exits * waits).sum(axis=1) + rejected * waits[:, -1]
        return waited / self.bank.n_rows, waits[:, -1]

    def refused(self, designs: StageArray) -> BoolArray:
        """Tell which designs have a stage about whose threshold the models of the splits disagree.

        What they promise cannot be kept; their scores are those of wrong answers.
        """
        n_stages = stage_counts(designs)
        levels = levels_of(designs, int(n_stages.max()))
        return self.bank.refused(stages_of(designs), n_stages, self.grid, levels)

    def _count(self, designs: StageArray, slots: IntArray) -> None:
        """Count new designs and keep their counts."""
        n_stages, stages = stage_counts(designs), stages_of(designs)
        words = subset_words(stages, int(n_stages.max()))
        levels = levels_of(designs, int(n_stages.max()))

        def count(which: IntArray | slice) -> IntArray:
            return self.bank.count(stages[which], n_stages[which], self.grid, levels[which])

        journal = self._journal
        counts = journal.complete(designs, count) if journal else count(slice(None))
        with self._subsets.claim(words.reshape(-1, words.shape[2])):
            pass  # claiming is enough: `n_subsets` counts the distinct ones
        while self._counts.shape[1] < self._designs.n_used:
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)], axis=1)
            self._costs = np.concatenate([self._costs, np.zeros_like(self._costs)], axis=1)
        self._counts[:, slots, : counts.shape[2]] = counts
        exits = self._counts[0].take(slots, axis=0)[:, self.bank.n_ahead :]
        paid = self._paid(stages, n_stages)
        rejected = self.bank.n_rows - exits.sum(axis=1)
        self._costs[0, slots] = (exits * paid).sum(axis=1) + rejected * paid[:, -1]
        self._costs[1, slots] = paid[:, -1]
        if self.prices is not None:
            self._costs[0, slots] += self.prices.spent(self._counts[0, slots, 0])
            worst = self.prices.worst(stages) * self.units.per_one
            self._costs[1, slots] += (
                np.rint(worst).astype(np.int64) if self.units.are_whole else worst
            )

    def _paid(self, stages: StageArray, n_stages: IntArray) -> IntArray | FloatArray:
        """Cost, in units, of a row that leaves at each stage.

        After a design's last stage, the cost of a rejected row.
        """
        bought = totals_by_stage(stages, self._max_stages, self.units.features)
        if len(self.units.fees):
            bought += self.units.fees.by_stage(stages, self._max_stages)
        n_passed = np.minimum(np.arange(1, self._max_stages + 1), n_stages[:, None])
        paid: FloatArray = bought + n_passed * self.units.evaluation
        return paid.astype(np.int64) if self.units.are_whole else paid
