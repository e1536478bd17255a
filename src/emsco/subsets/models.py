"""Logistic regressions as arrays: fitted ones, and a batch on its way to the optimum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from emsco._typing import BoolArray, FloatArray, IntArray

__all__ = ["ModelBatch", "Models"]


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    """What each model reads and with which weights.

    Model m reads `columns[m, :sizes[m]]`, in ascending order; column 0 is the intercept and
    column i + 1 is standardised feature i. `coefs` is in the order of `columns`.
    """

    columns: IntArray
    sizes: IntArray
    coefs: FloatArray

    @classmethod
    def of(cls, subsets: BoolArray, spread: FloatArray | None = None) -> Self:
        """Models of feature subsets, shape (n_models, n_features), at zero or with given weights.

        `spread` has shape (n_models, n_features + 1), as the method of that name makes it.
        """
        sizes = subsets.sum(axis=1) + 1
        columns = np.zeros((len(subsets), int(sizes.max(initial=1))), dtype=np.int64)
        model, feature = np.nonzero(subsets)
        first = np.cumsum(sizes - 1) - (sizes - 1)
        columns[model, 1 + np.arange(len(model)) - first[model]] = feature + 1
        if spread is None:
            return cls(columns, sizes, np.zeros(columns.shape))
        return cls(columns, sizes, np.take_along_axis(spread, columns, axis=1))

    def spread(self, n_features: int) -> FloatArray:
        """Weights as (n_models, n_features + 1), 0 where a feature is not read."""
        out = np.zeros((len(self.sizes), n_features + 1))
        used = np.arange(self.columns.shape[1]) < self.sizes[:, None]
        out[np.nonzero(used)[0], self.columns[used]] = self.coefs[used]
        return out


@dataclass(frozen=True, slots=True, eq=False)
class ModelBatch:
    """Models being fitted, and the sums that shards add to.

    Shards add Σ gradient to `gradient[m]`, in float32 unless `fine[m]`, and Σ Hessian to
    `hessian[m]` where `curved[m]`. The rest belongs to the guarded Newton steps.
    """

    models: Models
    gradient: FloatArray
    hessian: FloatArray
    step: FloatArray
    slope: FloatArray
    norm: FloatArray
    fine: BoolArray
    curved: BoolArray
    passes: IntArray

    @classmethod
    def of(cls, subsets: BoolArray) -> Self:
        """Models of feature subsets at zero, with all sums empty."""
        models = Models.of(subsets)
        n_models, width = models.columns.shape
        return cls(
            models=models,
            gradient=np.zeros((n_models, width)),
            hessian=np.zeros((n_models, _tiled(width), _tiled(width))),
            step=np.zeros((n_models, width)),
            slope=np.zeros(n_models),
            norm=np.zeros(n_models),
            fine=np.zeros(n_models, dtype=np.bool_),
            curved=np.ones(n_models, dtype=np.bool_),
            passes=np.zeros(n_models, dtype=np.int64),
        )

    @staticmethod
    def bytes_per_model(n_features: int) -> int:
        """Upper bound of the memory that one model takes."""
        return 8 * (_tiled(n_features + 1) ** 2 + 4 * (n_features + 1) + 8)


def _tiled(width: int) -> int:
    """Side of a Hessian in whole tiles of four, which the kernel fills."""
    return -(-width // 4) * 4
