"""Rows held in single precision, where that changes no value."""

from __future__ import annotations

from typing import Any

import numpy as np

from emsco._base.typing import FloatArray, SingleArray
from emsco._base.workers import row_blocks

_WORTH_ROUNDING = 2**24  # values; for fewer, nobody misses the memory


class SingleRows:
    """Rows held as float32. Whatever is taken from them is float64, with the same values.

    Parameters
    ----------
    held : ndarray of float32, shape (n_rows, n_inputs)
    """

    def __init__(self, held: SingleArray) -> None:
        self.held = held

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and inputs."""
        n_rows, n_inputs = self.held.shape
        return n_rows, n_inputs

    def __len__(self) -> int:
        return len(self.held)

    def __getitem__(self, which: Any) -> FloatArray:
        """Take rows, or columns as in ``rows[:, 3]``."""
        is_list = isinstance(which, np.ndarray) and which.dtype.kind == "i"
        # For a list of rows, `take` is faster.
        taken = self.held.take(which, axis=0) if is_list else self.held[which]
        doubles: FloatArray = taken.astype(np.float64)
        return doubles

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        del copy  # what is taken is always new
        return self.held.astype(dtype or np.float64)


def held_rows(rows: FloatArray, table: Any) -> FloatArray | SingleRows:
    """Return the rows of a table in the precision that they need.

    A table in float32 is not copied. Rows that were made of another table are rounded if they are
    many, and all values stay the same.
    """
    is_array = isinstance(table, np.ndarray)
    if is_array and table.dtype == np.float32 and table.shape == rows.shape:
        return SingleRows(table)
    if rows.size < _WORTH_ROUNDING or (is_array and np.shares_memory(rows, table)):
        return rows
    single = np.empty(rows.shape, dtype=np.float32)
    for block in row_blocks(len(rows)):
        with np.errstate(over="ignore"):
            single[block] = rows[block]
        if not np.array_equal(single[block], rows[block], equal_nan=True):
            return rows
    return SingleRows(single)
