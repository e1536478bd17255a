"""Designs scored on the held-out rows: integer counts first, objectives from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from emsco._typing import FloatArray, IntArray, StageArray
from emsco.costs import FeatureCosts
from emsco.design import row_keys, totals_by_stage
from emsco.subsets.bank import Chains, SubsetBank

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
        What all rows together cost, as a whole number of `unit` where the costs allow.
    unit : float
    """

    n_rows: int
    exits: IntArray
    hits: IntArray
    spent: IntArray | FloatArray
    unit: float

    def __len__(self) -> int:
        """Number of designs."""
        return len(self.spent)

    def __getitem__(self, which: IntArray) -> Self:
        """The scores of some of the designs."""
        return type(self)(
            self.n_rows, self.exits[which], self.hits[which], self.spent[which], self.unit
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Self]) -> Self:
        """Scores of the designs of all parts, in order."""
        return cls(
            parts[0].n_rows,
            np.concatenate([part.exits for part in parts]),
            np.concatenate([part.hits for part in parts]),
            np.concatenate([part.spent for part in parts]),
            parts[0].unit,
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
        return self.spent * self.unit / self.n_rows


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
    """

    def __init__(
        self,
        bank: SubsetBank,
        costs: FeatureCosts,
        min_confidence: float,
        n_rows: int,
        max_stages: int,
    ) -> None:
        self._bank = bank
        self._units, self._unit = costs.in_units()
        self._min_confidence = min_confidence
        self._n_rows = n_rows
        self._max_stages = max_stages
        self._known: dict[bytes, int] = {}
        self._table: IntArray = np.zeros((2, 1024, max_stages), dtype=np.int64)
        self._subsets: set[bytes] = set()

    @property
    def n_designs(self) -> int:
        """Distinct designs scored so far."""
        return len(self._known)

    @property
    def n_subsets(self) -> int:
        """Distinct subsets that those designs go through."""
        return len(self._subsets)

    def score(self, designs: StageArray) -> Scores:
        """Score compressed designs of shape (n_designs, n_features), in their order."""
        keys = row_keys(designs)
        new = {key: i for i, key in enumerate(keys) if key not in self._known}
        if new:
            self._remember(list(new), self._count(designs[list(new.values())]))
        exits, hits = self._table[:, [self._known[key] for key in keys]]
        return Scores(self._n_rows, exits, hits, self._spent(designs, exits), self._unit)

    def _remember(self, keys: list[bytes], counts: IntArray) -> None:
        first, last = len(self._known), len(self._known) + len(keys)
        if last > self._table.shape[1]:
            room = max(last, 2 * self._table.shape[1]) - self._table.shape[1]
            self._table = np.pad(self._table, ((0, 0), (0, room), (0, 0)))
        self._table[:, first:last, : counts.shape[2]] = counts
        self._known.update(zip(keys, range(first, last), strict=True))

    def _count(self, designs: StageArray) -> IntArray:
        """Exits and hits of designs that are not known yet, shape (2, n_designs, most stages)."""
        chains = Chains.of(designs)
        if len(chains.keys) > self._bank.capacity and len(designs) > 1:
            half = len(designs) // 2
            parts = [self._count(designs[:half]), self._count(designs[half:])]
            most = max(part.shape[2] for part in parts)
            wide = [np.pad(part, ((0, 0), (0, 0), (0, most - part.shape[2]))) for part in parts]
            return np.concatenate(wide, axis=1)
        counts = self._bank.count(chains, self._min_confidence)
        self._subsets.update(chains.keys)
        return counts

    def _spent(self, designs: StageArray, exits: IntArray) -> IntArray | FloatArray:
        """Rows that leave at stage j pay for stages up to j; rejected rows pay for all."""
        paid = totals_by_stage(designs, self._max_stages, self._units).astype(self._units.dtype)
        rejected = self._n_rows - exits.sum(axis=1)
        spent: IntArray | FloatArray = (exits * paid).sum(axis=1) + rejected * paid[:, -1]
        return spent
