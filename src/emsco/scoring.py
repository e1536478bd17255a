"""Designs scored on the held-out rows: integer counts first, objectives from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from emsco._typing import BoolArray, FloatArray, IntArray, StageArray, WordArray
from emsco.costs import FeatureCosts
from emsco.design import (
    design_keys,
    designs_of_keys,
    stage_counts,
    subset_words,
    totals_by_stage,
)
from emsco.journal import Journal
from emsco.parameters import check_number
from emsco.subsets.bank import SubsetBank
from emsco.subsets.slots import UNBOUNDED, SlotTable

__all__ = ["Evaluator", "Limits", "Scores"]

_LARGEST = 1e300
_ROUNDING = 1e-9  # relative; costs this little above a limit are within it


@dataclass(frozen=True, slots=True)
class Limits:
    """Costs that no design may exceed.

    Parameters
    ----------
    mean : float or None
        Largest mean cost of a held-out row.
    worst : float or None
        Largest cost that any row can have, which is that of a rejected one: everything that the
        design buys, and the evaluation of all its stages.

    Examples
    --------
    >>> str(Limits(mean=20, worst=110.5))
    'a mean cost of at most 20 and a worst-case cost of at most 110.5'
    """

    mean: float | None = None
    worst: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is no cost."""
        for name in ("mean", "worst"):
            if getattr(self, name) is not None:
                check_number(f"largest {name} cost", getattr(self, name), 0, _LARGEST)

    def __str__(self) -> str:
        """The limits in words."""
        named = (("mean", self.mean), ("worst-case", self.worst))
        return " and ".join(f"a {name} cost of at most {m:g}" for name, m in named if m is not None)

    def most_spent(self, n_rows: int, per_one: int = 1) -> float:
        """What all rows together may cost, in units of which `per_one` make a cost of 1."""
        return _most(self.mean, n_rows * per_one)

    def most_paid(self, per_one: int = 1) -> float:
        """What any row may cost, in such units."""
        return _most(self.worst, per_one)


def _most(limit: float | None, factor: float) -> float:
    """A limit in units, with room for rounding; infinity where there is none."""
    return np.inf if limit is None else limit * factor * (1 + _ROUNDING)


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
    excess : ndarray of shape (n_designs,), optional
        By how much each design exceeds the limits of costs, as a share of the cost of everything;
        0, as where it is not given, for designs within them.
    """

    n_rows: int
    exits: IntArray
    hits: IntArray
    spent: IntArray | FloatArray
    per_one: int = 1
    excess: FloatArray | None = None

    def __len__(self) -> int:
        """Number of designs."""
        return len(self.spent)

    def __getitem__(self, which: IntArray | BoolArray) -> Self:
        """The scores of some of the designs."""
        return type(self)(
            self.n_rows,
            self.exits[which],
            self.hits[which],
            self.spent[which],
            self.per_one,
            None if self.excess is None else self.excess[which],
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Scores of the designs of all parts, in order."""
        limited = any(part.excess is not None for part in parts)
        return cls(
            parts[0].n_rows,
            np.concatenate([part.exits for part in parts]),
            np.concatenate([part.hits for part in parts]),
            np.concatenate([part.spent for part in parts]),
            parts[0].per_one,
            np.concatenate([part.beyond for part in parts]) if limited else None,
        )

    @property
    def beyond(self) -> FloatArray:
        """`excess`, with the 0 of designs that have no limits."""
        return np.zeros(len(self)) if self.excess is None else self.excess

    @cached_property
    def feasible(self) -> BoolArray:
        """Which designs are within the limits of costs."""
        within: BoolArray = self.beyond == 0
        return within

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
        """Mean over all rows, rejected ones included, of what their stages have cost."""
        return self.spent / (self.per_one * self.n_rows)


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
    def gaps(self) -> WordArray:
        """Rows that a stage which buys a feature cannot judge, (n_features, n_words)."""
        return self._bank.gaps

    def bits(self, check: Callable[[], None] | None = None) -> tuple[WordArray, WordArray]:
        """Rows that every subset accepts, and gets right; see `SubsetBank.bits`."""
        return self._bank.bits(self._thresholds, check)

    def score(self, designs: StageArray) -> Scores:
        """Score compressed designs of shape (n_designs, n_features), in their order."""
        with self._designs.claim(design_keys(designs)) as claim:
            if claim.new_slots.size:
                self._count(designs_of_keys(claim.new_keys, designs.shape[1]), claim.new_slots)
        exits, hits = self._counts[:, claim.slots]
        paid = self._paid(designs)
        rejected = self._n_rows - exits.sum(axis=1)
        spent: IntArray | FloatArray = (exits * paid).sum(axis=1) + rejected * paid[:, -1]
        excess = None if self._limits == Limits() else self._excess(spent, paid[:, -1])
        return Scores(self._n_rows, exits, hits, spent, self._per_one, excess)

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
