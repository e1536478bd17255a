"""The work of one process: fit a user's classifier to one subset of the inputs, and ask it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from emsco._base.digests import fingerprint
from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray
from emsco._base.workers import one_thread
from emsco.errors import DataError, Parameter, ParameterError
from emsco.models.calibration import Calibrator
from emsco.models.estimator_model import EstimatorModel
from emsco.models.prototypes import seeded_clone, weight_name

__all__ = ["EstimatorJob", "FilledRows", "GivenRows"]

_PROBED = 1000  # rows whose probabilities identify a fitted model


@dataclass(frozen=True, slots=True, eq=False)
class FilledRows:
    """Rows without missing values, with their classes and weights."""

    X: FloatArray
    labels: IntArray
    weights: FloatArray | None

    def some(self, rows: BoolArray) -> FilledRows:
        """Pick some rows."""
        weights = None if self.weights is None else self.weights[rows]
        return FilledRows(self.X[rows], self.labels[rows], weights)

    def weighted(self, by_class: FloatArray | None) -> FilledRows:
        """Multiply the weights of the rows by the weight of their class."""
        if by_class is None:
            return self
        own = np.ones(len(self.labels)) if self.weights is None else self.weights
        return replace(self, weights=own * by_class[self.labels])


@dataclass(frozen=True, slots=True, eq=False)
class GivenRows:
    """All rows as given, and the value that replaces a missing one in each input."""

    X: FloatArray
    labels: LabelArray
    weights: FloatArray | None
    fill: FloatArray

    def take(self, rows: IntArray) -> FilledRows:
        """Pick some rows and fill their missing values."""
        X = np.ascontiguousarray(self.X[rows])
        weights = None if self.weights is None else self.weights[rows]
        filled = np.where(np.isnan(X), self.fill, X)
        return FilledRows(filled, self.labels[rows].astype(np.int64), weights)


@dataclass(frozen=True, slots=True, eq=False)
class EstimatorJob:
    """Everything that a fit needs; joblib sends it to the workers."""

    prototype: Any
    fitting: FilledRows
    calibrating: tuple[str, FilledRows] | None
    scored: FloatArray
    fill: FloatArray
    seed: int
    n_classes: int

    def outcome(self, subset: BoolArray) -> tuple[LabelArray, FloatArray]:
        """Likeliest class of each scored row, the first of equals, and its probability."""
        probabilities = self._ask(self._fit(subset), self.scored)
        return probabilities.argmax(axis=1).astype(np.uint8), probabilities.max(axis=1)

    def model(self, subset: BoolArray) -> EstimatorModel:
        """The model of one subset, with its identity."""
        model = self._fit(subset)
        probabilities = self._ask(model, self.fitting.X[:_PROBED])
        return replace(model, identity=fingerprint(model.inputs, model.fill, probabilities))

    def _fit(self, subset: BoolArray) -> EstimatorModel:
        inputs = np.flatnonzero(subset)
        estimator = seeded_clone(self.prototype, self.seed, subset)
        rows = self.fitting
        name = weight_name(estimator)
        weights = {name: np.array(rows.weights)} if name and rows.weights is not None else {}
        X = np.ascontiguousarray(rows.X[:, inputs])
        with one_thread():
            try:
                estimator.fit(X, np.array(rows.labels), **weights)
            except Exception as error:  # foreign code may raise anything
                raise ParameterError(
                    Parameter("estimator"),
                    " must be able to fit every subset of the inputs, but with inputs "
                    f"{inputs.tolist()} {_kind(estimator)} says: {error}",
                    value=estimator,
                ) from error
            model = EstimatorModel(estimator, inputs, self.fill[inputs], self.n_classes)
            return _calibrated(model, *self.calibrating) if self.calibrating else model

    def _ask(self, model: EstimatorModel, rows: FloatArray) -> FloatArray:
        """Class probabilities of rows. Any failure becomes one sentence."""
        with one_thread():
            try:
                return model.probabilities(rows)
            except DataError:
                raise
            except Exception as error:  # foreign code may raise anything
                raise ParameterError(
                    Parameter("estimator"),
                    " must be able to give probabilities of rows, but with inputs "
                    f"{model.inputs.tolist()} {_kind(model.estimator)} says: {error}",
                    value=model.estimator,
                ) from error


def _calibrated(model: EstimatorModel, kind: str, rows: FilledRows) -> EstimatorModel:
    # A squashed score never reaches 0 or 1, but a vote of trees does and needs some room.
    votes = not hasattr(model.estimator, "decision_function")
    n_rows = len(rows.labels) if rows.weights is None else float(rows.weights.sum())
    room = {"certain": 0.5 / max(n_rows, 1)} if votes else {}
    probabilities = model.probabilities(rows.X)
    calibrator = Calibrator.learn(kind, probabilities, rows.labels, rows.weights, **room)
    return replace(model, calibrator=calibrator)


def _kind(estimator: Any) -> str:
    return type(estimator).__name__
