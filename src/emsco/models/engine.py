"""An engine fits the models of a bank and asks them about rows; here, logistic models in batches.

`emsco.models.outcome_engine` has the engine of all other models.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass
from itertools import product
from typing import Any, Self, TypeAlias

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray, Report
from emsco._base.workers import Workers, one_thread, slices
from emsco.models.batches import ModelBatch, Models, n_outputs_of
from emsco.models.logistic import LogisticFitter
from emsco.models.scaling import Scaling
from emsco.models.shard import ROWS_PER_SHARD, Shard, SplitData, cut_shards
from emsco.models.splines import SplineBasis

_MOST_MODELS = 256  # fitted together; larger batches are no faster and take more memory
_BATCH_BYTES = 2**26
_PER_FIT = 6e-9  # seconds per training row and input: lab/REPORT.md
_WORTH_FITTING = 20_000  # models times rows; with less work, starting threads takes longer


# Likeliest class of each row, the first of equals, and its probability: both (n_subsets, n_rows).
Answers: TypeAlias = tuple[LabelArray, FloatArray]


class Engine(ABC):
    """Fits one model per subset of the inputs, and asks it about the scored rows.

    Attributes
    ----------
    kept : int
        Numbers kept per model.
    n_train : int
        Training rows, over all splits.
    n_classes : int
    """

    kept: int
    n_train: int
    n_classes: int

    @abstractmethod
    def fit(self, subsets: BoolArray, report: Report | None = None) -> FloatArray:
        """Fit subsets of shape (n_subsets, n_inputs); return numbers, (n_subsets, kept)."""

    @abstractmethod
    def scored_answers(self, subsets: BoolArray, numbers: FloatArray) -> Answers:
        """Answers of fitted models for all scored rows, split after split."""

    @abstractmethod
    def answers(
        self, subsets: BoolArray, numbers: FloatArray, rows: Any, scored: Sequence[IntArray]
    ) -> list[Answers]:
        """Answers of fitted models for the scored rows of each split, by number in `rows`."""

    @abstractmethod
    def without_rows(self) -> Self:
        """Return a copy that can only `answers`, and holds no rows."""

    def seconds_per_fit(self) -> float | None:
        """Estimate the time per model on one core, to a factor of a few; None if unknown.

        A trial fit would make the choice of a search depend on the machine, and the same data must
        lead to the same search everywhere.
        """
        return None


@dataclass(frozen=True, slots=True, eq=False)
class SplitRows:
    """Training and scored rows of one split as shards, with their fitter and scaling."""

    shards: Sequence[Shard]
    fitter: LogisticFitter
    scaling: Scaling
    n_rows: int

    @classmethod
    def cut(
        cls, data: SplitData, penalty: float = 1.0, rows_per_shard: int = ROWS_PER_SHARD
    ) -> Self:
        """Standardise by the training rows and cut into shards."""
        # Class weights change fits alone, so the scaling is learnt before they come in.
        scaling = Scaling.learn(data.X, data.weights, data.train)
        data = data.with_fit_weights()
        shards = cut_shards(data, scaling, rows_per_shard)
        n_inputs, total = data.X.shape[1], data.train_weight
        fitter = LogisticFitter(shards, n_inputs, total, penalty, data.n_classes)
        return cls(shards, fitter, scaling, len(data.train))


class LogisticEngine(Engine):
    """Fits batches of logistic regressions in threads, and keeps their weights.

    Parameters
    ----------
    splits : sequence of SplitRows
        Every pair of a split and one of its scored rows counts as one row.
    n_inputs : int
    n_classes : int
    n_jobs : int
        Threads. The results do not depend on it.
    basis : SplineBasis or None
        Made the inputs of the splits from the inputs of rows; None if these are the same.
    """

    def __init__(
        self,
        splits: Sequence[SplitRows],
        n_inputs: int,
        n_classes: int = 2,
        n_jobs: int = 1,
        basis: SplineBasis | None = None,
    ) -> None:
        self.splits = splits
        self.scalings = [split.scaling for split in splits]
        self.basis = basis
        self.n_inputs, self.n_classes = n_inputs, n_classes
        self.n_outputs = n_outputs_of(n_classes)
        # An intercept and a weight for each input, of each output and split.
        self.kept = len(splits) * self.n_outputs * (n_inputs + 1)
        self.n_train = sum(split.n_rows for split in splits)
        self._workers = Workers(n_jobs)

    def without_rows(self) -> Self:
        """Return a copy that can only `answers`, and holds no rows."""
        other = copy(self)
        other.splits = ()
        return other

    def seconds_per_fit(self) -> float:
        """Estimate the time per model on one core from the sizes, to a factor of a few."""
        n_blocks = (self.n_classes - 1) * self.n_classes / 2  # of a Hessian matrix
        return self.n_train * self.n_inputs * n_blocks * _PER_FIT

    def fit(self, subsets: BoolArray, report: Report | None = None) -> FloatArray:
        """Fit each subset on each split; return the weights, split after split."""
        shape = (len(subsets), len(self.splits), self.n_outputs, self.n_inputs + 1)
        weights, n_jobs = np.empty(shape), self._workers.n_jobs
        largest = max(1, _BATCH_BYTES // ModelBatch.bytes_per_model(self.n_inputs, self.n_classes))
        worth = len(subsets) * self.n_train > _WORTH_FITTING
        # Four batches per thread keep all threads busy to the end.
        share = -(-len(subsets) // (4 * n_jobs)) if worth else len(subsets)
        size = min(_MOST_MODELS, largest, max(8, share))
        # A batch is as wide as its largest model, so models of like size share one.
        by_size = np.argsort(subsets.sum(axis=1), kind="stable")

        def fit(task: tuple[slice, int]) -> None:
            batch, split = by_size[task[0]], task[1]
            spread = self.splits[split].fitter.fit(subsets[batch]).spread(self.n_inputs)
            # Results go to their own place, so that tasks may end in any order.
            weights[batch, split] = spread.reshape(len(batch), self.n_outputs, -1)

        for one in self.splits:  # not in threads, which would do it several times
            one.fitter.prepare()
        tasks = list(product(slices(len(subsets), size), range(len(self.splits))))
        # Wide models are made with matrix products, whose last bits depend on threads.
        is_wide = any(one.fitter.is_wide for one in self.splits)
        with one_thread() if is_wide else nullcontext():
            self._workers.run(fit, tasks, report)
        return weights.reshape(len(subsets), self.kept)

    def coefs(self, numbers: FloatArray) -> FloatArray:
        """Arrange weights by split and subset: (n_splits, n_subsets, n_outputs, n_inputs + 1)."""
        shape = (len(numbers), len(self.scalings), self.n_outputs, self.n_inputs + 1)
        # The first axis is the split, as models of a split share a scaling.
        return numbers.reshape(shape).swapaxes(0, 1)

    def lines(self, numbers: FloatArray) -> FloatArray:
        """Arrange weights as `coefs` does, without an axis for a single output."""
        coefs = self.coefs(numbers)
        return coefs[:, :, 0] if self.n_outputs == 1 else coefs

    def scored_answers(self, subsets: BoolArray, numbers: FloatArray) -> Answers:
        """Answers of fitted models for all scored rows, split after split."""
        n_scored = sum(shard.n_scored for split in self.splits for shard in split.shards)
        winner = np.empty((len(subsets), n_scored), dtype=np.uint8)
        confidence, begin = np.empty(winner.shape), 0
        for split, spread in zip(self.splits, self.lines(numbers), strict=True):
            models = Models.from_subsets(subsets, spread)
            for shard in split.shards:
                shard.answer(models, begin, winner, confidence)
                begin += shard.n_scored
        return winner, confidence

    def answers(
        self, subsets: BoolArray, numbers: FloatArray, rows: Any, scored: Sequence[IntArray]
    ) -> list[Answers]:
        """Answers of fitted models for the scored rows of each split, by number in `rows`."""
        answers = []
        by_split = zip(self.scalings, self.lines(numbers), scored, strict=True)
        for scaling, spread, of_split in by_split:
            models, shape = Models.from_subsets(subsets, spread), (len(subsets), len(of_split))
            winner, confidence = np.empty(shape, dtype=np.uint8), np.empty(shape)
            # In parts, so that rows in single precision are not all copied.
            for part in slices(len(of_split), ROWS_PER_SHARD):
                block = rows[of_split[part]]
                block = block if self.basis is None else self.basis.expand(block)
                judged = answers_of(models, scaling, block, self.n_classes)
                winner[:, part], confidence[:, part] = judged
            answers.append((winner, confidence))
        return answers


def answers_of(models: Models, scaling: Scaling, rows: FloatArray, n_classes: int) -> Answers:
    """Answers of fitted models for rows: the likeliest class of each and its probability."""
    filled, n_models = scaling.filled(rows), len(models.sizes)
    never = np.full(n_classes, 2.0)  # no confidence reaches it
    winner = np.empty((n_models, len(rows)), dtype=np.uint8)
    confidence = np.empty(winner.shape)
    for m in range(n_models):
        _, winner[m], confidence[m] = models.decide(
            filled, scaling.mean, scaling.inverse, never, m, m + 1
        )
    return winner, confidence
