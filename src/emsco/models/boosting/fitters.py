"""Boosted trees for every subset of the inputs: one model of a split for all, or one for each."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray, Report
from emsco._base.workers import Workers, slices
from emsco.models.boosting.trainer import BoostedModel, BoostingJob, BoostingSize, SizeChoice
from emsco.models.boosting.trees import MOST_AT_ONCE, TreeEnsemble
from emsco.models.calibration import Calibrator
from emsco.models.outcome_engine import OutcomeFitter


class SharedBoosting(OutcomeFitter):
    """One boosted model of a split answers for every subset of the features.

    It is trained on copies of the training rows in which features are blanked out. Training waits
    until the model is first used, so a search that is replayed does not pay for it.

    Parameters
    ----------
    job : BoostingJob
        The rows of the split.
    size : BoostingSize or SizeChoice
        A `SizeChoice` may serve the fitters of all splits.
    n_jobs : int
        Threads. The results do not depend on it.
    """

    def __init__(self, job: BoostingJob, size: BoostingSize | SizeChoice, n_jobs: int = 1) -> None:
        self.job, self.size = job, size
        self.n_train, self.n_scored = job.n_train, len(job.rows.scored)
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
        return self._trained or self.put(self.job.shared(self.chosen))

    @property
    def chosen(self) -> BoostingSize:
        """The size of the model, chosen on first use."""
        return self.size.shared if isinstance(self.size, SizeChoice) else self.size

    def put(self, ensemble: TreeEnsemble) -> TreeEnsemble:
        """Take the model that the job has trained, and code the rows for it."""
        self._codes = {"scored": ensemble.code(self.job.rows.scored)}
        if self.job.rows.calibrating is not None:
            self._codes["calibrating"] = ensemble.code(self.job.rows.calibrating.X)
        self._trained = ensemble
        return ensemble

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
            if self.job.rows.calibration is None:
                winner[part], confidence[part] = ensemble.answers(codes, subsets[part])
                return
            for i, subset in enumerate(subsets[part], start=part.start):
                shares = _calibrated(ensemble.shares(codes, subset), self._calibrator(subset))
                winner[i], confidence[i] = shares.argmax(axis=1), shares.max(axis=1)

        n_jobs = self._workers.n_jobs
        size = min(MOST_AT_ONCE, -(-len(subsets) // n_jobs))
        self._workers.run(answer, list(slices(len(subsets), size)), report)
        return winner, confidence

    def models(self, subsets: BoolArray, report: Report | None = None) -> list[BoostedModel]:
        """Return the model of each subset, restricted to it, and its calibrator or None."""
        del report  # once the shared model is trained, this takes only a moment
        ensemble = self.ensemble
        return [(ensemble.restricted(subset), self._calibrator(subset)) for subset in subsets]

    def _calibrator(self, subset: BoolArray) -> Calibrator | None:
        return self.job.calibrator(self.ensemble, subset, self._codes.get("calibrating"))


class OwnBoosting(OutcomeFitter):
    """Trains a boosted model of its own for each subset, on the rows of one split, and keeps it.

    Parameters are those of `SharedBoosting`.
    """

    def __init__(self, job: BoostingJob, size: BoostingSize | SizeChoice, n_jobs: int = 1) -> None:
        self.job, self.size = job, size
        self.n_train, self.n_scored = job.n_train, len(job.rows.scored)
        self._workers = Workers(n_jobs)
        self._trained: dict[bytes, BoostedModel] = {}

    def chosen(self, subset: BoolArray) -> BoostingSize:
        """The size of the model of a subset, chosen on first use."""
        return self.size.for_subset(subset) if isinstance(self.size, SizeChoice) else self.size

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
            shares = _calibrated(ensemble.probabilities(self.job.rows.scored), calibrator)
            winner[i], confidence[i] = shares.argmax(axis=1), shares.max(axis=1)
        return winner, confidence

    def models(self, subsets: BoolArray, report: Report | None = None) -> list[BoostedModel]:
        """Train each subset, unless it is trained already; return its model and calibrator."""
        new = {one.tobytes(): one for one in subsets if one.tobytes() not in self._trained}
        if new:
            _ = self.job.binned  # before threads ask for them
            if isinstance(self.size, SizeChoice):
                _ = self.size.parts

            def train(key: bytes) -> None:
                self._trained[key] = self.job.for_subset(new[key], self.chosen(new[key]))

            self._workers.run(train, list(new), report)
        return [self._trained[one.tobytes()] for one in subsets]


def _calibrated(shares: FloatArray, calibrator: Calibrator | None) -> FloatArray:
    return shares if calibrator is None else calibrator.apply(shares)


def train_together(
    fitters: Sequence[SharedBoosting], n_jobs: int = 1, report: Report | None = None
) -> None:
    """Train the models of several splits side by side, those that are not trained yet.

    ``report(done, total)`` is called after each. It may raise to stop training.
    """
    waiting = [(one, one.chosen) for one in fitters if not one.is_trained]

    def train(task: tuple[SharedBoosting, BoostingSize]) -> None:
        fitter, size = task
        fitter.put(fitter.job.shared(size))

    Workers(n_jobs).run(train, waiting, report)
