"""How many rows a certificate needs, if the figures turn out as expected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from emsco._base.typing import FloatArray, IntArray
from emsco.trust.betting import mean_p_values
from emsco.trust.binomial import power
from emsco.trust.promises import Promise

__all__ = ["Prospect", "chances", "rows_for_chances"]

_MOST_ROWS = 2**20
_MOST_SIZES = 2**14  # that are tried one by one; larger plans go in steps
_MOST_BETS = 2**15  # rows, from here on a chance of bets stays as it is
_DRAWS = 2**20  # values drawn for one size
_TRIES = (60, 1000)
_RISES, _SURE = 0.3, 0.998
_FINE = 9


@dataclass(frozen=True, slots=True)
class Prospect:
    """A promise and the figures expected for it.

    Attributes
    ----------
    promise : Promise
    figure : float
        The true share or mean cost, if all is as expected.
    share : float
        Share of all rows that the promise is about, such as the coverage for an accuracy.
    costs, paying : tuple of float
        For a cost: what rows pay as shares of the worst cost, and the share of rows that pay each.
    worst_cost : float
    is_certain : bool
        Whether the design cannot break the promise.
    """

    promise: Promise
    figure: float
    share: float = 1.0
    costs: tuple[float, ...] = ()
    paying: tuple[float, ...] = ()
    worst_cost: float = 1.0
    is_certain: bool = False

    @property
    def is_hopeless(self) -> bool:
        """Whether no number of rows would do, since the figure is not better than the limit."""
        if self.is_certain:
            return False
        limit = self.promise.limit
        better = self.figure < limit if self.promise.is_ceiling else self.figure > limit
        return not better or self.share <= 0


def chances(prospect: Prospect, delta: float) -> Callable[[IntArray], FloatArray]:
    """Return the function of the number of rows that gives the chance that a test succeeds.

    Costs are bets, whose chance is drawn, not computed: it is right to about two points.
    """
    if prospect.is_certain or prospect.is_hopeless:
        return lambda n_rows: np.full(len(n_rows), float(prospect.is_certain))
    if prospect.promise.is_ceiling:
        sizes, found = _drawn(prospect, delta)
        return lambda n_rows: np.interp(np.log(n_rows), np.log(sizes), found, left=0.0)

    def counted(n_rows: IntArray) -> FloatArray:
        members = np.floor(n_rows * prospect.share + 1e-9).astype(np.int64)
        found = power(np.maximum(members, 1), prospect.figure, prospect.promise.limit, delta)
        return np.where(members > 0, found, 0.0)

    return counted


def _drawn(prospect: Prospect, delta: float) -> tuple[list[int], FloatArray]:
    """Draw costs as expected and bet on them: sizes, and the chance with each.

    Sizes are four times apart, and close to each other where the chance rises.
    """
    rng = np.random.default_rng(0)
    found: dict[int, float] = {}
    values, most = np.array(prospect.costs), prospect.promise.limit / prospect.worst_cost
    steps = np.cumsum(prospect.paying)

    def chance(n: int) -> float:
        tries = int(np.clip(_DRAWS // n, *_TRIES))
        places = np.searchsorted(steps, rng.random((tries, n)) * steps[-1])
        drawn = values[np.minimum(places, len(values) - 1)]
        return float((mean_p_values(drawn, most, delta) <= delta).mean())

    n = 8
    while n <= _MOST_BETS and (not found or max(found.values()) < _SURE):
        found[n] = chance(n)
        n *= 4
    rising = [size for size, one in found.items() if one < _RISES]
    for n in np.geomspace(max(rising, default=8), max(found), _FINE).astype(int).tolist():
        if n not in found:
            found[n] = chance(n)
    sizes = sorted(found)
    return sizes, np.maximum.accumulate([found[size] for size in sizes])


def rows_for_chances(
    prospects: Sequence[Prospect], delta: float = 0.05, aims: Sequence[float] = (0.8,)
) -> tuple[int | None, ...]:
    """Return the number of rows from which all promises pass with a chance of each aim or more.

    The chances to fail are added up, so the whole chance may be larger. None if a figure is not
    better than its limit, or a million rows are too few.

    Examples
    --------
    >>> accuracy = Prospect(Promise("accuracy", 0.9), figure=0.95, share=0.8)
    >>> rows_for_chances([accuracy], aims=(0.8, 0.9))
    (254, 329)
    >>> rows_for_chances([accuracy, Prospect(Promise("coverage", 0.75), figure=0.8)])
    (489,)
    """
    if any(one.is_hopeless for one in prospects):
        return (None,) * len(aims)
    curves = [chances(one, delta) for one in prospects]
    return tuple(_rows(curves, aim) for aim in aims)


def _rows(curves: Sequence[Callable[[IntArray], FloatArray]], aim: float) -> int | None:
    """Return the number of rows from which the chance of all curves stays at the aim or above."""
    most = 64
    while _together(curves, np.array([most]))[0] < (1 + aim) / 2:
        most *= 2
        if most > _MOST_ROWS:
            return None
    sizes = np.arange(1, 2 * most + 1, max(1, 2 * most // _MOST_SIZES))
    below = np.flatnonzero(_together(curves, sizes) < aim)
    return int(sizes[min(below[-1] + 1, len(sizes) - 1)]) if below.size else 1


def _together(curves: Sequence[Callable[[IntArray], FloatArray]], n_rows: IntArray) -> FloatArray:
    """Lower bound of the chance that all promises pass."""
    fails = sum((1 - chance(n_rows) for chance in curves), np.zeros(len(n_rows)))
    found: FloatArray = 1 - fails
    return found
