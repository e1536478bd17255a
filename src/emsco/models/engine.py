"""What fits and judges the classifiers of a bank: logistic ones in batches, or any others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol, Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray, Report
from emsco._base.workers import Workers, slices
from emsco.models.batches import ModelBatch, Models, n_outputs_of
from emsco.models.bits import BitBank, Table
from emsco.models.layout import Layout, pack
from emsco.models.logistic import LogisticFitter
from emsco.models.scaling import Scaling
from emsco.models.shard import ROWS_PER_SHARD, Shard, cut_shards

__all__ = ["Engine", "LogisticEngine", "OutcomeEngine", "OutcomeFitter", "SplitRows"]

_MOST_MODELS = 256  # fitted together; past this, batches only take more memory
_BATCH_BYTES = 2**26
_PER_FIT = 6e-9  # seconds, for each training row and input: benchmarks/search.py, landscapes
_WORTH_FITTING = 20_000  # models times rows, below which starting threads takes longer


class Engine(Protocol):
    """Fits one classifier per subset of the inputs, and judges the held-out rows by it.

    `kept` numbers of a fitted subset are all that is remembered of it; `n_train` is how many
    training rows there are, over all splits.
    """

    kept: int
    n_train: int
    n_classes: int
    tables: Sequence[Table]

    def seconds_per_fit(self) -> float | None:
        """How long a subset takes on one core, good to a factor of a few; None if nobody knows."""

    def fit(self, subsets: BoolArray, report: Report | None = None) -> FloatArray:
        """Fit subsets of the inputs, (n_subsets, n_inputs): what is kept, (n_subsets, kept)."""

    def judge(
        self, subsets: BoolArray, numbers: FloatArray, slots: IntArray, thresholds: FloatArray
    ) -> None:
        """Put the bits of fitted subsets at a threshold for each class into slots of all tables."""

    def close(self) -> None:
        """Write what is not yet written, where anything is."""


@dataclass(frozen=True, slots=True, eq=False)
class SplitRows:
    """Training and held-out rows of one split, as shards, with what the fits need to know."""

    shards: Sequence[Shard]
    fits: LogisticFitter
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
        class_weights: FloatArray | None = None,
        counts: IntArray | None = None,
        missing: BoolArray | None = None,
    ) -> Self:
        """Standardise by the training rows and cut into shards; see `cut_shards`.

        Weights by class, of shape (n_classes,), count in the fits and nowhere else.
        """
        scaling = Scaling.learn(X[train], None if weights is None else weights[train])
        if class_weights is not None:
            weights = class_weights[labels] * (1.0 if weights is None else weights)
        own = None if weights is None else weights[train]
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
            missing=missing,
        )
        total = len(train) if own is None else float(own.sum())
        fits = LogisticFitter(shards, X.shape[1], total, penalty, n_classes)
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
        self.tables: Sequence[Table] = [shard.table for split in splits for shard in split.shards]
        self._workers = Workers(n_jobs)

    def seconds_per_fit(self) -> float:
        """How long a subset takes on one core, by the sizes: good to a factor of a few."""
        n_blocks = (self.n_classes - 1) * self.n_classes / 2  # of a Hessian
        return self.n_train * self.n_inputs * n_blocks * _PER_FIT

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
                models = Models.from_subsets(subsets[part], spread[part])
                for shard in split.shards:
                    shard.judge(models, slots[part], thresholds)

        size = max(256, -(-len(slots) // self._workers.n_jobs))
        self._workers.run(judge, list(slices(len(slots), size)))

    def close(self) -> None:
        """Nothing is written."""


class OutcomeFitter(Protocol):
    """Classifiers of subsets of the inputs, fitted on the training rows of one split."""

    n_train: int
    n_held_out: int

    def outcomes(self, subsets: BoolArray, report: Report | None = None) -> Any:
        """Likeliest class of each held-out row and its probability, (n_subsets, n_held_out)."""

    def models(self, subsets: BoolArray, report: Report | None = None) -> list[Any]:
        """The fitted classifiers themselves: `EstimatorModel`s, or weights and calibrators."""

    def close(self) -> None:
        """Write what is not yet written, where anything is."""


class OutcomeEngine:
    """Any classifiers, by what they say about each held-out row.

    Of a fitted one only the likeliest class of each held-out row and its probability are kept,
    from which the bits at any threshold follow.

    Parameters
    ----------
    fits : sequence of OutcomeFitter
    layouts : sequence of Layout
        Where the bits of each split's held-out rows stand, by position among them.
    labels : sequence of ndarray
        Class of each held-out row, by split.
    n_classes : int
    missing : sequence of ndarray of shape (n_held_out, n_features), or None
        Rows with a gap, by feature and split.
    """

    def __init__(
        self,
        fits: Sequence[OutcomeFitter],
        layouts: Sequence[Layout],
        labels: Sequence[LabelArray],
        n_classes: int,
        missing: Sequence[BoolArray] | None = None,
    ) -> None:
        self.fits = fits
        self.n_classes = n_classes
        self.n_train = sum(one.n_train for one in fits)
        self.kept = 2 * sum(one.n_held_out for one in fits)
        self._layouts, self._labels = layouts, labels
        self._bits = [
            BitBank(layout, None if missing is None else missing[i].T)
            for i, layout in enumerate(layouts)
        ]
        self.tables: Sequence[Table] = self._bits

    def seconds_per_fit(self) -> None:
        """Nobody knows: a trial would make the choice of a search depend on the machine."""

    def fit(self, subsets: BoolArray, report: Report | None = None) -> FloatArray:
        """Classes and probabilities side by side, shape (n_subsets, kept)."""
        found: list[FloatArray] = []
        for one in self.fits:
            winner, confidence = one.outcomes(subsets, report)
            found += [winner.astype(np.float64), confidence]
        return np.concatenate(found, axis=1)

    def judge(
        self, subsets: BoolArray, numbers: FloatArray, slots: IntArray, thresholds: FloatArray
    ) -> None:
        """Store the bits of subsets at a threshold for each class."""
        del subsets  # what they say is all there is to know
        parts = iter(np.split(numbers, self._cuts, axis=1))
        for table, layout, labels in zip(self._bits, self._layouts, self._labels, strict=True):
            winner, confidence = next(parts).astype(np.int64), next(parts)
            sure = confidence >= thresholds[winner]
            right = sure & (winner == labels)
            table.put(slots, pack(sure[:, layout.rows]), pack(right[:, layout.rows]))

    def close(self) -> None:
        """Write what the caches of the fits have not yet written."""
        for one in self.fits:
            one.close()

    @property
    def _cuts(self) -> IntArray:
        return np.cumsum(np.repeat([one.n_held_out for one in self.fits], 2))[:-1]
