"""Any scikit-learn classifier, fitted once per subset of the inputs, through joblib."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import joblib
import numpy as np
from threadpoolctl import ThreadpoolController

from emsco._base.checks import check_choice, refused
from emsco._base.digests import fingerprint
from emsco._base.documents import PathLike
from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray, Report
from emsco.errors import DataError, Parameter, ParameterError
from emsco.models.calibration import KINDS, SHARE, Calibrator, calibration_split
from emsco.models.estimator_model import EstimatorModel
from emsco.models.outcomes import OutcomeCache, Outcomes
from emsco.models.prototypes import (
    check_estimator_like,
    check_takes_weights,
    describe,
    seeded_clone,
    weight_name,
)
from emsco.models.scaling import mean_of_known

__all__ = ["EstimatorFitter", "EstimatorModel"]


_PROBED = 1000  # rows that tell one fitted estimator from another


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows of one kind: filled, with classes and weights."""

    X: FloatArray
    labels: IntArray
    weights: FloatArray | None

    def weighted(self, by_class: FloatArray | None) -> _Rows:
        """The same rows, of which each class counts so much more."""
        if by_class is None:
            return self
        own = np.ones(len(self.labels)) if self.weights is None else self.weights
        return replace(self, weights=own * by_class[self.labels])


@dataclass(frozen=True, slots=True, eq=False)
class _Table:
    """All rows as they were given, and what gaps are filled with."""

    X: FloatArray
    labels: LabelArray
    weights: FloatArray | None
    fill: FloatArray

    def take(self, rows: IntArray) -> _Rows:
        """Some of the rows, without gaps."""
        X = np.ascontiguousarray(self.X[rows])
        weights = None if self.weights is None else self.weights[rows]
        filled = np.where(np.isnan(X), self.fill, X)
        return _Rows(filled, self.labels[rows].astype(np.int64), weights)


@dataclass(frozen=True, slots=True, eq=False)
class _Job:
    """All that a fit needs; what workers are sent."""

    prototype: Any
    fitting: _Rows
    calibrating: tuple[str, _Rows] | None
    held_out: FloatArray
    fill: FloatArray
    seed: int
    n_classes: int

    def fit(self, subset: BoolArray) -> EstimatorModel:
        """The classifier of one subset."""
        inputs = np.flatnonzero(subset)
        model = seeded_clone(self.prototype, self.seed, subset)
        rows = self.fitting
        name = weight_name(model)
        weights = {name: np.array(rows.weights)} if name and rows.weights is not None else {}
        with _one_thread():
            try:
                model.fit(np.ascontiguousarray(rows.X[:, inputs]), np.array(rows.labels), **weights)
            except Exception as error:  # whatever a stranger's code raises
                raise ParameterError(
                    Parameter("estimator"),
                    " must be able to fit every subset of the inputs, but with inputs "
                    f"{inputs.tolist()} {_kind(model)} says: {error}",
                    value=model,
                ) from error
            stage = EstimatorModel(model, inputs, self.fill[inputs], self.n_classes)
            return _calibrated(stage, *self.calibrating) if self.calibrating else stage

    def _said(self, stage: EstimatorModel, rows: FloatArray) -> FloatArray:
        """Probabilities of rows; whatever goes wrong, as one sentence."""
        with _one_thread():
            try:
                return stage.probabilities(rows)
            except DataError:
                raise
            except Exception as error:  # whatever a stranger's code raises
                raise ParameterError(
                    Parameter("estimator"),
                    " must be able to tell probabilities of rows, but with inputs "
                    f"{stage.inputs.tolist()} {_kind(stage.estimator)} says: {error}",
                    value=stage.estimator,
                ) from error

    def outcome(self, subset: BoolArray) -> tuple[LabelArray, FloatArray]:
        """The likeliest class of each held-out row, the first of equals, and its probability."""
        said = self._said(self.fit(subset), self.held_out)
        return said.argmax(axis=1).astype(np.uint8), said.max(axis=1)

    def model(self, subset: BoolArray) -> EstimatorModel:
        """The classifier of one subset, with its identity."""
        stage = self.fit(subset)
        said = self._said(stage, self.fitting.X[:_PROBED])
        return replace(stage, identity=fingerprint(stage.inputs, stage.fill, said))


