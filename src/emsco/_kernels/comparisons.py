"""Two ways to decide the same rows: how far apart they move a figure, row by row."""

from __future__ import annotations

import cython
from cython.cimports.emsco._kernels.arrays import (
    Floats1,
    Floats2,
    Ints1,
    OutFloats2,
    SmallInts1,
)


def add_squares(
    first: SmallInts1,
    second: SmallInts1,
    of_first: Floats2,
    of_second: Floats2,
    truth: Ints1,
    weights: Floats1,
    rows: Ints1,
    apart: OutFloats2,
    squares: OutFloats2,
) -> None:
    """Add to `squares`, classes × 5, the squared difference of the influences of each row.

    Decision i is about row ``rows[i]`` of class ``truth[i]``. Its influences on five figures are
    those of its cells, `first` and `second`, in `of_first` and `of_second`, times its weight.
    `apart`, rows × 5, has what else sets the influences of a row apart, and is 0 afterwards. It has
    no rows if nothing else does and each row is decided once.
    """
    difference: cython.double
    with cython.nogil:
        if apart.shape[0] == 0:
            for i in range(truth.shape[0]):
                k, a, b, weight = truth[i], first[i], second[i], weights[i]
                for f in range(5):
                    difference = weight * (of_first[a, f] - of_second[b, f])
                    squares[k, f] += difference * difference
        for i in range(truth.shape[0] if apart.shape[0] else 0):
            row, a, b, weight = rows[i], first[i], second[i], weights[i]
            for f in range(5):
                apart[row, f] += weight * (of_first[a, f] - of_second[b, f])
        for i in range(truth.shape[0] if apart.shape[0] else 0):
            row, k = rows[i], truth[i]
            for f in range(5):
                squares[k, f] += apart[row, f] * apart[row, f]
                apart[row, f] = 0.0  # a row that was decided several times counts once
