"""Boosted trees: compiled as uncompiled, and what each leaf holds."""

from __future__ import annotations

import numpy as np
import pytest
from support.plain import plain

from emsco._kernels import boosting

LEAVES, ROUNDS, N_INPUTS = 5, 4, 3


def random_rows(rng, n_rows, n_outputs, n_bins):
    codes = (rng.random((N_INPUTS, n_rows)) * n_bins[:, None]).astype(np.uint8)
    labels = (codes[0] * max(2, n_outputs)) // n_bins[0]
    codes[rng.random(codes.shape) < 0.2] = boosting.BLANK
    return codes, labels.astype(np.int64), rng.random(n_rows), np.zeros((n_outputs, n_rows))


def boosted(kernels, rows, held, n_bins, patience):
    """Arrays of trees by name, losses, logits of both kinds of rows, and the number of rounds."""
    n_rows, max_nodes = rows[0].shape[1], 2 * LEAVES - 1
    n_trees = ROUNDS * len(rows[3])
    short = {name: np.zeros((n_trees, max_nodes), np.int16) for name in ("inputs", "bins", "left")}
    trees = {
        **short,
        "blank_left": np.zeros((n_trees, max_nodes), dtype=np.bool_),
        "values": np.zeros((n_trees, max_nodes)),
        "n_nodes": np.zeros(n_trees, dtype=np.int64),
    }
    scratch = kernels.Scratch(
        slopes=np.zeros((2, n_rows)),
        ordered=np.zeros((n_rows, 2)),
        rows=np.zeros(n_rows, dtype=np.uint32),
        spare=np.zeros(n_rows, dtype=np.uint32),
        sums=np.zeros((LEAVES, N_INPUTS, 256, 2)),
        counts=np.zeros((LEAVES, N_INPUTS, 256), dtype=np.int32),
        ends=np.zeros((max_nodes, 3), dtype=np.int64),
        best=np.zeros((max_nodes, 4)),
        totals=np.zeros((max_nodes, 3)),
    )
    growth, losses = kernels.Growth(LEAVES, 0.5, 3, 1.0, patience), np.zeros(ROUNDS)
    rows, held = ([*some[:3], some[3].copy()] for some in (rows, held))
    rounds = kernels.boost(
        kernels.Rows(*rows),
        kernels.Rows(*held),
        n_bins,
        growth,
        kernels.Trees(**trees),
        losses,
        scratch,
    )
    return trees | {"losses": losses, "logits": rows[3], "held": held[3], "rounds": rounds}


@pytest.mark.parametrize("n_outputs", [1, 3])
@pytest.mark.parametrize("n_held", [0, 15])
@pytest.mark.parametrize("patience", [0, 1])
@pytest.mark.parametrize("n_rows", [1, 60])
def test_trees_are_those_of_uncompiled_kernels(n_outputs, n_held, patience, n_rows):
    rng, n_bins = np.random.default_rng(n_rows), np.array([9, 4, 1])
    rows = random_rows(rng, n_rows, n_outputs, n_bins)
    held = random_rows(rng, n_held, n_outputs, n_bins)
    one = boosted(boosting, rows, held, n_bins, patience)
    twin = boosted(plain("boosting"), rows, held, n_bins, patience)
    assert one["rounds"] == twin["rounds"] > 0
    for name in one:
        assert np.array_equal(one[name], twin[name]), name
    assert (one["n_nodes"] > 1).any() == (n_rows > 1)


def test_rows_get_the_values_of_the_leaves_that_they_walk_to():
    rng, n_bins = np.random.default_rng(2), np.array([9, 4, 1])
    rows = random_rows(rng, 60, 1, n_bins)
    trees = boosted(boosting, rows, rows, n_bins, 0)
    # Other rows walk from the root, training rows are sorted into leaves.
    assert np.array_equal(trees["logits"], trees["held"])
    assert np.ptp(trees["logits"]) > 1
