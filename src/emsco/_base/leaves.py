"""Leaves: consecutive rows of a table whose sums are taken together, wherever they are held.

A sum over all rows is the sum over each leaf, and then over pairs of leaves, over pairs of pairs
and so on. So its last bits do not depend on who holds which leaf: one process or many.
"""

from __future__ import annotations

import numpy as np

from emsco._base.typing import IntArray

LEAF = 65_536  # rows; the last bits of models of more rows depend on it


def n_leaves_of(n_rows: int) -> int:
    """Leaves of a table; even one without rows has a leaf."""
    return max(1, -(-n_rows // LEAF))


def rows_of_leaf(leaf: int) -> slice:
    """Rows of a leaf; the last leaf of a table may end before."""
    return slice(leaf * LEAF, (leaf + 1) * LEAF)


def split_by_leaf(rows: IntArray, n_leaves: int) -> list[IntArray]:
    """Row numbers that are in each leaf, in their order."""
    every = by_leaf(rows)
    return np.split(every, np.searchsorted(every // LEAF, np.arange(1, n_leaves)))


def by_leaf(items: IntArray, rows: IntArray | None = None) -> IntArray:
    """Bring items of rows of the same leaf together, otherwise in their order.

    By default the items are the row numbers themselves.
    """
    leaves = (items if rows is None else rows) // LEAF
    if leaves.max(initial=0) < 2**16:
        leaves = leaves.astype(np.uint16)  # NumPy sorts short numbers nine times as fast
    together: IntArray = items[np.argsort(leaves, kind="stable")]
    return together
