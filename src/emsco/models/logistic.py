"""Logistic regressions, of inputs or of their splines: many subsets are fitted side by side."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, Report
from emsco._base.workers import one_thread, slices
from emsco._kernels.judgement import answer_rows
from emsco._kernels.logistic import BLOCK, Fits, Rows, advance, begin, sum_up
from emsco.errors import DataError
from emsco.models.fitter import Answers, Fitter
from emsco.models.rows import FitOptions, SplitData
from emsco.models.scaling import Scaling
from emsco.models.stage_models import LinearModels, StageModels, lines_of, n_outputs_of

MOST_PASSES = 300
_MOST_PAIRS = 20  # steps that a fit remembers
_COUPLED = 2000  # parameters, at most, of a model with a Hessian between classes
_WIDE, _INPUTS_PER_ROW = 500, 2  # inputs, and inputs for each training row, of a wide table
_MOST_MODELS = 256  # fitted together; larger batches are no faster and take more memory
_BATCH_BYTES = 2**26
_PER_FIT = 6e-9  # seconds per training row and input: lab/REPORT.md
_AT_ONCE = 2**16  # rows that are standardised together, so that not all are copied
_PRODUCTS_AT_ONCE = 10**8  # of rows and weights, in passes without a break: under a second
_WORTH_FITTING = 20_000  # models times rows; with less work, starting threads takes longer


class LogisticFitter(Fitter):
    """Fits batches of L2-regularised logistic regressions in threads, and keeps their weights.

    Parameters
    ----------
    data : SplitData
        Columns of splines in place of inputs, if there is a basis.
    options : FitOptions
        The penalty λ is the weight of half the squared coefficients of all outputs. Intercepts are
        not penalised.
    """

    keeps_models = True

    @classmethod
    def open(cls, parts: Sequence[SplitData], options: FitOptions) -> list[Self]:
        """Open a fitter for each split."""
        return [cls(part, options) for part in parts]

    def __init__(self, data: SplitData, options: FitOptions) -> None:
        # Class weights change fits alone, so the scaling is learnt before they come in.
        self.scaling = Scaling.learn(data.X, data.weights, data.train)
        self.basis, self._penalty, self._workers = options.basis, options.penalty, options.workers
        self.n_train, self.n_scored = len(data.train), len(data.scored)
        self._n_outputs = n_outputs_of(data.n_classes)
        train, weights = data.weighty_train, data.with_fit_weights().weights
        weight = np.ones(len(train)) if weights is None else weights[train]
        columns = self.scaling.columns(data.X, train)
        self._fill(Rows(columns, data.labels[train].astype(np.uint8), weight))
        self._tolerance = tolerance_of(float(weight.sum()))
        self._scored = self.scaling.columns(data.X, data.scored)
        self.kept = self._n_outputs * len(columns)

    def _fill(self, rows: Rows) -> None:
        self._rows, self._n_columns = rows, len(rows.columns)
        self._quadratic: tuple[FloatArray, FloatArray, FloatArray] | None = None

    def without_rows(self) -> Self:
        """Return a copy that can only tell `answers`, and holds no rows."""
        other = copy(self)
        del other._rows, other._scored, other._quadratic
        return other

    def seconds_per_fit(self) -> float:
        """Estimate the time per model on one core from the sizes, to a factor of a few."""
        n = self._n_outputs
        return self.n_train * (self._n_columns - 1) * max(n * (n - 1) / 2, 1) * _PER_FIT

    def models(self, subsets: BoolArray, report: Report | None = None) -> Sequence[LinearModels]:
        """Fit a model to each subset."""
        numbers = self.fit(subsets, report)
        return [
            self._linear(subset[None], one[None])
            for subset, one in zip(subsets, numbers, strict=True)
        ]

    def stage_models(
        self,
        designs: Sequence[BoolArray],
        numbers: FloatArray | None = None,
        report: Report | None = None,
    ) -> list[StageModels]:
        """Models of the stages of designs, with the weights that are kept of them."""
        numbers = self.fit(np.concatenate(designs), report) if numbers is None else numbers
        ends = np.cumsum([len(reads) for reads in designs])[:-1]
        of_designs = zip(designs, np.split(numbers, ends), strict=True)
        return [self._linear(reads, weights) for reads, weights in of_designs]

    def _linear(self, reads: BoolArray, numbers: FloatArray) -> LinearModels:
        coefs = numbers.reshape(len(reads), self._n_outputs, self._n_columns)
        return LinearModels(self.scaling, reads, coefs, self.basis)

    def answers(
        self,
        subsets: BoolArray,
        numbers: FloatArray,
        rows: Any = None,
        places: IntArray | None = None,
    ) -> Answers:
        """Answers of fitted models about the scored rows; these may be given, by place in `rows`.

        Rows have all inputs.
        """
        n_rows = self.n_scored if places is None else len(places)
        winner = np.empty((len(subsets), n_rows), dtype=np.uint8)
        confidence = np.empty(winner.shape)
        lines = lines_of(subsets, numbers.reshape(len(subsets), self._n_outputs, self._n_columns))
        scratch = np.empty((self._n_outputs + 2, 64)), np.empty(64, dtype=np.int64)
        if places is None:
            answer_rows(self._scored, *lines, 0, winner, confidence, *scratch)
            return winner, confidence
        for part in slices(n_rows, _AT_ONCE):
            block = rows[places[part]]
            block = block if self.basis is None else self.basis.expand(block)
            columns = self.scaling.columns(block)
            answer_rows(columns, *lines, part.start, winner, confidence, *scratch)
        return winner, confidence

    def fit(self, subsets: BoolArray, report: Report | None = None) -> FloatArray:
        """Fit each subset; return the weights of all inputs by output, (n_subsets, kept)."""
        weights = np.zeros((len(subsets), self._n_outputs, self._n_columns))
        if is_wide(self._n_columns - 1, self._rows.columns.shape[1]):
            with one_thread():  # last bits of matrix products depend on threads
                for subset, of_model in zip(subsets, weights, strict=True):
                    self._fit_wide(np.flatnonzero(subset), of_model)
            return weights.reshape(len(subsets), -1)
        # Before threads ask for it.
        quadratic = self._quadratic = self._quadratic or self._expand()
        n_read, n_jobs = subsets.sum(axis=1), self._workers.n_jobs
        worth = len(subsets) * self.n_train > _WORTH_FITTING
        # Four batches per thread keep all threads busy to the end.
        share = max(8, -(-len(subsets) // (4 * n_jobs))) if worth else len(subsets)
        tasks = []
        for size in np.unique(n_read):
            alike = np.flatnonzero(n_read == size)
            largest = max(1, _BATCH_BYTES // self._bytes_per_model(1 + int(size)))
            most = min(_MOST_MODELS, largest, share)
            tasks += [alike[part] for part in slices(len(alike), most)]

        def fit(batch: IntArray) -> None:
            columns = np.nonzero(subsets[batch])[1].reshape(len(batch), -1) + 1
            columns = np.insert(columns, 0, 0, axis=1)  # the intercept
            coefs = self._minimised(columns, *quadratic)
            # Results go to their own place, so that tasks may end in any order.
            weights[batch[:, None, None], np.arange(self._n_outputs)[:, None], columns[:, None]] = (
                coefs
            )

        self._workers.run(fit, tasks, report)
        return weights.reshape(len(subsets), -1)

    def _fit_wide(self, inputs: IntArray, weights: FloatArray) -> None:
        """Fit a model in as many coordinates as there are rows; fill in the weights of all inputs.

        A Hessian of all inputs would take minutes: its size grows with their third power. A
        penalised model has its weights in the span of the rows, so nothing is lost.
        """
        columns = np.asarray(self._rows.columns)
        rows, directions = columns[1 + inputs], None
        if len(inputs) > columns.shape[1]:
            directions, rows = np.linalg.qr(rows)
        few = copy(self)
        few._fill(Rows(np.concatenate([columns[:1], rows]), self._rows.labels, self._rows.weights))
        coefs = few._fit_everything(*few._expand_at_zero())
        weights[:, 0] = coefs[:, 0]
        along = coefs[:, 1:]
        weights[:, 1 + inputs] = along if directions is None else along @ directions.T

    def _expand(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Gradient at zero, and at the full model's optimum: gradient of a quadratic, Hessian."""
        at_zero = self._expand_at_zero()
        coefs = self._fit_everything(*at_zero)
        gradient, hessian = self._sums(coefs)
        return at_zero[0], gradient - _product(hessian, coefs), hessian

    def _expand_at_zero(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        gradient, hessian = self._sums(np.zeros((self._n_outputs, self._n_columns)))
        return gradient, gradient, hessian

    def _fit_everything(self, *quadratic: FloatArray) -> FloatArray:
        every: FloatArray = self._minimised(np.arange(self._n_columns)[None], *quadratic)[0]
        return every

    def _sums(self, coefs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradient and Hessian of the full model without penalty; the latter a lower triangle."""
        fits = self._open(np.arange(self._n_columns)[None])
        np.asarray(fits.coefs)[:], np.asarray(fits.curved)[:] = coefs, True
        sum_up(self._rows, fits, np.zeros(1, dtype=np.int64), self._work(self._n_columns))
        return np.asarray(fits.gradient)[0], np.asarray(fits.metric)[0]

    def _minimised(
        self, columns: IntArray, gradient_0: FloatArray, offset: FloatArray, hessian: FloatArray
    ) -> FloatArray:
        """Weights of models that read these columns, (n_models, n_outputs, size)."""
        fits, work = self._open(columns), self._work(columns.shape[1])
        line = np.empty((2, max(_MOST_PAIRS, self._n_outputs * columns.shape[1])))
        begin(gradient_0, offset, hessian, self._penalty, fits, line)
        live = np.arange(len(columns))
        # Few at once where they take long, so that Ctrl-C is heard in between.
        at_once = int(np.clip(_PRODUCTS_AT_ONCE // (columns.size * self.n_train), 1, MOST_PASSES))
        for part in slices(MOST_PASSES, at_once):
            if not live.size:
                break
            # Each live model takes steps; those that go on move to the front of `live`.
            passes = len(range(MOST_PASSES)[part])
            n_live = advance(
                self._rows, self._penalty, self._tolerance, fits, live, passes, work, line
            )
            live = live[:n_live]
        if live.size:
            warn_unconverged(live.size, len(columns), np.asarray(fits.largest)[live].max())
        coefs = np.asarray(fits.coefs)
        check_finite(coefs)
        return coefs

    def _open(self, columns: IntArray) -> Fits:
        """Open fits of models that read these columns, all weights 0 and all sums empty."""
        n_models, size = columns.shape
        n_parameters = self._n_outputs * size
        shape, pairs = (n_models, self._n_outputs, size), (n_models, _MOST_PAIRS, n_parameters)
        n_blocks = self._n_blocks
        side = n_parameters // n_blocks
        return Fits(
            columns=columns,
            coefs=np.zeros(shape),
            gradient=np.zeros(shape),
            metric=np.zeros((n_models, n_blocks, side, side)),
            curved=np.zeros(n_models, dtype=np.bool_),
            step=np.zeros((n_models, n_parameters)),
            slope=np.zeros(n_models),
            largest=np.full(n_models, np.inf),
            passes=np.zeros(n_models, dtype=np.int64),
            turned=np.zeros((n_models, 2, n_parameters)),
            steps=np.empty(pairs),
            changes=np.empty(pairs),
            n_pairs=np.zeros(n_models, dtype=np.int64),
        )

    @property
    def _n_blocks(self) -> int:
        return 1 if self._n_outputs * self._n_columns <= _COUPLED else self._n_outputs

    def _bytes_per_model(self, size: int) -> int:
        n_parameters = self._n_outputs * size
        return 8 * n_parameters * (n_parameters // self._n_blocks + 2 * _MOST_PAIRS + 6)

    def _work(self, size: int) -> FloatArray:
        return np.empty((self._n_outputs + size + 2, BLOCK))


def _product(hessian: FloatArray, coefs: FloatArray) -> FloatArray:
    """Hessian by blocks of lower triangles, times the weights of a full model."""
    n_outputs, size = coefs.shape
    n_blocks, of_block = len(hessian), n_outputs // len(hessian)
    parts = hessian.reshape(n_blocks, of_block, size, of_block, size).swapaxes(2, 3)
    parts = np.tril(parts)  # of each pair of outputs, which is its own mirror image
    parts = parts + np.tril(parts, -1).swapaxes(3, 4)
    k, other = np.triu_indices(of_block, 1)
    parts[:, k, other] = parts[:, other, k]
    # No matrix product: its last bits depend on threads.
    product: FloatArray = (parts * coefs.reshape(n_blocks, 1, of_block, 1, size)).sum(axis=(2, 4))
    return product.reshape(coefs.shape)


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
