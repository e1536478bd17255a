"""Rows that two ways decide differently: as uncompiled."""

from __future__ import annotations

import numpy as np
import pytest
from support.kernels import frozen
from support.plain import plain

from emsco._kernels import comparisons


@pytest.mark.parametrize("n_rows", [1, 40])
def test_squares_are_those_of_the_uncompiled_kernel(n_rows):
    rng, n, n_classes = np.random.default_rng(n_rows), 100, 3
    rows = rng.integers(0, n_rows, n)
    cells = rng.integers(0, 18, (2, n)).astype(np.int32)
    influence = rng.normal(size=(2, 18, 5))
    truth = rng.integers(0, n_classes, n_rows)[rows]
    inputs = frozen(*cells, *influence, truth, rng.random(n), rows)
    apart = rng.normal(size=(n_rows, 5))
    twins = []
    for kernels in (comparisons, plain("comparisons")):
        scratch, squares = apart.copy(), np.ones((n_classes, 5))
        kernels.add_squares(*inputs, scratch, squares)
        assert not scratch[rows].any()
        twins.append(squares.tobytes())
    assert twins[0] == twins[1]
