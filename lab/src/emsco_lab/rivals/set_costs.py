"""What sets of features cost rivals that buy step by step, fees included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco.costs import FeatureCosts, Fees


@dataclass(frozen=True, slots=True, eq=False)
class SetCosts:
    """Costs of features beyond fees, and the fees, as a rival that buys step by step needs them.

    Attributes
    ----------
    features : ndarray of shape (n_features,)
    fees : Fees

    Examples
    --------
    >>> draw = {"draw": (2, ["chol", "iron"])}
    >>> costs = FeatureCosts.from_mapping({"age": 1, "chol": 5, "iron": 3}, fees=draw)
    >>> sets = SetCosts.from_costs(costs)
    >>> sets.alone.tolist(), sets.after(np.array([False, True, False])).alone.tolist()
    ([1.0, 7.0, 5.0], [1.0, 0.0, 3.0])
    """

    features: FloatArray
    fees: Fees

    @classmethod
    def from_costs(cls, costs: FeatureCosts) -> Self:
        """Take the costs as they are, without the cost of an evaluation."""
        return cls(costs.costs, Fees.from_fees(costs.fees, costs.names))

    @property
    def total(self) -> float:
        """Cost of all features together."""
        return float(self.features.sum()) + float(self.fees.amounts.sum())

    @property
    def alone(self) -> FloatArray:
        """Cost of each feature if it is the next that is bought."""
        costs: FloatArray = self.features + self.fees.alone
        return costs

    def of(self, sets: BoolArray) -> FloatArray:
        """Cost of each set of features; sets have the shape (…, n_features)."""
        paid: FloatArray = sets @ self.features + self.fees.of_subsets(sets)
        return paid

    def after(self, known: BoolArray) -> Self:
        """Costs for a row that has bought some features: these, and their fees, are free."""
        paid = self.fees.members @ known
        left = Fees(np.where(paid, 0, self.fees.amounts), self.fees.members)
        return type(self)(np.where(known, 0, self.features), left)

    def as_shares(self) -> Self:
        """Costs as shares of the cost of everything."""
        total = self.total
        return type(self)(self.features / total, Fees(self.fees.amounts / total, self.fees.members))


def buying_order(costs: FeatureCosts) -> IntArray:
    """Steps of features, from 0, if a row always buys all that are cheapest next.

    A fee counts with the first feature that pays it. So features of one fee follow each other, and
    without fees there is a step for every distinct cost.

    Examples
    --------
    >>> draw = {"draw": (4, ["chol", "iron"])}
    >>> costs = FeatureCosts.from_mapping({"age": 8, "chol": 5, "iron": 3}, fees=draw)
    >>> buying_order(costs).tolist()
    [2, 1, 0]
    """
    units = costs.in_units()  # whole numbers, so that equal costs are equal
    sets = SetCosts(units.features.astype(np.float64), units.fees)
    steps = np.full(len(costs.names), -1)
    while (left := steps < 0).any():
        new = sets.after(~left).alone
        steps[left & (new == new[left].min())] = steps.max() + 1
    return steps