class EstimatorFitter:
    """Fits a classifier of the user's to subsets of the inputs, on the rows of one split.

    Each subset is fitted by itself, with its inputs in ascending order and a seed that depends
    on the subset, so that fitted again, beside whatever others and by however many workers, it
    comes out the same. Matrix products take one thread in each worker, for the same reason; a
    classifier's own `n_jobs` is left alone.

    Parameters
    ----------
    prototype : estimator
        A classifier or pipeline with predict_proba; it is cloned, never fitted.
    X : ndarray of shape (n_rows, n_inputs)
        NaN is a gap; the classifier sees the mean of the training rows' known values instead.
    labels : ndarray of shape (n_rows,)
        Class of each row, from 0.
    weights : ndarray of shape (n_rows,) or None
        How much each row counts in fits; rows of weight 0 take no part.
    train, held_out : ndarray of row numbers
    seed : int
    n_classes : int
    n_jobs : int or None
        Processes, as in joblib.
    calibration : {None, "sigmoid", "isotonic"}
        Calibrate every classifier on a share of the training rows, which then do not fit it.
    calibration_share : float
    classes : sequence, optional
        What messages call the classes; by default their numbers.
    class_weights : ndarray of shape (n_classes,), optional
        How much more rows of each class count when classifiers are fitted, and there alone.
    cache : str, path or None
        Folder that keeps outcomes for later; see `OutcomeCache`.

    Raises
    ------
    ParameterError
        Where the prototype is no classifier, or takes no weights where there are some.
    """

    def __init__(
        self,
        prototype: Any,
        X: FloatArray,
        labels: LabelArray,
        weights: FloatArray | None,
        train: IntArray,
        held_out: IntArray,
        seed: int,
        n_classes: int,
        n_jobs: int | None = 1,
        *,
        calibration: str | None = None,
        calibration_share: float = SHARE,
        classes: Sequence[Any] | None = None,
        class_weights: FloatArray | None = None,
        cache: PathLike | None = None,
    ) -> None:
        weighted = weights is not None or class_weights is not None
        _check(prototype, weighted, calibration)
        if weights is not None:
            train = train[weights[train] > 0]
        counts = None if weights is None else weights[train]
        means = mean_of_known(X[train], counts, block=max(len(train), 1))
        table = _Table(X, labels, weights, fill=np.where(np.isnan(means), 0.0, means))
        calibrating = None
        if calibration is not None:
            train, rest = calibration_split(train, labels, calibration_share, seed, classes)
            calibrating = calibration, table.take(rest)
        self._job = _Job(
            prototype=prototype,
            fitting=table.take(train).weighted(class_weights),
            calibrating=calibrating,
            held_out=table.take(held_out).X,
            fill=table.fill,
            seed=seed,
            n_classes=n_classes,
        )
        self.n_inputs = X.shape[1]
        self.n_train = len(train)
        self.n_held_out = len(held_out)
        self._n_jobs = n_jobs
        self.cache: OutcomeCache | None = None
        if cache is not None:
            self.cache = OutcomeCache(cache, self.fingerprint, self.n_inputs, self.n_held_out)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of all that outcomes depend on: rows, classifier, seed, calibration."""
        job = self._job
        kind, calibrating = job.calibrating or (None, None)
        arrays = [job.held_out, job.fill]
        for rows in filter(None, (job.fitting, calibrating)):
            arrays += [rows.X, rows.labels.astype(np.float64)]
            arrays += [] if rows.weights is None else [rows.weights]
        words = [describe(job.prototype), str(kind), str(job.seed), str(job.n_classes)]
        return fingerprint(*arrays, np.array(words))

    def outcomes(self, subsets: BoolArray, report: Report | None = None) -> Outcomes:
        """What each subset's classifier says about the held-out rows.

        Parameters
        ----------
        subsets : ndarray of bool, shape (n_subsets, n_inputs)
            May repeat; each is fitted once.
        report : callable, optional
            ``report(done, total)`` is called after each fit, and may raise to end it.

        Returns
        -------
        winner, confidence : ndarray of shape (n_subsets, n_held_out)
            The likeliest class, the first of equals, and its probability.
        """
        distinct, places = _distinct(subsets, self.n_inputs)
        shape = (len(distinct), self.n_held_out)
        known = np.zeros(len(distinct), dtype=np.bool_)
        found = Outcomes(np.zeros(shape, dtype=np.uint8), np.zeros(shape))
        if self.cache is not None:
            known, found = self.cache.find(distinct)
        new = np.flatnonzero(~known)
        with closing(self._run(self._job.outcome, distinct[new], report)) as fitted:
            for i, (winner, confidence) in zip(new, fitted, strict=True):
                found.winner[i], found.confidence[i] = winner, confidence
                if self.cache is not None:
                    self.cache.add(distinct[i], winner, confidence)
        return Outcomes(found.winner[places], found.confidence[places])

    def models(self, subsets: BoolArray, report: Report | None = None) -> list[EstimatorModel]:
        """The fitted classifier of each subset, the very one whose outcomes were told."""
        distinct, places = _distinct(subsets, self.n_inputs)
        fitted = list(self._run(self._job.model, distinct, report))
        return [fitted[place] for place in places]

    def close(self) -> None:
        """Write what the cache has not yet written."""
        if self.cache is not None:
            self.cache.flush()

    def _run(
        self, job: Callable[[BoolArray], Any], subsets: BoolArray, report: Report | None
    ) -> Generator[Any, None, None]:
        """Results in the order of the subsets; whatever ends this early ends the workers too."""
        parallel = joblib.Parallel(n_jobs=self._n_jobs, return_as="generator")
        results = parallel(joblib.delayed(job)(subset) for subset in subsets)
        try:
            for done, result in enumerate(results, start=1):
                yield result
                if report:
                    report(done, len(subsets))
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that results were left unused is meant
                results.close()


def _check(prototype: Any, weighted: bool, calibration: str | None) -> None:
    check_estimator_like(prototype)
    if weighted:
        check_takes_weights(prototype)
    if calibration is not None:
        check_choice("calibration", calibration, KINDS)


def _calibrated(stage: EstimatorModel, kind: str, rows: _Rows) -> EstimatorModel:
    # A score that is mapped to (0, 1) never quite says 0 or 1; a vote of trees does.
    votes = not hasattr(stage.estimator, "decision_function")
    n_rows = len(rows.labels) if rows.weights is None else float(rows.weights.sum())
    room = {"certain": 0.5 / max(n_rows, 1)} if votes else {}
    said = stage.probabilities(rows.X)
    calibrator = Calibrator.learn(kind, said, rows.labels, rows.weights, **room)
    return replace(stage, calibrator=calibrator)


def _distinct(subsets: BoolArray, n_inputs: int) -> tuple[BoolArray, Sequence[int]]:
    """Different subsets, in order of first appearance, and where each given one is among them."""
    if subsets.ndim != 2 or subsets.shape[1] != n_inputs or not subsets.any(axis=1).all():
        raise refused(
            "subsets",
            f"be rows of {n_inputs} truth values, at least one of them true",
            subsets,
            got=f"shape {subsets.shape}",
        )
    numbers: dict[bytes, int] = {}
    places = [numbers.setdefault(subset.tobytes(), len(numbers)) for subset in subsets]
    first = np.unique(np.array(places, dtype=np.int64), return_index=True)[1]
    return subsets[first], places


@cache
def _controller() -> ThreadpoolController:
    """The thread pools of this process; finding them takes a while."""
    return ThreadpoolController()


def _one_thread() -> Any:
    return _controller().limit(limits=1)


def _kind(estimator: Any) -> str:
    return type(estimator).__name__
