"""The evaluator: scores designs of a search on the scored rows, each distinct design once."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from typing import Self

import numpy as np

from emsco._base.objectives import METRICS
from emsco._base.typing import BoolArray, FloatArray, IntArray, WordArray
from emsco.costs import FeatureCosts
from emsco.designs.chromosomes import keys_of, nested_subsets
from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.designs.slots import UNBOUNDED, Slots
from emsco.scoring.bits import RowBits
from emsco.scoring.scores import CostLimits, Counts


class Evaluator:
    """Scores chains by counts of bits, each distinct one once.

    Parameters
    ----------
    bits : RowBits
        Counts what chains do with the scored rows. Several evaluators may share it.
    costs : FeatureCosts
    grid : ThresholdGrid
        A row leaves at the first stage whose likeliest class is sure enough. Each stage has one of
        these thresholds.
    max_stages : int
        Most stages of a design.
    limits : CostLimits or None
        Limits on costs and delays. Designs above them are not feasible.
    per_row : float
        Units that a scored row of weight 1 counts in `Counts.n_rows`.

    Attributes
    ----------
    metric : {"accuracy", "balanced_accuracy"}
        The objective "accuracy": the balanced one of bits that are counted by class.
    """

    def __init__(
        self,
        bits: RowBits,
        costs: FeatureCosts,
        grid: ThresholdGrid,
        max_stages: int,
        limits: CostLimits | None = None,
        per_row: float = 1.0,
    ) -> None:
        self.bits, self.costs, self.grid = bits, costs, grid
        self.units = bits.units
        self.limits = limits or CostLimits()
        self.per_row, self.metric = per_row, METRICS[bits.n_counted > 0]
        self._max_stages = max_stages
        n_features = bits.bank.n_features
        n_genes = n_features if grid.is_single else 2 * n_features
        self._designs = Slots(UNBOUNDED, n_words=-(-n_genes // 4))
        self._subsets = Slots(UNBOUNDED, n_words=-(-n_features // 32))
        self._counts: IntArray = np.zeros((2, 1024, bits.n_ahead + max_stages), dtype=np.int64)

    @property
    def n_designs(self) -> int:
        """Distinct designs scored so far."""
        return len(self._designs)

    @property
    def designs(self) -> Designs:
        """Distinct designs scored so far."""
        genes, n_features = self._designs.keys.view(np.int16), self.bits.bank.n_features
        if self.grid.is_single:
            return Designs.of(genes[:, :n_features])
        return Designs(genes[:, :n_features], genes[:, n_features : 2 * n_features])

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
        return float(self.limits.most[0]) * self.bits.n_rows * self.units.per_one

    @property
    def most_paid(self) -> float:
        """Most that a single row may cost, in `units`; infinity without a limit."""
        return float(self.limits.most[1]) * self.units.per_one

    def without_scores(self) -> Self:
        """Return a copy that knows thresholds and costs, but holds no rows and scores nothing."""
        other = copy(self)
        del other.bits, other._designs, other._subsets, other._counts
        return other

    def score(self, designs: Designs) -> Counts:
        """Score chains; scores keep their order."""
        # With a single threshold, stages say all.
        keys = keys_of(designs.stages) if self.grid.is_single else designs.keys
        with self._designs.claim(keys) as claim:
            if claim.new_slots.size:
                self._count(designs[claim.new_places], claim.new_slots)
        # `take` is several times as fast as an index where each number stands for a few values.
        counts, ahead = self._counts.take(claim.slots, axis=1), self.bits.n_ahead
        by_class = counts[:, :, ahead - self.bits.n_counted : ahead].swapaxes(0, 1)
        exits, correct_exits = counts[:, :, ahead:]
        paid, n_rows = self._paid(designs), self.bits.n_rows
        spent = (exits * paid).sum(axis=1) + (n_rows - exits.sum(axis=1)) * paid[:, -1]
        scores = Counts(
            n_rows,
            exits,
            correct_exits,
            spent if self.units.prices is None else spent + counts[0, :, 0],
            self.units.per_one,
            by_class=by_class if self.bits.n_counted else None,
        )
        if self.limits == CostLimits():
            return scores
        excess = self.limits.excess(self.limited(designs, scores), self.costs)
        return replace(scores, excess=excess)

    def limited(self, designs: Designs, scores: Counts) -> FloatArray:
        """What limits are about, in their order: mean and worst cost, mean and worst delay.

        The worst case of a chain is a rejected row with the highest prices.
        """
        by_price = self.units.most_by_price(designs.stages >= 0)
        worst = (self._paid(designs)[:, -1] + by_price) / self.units.per_one
        waits = self.costs.waits_after_stages(nested_subsets(designs.stages, self._max_stages))
        rejected = scores.n_rows - scores.accepted
        waited = (scores.exits * waits).sum(axis=1) + rejected * waits[:, -1]
        return np.array([scores.cost, worst, waited / scores.n_rows, waits[:, -1]])

    def refused(self, designs: Designs) -> BoolArray:
        """Tell which chains have a stage about whose threshold the models of the splits disagree.

        What they promise cannot be kept; they are scored as if that stage were wrong about all.
        """
        return self.bits.refused(designs, self.grid)

    def _count(self, designs: Designs, slots: IntArray) -> None:
        """Count new chains and keep their counts."""
        counts = self.bits.count(designs, self.grid)
        words = designs.subsets()
        with self._subsets.claim(words.reshape(-1, words.shape[2])):
            pass  # claiming is enough: `n_subsets` counts the distinct ones
        while self._counts.shape[1] < self._designs.n_used:
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)], axis=1)
        self._counts[:, slots, : counts.shape[2]] = counts

    def _paid(self, designs: Designs) -> IntArray | FloatArray:
        """Cost, in units, of a row that leaves at each stage.

        After a chain's last stage, the cost of a rejected row.
        """
        n_run = np.minimum(np.arange(1, self._max_stages + 1), designs.n_stages[:, None])
        known = nested_subsets(designs.stages, self._max_stages)
        paid: IntArray | FloatArray = self.units.paid(known, n_run, 0)
        return paid
