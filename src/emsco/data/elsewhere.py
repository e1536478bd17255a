"""Tables and rows that are not in the memory of this process: with Dask workers, or on disk.

The core knows rows by the class here, and tables by `emsco.data.encoding.PartedTable`; what
holds them is in `emsco.scale`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from emsco._base.digests import fingerprint, fingerprint_of_leaves
from emsco._base.leaves import n_leaves_of
from emsco._base.wings import open_wing


class RowsElsewhere(ABC):
    """Rows of a table that stay where they are held, leaf by leaf.

    Functions go to the leaves, and small answers come back. ``rows[numbers]`` selects rows and
    moves none; `numpy.asarray` of that fetches them.

    Attributes
    ----------
    shape : (int, int)
        Number of rows and of inputs.
    """

    shape: tuple[int, int]

    @abstractmethod
    def map(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[tuple[Any, ...]] = ()
    ) -> list[Any]:
        """Return ``function(rows, *shared, *each[leaf])`` of each leaf, in order."""

    @abstractmethod
    def __getitem__(self, which: Any) -> Any:
        """Select rows by number, or fetch columns of all rows, as in ``rows[:, 3]``."""

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return n_leaves_of(len(self))

    def fingerprint(self) -> str:
        """Return `fingerprint_of_rows`, the same whoever holds the rows."""
        return fingerprint_of_leaves(self.map(fingerprint))


def is_dask(X: Any) -> bool:
    """Tell whether X is a Dask DataFrame, Series or array."""
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "__dask_graph__")


def in_memory(values: Any, client: Any) -> Any:
    """Return a Dask Series or array in memory; anything else as it is."""
    return open_wing("dask").gathered(values, client) if is_dask(values) else values
