"""Find gates: questions about cheap features after which rows should buy different things.

A question is about a column, or about the likeliest class by the model of a cheap panel.

Buying a gate alone often predicts nothing, so its own gain says little. What counts is what its
parts gain: in each part, some other subset of features may be the best buy. A search has fitted
models for thousands of subsets already, and their answers can be counted in any part of the rows.
So every subset is priced in every part, at several prices of a correct label, and a gate is worth
what its parts gain over the best subset for everyone. Subsets are chosen on one half of the rows
and measured on the other, since the best of many is lucky.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco.data.columns import ColumnCode
from emsco.designs.questions import Question

_BUDGETS = (0.03, 0.06, 0.1, 0.2, 0.3, 0.45)  # shares of the cost of everything
_BINS = 9  # of a number; cuts are between them
_MOST_CATEGORIES = 8  # that get a bin of their own
FEWEST_ROWS, _SMALLEST = 100, 0.08  # rows of a part, and their share
_NEAR = 0.02  # of the rows, within which a cut may move to a wider gap
_WIDE = 0.1  # of the range without outliers: a gap where values part by themselves
_HALVINGS = 40
WORTH = 2.0  # standard errors that a gate must promise to gain


@dataclass(frozen=True, eq=False)
class PricedSubsets:
    """Subsets that a search has looked at, with what each costs and which rows it gets right.

    Attributes
    ----------
    subsets : ndarray of bool, shape (n_subsets, n_blocks)
    costs : ndarray of shape (n_subsets,)
        As a share of the cost of everything.
    correct : ndarray of bool, shape (n_subsets, n_scored)
    weights : ndarray of shape (n_scored,)
    half : ndarray of bool, shape (n_scored,)
        Rows of one half; all scores of a row are in the same.
    n_rows : int
        Distinct rows; several splits may score the same one.
    """

    subsets: BoolArray
    costs: FloatArray
    correct: BoolArray
    weights: FloatArray
    half: BoolArray
    n_rows: int

    @cached_property
    def prices(self) -> FloatArray:
        """Prices of the cost of everything, in shares of rows, at which budgets are spent."""
        accuracy = (self.correct @ self.weights) / float(self.weights.sum())
        prices = []
        # A budget in which two of the cheapest subsets have no room says nothing about parts.
        for budget in (one for one in _BUDGETS if one >= 2 * self.costs.min()):
            low, high = 0.0, 1.0 / budget
            for _ in range(_HALVINGS):
                price = (low + high) / 2
                best = int(np.argmax(accuracy - price * self.costs))
                low, high = (price, high) if self.costs[best] > budget else (low, price)
            prices.append(high)
        return np.array(prices)


@dataclass(frozen=True, slots=True, eq=False)
class Gate:
    """Questions about a column that is bought first, or about the likeliest class given a panel.

    Attributes
    ----------
    blocks : ndarray of bool, shape (n_blocks,)
        What is bought to ask them.
    questions : tuple of Question
    gain : float
        Share of the rows by which subsets of the parts' own beat one for everyone, costs counted;
        on rows that did not choose them, averaged over prices.
    error : float
        Its standard error.
    """

    blocks: BoolArray
    questions: tuple[Question, ...]
    gain: float
    error: float


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """A column cut into bins that a question can tell apart.

    Attributes
    ----------
    of_row : ndarray of int, shape (n_rows,)
        Bin of each row; -1 where the value is missing.
    ends : ndarray of shape (n_bins - 1,) or None
        Largest number of each bin but the last; None if bins are categories.
    names : tuple
        Categories or truth values of the bins, if they are no numbers. The last bin may hold all
        others, and has no name then.
    """

    of_row: IntArray
    ends: FloatArray | None = None
    names: tuple[object, ...] = ()

    @classmethod
    def from_column(cls, code: ColumnCode, values: FloatArray) -> Bins | None:
        """Cut the inputs of a column, (n_rows, n_values), into bins; None if there is one only."""
        missing = np.isnan(values[:, 0])
        if code.kind == "number":
            known = values[~missing, 0]
            if not known.size:
                return None
            cuts = np.quantile(known, np.arange(1, _BINS) / _BINS)
            cuts = np.unique(np.append(cuts, _before_wide_gap(known)))
            ends = np.unique([_end(known, cut) for cut in cuts if cut < known.max()])
            if not ends.size:
                return None
            of_row = np.searchsorted(ends, values[:, 0], side="left")
            return cls(np.where(missing, -1, of_row), ends)
        if code.kind == "truth":
            return cls(np.where(missing, -1, values[:, 0]).astype(np.int64), None, (False, True))
        often = np.argsort(-np.nansum(values, axis=0), kind="stable")[:_MOST_CATEGORIES]
        of_row = np.full(len(values), len(often))
        for k, place in enumerate(often.tolist()):
            of_row[values[:, place] == 1] = k
        names = tuple(code.categories[place] for place in often.tolist())
        return cls(np.where(missing, -1, of_row), None, names)

    @property
    def n_bins(self) -> int:
        """Number of bins; rows that are not among these may be in the last ones."""
        return max(int(self.of_row.max()) + 1, len(self.names))

    def ways(self, max_ways: int) -> Iterator[list[list[int]]]:
        """Iterate over the ways to put the bins into parts, each a list of bins."""
        every = list(range(self.n_bins))
        if self.ends is not None:
            for n_cuts in range(1, max_ways):
                for cuts in combinations(range(1, self.n_bins), n_cuts):
                    edges = [0, *cuts, self.n_bins]
                    yield [every[a:b] for a, b in pairwise(edges)]
            return
        for n_apart in range(1, min(max_ways, self.n_bins)):
            for apart in combinations(range(len(self.names)), n_apart):
                yield [*([one] for one in apart), [one for one in every if one not in apart]]

    def questions(self, column: str | None, parts: Sequence[Sequence[int]]) -> tuple[Question, ...]:
        """Return the questions that lead to these parts; the last one is for all others."""
        if self.ends is not None:
            return tuple(Question(column, at_most=self.ends[max(part)]) for part in parts[:-1])
        return tuple(
            Question(column, among=tuple(self.names[one] for one in part)) for part in parts[:-1]
        )


def best_gate(
    priced: PricedSubsets, column: str | None, blocks: BoolArray, bins: Bins, max_ways: int
) -> Gate | None:
    """Return the best questions about a column; None if some part is always too small.

    Without a column, bins are the likeliest classes by the model of `blocks`. `blocks` are what
    must be bought to ask. More parts must gain more, beyond a standard error. Questions about the
    likeliest class must gain more than a chain that is sure of some classes early.
    """
    has = np.flatnonzero((priced.subsets | ~blocks).all(axis=1))
    if not has.size or not priced.prices.size:
        return None
    n_rows = np.bincount(bins.of_row[bins.of_row >= 0], minlength=bins.n_bins)
    fewest = max(FEWEST_ROWS, _SMALLEST * len(bins.of_row))
    values = PartValues(priced, has, bins)
    every = bins.ways(max_ways) if column is not None else _merged(values, n_rows, fewest)
    ways = [
        one
        for one in every
        if len(one) <= max_ways and min(n_rows[list(part)].sum() for part in one) >= fewest
    ]
    if not ways:
        return None
    values.of([part for one in ways for part in one])  # all at once
    (whole,) = PartValues(priced, np.arange(len(priced.costs)), bins).of([range(bins.n_bins)])
    gains = [float(values.of(one).sum() - whole) for one in ways]
    # A gain varies about as a difference of two shares does.
    error = float(np.sqrt(0.5 / priced.n_rows))
    best = None
    for n_parts in sorted({len(one) for one in ways}):
        most = max((i for i, one in enumerate(ways) if len(one) == n_parts), key=gains.__getitem__)
        if best is None or gains[most] > gains[best] + error / 2:
            best = most
    assert best is not None
    if column is None:
        panel = int(np.flatnonzero((priced.subsets[has] == blocks).all(axis=1))[0])
        if gains[best] + whole <= values.of_chain(panel) + WORTH * error:
            return None
    return Gate(blocks, bins.questions(column, ways[best]), gains[best], error)


class PartValues:
    """What subsets are worth in parts of the bins, as a share of all rows.

    The best subset of a part on one half of the rows is measured on the other. `some` are the
    places of the subsets that may be chosen.
    """

    def __init__(self, priced: PricedSubsets, some: IntArray, bins: Bins) -> None:
        known, n_bins = bins.of_row >= 0, bins.n_bins
        marks = np.zeros((len(known), 2 * n_bins), dtype=np.float32)
        cell = bins.of_row + n_bins * priced.half
        marks[np.flatnonzero(known), cell[known]] = priced.weights[known]
        # Weight of the rows in each half of each bin, and of those that each subset gets right.
        self._rows = marks.sum(axis=0).reshape(2, n_bins)
        self._right = (priced.correct[some].astype(np.float32) @ marks).reshape(-1, 2, n_bins)
        self._costs, self._prices = priced.costs[some][:, None, None], priced.prices
        self._known: dict[tuple[int, ...], float] = {}

    def of(self, parts: Iterable[Sequence[int]]) -> FloatArray:
        """Return the value of each part, a sequence of bins."""
        keys = [tuple(part) for part in parts]
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        if new:
            self._known.update(zip(new, self._values(new).tolist(), strict=True))
        return np.array([self._known[key] for key in keys])

    def of_chain(self, panel: int) -> float:
        """Return the value of all rows, if each bin has a panel alone or one more subset for all.

        A chain whose first stage is sure of some classes does so, without any branch.
        """
        value, every = 0.0, np.arange(self._rows.shape[1])
        for price in self._prices.tolist():
            worth = self._right - price * self._costs * self._rows
            for here, there in ((0, 1), (1, 0)):
                goes_on = worth[:, here] > worth[panel, here]
                both = np.where(goes_on, worth[:, here], worth[panel, here])
                best = int(both.sum(axis=1).argmax())
                value += worth[np.where(goes_on[best], best, panel), there, every].sum()
        return value / (float(self._rows.sum()) * len(self._prices))

    def _values(self, parts: Sequence[tuple[int, ...]]) -> FloatArray:
        is_in = np.zeros((self._rows.shape[1], len(parts)))
        for k, part in enumerate(parts):
            is_in[list(part), k] = 1
        rows, right = self._rows @ is_in, self._right @ is_in
        value, at = np.zeros(len(parts)), np.arange(len(parts))
        for price in self._prices.tolist():
            worth = right - price * self._costs * rows
            best = worth.argmax(axis=0)  # by each half of each part
            value += worth[best[0], 1, at] + worth[best[1], 0, at]
        return value / (float(self._rows.sum()) * len(self._prices))


def _merged(values: PartValues, n_rows: IntArray, fewest: float) -> Iterator[list[list[int]]]:
    """Merge bins in pairs, the pair first that loses least, and iterate over the parts made.

    While some part is too small, the smallest one is merged. The largest part comes last.
    """
    parts = [[one] for one in np.flatnonzero(n_rows).tolist()]
    while len(parts) > 1:
        parts.sort(key=lambda part: int(n_rows[part].sum()))
        yield parts
        pairs = list(combinations(parts, 2))
        if n_rows[parts[0]].sum() < fewest:
            pairs = pairs[: len(parts) - 1]
        together = [sorted(one + other) for one, other in pairs]
        apart = [values.of(pair).sum() for pair in pairs]
        best = int(np.argmax(values.of(together) - apart))
        parts = [part for part in parts if part not in pairs[best]] + [together[best]]


def _before_wide_gap(known: FloatArray) -> FloatArray:
    """The last number before the widest gap, if it is wide; parts beside it may not be small."""
    ordered = np.sort(known)
    outside = int(_SMALLEST * len(ordered))
    inside = ordered[outside : len(ordered) - outside]
    gaps = np.diff(inside)
    if not gaps.size or gaps.max() <= _WIDE * np.ptp(inside):
        return inside[:0]
    widest = int(np.argmax(gaps))
    return inside[widest : widest + 1]


def _end(known: FloatArray, cut: float) -> float:
    """Move a cut to the middle of the widest gap near it, and to a round number in that gap."""
    ordered = np.sort(known)
    at = int(np.searchsorted(ordered, cut, side="right"))
    reach = max(1, int(_NEAR * len(ordered)))
    near = ordered[max(0, at - reach) : at + reach + 1]
    gaps = np.diff(near)
    if not gaps.size or not gaps.max() > 0:
        return float(cut)
    widest = int(np.argmax(gaps))
    return round_between(float(near[widest]), float(near[widest + 1]))


def round_between(low: float, high: float) -> float:
    """Return the number with the fewest digits from `low` up to, but not including, `high`.

    Examples
    --------
    >>> round_between(6.083, 6.127), round_between(0.97, 1.4), round_between(3.0, 4.0)
    (6.1, 1.0, 3.0)
    """
    if low.is_integer() and high.is_integer():  # a column of whole numbers
        return low
    middle = (low + high) / 2
    for digits in range(-int(np.ceil(np.log10(max(abs(low), abs(high), 1e-300)))), 17):
        rounded = round(middle, digits)
        if low <= rounded < high:
            return float(rounded)
    return low
