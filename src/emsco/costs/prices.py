"""Prices by row: where the price of a feature comes from, and what each row is to pay."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from emsco._base.text import first_line, some
from emsco._base.typing import FloatArray
from emsco.costs.checks import check_amounts
from emsco.errors import DataError

GivenPrices: TypeAlias = Mapping[str, Any] | None  # by feature, in any form that a cost may have


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

    def of_rows(
        self, table: Any, n_rows: int, first_row: int = 0, *, may_lack: bool = False
    ) -> FloatArray:
        """Return what each row of a table pays; messages count rows from `first_row`.

        With `may_lack`, a price that is not known is NaN, also if its whole column is not there.
        """
        given = self.values
        if self.column is not None:
            import narwhals as nw

            frame: Any = nw.from_native(table, eager_only=True, pass_through=True)
            names = frame.columns if isinstance(frame, nw.DataFrame) else ()
            given = np.nan
            if self.column in names:
                given = frame.get_column(self.column)
            elif not may_lack:
                got = some(names, 20) if names else "a table without names"
                raise DataError(
                    f"the rows must have the column {self.column!r} with the price of "
                    f"{self.feature!r}, got {got}."
                )
        elif self.function is not None:
            try:
                given = self.function(table)
            except Exception as error:  # the user's function may raise anything
                raise DataError(
                    f"the price of {self.feature!r} must be a function that works for these rows, "
                    f"got {type(error).__name__}: {first_line(error)}."
                ) from error
        elif given is None:
            raise DataError(
                f"prices must be given for {self.feature!r}, whose price differs from row to row, "
                "got none."
            )
        return check_amounts(
            f"the price of {self.feature!r}",
            np.full(n_rows, given, dtype=object) if np.ndim(given) == 0 else given,
            range(first_row, first_row + n_rows),
            may_lack=may_lack,
        )


def is_row_price(cost: Any) -> bool:
    """Whether a cost is a price by row, and not one number for all rows.

    Examples
    --------
    >>> is_row_price("n_tokens"), is_row_price([0.2, 0.4]), is_row_price(3), is_row_price(None)
    (True, True, False, False)
    """
    if isinstance(cost, (str, RowPrice)) or callable(cost):
        return True
    try:
        # One number for each row; a matrix is no price.
        return not isinstance(cost, Mapping) and np.ndim(np.asarray(cost)) == 1
    except ValueError:  # a ragged list; no price, and refused as a cost
        return False
