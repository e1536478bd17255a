"""Train boosted trees on the rows of a split, and choose their size."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray
from emsco.models.boosting.bins import Bins
from emsco.models.boosting.size import BoostingSize
from emsco.models.boosting.training import BinnedRows, loss_by_round, train_trees
from emsco.models.boosting.trees import MOST_CUTS, TreeEnsemble
from emsco.models.calibration import Calibrator, calibration_split
from emsco.models.estimator_jobs import FilledRows, GivenRows
from emsco.models.scaling import mean_of_known

__all__ = ["BoostedModel", "BoostingJob", "SizeChoice", "blanked"]

BoostedModel: TypeAlias = tuple[TreeEnsemble, Calibrator | None]

_PARTS = 5
_ENOUGH = 400  # rows held out to choose by; parts are held out in turn until there are so many
_FEW = 500  # rows; fewer choose once for all subsets
_HELD = 16_000  # rows held out, in all their copies
_TOLERATED = 1.0  # log loss in all rows held out: few rows tell rounds apart poorly


@dataclass(frozen=True, eq=False)
class BoostingJob:
    """Everything that training needs."""

    fitting: FilledRows
    calibrating: FilledRows | None
    calibration: str | None
    scored: FloatArray
    fill: FloatArray
    input_feature: IntArray
    n_classes: int
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
    ) -> BoostingJob:
        """Set rows aside for calibration if asked, and leave out rows of weight 0.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_inputs)
            NaN is a missing value; the mean of the training rows replaces it.
        labels : ndarray of shape (n_rows,)
            Class of each row, from 0.
        train, scored : ndarray of row numbers
        weights : ndarray of shape (n_rows,) or None
        class_weights : ndarray of shape (n_classes,) or None
            Further weight of each class, in training only.
        classes : sequence
        calibration : {"sigmoid", "isotonic"} or None
            Calibrate every model on a share of the training rows, set aside for it.
        seed : int
            Seed of what is blanked out and of the choice of calibration rows.
        input_feature : ndarray of shape (n_inputs,)
            Feature of each input; inputs of one feature are blanked out together.
        """
        if weights is not None:
            train = train[weights[train] > 0]
        own = None if weights is None else weights[train]
        means = mean_of_known(X[train], own)
        given = GivenRows(X, labels, weights, fill=np.where(np.isnan(means), 0.0, means))
        calibrating = None
        if calibration is not None:
            train, rest = calibration_split(train, labels, seed=seed, classes=classes)
            calibrating = given.take(rest)
        return cls(
            fitting=given.take(train).weighted(class_weights),
            calibrating=calibrating,
            calibration=calibration,
            scored=given.take(scored).X,
            fill=given.fill,
            input_feature=input_feature,
            n_classes=len(classes),
            seed=seed,
        )

    @property
    def n_train(self) -> int:
        """Number of training rows, those for calibration included."""
        return len(self.fitting.X) + (0 if self.calibrating is None else len(self.calibrating.X))

    def shared(self, size: BoostingSize) -> TreeEnsemble:
        """Train the model that answers for every subset of the features."""
        rng = np.random.default_rng(self.seed)
        rows = blanked(self.binned, self.input_feature, size.copies, rng)
        return train_trees(rows, self.bins, self.n_classes, self.fill, size)

    @cached_property
    def bins(self) -> Bins:
        """Bins of the inputs, by the rows to fit on."""
        return Bins.learn(self.fitting.X, MOST_CUTS + 1)

    @cached_property
    def binned(self) -> BinnedRows:
        """The rows to fit on, as bins."""
        rows = self.fitting
        return BinnedRows.from_rows(self.bins, rows.X, rows.labels, rows.weights)

    def own(self, subset: BoolArray, size: BoostingSize) -> BoostedModel:
        """Train a model for one subset alone, and calibrate it if asked."""
        inputs = np.flatnonzero(subset)
        rows, bins, fill = self.binned.some(inputs), self.bins.some(inputs), self.fill[inputs]
        narrow = train_trees(rows, bins, self.n_classes, fill, size)
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


class SizeChoice:
    """The sizes of boosted models, chosen when first asked for.

    Rounds are those with the least log loss on training rows held out: of shared models with
    features blanked out, of others with the features that they have. Few rows choose once, with
    all features, and a rule says how many rounds fewer features need.

    Parameters
    ----------
    job : BoostingJob
        The rows to choose by.
    """

    def __init__(self, job: BoostingJob) -> None:
        self._job = job
        self._own: dict[bytes, BoostingSize] = {}

    @cached_property
    def shared(self) -> BoostingSize:
        """Size of the model that answers for every subset."""
        job = self._job
        n_features = len(np.unique(job.input_feature))
        size = BoostingSize.for_shared(len(job.fitting.X), n_features, job.n_classes)
        losses = []
        for rows, held in self.parts:
            rng = np.random.default_rng(job.seed)
            given = blanked(rows, job.input_feature, size.copies, rng)
            copies = int(np.clip(_HELD // len(held.labels), 2, 64))
            asked = blanked(held, job.input_feature, copies, rng)
            losses.append(loss_by_round(given, asked, job.bins, job.n_classes, size))
        return _stopped(size, losses)

    def own(self, subset: BoolArray) -> BoostingSize:
        """Size of a model that answers for one subset of the inputs alone."""
        if self._is_few and not subset.all():
            features = self._job.input_feature
            share = len(np.unique(features[subset])) / len(np.unique(features))
            return self.own(np.ones_like(subset)).for_share(share)
        if (key := subset.tobytes()) not in self._own:
            self._own[key] = self._chosen(np.flatnonzero(subset))
        return self._own[key]

    def _chosen(self, inputs: IntArray) -> BoostingSize:
        job = self._job
        size, bins = BoostingSize.for_own(len(job.fitting.X), job.n_classes), job.bins.some(inputs)
        losses = [
            loss_by_round(rows.some(inputs), held.some(inputs), bins, job.n_classes, size)
            for rows, held in self.parts
        ]
        n_held = len(job.fitting.X) * max(len(losses), 1) / _PARTS
        return _stopped(size, losses, _TOLERATED / n_held)

    @property
    def _is_few(self) -> bool:
        return len(self._job.fitting.X) < _FEW

    @cached_property
    def parts(self) -> list[tuple[BinnedRows, BinnedRows]]:
        """Rows to train on and rows held out, class by class."""
        rows, rng = self._job.binned, np.random.default_rng(self._job.seed)
        part = np.empty(len(rows.labels), dtype=np.int64)
        for k in np.unique(rows.labels):
            here = np.flatnonzero(rows.labels == k)
            part[rng.permutation(here)] = (np.arange(len(here)) + k) % _PARTS
        n_parts = min(_PARTS, math.ceil(_PARTS * _ENOUGH / max(len(rows.labels), 1)))
        return [
            (rows.take(part != i), rows.take(part == i))
            for i in range(n_parts)
            if (part == i).any() and (part != i).any()
        ]


def _stopped(size: BoostingSize, losses: list[FloatArray], tolerated: float = 0.0) -> BoostingSize:
    """Stop where the mean loss is least, or first within `tolerated` of that.

    A curve that ends early goes on as it ended. The model will have more rows than these had, and
    bears more rounds.
    """
    losses = [one for one in losses if len(one)]
    if not losses:
        return size
    longest = max(map(len, losses))
    mean = np.mean([np.pad(one, (0, longest - len(one)), "edge") for one in losses], axis=0)
    rounds = 1 + int(np.argmax(mean <= mean.min() + tolerated))
    return size.stopped(min(round(rounds * _PARTS / (_PARTS - 1)), size.rounds))


def blanked(
    rows: BinnedRows, input_feature: IntArray, copies: int, rng: np.random.Generator
) -> BinnedRows:
    """Return copies of rows in which features are blanked out.

    A share is drawn for each row, uniform over (0, 1) and evenly spread over its copies; each
    feature is kept with this probability. The first row is kept whole, so that every input has a
    value.
    """
    n_rows, n_features = len(rows.labels), int(input_feature.max()) + 1
    blank = np.empty((copies, len(input_feature), n_rows), dtype=np.bool_)
    for copy in range(copies):
        share = (copy + rng.random((n_rows, 1))) / copies
        own = rng.random((n_rows, n_features)) >= share
        if copy == 0:
            own[0] = False
        blank[copy] = own[:, input_feature].T
    return rows.blanked(blank)
