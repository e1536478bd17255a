"""Prices by row in a cascade: which stage buys such a feature, and what rows have paid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, TypeAlias

import numpy as np

from emsco._base.text import brief, some
from emsco._base.typing import FloatArray, IntArray
from emsco.costs import FeatureCosts, RowPrice
from emsco.data.prices import check_price, prices_of_rows
from emsco.designs.design import Design
from emsco.errors import CostsError, DataError

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
    left_out : tuple of str
        Other features with prices by row, which the design never buys.
    """

    prices: tuple[RowPrice, ...]
    stages: IntArray
    usual: FloatArray
    fixed: FloatArray
    left_out: tuple[str, ...] = ()

    @classmethod
    def from_design(cls, design: Design, costs: FeatureCosts) -> Self:
        """Find the features that a design buys at prices by row."""
        stage_of = {name: j for j, bought in enumerate(design.buys) for name in bought}
        own = tuple(price for price in costs.prices if price.feature in stage_of)
        stages = np.array([stage_of[price.feature] for price in own], dtype=np.int64)
        usual = dict(zip(costs.names, costs.costs.tolist(), strict=True))
        means = np.array([usual[price.feature] for price in own])
        others = tuple(p.feature for p in costs.prices if p.feature not in stage_of)
        return cls(own, stages, means, costs.fixed().after_stages(design.subsets()), others)

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

    def told(self, what: str, given: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the given prices of features that the design buys.

        Those of features that it leaves out are ignored, so that designs of one front take the
        same prices. `what` is the name of the parameter, for messages.
        """
        if given is None:
            return {}
        if not isinstance(given, Mapping):
            raise DataError(f"{what} must be a mapping of features to prices, got {brief(given)}.")
        known = (*self.features, *self.left_out)
        for name in given:
            if name not in known:
                raise CostsError(
                    f"{what} must name features whose price differs from row to row "
                    f"({some(known) or 'none'}), got {name!r}."
                )
        return {name: given[name] for name in self.features if name in given}

    def of_rows(
        self, table: Any, n_rows: int, given: Mapping[str, Any] | None, first_row: int = 0
    ) -> FloatArray:
        """Return what each row pays for each feature; see `prices_of_rows`."""
        return prices_of_rows(self.prices, table, n_rows, self.told("prices", given), first_row)

    def of_run(
        self, what: str, given: Mapping[str, Any] | None, n_rows: int, ids: list[Any] | None = None
    ) -> FloatArray:
        """Return the prices that a run was given, (n_rows, n_priced); NaN for the others.

        There is no table here: prices are arrays and numbers, or functions of `ids` if there are
        any.
        """
        found = np.full((n_rows, len(self)), np.nan)
        for name, told in self.told(what, given).items():
            price = RowPrice.from_cost(name, told)
            if price.column is not None or (price.function is not None and ids is None):
                forms = "an array" if ids is None else "an array, a function of the ids"
                raise DataError(f"{what} must be {forms} or a number for {name!r}, got {told!r}.")
            found[:, self.features.index(name)] = prices_of_rows([price], ids, n_rows)[:, 0]
        return found

    def costs(self, prices: FloatArray) -> FloatArray:
        """Cost of each row after each stage, (n_rows, n_stages)."""
        bought = self.stages[:, None] <= np.arange(len(self.fixed))
        found: FloatArray = self.fixed + prices @ bought
        return found

    def at(self, stage: int) -> IntArray:
        """Positions of the features that a stage buys."""
        return np.flatnonzero(self.stages == stage)

    def of_case(self, what: str, given: Mapping[str, Any] | None) -> list[float]:
        """Return the prices that are known of a single row; NaN for the others."""
        told = self.told(what, given)
        return [
            check_price(name, told[name]) if name in told else float("nan")
            for name in self.features
        ]

    def unknown(self, feature: str) -> DataError:
        """Return the error for a feature that was bought at an unknown price."""
        return DataError(
            f"the price of {feature!r} must be known, got none; give it in prices before, or in "
            "spent with the values."
        )
