"""Subsets of the features over the scored rows: what their models say, what they cost, and bounds.

A table of subsets has the empty set first and the full set last, and each subset after all that
are parts of it. Where it holds all of them, a subset's place is its number: feature i is in subset
s if bit i of s is set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import comb
from typing import Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, WordArray
from emsco._base.workers import slices
from emsco._kernels.labels import Space, join_larger, note_designs
from emsco.designs.chromosomes import subsets_of_words, words_of_subsets
from emsco.designs.space import DesignSpace
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import SAME_COST
from emsco.scoring.scores import Counts

_AT_ONCE = 2**13  # subsets to fit between two checks
_LINES = 1024  # about as many steps of rows tell known designs apart
_MOST_DIGITS = 90  # of a number that is no infinity, with any stages


@dataclass(frozen=True, eq=False)
class Subsets:
    """A table of subsets, of which the designs of a space are made.

    Attributes
    ----------
    space : DesignSpace
    bought : ndarray of bool, shape (n_subsets, n_features)
    accepts, errs : ndarray of shape (n_subsets, n_levels, n_words)
        Scored rows that the model of each subset accepts at each level, as bits, and those of them
        with the wrong label.
    weights : ndarray of shape (n_words,)
        How much each row of a word counts.
    n_rows : int
        Rows, or the sum of their weights.
    missing : ndarray of shape (n_features, n_words)
        Rows that lack a feature. A stage that buys it cannot accept them.
    early, last : tuple of int
        Levels of a stage before the last, and of the last one.
    prices : ndarray of shape (n_features,)
        Cost of each feature. Whole numbers compare exactly, others within 1e-9.
    cost : ndarray of shape (n_subsets,)
        Cost of buying each subset, fees included.
    evaluation : float
        Cost of running a stage.
    most_spent, most_paid : float
        Most that all rows together, and a single row, may cost.
    """

    space: DesignSpace
    bought: BoolArray
    accepts: WordArray
    errs: WordArray
    weights: IntArray
    n_rows: int
    missing: WordArray
    early: tuple[int, ...]
    last: tuple[int, ...]
    prices: FloatArray | IntArray
    cost: FloatArray
    evaluation: float
    most_spent: float
    most_paid: float

    @classmethod
    def all(
        cls, evaluator: Evaluator, space: DesignSpace, check: Callable[[], None] | None = None
    ) -> Self:
        """Fit the model of every subset; `check` is called between batches, and may raise."""
        bits, grid = evaluator.bits, evaluator.grid
        n_features = bits.bank.n_features
        shape = (2**n_features, grid.n_levels, bits.n_words)
        accepts, errs = np.zeros((2, *shape), dtype=np.uint64)  # the empty subset has no model
        every = np.arange(2**n_features, dtype=np.uint64)[:, None]
        # In parts even if all would fit, so that `check` can stop between them.
        for level, part in product(
            range(grid.n_levels), slices(len(every) - 1, min(bits.capacity, _AT_ONCE))
        ):
            if check:
                check()
            here = slice(part.start + 1, part.stop + 1)
            accepts[here, level], correct = bits.of_subsets(every[here], grid, level)
            errs[here, level] = accepts[here, level] & ~correct
        bought = (np.arange(len(accepts))[:, None] >> np.arange(n_features) & 1).astype(bool)
        return cls._of(evaluator, space, bought, accepts, errs, *bits.sampled_words(bits.n_words))

    @classmethod
    def some(
        cls, evaluator: Evaluator, space: DesignSpace, members: WordArray, max_words: int
    ) -> Self:
        """Take some subsets, packed as words, and all features; fit those that are not.

        Where scored rows fill more than `max_words`, as many stand for all.
        """
        bits, grid = evaluator.bits, evaluator.grid
        n_features = bits.bank.n_features
        full = words_of_subsets(np.ones((1, n_features), dtype=np.bool_))
        members = np.unique(np.concatenate([full, members])[:, ::-1], axis=0)[:, ::-1]
        bought = subsets_of_words(members, n_features)
        if space.first is not None:
            members, bought = members[bought[:, space.first]], bought[bought[:, space.first]]
        words, n_rows = bits.sampled_words(max_words)
        by_level = [bits.of_subsets(members, grid, level, words) for level in range(grid.n_levels)]
        # With the empty set before them, which has no model.
        accepts, correct = np.pad(np.stack(by_level, axis=2), ((0, 0), (1, 0), (0, 0), (0, 0)))
        bought = np.pad(bought, ((1, 0), (0, 0)))
        return cls._of(evaluator, space, bought, accepts, accepts & ~correct, words, n_rows)

    @classmethod
    def _of(
        cls,
        evaluator: Evaluator,
        space: DesignSpace,
        bought: BoolArray,
        accepts: WordArray,
        errs: WordArray,
        words: IntArray,
        n_rows: int,
    ) -> Self:
        bits, costs, grid = evaluator.bits, evaluator.units, evaluator.grid
        return cls(
            space,
            bought,
            accepts,
            errs,
            weights=bits.word_weights[words],
            n_rows=n_rows,
            missing=bits.missing.take(words, axis=1),
            early=grid.early,
            last=grid.last,
            prices=costs.average,
            cost=costs.paid(bought).astype(np.float64),
            evaluation=float(costs.evaluation),
            most_spent=evaluator.most_spent * (n_rows / bits.n_rows),
            most_paid=float(evaluator.most_paid),
        )

    @staticmethod
    def n_bytes(n_features: int, n_levels: int, n_words: int) -> int:
        """Memory of the table of all subsets, while its bounds are computed."""
        return (1 << n_features) * n_words * 8 * (3 * n_levels + 5)

    @property
    def is_whole(self) -> bool:
        """Whether the table holds all subsets."""
        return len(self.bought) == 1 << self.space.n_features

    @property
    def slack(self) -> float:
        """Relative difference up to which costs count as equal; 0 for whole numbers."""
        return 0.0 if self.prices.dtype.kind == "i" else SAME_COST

    @property
    def shift(self) -> int:
        """What is known of designs is told apart by steps of 2 ** shift rows."""
        return max(0, (self.n_rows // _LINES).bit_length())

    def known(self, front: Counts | None = None) -> FloatArray:
        """What is known by so many accepted and wrong rows: the least cost of a design as good."""
        n_lines = (self.n_rows >> self.shift) + 2
        known = np.full((n_lines, n_lines), self.most_spent)
        if front is not None:
            front = front[front.feasible]
            share = self.n_rows / front.n_rows  # of the rows; down to whole ones
            accepted, correct = (share * np.array([front.accepted, front.correct])).astype(np.int64)
            note_designs(known, accepted, accepted - correct, share * front.spent, self.shift)
        return known

    def for_kernel(self, last: Sequence[int], width: int = 0) -> Space:
        """Return the table in the form of the kernels, with bounds on larger subsets.

        The last stage has one of the levels `last`; a width bounds the search.
        """
        space, levels, members = self.space, range(self.accepts.shape[1]), self._members
        reach, doomed = self._later(self.accepts, last), np.zeros_like(self.accepts[:, 0])
        tries = list(last)
        if not space.allow_exclusion:
            # Rows that the full set is sure to accept, and that no larger subset labels correctly.
            sure = np.bitwise_and.reduce(self.accepts[-1, tries], axis=0)
            sure &= ~np.bitwise_or.reduce(self.missing, axis=0)
            doomed |= sure & ~self._later(self.accepts & ~self.errs, last)
        elif not width:
            tries = []  # the full set is one of many that may come last
        if width:
            tries = sorted({*tries[:2], tries[-1]})
        # If stages cost something and the worst cost is limited, their number matters to what may
        # follow, just as where the limit of stages can bind.
        stages_cost = self.evaluation > 0 and bool(np.isfinite(self.most_paid))
        # A digit for each gene, the first feature first: simpler designs have smaller numbers, as
        # exact as floats are.
        powers = np.minimum(np.arange(space.n_features)[::-1], _MOST_DIGITS)
        digits = (space.max_stages + 1.0) ** powers
        cheapest = np.where(self.bought, np.inf, self.prices).min(axis=1)
        return Space(
            members=members,
            is_whole=self.is_whole,
            accepts=self.accepts,
            errs=self.errs,
            reach=reach,
            doomed=doomed,
            missing=self.missing if self.missing.any() else self.missing[:0],
            weights=self.weights,
            early=np.isin(levels, self.early),
            last=np.isin(levels, last),
            cost=self.cost,
            next_cost=cheapest + self.evaluation,
            place=self.bought @ digits,
            ways=self._ways(len(last), counted=not width),
            n_rows=self.n_rows,
            max_stages=space.max_stages,
            may_stop=space.allow_exclusion,
            evaluation=self.evaluation,
            most_paid=self.most_paid,
            slack=self.slack,
            shift=self.shift,
            binding=bool(width) or stages_cost or space.max_stages < space.n_features,
            width=width,
            tries=np.array(tries, dtype=np.int64),
        )

    @cached_property
    def _members(self) -> WordArray:
        return words_of_subsets(self.bought)

    def _later(self, bits: WordArray, last: Sequence[int]) -> WordArray:
        """Rows that have a bit in a larger subset, at a level that it may have."""
        ends = slice(None) if self.space.allow_exclusion else slice(-1, None)
        possible: WordArray = np.bitwise_or.reduce(bits[:, list(self.early)], axis=1)
        possible[-1] = 0  # nothing follows the full set
        possible[ends] |= np.bitwise_or.reduce(bits[ends][:, list(last)], axis=1)
        if self.is_whole:
            return _of_larger(possible)
        joined = np.zeros_like(possible)
        join_larger(self._members, possible, joined)
        return joined

    def _ways(self, n_last: int, *, counted: bool) -> IntArray:
        """Number of ways to go on with m features in at most r stages, at least one, by m and r."""
        space, n_early = self.space, len(self.early)
        ways = np.zeros((space.n_features + 1, space.max_stages + 1), dtype=np.int64)
        for r in range(1, space.max_stages + 1 if counted else 1):
            for m in range(1, space.n_features + 1):
                for left in range(m):
                    n_ends = n_last if space.allow_exclusion or left == 0 else 0
                    ways[m, r] += comb(m, left) * (n_ends + n_early * int(ways[left, r - 1]))
        return ways


def _of_larger(rows: WordArray) -> WordArray:
    """For each of all subsets, join the rows of all larger ones; `rows` are used up."""
    n_features = len(rows).bit_length() - 1
    shapes = [(2 ** (n_features - 1 - i), 2, 2**i, -1) for i in range(n_features)]
    # First each subset with all that contain it, one feature at a time ...
    for shape in shapes:
        pairs = rows.reshape(shape)
        pairs[:, 0] |= pairs[:, 1]
    # ... then, without the subset itself, those that have at least one feature more.
    larger = np.zeros_like(rows)
    for shape in shapes:
        merged, others = larger.reshape(shape), rows.reshape(shape)
        merged[:, 0] |= others[:, 1]
    return larger
