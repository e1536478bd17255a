"""Weak learners: the numbers that the linear nodes of a tree of classifiers read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray
from emsco.models.scaling import Scaling

KINDS = ("features", "trees")
_N_TREES = 50
_TREE_DEPTH = 3


class WeakLearners(Protocol):
    """Numbers that the nodes of a tree read from a row."""

    @property
    def reads(self) -> BoolArray:
        """Features that each learner reads, (n_features, n_learners)."""
        ...

    def values(self, rows: FloatArray) -> FloatArray:
        """Value of each learner for each row, (n_rows, n_learners)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class FeatureLearners:
    """The inputs themselves, with mean 0 and deviation 1 on the training rows."""

    scaling: Scaling
    reads: BoolArray

    @classmethod
    def learn(cls, rows: FloatArray, row_weights: FloatArray, features: BoolArray) -> Self:
        """Learn the mean and deviation of inputs.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_inputs)
        row_weights : ndarray of shape (n_rows,)
        features : ndarray of bool, shape (n_features, n_inputs)
            Tells whether a feature brings an input.
        """
        return cls(Scaling.learn(rows, row_weights), features)

    def values(self, rows: FloatArray) -> FloatArray:
        """Standardised inputs."""
        return self.scaling.standardised(rows)


@dataclass(frozen=True, slots=True, eq=False)
class BoostedLearners:
    """Standardised values of small regression trees, boosted without regard to costs."""

    trees: tuple[Any, ...]
    scaling: Scaling
    reads: BoolArray

    @classmethod
    def learn(
        cls,
        rows: FloatArray,
        targets: FloatArray,
        row_weights: FloatArray,
        features: BoolArray,
        seed: int,
    ) -> Self:
        """Grow the trees on targets of -1 and 1; other arguments are as for `FeatureLearners`."""
        from sklearn.ensemble import GradientBoostingRegressor

        boosted = GradientBoostingRegressor(
            n_estimators=_N_TREES, max_depth=_TREE_DEPTH, random_state=seed
        ).fit(rows, targets, row_weights)
        trees = tuple(boosted.estimators_[:, 0])
        split_on = [tree.tree_.feature[tree.tree_.feature >= 0] for tree in trees]
        reads = np.column_stack([features[:, inputs].any(axis=1) for inputs in split_on])
        return cls(trees, Scaling.learn(_predictions(trees, rows), row_weights), reads)

    def values(self, rows: FloatArray) -> FloatArray:
        """Standardised predictions of each tree."""
        return self.scaling.standardised(_predictions(self.trees, rows))


def _predictions(trees: tuple[Any, ...], rows: FloatArray) -> FloatArray:
    return np.column_stack([tree.predict(rows) for tree in trees])
