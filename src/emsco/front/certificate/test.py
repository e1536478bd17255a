"""Tests of promises on rows that nothing has seen, one design after the other.

A promise is about some rows, its *members*. Each of them has a *loss* from 0 to 1: 1 for a wrong
label, a rejection or a missed row of a class, and for costs the share of the design's worst cost,
which for totals includes the most that an error or a rejection can cost.
The promise is kept if the mean loss of the members is at most its limit. Single rows without
weights are tested by exact binomial counts; costs, totals and weighted rows by betting.

Designs come in an order that does not depend on these rows. Each is tested at the whole level, and
the first that fails ends the tests (fixed-sequence testing), so that a false certificate has at
most the chance of that level, however many designs there are. A design passes if its largest
p-value does (intersection-union), so several promises divide nothing either.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np

from emsco._base.documents import Fields
from emsco._base.typing import FloatArray, IntArray
from emsco.stats.betting import LARGEST_STAKE, mean_p_value
from emsco.stats.promises import Promise
from emsco.stats.tests import share_p_value


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
            return self.worst(promise) <= promise.limit
        return promise.kind == "coverage" and self.answers_all

    def worst(self, promise: Promise) -> float:
        """Most that a row can add to a mean cost or total."""
        return float(promise.amounts([self.worst_cost])[-1])


@dataclass(frozen=True, slots=True)
class CheckedPromise:
    """A promise of one design on the rows of a certificate.

    Attributes
    ----------
    promise : Promise
    n_rows : int
        Rows that the promise is about, such as the rows with a label for an accuracy.
    n_kept : int or None
        How many of them are as promised; None for a cost or a total.
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
    def from_dict(cls, fields: Fields, promise: Promise, *, is_counted: bool) -> CheckedPromise:
        """Read the values of `to_dict`; with `is_counted`, the p-value must be that of its counts.

        Costs and weighted rows have p-values that only the rows themselves could repeat.
        """
        n_rows, is_certain = fields.whole("rows", 0), fields.flag("certain")
        n_kept = None if promise.is_ceiling else fields.whole("kept", 0, n_rows)
        p_value = fields.number("p_value", 0, 1)
        if is_counted and n_kept is not None and not is_certain:
            exact = share_p_value(n_kept, n_rows, promise.limit)
            if not math.isclose(p_value, exact, rel_tol=1e-6, abs_tol=1e-12):
                fields.refuse("p_value", f"{exact:g}, as the counts say", p_value)
        seen = fields.number("seen", 0, math.inf if promise.is_ceiling else 1)
        if is_counted and n_kept is not None:
            share = n_kept / n_rows if n_rows else 0.0
            if not math.isclose(seen, share, rel_tol=1e-9, abs_tol=1e-9):
                fields.refuse("seen", f"{share:.10g}, as the counts say", seen)
        return cls(promise, n_rows, n_kept, seen, p_value, is_certain)


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
    checks = []
    for promise in promises:
        members, kept = promise.rows(results.labels, results.truth, results.given)
        worst = 1.0
        if promise.is_ceiling:
            worst = results.worst(promise) or 1.0
            spent = promise.spent(results.cost, results.truth, results.given)
            loss, limit = np.minimum(spent / worst, 1.0), promise.limit / worst
        else:
            loss, limit = (~kept).astype(np.float64), 1 - promise.limit
        n_rows, n_missed = int(members.sum()), float(loss[members].sum())
        total = n_rows if shares is None else float(shares[members].sum())
        missed = n_missed if shares is None else float(shares[members] @ loss[members])
        mean = min(1.0, missed / total) if total else 1.0
        if promise.is_ceiling:
            n_kept, seen = None, mean * worst
        else:
            n_kept, seen = n_rows - int(n_missed), 1 - mean
        is_certain = results.is_certain(promise)
        if is_certain:
            p_value = 0.0
        elif shares is None and n_kept is not None:
            p_value = share_p_value(n_kept, n_rows, promise.limit)
        else:
            # Bets are on values whose mean is at least `limit` if the promise is broken. A row of
            # the largest weight has its loss; one that weighs nothing, or is no member, `limit`.
            share = members.astype(np.float64) if shares is None else members * shares
            values = np.clip(limit - share * (limit - loss), 0.0, 1.0)
            p_value = mean_p_value(values, limit, delta)
        checks.append(CheckedPromise(promise, n_rows, n_kept, seen, p_value, is_certain))
    return tuple(checks)


def n_passing(p_values: Iterable[float], delta: float) -> int:
    """Count the designs that pass, in order, up to the first that fails.

    Later p-values are not asked for.

    Examples
    --------
    >>> n_passing([0.01, 0.04, 0.2, 0.001], 0.05)
    2
    """
    return sum(1 for _ in takewhile(lambda p_value: p_value <= delta, p_values))


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
