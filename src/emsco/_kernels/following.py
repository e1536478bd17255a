"""Rows sent through the stages of one design, one by one."""

from __future__ import annotations

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray, SingleArray
from emsco._kernels.compiling import kernel


@kernel()
def follow_stage(
    number: int,
    winner: LabelArray,
    sure: FloatArray,
    least: FloatArray,
    missing: BoolArray,
    given: LabelArray,
    stage: IntArray,
    confidence: SingleArray,
) -> None:
    """Send the rows that are undecided through one stage of a design.

    A row leaves if the stage is sure enough and misses no feature that it buys. `missing` has no
    entry if none is; `least` has a threshold for each class. In `given`, a label of as many as
    there are classes marks a row that is undecided.
    """
    n_classes = len(least)
    for i in range(len(given)):
        if given[i] < n_classes:
            continue
        label = winner[i]
        confidence[i] = sure[i]
        stage[i] = number
        if sure[i] >= least[label] and not (len(missing) and missing[i]):
            given[i] = label


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
