"""Random inputs of kernels, frozen so that a kernel that changes one is caught."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emsco._kernels import judgement
from emsco.models.stage_models import lines_of

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


@dataclass
class Lines:
    """Models as kernels read them; weights are (n_models, n_outputs, width)."""

    columns: np.ndarray
    sizes: np.ndarray
    coefs: np.ndarray

    @classmethod
    def of(cls, subsets, n_classes=2, seed=1):
        """Models of subsets of the inputs, with random weights."""
        n_outputs = 1 if n_classes == 2 else n_classes
        shape = len(subsets), n_outputs, subsets.shape[1] + 1
        return cls(*lines_of(subsets, np.random.default_rng(seed).normal(size=shape)))

    @classmethod
    def of_sizes(cls, sizes=SIZES, n_classes=2, n_features=16, seed=1):
        """Random models that read so many columns each."""
        rng = np.random.default_rng(seed)
        subsets = np.zeros((len(sizes), n_features), dtype=bool)
        for m, size in enumerate(sizes):
            subsets[m, rng.choice(n_features, size - 1, replace=False)] = True
        return cls.of(subsets, n_classes, seed)

    def __getitem__(self, m):
        return Lines(self.columns[m], self.sizes[m], self.coefs[m])

    @property
    def arrays(self):
        """The arrays, frozen."""
        return frozen(self.columns, self.sizes, self.coefs)

    def decide(self, X, mean, inverse, thresholds, first, end):
        """Stage, likeliest class and its probability of rows."""
        stage, winner = np.empty((2, len(X)), dtype=np.int64)
        confidence, is_single = np.empty(len(X)), self.coefs.shape[1] == 1
        decide = judgement.decide_rows if is_single else judgement.decide_rows_many
        columns, sizes, coefs = self.arrays
        lines = columns, sizes, np.ascontiguousarray(coefs[:, 0]) if is_single else coefs
        thresholds = np.ascontiguousarray(
            np.broadcast_to(thresholds, (len(sizes), np.shape(thresholds)[-1]))
        )
        decide(X, mean, inverse, *lines, thresholds, first, end, stage, winner, confidence)
        return stage, winner, confidence

    def probabilities(self, X, mean, inverse, stage):
        """Probabilities of rows at a stage."""
        return judgement.probabilities_of(X, mean, inverse, *self.arrays, stage)


def sigmoid(logit):
    """Without overflow, and in twice the digits where the platform has them."""
    q = np.exp(-np.abs(logit.astype(np.longdouble)))
    return np.where(logit >= 0, 1 / (1 + q), q / (1 + q))
