"""The engine of logistic stage models on a device."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from operator import is_not
from typing import Any, Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray, Report
from emsco.models.engine import Answers, LogisticEngine, scaling_of, weights_to_fit
from emsco.models.gpu.bits import TorchBits
from emsco.models.gpu.fitter import TorchFitter
from emsco.models.gpu.library import open_device
from emsco.models.gpu.shard import TorchShard, answers_of
from emsco.models.gpu.table import TrainTable, upload_columns
from emsco.models.layout import Layout
from emsco.models.scaling import Scaling
from emsco.models.splines import SplineBasis

__all__ = ["TorchEngine", "TorchSplit", "on_device"]

_SAMPLED, _SHARE = 1000, 32  # a sample has so many rows for each parameter, or one row in so many
_WORTH_SAMPLING = 4  # times as many rows as a sample has


@dataclass(frozen=True, slots=True, eq=False)
class TorchSplit:
    """Training and scored rows of one split on a device, with their fitter and scaling."""

    shards: Sequence[TorchShard]
    fitter: TorchFitter
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
        *,
        device: Any,
        n_classes: int = 2,
        weights: FloatArray | None = None,
        class_weights: FloatArray | None = None,
        counts: IntArray | None = None,
        missing: BoolArray | None = None,
        by_class: bool = False,
    ) -> Self:
        """Standardise by the training rows and send all to the device; see `SplitRows.cut`."""
        scaling = scaling_of(X, train, weights)
        weights = weights_to_fit(labels, weights, class_weights)
        n_rows = len(train)
        if weights is not None:
            train = train[weights[train] > 0]
        own = scaling, device, n_classes, weights
        table, sample = TrainTable(X, labels, train, *own), None
        wanted = max(_SAMPLED * (X.shape[1] + 1) * (n_classes - 1), len(train) // _SHARE)
        if (stride := len(train) // wanted) >= _WORTH_SAMPLING:
            sample = TrainTable(X, labels, train[::stride], *own)
        counts = None if counts is None else counts[scored]
        layout = Layout.from_rows(labels[scored], n_classes, counts, by_class)
        bits = TorchBits(layout, None if missing is None else missing[scored].T, device)
        shard = TorchShard(X, labels, scored, scaling, bits, layout, device, n_classes)
        return cls([shard], TorchFitter(table, sample, penalty), scaling, n_rows)


class TorchEngine(LogisticEngine):
    """Fits batches of logistic regressions on a device, and keeps their weights.

    Optima, and so probabilities, are those of `LogisticEngine` to the ninth decimal. The weights
    of a model do not depend on the others that are fitted with it.

    Parameters
    ----------
    splits : sequence of TorchSplit
    n_inputs, n_classes, basis
        As for `LogisticEngine`.
    device : torch.device
    """

    def __init__(
        self,
        splits: Sequence[Any],
        n_inputs: int,
        n_classes: int = 2,
        basis: SplineBasis | None = None,
        *,
        device: Any,
    ) -> None:
        super().__init__(splits, n_inputs, n_classes, 1, basis)
        self._device = device
        # Columns of the rows that `answers` had last, and these rows.
        self._sent: list[Any] = []
        self._sent_of: tuple[Any, ...] = ()

    judges_levels = True

    def fit(self, subsets: BoolArray, report: Report | None = None) -> FloatArray:
        """Fit each subset on each split; return the weights, split after split."""
        splits: Sequence[Any] = self.splits
        if len(splits) == 1:
            found = [splits[0].fitter.fit(subsets, report)]
        else:
            found = []
            for split in splits:
                found.append(split.fitter.fit(subsets, None))
                if report:
                    report(len(found), len(splits))
        return np.stack(found, axis=1).reshape(len(subsets), self.kept)

    def judge(
        self, subsets: BoolArray, numbers: FloatArray, slots: IntArray, thresholds: FloatArray
    ) -> None:
        """Put the bits of fitted models, at a threshold for each class, into slots of `bits`.

        `thresholds` may have a line for each slot.
        """
        del subsets  # weights of inputs that a model does not read are 0
        thresholds = np.broadcast_to(thresholds, (len(slots), self.n_classes))
        splits: Sequence[Any] = self.splits
        for split, spread in zip(splits, self.lines(numbers), strict=True):
            for shard in split.shards:
                shard.judge(spread, slots, thresholds)

    def answers(
        self, subsets: BoolArray, numbers: FloatArray, rows: Any, scored: Sequence[IntArray]
    ) -> list[Answers]:
        """Answers of fitted models for the scored rows of each split, by number in `rows`."""
        del subsets
        columns = self._columns(rows, scored)
        return [
            answers_of(own, spread)
            for own, spread in zip(columns, self.lines(numbers), strict=True)
        ]

    def _columns(self, rows: Any, scored: Sequence[IntArray]) -> list[Any]:
        """Rows of each split on the device; they stay there until others are asked for."""
        given = rows, *scored
        if len(given) != len(self._sent_of) or any(map(is_not, given, self._sent_of)):
            found = []
            for split, own in zip(self.splits, scored, strict=True):
                wide, numbers = rows, own
                if self.basis is not None:
                    wide, numbers = self.basis.expand(rows[own]), np.arange(len(own))
                sent = upload_columns(wide, numbers, split.scaling, self._device, len(own))
                found.append(sent)
            self._sent, self._sent_of = found, given
        return self._sent


def on_device(name: str) -> tuple[Any, Any]:
    """Return what cuts splits and what makes an engine of them, on the device of this name."""
    device = open_device(name)
    return partial(TorchSplit.cut, device=device), partial(TorchEngine, device=device)
