"""Standardisation: part of the stage classifier, learned from its training rows alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from emsco._typing import FloatArray

__all__ = ["Scaling"]

_BLOCK = 65_536  # rows centred at a time, so that no centred copy of all rows is ever made


@dataclass(frozen=True, slots=True, eq=False)
class Scaling:
    """Mean and deviation of each feature over the training rows; 1 for a constant column."""

    mean: FloatArray
    deviation: FloatArray

    @classmethod
    def learn(cls, X: FloatArray) -> Self:
        """Mean and deviation (ddof 0) of the columns of X."""
        lowest, highest = X.min(axis=0), X.max(axis=0)
        mean = np.clip(X.mean(axis=0), lowest, highest)  # a constant column is centred to exactly 0
        squares = np.zeros(X.shape[1])
        for start in range(0, len(X), _BLOCK):
            squares += np.square(X[start : start + _BLOCK] - mean).sum(axis=0)
        deviation = np.sqrt(squares / len(X))
        deviation[(lowest == highest) | (deviation == 0)] = 1.0
        for array in (mean, deviation):
            array.setflags(write=False)
        return cls(mean, deviation)

    @property
    def inverse(self) -> FloatArray:
        """What centred values are multiplied by, here and wherever rows are decided."""
        return 1.0 / self.deviation

    def columns(self, X: FloatArray) -> FloatArray:
        """X standardised, as features × rows below a line of ones for the intercept."""
        out = np.empty((X.shape[1] + 1, len(X)))
        out[0] = 1.0
        inverse = self.inverse
        for start in range(0, len(X), _BLOCK):
            rows = slice(start, start + _BLOCK)
            out[1:, rows] = ((X[rows] - self.mean) * inverse).T
        return out
