"""What every kind of stage model is to the rest: a fitter, which answers for any subset of inputs.

To add a kind, derive from `Fitter` in a file of its own and register it in `emsco.models.kinds`. A
fitter needs `models`. One that answers for many subsets more cheaply than by asking model after
model overrides `answer`, and one that keeps models themselves also `fit` and `answers`. Missing
values are filled before a fitter sees its rows; one that reads gaps itself, or needs `FitOptions`,
overrides `open`. All kinds keep to tests/models/test_kinds.py.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Sequence
from contextlib import closing
from typing import Any, Self, TypeAlias

import numpy as np

from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray, Report
from emsco.models.rows import FilledRows, FitOptions, SplitData
from emsco.models.stage_models import SeparateModels, StageModels

# Likeliest class of each row, the first of equals, and its probability: both (n_subsets, n_rows).
Answers: TypeAlias = tuple[LabelArray, FloatArray]


class Fitter(ABC):
    """Fits models of one kind to subsets of the inputs, on the training rows of one split.

    A model depends on its subset alone: it is the same whenever it is fitted, with any other
    subsets and any number of workers.

    Attributes
    ----------
    rows : FilledRows
    n_train, n_scored : int
        Training rows and scored rows.
    kept : int
        Numbers that a bank keeps of each model.
    keeps_models : bool
        Whether these are models, and not their answers about the scored rows.
    """

    rows: FilledRows
    n_train: int
    n_scored: int
    kept: int
    keeps_models = False

    @classmethod
    def open(cls, parts: Sequence[SplitData], options: FitOptions) -> list[Self]:
        """Open a fitter for each split."""
        del options
        return [cls(FilledRows.of_split(part)) for part in parts]

    def __init__(self, rows: FilledRows) -> None:
        self.rows = rows
        self.n_train, self.n_scored = len(rows.X), len(rows.scored)
        self.kept = 2 * self.n_scored

    @staticmethod  # noqa: B027 - most have nothing to prepare
    def prepare(fitters: Sequence[Any], report: Report | None = None) -> None:
        """Fit what all models of these fitters need, before any subset is asked for."""

    @abstractmethod
    def models(self, subsets: BoolArray, report: Report | None = None) -> Sequence[Any]:
        """Fit a `Model` to each subset, shape (n_subsets, n_inputs).

        ``report(done, total)`` is called between fits, if these take time. It may raise to stop
        fitting.
        """

    def answer(
        self, subsets: BoolArray, report: Report | None = None
    ) -> Generator[tuple[LabelArray, FloatArray], None, None]:
        """Fit each subset; yield its model's answers about the scored rows, one after the other.

        They have the bits of the model's `probabilities`, whichever way they are found.
        """
        for model in self.models(subsets, report):
            shares = model.probabilities(self.rows.scored)
            yield shares.argmax(axis=1).astype(np.uint8), shares.max(axis=1)

    def fit(self, subsets: BoolArray, report: Report | None = None) -> FloatArray:
        """Fit each subset; return numbers, (n_subsets, kept)."""
        winner = np.zeros((len(subsets), self.n_scored), dtype=np.uint8)
        confidence = np.zeros(winner.shape)
        with closing(self.answer(subsets, report)) as answers:
            for i, of_model in enumerate(answers):
                winner[i], confidence[i] = of_model
        return packed(winner, confidence)

    def answers(
        self,
        subsets: BoolArray,
        numbers: FloatArray,
        rows: Any = None,
        places: IntArray | None = None,
    ) -> Answers:
        """Answers of fitted models about the scored rows; these may be given, by place in `rows`.

        Rows have all inputs.
        """
        del subsets, rows, places  # the numbers are the answers
        winner, confidence = np.split(numbers, 2, axis=1)
        return winner.astype(np.uint8), confidence

    def stage_models(
        self,
        designs: Sequence[BoolArray],
        numbers: FloatArray | None = None,
        report: Report | None = None,
    ) -> list[StageModels]:
        """Models of the stages of designs, given the inputs that each stage reads.

        `numbers` are those kept of all these stages, if models are what is kept.
        """
        del numbers
        # Designs share many stages: each is fitted once, and handed out by position.
        different, place = np.unique(np.concatenate(designs), axis=0, return_inverse=True)
        fitted = self.models(different, report)
        stages = iter([fitted[i] for i in place.reshape(-1).tolist()])
        return [SeparateModels(tuple(next(stages) for _ in reads)) for reads in designs]

    def without_rows(self) -> Self:
        """Return a copy that can only tell `answers`, and holds no rows."""
        other = object.__new__(type(self))
        other.n_train, other.n_scored, other.kept = self.n_train, self.n_scored, self.kept
        return other

    def seconds_per_fit(self) -> float | None:
        """Estimate the time per model on one core, to a factor of a few; None if unknown.

        Where it is unknown, `search="auto"` proves a front only if few subsets are to be fitted.
        A trial fit would make the choice of a search depend on the machine, and the same data must
        lead to the same search everywhere.
        """
        return None


def packed(winner: LabelArray, confidence: FloatArray) -> FloatArray:
    """Answers as one array of numbers for each model, (n_subsets, 2 * n_scored)."""
    return np.concatenate([winner.astype(np.float64), confidence], axis=1)
