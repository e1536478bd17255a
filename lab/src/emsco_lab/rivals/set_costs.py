"""What sets of features cost rivals that buy step by step, fees included."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from emsco import FeatureCosts
from emsco_lab.rivals.encoding import Flags, Floats, Whole


@dataclass(frozen=True, eq=False)
class SetCosts:
    """Costs of features beyond fees, and the fees, as a rival that buys step by step needs them.

    Attributes
    ----------
    features : ndarray of shape (n_features,)
    fees : ndarray of shape (n_fees,)
    members : ndarray of bool, shape (n_fees, n_features)
        The features that share each fee.

    Examples
    --------
    >>> draw = {"draw": (2, ["chol", "iron"])}
    >>> costs = FeatureCosts.from_mapping({"age": 1, "chol": 5, "iron": 3}, fees=draw)
    >>> sets = SetCosts.from_costs(costs)
    >>> sets.alone.tolist(), sets.after(np.array([False, True, False])).alone.tolist()
    ([1.0, 7.0, 5.0], [1.0, 0.0, 3.0])
    """

    features: Floats
    fees: Floats
    members: Flags

    @classmethod
    def from_costs(cls, costs: FeatureCosts) -> Self:
        """Take the costs as they are, without the cost of an evaluation."""
        members = np.array([np.isin(costs.names, fee.features) for fee in costs.fees], dtype=bool)
        fees = np.array([fee.cost for fee in costs.fees], dtype=np.float64)
        return cls(costs.costs, fees, members.reshape(-1, len(costs.names)))

    @property
    def total(self) -> float:
        """Cost of all features together."""
        return float(self.features.sum() + self.fees.sum())

    @property
    def alone(self) -> Floats:
        """Cost of each feature if it is the next that is bought."""
        return self.features + self.fees @ self.members

    def of(self, sets: Flags) -> Floats:
        """Cost of each set of features; sets have the shape (…, n_features)."""
        return sets @ self.features + (sets @ self.members.T) @ self.fees

    def after(self, known: Flags) -> Self:
        """Costs for a row that has bought some features: these, and their fees, are free."""
        left = np.where(self.members @ known, 0, self.fees)
        return type(self)(np.where(known, 0, self.features), left, self.members)


def buying_order(costs: FeatureCosts) -> Whole:
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
    sets = SetCosts.from_costs(costs)
    steps = np.full(len(costs.names), -1)
    while (left := steps < 0).any():
        new = sets.after(~left).alone
        cheapest = np.isclose(new, new[left].min(), rtol=1e-12, atol=0)  # sums of fees round
        steps[left & cheapest] = steps.max() + 1
    return steps
