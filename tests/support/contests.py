"""A small data set and a rival of few lines, for tests of comparisons."""

from __future__ import annotations

import numpy as np

from emsco.baselines import CostedClassifier
from emsco.costs import FeatureCosts
from emsco.datasets import Dataset


def small_set(name: str = "pima", _seed: int = 0) -> Dataset:
    """160 rows × 5 features of two noisy classes, under the name of a set of the paper."""
    rng = np.random.default_rng(5)
    y = rng.integers(0, 2, size=160).astype(np.uint8)
    X = rng.normal(size=(160, 5)) + y[:, None] * np.array([1.5, 1.0, 0.5, 0.2, 0.0])
    costs = FeatureCosts.from_array([5.0, 2.0, 1.0, 1.0, 3.0], list("abcde"))
    return Dataset(name, X, y, costs, 0.75, "made up")


class FirstColumns(CostedClassifier):
    """Adds up the first columns; always answers."""

    def __init__(self, costs=None, n_used=1):
        self.costs = costs
        self.n_used = n_used

    @classmethod
    def grid(cls, costs, n_rows):  # noqa: ARG003
        return [{"n_used": n} for n in range(1, len(costs.names) + 1)]

    def _fit(self, rows, labels, weights):  # noqa: ARG002
        self.used_ = np.arange(len(self.costs_.names)) < self.n_used
        self.middle_ = np.median(rows[:, self.used_].sum(axis=1))

    def _judge(self, rows):
        high = rows[:, self.used_].sum(axis=1) - self.middle_
        chance = 1 / (1 + np.exp(-high))
        cost = np.full(len(rows), self.costs_.costs @ self.used_)
        return np.column_stack([1 - chance, chance]), cost
