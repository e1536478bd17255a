"""Tables for measuring decisions on new rows: generated ones with known truth, and public ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from emsco import FeatureCosts
from emsco.lab import datasets

# Made by rule: rows, share of positives, strength of the informative columns.
GENERATED = {
    "rare6": (6000, 0.06, 1.0),
    "rare24": (6000, 0.24, 1.0),
    "even40": (6000, 0.40, 1.0),
    "small30": (1000, 0.30, 0.6),
    "small4": (937, 0.04, 1.0),
}
PUBLIC = ("heart", "pima", "credit", "breast_cancer")


@dataclass(frozen=True, eq=False)
class Table:
    """Rows, labels and costs."""

    name: str
    X: pd.DataFrame
    y: np.ndarray
    costs: FeatureCosts


def load(name: str, seed: int) -> Table:
    """Make a generated table from a seed, or load a data set's rows without gaps."""
    if name in GENERATED:
        n_rows, share, strength = GENERATED[name]
        return generated(n_rows, share, seed, strength)
    data = datasets.load(name, seed)
    X = pd.DataFrame(data.X, columns=list(data.costs.table)).dropna()
    return Table(name, X, data.y[X.index], data.costs)


def generated(n_rows: int, share: float, seed: int, strength: float = 1.0) -> Table:
    """Make a table of 12 columns: 6 informative, 2 weak for 0.5, 3 of noise, 1 free and weak.

    A class has `share` of the rows. Informative columns differ between the classes by 0.5 to 1.5
    standard deviations, times `strength`.
    """
    rng = np.random.default_rng(seed)
    y = (rng.random(n_rows) < share).astype(int)
    columns, costs = {}, {}
    for i in range(6):
        shift = strength * rng.uniform(0.5, 1.5)
        columns[f"test{i}"] = rng.normal(size=n_rows) + shift * y
        costs[f"test{i}"] = float(rng.integers(2, 20))
    for i in range(2):
        columns[f"weak{i}"] = rng.normal(size=n_rows) + 0.15 * y
        costs[f"weak{i}"] = 0.5
    for i in range(3):
        columns[f"noise{i}"] = rng.normal(size=n_rows)
        costs[f"noise{i}"] = float(rng.integers(1, 5))
    columns["free"] = rng.normal(size=n_rows) + 0.3 * y
    costs["free"] = 0.0
    X = pd.DataFrame(columns)[list(rng.permutation(list(columns)))]
    return Table("generated", X, y, FeatureCosts.from_mapping(costs, list(X.columns)))
