"""The engine of a bank: fits models on every split, and asks them about rows."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import Any, Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, Report
from emsco.models.fitter import Answers, Fitter


class Engine:
    """Fits one model per subset of the inputs and split.

    Parameters
    ----------
    fitters : sequence of Fitter
        One per split, all of one kind.
    n_classes : int

    Attributes
    ----------
    kept : int
        Numbers kept per subset.
    n_train : int
        Training rows, over all splits.
    """

    def __init__(self, fitters: Sequence[Fitter], n_classes: int) -> None:
        self.fitters, self.n_classes = fitters, n_classes
        self.n_train = sum(one.n_train for one in fitters)
        self.kept = sum(one.kept for one in fitters)

    def fit(self, subsets: BoolArray, report: Report | None = None) -> FloatArray:
        """Fit subsets of shape (n_subsets, n_inputs); return numbers, (n_subsets, kept)."""
        type(self.fitters[0]).prepare(self.fitters, report)
        return np.concatenate([one.fit(subsets, report) for one in self.fitters], axis=1)

    def by_split(self, numbers: FloatArray) -> list[FloatArray]:
        """Cut numbers into those of each split's models."""
        return np.split(numbers, np.cumsum([one.kept for one in self.fitters])[:-1], axis=1)

    def scored_answers(self, subsets: BoolArray, numbers: FloatArray) -> Answers:
        """Answers of fitted models for all scored rows, split after split."""
        parts = zip(self.fitters, self.by_split(numbers), strict=True)
        winner, confidence = zip(*(one.answers(subsets, own) for one, own in parts), strict=True)
        return np.concatenate(winner, axis=1), np.concatenate(confidence, axis=1)

    def answers(
        self, subsets: BoolArray, numbers: FloatArray, rows: Any, scored: Sequence[IntArray]
    ) -> list[Answers]:
        """Answers of fitted models for the scored rows of each split, by number in `rows`."""
        parts = zip(self.fitters, self.by_split(numbers), scored, strict=True)
        return [one.answers(subsets, own, rows, of) for one, own, of in parts]

    def without_rows(self) -> Self:
        """Return a copy that can only tell `answers`, and holds no rows."""
        other = copy(self)
        other.fitters = [one.without_rows() for one in self.fitters]
        return other

    def seconds_per_fit(self) -> float | None:
        """Estimate the time per model on one core, to a factor of a few; None if unknown."""
        each = [one.seconds_per_fit() for one in self.fitters]
        return None if None in each else sum(filter(None, each))

    def close(self) -> None:
        """Have the fitters write what is not written yet."""
        for one in self.fitters:
            one.close()
