"""Boosted trees for every subset of the inputs: one model of a split for all, or one for each."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, LabelArray, Report
from emsco._base.workers import Workers, slices
from emsco.models.boosting.trainer import BoostingJob, SizeChoice
from emsco.models.boosting.trees import MOST_AT_ONCE, TreeEnsemble
from emsco.models.fitter import Fitter
from emsco.models.rows import FilledRows, FitOptions, SplitData


class BoostingFitter(Fitter):
    """Trains a boosted model of its own for each subset, and keeps it.

    Parameters
    ----------
    job : BoostingJob
        The rows of the split.
    size : SizeChoice
        May serve the fitters of all splits.
    workers : Workers
        Threads. The results do not depend on their number.
    """

    @classmethod
    def open(cls, parts: Sequence[SplitData], options: FitOptions) -> list[Any]:
        """Open a fitter for each split; the first split chooses sizes for all."""
        kind = SharedBoosting if options.shared else cls
        rows = map(FilledRows.of_split, parts)
        jobs = [BoostingJob(one, options.input_feature) for one in rows]
        size = SizeChoice(jobs[0])
        return [kind(job, size, options.workers) for job in jobs]

    def __init__(self, job: BoostingJob, size: SizeChoice, workers: Workers | None = None) -> None:
        super().__init__(job.rows)
        self.job, self.size, self.workers = job, size, workers or Workers()
        self._trained: dict[bytes, TreeEnsemble] = {}

    def models(self, subsets: BoolArray, report: Report | None = None) -> list[TreeEnsemble]:
        """Train each subset, unless it is trained already."""
        new = {one.tobytes(): one for one in subsets if one.tobytes() not in self._trained}
        if new:
            _ = self.job.binned, self.size.parts  # before threads ask for them

            def train(key: bytes) -> None:
                size = self.size.for_subset(new[key])
                self._trained[key] = self.job.for_subset(new[key], size)

            self.workers.run(train, list(new), report)
        return [self._trained[one.tobytes()] for one in subsets]


class SharedBoosting(BoostingFitter):
    """One boosted model of a split answers for every subset of the features.

    It is trained on copies of the training rows in which features are blanked out. Training waits
    until the model is first used, so a search that is replayed does not pay for it.
    """

    _ensemble: TreeEnsemble | None = None

    @staticmethod
    def prepare(fitters: Sequence[SharedBoosting], report: Report | None = None) -> None:
        """Train the models of several splits side by side, those that are not trained yet."""
        waiting = [(one, one.size.shared) for one in fitters if one._ensemble is None]
        fitters[0].workers.run(lambda task: task[0]._train(), waiting, report)

    @property
    def ensemble(self) -> TreeEnsemble:
        """The model, trained on first use."""
        return self._ensemble or self._train()

    def _train(self) -> TreeEnsemble:
        ensemble = self.job.shared(self.size.shared)
        self._codes = ensemble.code(self.rows.scored)
        self._ensemble = ensemble
        return ensemble

    def models(self, subsets: BoolArray, report: Report | None = None) -> list[TreeEnsemble]:
        """Restrict the model to each subset."""
        del report  # once the shared model is trained, this takes only a moment
        return [self.ensemble.restricted(subset) for subset in subsets]

    def answer(
        self, subsets: BoolArray, report: Report | None = None
    ) -> Generator[tuple[LabelArray, FloatArray], None, None]:
        """Yield the model's answers for each subset."""
        winner = np.empty((len(subsets), self.n_scored), dtype=np.int64)
        confidence = np.empty(winner.shape)
        if len(subsets):
            ensemble = self.ensemble

            def answer(part: slice) -> None:
                winner[part], confidence[part] = ensemble.answers(self._codes, subsets[part])

            size = min(MOST_AT_ONCE, -(-len(subsets) // self.workers.n_jobs))
            self.workers.run(answer, list(slices(len(subsets), size)), report)
        yield from zip(winner, confidence, strict=True)
