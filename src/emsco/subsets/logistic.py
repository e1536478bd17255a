"""Many L2-regularised logistic regressions at once.

Newton's method for a whole batch: shards add up gradients and Hessians, then every model takes
its own guarded step, and leaves the batch when it has converged. What one model does never
depends on the others.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np

from emsco._typing import BoolArray, FloatArray
from emsco.kernels import load
from emsco.subsets.models import ModelBatch, Models
from emsco.subsets.shard import Shard

__all__ = ["LogisticFits"]

_MOST_PASSES = 200


class LogisticFits:
    """Fits logistic regressions on the training rows of one split.

    Parameters
    ----------
    shards : sequence of Shard
        The rows of the split, in order.
    n_features, n_rows : int
        Size of the training data.
    penalty : float
        λ, the weight of half the squared coefficients; the intercept is free.
    """

    def __init__(
        self, shards: Sequence[Shard], n_features: int, n_rows: int, penalty: float = 1.0
    ) -> None:
        self._shards = shards
        self._penalty = penalty
        # Largest component of the summed gradient; where rounding of the sum allows, far below
        # what a probability's ninth decimal could show.
        self._tolerance = max(1e-9, 1e-13 * n_rows)
        everything = np.ones((1, n_features), dtype=np.bool_)
        self._at_zero = self._expand(np.zeros((1, n_features + 1)))
        self._at_full = self._at_zero  # until the full model is fitted
        self._at_full = self._expand(self.fit(everything).coefs)

    def _expand(self, coefs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The quadratic around a full model: its gradient at zero, and Hessian, without penalty."""
        at = ModelBatch.of(np.ones((1, coefs.shape[1] - 1), dtype=np.bool_))
        at.models.coefs[:] = coefs
        at.fine[:] = True
        for shard in self._shards:
            shard.add_terms(at, np.zeros(1, dtype=np.int64))
        size = coefs.shape[1]
        lower = np.tril(at.hessian[0, :size, :size])
        hessian = lower + np.tril(lower, -1).T
        return at.gradient[0] - hessian @ coefs[0], hessian

    def fit(self, subsets: BoolArray) -> Models:
        """Fit one model per row of `subsets`, shape (n_models, n_features)."""
        batch = ModelBatch.of(subsets)
        load("fitting").start_models(
            *self._at_zero,
            *self._at_full,
            self._penalty,
            batch.models.columns,
            batch.models.sizes,
            batch.models.coefs,
            batch.step,
            batch.slope,
            batch.hessian,
        )
        live = np.arange(len(batch.passes))
        for _ in range(_MOST_PASSES):
            if not live.size:
                return batch.models
            for shard in self._shards:
                shard.add_terms(batch, live)
            n_live = load("fitting").advance_models(
                self._penalty,
                self._tolerance,
                live,
                batch.models.sizes,
                batch.models.coefs,
                batch.gradient,
                batch.hessian,
                batch.step,
                batch.slope,
                batch.norm,
                batch.fine,
                batch.curved,
                batch.passes,
            )
            live = live[:n_live]
        from sklearn.exceptions import ConvergenceWarning  # cascades decide without it

        warnings.warn(
            f"{live.size} of {len(batch.passes)} stage classifiers did not converge in "
            f"{_MOST_PASSES} passes; the largest gradient left is {batch.norm[live].max():.1e}.",
            ConvergenceWarning,
            stacklevel=2,
        )
        return batch.models
