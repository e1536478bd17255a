"""A whole space of designs with a threshold for each stage: bits of all subsets at all levels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any, Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray, WordArray
from emsco._kernels.walk import Ground, WalkRules
from emsco.costs import Fees
from emsco.designs.chromosomes import stage_counts, with_levels
from emsco.designs.space import DesignSpace
from emsco.scoring.evaluator import Evaluator
from emsco.search.allowances import shift_of, slack_of
from emsco.search.exact.tables import (
    merged_up,
    missing_rows,
    next_costs,
    of_larger,
    subset_costs,
    totals,
)


@dataclass(frozen=True, eq=False)
class Terrain:
    """The bits of every subset at every level over the scored rows, and bounds from them.

    Parameters
    ----------
    accepts, correct : ndarray of shape (2 ** n_features, n_levels, n_words)
        Scored rows that the model of each subset accepts, and the correct ones among them.
    costs : ndarray of shape (n_features,)
        Cost of each feature. Whole numbers compare exactly, others within 1e-9.
    n_rows : int
        Scored rows, or the sum of their weights.
    design_space : DesignSpace
    early, last : tuple of int
        Levels that a stage before the last, and the last one, may have.
    evaluation : int or float
        Cost of running a stage, in the unit of `costs`.
    word_weights : ndarray of shape (n_words,), optional
        Weight of each row of a word; 1 by default.
    missing : ndarray of shape (n_features, n_words), optional
        Rows in which a feature is missing. A stage that buys it cannot accept them.
    most_spent, most_paid : float
        Most that all rows together, and a single row, may cost.
    fees : Fees, optional
        Fees that features share, in the unit of `costs`.
    """

    accepts: WordArray
    correct: WordArray
    costs: FloatArray | IntArray
    n_rows: int
    design_space: DesignSpace
    early: tuple[int, ...]
    last: tuple[int, ...]
    evaluation: int | float = 0
    word_weights: IntArray | None = None
    missing: WordArray | None = None
    most_spent: float = np.inf
    most_paid: float = np.inf
    fees: Fees | None = None

    @classmethod
    def from_evaluator(
        cls,
        evaluator: Evaluator,
        design_space: DesignSpace,
        check: Callable[[], None] | None = None,
    ) -> Self:
        """Fit the model of every subset; `check` is called between batches, and may raise."""
        bank, grid = evaluator.bank, evaluator.grid
        shape = (2**bank.n_features, grid.n_levels, bank.n_words)
        accepts, correct = np.empty(shape, dtype=np.uint64), np.empty(shape, dtype=np.uint64)
        for level in range(grid.n_levels):
            accepts[:, level], correct[:, level] = bank.bits(grid, level, check)
        return cls(
            accepts,
            correct,
            costs=evaluator.usual.features,
            fees=evaluator.usual.fees,
            n_rows=bank.n_rows,
            design_space=design_space,
            early=grid.early,
            last=grid.last,
            evaluation=evaluator.usual.evaluation,
            word_weights=bank.word_weights,
            missing=bank.missing,
            most_spent=evaluator.most_spent,
            most_paid=evaluator.most_paid,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Everything but `ground`, which can be computed again."""
        return {name: value for name, value in self.__dict__.items() if name != "ground"}

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.costs)

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return int(self.accepts.shape[1])

    @property
    def n_words(self) -> int:
        """Words that hold one bit per scored row."""
        return int(self.accepts.shape[2])

    @staticmethod
    def n_bytes(n_features: int, n_levels: int, n_words: int) -> int:
        """Memory of a terrain and its bounds."""
        return int((1 << n_features) * n_words * 8 * (6 * n_levels + 6))

    @staticmethod
    def has_codes(n_features: int, max_stages: int, n_levels: int) -> bool:
        """Whether the stages and the levels of a design each fit into a whole number."""
        return bool(max(max_stages + 1, n_levels) ** n_features < 2**62)

    @property
    def slack(self) -> float:
        """Relative difference up to which costs count as equal; 0 for whole numbers."""
        return slack_of(self.costs)

    def rules(self, apart: bool) -> WalkRules:
        """Numbers that hold for a walk, in the form of the kernel."""
        return WalkRules(
            n_rows=self.n_rows,
            max_stages=self.design_space.deepest,
            may_stop=self.design_space.allow_exclusion,
            evaluation=float(self.evaluation),
            most_paid=float(self.most_paid),
            slack=self.slack,
            shift=shift_of(self.n_rows),
            apart=apart,
        )

    def first_subsets(self) -> IntArray:
        """Subsets that the first stage may buy; those with the most larger ones come first."""
        space = self.design_space
        every = np.arange(1, 2**self.n_features)
        if space.first is not None:
            every = every[every >> space.first & 1 == 1]
        if space.deepest == 1 and not space.allow_exclusion:
            every = every[-1:]
        return every[np.argsort(np.bitwise_count(every), kind="stable")]

    def designs_of(self, codes: IntArray, levels: IntArray) -> StageArray:
        """Decode the stages and the levels of designs."""
        stages = (codes[:, None] // self._digits % (self.design_space.deepest + 1) - 1).astype(
            np.int16
        )
        by_feature = levels[:, None] // self._level_digits % self.n_levels
        deepest = int(stage_counts(stages).max(initial=1))
        by_stage = np.zeros((len(stages), deepest), dtype=np.int64)
        design, feature = np.nonzero(stages >= 0)
        by_stage[design, stages[design, feature]] = by_feature[design, feature]
        return with_levels(stages, by_stage)

    @property
    def _digits(self) -> IntArray:
        return _powers(self.design_space.deepest + 1, self.n_features)

    @property
    def _level_digits(self) -> IntArray:
        return _powers(self.n_levels, self.n_features)

    def forget(self) -> None:
        """Free `ground`, which can be computed again."""
        self.__dict__.pop("ground", None)

    @cached_property
    def ground(self) -> Ground:
        """The terrain in the form of the kernel, with bounds on what may follow."""
        missing, missing_mask = missing_rows(self.missing, self.n_words)
        weights = np.ones(self.n_words) if self.word_weights is None else self.word_weights
        doomed = self._sure() & ~self._later(self.correct)
        bits = np.concatenate([self.accepts, self.accepts & ~self.correct], axis=1)
        cost = subset_costs(self.costs, self.fees)
        is_early, is_last = (
            np.isin(np.arange(self.n_levels), own) for own in (self.early, self.last)
        )
        return Ground(
            bits=np.ascontiguousarray(bits.transpose(0, 2, 1)),
            bounds=np.stack([self._later(self.accepts), doomed], axis=2),
            early=is_early,
            last=is_last,
            missing=missing,
            missing_mask=missing_mask,
            weights=weights.astype(np.uint64),
            cost=cost,
            next_cost=next_costs(cost, self.evaluation),
            place=np.stack([totals(self._digits), totals(self._level_digits)]),
            ways=self._ways(),
        )

    def _later(self, bits: WordArray) -> WordArray:
        """Rows that have a bit in a larger subset, at a level that it may have."""
        own = np.bitwise_or.reduce(bits[:, list(self.early)], axis=1)
        own[-1] = 0  # nothing follows the full set
        own[self._ends] |= np.bitwise_or.reduce(bits[self._ends][:, list(self.last)], axis=1)
        return _merged(own, np.bitwise_or, np.uint64(0))

    @property
    def _ends(self) -> BoolArray:
        """Whether a design may end in each subset."""
        ends = np.full(len(self.accepts), self.design_space.allow_exclusion)
        ends[-1] = True
        return ends

    def _sure(self) -> WordArray:
        """Rows that every last stage with a larger subset accepts; never those with gaps."""
        own = np.bitwise_and.reduce(self.accepts[:, list(self.last)], axis=1)
        if self.missing is not None:
            own &= ~np.bitwise_or.reduce(self.missing, axis=0)
        own[~self._ends] = ~np.uint64(0)
        return _merged(own, np.bitwise_and, ~np.uint64(0))

    def _ways(self) -> IntArray:
        """Number of ways to go on with m features in at most r stages, at least one, by m and r."""
        deepest, n_features = self.design_space.deepest, self.n_features
        ways = np.zeros((n_features + 1, deepest + 1), dtype=np.int64)
        for r in range(1, deepest + 1):
            for m in range(1, n_features + 1):
                for left in range(m):
                    ends = self.design_space.allow_exclusion or left == 0
                    more = len(self.last) * ends + len(self.early) * int(ways[left, r - 1])
                    ways[m, r] += comb(m, left) * more
        return ways


def _merged(own: WordArray, merge: np.ufunc, nothing: np.uint64) -> WordArray:
    """Merge the rows of all larger subsets; `own` is used up."""
    merged: WordArray = of_larger(merged_up(own, merge), merge, nothing)
    return merged


def _powers(base: int, n: int) -> IntArray:
    """Place value of each of n digits."""
    return np.array([base**i for i in range(n)][::-1], dtype=np.int64)
