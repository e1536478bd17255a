"""Which rows are nearly the same: columns in steps so wide that rounding hardly matters.

Rows that agree in the steps of a few columns, though hardly any two rows of a table do, are copies:
rounded, jittered, or changed in other columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    some = _some(range(sample.shape[1]))
    # Small sets first: whoever buys more has their columns, too.
    sets = [_some(one) for one in sorted({tuple(sorted(one)) for one in bought}, key=len)]
    looked_at = set(some).union(*sets[:_MOST_SETS])
    columns = [_Column.learn(i, sample[:, i]) for i in sorted(looked_at)]
    known = {one.place: one for one in columns if one is not None}
    # Columns that rounding leaves alone come first, and of these the ones that tell most.
    there = [i for i in some if i in known]
    order = sorted(there, key=lambda i: (not known[i].is_robust, -known[i].bits(0)))
    n_wanted = _UNIQUE * _n_different(sample.astype(np.float32))
    views: list[NearColumns] = []
    while order and len(views) < _MOST_VIEWS:
        view = _view(sample, [known[i] for i in order], n_rows, n_wanted)
        if view is None:
            break
        views.append(view)
        used = set(view.places.tolist())
        order = [i for i in order if i not in used]
    if there:  # all columns tell rows of few values apart, as far as they can be
        views.append(_columns([known[i] for i in there], len(_STEPS) - 1))
    for places in sets:
        own = set(places)
        # Of further sets, those of which a smaller one was not enough.
        if not own <= looked_at or any(own.issuperset(view.places.tolist()) for view in views):
            continue
        bought_columns = [known[i] for i in places if i in known]
        best_first = sorted(bought_columns, key=lambda one: -one.bits(0))
        view = _view(sample, best_first, n_rows, n_wanted)
        if view is not None:
            views.append(view)
        if len(views) > _MOST_VIEWS + _MOST_SETS:
            break
    return tuple(views)


def _some(places: Sequence[int]) -> tuple[int, ...]:
    """Return all places, or as many as are looked at, evenly spread."""
    step = -(-len(places) // _MOST_COLUMNS) or 1
    return tuple(places[::step])


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A column of a sample: how far its values lie apart."""

    place: int
    values: FloatArray
    middle: float
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
        gaps = np.diff(different)
        smallest = float(gaps.min())
        on_grid = np.abs(gaps / smallest - np.rint(gaps / smallest)).max() < 0.01
        grid = smallest if on_grid and smallest > deviation / _FINEST_GRID else 0.0
        if not np.isfinite([middle, deviation, 1 / deviation]).all():
            return None
        is_robust = grid >= _ROUNDED or deviation / _STEPS[0] >= 5 * _ROUNDED
        return cls(place, column, float(middle), deviation, grid, is_robust)

    def step(self, level: int) -> float:
        return self.grid or self.deviation / _STEPS[level]

    def origin(self, level: int) -> float:
        """Return where a step begins; of a grid, half-way between two of its values."""
        if self.grid:
            return float(self.values[np.isfinite(self.values)][0]) - self.grid / 2
        return self.middle - _OFFSET * self.step(level)

    def bits(self, level: int) -> float:
        """Return minus the logarithm of the chance that two rows share a step."""
        steps = np.floor((self.values - self.origin(level)) / self.step(level))
        shares = np.unique(steps, return_counts=True)[1] / len(steps)
        return -float(np.log2((shares**2).sum()))


def _view(
    sample: FloatArray, columns: Sequence[_Column], n_rows: int, n_wanted: float
) -> NearColumns | None:
    """Return as few of the columns as tell rows apart, in steps as wide as possible, or None.

    So many rows of the sample must be different in them.
    """
    wanted = 2 * np.log2(max(2, n_rows)) + _BITS
    for level in range(len(_STEPS)):
        bits = np.cumsum([column.bits(level) for column in columns])
        # All of them where they do not suffice: the finest steps are then tried last.
        for n_taken in _numbers(int(np.searchsorted(bits, wanted)) + 1, len(columns)):
            taken = columns[:n_taken]
            view = _columns(taken, level)
            if _n_different(view.in_steps(sample)) >= n_wanted:
                return view
    return None


def _n_different(values: SingleArray) -> int:
    """Return the number of different rows."""
    filled = np.ascontiguousarray(np.nan_to_num(values, nan=-1e30) + np.float32(0))
    return len(np.unique(filled.view(np.dtype((np.void, filled.strides[0])))))


def _columns(columns: Sequence[_Column], level: int) -> NearColumns:
    return NearColumns(
        np.array([one.place for one in columns]),
        np.array([one.origin(level) for one in columns]),
        np.array([one.step(level) for one in columns]),
    )


def _numbers(first: int, last: int) -> Iterator[int]:
    """Yield how many columns to try: columns that tell the same count for less, so half more."""
    n_taken = first
    while n_taken < last:
        yield n_taken
        n_taken += max(1, n_taken // 2)
    if last:
        yield last
