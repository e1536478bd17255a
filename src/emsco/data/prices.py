"""Prices of rows: what each feature costs a row, where prices differ from row to row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from emsco._base.checks import is_number
from emsco._base.text import brief, first_line, some
from emsco._base.typing import FloatArray
from emsco.costs import RowPrice, is_row_price
from emsco.costs.fees import LARGEST_COST, check_known
from emsco.data.keys import column_of
from emsco.data.rows import column_names
from emsco.errors import DataError, Row


def prices_of_rows(
    prices: Sequence[RowPrice],
    table: Any,
    n_rows: int,
    given: Mapping[str, Any] | None = None,
    first_row: int = 0,
) -> FloatArray:
    """Return what each row pays for each feature with prices of rows, (n_rows, n_priced).

    Parameters
    ----------
    prices : sequence of RowPrice
        Features whose price differs from row to row.
    table : data frame or array-like
        The rows, from which columns and functions take prices.
    n_rows : int
    given : mapping, optional
        Name of a feature → its prices, in any form that costs may have, or one number for all
        rows. They count instead of those in `prices`.
    first_row : int
        Number of the first row in messages.
    """
    found = np.empty((n_rows, len(prices)))
    for j, price in enumerate(_with_given(prices, given)):
        found[:, j] = _column(price, table, n_rows)
        wrong = np.flatnonzero(~((found[:, j] >= 0) & (found[:, j] <= LARGEST_COST)))
        if wrong.size:
            raise DataError(
                f"the price of {price.feature!r} must be finite and at least 0, got "
                f"{found[wrong[0], j]:g} in ",
                Row(first_row + int(wrong[0])),
                ".",
            )
    return found


def _with_given(
    prices: Sequence[RowPrice], given: Mapping[str, Any] | None
) -> tuple[RowPrice, ...]:
    """Return prices with those that are given instead of the usual ones."""
    if not given:
        return tuple(prices)
    if not isinstance(given, Mapping):
        raise DataError(f"prices must be a mapping of features to prices, got {brief(given)}.")
    check_known("prices", given, [price.feature for price in prices])
    return tuple(
        RowPrice.from_cost(price.feature, given[price.feature]) if price.feature in given else price
        for price in prices
    )


def check_price(feature: str, price: Any) -> float:
    """Return the price of a feature for one row as a number."""
    found = _numbers(feature, price)
    if found.ndim:
        raise DataError(f"the price of {feature!r} must be one number, got {brief(price)}.")
    number = float(found)
    if not 0 <= number <= LARGEST_COST:  # written so that NaN fails too
        raise DataError(f"the price of {feature!r} must be finite and at least 0, got {number:g}.")
    return number


def _column(price: RowPrice, table: Any, n_rows: int) -> FloatArray:
    """Return the prices of one feature."""
    if price.column is not None:
        found = _of_table(price.feature, price.column, table)
    elif price.function is not None:
        try:
            found = price.function(table)
        except Exception as error:  # the user's function may raise anything
            why = f"{type(error).__name__}: {first_line(error)}"
            raise DataError(
                f"the price of {price.feature!r} must be a function that works for these rows, got "
                f"{why}."
            ) from error
    elif price.values is None:
        raise DataError(
            f"prices must be given for {price.feature!r}, whose price differs from row to row, got "
            "none."
        )
    else:
        found = price.values
    numbers = _numbers(price.feature, found)
    if numbers.ndim == 0 and not is_row_price(found):
        return np.full(n_rows, float(numbers))
    if numbers.shape != (n_rows,):
        raise DataError(
            f"the price of {price.feature!r} must have one entry for each of {n_rows} rows, got "
            f"shape {numbers.shape}."
        )
    return numbers


def _numbers(feature: str, found: Any) -> FloatArray:
    try:
        return np.asarray(found, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        values = np.asarray(found, dtype=object).ravel()
        first = next((one for one in values if not is_number(one)), found)
        raise DataError(f"the price of {feature!r} must be numbers, got {brief(first)}.") from None


def _of_table(feature: str, column: str, table: Any) -> Any:
    """Return a column of prices of a data frame."""
    there = column_names(table)
    if column not in there:
        got = some(there, 20) if there else "a table without names"
        raise DataError(
            f"the rows must have the column {column!r} with the price of {feature!r}, got {got}."
        )
    return column_of(table, column, "costs")
