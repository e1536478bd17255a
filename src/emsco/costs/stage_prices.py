"""Prices by row in a cascade: what its rows pay for the features that its stages buy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from typing import Any, Self

import numpy as np

from emsco._base.text import brief
from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco.costs.checks import check_known
from emsco.costs.features import FeatureCosts
from emsco.costs.prices import GivenPrices, prices_of_rows
from emsco.errors import DataError


@dataclass(frozen=True, eq=False)
class StagePrices:
    """Charges rows of a cascade for the features whose price differs from row to row.

    Arrays of prices have the shape (n_rows, n_priced); a price that is not known yet is NaN.

    Attributes
    ----------
    costs : FeatureCosts
        Their `prices` are those of features that a stage buys.
    subsets : ndarray of bool, shape (n_stages, n_features)
        The features known after each stage.
    before : tuple of int
        The stage before each stage, -1 for the first.
    every : tuple of str
        All features with prices by row, also those that no stage buys.
    """

    costs: FeatureCosts
    subsets: BoolArray
    before: tuple[int, ...]
    every: tuple[str, ...]

    @classmethod
    def from_stages(cls, costs: FeatureCosts, subsets: BoolArray, before: Sequence[int]) -> Self:
        """Leave out features that no stage buys: they cost nobody anything."""
        bought: Any = subsets.any(axis=0)
        names = set(compress(costs.names, bought))
        charged = {name: one for name, one in costs.prices.items() if name in names}
        return cls(replace(costs, prices=charged), subsets, tuple(before), tuple(costs.prices))

    def __len__(self) -> int:
        """Number of these features."""
        return len(self.costs.prices)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(self.costs.prices)

    @property
    def known(self) -> BoolArray:
        """Which of them are bought after each stage, shape (n_stages, n_priced)."""
        known: BoolArray = self.subsets[:, self.costs.priced]
        return known

    def of_rows(
        self,
        n_rows: int,
        given: GivenPrices,
        rows: Any = None,
        what: str = "prices",
        *,
        sources: Mapping[str, Any] | None = None,
        first_row: int = 0,
        may_lack: bool = False,
    ) -> FloatArray:
        """Return what each row pays, as far as prices are `given` or come from `sources`.

        Parameters
        ----------
        given : mapping or None
            Feature → price, in any form that a cost may have; counts instead of `sources`. Those of
            features that no stage buys are ignored, so that designs of one front take the same.
        rows : table or list of ids, optional
            Where columns and functions find prices.
        what : str
            Name of `given` in messages, which count rows from `first_row`.
        sources : mapping, optional
            Where prices came from in training. With `may_lack`, columns need not be there.
        """
        if not isinstance(given, Mapping | None):
            raise DataError(f"{what} must be a mapping of features to prices, got {brief(given)}.")
        kind = "features whose price differs from row to row"
        check_known(what, given or {}, self.every, kind=kind)
        said = {**(sources or {}), **(given or {})}
        prices = np.full((n_rows, len(self)), np.nan)
        for j, name in enumerate(self.features):
            if name in said:
                prices[:, j] = prices_of_rows(
                    name, said[name], rows, n_rows, first_row, may_lack=may_lack
                )
        return prices

    def check_paid(self, last: IntArray, prices: FloatArray, first_row: int = 0) -> None:
        """Refuse rows without a price of what they have bought; messages count from `first_row`.

        `last` is the last stage of each row, from 0, and -1 before the first.
        """
        unpaid = np.isnan(prices) & self.known[last] & (last >= 0)[:, None]
        for row, at in np.argwhere(unpaid)[:1].tolist():
            raise DataError(
                f"the price of {self.features[at]!r} must be known, from the table, prices or "
                f"spent, for a row that buys it, got none in row {first_row + row}.",
                row=first_row + row,
            )

    def after_stages(self, prices: FloatArray) -> FloatArray:
        """Return what each row has paid after each stage, (n_rows, n_stages)."""
        usual = self.costs.costs[self.costs.priced]
        own = np.where(np.isnan(prices), usual, prices)[:, None]
        return self.costs.after_stages(self.subsets, self.before, own)
