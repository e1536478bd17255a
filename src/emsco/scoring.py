"""Designs scored on the held-out rows: integer counts first, objectives from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from emsco._typing import FloatArray, IntArray, StageArray, WordArray
from emsco.costs import FeatureCosts
from emsco.design import (
    design_keys,
    designs_of_keys,
    stage_counts,
    subset_words,
    totals_by_stage,
)
from emsco.journal import Journal
from emsco.subsets.bank import SubsetBank
from emsco.subsets.slots import UNBOUNDED, SlotTable

__all__ = ["Evaluator", "Scores"]


@dataclass(frozen=True, eq=False)
class Scores:
    """How designs did on the held-out rows.

    Parameters
    ----------
    n_rows : int
        Held-out rows; with several splits, (split, row) pairs.
    exits, hits : ndarray of shape (n_designs, max_stages)
        Rows that leave at each stage, and rows that leave there with the right label.
    spent : ndarray of shape (n_designs,)
        What all rows together cost, as a whole number of units where the costs allow.
    per_one : int
        Units that make a cost of 1.
    """

    n_rows: int
    exits: IntArray
    hits: IntArray
    spent: IntArray | FloatArray
    per_one: int = 1

    def __len__(self) -> int:
        """Number of designs."""
        return len(self.spent)

    def __getitem__(self, which: IntArray) -> Self:
        """The scores of some of the designs."""
        return type(self)(
            self.n_rows, self.exits[which], self.hits[which], self.spent[which], self.per_one
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Scores of the designs of all parts, in order."""
        return cls(
            parts[0].n_rows,
            np.concatenate([part.exits for part in parts]),
            np.concatenate([part.hits for part in parts]),
            np.concatenate([part.spent for part in parts]),
            parts[0].per_one,
        )

    @cached_property
    def accepted(self) -> IntArray:
        """Rows that leave with a label."""
        total: IntArray = self.exits.sum(axis=1)
        return total

    @cached_property
    def correct(self) -> IntArray:
        """Rows that leave with the right label."""
        total: IntArray = self.hits.sum(axis=1)
        return total

    @cached_property
    def coverage(self) -> FloatArray:
        """Share of rows that leave with a label."""
        return self.accepted / self.n_rows

    @cached_property
    def accuracy(self) -> FloatArray:
        """Share of the accepted rows that are right; 0 where none is accepted."""
        return self.correct / np.maximum(self.accepted, 1)

    @cached_property
    def cost(self) -> FloatArray:
        """Mean over all rows, rejected ones included, of what was bought for them."""
        return self.spent / (self.per_one * self.n_rows)


class Evaluator:
    """Scores designs at one threshold, each distinct design once.

    Parameters
    ----------
    bank : SubsetBank
        Where the stage classifiers come from; evaluators may share one.
    costs : FeatureCosts
    min_confidence : float
        A row leaves at the first stage whose largest class probability reaches this.
    n_rows : int
        Held-out rows of the bank, over all splits.
    max_stages : int
        Most stages that a design may have.
    journal : Journal or None
        Where counts are kept on disk; what is found there is not counted again.
    """

    def __init__(
        self,
        bank: SubsetBank,
        costs: FeatureCosts,
        min_confidence: float,
        n_rows: int,
        max_stages: int,
        journal: Journal | None = None,
    ) -> None:
        self._bank = bank
        self._journal = journal
        self._units, self._evaluation, self._per_one = costs.in_units(n_rows)
        self._min_confidence = min_confidence
        self._n_rows = n_rows
        self._max_stages = max_stages
        n_features = bank.n_features
        self._designs = SlotTable(UNBOUNDED, n_words=-(-n_features // 4))
        self._subsets = SlotTable(UNBOUNDED, n_words=-(-n_features // 32))
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
    def n_words(self) -> int:
        """Words that hold a bit for each of them."""
        return self._bank.n_words

    @property
    def word_weights(self) -> IntArray:
        """How much each row of a word counts, by word; 1 without sample weights."""
        return self._bank.word_weights

    @property
    def gaps(self) -> WordArray:
        """Rows that a stage which buys a feature cannot judge, (n_features, n_words)."""
        return self._bank.gaps

    def bits(self, check: Callable[[], None] | None = None) -> tuple[WordArray, WordArray]:
        """Rows that every subset accepts, and gets right; see `SubsetBank.bits`."""
        return self._bank.bits(self._min_confidence, check)

    def score(self, designs: StageArray) -> Scores:
        """Score compressed designs of shape (n_designs, n_features), in their order."""
        with self._designs.claim(design_keys(designs)) as claim:
            if claim.new_slots.size:
                self._count(designs_of_keys(claim.new_keys, designs.shape[1]), claim.new_slots)
        exits, hits = self._counts[:, claim.slots]
        return Scores(self._n_rows, exits, hits, self._spent(designs, exits), self._per_one)

    def _count(self, designs: StageArray, slots: IntArray) -> None:
        """Have designs counted that are not known yet, and keep their counts."""
        n_stages = stage_counts(designs)
        words = subset_words(designs, int(n_stages.max()))

        def count(which: IntArray | slice) -> IntArray:
            return self._bank.count(words[which], n_stages[which], self._min_confidence)

        journal = self._journal
        counts = journal.complete(designs, count) if journal else count(slice(None))
        with self._subsets.claim(words.reshape(-1, words.shape[2])):
            pass  # only to count the different ones
        while self._counts.shape[1] < self._designs.n_used:
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)], axis=1)
        self._counts[:, slots, : counts.shape[2]] = counts

    def _spent(self, designs: StageArray, exits: IntArray) -> IntArray | FloatArray:
        """Rows that leave at stage j pay for stages up to j; rejected rows pay for all."""
        paid = totals_by_stage(designs, self._max_stages, self._units).astype(self._units.dtype)
        run = np.minimum(np.arange(1, self._max_stages + 1), stage_counts(designs)[:, None])
        paid += (run * self._evaluation).astype(paid.dtype)
        rejected = self._n_rows - exits.sum(axis=1)
        spent: IntArray | FloatArray = (exits * paid).sum(axis=1) + rejected * paid[:, -1]
        return spent
