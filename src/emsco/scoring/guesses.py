"""Guesses of what models would say that are not fitted.

A model that has not been fitted is guessed from its neighbours: leaving out a feature, or adding
one, changes the margins of a row by about as much whether or not another feature is there. So the
margin of a subset is near to m(i) + m(j) - m(i, j), where i and j mark subsets that differ from it
in one of two features, and in both.
"""

from __future__ import annotations

import numpy as np

from emsco._base.typing import IntArray, SingleArray
from emsco._kernels.judgement import guess_margins

_SQUARES = 16  # squares of neighbours that a guess is the mean of


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
