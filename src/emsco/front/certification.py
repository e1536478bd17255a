"""Tests of promises on rows that nothing has seen, one design after the other.

A promise is about some rows, its *members*. Each of them has a *loss* from 0 to 1: 1 for a wrong
label, a rejection or a missed row of a class, and for costs the share of the design's worst cost.
The promise is kept if the mean loss of the members is at most its limit. Single rows without
weights are tested by exact binomial counts; costs and weighted rows by betting.

Designs come in an order that does not depend on these rows. Each is tested at the whole level, and
the first that fails ends the tests (fixed-sequence testing), so that a false certificate has at
most the chance of that level, however many designs there are. A design passes if its largest
p-value does (intersection-union), so several promises divide nothing either.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from emsco._base.documents import Fields
from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco.stats.betting import LARGEST_STAKE, log_capital_below, mean_p_value, mean_p_values
from emsco.stats.promises import Promise
from emsco.stats.tests import p_value, power


@dataclass(frozen=True, slots=True, eq=False)
class RowResults:
    """What a design did with labelled rows, in an order that does not depend on them.

    Attributes
    ----------
    labels : tuple
        The classes.
    truth : ndarray of shape (n_rows,)
        Position of the true class.
    given : ndarray of shape (n_rows,)
        Position of the label given; the number of classes for a rejected row.
    cost : ndarray of shape (n_rows,)
    worst_cost : float
        Most that a row can cost.
    answers_all : bool
        Whether the last stage labels everyone, so that coverage is 1 without a test.
    """

    labels: tuple[object, ...]
    truth: IntArray
    given: IntArray
    cost: FloatArray
    worst_cost: float
    answers_all: bool = False

    def is_certain(self, promise: Promise) -> bool:
        """Whether the design cannot break a promise, whatever the rows are."""
        if promise.is_ceiling:
            return self.worst_cost <= promise.limit
        return promise.kind == "coverage" and self.answers_all


class _Losses(NamedTuple):
    """Rows that a promise is about, the loss of each row, and the highest mean of the members."""

    members: BoolArray
    loss: FloatArray
    most: float


def _losses(promise: Promise, results: RowResults) -> _Losses:
    members, kept = promise.rows(results.labels, results.truth, results.given)
    if promise.is_ceiling:
        worst = results.worst_cost or 1.0
        return _Losses(members, np.minimum(results.cost / worst, 1.0), promise.limit / worst)
    return _Losses(members, (~kept).astype(np.float64), 1 - promise.limit)


@dataclass(frozen=True, slots=True)
class CheckedPromise:
    """A promise of one design on the rows of a certificate.

    Attributes
    ----------
    promise : Promise
    n_rows : int
        Rows that the promise is about, such as the rows with a label for an accuracy.
    n_kept : int or None
        How many of them are as promised; None for a cost.
    seen : float
        The figure on these rows; with weights, the weighted one.
    p_value : float
        Chance of so good a figure or a better one if the promise is broken.
    is_certain : bool
        Whether the design cannot break the promise, so that nothing was tested.
    """

    promise: Promise
    n_rows: int
    n_kept: int | None
    seen: float
    p_value: float
    is_certain: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return plain values without the promise."""
        return {
            "rows": self.n_rows,
            "kept": self.n_kept,
            "seen": self.seen,
            "p_value": self.p_value,
            "certain": self.is_certain,
        }

    @classmethod
    def from_fields(cls, fields: Fields, promise: Promise, *, is_counted: bool) -> CheckedPromise:
        """Read the values of `to_dict`; with `is_counted`, the p-value must be that of its counts.

        Costs and weighted rows have p-values that only the rows themselves could repeat.
        """
        n_rows, is_certain = fields.whole("rows", 0), fields.flag("certain")
        n_kept = None if promise.is_ceiling else fields.whole("kept", 0, n_rows)
        found = fields.number("p_value", 0, 1)
        if is_counted and n_kept is not None and not is_certain:
            exact = p_value(n_kept, n_rows, promise.limit)
            if not math.isclose(found, exact, rel_tol=1e-6, abs_tol=1e-12):
                fields.refuse("p_value", f"{exact:g}, as the counts say", found)
        seen = fields.number("seen", 0, math.inf if promise.is_ceiling else 1)
        if is_counted and n_kept is not None:
            share = n_kept / n_rows if n_rows else 0.0
            if not math.isclose(seen, share, rel_tol=1e-9, abs_tol=1e-9):
                fields.refuse("seen", f"{share:.10g}, as the counts say", seen)
        return cls(promise, n_rows, n_kept, seen, found, is_certain)


