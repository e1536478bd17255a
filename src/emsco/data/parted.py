"""Tables in parts, such as the files of a folder or the partitions of a Dask DataFrame."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from emsco.costs import FeatureCosts, RowPrice
from emsco.data.encoding import Encoding
from emsco.data.encoding.parts import codes_of_part, encoding_of_parts
from emsco.errors import DataError

__all__ = ["PartedTable"]


class PartedTable(ABC):
    """A table in parts, in the order of its rows.

    Attributes
    ----------
    what : str
        Name of the table in messages.
    parts : list of str
        Name of each part in messages.
    places : list of (int, str)
        Number of each part's first row in messages, and the name of what rows are counted in.
    shell : table
        The table without rows, for checks of its columns.
    """

    what: str = "X"
    parts: list[str]
    places: list[tuple[int, str]]
    shell: Any

    @abstractmethod
    def run(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[tuple[Any, ...]] = ()
    ) -> list[Any]:
        """Return ``function(part, *shared, *own)`` of each part, in order; `own` is from `each`."""

    @abstractmethod
    def rows(self, encoding: Encoding) -> Any:
        """Return the inputs of all rows: an array, or `RemoteRows`."""

    @abstractmethod
    def columns(self, names: Sequence[str]) -> Any:
        """Return some columns of all rows as a table in memory."""

    def learn_encoding(self, costs: FeatureCosts, gaps: str) -> Encoding:
        """Learn the encoding of all parts together."""
        codes = self.run(codes_of_part, costs.table, self.what)
        found = codes, self.parts, costs, gaps, self.run, self.what, self.places
        return encoding_of_parts(*found)

    def priced(self, prices: Sequence[RowPrice]) -> Any:
        """Return a table of the columns that prices are taken from."""
        for price in prices:
            if price.function is not None:
                raise DataError(
                    f"the price of {price.feature!r} must be a column or numbers for a table in "
                    "parts, got a function."
                )
        names = [price.column for price in prices if price.column is not None]
        return self.columns(list(dict.fromkeys(names))) if names else None
