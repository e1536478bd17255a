"""Prices that differ from row to row: a column, a function of the table, or an array."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from emsco._base.text import brief, some, what_was_meant
from emsco.costs.fees import check_known
from emsco.errors import CostsError, Parameter


@dataclass(frozen=True, slots=True, eq=False)
class RowPrice:
    """Where the price of a feature comes from, if it differs from row to row.

    It is known before the feature is bought. With neither a column nor a function, it is given
    with the rows.

    Attributes
    ----------
    feature : str
    column : str or None
        Column of the table that holds the price of each row.
    function : callable or None
        Called with a table; returns the price of each of its rows.
    values : array-like or None
        Prices of the training rows.
    """

    feature: str
    column: str | None = None
    function: Callable[[Any], Any] | None = None
    values: Any = None

    @classmethod
    def from_cost(cls, feature: str, cost: Any) -> RowPrice:
        """Read what stands in the place of a feature's cost: a name, a function or an array."""
        if isinstance(cost, RowPrice):
            return cost
        if isinstance(cost, str):
            return cls(feature, column=cost)
        return cls(feature, function=cost) if callable(cost) else cls(feature, values=cost)

    @property
    def in_words(self) -> str:
        """Where the price comes from, for messages and tables."""
        return "by row" if self.column is None else f"by row, from {self.column!r}"


def is_row_price(cost: Any) -> bool:
    """Whether a cost is a price by row, and not one number for all rows.

    Examples
    --------
    >>> is_row_price("n_tokens"), is_row_price([0.2, 0.4]), is_row_price(3), is_row_price(None)
    (True, True, False, False)
    """
    if isinstance(cost, (str, RowPrice)) or callable(cost):
        return True
    return not isinstance(cost, Mapping) and np.ndim(_shaped(cost)) == 1


def _shaped(cost: Any) -> Any:
    try:
        return np.asarray(cost)
    except ValueError:  # a ragged list; no price, and refused as a cost
        return 0


def split_prices(costs: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[RowPrice, ...]]:
    """Split costs by name into numbers and prices by row, which count 0 until rows are known."""
    prices = tuple(
        RowPrice.from_cost(name, cost) for name, cost in costs.items() if is_row_price(cost)
    )
    priced = {price.feature for price in prices}
    return {name: 0.0 if name in priced else cost for name, cost in costs.items()}, prices


def without_prices(
    names: tuple[str, ...], prices: Sequence[RowPrice], others: Collection[str]
) -> tuple[str, ...]:
    """Return the columns of a table without those that only hold prices.

    A column that is also one of the `others` stays: it is a feature as well.
    """
    for price in prices:
        if price.column is not None and price.column not in names:
            meant = what_was_meant(price.column, names)
            raise CostsError(
                f"the price of {price.feature!r} must be a number or a column of the data "
                f"({some(names)}), got {price.column!r}{meant}"
            )
    only = {price.column for price in prices} - set(others)
    return tuple(name for name in names if name not in only)


def check_prices(prices: Sequence[RowPrice], names: Sequence[str]) -> None:
    """Refuse prices of unknown features, two for one feature, or an empty column name."""
    check_known("prices", [price.feature for price in prices], names)
    if len({price.feature for price in prices}) < len(prices):
        raise CostsError("prices must be given once for each feature, got two for one.")
    for price in prices:
        if price.column == "":
            raise CostsError(
                Parameter("costs"),
                f" must be a number or the name of a column with prices, got {brief(price.column)} "
                f"for {price.feature!r}.",
            )
