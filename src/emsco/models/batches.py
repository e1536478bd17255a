"""Logistic regressions as arrays: fitted models, and a batch of models being fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco._kernels.judgement import decide_rows, decide_rows_many, probabilities_of


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    """The inputs and weights of fitted models.

    Model m reads `columns[m, :sizes[m]]`, in ascending order. Column 0 is the intercept and
    column i + 1 is standardised input i. `coefs` follows the order of `columns`. For two classes
    it has shape (n_models, width) and gives the logit of the second class. For more it has shape
    (n_models, n_classes, width) and gives a logit per class.
    """

    columns: IntArray
    sizes: IntArray
    coefs: FloatArray

    @classmethod
    def from_subsets(cls, subsets: BoolArray, spread: FloatArray | None = None) -> Self:
        """Make models for subsets of shape (n_models, n_inputs).

        `spread` holds their weights, in the shape that the method of that name returns. Without
        it, all weights are 0 and there are two classes.
        """
        # One more than the inputs, for the intercept.
        sizes = subsets.sum(axis=1) + 1
        columns = np.zeros((len(subsets), int(sizes.max(initial=1))), dtype=np.int64)
        model, feature = np.nonzero(subsets)
        first = np.cumsum(sizes - 1) - (sizes - 1)
        # Column 0 is the intercept, so inputs begin at 1; places count from 0 within each model.
        columns[model, 1 + np.arange(len(model)) - first[model]] = feature + 1
        if spread is None:
            return cls(columns, sizes, np.zeros(columns.shape))
        places = columns if spread.ndim == 2 else columns[:, None, :]
        return cls(columns, sizes, np.take_along_axis(spread, places, axis=-1))

    @property
    def n_outputs(self) -> int:
        """Logits per row: 1 for two classes, else one per class."""
        return 1 if self.coefs.ndim == 2 else self.coefs.shape[1]

    def spread(self, n_inputs: int) -> FloatArray:
        """Weights of all inputs, 0 for inputs that a model does not read.

        The shape is (n_models, n_inputs + 1) for two classes and
        (n_models, n_classes, n_inputs + 1) for more.
        """
        used = np.arange(self.columns.shape[1]) < self.sizes[:, None]
        # Of all places of a model's line, those below its size are in use; the rest is padding.
        model, column = np.nonzero(used)[0], self.columns[used]
        out = np.zeros((*self.coefs.shape[:-1], n_inputs + 1))
        if out.ndim == 2:
            out[model, column] = self.coefs[used]
        else:
            out[model, :, column] = self.coefs.transpose(0, 2, 1)[used]
        return out

    def decide(
        self,
        rows: FloatArray,
        mean: FloatArray,
        inverse: FloatArray,
        thresholds: FloatArray,
        first: int,
        end: int,
    ) -> tuple[IntArray, IntArray, FloatArray]:
        """Send rows through the models as the stages of a cascade.

        The arithmetic is that of scoring, so scored rows get the same answers.

        Parameters
        ----------
        rows : ndarray of shape (n_rows, n_inputs)
            Without missing values.
        mean, inverse : ndarray of shape (n_inputs,)
            A `Scaling`'s mean and inverse.
        thresholds : ndarray of shape (n_stages, n_classes) or (n_classes,)
            Without a line for each stage, all stages share them.
        first, end : int
            The first stage, and the one after the last.

        Returns
        -------
        stage, winner, confidence : ndarray of shape (n_rows,)
            Stage at which a row leaves, or the number of stages if it does not. Likeliest class
            and its probability, at the last stage that saw the row.
        """
        stage, winner = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
        confidence = np.empty(len(rows))
        if thresholds.ndim == 1:
            thresholds = np.tile(thresholds, (len(self.sizes), 1))
        decide = decide_rows if self.n_outputs == 1 else decide_rows_many
        decide(
            np.ascontiguousarray(rows),
            mean,
            inverse,
            self.columns,
            self.sizes,
            self.coefs,
            thresholds,
            first,
            end,
            stage,
            winner,
            confidence,
        )
        return stage, winner, confidence

    def probabilities(
        self, rows: FloatArray, mean: FloatArray, inverse: FloatArray, stage: int
    ) -> FloatArray:
        """Class probabilities at one stage, shape (n_rows, n_classes).

        The largest equals the confidence of `decide` there, to the last bit.
        """
        return probabilities_of(
            np.ascontiguousarray(rows),
            mean,
            inverse,
            self.columns,
            self.sizes,
            # A logit of two classes in the shape of several outputs.
            self.coefs[:, None, :] if self.coefs.ndim == 2 else self.coefs,
            stage,
        )


def n_outputs_of(n_classes: int) -> int:
    """Logits per row for this number of classes: two classes need only one."""
    return 1 if n_classes == 2 else n_classes


def orthonormal_basis(n_classes: int) -> FloatArray:
    """Orthonormal columns that sum to 0, shape (n_classes, n_classes - 1).

    Examples
    --------
    >>> orthonormal_basis(3).round(3).tolist()
    [[0.707, 0.408], [-0.707, 0.408], [0.0, -0.816]]
    """
    basis = np.zeros((n_classes, n_classes - 1))
    for a in range(n_classes - 1):
        # The first a + 1 classes against the next one, at unit length.
        length = np.sqrt((a + 1) * (a + 2))
        basis[: a + 1, a] = 1 / length
        basis[a + 1, a] = -(a + 1) / length
    return basis


def mixing_of_pairs(n_classes: int) -> FloatArray:
    """Share of each pair of classes (k, l), k > l, in the Hessian along each pair of directions.

    With probabilities p and directions T, the Hessian diag(p) - p pᵀ of the logits becomes
    Σ p_k p_l (T_k - T_l) (T_k - T_l)ᵀ. Pairs are in the order of a lower triangle.
    """
    basis = orthonormal_basis(n_classes)
    k, other = np.tril_indices(n_classes, -1)
    a, b = np.tril_indices(n_classes - 1)
    # Only differences of logits matter: the mixed term of a pair of classes.
    apart = basis[k] - basis[other]
    return np.ascontiguousarray(apart[:, a] * apart[:, b])


@dataclass(frozen=True, slots=True, eq=False)
class ModelBatch:
    """Models being fitted, and the sums that shards add to.

    A model of two classes has one parameter per column. A model of more classes has
    n_classes - 1 per column, along the directions of `orthonormal_basis`. `models.coefs` then has
    shape (n_models, width · n_directions), until `fitted` turns it into weights per class.

    Shards add the gradient to `gradient[m]`, in float32 unless `fine[m]`. If `curved[m]`, they
    also add the lower triangle of the Hessian to `hessian[m]`. For more than two classes they add
    Σ p_k p_l x xᵀ for each pair of classes k > l instead; the term of columns i and j goes to
    [i · n_directions + k - 1, j · n_directions + l]. The other arrays belong to the guarded
    Newton steps.
    """

    models: Models
    n_classes: int
    gradient: FloatArray
    hessian: FloatArray
    step: FloatArray
    slope: FloatArray
    norm: FloatArray
    fine: BoolArray
    curved: BoolArray
    passes: IntArray

    @classmethod
    def from_subsets(cls, subsets: BoolArray, n_classes: int = 2) -> Self:
        """Start models for subsets of the inputs at zero, with empty sums."""
        models = Models.from_subsets(subsets)
        n_models, width = models.columns.shape
        n_parameters = width * (n_classes - 1)
        side = _tiled(n_parameters)
        return cls(
            models=Models(models.columns, models.sizes, np.zeros((n_models, n_parameters))),
            n_classes=n_classes,
            gradient=np.zeros((n_models, n_parameters)),
            hessian=np.zeros((n_models, side, side)),
            step=np.zeros((n_models, n_parameters)),
            slope=np.zeros(n_models),
            norm=np.zeros(n_models),
            fine=np.zeros(n_models, dtype=np.bool_),
            curved=np.ones(n_models, dtype=np.bool_),
            passes=np.zeros(n_models, dtype=np.int64),
        )

    @property
    def n_directions(self) -> int:
        """Parameters per column."""
        return self.n_classes - 1

    @property
    def parameters(self) -> tuple[IntArray, IntArray]:
        """Positions of each model's parameters in the full model, and their number."""
        columns, n = self.models.columns, self.n_directions
        places = columns[:, :, None] * n + np.arange(n)
        return places.reshape(self.models.coefs.shape), self.models.sizes * n

    @property
    def fitted(self) -> Models:
        """The models with a weight per class."""
        if self.n_classes == 2:
            return self.models
        columns, sizes = self.models.columns, self.models.sizes
        along = self.models.coefs.reshape(*columns.shape, self.n_directions)
        coefs = np.zeros((len(columns), self.n_classes, columns.shape[1]))
        # Not a matrix product: its rounding would depend on the rest of the batch.
        for a, direction in enumerate(orthonormal_basis(self.n_classes).T):
            coefs += direction[:, None] * along[:, None, :, a]
        return Models(columns, sizes, coefs)

    @staticmethod
    def bytes_per_model(n_inputs: int, n_classes: int = 2) -> int:
        """Upper bound on the memory of one model."""
        n_parameters = (n_inputs + 1) * (n_classes - 1)
        n_weights = (n_inputs + 1) * n_outputs_of(n_classes)
        return 8 * (_tiled(n_parameters) ** 2 + 3 * n_parameters + n_weights + 8)


def _tiled(width: int) -> int:
    """Side of a Hessian, rounded up to the tiles of four that the kernel fills."""
    return -(-width // 4) * 4
