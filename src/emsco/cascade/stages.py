"""The stages of a cascade as what decides rows: what each buys, what it costs, how it judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.digests import fingerprint
from emsco._base.typing import AnyArray, BoolArray, FloatArray, IntArray
from emsco.costs import FeatureCosts
from emsco.data.encoding import Encoding
from emsco.designs.design import Design
from emsco.designs.thresholds import MinConfidence, by_class
from emsco.models.stage_models import Judgement, StageModels

__all__ = ["FrontModels", "Stages"]


@dataclass(frozen=True, eq=False)
class Stages:
    """What each stage buys, what a row has cost by then, and how the stage judges it.

    Attributes
    ----------
    buys : tuple of tuple of str
        Features that each stage buys.
    columns : tuple of tuple of str
        The columns of those features: what to ask for.
    inputs : tuple of tuple of int
        The inputs that these become.
    costs : tuple of float
        What a row has cost after each stage.
    classes : ndarray of shape (n_classes,)
    labels : tuple
        The same as plain values.
    thresholds : ndarray of shape (n_classes,)
        How sure a stage must be of each class.
    encoding : Encoding
    models : StageModels
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

    @classmethod
    def from_design(
        cls,
        design: Design,
        costs: FeatureCosts,
        classes: AnyArray,
        min_confidence: MinConfidence,
        encoding: Encoding,
        models: StageModels,
    ) -> Stages:
        """The stages of a design, with a classifier each."""
        return cls(
            buys=design.buys,
            columns=tuple(
                tuple(column for name in bought for column in encoding.needs(name))
                for bought in design.buys
            ),
            inputs=tuple(tuple(encoding.places(bought)) for bought in design.buys),
            costs=tuple(costs.after_stages(design.subsets()).tolist()),
            classes=classes,
            labels=tuple(classes.tolist()),
            thresholds=by_class(min_confidence, classes),
            encoding=encoding,
            models=models,
        )

    def __len__(self) -> int:
        """Number of stages."""
        return len(self.buys)

    def judge(self, rows: FloatArray, first: int, end: int) -> Judgement:
        """Send encoded rows through the stages from `first` (from 0) up to `end`, left out.

        Gives the stage at which each row leaves, or the number of stages where it does not; and
        the likeliest class and its probability at the last stage that saw the row. A stage that
        is to be skipped for a row may not accept it.
        """
        if self.encoding.gaps == "refuse":
            return self.models.judge(rows, first, end, self.thresholds)
        skips, rows = self._skips(rows), self.models.filled(rows)
        if skips is None:
            return self.models.judge(rows, first, end, self.thresholds)
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
            leaving = (sure == j) & ~skips[left, j]
            stage[left[leaving]] = j
            left = left[~leaving]
        return stage, winner, confidence

    def probabilities(self, rows: FloatArray, stage: int) -> FloatArray:
        """Class probabilities of encoded rows at one stage, shape (n_rows, n_classes)."""
        return self.models.probabilities(self.models.filled(rows), stage)

    def opinions(self, rows: FloatArray) -> tuple[FloatArray, IntArray]:
        """How sure every stage is of encoded rows, and of which class: two (n_stages, n_rows).

        No row leaves on the way. Where a stage is to be skipped for a row, it is not sure at all.
        """
        skips = self._skips(rows) if self.encoding.gaps == "skip" else None
        filled = rows if self.encoding.gaps == "refuse" else self.models.filled(rows)
        confidence = np.empty((len(self), len(rows)))
        winner = np.empty((len(self), len(rows)), dtype=np.int64)
        for j in range(len(self)):
            _, winner[j], confidence[j] = self.models.judge(filled, j, j + 1, self.thresholds)
        if skips is not None:
            confidence[skips.T] = 0.0
        return confidence, winner

    def judge_one(self, row: Sequence[float], stage: int) -> tuple[bool, int, float]:
        """Whether one row leaves at a stage; the likeliest class there and its probability."""
        winner, confidence = self.models.judge_one(row, stage)
        sure = confidence >= self._least[winner]
        if sure and self.encoding.gaps == "skip":
            sure = all(row[i] == row[i] for i in self.inputs[stage])
        return sure, winner, confidence

    def _skips(self, rows: FloatArray) -> BoolArray | None:
        """Stages that lack a value of a row and are to be skipped then; None where none is."""
        if self.encoding.gaps != "skip":
            return None
        gaps = np.isnan(rows)
        if not gaps.any():
            return None
        return np.column_stack([gaps[:, list(used)].any(axis=1) for used in self.inputs])

    @cached_property
    def _least(self) -> list[float]:
        least: list[float] = self.thresholds.tolist()
        return least

    @cached_property
    def identity(self) -> str:
        """A digest of all that decisions depend on."""
        words = [*(f"{label!r}" for label in self.labels), f"{self.encoding.to_dict()}"]
        return fingerprint(
            np.array([*words, f"{self.buys}"]),
            np.array(self.costs),
            self.thresholds,
            *self.models.arrays,
        )


@dataclass(frozen=True, slots=True, eq=False)
class FrontModels:
    """Fitted stages of every design of a front.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
    encoding : Encoding
    of_points : tuple of StageModels
        Those of each point, in order.
    """

    classes: AnyArray
    encoding: Encoding
    of_points: tuple[StageModels, ...]

    def __post_init__(self) -> None:
        """Copy and lock the classes."""
        object.__setattr__(self, "classes", locked_copy(self.classes))
