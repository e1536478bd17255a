"""What a bank asks of whatever fits and judges classifiers; and the batched logistic one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Protocol, Self

import numpy as np

from emsco._typing import BoolArray, FloatArray, IntArray, LabelArray, StageArray, WordArray
from emsco.subsets.logistic import LogisticFits
from emsco.subsets.models import ModelBatch, Models, n_outputs_of
from emsco.subsets.scaling import Scaling
from emsco.subsets.shard import ROWS_PER_SHARD, Shard, cut_shards
from emsco.subsets.workers import Workers, slices

__all__ = ["Engine", "LogisticEngine", "SplitRows", "Table"]

_MOST_MODELS = 256  # fitted together; past this, batches only take more memory
_BATCH_BYTES = 2**26
_WORTH_FITTING = 20_000  # models times rows, below which starting threads takes longer

Report = Callable[[int, int], None]


class Table(Protocol):
    """Bits of some held-out rows by slot; see `BitTable` for the meaning of each."""

    @property
    def bytes_per_slot(self) -> int:
        """Memory that one slot takes."""

    @property
    def word_weights(self) -> IntArray:
        """How much each row of a word counts."""

    @property
    def gaps(self) -> WordArray:
        """Rows in which a feature is missing, (n_features, n_words); (0, n_words) if none."""

    def reserve(self, n_slots: int) -> None:
        """Make room."""

    def bits(self, slots: IntArray) -> WordArray:
        """Rows accepted, and accepted correctly."""

    def add_counts(
        self,
        designs: StageArray,
        chains: IntArray,
        n_stages: IntArray,
        exits: IntArray,
        hits: IntArray,
    ) -> None:
        """Add, per design and stage, rows that leave there and rows that leave correctly."""


class Engine(Protocol):
    """Fits one classifier per subset of the inputs, and judges the held-out rows by it.

    `kept` numbers of a fitted subset are all that is remembered of it; `n_train` is how many
    training rows there are, over all splits.
    """

    kept: int
    n_train: int
    tables: Sequence[Table]

    def fit(self, subsets: BoolArray, report: Report | None = None) -> FloatArray:
        """Fit subsets of the inputs, (n_subsets, n_inputs): what is kept, (n_subsets, kept)."""

    def judge(
        self, subsets: BoolArray, numbers: FloatArray, slots: IntArray, thresholds: FloatArray
    ) -> None:
        """Put the bits of fitted subsets at a threshold for each class into slots of all tables."""


@dataclass(frozen=True, slots=True, eq=False)
class SplitRows:
    """Training and held-out rows of one split, as shards, with what the fits need to know."""

    shards: Sequence[Shard]
    fits: LogisticFits
    scaling: Scaling
    n_rows: int

    @classmethod
    def cut(
        cls,
        X: FloatArray,
        labels: LabelArray,
        train: IntArray,
        held_out: IntArray,
        penalty: float = 1.0,
        rows_per_shard: int = ROWS_PER_SHARD,
        *,
        n_classes: int = 2,
        weights: FloatArray | None = None,
        counts: IntArray | None = None,
        gaps: BoolArray | None = None,
    ) -> Self:
        """Standardise by the training rows and cut into shards; see `cut_shards`."""
        own = None if weights is None else weights[train]
        scaling = Scaling.learn(X[train], own)
        shards = cut_shards(
            X,
            labels,
            train,
            held_out,
            scaling,
            rows_per_shard,
            n_classes=n_classes,
            weights=weights,
            counts=counts,
            gaps=gaps,
        )
        total = len(train) if own is None else float(own.sum())
        fits = LogisticFits(shards, X.shape[1], total, penalty, n_classes)
        return cls(shards, fits, scaling, len(train))


class LogisticEngine:
    """Batches of logistic regressions, in threads; kept as their weights.

    Parameters
    ----------
    splits : sequence of SplitRows
        Every (split, held-out row) pair is one scored row.
    n_inputs : int
    n_classes : int
    n_jobs : int
        Threads. They change nothing but the time it takes.
    """

    def __init__(
        self, splits: Sequence[SplitRows], n_inputs: int, n_classes: int = 2, n_jobs: int = 1
    ) -> None:
        self.splits = splits
        self.n_inputs, self.n_classes = n_inputs, n_classes
        self.n_outputs = n_outputs_of(n_classes)
        self.kept = len(splits) * self.n_outputs * (n_inputs + 1)
        self.n_train = sum(split.n_rows for split in splits)
        self.tables: Sequence[Table] = [shard for split in splits for shard in split.shards]
        self._workers = Workers(n_jobs)

    def fit(self, subsets: BoolArray, report: Report | None = None) -> FloatArray:
        """Weights of each subset's classifiers, split after split."""
        shape = (len(subsets), len(self.splits), self.n_outputs, self.n_inputs + 1)
        found, n_jobs = np.empty(shape), self._workers.n_jobs
        largest = max(1, _BATCH_BYTES // ModelBatch.bytes_per_model(self.n_inputs, self.n_classes))
        worth = len(subsets) * self.n_train > _WORTH_FITTING
        share = -(-len(subsets) // (4 * n_jobs)) if worth else len(subsets)
        size = min(_MOST_MODELS, largest, max(8, share))
        by_size = np.argsort(subsets.sum(axis=1), kind="stable")

        def fit(task: tuple[slice, int]) -> None:
            batch, split = by_size[task[0]], task[1]
            weights = self.splits[split].fits.fit(subsets[batch]).spread(self.n_inputs)
            found[batch, split] = weights.reshape(len(batch), self.n_outputs, -1)

        tasks = list(product(slices(len(subsets), size), range(len(self.splits))))
        self._workers.run(fit, tasks, report)
        return found.reshape(len(subsets), self.kept)

    def coefs(self, numbers: FloatArray) -> FloatArray:
        """Weights by split and subset: (n_splits, n_subsets, n_outputs, n_inputs + 1)."""
        shape = (len(numbers), len(self.splits), self.n_outputs, self.n_inputs + 1)
        return numbers.reshape(shape).swapaxes(0, 1)

    def judge(
        self, subsets: BoolArray, numbers: FloatArray, slots: IntArray, thresholds: FloatArray
    ) -> None:
        """Put the bits of fitted subsets at a threshold for each class into slots of all tables."""
        coefs = self.coefs(numbers)
        coefs = coefs[:, :, 0] if self.n_outputs == 1 else coefs

        def judge(part: slice) -> None:
            for split, spread in zip(self.splits, coefs, strict=True):
                models = Models.of(subsets[part], spread[part])
                for shard in split.shards:
                    shard.judge(models, slots[part], thresholds)

        size = max(256, -(-len(slots) // self._workers.n_jobs))
        self._workers.run(judge, list(slices(len(slots), size)))
