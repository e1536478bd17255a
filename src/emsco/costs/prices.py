"""Prices by row: where the price of a feature comes from, and what each row is to pay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from emsco._base.text import first_line, some
from emsco._base.typing import FloatArray
from emsco.costs.checks import check_amounts
from emsco.errors import DataError

GivenPrices: TypeAlias = Mapping[str, Any] | None  # by feature, in any form that a cost may have


def is_row_price(cost: Any) -> bool:
    """Whether a cost is a price by row, and not one number for all rows.

    Examples
    --------
    >>> is_row_price("n_tokens"), is_row_price([0.2, 0.4]), is_row_price(3), is_row_price(None)
    (True, True, False, True)
    """
    try:
        # One number for each row; a matrix is no price.
        return cost is None or isinstance(cost, str) or callable(cost) or np.ndim(cost) == 1
    except ValueError:  # a ragged list; no price, and refused as a cost
        return False


def prices_of_rows(
    feature: str,
    source: Any,
    table: Any,
    n_rows: int,
    first_row: int = 0,
    *,
    may_lack: bool = False,
) -> FloatArray:
    """Return what each row of a table pays for a feature whose price differs from row to row.

    Parameters
    ----------
    feature : str
    source : str, callable, array-like, number or None
        The column of the table that holds the prices; a function that is called with the table and
        returns them; the prices themselves, or one for all rows. None is refused: they come with
        the rows, but have not.
    table : table or None
    n_rows, first_row : int
        Number of rows, and the number of the first one in messages.
    may_lack : bool
        Whether a price that is not known is NaN, also if its whole column is not there.
    """
    what, given = f"the price of {feature!r}", source
    if isinstance(source, str):
        import narwhals as nw

        frame: Any = nw.from_native(table, eager_only=True, pass_through=True)
        names = frame.columns if isinstance(frame, nw.DataFrame) else ()
        if source not in names and not may_lack:
            got = some(names, 20) if names else "a table without names"
            raise DataError(f"the rows must have the column {source!r} with {what}, got {got}.")
        given = frame.get_column(source) if source in names else np.nan
    elif callable(source):
        try:
            given = source(table)
        except Exception as error:  # the user's function may raise anything
            raise DataError(
                f"{what} must be a function that works for these rows, got "
                f"{type(error).__name__}: {first_line(error)}."
            ) from error
    elif source is None:
        raise DataError(
            f"prices must be given for {feature!r}, whose price differs from row to row, got none."
        )
    each = np.full(n_rows, given, dtype=object) if np.ndim(given) == 0 else given
    return check_amounts(what, each, range(first_row, first_row + n_rows), may_lack=may_lack)
