"""Which rows are nearly the same: columns in steps so wide that rounding hardly matters.

Rows that agree in the steps of a few columns, though hardly any two rows of a table do, are copies:
rounded, jittered, or changed in other columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.documents import Fields
from emsco._base.typing import FloatArray, IntArray, SingleArray
from emsco.data.rows import LARGEST

# Steps to a deviation, widest first. Two decimals of a standardised column hardly change the
# widest; the narrowest tell rows apart that have one or two columns.
_STEPS = (4, 32, 1024)
_UNIQUE = 0.98  # of the different rows of a sample must differ in the steps of the columns
_BITS = 8  # beyond those that make a pair of equal rows in a table as likely as not
_FINEST_GRID = 32  # steps to a deviation of a column whose values are all on a grid
_MOST_VIEWS, _MOST_SETS = 4, 8  # of any columns, and of columns that designs buy
_MOST_COLUMNS = 100  # that are looked at, of any columns and of each set
_ROUNDED = 0.01  # to two decimals
_SMALLEST = 1e-100  # deviation, so that steps of it are numbers
_OFFSET = 0.37  # of a step, so that round values seldom lie between two steps


@dataclass(frozen=True, slots=True, eq=False)
class NearColumns:
    """Some inputs of a table in steps, which hardly any two rows share.

    Attributes
    ----------
    places : ndarray of shape (n_columns,)
        Positions of the inputs.
    origins, steps : ndarray of shape (n_columns,)
        Where the first step of each begins, and how wide its steps are.
    """

    places: IntArray
    origins: FloatArray
    steps: FloatArray

    def __post_init__(self) -> None:
        """Copy and lock the arrays."""
        for name, kind in (("places", np.int64), ("origins", np.float64), ("steps", np.float64)):
            object.__setattr__(self, name, locked_copy(getattr(self, name), kind))

    def in_steps(self, rows: FloatArray) -> SingleArray:
        """Return the number of the step of each value, shape (n_rows, n_columns)."""
        with np.errstate(over="ignore", invalid="ignore"):
            steps = np.floor((rows[:, self.places] - self.origins) / self.steps)
            return steps.astype(np.float32)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, for a file."""
        return {
            "places": self.places.tolist(),
            "origins": self.origins.tolist(),
            "steps": self.steps.tolist(),
        }

    @classmethod
    def from_columns(cls, columns: Sequence[_Column], level: int) -> Self:
        """Cut columns into steps of a level, the widest being 0."""
        return cls(
            np.array([one.place for one in columns]),
            np.array([one.origin(level) for one in columns]),
            np.array([one.step(level) for one in columns]),
        )

    @classmethod
    def from_dict(cls, fields: Fields, n_inputs: int) -> Self:
        """Read the values of `to_dict` from a file and check them."""
        n_columns = len(fields.items("places"))
        places = fields.wholes("places", n_columns, 0, n_inputs - 1)
        if not places or len(set(places)) < n_columns:
            fields.refuse("places", "different inputs", places)
        origins = fields.numbers("origins", n_columns, -LARGEST, LARGEST)
        steps = fields.numbers("steps", n_columns, 0)
        if not steps.all():
            fields.refuse("steps", "above 0", steps.tolist())
        return cls(np.array(places), origins, steps)


