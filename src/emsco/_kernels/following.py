"""Rows sent through the stages of one design, one by one."""

from __future__ import annotations

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray, SingleArray
from emsco._kernels.compiling import kernel


@kernel()
def follow_rows(
    winner: LabelArray,
    sure: FloatArray,
    least: FloatArray,
    missing: BoolArray,
    given: LabelArray,
    stage: IntArray,
    confidence: SingleArray,
) -> None:
    """Send rows through the stages of a design.

    A row leaves at the first stage that is sure enough and misses no feature it buys. `winner`,
    `sure` and `missing` have the shape (n_stages, n_rows), `missing` no line if none is; `least`
    has a threshold for each stage and class. `given` must hold the mark of rejected rows.
    """
    n_stages, n_rows = winner.shape
    for i in range(n_rows):
        for j in range(n_stages):
            label = winner[j, i]
            confidence[i] = sure[j, i]
            stage[i] = j
            if sure[j, i] >= least[j, label] and not (len(missing) and missing[j, i]):
                given[i] = label
                break


@kernel()
def add_shares(
    given: LabelArray,
    stage: IntArray,
    truth: IntArray,
    rows: IntArray,
    share: SingleArray,
    paid: FloatArray,
    n_classes: int,
    found: SingleArray,
) -> None:
    """Add up the decisions about each distinct row: answered, correct, and what they cost.

    Decision i is about row ``rows[i]`` and counts by ``share[i]``; `found` has three lines.
    """
    for i in range(len(given)):
        row, part = rows[i], share[i]
        if given[i] < n_classes:
            found[0, row] += part
            if given[i] == truth[i]:
                found[1, row] += part
        found[2, row] += part * np.float32(paid[stage[i]])
