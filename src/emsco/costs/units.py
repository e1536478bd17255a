"""Costs as whole numbers of a unit, so that sums are exact."""

from __future__ import annotations

from dataclasses import dataclass

from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco.costs.fees import Fees

__all__ = ["CostUnits"]


@dataclass(frozen=True, slots=True, eq=False)
class CostUnits:
    """Costs as whole numbers of a unit if one fits, else unchanged with `per_one` 1.

    Attributes
    ----------
    features : ndarray of shape (n_features,)
        Cost of each feature, beyond fees.
    evaluation : int or float
        Cost of running a stage.
    per_one : int
        Units that make a cost of 1.
    fees : Fees
    """

    features: IntArray | FloatArray
    evaluation: int | float
    per_one: int
    fees: Fees

    @property
    def are_whole(self) -> bool:
        """Whether a unit fits."""
        return self.features.dtype.kind == "i"

    def of_subsets(self, subsets: BoolArray) -> IntArray | FloatArray:
        """Cost of buying each subset, fees included; subsets have the shape (…, n_features)."""
        paid: IntArray | FloatArray = subsets @ self.features + self.fees.of_subsets(subsets)
        return paid
