"""Sample weights: checks, and weights as whole numbers of a unit."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.arrays import whole_units
from emsco._base.text import brief
from emsco._base.typing import FloatArray, IntArray
from emsco.errors import DataError

# Sums of products with weights must fit into float32, and a penalty must not vanish beside them.
_LEAST_WEIGHT, _LARGEST_WEIGHT = 1e-100, 1e15
_LARGEST = 2**20  # units of the largest rounded weight: each binary digit takes a bit per row
_MOST = 2**30  # units of all rounded weights together; exact weights may have twice as many


def check_weights(weights: ArrayLike | None, n_rows: int) -> FloatArray | None:
    """Return finite weights of at least 0, some above 0; None if none are given."""
    if weights is None:
        return None
    try:
        given = np.array(weights, dtype=np.float64)
        if isinstance(weights, np.ma.MaskedArray):
            given[np.ma.getmaskarray(weights)] = np.nan
    except (OverflowError, TypeError, ValueError):
        raise DataError(f"sample_weight must be numbers, got {brief(weights)}.") from None
    if given.shape != (n_rows,):
        raise DataError(
            f"sample_weight must have a weight for each of {n_rows} rows, got shape {given.shape}."
        )
    bad = np.flatnonzero(~((given >= 0) & np.isfinite(given)))
    if bad.size:
        raise DataError(
            f"sample_weight must be finite and at least 0, got {given[bad[0]]:g} in row {bad[0]}."
        )
    if not (given > 0).any():
        raise DataError(f"sample_weight must be above 0 for some row, got zero for all {n_rows}.")
    largest = int(np.argmax(given))
    if not _LEAST_WEIGHT <= given[largest] <= _LARGEST_WEIGHT:
        raise DataError(
            f"sample_weight must have its largest from {_LEAST_WEIGHT:g} to {_LARGEST_WEIGHT:g}, "
            f"got {given[largest]:g} in row {largest}; divide all weights by their mean."
        )
    return given


class WholeWeights(NamedTuple):
    """Weights as whole numbers of a unit, and how many units make a weight of 1."""

    units: IntArray
    per_one: float


def whole_weights(weights: FloatArray) -> WholeWeights:
    """Return weights as whole numbers of the largest power of ten, down to 10⁻⁶, that divides all.

    If there is none, or the sum would be 2³¹ units or more, weights are rounded. The unit is then
    the larger of a 2²⁰th of the largest weight and a 2³⁰th of the sum. No weight above 0 becomes 0.

    Examples
    --------
    >>> whole_weights(np.array([1.0, 2.5, 0.0]))
    WholeWeights(units=array([10, 25,  0]), per_one=10.0)
    """
    total = float(weights.sum())
    if whole := whole_units(weights, lambda _, per_one: total * per_one < 2 * _MOST):
        units, exact_per_one = whole
        return WholeWeights(units, float(exact_per_one))
    per_one = min(_LARGEST / float(weights.max()), _MOST / total)
    units = np.rint(weights * per_one).astype(np.int64)
    return WholeWeights(np.maximum(units, (weights > 0).astype(np.int64)), per_one)
