"""Weak learners: the numbers that the linear nodes of a tree of classifiers read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray
from emsco.models.scaling import Scaling

__all__ = ["KINDS", "BoostedLearners", "FeatureLearners", "WeakLearners"]

KINDS = ("features", "trees")
_N_TREES = 50
_TREE_DEPTH = 3


class WeakLearners(Protocol):
    """What nodes read of a row."""

    @property
    def reads(self) -> BoolArray:
        """Features that each learner reads, (n_features, n_learners)."""
        ...

    def values(self, rows: FloatArray) -> FloatArray:
        """What each learner says of each row, (n_rows, n_learners)."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class FeatureLearners:
    """The inputs themselves, with mean 0 and deviation 1 on the training rows."""

    scaling: Scaling
    reads: BoolArray

    @classmethod
    def learn(cls, rows: FloatArray, row_weights: FloatArray, features: BoolArray) -> Self:
        """Standardise inputs.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_inputs)
        row_weights : ndarray of shape (n_rows,)
        features : ndarray of bool, shape (n_features, n_inputs)
            Which feature brings each input.
        """
        return cls(Scaling.learn(rows, row_weights), features)

    def values(self, rows: FloatArray) -> FloatArray:
        """Standardised inputs."""
        return self.scaling.standardised(rows)


@dataclass(frozen=True, slots=True, eq=False)
class BoostedLearners:
    """Small regression trees, boosted with squared loss and blind to costs, standardised."""

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
        """Grow the trees on rows whose targets are -1 or 1; the rest as for `FeatureLearners`."""
        from sklearn.ensemble import GradientBoostingRegressor

        boosted = GradientBoostingRegressor(
            n_estimators=_N_TREES, max_depth=_TREE_DEPTH, random_state=seed
        ).fit(rows, targets, row_weights)
        trees = tuple(boosted.estimators_[:, 0])
        split_on = [tree.tree_.feature[tree.tree_.feature >= 0] for tree in trees]
        reads = np.column_stack([features[:, inputs].any(axis=1) for inputs in split_on])
        return cls(trees, Scaling.learn(_said(trees, rows), row_weights), reads)

    def values(self, rows: FloatArray) -> FloatArray:
        """What each tree says, standardised."""
        return self.scaling.standardised(_said(self.trees, rows))


def _said(trees: tuple[Any, ...], rows: FloatArray) -> FloatArray:
    return np.column_stack([tree.predict(rows) for tree in trees])
