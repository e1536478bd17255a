"""The data sets of the benchmarks, split as in the paper."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from sklearn.datasets import make_classification

from emsco.lab import datasets
from emsco.models.scaling import Scaling


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, labels, costs and one split."""

    name: str
    X: np.ndarray
    y: np.ndarray
    costs: np.ndarray
    train: np.ndarray
    scored: np.ndarray

    @cache  # noqa: B019 - a handful of problems live as long as the program
    def standardised(self) -> tuple[np.ndarray, np.ndarray]:
        """Training and scored rows, divided by the training rows' deviations."""
        scaling = Scaling.learn(self.X[self.train])
        rows = scaling.columns(self.X)[1:].T
        return np.ascontiguousarray(rows[self.train]), np.ascontiguousarray(rows[self.scored])


def load(name: str, seed: int = 0) -> Problem:
    """Load heart or credit from the folder that EMSCO_DATA names, or make a synthetic set."""
    if name in ("heart", "credit"):
        data = datasets.load(name)
        X, y, costs = data.X, data.y, data.costs.costs
    elif name == "synthetic15":
        X, y = make_classification(
            4000, 15, n_informative=12, class_sep=0.85, flip_y=0.02, random_state=seed
        )
        costs = np.ones(15)
    else:
        X, y = make_classification(4000, 50, n_informative=25, random_state=seed)
        costs = np.full(50, 10.0)
    order = np.random.default_rng(seed).permutation(len(X))
    half, quarter = len(X) // 2, -(-len(X) // 4)
    return Problem(
        name,
        np.ascontiguousarray(X[order]),
        y[order].astype(np.uint8),
        costs,
        np.arange(half),
        np.arange(half, half + quarter),
    )
