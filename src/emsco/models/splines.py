"""Natural cubic splines: a few columns for each numeric input, so that linear models see curves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Self

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.documents import Fields
from emsco._base.typing import BoolArray, FloatArray, IntArray

_PLACES = np.array([0.05, 0.275, 0.5, 0.725, 0.95])  # quantiles for knots, after Harrell
_FEWEST = 3  # knots; with fewer, a spline is a line


@dataclass(frozen=True, slots=True, eq=False)
class SplineBasis:
    """Columns of natural cubic splines, made from inputs.

    An input with k knots becomes k - 1 columns: itself, and k - 2 that bend it between the knots.
    Beyond the outer knots all of them are straight lines. An input without knots stays as it is.

    Attributes
    ----------
    knots : tuple of ndarray
        Knots of each input in ascending order; at least 3, or none.
    of_column : ndarray of shape (n_columns,)
        Input that each column is made from.

    Examples
    --------
    >>> basis = SplineBasis((np.array([0.0, 1.0, 2.0]), np.array([])))
    >>> basis.of_column.tolist()
    [0, 0, 1]
    >>> basis.expand(np.array([[1.0, 7.0], [4.0, 8.0]])).tolist()
    [[1.0, 0.25, 7.0], [4.0, 4.5, 8.0]]
    """

    knots: tuple[FloatArray, ...]
    of_column: IntArray = field(init=False)

    def __post_init__(self) -> None:
        """Lock the knots, and number the columns."""
        object.__setattr__(self, "knots", tuple(locked_copy(one, np.float64) for one in self.knots))
        counts = [max(1, len(one) - 1) for one in self.knots]
        object.__setattr__(self, "of_column", np.repeat(np.arange(len(counts)), counts))

    @classmethod
    def learn(cls, rows: FloatArray, weights: FloatArray | None = None) -> Self:
        """Place knots at quantiles of the known values of each input; NaN is a missing value.

        Rows of weight 0 do not count. An input with few distinct values has fewer knots or none.
        """
        if weights is not None:
            rows = rows[weights > 0]
        return cls(tuple(_knots_of(column) for column in rows.T))

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.of_column)

    def reads(self, inputs: BoolArray) -> BoolArray:
        """Columns that models read which read these inputs, shape (…, n_columns)."""
        columns: BoolArray = inputs[..., self.of_column]
        return columns

    def expand(self, rows: FloatArray) -> FloatArray:
        """Turn rows of inputs into rows of columns; missing values stay missing."""
        columns = np.empty((len(rows), self.n_columns))
        place = 0
        for i, knots in enumerate(self.knots):
            columns[:, place] = rows[:, i]
            for j in range(len(knots) - 2):
                columns[:, place + 1 + j] = _bend(rows[:, i], knots, j)
            place += max(1, len(knots) - 1)
        return columns

    def to_lists(self) -> list[list[float]]:
        """Return the knots of each input as plain lists, for a file."""
        return [one.tolist() for one in self.knots]

    @classmethod
    def from_dict(cls, fields: Fields, name: str, n_inputs: int, largest: float) -> Self:
        """Read knots from a file and check them."""
        lists = fields.items(name)
        if len(lists) != n_inputs:
            fields.refuse(name, f"a list of knots for each of {n_inputs} inputs", lists)
        rule = f"lists of none, or {_FEWEST} or more numbers that go up"
        for one in lists:
            are_numbers = isinstance(one, list) and all(
                type(knot) in (int, float) and abs(knot) <= largest for knot in one
            )
            if not are_numbers or (one and (len(one) < _FEWEST or (np.diff(one) <= 0).any())):
                fields.refuse(name, rule, one)
        return cls(tuple(np.array(one, dtype=np.float64) for one in lists))

    def equals(self, other: SplineBasis | None) -> bool:
        """Whether another basis has the same knots."""
        return other is not None and self.to_lists() == other.to_lists()


def _knots_of(column: FloatArray) -> FloatArray:
    known = column[~np.isnan(column)]
    values = np.unique(known)
    if len(values) < _FEWEST:
        return np.zeros(0)
    if len(values) <= len(_PLACES):
        return values
    knots = np.unique(np.quantile(known, _PLACES))
    # A few values may have most of the rows; spread the knots over the values then.
    knots = knots if len(knots) >= _FEWEST else np.unique(np.quantile(values, _PLACES))
    return knots if np.diff(knots).min() > 1e-9 * (knots[-1] - knots[0]) else np.zeros(0)


def _bend(x: FloatArray, knots: FloatArray, j: int) -> FloatArray:
    """One column that is curved between the knots, and straight beyond them."""
    first, start, before, last = knots[0], knots[j], knots[-2], knots[-1]
    inside = np.clip(x, first, last)
    curve = np.maximum(inside - start, 0.0) ** 3
    curve -= (last - start) / (last - before) * np.maximum(inside - before, 0.0) ** 3
    slope = 3 * (last - start) * (before - start)
    # Beyond the last knot the cubes would cancel to a line, and lose all digits far out.
    straight = slope * np.maximum(x - last, 0.0)
    bent: FloatArray = (curve + straight) / (last - first) ** 2
    return bent