def check_promises(
    promises: Sequence[Promise],
    results: RowResults,
    delta: float,
    weights: FloatArray | None = None,
    max_weight: float = 1.0,
) -> tuple[CheckedPromise, ...]:
    """Test each promise on the results of one design.

    Parameters
    ----------
    promises : sequence of Promise
    results : RowResults
    delta : float
        Level of the test; betting chooses its stakes by it.
    weights : ndarray of shape (n_rows,), optional
        Weight of each row, at most `max_weight`, which nobody may have read off these rows.
    max_weight : float

    Examples
    --------
    >>> truth, given = np.zeros(100, dtype=int), np.repeat([0, 1, 2], [87, 3, 10])
    >>> results = RowResults(("well", "ill"), truth, given, np.ones(100), 1.0)
    >>> (check,) = check_promises([Promise("accuracy", 0.9)], results, 0.05)
    >>> check.n_kept, check.n_rows, round(check.p_value, 3)
    (87, 90, 0.017)
    """
    shares = None if weights is None else weights / max_weight
    return tuple(_check(promise, results, delta, shares) for promise in promises)


def _check(
    promise: Promise, results: RowResults, delta: float, weights: FloatArray | None
) -> CheckedPromise:
    members, loss, most = _losses(promise, results)
    n_rows, n_missed = int(members.sum()), float(loss[members].sum())
    total = n_rows if weights is None else float(weights[members].sum())
    missed = n_missed if weights is None else float(weights[members] @ loss[members])
    mean = min(1.0, missed / total) if total else 1.0
    if promise.is_ceiling:
        n_kept, seen = None, mean * (results.worst_cost or 1.0)
    else:
        n_kept, seen = n_rows - int(n_missed), 1 - mean
    if results.is_certain(promise):
        return CheckedPromise(promise, n_rows, n_kept, seen, 0.0, is_certain=True)
    if weights is None and n_kept is not None:
        found = p_value(n_kept, n_rows, promise.limit)
    else:
        found = mean_p_value(_values(members, loss, most, weights), most, delta)
    return CheckedPromise(promise, n_rows, n_kept, seen, found)


def _values(
    members: BoolArray, loss: FloatArray, most: float, weights: FloatArray | None
) -> FloatArray:
    """Values from 0 to 1 whose mean is at least `most` if the promise is broken.

    A row that the promise is not about, or that weighs nothing, has the value `most` itself; a row
    of the largest weight has its loss.
    """
    share = members.astype(np.float64) if weights is None else members * weights
    values: FloatArray = most - share * (most - loss)
    return np.clip(values, 0.0, 1.0)


def n_passing(p_values: Iterable[float], delta: float) -> int:
    """Count the designs that pass, in order, up to the first that fails.

    Later p-values are not asked for.

    Examples
    --------
    >>> n_passing([0.01, 0.04, 0.2, 0.001], 0.05)
    2
    """
    n = 0
    for one in p_values:
        if one > delta:
            break
        n += 1
    return n


def fewest_rows(promise: Promise, delta: float, *, by_betting: bool = False) -> int:
    """Rows without which no design can pass, even if every one of them is as promised.

    Examples
    --------
    >>> fewest_rows(Promise("accuracy", 0.95), 0.05)
    59
    """
    if promise.is_ceiling or promise.limit >= 1:
        return 1
    growth = -math.log(promise.limit)
    if by_betting:  # what the largest stake wins on a row without a loss
        growth = math.log1p(LARGEST_STAKE * (1 - promise.limit) / promise.limit)
    return math.ceil(-math.log(delta) / growth - 1e-9)


class Counted(NamedTuple):
    """Rows that a promise is about and how many keep it, or costs and how many rows pay each.

    Rows that several splits score count once in all, so counts need not be whole.
    """

    n_rows: float
    n_kept: float
    costs: tuple[float, ...] = ()
    n_paying: tuple[float, ...] = ()


def scored_p_value(promise: Promise, counted: Counted, worst_cost: float) -> float:
    """P-value of a promise on scored rows, which puts designs in order.

    It is too good, since these rows chose the designs, and is no evidence by itself.

    Examples
    --------
    >>> round(scored_p_value(Promise("accuracy", 0.9), Counted(90, 87), 1.0), 3)
    0.017
    """
    if promise.is_ceiling:
        if worst_cost <= promise.limit:
            return 0.0
        shares = np.array(counted.costs) / worst_cost
        against = log_capital_below(shares, counted.n_paying, promise.limit / worst_cost)
        return math.exp(min(0.0, -float(against)))
    if counted.n_kept <= 0:
        return 1.0
    from scipy.special import betainc  # only here, since deciding does without SciPy

    missed = max(0.0, counted.n_rows - counted.n_kept)
    return float(betainc(counted.n_kept, missed + 1, promise.limit))


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
