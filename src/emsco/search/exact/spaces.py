"""Whole spaces of designs: the bits of all subsets over the scored rows, and bounds from them.

Subsets are numbers: feature i is in subset s if bit i of s is set. A `SingleThresholdSpace` has the
same threshold at every stage; its front is found by `chains`. A `ThresholdSpace` has a choice of
thresholds, *levels*, for each stage; its front is found by `walk`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Any, Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray, WordArray
from emsco._kernels.chains import ChainArrays
from emsco._kernels.walk import WalkArrays
from emsco.costs import Fees
from emsco.designs.chromosomes import stage_counts, with_levels
from emsco.designs.space import DesignSpace
from emsco.scoring.evaluator import Evaluator
from emsco.search.allowances import slack_of

_COST_LEVELS = 6
_BLOCK = 2**24  # costs held at a time; a power of 2, like the width of a word


@dataclass(frozen=True, eq=False)
class _SubsetSpace:
    """Bits, costs and limits of a space of designs.

    Parameters
    ----------
    accepts, correct : ndarray of shape (2 ** n_features, ..., n_words)
        Scored rows that the model of each subset accepts, and the correct ones among them. Between
        the subsets and the words, a `ThresholdSpace` has an axis for the levels.
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
    fees: Fees | None = None

    @classmethod
    def _of(
        cls,
        evaluator: Evaluator,
        design_space: DesignSpace,
        accepts: WordArray,
        correct: WordArray,
        **more: Any,
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
            **more,
        )

    def __getstate__(self) -> dict[str, Any]:
        """Everything but `arrays`, which can be computed again."""
        return {name: value for name, value in self.__dict__.items() if name != "arrays"}

    def forget(self) -> None:
        """Free `arrays`, which can be computed again."""
        self.__dict__.pop("arrays", None)

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.costs)

    @property
    def n_words(self) -> int:
        """Words that hold one bit per scored row."""
        return int(self.accepts.shape[-1])

    @property
    def slack(self) -> float:
        """Relative difference up to which costs count as equal; 0 for whole numbers."""
        return slack_of(self.costs)

    @property
    def weights(self) -> IntArray:
        """Weight of each row of a word."""
        if self.word_weights is None:
            return np.ones(self.n_words, dtype=np.int64)
        return self.word_weights

    def subset_costs(self) -> FloatArray:
        """Cost of buying each subset, fees included."""
        bought: FloatArray = totals(np.asarray(self.costs, dtype=np.float64))
        return bought + self.fees.of_all_subsets() if self.fees else bought

    def _missing_rows(self) -> tuple[WordArray, int]:
        """Rows in which a feature of a subset is missing, and the features that are ever missing.

        The rows are listed by subset, up to the last feature that is ever missing.
        """
        if self.missing is None or not self.missing.any():
            return np.zeros((1, self.n_words), dtype=np.uint64), 0
        incomplete = np.flatnonzero(self.missing.any(axis=1))
        rows = np.zeros((2 << incomplete[-1], self.n_words), dtype=np.uint64)
        for i in range(incomplete[-1] + 1):
            rows[1 << i : 2 << i] = rows[: 1 << i] | self.missing[i]
        return rows, sum(1 << int(i) for i in incomplete)

    def _next_costs(self, cost: FloatArray) -> FloatArray:
        """Least cost of one more stage after each subset, given what each costs; 0 after the last.

        A larger subset never costs less, so a stage that buys one feature is the cheapest.
        """
        cheapest = np.full(len(cost), np.inf)
        for i in range(self.n_features):
            without, with_it = cost.reshape(-1, 2, 2**i).swapaxes(0, 1)
            cheapest_without = cheapest.reshape(-1, 2, 2**i)[:, 0]
            np.minimum(cheapest_without, with_it - without + self.evaluation, out=cheapest_without)
        cheapest[-1] = 0
        return cheapest

    def _ways(self, n_early: int, n_last: int) -> IntArray:
        """Number of ways to go on with m features in at most r stages, at least one, by m and r."""
        space = self.design_space
        ways = np.zeros((self.n_features + 1, space.max_stages + 1), dtype=np.int64)
        for r in range(1, space.max_stages + 1):
            for m in range(1, self.n_features + 1):
                for left in range(m):
                    n_ends = n_last if space.allow_exclusion or left == 0 else 0
                    ways[m, r] += comb(m, left) * (n_ends + n_early * int(ways[left, r - 1]))
        return ways


