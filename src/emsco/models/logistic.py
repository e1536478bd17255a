"""Many L2-regularised logistic regressions at once.

Newton's method for a whole batch: shards add up gradients and Hessians, then every model takes
its own guarded step, and leaves the batch when it has converged. A model never depends on the
others in its batch.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco._kernels.logistic import advance_models, start_models, turn_hessian
from emsco.errors import DataError
from emsco.models.batches import ModelBatch, Models, mixing_of_pairs
from emsco.models.shard import Shard, add_up

MOST_PASSES = 200
_WIDE, _INPUTS_PER_ROW = 500, 2  # inputs, and inputs for each training row, of a wide table
_FEW_CLASSES = 12  # the shares of pairs of classes grow with their fourth power

_Expansion: TypeAlias = tuple[FloatArray, FloatArray]  # of a loss: gradient at zero, Hessian


class LogisticFitter:
    """Fits batches of logistic regressions on the training rows of one split.

    Parameters
    ----------
    shards : sequence of Shard
        The rows of the split, in order.
    n_inputs : int
        Inputs of a full model.
    n_rows : float
        Training rows, or their total weight.
    penalty : float
        λ, the weight of half the squared coefficients of all classes. Intercepts are not
        penalised.
    n_classes : int
        Two classes share one logit; three or more have one each.
    """

    def __init__(
        self,
        shards: Sequence[Shard],
        n_inputs: int,
        n_rows: float,
        penalty: float = 1.0,
        n_classes: int = 2,
    ) -> None:
        self._shards = shards
        self._penalty = penalty
        self._n_classes = n_classes
        few = n_classes <= _FEW_CLASSES
        self._mixing = mixing_of_pairs(n_classes) if few else np.zeros((0, 0))
        self._tolerance = tolerance_of(n_rows)
        self._n_rows = n_rows
        self._everything = np.ones((1, n_inputs), dtype=np.bool_)
        self._starts: tuple[_Expansion, _Expansion] | None = None

    @property
    def is_wide(self) -> bool:
        """Whether there are far more inputs than training rows, which are then in one shard."""
        first = self._shards[0]
        return len(self._shards) == 1 and is_wide(self._everything.shape[1], first.n_train)

    def prepare(self) -> None:
        """Expand the loss where fits start, so that threads need not; done only once."""
        if not self.is_wide:
            self._expansions()

    def _expansions(self) -> tuple[_Expansion, _Expansion]:
        """Expand the loss at zero and at the full model."""
        if self._starts is None:
            at_zero, full = self._fit_everything()
            self._starts = at_zero, self._expand(full.models.coefs)
        return self._starts

    def _fit_everything(self) -> tuple[_Expansion, ModelBatch]:
        """Fit the full model; also return the expansion of the loss at zero."""
        n_parameters = (self._everything.shape[1] + 1) * (self._n_classes - 1)
        at_zero = self._expand(np.zeros((1, n_parameters)))
        return at_zero, self._fit(self._everything, at_zero, at_zero)

    def _expand(self, coefs: FloatArray) -> _Expansion:
        """Expand the loss around a full model: its gradient at zero and Hessian, unpenalised."""
        at = ModelBatch.from_subsets(self._everything, self._n_classes)
        at.models.coefs[:] = coefs
        at.fine[:] = True
        add_up(self._shards, at, np.zeros(1, dtype=np.int64))
        size = coefs.shape[1]
        if self._n_classes > 2:
            turn_hessian(at.hessian[0], size, at.n_directions, self._mixing, self._scratch())
        lower = np.tril(at.hessian[0, :size, :size])
        hessian = lower + np.tril(lower, -1).T
        return at.gradient[0] - hessian @ coefs[0], hessian

    def fit(self, subsets: BoolArray) -> Models:
        """Fit one model per row of `subsets`, shape (n_models, n_inputs)."""
        if self.is_wide:
            weights = np.array([self._fit_wide(np.flatnonzero(subset)) for subset in subsets])
            return Models.from_subsets(subsets, weights)
        return self._fit(subsets, *self._expansions()).fitted

    def _fit_wide(self, inputs: IntArray) -> FloatArray:
        """Fit a model in as many coordinates as there are rows; return weights of all inputs.

        A Hessian of all inputs would take minutes: its size grows with their third power.
        """
        few, directions = self._shards[0].in_few_inputs(inputs)
        n_coordinates = len(inputs) if directions is None else directions.shape[1]
        fitter = LogisticFitter([few], n_coordinates, self._n_rows, self._penalty, self._n_classes)
        coefs = fitter._fit_everything()[1].fitted.coefs[0]
        weights = np.zeros((*coefs.shape[:-1], self._everything.shape[1] + 1))
        weights[..., 0] = coefs[..., 0]
        along = coefs[..., 1:]
        weights[..., 1 + inputs] = along if directions is None else along @ directions.T
        return weights

    def _fit(self, subsets: BoolArray, at_zero: _Expansion, at_full: _Expansion) -> ModelBatch:
        batch = ModelBatch.from_subsets(subsets, self._n_classes)
        places, sizes = batch.parameters
        start_models(
            *at_zero,
            0.5 * self._n_classes,  # bound on the curvature, relative to that at zero
            *at_full,
            self._penalty,
            batch.n_directions,
            places,
            sizes,
            batch.models.coefs,
            batch.step,
            batch.slope,
            batch.hessian,
        )
        live = np.arange(len(batch.passes))
        for _ in range(MOST_PASSES):
            if not live.size:
                break
            add_up(self._shards, batch, live)
            # Each live model takes a step; those that go on move to the front of `live`.
            n_live = advance_models(
                self._penalty,
                batch.n_directions,
                self._tolerance,
                at_zero[1],
                self._mixing,
                live,
                places,
                sizes,
                batch.models.coefs,
                batch.gradient,
                batch.hessian,
                batch.step,
                batch.slope,
                batch.norm,
                batch.fine,
                batch.curved,
                batch.passes,
                self._scratch(),
            )
            live = live[:n_live]
        if live.size:
            warn_unconverged(live.size, len(batch.passes), batch.norm[live].max())
        check_finite(batch.models.coefs)
        return batch

    def _scratch(self) -> FloatArray:
        """Room for the kernel that turns Hessians."""
        return np.empty((2, len(self._mixing) or self._n_classes**2))


def is_wide(n_inputs: int, n_rows: int) -> bool:
    """Whether there are so many more inputs than training rows that a fit counts rows instead."""
    return n_inputs >= max(_WIDE, _INPUTS_PER_ROW * n_rows)


def tolerance_of(n_rows: float) -> float:
    """Bound on the largest component of the summed gradient of a model that has converged.

    It is too small to change the ninth decimal of a probability, but above the rounding of the sum.
    """
    return max(1e-9 * min(1.0, n_rows), 1e-13 * n_rows)


def check_finite(coefs: FloatArray) -> None:
    """Refuse models without numbers: their confidences would be NaN."""
    if not np.isfinite(coefs).all():
        raise DataError(
            "every stage model must have finite coefficients, got one that rows and sample_weight "
            "drive beyond all numbers; divide the weights by their mean, or limit the largest."
        )


def warn_unconverged(n_late: int, n_models: int, gradient: float) -> None:
    """Warn of models that are still far from their optima after all passes."""
    from sklearn.exceptions import ConvergenceWarning  # late: deciding needs no scikit-learn

    warnings.warn(
        f"{n_late} of {n_models} stage models did not converge in {MOST_PASSES} passes; the "
        f"largest gradient left is {gradient:.1e}.",
        ConvergenceWarning,
        stacklevel=4,
    )
