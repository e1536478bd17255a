"""The stages of a cascade: the features they buy, their costs, and their judgement of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.digests import fingerprint
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco.costs.prices import StagePrices
from emsco.data.encoding import Encoding
from emsco.models.stage_models import Judgement, StageModels


@dataclass(frozen=True, eq=False)
class Stages:
    """The stages of a cascade, prepared for deciding rows.

    Attributes
    ----------
    buys : tuple of tuple of str
        Features that each stage buys.
    columns : tuple of tuple of str
        Columns of these features.
    inputs : tuple of tuple of int
        Positions of the model inputs that the columns become.
    costs : tuple of float
        Cost of a row after each stage; with prices by row, of a row with the usual prices.
    classes : ndarray of shape (n_classes,)
    labels : tuple
        The classes as plain values.
    thresholds : ndarray of shape (n_stages, n_classes)
        Confidence that each stage needs to give each class as the label.
    encoding : Encoding
    models : StageModels
    prices : StagePrices
        Features whose price differs from row to row.
    delays : tuple of float
        Time that a row has waited after each stage; empty if no value comes later.
    label_costs : ndarray of shape (n_classes, n_classes) or None
        Cost of each label for a row of each class, if labels are those of least expected cost.
    """

    buys: tuple[tuple[str, ...], ...]
    columns: tuple[tuple[str, ...], ...]
    inputs: tuple[tuple[int, ...], ...]
    costs: tuple[float, ...]
    classes: AnyArray
    labels: tuple[object, ...]
    thresholds: FloatArray
    encoding: Encoding
    models: StageModels
    prices: StagePrices
    delays: tuple[float, ...] = ()
    label_costs: FloatArray | None = None

    def __len__(self) -> int:
        """Number of stages."""
        return len(self.buys)

    def label(self, rows: FloatArray, first: int, end: int) -> Judgement:
        """Judge rows; return the label of least expected cost and its probability, if it is wanted.

        Without costs of labels, that is what `judge` returns. Rows leave at the same stages.
        """
        left, winner, confidence = self.judge(rows, first, end)
        if self.label_costs is not None:
            # Rows that never leave get the label of the last stage.
            last = np.minimum(left, end - 1)
            for j in range(first, end):
                here = np.flatnonzero(last == j)
                if here.size:
                    probabilities = self.probabilities(rows[here], j)
                    winner[here] = _cheapest(probabilities, self.label_costs)
                    confidence[here] = probabilities[np.arange(len(here)), winner[here]]
        return left, winner, confidence

    def label_bought(self, rows: FloatArray, n_bought: IntArray) -> Judgement:
        """The same for rows that have bought the first `n_bought` stages, and judge no others.

        The confidence of a row without any stage is NaN.
        """
        left = np.full(len(rows), len(self))
        winner = np.zeros(len(rows), dtype=np.int64)
        confidence = np.full(len(rows), np.nan)
        for end in np.unique(n_bought[n_bought > 0]).tolist():
            here = np.flatnonzero(n_bought == end)
            left[here], winner[here], confidence[here] = self.label(rows[here], 0, end)
        return left, winner, confidence

    def label_one(self, row: Sequence[float], stage: int) -> tuple[bool, int, float]:
        """The same for one row at one stage: whether it leaves, its label and the probability."""
        sure, winner, confidence = self.judge_one(row, stage)
        if self.label_costs is not None:
            probabilities = self.probabilities(np.array([row], dtype=np.float64), stage)
            winner = int(_cheapest(probabilities, self.label_costs)[0])
            confidence = float(probabilities[0, winner])
        return sure, winner, confidence

    def judge(self, rows: FloatArray, first: int, end: int) -> Judgement:
        """Send encoded rows through the stages from `first` up to, but not including, `end`.

        Returns the stage at which each row leaves, from 0, or the number of stages if it does not
        leave; and the most likely class and its probability at the last stage that judged the
        row. A row never leaves at a stage that it skips.
        """
        if self.encoding.gaps == "refuse":
            return self.models.judge(rows, first, end, self.thresholds)
        skips, rows = self._skips(rows), self.models.filled(rows)
        if skips is None:
            return self.models.judge(rows, first, end, self.thresholds)
        # Complete rows go through all stages in one call, the others stage by stage.
        whole = ~skips.any(axis=1)
        stage, winner = np.zeros((2, len(rows)), dtype=np.int64)
        confidence = np.empty(len(rows))
        stage[whole], winner[whole], confidence[whole] = self.models.judge(
            rows[whole], first, end, self.thresholds
        )
        left = np.flatnonzero(~whole)
        stage[left] = len(self)
        for j in range(first, end):
            sure, winner[left], confidence[left] = self.models.judge(
                rows[left], j, j + 1, self.thresholds
            )
            # A stage that a row skips judges it, too, but must not let it go.
            leaving = (sure == j) & ~skips[left, j]
            stage[left[leaving]] = j
            left = left[~leaving]
        return stage, winner, confidence

    def probabilities(self, rows: FloatArray, stage: int) -> FloatArray:
        """Class probabilities of encoded rows at one stage, shape (n_rows, n_classes)."""
        return self.models.probabilities(self.models.filled(rows), stage)

    def opinions(self, rows: FloatArray) -> tuple[FloatArray, IntArray]:
        """Confidence and most likely class of every row at every stage, both (n_stages, n_rows).

        Every row reaches every stage. The confidence is 0 at a stage that the row skips.
        """
        skips = self._skips(rows) if self.encoding.gaps == "skip" else None
        filled = rows if self.encoding.gaps == "refuse" else self.models.filled(rows)
        confidence = np.empty((len(self), len(rows)))
        winner = np.empty((len(self), len(rows)), dtype=np.int64)
        for j in range(len(self)):
            _, winner[j], confidence[j] = self.models.judge(filled, j, j + 1, self.thresholds)
        if skips is not None:
            # A confidence of 0 reaches no threshold above 0: a skipped stage accepts nobody.
            confidence[skips.T] = 0.0
        return confidence, winner

    def judge_one(self, row: Sequence[float], stage: int) -> tuple[bool, int, float]:
        """Whether one row leaves at a stage; its most likely class there and the probability."""
        winner, confidence = self.models.judge_one(row, stage)
        sure = confidence >= self._thresholds[stage][winner]
        if sure and self.encoding.gaps == "skip":
            sure = all(row[i] == row[i] for i in self.inputs[stage])  # False for NaN
        return sure, winner, confidence

    @property
    def why_rejected(self) -> str:
        """Why a row is rejected that no stage has labelled, in words."""
        return "never sure" if any(self.buys) else "nothing is bought: everyone is rejected"

    @cached_property
    def why_labelled(self) -> AnyArray:
        """Why a row leaves at each stage with each class as its label, in words."""
        reasons = np.empty(self.thresholds.shape, dtype=object)
        for j, thresholds in enumerate(self._thresholds):
            last = "last stage" if j + 1 == len(self) else f"stage {j + 1}"
            for k, label in enumerate(self.labels):
                if not self.buys[j]:
                    why = "the commonest class" if self.label_costs is None else "what costs least"
                    reasons[j, k] = f"nothing is bought: {label!r} is {why}"
                elif self.label_costs is not None:
                    reasons[j, k] = f"leaves at stage {j + 1}, where {label!r} costs least"
                elif thresholds[k] > 0:
                    reasons[j, k] = f"sure at stage {j + 1}"
                elif any(thresholds):
                    reasons[j, k] = f"stage {j + 1} gives {label!r} at any confidence"
                else:
                    reasons[j, k] = f"{last} answers all"
        return reasons

    def _skips(self, rows: FloatArray) -> BoolArray | None:
        """Mark the stages that each row skips for lack of a value; None if no row skips any."""
        if self.encoding.gaps != "skip":
            return None
        missing = np.isnan(rows)
        if not missing.any():
            return None
        return np.column_stack([missing[:, list(used)].any(axis=1) for used in self.inputs])

    @cached_property
    def _thresholds(self) -> list[list[float]]:
        # For a single row, plain lists are faster than arrays.
        thresholds: list[list[float]] = self.thresholds.tolist()
        return thresholds

    @cached_property
    def identity(self) -> str:
        """Digest of everything that decisions depend on."""
        # Ranges only serve warnings; decisions do not depend on them.
        read = self.encoding.without_ranges().to_dict()
        words = [*(f"{label!r}" for label in self.labels), f"{read}"]
        return fingerprint(
            np.array([*words, f"{self.buys}"]),
            np.array(self.costs),
            self.thresholds,
            *self.models.arrays,
            *(() if self.label_costs is None else (self.label_costs,)),
        )


def _cheapest(probabilities: FloatArray, costs: FloatArray) -> IntArray:
    """Return the label of least expected cost of each row; of equals the likeliest.

    Sums are taken class by class, so that a row never depends on its neighbours.
    """
    expected = np.zeros_like(probabilities)
    for k, line in enumerate(costs):
        expected += probabilities[:, k, None] * line
    lowest = expected == expected.min(axis=1, keepdims=True)
    # The other labels are set below any probability, so that the likeliest of these wins.
    cheapest: IntArray = np.where(lowest, probabilities, -1.0).argmax(axis=1)
    return cheapest


@dataclass(frozen=True, slots=True, eq=False)
class FrontModels:
    """Fitted models of every design of a front.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    encoding : Encoding
    of_points : sequence of StageModels
        Models of each point, in the order of the front; those of a file are put together when one
        is asked for.
    everything : StageModels or None
        The model of the single stage that buys all features, for comparison.
    """

    classes: AnyArray
    encoding: Encoding
    of_points: Sequence[StageModels]
    everything: StageModels | None = None

    def __post_init__(self) -> None:
        """Copy and lock the classes."""
        object.__setattr__(self, "classes", locked_copy(self.classes))
