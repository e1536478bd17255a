"""The data sets of the benchmarks, split as the paper splits them."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification

from emsco.subsets.scaling import Scaling

# Cost classes T by column, cost 10^T: recovered for heart, chosen for credit.
COST_CLASSES = {
    "heart": (1, 2, 2, 2, 1, 2, 2, 1, 2, 2, 1, 1),
    "credit": (1, 1, 2, 1, 1, 1, 2, 3, 1, 2, 1, 1, 1, 2),
}


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, labels, costs and one split."""

    name: str
    X: np.ndarray
    y: np.ndarray
    costs: np.ndarray
    train: np.ndarray
    held_out: np.ndarray

    @cache  # noqa: B019 - a handful of problems live as long as the program
    def standardised(self) -> tuple[np.ndarray, np.ndarray]:
        """Training and held-out rows in the units of the training rows' deviations."""
        scaling = Scaling.learn(self.X[self.train])
        rows = scaling.columns(self.X)[1:].T
        return np.ascontiguousarray(rows[self.train]), np.ascontiguousarray(rows[self.held_out])


def load(name: str, seed: int = 0) -> Problem:
    """Load a set by name: heart and credit from the folder EMSCO_DATA, the synthetic ones made."""
    if name in COST_CLASSES:
        folder = os.environ.get("EMSCO_DATA")
        if not folder:
            sys.exit("EMSCO_DATA must name the folder that holds heart.csv and credit.csv.")
        table = np.loadtxt(Path(folder) / f"{name}.csv", delimiter=",", skiprows=1)
        X, y, costs = table[:, :-1], table[:, -1], 10.0 ** np.array(COST_CLASSES[name])
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
