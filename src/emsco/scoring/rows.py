"""The scored rows: what is true of them, how much each counts, what it lacks and what it pays."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Self

import numpy as np

from emsco._base.arrays import distinct_rows
from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray

if TYPE_CHECKING:  # a cascade decides without what fits
    from emsco.data.splits import Split
    from emsco.data.training import TrainingData


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """The rows that splits score, one split after the other; several may score the same row.

    Attributes
    ----------
    labels : ndarray of shape (n_scored,)
        Class of each.
    n_classes : int
    ends : ndarray of shape (n_splits,)
        Where the rows of each split end.
    rows : ndarray of shape (n_scored,)
        Number of the row, counted over the distinct scored rows from 0.
    weights : ndarray of shape (n_scored,)
        Weight of each; the weights of a row that several splits score add up to its own.
    units : ndarray of int, shape (n_scored,)
        Weight of each in whole units, once for each split.
    have_weights : bool
        Whether rows have weights of their own.
    missing : ndarray of bool, shape (n_scored, n_features), or None
        Values that are missing. A stage that buys one must refuse the row.
    """

    labels: LabelArray
    n_classes: int
    ends: IntArray
    rows: IntArray
    weights: FloatArray
    units: IntArray
    have_weights: bool = False
    missing: BoolArray | None = None

    @classmethod
    def from_splits(cls, data: TrainingData, splits: list[Split], members: BoolArray) -> Self:
        """Collect the rows that splits score; `members` has the features of each block."""
        every = np.concatenate([scored for _, scored in splits])
        rows = distinct_rows(every, len(data.labels))[1]
        weights = np.ones(len(every)) if data.weights is None else data.weights[every]
        missing = data.missing()
        if missing is not None:  # a block misses a value if any of its features does
            missing = missing[every].astype(np.float32) @ members.T.astype(np.float32) > 0
        return cls(
            labels=data.labels[every],
            n_classes=len(data.classes),
            ends=np.cumsum([len(scored) for _, scored in splits]),
            rows=rows,
            # A row that several splits score counts as one row in all.
            weights=weights / np.bincount(rows)[rows],
            units=np.ones_like(every) if data.units is None else data.units[every],
            have_weights=data.weights is not None,
            missing=missing,
        )

    def __len__(self) -> int:
        """Number of rows, once for each split that scores them."""
        return len(self.labels)

    @cached_property
    def truth(self) -> IntArray:
        """Class of each row, as a whole number of full width; all comparisons share the array."""
        return self.labels.astype(np.int64)

    @cached_property
    def are_once(self) -> bool:
        """Whether each row is scored once."""
        return len(self) == int(self.rows.max(initial=-1)) + 1

    @property
    def own_weights(self) -> FloatArray | None:
        """Weights of the rows; None if all are 1, so that figures are counts."""
        return self.weights if self.have_weights or not self.are_once else None

    @cached_property
    def count_alike(self) -> bool:
        """Whether all rows are scored as often, and none has a weight of its own."""
        often = np.bincount(self.rows)
        return not self.have_weights and bool((often == often[0]).all())
