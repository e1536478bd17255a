"""How much luck adds to a choice: choose again and again in samples of the rows.

A *bag* is a sample of the rows, drawn with replacement; about a third of the rows stay outside.
A design chosen in a bag looks better there than on the rows outside, by the luck of the choice.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.random import Generator

from emsco._base.typing import FloatArray, IntArray, SingleArray


@dataclass(frozen=True, slots=True, eq=False)
class RowShares:
    """What some designs do with each row; a row decided several times counts once.

    Attributes
    ----------
    answered, correct : ndarray of shape (n_designs, n_rows)
        Share of a row's decisions that are answers, and correct answers.
    spent : ndarray of shape (n_designs, n_rows)
        Mean cost.
    """

    answered: SingleArray
    correct: SingleArray
    spent: SingleArray


@dataclass(frozen=True, slots=True, eq=False)
class Bags:
    """Weights of the rows inside and outside each bag.

    Attributes
    ----------
    weights : ndarray of shape (2, n_bags, n_rows)
        Inside, then outside, with rows sorted by class.
    order : ndarray of shape (n_rows,)
        Rows by class.
    ends : ndarray of shape (n_classes + 1,)
        Where each class begins and ends in `order`.
    """

    weights: SingleArray
    order: IntArray
    ends: IntArray

    @classmethod
    def draw(
        cls,
        truth: IntArray,
        weights: FloatArray,
        groups: IntArray | None,
        n_bags: int,
        n_classes: int,
        rng: Generator,
    ) -> Self:
        """Draw bags of rows; rows of a group come together, as often as it is drawn.

        `truth`, `weights` and `groups` have an entry per row; groups count from 0.
        """
        of_row = np.arange(len(truth)) if groups is None else groups
        n_units = int(of_row.max()) + 1
        drawn = rng.multinomial(n_units, np.full(n_units, 1 / n_units), n_bags)[:, of_row]
        order = np.argsort(truth, kind="stable")
        both = np.stack([drawn, drawn == 0])[:, :, order] * weights[order]
        ends = np.searchsorted(truth[order], np.arange(n_classes + 1))
        return cls(both.astype(np.float32), order, ends)

    @property
    def n_bags(self) -> int:
        """Number of bags."""
        return int(self.weights.shape[1])


@dataclass(slots=True, eq=False)
class BagFigures:
    """Figures of designs inside and outside each bag; designs are added part by part.

    Arrays have the shape (2, n_bags, n_designs): inside, then outside.

    Attributes
    ----------
    bags : Bags
    is_balanced : bool
        Whether accuracy is the mean over the classes.
    coverage, accuracy, cost : ndarray
    """

    bags: Bags
    is_balanced: bool = False
    _parts: list[tuple[SingleArray, SingleArray, SingleArray]] = field(default_factory=list)
    _answered: SingleArray = field(init=False)
    _correct: SingleArray = field(init=False)
    coverage: SingleArray = field(init=False)
    accuracy: SingleArray = field(init=False)
    cost: SingleArray = field(init=False)

    def add(self, rows: RowShares) -> None:
        """Add some designs; their rows are in the order of the bags."""
        spent = self.bags.weights @ rows.spent.T
        self._parts.append((self._by_class(rows.answered), self._by_class(rows.correct), spent))

    def close(self) -> None:
        """Compute the figures of all designs added."""
        self._answered, self._correct, spent = (
            np.concatenate(parts, axis=-1) for parts in zip(*self._parts, strict=True)
        )
        self._parts = []
        total = np.maximum(self.bags.weights.sum(axis=2), 1e-12)[:, :, None]
        self.cost = spent / total
        self.coverage = self._answered.sum(axis=0) / total
        self.accuracy = self._accuracy(self._correct, self._answered)

    def luck(self, chosen: IntArray) -> FloatArray:
        """Return what luck adds to coverage, accuracy and cost of the design chosen in each bag.

        Counts are added up over bags before they are divided: a few rows outside may all be
        rejected.
        """
        at = np.arange(self.bags.n_bags), chosen
        counts = [part[(..., *at)].sum(axis=-1) for part in (self._correct, self._answered)]
        accuracy = self._accuracy(*counts)
        found = [
            self.coverage[(slice(None), *at)].mean(axis=1),
            accuracy,
            self.cost[(slice(None), *at)].mean(axis=1),
        ]
        return np.array([float(inside - outside) for inside, outside in found])

    def best_beside(self, design: int) -> IntArray:
        """Choose the most accurate in each bag of those that cost no more and cover no less."""
        coverage, accuracy, cost = self.coverage[0], self.accuracy[0], self.cost[0]
        may_be = (cost <= cost[:, [design]] + 1e-6) & (coverage >= coverage[:, [design]] - 1e-6)
        found: IntArray = np.where(may_be, accuracy, -1.0).argmax(axis=1)
        return found

    def inside_by_class(self) -> tuple[SingleArray, SingleArray, SingleArray]:
        """Shares of all rows inside each bag that are correct, wrong and rejected, by true class.

        Each has the shape (n_classes, n_bags, n_designs).
        """
        weights, ends = self.bags.weights[0], self.bags.ends
        rows = np.stack([weights[:, a:b].sum(axis=1) for a, b in pairwise(ends)])[:, :, None]
        total = np.maximum(weights.sum(axis=1), 1e-12)[:, None]
        answered, correct = self._answered[:, 0], self._correct[:, 0]
        return correct / total, (answered - correct) / total, (rows - answered) / total

    def _by_class(self, shares: SingleArray) -> SingleArray:
        """Weight of the rows of each class: (n_classes, 2, n_bags, n_designs)."""
        weights, ends = self.bags.weights, self.bags.ends
        parts = [slice(ends[k], ends[k + 1]) for k in range(len(ends) - 1)]
        return np.stack([weights[:, :, part] @ shares[:, part].T for part in parts])

    def _accuracy(self, correct: SingleArray, answered: SingleArray) -> SingleArray:
        if not self.is_balanced:
            correct, answered = correct.sum(axis=0, keepdims=True), answered.sum(axis=0)[None]
        shares = correct / np.where(answered > 0, answered, 1)
        found: SingleArray = shares.mean(axis=0)
        return found
