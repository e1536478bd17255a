"""Tables over all subsets of the features. Subsets are numbers: feature i is bit i."""

from __future__ import annotations

from typing import Any

import numpy as np

from emsco._base.typing import FloatArray, IntArray, WordArray
from emsco.costs import Fees


def totals(values: Any) -> Any:
    """Sum of `values`, one per feature, over each subset.

    Examples
    --------
    >>> totals(np.array([1, 10])).tolist()
    [0, 1, 10, 11]
    """
    total = np.zeros(2 ** len(values), dtype=values.dtype)
    for i, value in enumerate(values):
        total[1 << i : 2 << i] = total[: 1 << i] + value
    return total


def next_costs(cost: FloatArray, evaluation: float) -> FloatArray:
    """Least cost of one more stage after each subset, given what each costs; 0 for the full set.

    A larger subset never costs less, so a stage that buys one feature is the cheapest.
    """
    least = np.full(len(cost), np.inf)
    for i in range(len(cost).bit_length() - 1):
        own, larger = cost.reshape(-1, 2, 2**i).swapaxes(0, 1)  # without feature i, and with it
        without = least.reshape(-1, 2, 2**i)[:, 0]
        np.minimum(without, larger - own + evaluation, out=without)
    least[-1] = 0
    return least


def subset_costs(costs: FloatArray | IntArray, fees: Fees | None) -> FloatArray:
    """Cost of buying each subset."""
    bought: FloatArray = totals(np.asarray(costs, dtype=np.float64))
    return bought if fees is None or not len(fees) else bought + fees.of_all_subsets()


def missing_rows(missing: WordArray | None, n_words: int) -> tuple[WordArray, int]:
    """Rows in which a feature of a subset is missing, and the features that are ever missing.

    The rows are listed by subset, up to the last feature that is ever missing.
    """
    if missing is None or not missing.any():
        return np.zeros((1, n_words), dtype=np.uint64), 0
    incomplete = np.flatnonzero(missing.any(axis=1))
    rows = np.zeros((2 << incomplete[-1], n_words), dtype=np.uint64)
    for i in range(incomplete[-1] + 1):
        rows[1 << i : 2 << i] = rows[: 1 << i] | missing[i]
    return rows, sum(1 << int(i) for i in incomplete)


def merged_up(values: Any, merge: np.ufunc) -> Any:
    """Merge the values of all subsets that contain a subset into its own, in place."""
    n_features = len(values).bit_length() - 1
    for i in range(n_features):
        pairs = values.reshape(2 ** (n_features - 1 - i), 2, 2**i, -1)
        merge(pairs[:, 0], pairs[:, 1], out=pairs[:, 0])
    return values


def of_larger(values: Any, merge: np.ufunc, nothing: Any) -> Any:
    """Merge the values of all larger subsets, without the subset's own; see `merged_up`."""
    n_features = len(values).bit_length() - 1
    larger = np.full_like(values, nothing)
    for i in range(n_features):
        shape = (2 ** (n_features - 1 - i), 2, 2**i, -1)
        own, others = larger.reshape(shape), values.reshape(shape)
        merge(own[:, 0], others[:, 1], out=own[:, 0])
    return larger
