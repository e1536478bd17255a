"""Boosted stage models: one that answers for every subset of the features, or one for each."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeAlias

import joblib
import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray, Report
from emsco._base.workers import Workers, slices
from emsco.models.calibration import Calibrator, calibration_split
from emsco.models.estimator_jobs import FilledRows, GivenRows
from emsco.models.scaling import mean_of_known
from emsco.models.tree_training import BoostingSize, train_trees
from emsco.models.trees import TreeEnsemble

__all__ = ["BoostingSize", "OwnBoosting", "SharedBoosting", "train_together"]

BoostedModel: TypeAlias = tuple[TreeEnsemble, Calibrator | None]

_AT_ONCE = 32  # subsets that a thread answers for in one go


@dataclass(frozen=True, slots=True, eq=False)
class BoostingJob:
    """Everything that training needs; joblib sends it to the workers."""

    fitting: FilledRows
    calibrating: FilledRows | None
    calibration: str | None
    scored: FloatArray
    fill: FloatArray
    input_feature: IntArray
    n_classes: int
    size: BoostingSize
    seed: int

    @classmethod
    def from_rows(
        cls,
        X: FloatArray,
        labels: LabelArray,
        train: IntArray,
        scored: IntArray,
        weights: FloatArray | None,
        class_weights: FloatArray | None,
        classes: Sequence[Any],
        calibration: str | None,
        seed: int,
        input_feature: IntArray,
        size: BoostingSize | None,
        shared: bool,
    ) -> BoostingJob:
        """Set rows aside for calibration if asked, and leave out rows of weight 0."""
        if weights is not None:
            train = train[weights[train] > 0]
        own = None if weights is None else weights[train]
        means = mean_of_known(X[train], own)
        given = GivenRows(X, labels, weights, fill=np.where(np.isnan(means), 0.0, means))
        calibrating = None
        if calibration is not None:
            train, rest = calibration_split(train, labels, seed=seed, classes=classes)
            calibrating = given.take(rest)
        if size is None:
            n_features = int(input_feature.max()) + 1
            size = (
                BoostingSize.for_rows(len(train), n_features, len(classes))
                if shared
                else BoostingSize.for_own(len(train), len(classes))
            )
        return cls(
            fitting=given.take(train).weighted(class_weights),
            calibrating=calibrating,
            calibration=calibration,
            scored=given.take(scored).X,
            fill=given.fill,
            input_feature=input_feature,
            n_classes=len(classes),
            size=size,
            seed=seed,
        )

    def shared(self) -> TreeEnsemble:
        """Train the model that answers for every subset of the features."""
        rows, copies = self.fitting, self.size.copies
        X = blanked(rows.X, self.input_feature, copies, np.random.default_rng(self.seed))
        labels = np.tile(rows.labels, copies)
        weights = None if rows.weights is None else np.tile(rows.weights, copies)
        return train_trees(X, labels, weights, self.n_classes, self.fill, self.size, self.seed)

    def own(self, subset: BoolArray) -> BoostedModel:
        """Train a model for one subset alone, and calibrate it if asked."""
        rows, inputs = self.fitting, np.flatnonzero(subset)
        X, fill = np.ascontiguousarray(rows.X[:, inputs]), self.fill[inputs]
        size, seed = self.size, self.seed
        narrow = train_trees(X, rows.labels, rows.weights, self.n_classes, fill, size, seed)
        ensemble = narrow.widened(inputs, self.fill).restricted(subset)
        return ensemble, self.calibrator(ensemble, subset)

    def calibrator(
        self, ensemble: TreeEnsemble, subset: BoolArray, codes: LabelArray | None = None
    ) -> Calibrator | None:
        """Calibrate an ensemble for one subset on the rows set aside, if there are any."""
        rows = self.calibrating
        if rows is None or self.calibration is None:
            return None
        said = ensemble.shares(ensemble.code(rows.X) if codes is None else codes, subset)
        return Calibrator.learn(self.calibration, said, rows.labels, rows.weights)


class SharedBoosting:
    """One boosted model of a split answers for every subset of the features.

    It is trained on copies of the training rows in which features are blanked out. Training waits
    until the model is first used, so a search that is replayed does not pay for it.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_inputs)
        NaN is a missing value; the mean of the training rows replaces it.
    labels : ndarray of shape (n_rows,)
        Class of each row, from 0.
    train, scored : ndarray of row numbers
    weights : ndarray of shape (n_rows,) or None
        Weight of each row; rows of weight 0 are left out.
    class_weights : ndarray of shape (n_classes,) or None
        Further weight of each class, in training only.
    classes : sequence
    calibration : {"sigmoid", "isotonic"} or None
        Calibrate every subset on a share of the training rows, set aside for it.
    seed : int
        Seed of what is blanked out and of the choice of calibration rows.
    input_feature : ndarray of shape (n_inputs,)
        Feature of each input; inputs of one feature are blanked out together.
    n_jobs : int
        Threads. The results do not depend on it.
    size : BoostingSize or None
        None: chosen by the number of rows, features and classes.
    """

    def __init__(
        self,
        X: FloatArray,
        labels: LabelArray,
        train: IntArray,
        scored: IntArray,
        weights: FloatArray | None,
        class_weights: FloatArray | None,
        classes: Sequence[Any],
        calibration: str | None,
        seed: int,
        *,
        input_feature: IntArray,
        n_jobs: int = 1,
        size: BoostingSize | None = None,
    ) -> None:
        self.job = BoostingJob.from_rows(
            X,
            labels,
            train,
            scored,
            weights,
            class_weights,
            classes,
            calibration,
            seed,
            input_feature,
            size,
            shared=True,
        )
        self.n_train, self.n_scored = len(train), len(scored)
        self._workers = Workers(n_jobs)
        self._trained: TreeEnsemble | None = None
        self._codes: dict[str, LabelArray] = {}

    @property
    def is_trained(self) -> bool:
        """Whether the model has been trained yet."""
        return self._trained is not None

    @property
    def ensemble(self) -> TreeEnsemble:
        """The model, trained on first use."""
        if self._trained is None:
            self.put(self.job.shared())
        if self._trained is None:
            raise AssertionError("it has just been put there")
        return self._trained

    def put(self, ensemble: TreeEnsemble) -> None:
        """Take the model that the job has trained elsewhere, and code the rows for it."""
        self._codes = {"scored": ensemble.code(self.job.scored)}
        if self.job.calibrating is not None:
            self._codes["calibrating"] = ensemble.code(self.job.calibrating.X)
        self._trained = ensemble

    def outcomes(
        self, subsets: BoolArray, report: Report | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Likeliest class of each scored row and its probability, both (n_subsets, n_scored)."""
        winner = np.empty((len(subsets), self.n_scored), dtype=np.int64)
        confidence = np.empty(winner.shape)
        if not len(subsets):
            return winner, confidence
        ensemble, codes = self.ensemble, self._codes["scored"]

        def answer(part: slice) -> None:
            if self.job.calibration is None:
                winner[part], confidence[part] = ensemble.answers(codes, subsets[part])
                return
            for i, subset in enumerate(subsets[part], start=part.start):
                calibrator = self._calibrator(subset)
                found = calibrator.apply(ensemble.shares(codes, subset))
                winner[i], confidence[i] = found.argmax(axis=1), found.max(axis=1)

        n_jobs = self._workers.n_jobs
        size = min(_AT_ONCE, -(-len(subsets) // n_jobs))
        self._workers.run(answer, list(slices(len(subsets), size)), report)
        return winner, confidence

    def models(self, subsets: BoolArray, report: Report | None = None) -> list[BoostedModel]:
        """Return the model of each subset, restricted to it, and its calibrator or None."""
        del report  # once the shared model is trained, this takes only a moment
        ensemble = self.ensemble
        return [
            (
                ensemble.restricted(subset),
                None if self.job.calibration is None else self._calibrator(subset),
            )
            for subset in subsets
        ]

    def close(self) -> None:
        """Do nothing: this fitter writes no files."""

    def _calibrator(self, subset: BoolArray) -> Calibrator:
        found = self.job.calibrator(self.ensemble, subset, self._codes["calibrating"])
        if found is None:
            raise AssertionError("only asked for where rows are set aside")
        return found


class OwnBoosting:
    """Trains a boosted model of its own for each subset, on the rows of one split, and keeps it.

    Parameters are those of `SharedBoosting`; `n_jobs` counts processes, as in joblib.
    """

    def __init__(
        self,
        X: FloatArray,
        labels: LabelArray,
        train: IntArray,
        scored: IntArray,
        weights: FloatArray | None,
        class_weights: FloatArray | None,
        classes: Sequence[Any],
        calibration: str | None,
        seed: int,
        *,
        input_feature: IntArray,
        n_jobs: int | None = 1,
        size: BoostingSize | None = None,
    ) -> None:
        self.job = BoostingJob.from_rows(
            X,
            labels,
            train,
            scored,
            weights,
            class_weights,
            classes,
            calibration,
            seed,
            input_feature,
            size,
            shared=False,
        )
        self.n_train, self.n_scored = len(train), len(scored)
        self._n_jobs = n_jobs
        self._trained: dict[bytes, BoostedModel] = {}

    def outcomes(
        self, subsets: BoolArray, report: Report | None = None
    ) -> tuple[LabelArray, FloatArray]:
        """Train each subset; return the likeliest class of each scored row and its probability.

        Both have shape (n_subsets, n_scored). ``report(done, total)`` is called after each model.
        It may raise to stop training.
        """
        winner = np.empty((len(subsets), self.n_scored), dtype=np.uint8)
        confidence = np.empty(winner.shape)
        for i, (ensemble, calibrator) in enumerate(self.models(subsets, report)):
            found = ensemble.probabilities(self.job.scored)
            found = found if calibrator is None else calibrator.apply(found)
            winner[i], confidence[i] = found.argmax(axis=1), found.max(axis=1)
        return winner, confidence

    def models(self, subsets: BoolArray, report: Report | None = None) -> list[BoostedModel]:
        """Train each subset, unless it is trained already; return its model and calibrator."""
        new = {one.tobytes(): one for one in subsets if one.tobytes() not in self._trained}
        with closing(run_jobs(self.job.own, list(new.values()), self._n_jobs, report)) as found:
            for key, model in zip(new, found, strict=True):
                self._trained[key] = model
        return [self._trained[one.tobytes()] for one in subsets]

    def close(self) -> None:
        """Do nothing: this fitter writes no files."""


def train_together(
    fitters: Sequence[SharedBoosting], n_jobs: int | None = 1, report: Report | None = None
) -> None:
    """Train the models of several splits side by side, those that are not trained yet.

    ``report(done, total)`` is called after each. It may raise to stop training.
    """
    waiting = [one for one in fitters if not one.is_trained]
    with closing(run_jobs(BoostingJob.shared, [w.job for w in waiting], n_jobs, report)) as found:
        for fitter, ensemble in zip(waiting, found, strict=True):
            fitter.put(ensemble)


def blanked(
    X: FloatArray, input_feature: IntArray, copies: int, rng: np.random.Generator
) -> FloatArray:
    """Return copies of rows in which features are blanked out, one copy after the other.

    A share is drawn for each row, uniform over (0, 1) and evenly spread over its copies; each
    feature is kept with this probability. The first row is kept whole, so that every input has a
    value.
    """
    found, n_features = np.tile(X, (copies, 1)), int(input_feature.max()) + 1
    for copy in range(copies):
        share = (copy + rng.random((len(X), 1))) / copies
        blank = rng.random((len(X), n_features)) >= share
        if copy == 0:
            blank[0] = False
        found[copy * len(X) : (copy + 1) * len(X)][blank[:, input_feature]] = np.nan
    return found


def run_jobs(
    job: Callable[[Any], Any], tasks: Sequence[Any], n_jobs: int | None, report: Report | None
) -> Generator[Any, None, None]:
    """Yield results in the order of the tasks. Stopping early also stops the workers."""
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    results = parallel(joblib.delayed(job)(task) for task in tasks)
    try:
        for done, result in enumerate(results, start=1):
            yield result
            if report:
                report(done, len(tasks))
    finally:
        with warnings.catch_warnings():
            # joblib warns about unused results, but stopping early is intended.
            warnings.simplefilter("ignore")
            results.close()
