"""Engines fit the models of a bank and judge rows by them: logistic models in batches, or any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Protocol, Self, TypeAlias

import numpy as np

from emsco._base.leaves import LEAF, n_leaves_of, split_by_leaf
from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray, Report, SingleArray
from emsco._base.workers import Workers, in_threads, slices
from emsco.models.batches import ModelBatch, Models, n_outputs_of
from emsco.models.bits import BitBank, Bits, Layout, margins_of, pack
from emsco.models.calibration import Calibrator, calibration_split
from emsco.models.logistic import LogisticFitter
from emsco.models.scaling import Scaling, Spread, squares_about
from emsco.models.shard import ROWS_PER_SHARD, Shard, cut_shards
from emsco.models.splines import SplineBasis

_MOST_MODELS = 256  # fitted together; larger batches are no faster and take more memory
_BATCH_BYTES = 2**26
_MEASURED_BYTES = 2**28  # of leaves whose spread is measured at a time
_PER_FIT = 6e-9  # seconds per training row and input: benchmarks/search.py, landscapes
_WORTH_FITTING = 20_000  # models times rows; with less work, starting threads takes longer


# Likeliest class of each row, the first of equals, and its probability: both (n_subsets, n_rows).
Answers: TypeAlias = tuple[LabelArray, FloatArray]


class Engine(Protocol):
    """Fits one model per subset of the inputs, and judges the scored rows by it.

    Attributes
    ----------
    kept : int
        Numbers kept per model.
    n_train : int
        Training rows, over all splits.
    n_classes : int
    judges_levels : bool
        Whether `judge` takes thresholds for each slot, (n_slots, n_classes).
    """

    kept: int
    n_train: int
    n_classes: int
    judges_levels: bool

    @property
    def split_of(self) -> Sequence[int]:
        """Number of the split that each part of `bits` belongs to."""

    @property
    def bits(self) -> Sequence[Bits]:
        """Bits of the scored rows, in one or more parts."""

    def seconds_per_fit(self) -> float | None:
        """Estimate the time per model on one core, to a factor of a few; None if unknown."""

    def fit(self, subsets: BoolArray, report: Report | None = None) -> FloatArray:
        """Fit subsets of shape (n_subsets, n_inputs); return numbers, (n_subsets, kept)."""

    def judge(
        self, subsets: BoolArray, numbers: FloatArray, slots: IntArray, thresholds: FloatArray
    ) -> None:
        """Put the bits of fitted models, at a threshold for each class, into slots of `bits`."""

    def answers(
        self, subsets: BoolArray, numbers: FloatArray, rows: Any, scored: Sequence[IntArray]
    ) -> list[Answers]:
        """Answers of fitted models for the scored rows of each split, by number in `rows`."""

    def margins(self, numbers: FloatArray) -> list[SingleArray]:
        """Margins of fitted models for the rows of each part of `bits`, in the order of bits."""

    @property
    def truth(self) -> list[LabelArray]:
        """Class of each row of each part of `bits`, in the order of bits."""

    def close(self) -> None:
        """Write anything that is not written yet."""


@dataclass(frozen=True, slots=True, eq=False)
class SplitRows:
    """Training and scored rows of one split as shards, with their fitter and scaling."""

    shards: Sequence[Shard]
    fitter: LogisticFitter
    scaling: Scaling
    n_rows: int

    @classmethod
    def cut(
        cls,
        X: FloatArray,
        labels: LabelArray,
        train: IntArray,
        scored: IntArray,
        penalty: float = 1.0,
        rows_per_shard: int = ROWS_PER_SHARD,
        *,
        n_classes: int = 2,
        weights: FloatArray | None = None,
        class_weights: FloatArray | None = None,
        counts: IntArray | None = None,
        missing: BoolArray | None = None,
        by_class: bool = False,
    ) -> Self:
        """Standardise by the training rows and cut into shards; see `cut_shards`.

        `class_weights`, of shape (n_classes,), affect fitting only.
        """
        scaling = scaling_of(X, train, weights)
        weights = weights_to_fit(labels, weights, class_weights)
        shards = cut_shards(
            X,
            labels,
            train,
            scored,
            scaling,
            rows_per_shard,
            n_classes=n_classes,
            weights=weights,
            counts=counts,
            missing=missing,
            by_class=by_class,
        )
        total = len(train) if weights is None else float(weights[train].sum())
        fitter = LogisticFitter(shards, X.shape[1], total, penalty, n_classes)
        return cls(shards, fitter, scaling, len(train))


def weights_to_fit(
    labels: LabelArray, weights: FloatArray | None, class_weights: FloatArray | None
) -> FloatArray | None:
    """Weights of rows for fitting: their own, times those of their classes; None if all are 1."""
    if class_weights is None:
        return weights
    found: FloatArray = class_weights[labels] * (1.0 if weights is None else weights)
    return found


def scaling_of(X: FloatArray, train: IntArray, weights: FloatArray | None) -> Scaling:
    """Standardise by training rows, leaf by leaf."""
    train = train if weights is None else train[weights[train] > 0]
    leaves = split_by_leaf(train, n_leaves_of(len(X)))
    own = [None if weights is None else weights[rows] for rows in leaves]
    parts = list(zip(leaves, own, strict=True))
    most = _MEASURED_BYTES // (3 * 8 * LEAF * X.shape[1])  # squares and distances beside the rows
    return Scaling.from_parts(
        in_threads(lambda part: Spread.from_rows(X[part[0]], part[1]), parts, most),
        lambda mean: in_threads(lambda part: squares_about(mean, X[part[0]], part[1]), parts, most),
    )


class LogisticEngine:
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

    judges_levels = False

    def __init__(
        self,
        splits: Sequence[SplitRows],
        n_inputs: int,
        n_classes: int = 2,
        n_jobs: int = 1,
        basis: SplineBasis | None = None,
    ) -> None:
        self.splits = splits
        self.basis = basis
        self.n_inputs, self.n_classes = n_inputs, n_classes
        self.n_outputs = n_outputs_of(n_classes)
        self.kept = len(splits) * self.n_outputs * (n_inputs + 1)
        self.n_train = sum(split.n_rows for split in splits)
        self.bits = [shard.bits for split in splits for shard in split.shards]
        self.split_of = [i for i, split in enumerate(splits) for _ in split.shards]
        self._workers = Workers(n_jobs)

    def seconds_per_fit(self) -> float:
        """Estimate the time per model on one core from the sizes, to a factor of a few."""
        n_blocks = (self.n_classes - 1) * self.n_classes / 2  # of a Hessian matrix
        return self.n_train * self.n_inputs * n_blocks * _PER_FIT

    def fit(self, subsets: BoolArray, report: Report | None = None) -> FloatArray:
        """Fit each subset on each split; return the weights, split after split."""
        shape = (len(subsets), len(self.splits), self.n_outputs, self.n_inputs + 1)
        found, n_jobs = np.empty(shape), self._workers.n_jobs
        largest = max(1, _BATCH_BYTES // ModelBatch.bytes_per_model(self.n_inputs, self.n_classes))
        worth = len(subsets) * self.n_train > _WORTH_FITTING
        # Four batches per thread keep all threads busy to the end.
        share = -(-len(subsets) // (4 * n_jobs)) if worth else len(subsets)
        size = min(_MOST_MODELS, largest, max(8, share))
        # A batch is as wide as its largest model, so models of like size share one.
        by_size = np.argsort(subsets.sum(axis=1), kind="stable")

        def fit(task: tuple[slice, int]) -> None:
            batch, split = by_size[task[0]], task[1]
            weights = self.splits[split].fitter.fit(subsets[batch]).spread(self.n_inputs)
            found[batch, split] = weights.reshape(len(batch), self.n_outputs, -1)

        for one in self.splits:  # not in threads, which would do it several times
            one.fitter.prepare()
        tasks = list(product(slices(len(subsets), size), range(len(self.splits))))
        self._workers.run(fit, tasks, report)
        return found.reshape(len(subsets), self.kept)

    def coefs(self, numbers: FloatArray) -> FloatArray:
        """Arrange weights by split and subset: (n_splits, n_subsets, n_outputs, n_inputs + 1)."""
        shape = (len(numbers), len(self.splits), self.n_outputs, self.n_inputs + 1)
        return numbers.reshape(shape).swapaxes(0, 1)

    def lines(self, numbers: FloatArray) -> FloatArray:
        """Arrange weights as `coefs` does, without an axis for a single output."""
        coefs = self.coefs(numbers)
        return coefs[:, :, 0] if self.n_outputs == 1 else coefs

    def judge(
        self, subsets: BoolArray, numbers: FloatArray, slots: IntArray, thresholds: FloatArray
    ) -> None:
        """Put the bits of fitted models, at a threshold for each class, into slots of `bits`."""
        coefs = self.lines(numbers)

        def judge(part: slice) -> None:
            for split, spread in zip(self.splits, coefs, strict=True):
                models = Models.from_subsets(subsets[part], spread[part])
                for shard in split.shards:
                    shard.judge(models, slots[part], thresholds)

        n_jobs = self._workers.n_jobs
        worth = len(slots) * self.n_train > _WORTH_FITTING
        size = max(8, -(-len(slots) // (4 * n_jobs))) if worth else len(slots)
        self._workers.run(judge, list(slices(len(slots), size)))

    def answers(
        self, subsets: BoolArray, numbers: FloatArray, rows: Any, scored: Sequence[IntArray]
    ) -> list[Answers]:
        """Answers of fitted models for the scored rows of each split, by number in `rows`."""
        coefs = self.lines(numbers)
        found = []
        for split, spread, own in zip(self.splits, coefs, scored, strict=True):
            models, shape = Models.from_subsets(subsets, spread), (len(subsets), len(own))
            winner, confidence = np.empty(shape, dtype=np.uint8), np.empty(shape)
            for part in slices(len(own), ROWS_PER_SHARD):
                block = rows[own[part]]
                block = block if self.basis is None else self.basis.expand(block)
                judged = answers_of(models, split.scaling, block, self.n_classes)
                winner[:, part], confidence[:, part] = judged
            found.append((winner, confidence))
        return found

    def margins(self, numbers: FloatArray) -> list[SingleArray]:
        """Margins of fitted models for the rows of each part of `bits`, in the order of bits."""
        coefs = self.lines(numbers)
        return [
            margins_of(*shard.answers(spread), shard.truth, self.n_classes)
            for split, spread in zip(self.splits, coefs, strict=True)
            for shard in split.shards
        ]

    @property
    def truth(self) -> list[LabelArray]:
        """Class of each row of each part of `bits`, in the order of bits."""
        return [shard.truth for split in self.splits for shard in split.shards]

    def close(self) -> None:
        """Do nothing: this engine writes no files."""


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


class OutcomeFitter(Protocol):
    """Fits a model per subset of the inputs, on the training rows of one split."""

    n_train: int
    n_scored: int

    def outcomes(self, subsets: BoolArray, report: Report | None = None) -> Any:
        """Fit each subset; return classes and probabilities, both (n_subsets, n_scored)."""

    def models(self, subsets: BoolArray, report: Report | None = None) -> list[Any]:
        """Fit each subset; return `EstimatorModel`s, or weights or trees with a calibrator."""

    def close(self) -> None:
        """Write anything that is not written yet."""


class OutcomeEngine:
    """Fits models of any kind, and keeps their answers for the scored rows.

    An answer is the likeliest class of a row and its probability. The bits at any threshold
    follow from it.

    Parameters
    ----------
    fitters : sequence of OutcomeFitter
        One per split.
    layouts : sequence of Layout
        Layout of each split's scored rows.
    labels : sequence of ndarray
        Class of each scored row, by split.
    n_classes : int
    missing : sequence of ndarray of shape (n_scored, n_features), or None
        Missing values of the scored rows, by split.
    prepare : callable, optional
        Called as ``prepare(report)`` before each fit; prepares what all fits need.
    """

    judges_levels = False

    def __init__(
        self,
        fitters: Sequence[OutcomeFitter],
        layouts: Sequence[Layout],
        labels: Sequence[LabelArray],
        n_classes: int,
        missing: Sequence[BoolArray] | None = None,
        prepare: Callable[[Report | None], None] | None = None,
    ) -> None:
        self.fitters = fitters
        self._prepare = prepare
        self.n_classes = n_classes
        self.n_train = sum(one.n_train for one in fitters)
        self.kept = 2 * sum(one.n_scored for one in fitters)
        self._layouts, self._labels = layouts, labels
        self.split_of = range(len(layouts))
        self.bits = [
            BitBank(layout, None if missing is None else missing[i].T)
            for i, layout in enumerate(layouts)
        ]

    def seconds_per_fit(self) -> None:
        """Return None: timing a trial fit would make the choice of a search depend on the machine.

        The same data must lead to the same search everywhere.
        """

    def fit(self, subsets: BoolArray, report: Report | None = None) -> FloatArray:
        """Fit each subset; return classes and probabilities side by side, (n_subsets, kept)."""
        found: list[FloatArray] = []
        if self._prepare:
            self._prepare(report)
        for one in self.fitters:
            winner, confidence = one.outcomes(subsets, report)
            found += [winner.astype(np.float64), confidence]
        return np.concatenate(found, axis=1)

    def judge(
        self, subsets: BoolArray, numbers: FloatArray, slots: IntArray, thresholds: FloatArray
    ) -> None:
        """Put the bits of fitted models, at a threshold for each class, into slots of `bits`."""
        parts = zip(
            self.answers(subsets, numbers), self.bits, self._layouts, self._labels, strict=True
        )
        for (winner, confidence), bits, layout, labels in parts:
            sure = confidence >= thresholds[winner]
            correct = sure & (winner == labels)
            bits.put(slots, pack(sure[:, layout.rows]), pack(correct[:, layout.rows]))

    def answers(
        self,
        subsets: BoolArray,
        numbers: FloatArray,
        rows: Any = None,
        scored: Sequence[IntArray] = (),
    ) -> list[Answers]:
        """Answers of fitted models for the scored rows of each split."""
        del subsets, rows, scored  # `numbers` holds the answers
        parts = iter(np.split(numbers, self._cuts, axis=1))
        return [(next(parts).astype(np.uint8), next(parts)) for _ in self.fitters]

    def margins(self, numbers: FloatArray) -> list[SingleArray]:
        """Margins of fitted models for the rows of each part of `bits`, in the order of bits."""
        every = np.ones((len(numbers), 0), dtype=np.bool_)
        rows = [layout.rows for layout in self._layouts]
        parts = zip(self.answers(every, numbers), rows, self.truth, strict=True)
        return [
            margins_of(winner[:, own], confidence[:, own], truth, self.n_classes)
            for (winner, confidence), own, truth in parts
        ]

    @property
    def truth(self) -> list[LabelArray]:
        """Class of each row of each part of `bits`, in the order of bits."""
        parts = zip(self._labels, self._layouts, strict=True)
        return [labels[layout.rows] for labels, layout in parts]

    def close(self) -> None:
        """Have the fitters write their caches to disk."""
        for one in self.fitters:
            one.close()

    @property
    def _cuts(self) -> IntArray:
        """Columns at which the answers of the next split, or their probabilities, begin."""
        return np.cumsum(np.repeat([one.n_scored for one in self.fitters], 2))[:-1]


_AT_ONCE = 256


class CalibratedFitter:
    """Fits logistic regressions, and calibrates them on training rows set aside for it.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_inputs)
    labels : ndarray of shape (n_rows,)
    train, scored : ndarray
        Row numbers: `train` to fit and calibrate, `scored` to answer for.
    weights : ndarray of shape (n_rows,) or None
        Weight of each row in fitting and calibration.
    class_weights : ndarray of shape (n_classes,) or None
        Further weight of each class, in fitting only.
    classes : sequence
    calibration : {"sigmoid", "isotonic"}
    seed : int
        Seed of the choice of calibration rows.
    penalty : float
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
        calibration: str,
        seed: int,
        penalty: float = 1.0,
    ) -> None:
        fitting, calibrating = calibration_split(train, labels, seed=seed, classes=classes)
        self.n_train, self.n_scored = len(train), len(scored)
        self._kind = calibration
        self._split = SplitRows.cut(
            X,
            labels,
            fitting,
            fitting[:0],
            penalty,
            n_classes=len(classes),
            weights=weights,
            class_weights=class_weights,
        )
        self._calibrating = self.scaling.filled(X[calibrating])
        self._truth = labels[calibrating]
        self._weights = None if weights is None else weights[calibrating]
        self._scored = self.scaling.filled(X[scored])

    @property
    def scaling(self) -> Scaling:
        """Mean and deviation of the inputs."""
        return self._split.scaling

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
            models = self._split.fitter.fit(subsets[part])
            for m in range(len(models.sizes)):
                calibrator = self._calibrator(models, m)
                found = calibrator.apply(self._probabilities(models, m, self._scored))
                winner[start + m] = found.argmax(axis=1)
                confidence[start + m] = found.max(axis=1)
            if report:
                report(min(start + _AT_ONCE, len(subsets)), len(subsets))
        return winner, confidence

    def models(
        self, subsets: BoolArray, report: Report | None = None
    ) -> list[tuple[FloatArray, Calibrator]]:
        """Fit each subset; return its weights, (n_outputs, n_inputs + 1), and its calibrator."""
        del report  # these fits take only a moment
        models = self._split.fitter.fit(subsets)
        spread = models.spread(subsets.shape[1]).reshape(len(subsets), -1, subsets.shape[1] + 1)
        return [(coefs, self._calibrator(models, m)) for m, coefs in enumerate(spread)]

    def close(self) -> None:
        """Do nothing: this fitter writes no files."""

    def _calibrator(self, models: Models, m: int) -> Calibrator:
        said = self._probabilities(models, m, self._calibrating)
        return Calibrator.learn(self._kind, said, self._truth, self._weights)

    def _probabilities(self, models: Models, m: int, rows: FloatArray) -> FloatArray:
        return models.probabilities(rows, self.scaling.mean, self.scaling.inverse, m)
