"""Prices by row in a cascade: which stage buys such a feature, and what rows have paid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from emsco._base.typing import FloatArray, IntArray
from emsco.costs import FeatureCosts, RowPrice
from emsco.costs.checks import check_known
from emsco.data.prices import check_price, prices_of_rows
from emsco.designs.design import Design
from emsco.errors import DataError

__all__ = ["Prices", "StagePrices"]

Prices: TypeAlias = Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, eq=False)
class StagePrices:
    """The features of a design whose price differs from row to row.

    Attributes
    ----------
    prices : tuple of RowPrice
    stages : ndarray of shape (n_priced,)
        Stage that buys each, from 0.
    usual : ndarray of shape (n_priced,)
        Mean price of the training rows.
    fixed : ndarray of shape (n_stages,)
        What every row has paid after each stage, without these features.
    """

    prices: tuple[RowPrice, ...]
    stages: IntArray
    usual: FloatArray
    fixed: FloatArray

    @classmethod
    def from_design(cls, design: Design, costs: FeatureCosts) -> Self:
        """Find the features that a design buys at prices by row."""
        stage_of = {name: j for j, bought in enumerate(design.buys) for name in bought}
        own = tuple(price for price in costs.prices if price.feature in stage_of)
        stages = np.array([stage_of[price.feature] for price in own], dtype=np.int64)
        usual = dict(zip(costs.names, costs.costs.tolist(), strict=True))
        means = np.array([usual[price.feature] for price in own])
        return cls(own, stages, means, costs.fixed().after_stages(design.subsets()))

    def __len__(self) -> int:
        """Number of these features."""
        return len(self.prices)

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the table that hold prices."""
        return tuple(price.column for price in self.prices if price.column is not None)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(price.feature for price in self.prices)

    def of_rows(
        self, table: Any, n_rows: int, given: Mapping[str, Any] | None, first_row: int = 0
    ) -> FloatArray:
        """Return what each row pays for each feature; see `prices_of_rows`."""
        return prices_of_rows(self.prices, table, n_rows, given, first_row)

    def costs(self, prices: FloatArray) -> FloatArray:
        """Cost of each row after each stage, (n_rows, n_stages)."""
        bought = self.stages[:, None] <= np.arange(len(self.fixed))
        found: FloatArray = self.fixed + prices @ bought
        return found

    def at(self, stage: int) -> IntArray:
        """Positions of the features that a stage buys."""
        return np.flatnonzero(self.stages == stage)

    def of_case(self, given: Mapping[str, Any] | None) -> list[float]:
        """Return the prices that are known of a single row; NaN for the others."""
        known = [float("nan")] * len(self)
        if given is None:
            return known
        if not isinstance(given, Mapping):
            raise DataError(f"prices must be a mapping of features to prices, got {given!r}.")
        check_known("prices", given, self.features)
        for i, name in enumerate(self.features):
            if name in given:
                known[i] = check_price(name, given[name])
        return known

    def unknown(self, feature: str) -> DataError:
        """Return the error for a feature that was bought at an unknown price."""
        return DataError(
            f"the price of {feature!r} must be known, got none; give it in prices before, or in "
            "spent with the values."
        )
