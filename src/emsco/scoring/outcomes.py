"""Outcomes of a design: what it does with each scored row. All that is said is a sum of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from emsco._base.typing import AnyArray, FloatArray, IntArray, LabelArray, SingleArray
from emsco.scoring.rows import ScoredRows


@dataclass(frozen=True, slots=True, eq=False)
class Outcomes:
    """What a design does with each scored row.

    Attributes
    ----------
    given : ndarray of shape (n_scored,)
        Position of the label that the row gets among the sorted classes; the number of classes if
        the row is rejected.
    stage : ndarray of shape (n_scored,)
        Last stage that the row comes to, from 0.
    confidence : ndarray of shape (n_scored,)
        How sure that stage is of the likeliest label, also if the row is rejected.
    after : ndarray of shape (n_stages,)
        What rows have paid after each stage, without prices that differ from row to row.
    by_price : ndarray of shape (n_scored,) or None
        What each row pays by such prices, if there are any.
    """

    given: LabelArray
    stage: IntArray
    confidence: SingleArray
    after: FloatArray
    by_price: FloatArray | None = None

    @property
    def paid(self) -> FloatArray:
        """What each row pays."""
        paid: FloatArray = self.after[self.stage]
        return paid if self.by_price is None else paid + self.by_price

    def counts(self, scored: ScoredRows, weights: AnyArray | None = None) -> AnyArray:
        """Add up the weights of rows by class, stage and outcome: a label, or a rejection.

        The shape is (n_classes, n_stages, n_classes + 1); each row counts 1 by default.
        """
        shape = scored.n_classes, len(self.after), scored.n_classes + 1
        cells = (scored.truth * shape[1] + self.stage) * shape[2] + self.given
        return np.bincount(cells, weights, prod(shape)).reshape(shape)
