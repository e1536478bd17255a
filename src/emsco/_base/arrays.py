"""Read-only copies of arrays, and values as whole numbers of a unit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from emsco._base.typing import AnyArray, FloatArray, IntArray

_FINEST_DECIMALS = 6


def locked_copy(values: ArrayLike, dtype: DTypeLike | None = None) -> AnyArray:
    """Return a read-only copy of `values`.

    Examples
    --------
    >>> locked_copy([1, 2], np.float64)
    array([1., 2.])
    """
    owned: AnyArray = np.array(values, dtype=dtype)
    owned.setflags(write=False)
    return owned


def distinct_rows(numbers: IntArray, n_rows: int) -> tuple[IntArray, IntArray]:
    """Return the distinct ones of some row numbers, sorted, and the place of each among them.

    It is `numpy.unique` without a sort.

    Examples
    --------
    >>> distinct_rows(np.array([5, 2, 5]), 7)
    (array([2, 5]), array([1, 0, 1]))
    """
    place = np.zeros(n_rows, dtype=np.int64)
    place[numbers] = 1
    distinct: IntArray = np.flatnonzero(place)
    place[distinct] = np.arange(len(distinct))
    return distinct, place[numbers]


def whole_units(
    values: FloatArray, fits: Callable[[FloatArray, int], Any]
) -> tuple[IntArray, int] | None:
    """Return values as whole numbers of a unit, and how many units make 1.

    The unit is the largest power of ten from 1 down to 10⁻⁶ that divides all values. The result is
    None if there is no such unit, or if ``fits(units, per_one)`` is false for a unit on the way.

    Examples
    --------
    >>> whole_units(np.array([1.0, 2.5]), lambda units, per_one: units.sum() < 100)
    (array([10, 25]), 10)
    """
    for decimals in range(_FINEST_DECIMALS + 1):
        per_one = 10**decimals
        units = np.rint(values * per_one)
        if not fits(units, per_one):
            return None
        if (units / per_one == values).all():
            return units.astype(np.int64), per_one
    return None
