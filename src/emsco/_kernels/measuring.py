"""Decisions about rows, counted by what happened to each and by its class."""

from __future__ import annotations

import numpy as np

from emsco._base.typing import FloatArray, IntArray, LabelArray, SingleArray
from emsco._kernels.compiling import kernel


@kernel()
def code_rows(
    truth: IntArray,
    given: LabelArray,
    stage: IntArray,
    confidence: SingleArray,
    codes: LabelArray,
    counts: IntArray,
    sure: FloatArray,
) -> None:
    """Code what happened to each row: three times its stage, plus 1 if correct and 2 if wrong.

    `counts` is codes × classes, and `sure` has a number for each stage: the summed confidence of
    the rows that are answered there. Both must be 0.
    """
    n_classes = counts.shape[1]
    for i in range(len(truth)):
        code = 3 * stage[i]
        if given[i] < n_classes:
            code += 1 if given[i] == truth[i] else 2
            sure[stage[i]] += confidence[i]
        codes[i] = np.uint8(code)
        counts[code, truth[i]] += 1


@kernel()
def count_pairs(
    first: LabelArray,
    second: LabelArray,
    truth: IntArray,
    counts: IntArray,
) -> None:
    """Count rows by two codes and their class; `counts` must be 0."""
    for i in range(len(truth)):
        counts[first[i], second[i], truth[i]] += 1
