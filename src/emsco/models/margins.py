"""Margins: how sure a model is of the truth about a row, and what follows from those of others.

A margin is the log-odds of the confidence beyond those of a guess, negative if the label is wrong.
So a label has a positive margin if it is right, even where there are many classes and the likeliest
has less than half of the probability.

A model that has not been fitted is guessed from its neighbours: leaving out a feature, or adding
one, changes the margins of a row by about as much whether or not another feature is there. So the
margin of a subset is near to m(i) + m(j) - m(i, j), where i and j mark subsets that differ from it
in one of two features, and in both.
"""

from __future__ import annotations

import numpy as np

from emsco._base.typing import FloatArray, IntArray, LabelArray, SingleArray, WordArray
from emsco._kernels.guessing import guess_margins
from emsco.models.layout import pack

__all__ = ["KnownMargins", "bits_of_margins", "margins_of"]

_SUREST = 1 - 1e-12
_SQUARES = 16  # squares of neighbours that a guess is the mean of


def margins_of(
    winner: IntArray, confidence: FloatArray, truth: LabelArray, n_classes: int
) -> SingleArray:
    """Margins of answers: the likeliest class of each row and its probability."""
    odds = _beyond_a_guess(confidence, n_classes)
    margins: SingleArray = np.where(winner == truth, odds, -odds).astype(np.float32)
    return margins


def bits_of_margins(margins: SingleArray, truth: LabelArray, thresholds: FloatArray) -> WordArray:
    """Accepted and correct rows that follow from margins: (2, n_subsets, n_words).

    `truth` has the class of each row. Which class a wrong label names is not known if there are
    more than two; then the highest threshold of the others counts.
    """
    n_classes = len(thresholds)
    others = np.array([np.delete(thresholds, c).max() for c in range(n_classes)])
    own, other = (_beyond_a_guess(least, n_classes) for least in (thresholds, others))
    correct = (margins > 0) & (margins >= own[truth])
    accepted = correct | ((margins <= 0) & (-margins >= other[truth]))
    return np.stack([pack(accepted), pack(correct)])


def _beyond_a_guess(confidence: FloatArray, n_classes: int) -> FloatArray:
    """Log-odds of probabilities, less those of 1 / number of classes."""
    sure = np.clip(confidence, 0.0, _SUREST)
    with np.errstate(divide="ignore"):
        odds: FloatArray = np.log(sure / (1 - sure)) + np.log(n_classes - 1)
    return odds


class KnownMargins:
    """Keeps the margins of fitted subsets, and guesses those of others.

    Subsets are numbers: feature i is in subset s if bit i of s is set.

    Parameters
    ----------
    n_features : int
    n_rows : int
        Margins of a subset.
    """

    def __init__(self, n_features: int, n_rows: int) -> None:
        self._n_features = n_features
        self._place: IntArray = np.full(2**n_features, -1, dtype=np.int64)
        self._margins: SingleArray = np.zeros((0, n_rows), dtype=np.float32)

    def lacking(self, numbers: IntArray) -> IntArray:
        """Those of some subsets whose margins are not known."""
        lacking: IntArray = numbers[self._place[numbers] < 0]
        return lacking

    def add(self, numbers: IntArray, margins: SingleArray) -> None:
        """Take the margins of subsets that were lacking."""
        self._place[numbers] = len(self._margins) + np.arange(len(numbers))
        self._margins = np.concatenate([self._margins, margins])

    def guess(self, numbers: IntArray) -> tuple[IntArray, SingleArray]:
        """Guess the margins of subsets; return those that have neighbours enough, and theirs."""
        guessed = np.zeros((len(numbers), self._margins.shape[1]), dtype=np.float32)
        squares = np.zeros(len(numbers), dtype=np.int64)
        guess_margins(
            self._margins, self._place, numbers, self._n_features, _SQUARES, guessed, squares
        )
        has_some = squares > 0
        return numbers[has_some], guessed[has_some]
