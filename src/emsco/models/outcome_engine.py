"""Models of any kind: an engine that keeps their answers, and the rows that they are fitted on.

An *outcome* is the likeliest class of a scored row and its probability. The bits at any threshold
follow from it, so nothing else of a model needs to be kept during a search.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, Report
from emsco.models.batches import Models
from emsco.models.calibration import Calibrator, calibration_split
from emsco.models.engine import Answers, Engine, SplitRows
from emsco.models.scaling import mean_of_known
from emsco.models.shard import SplitData

_AT_ONCE = 256  # calibrated models that are fitted together


class OutcomeFitter(ABC):
    """Fits a model per subset of the inputs, on the training rows of one split."""

    n_train: int
    n_scored: int

    @abstractmethod
    def outcomes(self, subsets: BoolArray, report: Report | None = None) -> Any:
        """Fit each subset; return classes and probabilities, both (n_subsets, n_scored).

        ``report(done, total)`` is called between fits. It may raise to stop fitting.
        """

    @abstractmethod
    def models(self, subsets: BoolArray, report: Report | None = None) -> list[Any]:
        """Fit each subset; return `EstimatorModel`s, or weights or trees with a calibrator."""


class OutcomeEngine(Engine):
    """Fits models of any kind, and keeps their answers for the scored rows.

    An answer is the likeliest class of a row and its probability. The bits at any threshold
    follow from it.

    Parameters
    ----------
    fitters : sequence of OutcomeFitter
        One per split.
    splits : sequence of SplitData
    prepare : callable, optional
        Called as ``prepare(report)`` before each fit; prepares what all fits need.
    recall : callable, optional
        Called as ``recall(number, subsets, fit, report)`` for the fitter of this number; gives
        what ``fit(subsets, report)`` would, from a checkpoint as far as it has it.
    """

    def __init__(
        self,
        fitters: Sequence[OutcomeFitter],
        splits: Sequence[SplitData],
        prepare: Callable[[Report | None], None] | None = None,
        recall: Callable[..., Answers] | None = None,
    ) -> None:
        self.fitters = fitters
        self._prepare, self._recall = prepare, recall
        self.n_classes = splits[0].n_classes
        self.n_train = sum(one.n_train for one in fitters)
        self._n_scored = [one.n_scored for one in fitters]
        self.kept = 2 * sum(self._n_scored)

    def fit(self, subsets: BoolArray, report: Report | None = None) -> FloatArray:
        """Fit each subset; return classes and probabilities side by side, (n_subsets, kept)."""
        columns: list[FloatArray] = []
        for number, one in enumerate(self.fitters):
            fit = partial(self._fitted, one)
            if self._recall is not None:
                winner, confidence = self._recall(number, subsets, fit, report)
            else:
                winner, confidence = fit(subsets, report)
            # One array of numbers for each model, so classes stand in it as floats.
            columns += [winner.astype(np.float64), confidence]
        return np.concatenate(columns, axis=1)

    def _fitted(self, fitter: OutcomeFitter, subsets: BoolArray, report: Report | None) -> Answers:
        # Shared models are trained once for all splits, before any subset is asked for.
        if self._prepare:
            self._prepare(report)
        winner, confidence = fitter.outcomes(subsets, report)
        return winner, confidence

    def scored_answers(self, subsets: BoolArray, numbers: FloatArray) -> Answers:
        """Answers of fitted models for all scored rows, split after split."""
        winner, confidence = zip(*self.answers(subsets, numbers), strict=True)
        return np.concatenate(winner, axis=1), np.concatenate(confidence, axis=1)

    def answers(
        self,
        subsets: BoolArray,
        numbers: FloatArray,
        rows: Any = None,
        scored: Sequence[IntArray] = (),
    ) -> list[Answers]:
        """Answers of fitted models for the scored rows of each split."""
        del subsets, rows, scored  # `numbers` holds the answers
        # The classes of a split come first, then its probabilities.
        ends = np.cumsum(np.repeat(self._n_scored, 2))[:-1]
        parts = iter(np.split(numbers, ends, axis=1))
        return [(next(parts).astype(np.uint8), next(parts)) for _ in self._n_scored]

    def without_rows(self) -> Self:
        """Return a copy that can only `answers`, and holds no rows."""
        other = copy(self)
        other.fitters, other._prepare, other._recall = (), None, None
        return other


class CalibratedFitter(OutcomeFitter):
    """Fits logistic regressions, and calibrates them on training rows set aside for it.

    Parameters
    ----------
    data : SplitData
        `train` has the rows to fit and calibrate on.
    calibration : {"sigmoid", "isotonic"}
    classes : sequence
        Names of the classes in messages.
    seed : int
        Seed of the choice of calibration rows.
    penalty : float
    """

    def __init__(
        self,
        data: SplitData,
        calibration: str,
        classes: Sequence[Any],
        seed: int,
        penalty: float = 1.0,
    ) -> None:
        X, labels, weights = data.X, data.labels, data.weights
        fitting, calibrating = calibration_split(data.train, labels, seed=seed, classes=classes)
        self.n_train, self.n_scored = len(data.train), len(data.scored)
        self._kind = calibration
        # Calibration rows stay out of the fit, and the scored rows are asked separately below.
        only_fitted = replace(data, train=fitting, scored=fitting[:0])
        split = SplitRows.cut(only_fitted, penalty)
        self._fitter, self.scaling = split.fitter, split.scaling
        self._calibrating = self.scaling.filled(X[calibrating])
        self._truth = labels[calibrating]
        self._weights = None if weights is None else weights[calibrating]
        self._scored = self.scaling.filled(X[data.scored])

    def outcomes(
        self, subsets: BoolArray, report: Report | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Fit each subset; return the likeliest class of each scored row and its probability.

        Both have shape (n_subsets, n_scored).
        """
        winner = np.empty((len(subsets), self.n_scored), dtype=np.int64)
        confidence = np.empty(winner.shape)
        for start in range(0, len(subsets), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            models = self._fitter.fit(subsets[part])
            for m in range(len(models.sizes)):
                calibrator = self._calibrator(models, m)
                shares = calibrator.apply(self._probabilities(models, m, self._scored))
                winner[start + m] = shares.argmax(axis=1)
                confidence[start + m] = shares.max(axis=1)
            if report:
                report(min(start + _AT_ONCE, len(subsets)), len(subsets))
        return winner, confidence

    def models(
        self, subsets: BoolArray, report: Report | None = None
    ) -> list[tuple[FloatArray, Calibrator]]:
        """Fit each subset; return its weights, (n_outputs, n_inputs + 1), and its calibrator."""
        del report  # these fits take only a moment
        models = self._fitter.fit(subsets)
        spread = models.spread(subsets.shape[1]).reshape(len(subsets), -1, subsets.shape[1] + 1)
        return [(coefs, self._calibrator(models, m)) for m, coefs in enumerate(spread)]

    def _calibrator(self, models: Models, m: int) -> Calibrator:
        said = self._probabilities(models, m, self._calibrating)
        return Calibrator.learn(self._kind, said, self._truth, self._weights)

    def _probabilities(self, models: Models, m: int, rows: FloatArray) -> FloatArray:
        return models.probabilities(rows, self.scaling.mean, self.scaling.inverse, m)


@dataclass(frozen=True, slots=True, eq=False)
class FilledRows:
    """Rows without missing values, with their classes and weights."""

    X: FloatArray
    labels: IntArray
    weights: FloatArray | None


@dataclass(frozen=True, slots=True, eq=False)
class OutcomeRows:
    """The rows of one split as trees and classifiers of the user's take them.

    Attributes
    ----------
    fitting : FilledRows
        Rows to fit on, with the weights of their classes.
    calibrating : FilledRows or None
        Training rows set aside for calibration.
    calibration : {"sigmoid", "isotonic"} or None
    scored : ndarray of shape (n_scored, n_inputs)
    fill : ndarray of shape (n_inputs,)
        Value that replaces a missing one: the mean of the training rows, 0 if none is known.
    n_classes : int
    seed : int
        Seed of random models and of the choice of calibration rows.
    """

    fitting: FilledRows
    calibrating: FilledRows | None
    calibration: str | None
    scored: FloatArray
    fill: FloatArray
    n_classes: int
    seed: int

    @classmethod
    def from_split(
        cls,
        data: SplitData,
        calibration: str | None = None,
        classes: Sequence[Any] | None = None,
        seed: int = 0,
        in_blocks: bool = True,
    ) -> Self:
        """Set rows aside for calibration if asked, leave out rows of weight 0, and fill the rest.

        Parameters
        ----------
        data : SplitData
        calibration : {"sigmoid", "isotonic"} or None
            Calibrate every model on a share of the training rows, set aside for it.
        classes : sequence, optional
            Names of the classes in messages.
        seed : int
        in_blocks : bool
            Whether means are added up in blocks of rows; their last bits depend on it.
        """
        X, labels, weights, train = data.X, data.labels, data.weights, data.weighty_train
        of_train = None if weights is None else weights[train]
        block = {} if in_blocks else {"block": max(len(train), 1)}
        # Means of the training rows alone: scored rows must not leak into what fills them.
        means = mean_of_known(X[train], of_train, **block)
        fill = np.where(np.isnan(means), 0.0, means)

        def filled(numbers: IntArray, weights: FloatArray | None) -> FilledRows:
            rows = np.ascontiguousarray(X[numbers])
            return FilledRows(
                np.where(np.isnan(rows), fill, rows),
                labels[numbers].astype(np.int64),
                None if weights is None else weights[numbers],
            )

        calibrating = None
        if calibration is not None:
            names = range(data.n_classes) if classes is None else classes
            train, rest = calibration_split(train, labels, seed=seed, classes=names)
            calibrating = filled(rest, weights)
        return cls(
            fitting=filled(train, data.with_fit_weights().weights),
            calibrating=calibrating,
            calibration=calibration,
            # Weights of scored rows count in bits, not here.
            scored=filled(data.scored, None).X,
            fill=fill,
            n_classes=data.n_classes,
            seed=seed,
        )
