"""Find gates: questions about what is bought first, after which rows should buy different things.

Buying a gate alone often predicts nothing, so its own gain says little. What counts is what its
parts gain: in each part, some other subset of features may be the best buy. A search has fitted
models for thousands of subsets already, and their answers can be counted in any part of the rows.
So every subset is priced in every part, at several prices of a correct label, and a gate is worth
what its parts gain over the best subset for everyone. Subsets are chosen on one half of the rows
and measured on the other, since the best of many is lucky.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np

from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco.designs.questions import Question

_BUDGETS = (0.03, 0.06, 0.1, 0.2, 0.3, 0.45)  # shares of the cost of everything
_HALVINGS = 40
_WORTH = 2.0  # standard errors that a gate must promise to gain
FEWEST_ROWS, SMALLEST = 100, 0.08  # rows of a part, and their share

Way = Sequence[Sequence[int]]  # the bins of each part


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Rows in bins that questions tell apart.

    Attributes
    ----------
    of_row : ndarray of int, shape (n_rows,)
        Bin of each row; -1 where the value is missing.
    column : str or None
        What is asked about; None for the likeliest class by the model of what is bought to ask.
    ends : ndarray of shape (n_bins - 1,) or None
        Largest number of each bin but the last; None if bins are categories.
    names : tuple
        Categories, truth values or classes of the bins, if they are no numbers. The last bin may
        hold all others, and has no name then.
    """

    of_row: IntArray
    column: str | None
    ends: FloatArray | None = None
    names: tuple[object, ...] = ()

    @property
    def n_bins(self) -> int:
        """Number of bins; rows that are not among these may be in the last ones."""
        return max(int(self.of_row.max()) + 1, len(self.names))

    def ways(self, max_ways: int) -> Iterator[Way]:
        """Iterate over the ways to put the bins into parts."""
        every = range(self.n_bins)
        for n_cuts in range(1, min(max_ways, self.n_bins)):
            if self.ends is not None:
                for cuts in combinations(every[1:], n_cuts):
                    yield [every[a:b] for a, b in pairwise([0, *cuts, self.n_bins])]
            else:
                for apart in combinations(range(len(self.names)), n_cuts):
                    yield [*([one] for one in apart), [one for one in every if one not in apart]]

    def questions(self, way: Way) -> tuple[Question, ...]:
        """Return the questions that lead to these parts; the last one is for all others."""
        if self.ends is not None:
            return tuple(Question(self.column, at_most=self.ends[max(part)]) for part in way[:-1])
        return tuple(
            Question(self.column, among=tuple(self.names[one] for one in part)) for part in way[:-1]
        )


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
    """

    blocks: BoolArray
    questions: tuple[Question, ...]
    gain: float


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

    def gate(self, bins: Bins, blocks: BoolArray, max_ways: int) -> Gate | None:
        """Return the best questions about these bins, for which `blocks` are bought.

        None if some part is always too small, or no gain is beyond noise. Each further part must
        gain half a standard error. Questions about the likeliest class must gain more than a chain
        that is sure of some classes early.
        """
        has = np.flatnonzero((self.subsets | ~blocks).all(axis=1))
        if not has.size or not self.prices.size or bins.n_bins < 2:
            return None
        rows, right = self._counts(bins)
        values = _Values(rows, right[has], self.costs[has], self.prices)
        everyone = _Values(rows, right, self.costs, self.prices)
        n_rows = np.bincount(bins.of_row[bins.of_row >= 0], minlength=bins.n_bins)
        fewest = max(FEWEST_ROWS, SMALLEST * len(bins.of_row))
        every = bins.ways(max_ways) if bins.column else _merged(values, n_rows, fewest)
        ways = [
            way
            for way in every
            if len(way) <= max_ways and min(n_rows[list(part)].sum() for part in way) >= fewest
        ]
        if not ways:
            return None
        # A gain varies about as a difference of two shares does.
        error = float(np.sqrt(0.5 / self.n_rows))
        values.of([part for way in ways for part in way])  # all at once
        worth = np.array([values.of(way).sum() for way in ways])
        best = int(np.argmax(worth - error / 2 * np.array([len(way) for way in ways])))
        gain = float(worth[best] - everyone.of([range(bins.n_bins)])[0])
        least = _WORTH * error
        if bins.column is None:
            panel = int(np.flatnonzero((self.subsets[has] == blocks).all(axis=1))[0])
            if worth[best] <= values.of_chain(panel) + least:
                return None
        return Gate(blocks, bins.questions(ways[best]), gain) if gain > least else None

    def _counts(self, bins: Bins) -> tuple[AnyArray, AnyArray]:
        """Weight of the rows in each half of each bin, and of those that each subset gets right."""
        known, n_bins = np.flatnonzero(bins.of_row >= 0), bins.n_bins
        marks = np.zeros((len(bins.of_row), 2 * n_bins), dtype=np.float32)
        marks[known, (bins.of_row + n_bins * self.half)[known]] = self.weights[known]
        right = self.correct.astype(np.float32) @ marks
        return marks.sum(axis=0).reshape(2, n_bins), right.reshape(-1, 2, n_bins)


class _Values:
    """What subsets are worth in parts of the bins, as a share of all rows.

    The best subset of a part on one half of the rows is measured on the other.

    Parameters
    ----------
    rows : ndarray of shape (2, n_bins)
        Weight of the rows in each half of each bin.
    right : ndarray of shape (n_subsets, 2, n_bins)
        Weight of those that each subset gets right.
    costs : ndarray of shape (n_subsets,)
    prices : ndarray of shape (n_prices,)
    """

    def __init__(
        self, rows: FloatArray, right: FloatArray, costs: FloatArray, prices: FloatArray
    ) -> None:
        self._rows, self._right, self._prices = rows, right, prices
        self._costs = costs[:, None, None]
        self._known: dict[tuple[int, ...], float] = {}

    def of(self, parts: Way) -> FloatArray:
        """Return the value of each part."""
        keys = [tuple(part) for part in parts]
        new = [key for key in dict.fromkeys(keys) if key not in self._known]
        is_in = np.zeros((self._rows.shape[1], len(new)))
        for k, part in enumerate(new):
            is_in[list(part), k] = 1
        values, at = np.zeros(len(new)), np.arange(len(new))
        for worth in self._worth(is_in):
            best = worth.argmax(axis=0)  # by each half of each part
            values += worth[best[0], 1, at] + worth[best[1], 0, at]
        self._known.update(zip(new, self._shares(values).tolist(), strict=True))
        return np.array([self._known[key] for key in keys])

    def of_chain(self, panel: int) -> float:
        """Return the value of all rows, if each bin has a panel alone or one more subset for all.

        A chain whose first stage is sure of some classes does so, without any branch.
        """
        every = np.arange(self._rows.shape[1])
        value = 0.0
        for worth in self._worth(np.eye(len(every))):
            for here, there in ((0, 1), (1, 0)):
                goes_on = worth[:, here] > worth[panel, here]
                best = int(np.maximum(worth[:, here], worth[panel, here]).sum(axis=1).argmax())
                value += worth[np.where(goes_on[best], best, panel), there, every].sum()
        return float(self._shares(value))

    def _worth(self, is_in: FloatArray) -> Iterator[FloatArray]:
        """What each subset is worth in each half of each part, at each price."""
        rows, right = self._rows @ is_in, self._right @ is_in
        for price in self._prices.tolist():
            yield right - price * self._costs * rows

    def _shares(self, values: FloatArray | float) -> FloatArray:
        return np.asarray(values / (float(self._rows.sum()) * len(self._prices)))


def _merged(values: _Values, n_rows: IntArray, fewest: float) -> Iterator[Way]:
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
