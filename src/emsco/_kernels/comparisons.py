"""Two ways to decide the same rows: how far apart they move a figure, row by row."""

from __future__ import annotations

import cython
from cython.cimports.emsco._kernels.arrays import (
    Floats1,
    Floats3,
    Ints1,
    OutFloats2,
    Stages1,
)


def add_squares(
    first: Stages1,
    second: Stages1,
    of_first: Floats3,
    of_second: Floats3,
    truth: Ints1,
    weights: Floats1,
    rows: Ints1,
    apart: OutFloats2,
    squares: OutFloats2,
) -> None:
    """Add to `squares`, classes × 5, the squared difference of the influences of each row.

    Decision i is about row ``rows[i]`` of class ``truth[i]``. Its influences on five figures are
    those of its code and class, in `of_first` and `of_second`, times its weight. `apart`, rows × 5,
    has what else sets the influences of a row apart, and is 0 afterwards. It has no rows if nothing
    else does and each row is decided once.
    """
    difference: cython.double
    with cython.nogil:
        if apart.shape[0] == 0:
            for i in range(truth.shape[0]):
                k, a, b, weight = truth[i], first[i], second[i], weights[i]
                for f in range(5):
                    difference = weight * (of_first[a, k, f] - of_second[b, k, f])
                    squares[k, f] += difference * difference
        for i in range(truth.shape[0] if apart.shape[0] else 0):
            row, k, a, b, weight = rows[i], truth[i], first[i], second[i], weights[i]
            for f in range(5):
                apart[row, f] += weight * (of_first[a, k, f] - of_second[b, k, f])
        for i in range(truth.shape[0] if apart.shape[0] else 0):
            row, k = rows[i], truth[i]
            for f in range(5):
                squares[k, f] += apart[row, f] * apart[row, f]
                apart[row, f] = 0.0  # a row that was decided several times counts once
