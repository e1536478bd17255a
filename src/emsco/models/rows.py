"""The rows of a split, as kinds of models take them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from emsco._base.typing import FloatArray, IntArray, LabelArray
from emsco._base.workers import Workers
from emsco.models.scaling import mean_of_known
from emsco.models.splines import SplineBasis


@dataclass(frozen=True, slots=True, eq=False)
class SplitData:
    """Rows of a table, and which of them a split trains on and scores.

    Attributes
    ----------
    X : array of shape (n_rows, n_inputs), or SingleRows
        NaN is a missing value.
    labels : ndarray of shape (n_rows,)
        Class of each row, from 0.
    train, scored : ndarray of int
        Row numbers.
    n_classes : int
    weights : ndarray of shape (n_rows,), optional
        Weight of each row in training. Rows of weight 0 are left out.
    class_weights : ndarray of shape (n_classes,), optional
        Further weight of each class, in fitting only: standardisation ignores it.
    seed : int
        Seed of random models.
    """

    X: Any
    labels: LabelArray
    train: IntArray
    scored: IntArray
    n_classes: int = 2
    weights: FloatArray | None = None
    class_weights: FloatArray | None = None
    seed: int = 0

    def with_fit_weights(self) -> SplitData:
        """Multiply the weights of rows by those of their classes."""
        if self.class_weights is None:
            return self
        weights = self.class_weights[self.labels] * (1.0 if self.weights is None else self.weights)
        return replace(self, weights=weights, class_weights=None)

    @property
    def weighty_train(self) -> IntArray:
        """Training rows of a weight above 0."""
        if self.weights is None:
            return self.train
        return self.train[self.weights[self.train] > 0]


@dataclass(frozen=True, slots=True, eq=False)
class FitOptions:
    """What kinds of models are told beside the rows; most need none of it.

    Attributes
    ----------
    input_feature : ndarray of shape (n_inputs,)
        Feature that each input belongs to.
    workers : Workers
        Threads. The results do not depend on their number.
    estimator : classifier or None
        One of the user's.
    shared : bool
        Whether one boosted model answers for all subsets.
    basis : SplineBasis or None
    penalty : float
        Of logistic regressions.
    """

    input_feature: IntArray
    workers: Workers = field(default_factory=Workers)
    estimator: Any = None
    shared: bool = False
    basis: SplineBasis | None = None
    penalty: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class FilledRows:
    """The rows of a split without missing values, for trees and classifiers of the user's.

    Attributes
    ----------
    X : ndarray of shape (n_train, n_inputs)
        Rows to fit on.
    labels : ndarray of shape (n_train,)
    weights : ndarray of shape (n_train,) or None
        Those of their classes included.
    scored : ndarray of shape (n_scored, n_inputs)
    fill : ndarray of shape (n_inputs,)
        Value that replaces a missing one: the mean of the training rows, 0 if none is known.
    n_classes, seed : int
    """

    X: FloatArray
    labels: IntArray
    weights: FloatArray | None
    scored: FloatArray
    fill: FloatArray
    n_classes: int
    seed: int = 0

    @classmethod
    def of_split(cls, data: SplitData) -> Self:
        """Leave out rows of weight 0, and fill the others."""
        train, weights = data.weighty_train, data.with_fit_weights().weights
        X = np.ascontiguousarray(data.X[train])
        scored = np.ascontiguousarray(data.X[data.scored])
        # Means of the training rows alone: scored rows must not leak into what fills them.
        means = mean_of_known(X, None if data.weights is None else data.weights[train])
        fill = np.where(np.isnan(means), 0.0, means)
        return cls(
            X=np.where(np.isnan(X), fill, X),
            labels=data.labels[train].astype(np.int64),
            weights=None if weights is None else weights[train],
            scored=np.where(np.isnan(scored), fill, scored),
            fill=fill,
            n_classes=data.n_classes,
            seed=data.seed,
        )