def choose_near_columns(
    sample: FloatArray, n_rows: int, bought: Sequence[Sequence[int]] = ()
) -> tuple[NearColumns, ...]:
    """Return columns by which copies of rows are told though they were changed.

    Parameters
    ----------
    sample : ndarray of shape (n_sampled, n_inputs)
        Rows of a table, NaN for missing values.
    n_rows : int
        Rows of the table.
    bought : sequence of sequences of int
        Inputs that designs buy: each set gets columns of its own, unless it has some already.
    """
    inputs = _thinned(range(sample.shape[1]))
    # Small sets first: larger ones with the same columns need no others.
    sets = [_thinned(one) for one in sorted({tuple(sorted(one)) for one in bought}, key=len)]
    looked_at = set(inputs).union(*sets[:_MOST_SETS])
    known = {i: column for i in looked_at if (column := _Column.learn(i, sample[:, i]))}
    columns = [known[i] for i in inputs if i in known]
    n_wanted = _UNIQUE * _n_different(sample.astype(np.float32))
    chosen: list[NearColumns] = []
    # Columns that rounding leaves alone come first, and of these the ones that tell most.
    rest = sorted(columns, key=lambda one: (not one.is_robust, -one.bits(0)))
    while len(chosen) < _MOST_VIEWS and (few := _fewest(sample, rest, n_rows, n_wanted)):
        chosen.append(few)
        rest = [one for one in rest if one.place not in few.places]
    if columns:  # all columns tell rows of few values apart, as far as they can be
        chosen.append(NearColumns.from_columns(columns, len(_STEPS) - 1))
    for one in sets:
        if len(chosen) > _MOST_VIEWS + _MOST_SETS:
            break
        has_columns = any(set(one).issuperset(few.places.tolist()) for few in chosen)
        if has_columns or not looked_at.issuperset(one):
            continue
        best_first = sorted((known[i] for i in one if i in known), key=lambda one: -one.bits(0))
        if few := _fewest(sample, best_first, n_rows, n_wanted):
            chosen.append(few)
    return tuple(chosen)


def _thinned(places: Sequence[int]) -> tuple[int, ...]:
    """Return all places, or as many as are looked at, evenly spread."""
    step = -(-len(places) // _MOST_COLUMNS) or 1
    return tuple(places[::step])


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A column of a sample: how far its values lie apart."""

    place: int
    values: FloatArray
    middle: float  # of a grid, one of its values
    deviation: float
    grid: float  # between two values that are next to each other, if they lie on a grid, or 0
    is_robust: bool

    @classmethod
    def learn(cls, place: int, column: FloatArray) -> _Column | None:
        """Look at a column; None if it tells nothing."""
        values = column[np.isfinite(column)]
        different = np.unique(values)
        if len(different) < 2:
            return None
        low, middle, high = np.quantile(values, [0.1, 0.5, 0.9])
        deviation = float(high - low) / 2.56 or float(values.std())
        if not _SMALLEST < deviation < LARGEST:
            return None
        gaps = np.diff(different)
        smallest = float(gaps.min())
        grid = 0.0
        if smallest > deviation / _FINEST_GRID:
            n_steps = gaps / smallest
            grid = smallest if np.abs(n_steps - np.rint(n_steps)).max() < 0.01 else 0.0
        is_robust = grid >= _ROUNDED or deviation / _STEPS[0] >= 5 * _ROUNDED
        return cls(place, column, float(values[0] if grid else middle), deviation, grid, is_robust)

    def step(self, level: int) -> float:
        return self.grid or self.deviation / _STEPS[level]

    def origin(self, level: int) -> float:
        """Return where a step begins; of a grid, half-way between two of its values."""
        return self.middle - (0.5 if self.grid else _OFFSET) * self.step(level)

    def bits(self, level: int) -> float:
        """Return minus the logarithm of the chance that two rows share a step."""
        steps = np.floor((self.values - self.origin(level)) / self.step(level))
        shares = np.unique(steps, return_counts=True)[1] / len(steps)
        return -float(np.log2((shares**2).sum()))


def _fewest(
    sample: FloatArray, columns: Sequence[_Column], n_rows: int, n_wanted: float
) -> NearColumns | None:
    """Return as few of the columns as tell rows apart, in steps as wide as possible, or None.

    So many rows of the sample must be different in them.
    """
    if not columns:
        return None
    wanted = 2 * np.log2(max(2, n_rows)) + _BITS
    for level in range(len(_STEPS)):
        bits = np.cumsum([column.bits(level) for column in columns])
        n_taken, n_tried = int(np.searchsorted(bits, wanted)) + 1, 0
        while n_tried < len(columns):
            few = NearColumns.from_columns(columns[:n_taken], level)
            if _n_different(few.in_steps(sample)) >= n_wanted:
                return few
            # Columns that tell the same count for less: half more, and all of them in the end.
            n_tried, n_taken = n_taken, n_taken + max(1, n_taken // 2)
    return None


def _n_different(values: SingleArray) -> int:
    """Return the number of different rows."""
    filled = np.ascontiguousarray(np.nan_to_num(values, nan=-1e30) + np.float32(0))
    return len(np.unique(filled.view(np.dtype((np.void, filled.strides[0])))))
