"""A whole space of designs at one threshold: the bits of all subsets, and bounds from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray, WordArray
from emsco._kernels.chains import Space
from emsco.costs import Fees
from emsco.designs.space import DesignSpace, count_designs
from emsco.scoring.evaluator import Evaluator
from emsco.search.allowances import slack_of
from emsco.search.exact.tables import (
    merged_up,
    missing_rows,
    next_costs,
    of_larger,
    subset_costs,
    totals,
)

_LEVELS = 6
_BLOCK = 2**24  # costs held at a time; a power of 2, like the width of a word


@dataclass(frozen=True, eq=False)
class Landscape:
    """The bits of every subset over the scored rows, and bounds that follow from them.

    Subsets are numbers: feature i is in subset s if bit i of s is set.

    Parameters
    ----------
    accepts, correct : ndarray of shape (2 ** n_features, n_words)
        Scored rows that the model of each subset accepts, and the correct ones among them.
    costs : ndarray of shape (n_features,)
        Cost of each feature. Whole numbers compare exactly, others within 1e-9.
    n_rows : int
        Scored rows, or the sum of their weights.
    design_space : DesignSpace
    evaluation : int or float
        Cost of running a stage, in the unit of `costs`.
    word_weights : ndarray of shape (n_words,), optional
        Weight of each row of a word; 1 by default.
    missing : ndarray of shape (n_features, n_words), optional
        Rows in which a feature is missing. A stage that buys it cannot accept them.
    most_spent, most_paid : float
        Most that all rows together, and a single row, may cost.
    fitted : ndarray of bool, shape (2 ** n_features,), optional
        Subsets that designs may be made of; all by default. Where every feature must be bought,
        the full set is one of them. Others have no bits.
    fees : Fees, optional
        Fees that features share, in the unit of `costs`.
    """

    accepts: WordArray
    correct: WordArray
    costs: FloatArray | IntArray
    n_rows: int
    design_space: DesignSpace
    evaluation: int | float = 0
    word_weights: IntArray | None = None
    missing: WordArray | None = None
    most_spent: float = np.inf
    most_paid: float = np.inf
    fitted: BoolArray | None = None
    fees: Fees | None = None

    @classmethod
    def from_evaluator(
        cls,
        evaluator: Evaluator,
        design_space: DesignSpace,
        check: Callable[[], None] | None = None,
    ) -> Self:
        """Fit the model of every subset; `check` is called between batches, and may raise."""
        return cls._with_bits(
            evaluator, design_space, *evaluator.bank.bits(evaluator.grid, check=check)
        )

    @classmethod
    def of_subsets(
        cls,
        evaluator: Evaluator,
        design_space: DesignSpace,
        numbers: IntArray,
        guessed: IntArray | None = None,
        guessed_bits: WordArray | None = None,
    ) -> Self:
        """Make the landscape of some subsets, and fit those that are not.

        The bits of others may be guessed.
        """
        bank = evaluator.bank
        accepts, correct = np.zeros((2, 2**bank.n_features, bank.n_words), dtype=np.uint64)
        words = numbers.astype(np.uint64)[:, None]
        accepts[numbers], correct[numbers] = bank.bits_of(words, evaluator.grid)
        fitted = np.zeros(len(accepts), dtype=np.bool_)
        fitted[numbers] = True
        if guessed is not None and guessed_bits is not None:
            accepts[guessed], correct[guessed] = guessed_bits
            fitted[guessed] = True
        return cls._with_bits(evaluator, design_space, accepts, correct, fitted)

    @classmethod
    def _with_bits(
        cls,
        evaluator: Evaluator,
        design_space: DesignSpace,
        accepts: WordArray,
        correct: WordArray,
        fitted: BoolArray | None = None,
    ) -> Self:
        return cls(
            accepts,
            correct,
            costs=evaluator.usual.features,
            fees=evaluator.usual.fees,
            n_rows=evaluator.bank.n_rows,
            design_space=design_space,
            evaluation=evaluator.usual.evaluation,
            word_weights=evaluator.bank.word_weights,
            missing=evaluator.bank.missing,
            most_spent=evaluator.most_spent,
            most_paid=evaluator.most_paid,
            fitted=fitted,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Everything but `space`, which can be computed again."""
        return {name: value for name, value in self.__dict__.items() if name != "space"}

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.costs)

    @property
    def slack(self) -> float:
        """Relative difference up to which costs count as equal; 0 for whole numbers."""
        return slack_of(self.costs)

    @property
    def max_stages(self) -> int:
        """Most stages of a design."""
        return self.design_space.max_stages

    @property
    def tail(self) -> int:
        """1 if every design ends with the full set, 0 if features may be left out."""
        return int(not self.design_space.allow_exclusion)

    @property
    def n_designs(self) -> int:
        """Number of designs in the space."""
        return self.design_space.size

    @property
    def weights(self) -> WordArray:
        """Weight of each row of a word."""
        if self.word_weights is None:
            return np.ones(self.accepts.shape[1], dtype=np.uint64)
        return self.word_weights.astype(np.uint64)

    def count(self, words: WordArray) -> IntArray:
        """Sum of the weights of the rows whose bits are set, over the last axis."""
        total: IntArray = (np.bitwise_count(words) * self.weights).sum(axis=-1, dtype=np.int64)
        return total

    def kept_from(self, bought: IntArray) -> WordArray:
        """Rows that a stage cannot accept because a feature that it buys is missing."""
        rows: WordArray = self.space.missing[bought & self.space.missing_mask]
        return rows

    @staticmethod
    def n_bytes(n_features: int, n_words: int) -> int:
        """Memory of a landscape and its bounds."""
        return (1 << n_features) * n_words * 8 * (8 + _LEVELS)

    def forget(self) -> None:
        """Free `space`, which can be computed again."""
        self.__dict__.pop("space", None)

    @property
    def base(self) -> int:
        """Number of values of a gene: the base of chromosome numbers."""
        return self.max_stages + 1 - self.tail

    @cached_property
    def digits(self) -> IntArray:
        """Place value of each feature's gene in a chromosome number."""
        powers = [self.base**i for i in range(self.n_features)]
        return np.array(powers[::-1], dtype=np.int64)

    def designs_of(self, codes: IntArray) -> StageArray:
        """Decode chromosome numbers."""
        lowest = self.tail - 1
        stages: StageArray = (codes[:, None] // self.digits % self.base + lowest).astype(np.int16)
        return stages

    @cached_property
    def space(self) -> Space:
        """The landscape in the form of the kernels, with bounds on larger subsets."""
        errs = self.accepts & ~self.correct
        missing, missing_mask = missing_rows(self.missing, self.accepts.shape[1])
        reach = of_larger(merged_up(self.accepts.copy(), np.bitwise_or), np.bitwise_or, 0)
        correct = of_larger(merged_up(self.correct.copy(), np.bitwise_or), np.bitwise_or, 0)
        # Rows that the full set accepts, and that no larger subset labels correctly.
        doomed = self.accepts[-1] & ~missing[missing_mask] & ~correct if self.tail else 0 * correct
        cost = self.subset_costs()
        expensive, rises = self._levels(cost)
        return Space(
            accepts=self.accepts,
            errs=errs,
            missing=missing,
            missing_mask=missing_mask,
            weights=self.weights,
            reach=reach,
            doomed=doomed,
            expensive=expensive,
            rises=rises,
            cost=cost,
            next_cost=next_costs(cost, self.evaluation),
            place=self.totals(self.digits),
            ways=self._ways(),
        )

    def subset_costs(self) -> FloatArray:
        """Cost of buying each subset, fees included."""
        return subset_costs(self.costs, self.fees)

    def totals(self, values: Any) -> Any:
        """Sum of `values`, one per feature, over each subset."""
        return totals(values)

    def _ways(self) -> IntArray:
        """Number of ways to go on with m features in at most r stages, for all m and r.

        If features may be left out, stopping is one of them.
        """
        ways = np.full((self.n_features + 1, self.max_stages + 1), 1 - self.tail, dtype=np.int64)
        for m in range(1, self.n_features + 1):
            for r in range(1, self.max_stages + 1):
                ways[m, r] += count_designs(m, min(m, r), not self.tail)
        return ways

    def _levels(self, cost: FloatArray) -> tuple[WordArray, FloatArray]:
        """Rows by the least that they still pay before a larger subset accepts them, by level.

        Also returns the rise of cost from each level to the next.
        """
        n_subsets, n_words = self.accepts.shape
        expensive = np.zeros((n_subsets, _LEVELS, n_words), dtype=np.uint64)
        levels = np.zeros(0)
        width = max(1, min(64, _BLOCK // n_subsets))
        for start in range(0, 64 * n_words, width):
            word = start // 64
            bits = np.arange(start % 64, start % 64 + width, dtype=np.uint64)
            accepted = (self.accepts[:, word, None] >> bits) & np.uint64(1) != 0
            paid = np.where(accepted, cost[:, None], np.inf)
            later = of_larger(merged_up(paid, np.minimum), np.minimum, np.inf)
            later -= cost[:, None] - self.evaluation
            finite = np.isfinite(later)
            if not levels.size:
                levels = _level_costs(later[finite])
            for level, least in enumerate(levels):
                rows = finite & (later >= least)
                expensive[:, level, word] |= _pack(rows, bits)
        rises = np.diff(levels, prepend=0.0)
        used = rises > 0
        return np.ascontiguousarray(expensive[:, : len(levels)][:, used]), rises[used]


def _level_costs(later: FloatArray) -> FloatArray:
    """Levels of later costs: the smallest, and some quantiles."""
    if not later.size:
        return np.zeros(1)
    shares = np.linspace(0, 1, _LEVELS + 1)[:-1]
    levels: FloatArray = np.unique(np.quantile(later, shares, method="lower"))
    return levels


def _pack(rows: BoolArray, bits: WordArray) -> WordArray:
    packed: WordArray = (rows.astype(np.uint64) << bits).sum(axis=1, dtype=np.uint64)
    return packed
