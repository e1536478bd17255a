"""Random inputs of kernels, frozen so that a kernel that changes one is caught."""

from __future__ import annotations

import numpy as np

from emsco.models.batches import ModelBatch

SIZES = np.arange(1, 18)  # columns that a model reads, intercept included: every tail of a tile


def frozen(*arrays):
    for array in arrays:
        array.setflags(write=False)
    return arrays


def random_rows(n_rows, n_features=16, seed=0):
    """Standard normal columns below a line of ones, and targets."""
    rng = np.random.default_rng(seed)
    rows = np.vstack([np.ones(n_rows), rng.normal(size=(n_features, n_rows))])
    return rows, rng.integers(0, 2, size=n_rows).astype(np.float64)


def random_batch(sizes=SIZES, n_features=16, seed=1):
    """Models of the given sizes; weights past a model's last column are there to be ignored."""
    rng = np.random.default_rng(seed)
    subsets = np.zeros((len(sizes), n_features), dtype=bool)
    for m, size in enumerate(sizes):
        subsets[m, rng.choice(n_features, size - 1, replace=False)] = True
    batch = ModelBatch.from_subsets(subsets)
    batch.models.coefs[:] = rng.normal(size=batch.models.coefs.shape)
    return batch


def sigmoid(logit):
    """Without overflow, and in twice the digits where the platform has them."""
    q = np.exp(-np.abs(logit.astype(np.longdouble)))
    return np.where(logit >= 0, 1 / (1 + q), q / (1 + q))
