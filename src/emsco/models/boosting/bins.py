"""Bins of the inputs: which values trees tell apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from emsco._base.typing import FloatArray, IntArray, LabelArray

__all__ = ["Bins"]

_SAMPLE = 200_000  # rows whose quantiles are taken


@dataclass(frozen=True, slots=True, eq=False)
class Bins:
    """Cuts between the values of each input; bin b holds the values above cut b - 1, up to cut b.

    Attributes
    ----------
    cuts : tuple of ndarray
        Cuts of each input, in ascending order.
    """

    cuts: tuple[FloatArray, ...]

    @classmethod
    def learn(cls, rows: FloatArray, most: int) -> Self:
        """Cut between all distinct values of an input, or at quantiles if there are many.

        Examples
        --------
        >>> Bins.learn(np.array([[1.0], [3.0], [3.0]]), 255).cuts[0].tolist()
        [2.0]
        """
        step = -(-len(rows) // _SAMPLE)
        return cls(tuple(_cuts(column, most) for column in rows[::step].T))

    def __len__(self) -> int:
        """Number of inputs."""
        return len(self.cuts)

    @property
    def counts(self) -> IntArray:
        """Number of bins of each input."""
        return np.array([len(own) + 1 for own in self.cuts], dtype=np.int64)

    def some(self, inputs: IntArray) -> Bins:
        """Return the bins of some inputs."""
        return Bins(tuple(self.cuts[i] for i in inputs))

    def code(self, rows: FloatArray) -> LabelArray:
        """Return the bin of each value, (n_inputs, n_rows)."""
        codes = np.empty((len(self), len(rows)), dtype=np.uint8)
        for i, own in enumerate(self.cuts):
            codes[i] = np.searchsorted(own, rows[:, i])
        return codes


def _cuts(column: FloatArray, most: int) -> FloatArray:
    values = np.unique(column)
    if len(values) > most:
        shares = np.linspace(0, 1, most + 1)[1:-1]
        return np.unique(np.quantile(column, shares, method="midpoint"))
    # The middle of two neighbours may be rounded to the upper one, which must stay above it.
    middle = values[:-1] + (values[1:] - values[:-1]) / 2
    found: FloatArray = np.where(middle < values[1:], middle, values[:-1])
    return found
