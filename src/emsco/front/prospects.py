"""What the scored rows let one expect of a certificate: the order of designs, and a plan."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import numpy as np

from emsco._base.checks import check_number, refused
from emsco._base.typing import FloatArray
from emsco.designs.thresholds import answers_all
from emsco.front.certification import (
    CheckedPromise,
    Counted,
    Prospect,
    rows_for_chances,
    scored_p_value,
)
from emsco.front.point import ParetoPoint
from emsco.front.shape import FrontShape
from emsco.stats.by_class import ByClass
from emsco.stats.expected import Estimate
from emsco.stats.promises import Promise

_CHANCES = (0.8, 0.9)
_LEADING = 5  # designs that a plan has
_WIDTH = 79  # of a plan


def order_of(
    front: FrontShape, promises: Sequence[Promise], *, is_gapless: bool = True
) -> tuple[int, ...]:
    """Positions of the designs, those first that are likeliest to keep all promises.

    They go by the largest p-value of their promises on the scored rows, then by cost and size. A
    design that is on the front twice comes once. With `is_gapless`, a last stage without a
    threshold labels everyone.
    """
    keys: dict[tuple[bytes, str], tuple[float, float, int, int, int]] = {}
    for i, point in enumerate(front.points):
        largest = max(
            0.0 if _is_certain(front, point, one, is_gapless) else _scored_p(front, point, one)
            for one in promises
        )
        size = point.n_stages, int((point.design.stages >= 0).sum())
        design = point.design.stages.tobytes(), repr(point.design.thresholds)
        keys.setdefault(design, (largest, point.cost, *size, i))
    return tuple(key[-1] for key in sorted(keys.values()))


def _is_certain(front: FrontShape, point: ParetoPoint, promise: Promise, is_gapless: bool) -> bool:
    """Whether a design cannot break a promise, whatever the rows are."""
    if promise.is_ceiling:
        return float(_stage_costs(front, point)[-1]) <= promise.limit
    last = point.design.thresholds_or(front.min_confidence)[-1]
    return promise.kind == "coverage" and is_gapless and answers_all(last)


def _scored_p(front: FrontShape, point: ParetoPoint, promise: Promise) -> float:
    worst = float(_stage_costs(front, point)[-1])
    return scored_p_value(promise, counted_of(front, point, promise), worst)


def _stage_costs(front: FrontShape, point: ParetoPoint) -> FloatArray:
    return front.costs.after_stages(point.design.subsets())


def counted_of(front: FrontShape, point: ParetoPoint, promise: Promise) -> Counted:
    """Count the scored rows that a promise is about, each row once however often it was scored."""
    if promise.is_ceiling:
        n_rows = point.n_rows if point.by_class is None else float(point.by_class.rows.sum())
        left = [one * n_rows / point.n_rows for one in (*point.exits, _n_rejected(point))]
        costs = _stage_costs(front, point)
        return Counted(n_rows, n_rows, (*costs.tolist(), float(costs[-1])), tuple(left))
    if point.by_class is None and promise.label is None:
        answered = sum(point.exits)
        if promise.kind == "coverage":
            return Counted(point.n_rows, answered)
        return Counted(answered, sum(point.correct_exits))
    return _counted_by_class(_by_class(point, promise), promise)


def _counted_by_class(by_class: ByClass, promise: Promise) -> Counted:
    answered, correct = by_class.answered, by_class.correct
    if promise.label is None:
        if promise.kind == "coverage":
            return Counted(float(by_class.rows.sum()), float(answered.sum()))
        return Counted(float(answered.sum()), float(correct.sum()))
    place = by_class.labels.index(promise.label)
    members = by_class.rows if promise.kind == "recall" else by_class.given
    return Counted(float(members[place]), float(correct[place]))


def _n_rejected(point: ParetoPoint) -> float:
    return max(0.0, point.n_rows - sum(point.exits))


def _by_class(point: ParetoPoint, promise: Promise) -> ByClass:
    if point.by_class is None:
        name = promise.parameter
        rule = "be left out by class for a front without results by class"
        raise refused(name, rule, {promise.label: promise.limit})
    return point.by_class


def _estimate(point: ParetoPoint, promise: Promise) -> Estimate | None:
    """Return the expected figure of a promise; None if only the scored rows tell about it."""
    if point.expected is None or promise.label is not None:
        return None
    if promise.kind == "accuracy" and point.metric != "accuracy":
        return None
    found: Estimate = getattr(point.expected, promise.kind)
    return found


def _prospect(
    front: FrontShape, point: ParetoPoint, promise: Promise, *, is_gapless: bool
) -> Prospect:
    """Return what to plan with: the expected figure, or the scored one if there is no other."""
    found, expected = counted_of(front, point, promise), _estimate(point, promise)
    is_certain = _is_certain(front, point, promise, is_gapless)
    if promise.is_ceiling:
        worst = float(_stage_costs(front, point)[-1]) or 1.0
        mean = point.cost if expected is None else expected.value
        drawn = float(np.dot(found.costs, found.n_paying)) / (sum(found.n_paying) or 1.0)
        shares = tuple(min(1.0, one * mean / (drawn or 1.0) / worst) for one in found.costs)
        return Prospect(promise, mean, 1.0, shares, found.n_paying, worst, is_certain)
    figure = found.n_kept / found.n_rows if found.n_rows else 0.0
    figure = figure if expected is None else expected.value
    if found.n_rows and figure >= 1:  # nobody is always right: half a row is off
        figure = 1 - 0.5 / (found.n_rows + 1)
    n_rows = float(point.n_rows if point.by_class is None else point.by_class.rows.sum())
    share = found.n_rows / n_rows
    if promise.kind == "accuracy" and promise.label is None and point.expected is not None:
        share = point.expected.coverage.value
    return Prospect(promise, figure, share, is_certain=is_certain)


@dataclass(frozen=True, slots=True)
class PlannedDesign:
    """A design of a plan.

    Attributes
    ----------
    number : int
        Position of the design in the front.
    point : ParetoPoint
    rows : tuple of int or None
        Rows that it takes for each chance of the plan; None if no number would do.
    why_not : str
        Why it cannot be certified; empty if it can.
    """

    number: int
    point: ParetoPoint
    rows: tuple[int | None, ...]
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class CertificatePlan:
    """How many rows a certificate takes; `ParetoFront.plan_certificate` makes it.

    Attributes
    ----------
    promises : tuple of Promise
    delta : float
        Highest chance of a false certificate.
    chances : tuple of float
        Chances of success that are planned for.
    designs : tuple of PlannedDesign
        The designs that would be tested first, in order.
    n_designs : int
        Designs in the whole order.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from emsco import EMSCOClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = EMSCOClassifier(estimator="logistic", generations=5, cv=1 / 3, random_state=0)
    >>> clf = clf.fit(X[:300], y[:300])
    >>> plan = clf.front_.plan_certificate(min_accuracy=0.9)
    >>> 20 < plan.rows < 1000
    True
    """

    promises: tuple[Promise, ...]
    delta: float
    chances: tuple[float, ...]
    designs: tuple[PlannedDesign, ...]
    n_designs: int

    @property
    def is_scored(self) -> bool:
        """Whether the plan rests on scored figures, for lack of expected ones."""
        pairs = ((one.point, promise) for one in self.designs for promise in self.promises)
        return any(_estimate(*pair) is None for pair in pairs)

    @property
    def rows(self) -> int | None:
        """Rows that the first design takes for the first of the chances."""
        return self.designs[0].rows[0]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        return {
            "promises": [promise.to_dict() for promise in self.promises],
            "delta": self.delta,
            "chances": list(self.chances),
            "designs": [
                {"number": one.number, "rows": list(one.rows), "why_not": one.why_not}
                for one in self.designs
            ],
            "n_designs": self.n_designs,
        }

    def __repr__(self) -> str:
        """List the rows that each design takes, and say what the plan assumes."""
        heading = "  ".join(f"{f'{chance:.0%}':>8}" for chance in self.chances)
        lines = [
            f"Plan for a certificate at delta = {self.delta:g}:",
            *(f"  {promise.sentence}" for promise in self.promises),
            f"{_designs(self.n_designs)} Fresh rows for a chance of success of",
            f"  design  {heading}",
        ]
        for one in self.designs:
            cells = "  ".join(f"{_rows(n):>8}" for n in one.rows)
            if one.why_not:
                lines.append(f"  {one.number:>6}  {one.why_not}")
                continue
            start = f"  {one.number:>6}  {cells}  "
            design = wrap(one.point.design.arrows(), _WIDTH - len(start))
            lines += [start + design[0], *(" " * len(start) + more for more in design[1:])]
        if self.n_designs > 1:
            lines.append("A design is tested only if all before it pass.")
        if self.is_scored:
            lines.append(
                "Some figures are scored ones, which are a little too good: take more rows."
            )
        return "\n".join(lines)


def _designs(n: int) -> str:
    return "One design is tested." if n == 1 else f"{n:,} designs, tested in this order."


def _rows(n: int | None) -> str:
    return "too many" if n is None else f"{n:,}"


def plan_of(
    front: FrontShape,
    promises: Sequence[Promise],
    delta: float,
    chances: Sequence[float] = _CHANCES,
    wanted: Sequence[int] = (),
    *,
    is_gapless: bool = True,
) -> CertificatePlan:
    """Plan a certificate: the rows that the leading designs take, or those that are wanted."""
    aims = tuple(check_number("chances", one, 0, 1, "()") for one in chances)
    order = tuple(wanted) or order_of(front, promises, is_gapless=is_gapless)
    planned = []
    for number in order[:_LEADING]:
        point = front.points[number]
        prospects = [_prospect(front, point, one, is_gapless=is_gapless) for one in promises]
        why_not = next((_why_not(point, one) for one in prospects if one.is_hopeless), "")
        rows = rows_for_chances(prospects, delta, aims)
        planned.append(PlannedDesign(number, point, rows, why_not))
    return CertificatePlan(tuple(promises), delta, aims, tuple(planned), len(order))


def _why_not(point: ParetoPoint, prospect: Prospect) -> str:
    promise = prospect.promise
    if prospect.share <= 0:
        return f"cannot be certified: no scored row tells about the {promise.name}"
    sides = ("above", "below") if promise.is_ceiling else ("below", "above")
    met = promise.is_met_by(prospect.figure)
    side = f"not {sides[1]}" if met else sides[0]
    kind = "scored" if _estimate(point, promise) is None else "expected"
    return (
        f"cannot be certified: the {kind} {promise.name} {prospect.figure:.4g} is {side} "
        f"{promise.limit:g}"
    )


def rows_for_nearest(
    front: FrontShape,
    point: ParetoPoint,
    checks: Sequence[CheckedPromise],
    n_rows: int,
    delta: float,
) -> int | None:
    """Fresh rows for a chance of 80 %, by the scored rows and the tested ones together.

    The design is the best of several, and so looks better than it is: each figure is drawn back by
    half a standard error.
    """
    prospects = []
    for check in checks:
        expected = _prospect(front, point, check.promise, is_gapless=True)
        scored = counted_of(front, point, check.promise)
        if check.promise.is_ceiling:
            figure = _drawn_back_cost(expected, scored.n_rows, check, n_rows)
            costs = expected.costs, expected.paying, expected.worst_cost, check.is_certain
            prospects.append(Prospect(check.promise, figure, 1.0, *costs))
        elif check.n_kept is not None:
            n_members = check.n_rows + scored.n_rows
            kept = (check.n_kept + scored.n_kept + 0.5) / (n_members + 1)
            figure = kept - 0.5 * math.sqrt(kept * (1 - kept) / (n_members + 1))
            n_scored = scored.n_rows / expected.share if expected.share else 0.0
            share = n_members / (n_rows + n_scored)
            prospects.append(Prospect(check.promise, figure, share, is_certain=check.is_certain))
    return rows_for_chances(prospects, delta, (_CHANCES[0],))[0]


def _drawn_back_cost(
    expected: Prospect, n_scored: float, check: CheckedPromise, n_rows: int
) -> float:
    """Return the mean cost of scored and tested rows, plus half a standard error."""
    values, paying = np.array(expected.costs) * expected.worst_cost, np.array(expected.paying)
    mean = float(values @ paying / paying.sum())
    variance = float(((values - mean) ** 2) @ paying / paying.sum())
    total = n_scored + n_rows
    pooled = (n_scored * mean + n_rows * check.seen) / total
    return pooled + 0.5 * math.sqrt(variance / total)