@dataclass(frozen=True, eq=False)
class SingleThresholdSpace(_SubsetSpace):
    """The bits of every subset at the threshold that all stages have.

    Parameters
    ----------
    accepts, ..., fees
        Bits, costs and limits; bits are (2 ** n_features, n_words).
    fitted : ndarray of bool, shape (2 ** n_features,), optional
        Subsets that designs may be made of; all by default. Where every feature must be bought,
        the full set is one of them. Others have no bits.
    """

    fitted: BoolArray | None = None

    @classmethod
    def from_evaluator(
        cls,
        evaluator: Evaluator,
        design_space: DesignSpace,
        check: Callable[[], None] | None = None,
    ) -> Self:
        """Fit the model of every subset; `check` is called between batches, and may raise."""
        accepts, correct = evaluator.bank.bits(evaluator.grid, check=check)
        return cls._of(evaluator, design_space, accepts, correct)

    @classmethod
    def of_subsets(
        cls,
        evaluator: Evaluator,
        design_space: DesignSpace,
        numbers: IntArray,
        guessed: IntArray | None = None,
        guessed_bits: WordArray | None = None,
    ) -> Self:
        """Make the space of some subsets, and fit those that are not.

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
        return cls._of(evaluator, design_space, accepts, correct, fitted=fitted)

    @staticmethod
    def n_bytes(n_features: int, n_words: int) -> int:
        """Memory of a space and its bounds."""
        return (1 << n_features) * n_words * 8 * (8 + _COST_LEVELS)

    @property
    def tail(self) -> int:
        """1 if every design ends with the full set, 0 if features may be left out."""
        return int(not self.design_space.allow_exclusion)

    def count(self, words: WordArray) -> IntArray:
        """Sum of the weights of the rows whose bits are set, over the last axis."""
        total: IntArray = (np.bitwise_count(words) * self.weights).sum(axis=-1, dtype=np.int64)
        return total

    def kept_from(self, bought: IntArray) -> WordArray:
        """Rows that a stage cannot accept because a feature that it buys is missing."""
        rows: WordArray = self.arrays.missing[bought & self.arrays.missing_mask]
        return rows

    @property
    def _base(self) -> int:
        """Number of values of a gene: the base of chromosome numbers."""
        return self.design_space.max_stages + 1 - self.tail

    @cached_property
    def digits(self) -> IntArray:
        """Place value of each feature's gene in a chromosome number."""
        return _powers(self._base, self.n_features)

    def designs_of(self, codes: IntArray) -> StageArray:
        """Decode chromosome numbers."""
        lowest = self.tail - 1
        stages: StageArray = (codes[:, None] // self.digits % self._base + lowest).astype(np.int16)
        return stages

    @cached_property
    def arrays(self) -> ChainArrays:
        """The space in the form of the kernels, with bounds on larger subsets."""
        missing, missing_mask = self._missing_rows()
        correct = of_larger(self.correct.copy(), np.bitwise_or, 0)
        # Rows that the full set accepts, and that no larger subset labels correctly.
        # Without the tail nobody has to be accepted in the end, so no row is doomed.
        doomed = self.accepts[-1] & ~missing[missing_mask] & ~correct if self.tail else 0 * correct
        cost = self.subset_costs()
        expensive, rises = self._cost_levels(cost)
        return ChainArrays(
            accepts=self.accepts,
            errs=self.accepts & ~self.correct,
            missing=missing,
            missing_mask=missing_mask,
            weights=self.weights,
            reach=of_larger(self.accepts.copy(), np.bitwise_or, 0),
            doomed=doomed,
            expensive=expensive,
            rises=rises,
            cost=cost,
            next_cost=self._next_costs(cost),
            place=totals(self.digits),
            # A chain without a tail is a design already: stopping is one more way to go on.
            ways=self._ways(n_early=1, n_last=1) + (1 - self.tail),
        )

    def _cost_levels(self, cost: FloatArray) -> tuple[WordArray, FloatArray]:
        """Rows by the least that they still pay before a larger subset accepts them, by level.

        Also returns the rise of cost from each level to the next.
        """
        n_subsets = len(self.accepts)
        expensive = np.zeros((n_subsets, _COST_LEVELS, self.n_words), dtype=np.uint64)
        levels = np.zeros(0)
        # Columns of bits at a time, as each bit becomes a float for each subset.
        width = max(1, min(64, _BLOCK // n_subsets))
        for start in range(0, 64 * self.n_words, width):
            word = start // 64
            bits = np.arange(start % 64, start % 64 + width, dtype=np.uint64)
            accepted = (self.accepts[:, word, None] >> bits) & np.uint64(1) != 0
            later = of_larger(np.where(accepted, cost[:, None], np.inf), np.minimum, np.inf)
            # What such a row pays from here: the larger subset's cost beyond this one's, and the
            # stage.
            later -= cost[:, None] - self.evaluation
            finite = np.isfinite(later)
            if not levels.size:  # levels from the first rows serve for all: any levels are bounds
                shares = np.linspace(0, 1, _COST_LEVELS + 1)[:-1]
                levels = np.zeros(1)
                if finite.any():
                    levels = np.unique(np.quantile(later[finite], shares, method="lower"))
            for level, lowest in enumerate(levels):
                rows = (finite & (later >= lowest)).astype(np.uint64)
                expensive[:, level, word] |= (rows << bits).sum(axis=1, dtype=np.uint64)
        rises = np.diff(levels, prepend=0.0)
        # A first level of 0 bounds nothing.
        used = rises > 0
        return np.ascontiguousarray(expensive[:, : len(levels)][:, used]), rises[used]


@dataclass(frozen=True, eq=False)
class ThresholdSpace(_SubsetSpace):
    """The bits of every subset at every level.

    Parameters
    ----------
    accepts, ..., fees
        Bits, costs and limits; bits are (2 ** n_features, n_levels, n_words).
    early, last : tuple of int
        Levels that a stage before the last, and the last one, may have.
    """

    early: tuple[int, ...] = (0,)
    last: tuple[int, ...] = (0,)

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
        return cls._of(evaluator, design_space, accepts, correct, early=grid.early, last=grid.last)

    @staticmethod
    def n_bytes(n_features: int, n_levels: int, n_words: int) -> int:
        """Memory of a space and its bounds."""
        return int((1 << n_features) * n_words * 8 * (6 * n_levels + 6))

    @staticmethod
    def has_codes(n_features: int, max_stages: int, n_levels: int) -> bool:
        """Whether the stages and the levels of a design each fit into a whole number."""
        # Below 2⁶³, with room to add place values.
        return bool(max(max_stages + 1, n_levels) ** n_features < 2**62)

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return int(self.accepts.shape[1])

    def first_subsets(self) -> IntArray:
        """Subsets that the first stage may buy; those with the most larger ones come first."""
        space = self.design_space
        every = np.arange(1, 2**self.n_features)
        if space.first is not None:
            every = every[every >> space.first & 1 == 1]
        # The only design is the full set in one stage.
        if space.deepest == 1 and not space.allow_exclusion:
            every = every[-1:]
        return every[np.argsort(np.bitwise_count(every), kind="stable")]

    @property
    def _digits(self) -> IntArray:
        return _powers(self.design_space.deepest + 1, self.n_features)

    @property
    def _level_digits(self) -> IntArray:
        return _powers(self.n_levels, self.n_features)

    def designs_of(self, codes: IntArray, levels: IntArray) -> StageArray:
        """Decode the stages and the levels of designs."""
        genes = codes[:, None] // self._digits % (self.design_space.deepest + 1) - 1
        stages = genes.astype(np.int16)
        by_feature = levels[:, None] // self._level_digits % self.n_levels
        deepest = int(stage_counts(stages).max(initial=1))
        by_stage = np.zeros((len(stages), deepest), dtype=np.int64)
        design, feature = np.nonzero(stages >= 0)
        # All features of a stage carry its level, so whichever is written last is right.
        by_stage[design, stages[design, feature]] = by_feature[design, feature]
        return with_levels(stages, by_stage)

    @cached_property
    def arrays(self) -> WalkArrays:
        """The space in the form of the kernel, with bounds on what may follow."""
        missing, missing_mask = self._missing_rows()
        # Rows that every last stage with a larger subset accepts, which never lack values ...
        sure = np.bitwise_and.reduce(self.accepts[:, list(self.last)], axis=1)
        if self.missing is not None:
            sure &= ~np.bitwise_or.reduce(self.missing, axis=0)
        # No design ends in these: they must not narrow down what the others share.
        sure[~self._ends] = ~np.uint64(0)
        # ... and that none labels correctly.
        doomed = of_larger(sure, np.bitwise_and, ~np.uint64(0)) & ~self._later(self.correct)
        bits = np.concatenate([self.accepts, self.accepts & ~self.correct], axis=1)
        cost = self.subset_costs()
        return WalkArrays(
            # Words before levels: the kernel reads all levels of one word at a time.
            bits=np.ascontiguousarray(bits.transpose(0, 2, 1)),
            bounds=np.stack([self._later(self.accepts), doomed], axis=2),
            early=np.isin(np.arange(self.n_levels), self.early),
            last=np.isin(np.arange(self.n_levels), self.last),
            missing=missing,
            missing_mask=missing_mask,
            weights=self.weights,
            cost=cost,
            next_cost=self._next_costs(cost),
            place=np.stack([totals(self._digits), totals(self._level_digits)]),
            ways=self._ways(len(self.early), len(self.last)),
        )

    @property
    def _ends(self) -> BoolArray:
        """Whether a design may end in each subset."""
        ends = np.full(len(self.accepts), self.design_space.allow_exclusion)
        ends[-1] = True
        return ends

    def _later(self, bits: WordArray) -> WordArray:
        """Rows that have a bit in a larger subset, at a level that it may have."""
        possible = np.bitwise_or.reduce(bits[:, list(self.early)], axis=1)
        possible[-1] = 0  # nothing follows the full set
        at_the_end = np.bitwise_or.reduce(bits[self._ends][:, list(self.last)], axis=1)
        possible[self._ends] |= at_the_end
        later: WordArray = of_larger(possible, np.bitwise_or, np.uint64(0))
        return later


def totals(values: Any) -> Any:
    """Sum of `values`, one per feature, over each subset.

    Examples
    --------
    >>> totals(np.array([1, 10])).tolist()
    [0, 1, 10, 11]
    """
    total = np.zeros(2 ** len(values), dtype=values.dtype)
    for i, value in enumerate(values):
        # Subsets with feature i are those without it, shifted by 2ⁱ.
        total[1 << i : 2 << i] = total[: 1 << i] + value
    return total


def of_larger(values: Any, merge: np.ufunc, nothing: Any) -> Any:
    """Merge the values of all subsets larger than each; `nothing` for the full set.

    `values`, one for each subset, are used up.
    """
    n_features = len(values).bit_length() - 1
    shapes = [(2 ** (n_features - 1 - i), 2, 2**i, -1) for i in range(n_features)]
    # First each subset with all that contain it, one feature at a time ...
    for shape in shapes:
        pairs = values.reshape(shape)
        merge(pairs[:, 0], pairs[:, 1], out=pairs[:, 0])
    # ... then, without the subset itself, those that have at least one feature more.
    larger = np.full_like(values, nothing)
    for shape in shapes:
        merged, others = larger.reshape(shape), values.reshape(shape)
        merge(merged[:, 0], others[:, 1], out=merged[:, 0])
    return larger


def _powers(base: int, n: int) -> IntArray:
    """Place value of each of n digits."""
    return np.array([base**i for i in range(n)][::-1], dtype=np.int64)
