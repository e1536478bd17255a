"""Fits a scikit-learn classifier of the user's to subsets of the inputs, through joblib."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from functools import cached_property
from typing import Any

import numpy as np

from emsco._base.checks import check_choice, refused
from emsco._base.digests import fingerprint
from emsco._base.documents import PathLike
from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray, Report
from emsco._base.workers import in_processes
from emsco.models.calibration import KINDS, calibration_split
from emsco.models.estimator_jobs import EstimatorJob, GivenRows
from emsco.models.estimator_model import EstimatorModel
from emsco.models.outcomes import OutcomeCache, Outcomes
from emsco.models.prototypes import check_estimator_like, check_takes_weights, describe
from emsco.models.scaling import mean_of_known

__all__ = ["EstimatorFitter", "EstimatorModel"]


class EstimatorFitter:
    """Fits a classifier of the user's to subsets of the inputs, on the rows of one split.

    A model depends on its subset alone: its inputs are in ascending order and its seed comes
    from the subset. It is the same whenever it is fitted again, with any other subsets and any
    number of workers. For the same reason matrix products take one thread in each worker. A
    classifier's own `n_jobs` is not changed.

    Parameters
    ----------
    prototype : estimator
        A classifier or pipeline with predict_proba. It is cloned, never fitted.
    X : ndarray of shape (n_rows, n_inputs)
        NaN is a missing value; the mean of the training rows replaces it.
    labels : ndarray of shape (n_rows,)
        Class of each row, from 0.
    weights : ndarray of shape (n_rows,) or None
        Weight of each row in fitting; rows of weight 0 are left out.
    train, scored : ndarray of row numbers
    seed : int
    n_classes : int
    n_jobs : int or None
        Processes, as in joblib.
    calibration : {None, "sigmoid", "isotonic"}
        Calibrate every model on a share of the training rows, set aside for it.
    classes : sequence, optional
        Names of the classes in messages; by default their numbers.
    class_weights : ndarray of shape (n_classes,), optional
        Further weight of each class, in fitting only.
    cache : str, path or None
        Folder that keeps outcomes for later; see `OutcomeCache`.

    Raises
    ------
    ParameterError
        If the prototype is not a classifier, or cannot take the weights that are given.
    """

    def __init__(
        self,
        prototype: Any,
        X: FloatArray,
        labels: LabelArray,
        weights: FloatArray | None,
        train: IntArray,
        scored: IntArray,
        seed: int,
        n_classes: int,
        n_jobs: int | None = 1,
        *,
        calibration: str | None = None,
        classes: Sequence[Any] | None = None,
        class_weights: FloatArray | None = None,
        cache: PathLike | None = None,
    ) -> None:
        _check(prototype, weights is not None or class_weights is not None, calibration)
        if weights is not None:
            train = train[weights[train] > 0]
        given = _given_rows(X, labels, weights, train)
        calibrating = None
        if calibration is not None:
            train, rest = calibration_split(train, labels, seed=seed, classes=classes)
            calibrating = calibration, given.take(rest)
        self._job = EstimatorJob(
            prototype=prototype,
            fitting=given.take(train).weighted(class_weights),
            calibrating=calibrating,
            scored=given.take(scored).X,
            fill=given.fill,
            seed=seed,
            n_classes=n_classes,
        )
        self.n_inputs, self.n_train, self.n_scored = X.shape[1], len(train), len(scored)
        self._n_jobs = n_jobs
        self.cache: OutcomeCache | None = None
        if cache is not None:
            sizes = self.n_inputs, self.n_scored, n_classes
            self.cache = OutcomeCache(cache, self.fingerprint, *sizes)

    @cached_property
    def fingerprint(self) -> str:
        """A digest of everything that affects outcomes: rows, classifier, seed, calibration."""
        job = self._job
        kind, calibrating = job.calibrating or (None, None)
        arrays = [job.scored, job.fill]
        for rows in filter(None, (job.fitting, calibrating)):
            arrays += [rows.X, rows.labels.astype(np.float64)]
            arrays += [] if rows.weights is None else [rows.weights]
        words = [describe(job.prototype), str(kind), str(job.seed), str(job.n_classes)]
        return fingerprint(*arrays, np.array(words))

    def outcomes(self, subsets: BoolArray, report: Report | None = None) -> Outcomes:
        """Fit each subset; return the answers of its model for the scored rows.

        Parameters
        ----------
        subsets : ndarray of bool, shape (n_subsets, n_inputs)
            May repeat; each is fitted once.
        report : callable, optional
            Called as ``report(done, total)`` after each fit. It may raise to stop fitting.

        Returns
        -------
        winner, confidence : ndarray of shape (n_subsets, n_scored)
            The likeliest class, the first of equals, and its probability.
        """
        distinct, places = _distinct(subsets, self.n_inputs)
        shape = (len(distinct), self.n_scored)
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
        """Fit each subset; return the same models whose outcomes `outcomes` returns."""
        distinct, places = _distinct(subsets, self.n_inputs)
        fitted = list(self._run(self._job.model, distinct, report))
        return [fitted[place] for place in places]

    def close(self) -> None:
        """Write new outcomes to the cache on disk."""
        if self.cache is not None:
            self.cache.flush()

    def _run(
        self, job: Callable[[BoolArray], Any], subsets: BoolArray, report: Report | None
    ) -> Generator[Any, None, None]:
        return in_processes(job, list(subsets), self._n_jobs, report)


def _check(prototype: Any, weighted: bool, calibration: str | None) -> None:
    check_estimator_like(prototype)
    if weighted:
        check_takes_weights(prototype)
    if calibration is not None:
        check_choice("calibration", calibration, KINDS)


def _given_rows(
    X: FloatArray, labels: LabelArray, weights: FloatArray | None, train: IntArray
) -> GivenRows:
    """Prepare all rows; means of the training rows fill missing values, 0 if none is known."""
    own = None if weights is None else weights[train]
    # One block, because the last bit of a mean depends on the blocks that are added up.
    means = mean_of_known(X[train], own, block=max(len(train), 1))
    return GivenRows(X, labels, weights, fill=np.where(np.isnan(means), 0.0, means))


def _distinct(subsets: BoolArray, n_inputs: int) -> tuple[BoolArray, Sequence[int]]:
    """Distinct subsets in order of first appearance, and the position of each given one."""
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
