"""Figures of decisions about rows, and the influence of each row on them, in two passes."""

from __future__ import annotations

from emsco._base.typing import FloatArray, IntArray, LabelArray
from emsco._kernels.compiling import kernel


@kernel()
def measure_rows(
    truth: IntArray,
    given: LabelArray,
    cost: FloatArray,
    weights: FloatArray,
    sums: FloatArray,
    by_class: FloatArray,
    influence: FloatArray,
) -> None:
    """Fill the influences of rows that are decided once each; see `RowFigures.measure`.

    `sums` has room for four numbers: all weight, that of answers and of correct ones, and what all
    rows pay. `by_class` is 3 × classes: weight of all rows, of correct and of wrong ones. Both
    must be 0.
    """
    n_classes = by_class.shape[1]
    for i in range(len(truth)):
        weight, k = weights[i], truth[i]
        sums[0] += weight
        sums[3] += cost[i] * weight
        by_class[0, k] += weight
        if given[i] < n_classes:
            sums[1] += weight
            if given[i] == k:
                sums[2] += weight
                by_class[1, k] += weight
            else:
                by_class[2, k] += weight
    total, answered = sums[0], sums[1]
    coverage = answered / total if total != 0.0 else 0.0
    accuracy = sums[2] / answered if answered != 0.0 else 0.0
    mean = sums[3] / total if total != 0.0 else 0.0
    for i in range(len(truth)):
        weight, k = weights[i], truth[i]
        own = by_class[0, k] if by_class[0, k] > 0.0 else 1.0
        answer = weight if given[i] < n_classes else 0.0
        right = weight if given[i] == k else 0.0
        influence[0, i] = (answer - coverage * weight) / total if total != 0.0 else 0.0
        influence[1, i] = (right - accuracy * answer) / answered if answered != 0.0 else 0.0
        influence[2, i] = (cost[i] * weight - mean * weight) / total if total != 0.0 else 0.0
        influence[3, i] = (right - by_class[1, k] / own * weight) / own
        influence[4, i] = (answer - right - by_class[2, k] / own * weight) / own


@kernel()
def add_squares(
    first: FloatArray,
    second: FloatArray,
    truth: IntArray,
    squares: FloatArray,
    by_class: FloatArray,
) -> None:
    """Add up squared differences of influences, the last two kinds by class.

    `squares` has three numbers, and `by_class` is 2 × classes.
    """
    for i in range(len(truth)):
        for j in range(3):
            apart = first[j, i] - second[j, i]
            squares[j] += apart * apart
        for j in range(2):
            apart = first[3 + j, i] - second[3 + j, i]
            by_class[j, truth[i]] += apart * apart


@kernel()
def add_confidences(
    given: LabelArray,
    stage: IntArray,
    confidence: FloatArray,
    weights: FloatArray,
    n_classes: int,
    rows: FloatArray,
    sure: FloatArray,
) -> None:
    """Add up the weights of answered rows by stage, and their confidences."""
    for i in range(len(given)):
        if given[i] < n_classes:
            rows[stage[i]] += weights[i]
            sure[stage[i]] += weights[i] * confidence[i]
