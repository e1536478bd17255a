"""A whole space of designs at one threshold: what every subset does, and what can follow it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray, WordArray
from emsco._kernels.chaining import Space
from emsco.designs.space import DesignSpace, count_designs
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import SAME_COST

__all__ = ["Landscape"]

_LEVELS = 6
_BLOCK = 2**24  # entries of a table of costs held at a time; a power of 2, as words are wide


@dataclass(frozen=True, eq=False)
class Landscape:
    """Bits of every subset over the held-out rows, and all that follows from them.

    Subsets are numbers: feature i is in subset s if bit i of s is set.

    Parameters
    ----------
    accepts, correct : ndarray of shape (2 ** n_features, n_words)
        Held-out rows that each subset's classifier accepts, and those it also gets right.
    costs : ndarray of shape (n_features,)
        Cost of each feature; whole numbers compare exactly, others within 1e-9.
    n_rows : int
        Held-out rows; where they have weights, the sum of these.
    design_space : DesignSpace
        The designs to tell apart.
    evaluation : int or float
        Cost of running a stage, in the unit of `costs`.
    word_weights : ndarray of shape (n_words,), optional
        How much each row of a word counts; 1 where it is not given.
    missing : ndarray of shape (n_features, n_words), optional
        Rows that a stage cannot accept if it buys a feature.
    most_spent, most_paid : float
        What all rows together, and any single one, may cost.
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

    @classmethod
    def from_evaluator(
        cls,
        evaluator: Evaluator,
        design_space: DesignSpace,
        check: Callable[[], None] | None = None,
    ) -> Self:
        """Fit every subset; `check` is called now and then, and may raise."""
        return cls(
            *evaluator.bank.bits(evaluator.thresholds, check),
            costs=evaluator.units.features,
            n_rows=evaluator.bank.n_rows,
            design_space=design_space,
            evaluation=evaluator.units.evaluation,
            word_weights=evaluator.bank.word_weights,
            missing=evaluator.bank.missing,
            most_spent=evaluator.most_spent,
            most_paid=evaluator.most_paid,
        )

    def __getstate__(self) -> dict[str, Any]:
        """What cannot be worked out again."""
        return {name: value for name, value in self.__dict__.items() if name != "space"}

    @property
    def n_features(self) -> int:
        """Features in all."""
        return len(self.costs)

    @property
    def slack(self) -> float:
        """Costs this close, relatively, count as equal: whole numbers must be the same."""
        return 0.0 if self.costs.dtype.kind == "i" else SAME_COST

    @property
    def max_stages(self) -> int:
        """Most stages of a design."""
        return self.design_space.max_stages

    @property
    def tail(self) -> int:
        """1 where every design ends with the full set, 0 where features may be left out."""
        return int(not self.design_space.allow_exclusion)

    @property
    def n_designs(self) -> int:
        """Size of the space."""
        return self.design_space.size

    @property
    def weights(self) -> WordArray:
        """How much each row of a word counts."""
        if self.word_weights is None:
            return np.ones(self.accepts.shape[1], dtype=np.uint64)
        return self.word_weights.astype(np.uint64)

    def count(self, words: WordArray) -> IntArray:
        """Rows behind bits, with their weights, summed over the last axis."""
        total: IntArray = (np.bitwise_count(words) * self.weights).sum(axis=-1, dtype=np.int64)
        return total

    def kept_from(self, bought: IntArray) -> WordArray:
        """Rows that a stage cannot accept, by the subset of features that it buys."""
        rows: WordArray = self.space.missing[bought & self.space.missing_mask]
        return rows

    @staticmethod
    def n_bytes(n_features: int, n_words: int) -> int:
        """Memory that a landscape takes, with all that is worked out from it."""
        return (1 << n_features) * n_words * 8 * (8 + _LEVELS)

    def forget(self) -> None:
        """Free what can be worked out again when it is needed."""
        self.__dict__.pop("space", None)

    @property
    def base(self) -> int:
        """Values of a gene, which are the digits of a chromosome number."""
        return self.max_stages + 1 - self.tail

    @cached_property
    def digits(self) -> IntArray:
        """What the next value of a gene adds to the chromosome number, by feature."""
        powers = [self.base**i for i in range(self.n_features)]
        return np.array(powers[::-1], dtype=np.int64)

    def designs_of(self, codes: IntArray) -> StageArray:
        """The designs behind chromosome numbers."""
        lowest = self.tail - 1
        stages: StageArray = (codes[:, None] // self.digits % self.base + lowest).astype(np.int16)
        return stages

    @cached_property
    def space(self) -> Space:
        """The same facts as the kernels take them, with bounds on what larger subsets can do."""
        errs = self.accepts & ~self.correct
        missing, missing_mask = self._missing()
        reach = _of_larger(_spread_up(self.accepts.copy(), np.bitwise_or), np.bitwise_or, 0)
        right = _of_larger(_spread_up(self.correct.copy(), np.bitwise_or), np.bitwise_or, 0)
        cost = self.totals(np.asarray(self.costs, dtype=np.float64))
        dear, rises = self._levels(cost)
        return Space(
            accepts=self.accepts,
            errs=errs,
            missing=missing,
            missing_mask=missing_mask,
            weights=self.weights,
            reach=reach,
            doomed=self.accepts[-1] & ~missing[missing_mask] & ~right if self.tail else 0 * right,
            dear=dear,
            rises=rises,
            cost=cost,
            next_cost=self._next_costs(),
            place=self.totals(self.digits),
            ways=self._ways(),
        )

    def totals(self, values: Any) -> Any:
        """Sum of `values`, one per feature, over each subset."""
        total = np.zeros(2**self.n_features, dtype=values.dtype)
        for i, value in enumerate(values):
            total[1 << i : 2 << i] = total[: 1 << i] + value
        return total

    def _missing(self) -> tuple[WordArray, int]:
        """Rows with a gap in some feature of a subset, and the features that have missing.

        The table ends with the last of these; without any, it is that of no feature.
        """
        if self.missing is None or not self.missing.any():
            return np.zeros((1, self.accepts.shape[1]), dtype=np.uint64), 0
        holed = np.flatnonzero(self.missing.any(axis=1))
        table = np.zeros((2 << holed[-1], self.accepts.shape[1]), dtype=np.uint64)
        for i in range(holed[-1] + 1):
            table[1 << i : 2 << i] = table[: 1 << i] | self.missing[i]
        return table, sum(1 << int(i) for i in holed)

    def _next_costs(self) -> FloatArray:
        """Least that one more stage costs, by subset; 0 for the full set, which none follows."""
        missing = np.full((2**self.n_features, 1), np.inf)
        for i, cost in enumerate(self.costs):
            others = missing.reshape(-1, 2, 2**i, 1)[:, 0]
            np.minimum(others, float(cost) + self.evaluation, out=others)
        missing[-1] = 0
        return missing[:, 0]

    def _ways(self) -> IntArray:
        """Ways to go on with m features in at most r stages, for all m and r.

        To stop is one of them where features may be left out.
        """
        ways = np.full((self.n_features + 1, self.max_stages + 1), 1 - self.tail, dtype=np.int64)
        for m in range(1, self.n_features + 1):
            for r in range(1, self.max_stages + 1):
                ways[m, r] += count_designs(m, min(m, r), not self.tail)
        return ways

    def _levels(self, cost: FloatArray) -> tuple[WordArray, FloatArray]:
        """Rows that pay at least so much more before any larger subset accepts them, by level."""
        n_subsets, n_words = self.accepts.shape
        dear = np.zeros((n_subsets, _LEVELS, n_words), dtype=np.uint64)
        levels = np.zeros(0)
        width = max(1, min(64, _BLOCK // n_subsets))
        for start in range(0, 64 * n_words, width):
            word = start // 64
            bits = np.arange(start % 64, start % 64 + width, dtype=np.uint64)
            accepted = (self.accepts[:, word, None] >> bits) & np.uint64(1) != 0
            dearest = np.where(accepted, cost[:, None], np.inf)
            later = _of_larger(_spread_up(dearest, np.minimum), np.minimum, np.inf)
            later -= cost[:, None] - self.evaluation
            finite = np.isfinite(later)
            if not levels.size:
                levels = _level_costs(later[finite])
            for level, least in enumerate(levels):
                rows = finite & (later >= least)
                dear[:, level, word] |= _pack(rows, bits)
        rises = np.diff(levels, prepend=0.0)
        used = rises > 0
        return np.ascontiguousarray(dear[:, : len(levels)][:, used]), rises[used]


def _level_costs(later: FloatArray) -> FloatArray:
    """Levels of later costs: the least, and others spread over what is seen."""
    if not later.size:
        return np.zeros(1)
    shares = np.linspace(0, 1, _LEVELS + 1)[:-1]
    levels: FloatArray = np.unique(np.quantile(later, shares, method="lower"))
    return levels


def _pack(rows: BoolArray, bits: WordArray) -> WordArray:
    packed: WordArray = (rows.astype(np.uint64) << bits).sum(axis=1, dtype=np.uint64)
    return packed


def _spread_up(table: Any, merge: np.ufunc) -> Any:
    """Merge into each subset's row, in place, those of all subsets that contain it."""
    n_features = len(table).bit_length() - 1
    for i in range(n_features):
        pairs = table.reshape(2 ** (n_features - 1 - i), 2, 2**i, -1)
        merge(pairs[:, 0], pairs[:, 1], out=pairs[:, 0])
    return table


def _of_larger(table: Any, merge: np.ufunc, nothing: float) -> Any:
    """The same without the subset's own row, from what `_spread_up` has made."""
    n_features = len(table).bit_length() - 1
    larger = np.full_like(table, nothing)
    for i in range(n_features):
        shape = (2 ** (n_features - 1 - i), 2, 2**i, -1)
        own, others = larger.reshape(shape), table.reshape(shape)
        merge(own[:, 0], others[:, 1], out=own[:, 0])
    return larger
