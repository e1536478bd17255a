"""Prices of scored rows in units, for features that do not cost every row the same."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from emsco._base.arrays import whole_units
from emsco._base.typing import FloatArray, IntArray, StageArray
from emsco.costs import CostUnits, FeatureCosts, Fees

_FINEST = 12  # decimals of a price that is rounded


@dataclass(frozen=True, slots=True, eq=False)
class RowPrices:
    """What scored rows pay for features whose price differs from row to row.

    Attributes
    ----------
    priced : ndarray of shape (n_priced,)
        The features.
    prices : ndarray of shape (n_priced, n_scored)
        What each scored row pays, split after split.
    fixed : CostUnits
        The costs that are the same for all rows.
    whole : ndarray of int, shape (n_priced, n_scored)
        The prices as whole numbers of a unit.
    per_one : int
        Units of `whole` that make 1.
    most_spent : int
        Units of `whole` that all rows together pay for all these features.
    """

    priced: IntArray
    prices: FloatArray
    fixed: CostUnits
    whole: IntArray
    per_one: int
    most_spent: int

    @classmethod
    def from_rows(
        cls, costs: FeatureCosts, priced: IntArray, prices: FloatArray, weights: IntArray
    ) -> Self:
        """Find units for fixed costs and prices; `weights` counts each scored row.

        Both have the same unit if one divides them all. Otherwise fixed costs stay as they are, and
        prices are rounded to at least twelve decimals, or to what sums of whole numbers can hold.
        """
        fees = Fees.from_fees(costs.fees, costs.names)
        own = np.concatenate([costs.costs, fees.amounts, [costs.evaluation]])
        n, last = len(costs.names), len(own) - 1

        def exact(units: FloatArray, _: int) -> bool:
            most = units[:last].sum() + n * units[last]
            spread = units[last + 1 :].reshape(prices.shape)
            return bool(weights.sum() * most + (spread @ weights).sum() < 2.0**53)

        if found := whole_units(np.concatenate([own, prices.ravel()]), exact):
            units, per_one = found
            shared = Fees(units[n:last], fees.members)
            fixed = CostUnits(units[:n], int(units[last]), per_one, shared)
            whole = units[last + 1 :].reshape(prices.shape)
            return cls(priced, prices, fixed, whole, per_one, int((whole @ weights).sum()))
        spent = float((prices @ weights).sum()) or 1.0
        per_one = 10 ** int(np.clip(math.floor(math.log10(2.0**52 / spent)), 0, _FINEST))
        fixed = CostUnits(costs.costs, float(costs.evaluation), 1, fees)
        whole = np.rint(prices * per_one).astype(np.int64)
        return cls(priced, prices, fixed, whole, per_one, int((whole @ weights).sum()))

    @property
    def usual(self) -> CostUnits:
        """Costs for all rows, with the mean price of each feature."""
        means = self.prices.mean(axis=1) * self.fixed.per_one
        features = self.fixed.features.copy()
        np.add.at(features, self.priced, np.rint(means) if self.fixed.are_whole else means)
        return replace(self.fixed, features=features)

    def spent(self, units: IntArray) -> IntArray | FloatArray:
        """Return sums of `whole` in the unit of the fixed costs."""
        return units if self.fixed.are_whole else units / self.per_one

    def worst(self, stages: StageArray) -> FloatArray:
        """Most that any row pays by its prices with each design, if it is rejected."""
        bought, which = np.unique(stages[:, self.priced] >= 0, axis=0, return_inverse=True)
        most = np.array([(own @ self.prices).max() for own in bought])
        found: FloatArray = most[which.reshape(-1)]
        return found

    def paid(self, stages: StageArray, last: IntArray) -> FloatArray:
        """What each scored row pays by its prices with a design.

        `stages` has the stage of each feature, and `last` the last stage that each row pays for.
        """
        own = stages[self.priced, None]
        found: FloatArray = (self.prices * ((own >= 0) & (own <= last))).sum(axis=0)
        return found
