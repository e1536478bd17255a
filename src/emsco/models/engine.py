"""The engine of a bank: fits models on every split, and asks them about rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import partial
from typing import Any, Self

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, Report
from emsco.models.fitter import Answers, Fitter, packed


class Engine:
    """Fits one model per subset of the inputs and split.

    Parameters
    ----------
    fitters : sequence of Fitter
        One per split, all of one kind.
    n_classes : int
    recall : callable, optional
        Called as ``recall(number, subsets, answer, report)`` for the fitter of this number; returns
        what ``answer(subsets, report)`` would, from a checkpoint as far as it has it.

    Attributes
    ----------
    kept : int
        Numbers kept per subset.
    n_train : int
        Training rows, over all splits.
    """

    def __init__(
        self,
        fitters: Sequence[Fitter],
        n_classes: int,
        recall: Callable[..., Answers] | None = None,
    ) -> None:
        self.fitters, self.n_classes, self._recall = fitters, n_classes, recall
        self.n_train = sum(one.n_train for one in fitters)
        self.kept = sum(one.kept for one in fitters)

    def fit(self, subsets: BoolArray, report: Report | None = None) -> FloatArray:
        """Fit subsets of shape (n_subsets, n_inputs); return numbers, (n_subsets, kept)."""
        if self._recall is None:
            self.fitters[0].prepare(self.fitters, report)
            return np.concatenate([one.fit(subsets, report) for one in self.fitters], axis=1)
        recalled = [
            self._recall(number, subsets, partial(self._answer, one), report)
            for number, one in enumerate(self.fitters)
        ]
        return np.concatenate([packed(*answers) for answers in recalled], axis=1)

    def _answer(self, fitter: Fitter, subsets: BoolArray, report: Report | None) -> Answers:
        """Answers of a fitter's models that no checkpoint has."""
        fitter.prepare(self.fitters, report)  # only now: a search that is replayed needs none
        return fitter.answers(subsets, fitter.fit(subsets, report))

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
        other._recall = None
        return other

    def seconds_per_fit(self) -> float | None:
        """Estimate the time per model on one core, to a factor of a few; None if unknown."""
        each = [one.seconds_per_fit() for one in self.fitters]
        return None if None in each else sum(filter(None, each))
