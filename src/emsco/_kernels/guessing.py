"""Guesses of what a model would say that has not been fitted, from those of its neighbours."""

from __future__ import annotations

import numpy as np

from emsco._base.typing import IntArray, SingleArray
from emsco._kernels.compiling import kernel

__all__ = ["guess_margins"]


@kernel()
def guess_margins(
    margins: SingleArray,
    place: IntArray,
    subsets: IntArray,
    n_features: int,
    most: int,
    guessed: SingleArray,
    squares: IntArray,
) -> None:
    """Mean of m(i) + m(j) - m(i, j) over at most `most` squares of neighbours of each subset.

    `place` has the line of `margins` of each subset, -1 if it has none. `squares` counts.
    """
    n_rows = margins.shape[1]
    for k in range(len(subsets)):
        subset = subsets[k]
        for i in range(n_features):
            one = place[subset ^ (1 << i)]
            if one < 0 or squares[k] == most:
                continue
            for j in range(i):
                other, both = place[subset ^ (1 << j)], place[subset ^ (1 << i) ^ (1 << j)]
                if other < 0 or both < 0 or squares[k] == most:
                    continue
                squares[k] += 1
                for r in range(n_rows):
                    guessed[k, r] += margins[one, r] + margins[other, r] - margins[both, r]
        for r in range(n_rows if squares[k] else 0):
            guessed[k, r] /= np.float32(squares[k])
