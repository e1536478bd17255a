"""Plan a certificate by the scored rows: the order of designs, and how many fresh rows it takes.

Designs are tested until the first that fails, so those come first that are likeliest to keep all
promises; before them comes the deployed design, if it is likely to pass. The order may depend on
the scored rows and the number of fresh ones, but never on what the fresh rows say. How likely a
test is to succeed follows from the expected figures of a design, and else from its scored ones.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from emsco._base.checks import check_number
from emsco._base.objectives import Estimate
from emsco._base.typing import FloatArray, IntArray
from emsco.designs.design import Design
from emsco.designs.thresholds import answers_all
from emsco.errors import DeploymentWarning, ParameterError
from emsco.front.certificate.test import CheckedPromise
from emsco.front.point import ParetoPoint
from emsco.scoring.error_costs import ErrorCosts
from emsco.stats.betting import log_capital_below, mean_p_values
from emsco.stats.promises import Promise
from emsco.stats.tests import power

if TYPE_CHECKING:
    from emsco.front.pareto_front import ParetoFront

LIKELY = 0.5  # chance from which on the deployed design is tested first
_CHANCES = (0.8, 0.9)
_LEADING = 5  # designs that a plan has
_WIDTH = 79  # of a plan
_MOST_ROWS = 2**20  # a plan for more is none
_MOST_SIZES = 2**14  # that are tried one by one; larger plans go in steps
_MOST_BETS = 2**15  # rows, from here on a chance of bets stays as it is
_DRAWS = 2**20  # values drawn for one size
_TRIES = (60, 1000)  # fewest and most draws of as many rows
_RISES, _SURE = 0.3, 0.998  # chances between which sizes are looked at closely
_FINE = 9  # sizes between them


class Counted(NamedTuple):
    """Rows that a promise is about and how many keep it, or amounts and how many rows pay each.

    Rows that several splits score count once in all, so counts need not be whole.
    """

    n_rows: float
    n_kept: float
    costs: tuple[float, ...] = ()
    n_paying: tuple[float, ...] = ()


def counted_of(front: ParetoFront, point: ParetoPoint, promise: Promise) -> Counted:
    """Count the scored rows that a promise is about, each row once however often it was scored."""
    by_class = point.by_class
    if promise.is_ceiling:
        n_rows = point.n_rows if by_class is None else float(by_class.rows.sum())
        leaves, costs = point.design.leaves, _costs_of(front, point)
        rejected = (point.rejected_by_stage[j] for j in leaves)
        left = tuple(one * n_rows / point.n_rows for one in (*point.exits, *rejected))
        counted = Counted(n_rows, n_rows, (*costs, *(costs[j] for j in leaves)), left)
        return counted if promise.costs is None else _with_errors(counted, point, promise.costs)
    if promise.label is not None:
        if by_class is None:
            raise ParameterError(
                f"{promise.parameter} must be left out by class for a front without results by "
                f"class, got {promise.limit:g} for class {promise.label!r}."
            )
        place = by_class.labels.index(promise.label)
        members = by_class.rows if promise.kind == "recall" else by_class.given
        return Counted(float(members[place]), float(by_class.correct[place]))
    if by_class is None:
        n_rows, answered, correct = point.n_rows, sum(point.exits), sum(point.correct_exits)
    else:
        counts = (by_class.rows, by_class.answered, by_class.correct)
        n_rows, answered, correct = (float(one.sum()) for one in counts)
    return Counted(n_rows, answered) if promise.kind == "coverage" else Counted(answered, correct)


def _with_errors(counted: Counted, point: ParetoPoint, costs: ErrorCosts) -> Counted:
    """Add what errors and rejections cost, as if they were as common at every stage.

    Nobody has counted which rows of a stage are wrong by class.
    """
    if point.by_class is None:
        raise ParameterError(
            "max_total must be left out for a front without results by class, got one of a front "
            "without them."
        )
    n_decided = np.array(point.by_class.counts, dtype=np.float64)
    happened = n_decided > 0
    lost, n_lost = costs.costs[happened], n_decided[happened]
    totals = np.add.outer(counted.costs, lost).ravel()
    n_paying = np.outer(counted.n_paying, n_lost / n_lost.sum()).ravel()
    return counted._replace(costs=tuple(totals.tolist()), n_paying=tuple(n_paying.tolist()))


def answers_everyone(front: ParetoFront, point: ParetoPoint) -> bool:
    """Whether the last stage of every path labels all rows: coverage is 1 without a test."""
    thresholds = point.design.thresholds_or(front.min_confidence)
    # A stage that is skipped for a missing value labels nobody.
    may_skip = front.models is not None and front.models.encoding.gaps == "skip"
    return all(answers_all(thresholds[j]) for j in point.design.leaves) and not may_skip


def _is_certain(front: ParetoFront, point: ParetoPoint, promise: Promise) -> bool:
    """Whether a design cannot break a promise, whatever the rows are."""
    if promise.is_ceiling:
        return _worst_cost(front, point, promise) <= promise.limit
    return promise.kind == "coverage" and answers_everyone(front, point)


def _worst_cost(front: ParetoFront, point: ParetoPoint, promise: Promise) -> float:
    """Most that a row can add to a mean cost or total."""
    return float(promise.amounts(_costs_of(front, point))[-1])


def _costs_of(front: ParetoFront, point: ParetoPoint) -> list[float]:
    """Cost of a row after each stage of a point."""
    design = point.design
    costs: list[float] = front.costs.after_stages(design.subsets(), design.before).tolist()
    return costs


def order_of(front: ParetoFront, promises: Sequence[Promise]) -> tuple[int, ...]:
    """Positions of the designs, those first that are likeliest to keep all promises.

    They go by the largest p-value of their promises on the scored rows, then by cost and size. A
    design that is on the front twice comes once. One that buys nothing comes last, and one that
    rejects everyone never.
    """
    keys: dict[Design, tuple[bool, float, float, int, int, int]] = {}
    for i, point in enumerate(front.points):
        if point.rejects_everyone:
            continue
        largest = 0.0
        for promise in promises:
            if not _is_certain(front, point, promise):
                scored = counted_of(front, point, promise)
                worst = _worst_cost(front, point, promise)
                largest = max(largest, scored_p_value(promise, scored, worst))
        n_stages, n_features, _ = point.size
        nothing = point.design.buys_nothing
        keys.setdefault(point.design, (nothing, largest, point.cost, n_stages, n_features, i))
    return tuple(key[-1] for key in sorted(keys.values()))


def first_of(front: ParetoFront, number: int, numbers: Sequence[int]) -> tuple[int, ...]:
    """Put a design before the others."""
    others = (i for i in numbers if front[i].design != front[number].design)
    return (number, *others)


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
        sizes, drawn = _drawn(prospect, delta)
        return lambda n_rows: np.interp(np.log(n_rows), np.log(sizes), drawn, left=0.0)

    def counted(n_rows: IntArray) -> FloatArray:
        members = np.floor(n_rows * prospect.share + 1e-9).astype(np.int64)
        passes = power(np.maximum(members, 1), prospect.figure, prospect.promise.limit, delta)
        return np.where(members > 0, passes, 0.0)

    return counted


def _drawn(prospect: Prospect, delta: float) -> tuple[list[int], FloatArray]:
    """Draw costs as expected and bet on them: sizes, and the chance with each.

    Sizes are four times apart, and close to each other where the chance rises.
    """
    rng = np.random.default_rng(0)
    chance_of: dict[int, float] = {}
    values, limit = np.array(prospect.costs), prospect.promise.limit / prospect.worst_cost
    steps = np.cumsum(prospect.paying)

    def chance(n: int) -> float:
        tries = int(np.clip(_DRAWS // n, *_TRIES))
        places = np.searchsorted(steps, rng.random((tries, n)) * steps[-1])
        drawn = values[np.minimum(places, len(values) - 1)]
        return float((mean_p_values(drawn, limit, delta) <= delta).mean())

    n = 8
    while n <= _MOST_BETS and (not chance_of or max(chance_of.values()) < _SURE):
        chance_of[n] = chance(n)
        n *= 4
    rising = [size for size, one in chance_of.items() if one < _RISES]
    for n in np.geomspace(max(rising, default=8), max(chance_of), _FINE).astype(int).tolist():
        if n not in chance_of:
            chance_of[n] = chance(n)
    sizes = sorted(chance_of)
    return sizes, np.maximum.accumulate([chance_of[size] for size in sizes])


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


def chance_to_pass(
    front: ParetoFront,
    point: ParetoPoint,
    promises: Sequence[Promise],
    n_rows: int,
    delta: float,
) -> float:
    """Chance that a design passes on so many fresh rows, if these are as expected.

    The chances to fail are added up, so the whole chance may be larger.
    """
    fails = 0.0
    for promise in promises:
        chance = chances(_prospect(front, point, promise), delta)
        fails += 1 - float(chance(np.array([n_rows]))[0])
    return max(0.0, 1 - fails)


def _rows(curves: Sequence[Callable[[IntArray], FloatArray]], aim: float) -> int | None:
    """Return the number of rows from which the chance of all curves stays at the aim or above."""

    def together(n_rows: IntArray) -> FloatArray:
        """Lower bound of the chance that all promises pass."""
        fails = sum((1 - chance(n_rows) for chance in curves), np.zeros(len(n_rows)))
        passes: FloatArray = 1 - fails
        return passes

    enough = 64
    while together(np.array([enough]))[0] < (1 + aim) / 2:
        enough *= 2
        if enough > _MOST_ROWS:
            return None
    sizes = np.arange(1, 2 * enough + 1, max(1, 2 * enough // _MOST_SIZES))
    below = np.flatnonzero(together(sizes) < aim)
    return int(sizes[min(below[-1] + 1, len(sizes) - 1)]) if below.size else 1


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
    deployed : int or None
        Position of the deployed design, if it was named.
    rows_to_begin : int or None
        Rows from which on the deployed design is tested first: its chance is at least one half.
        None if no number would do.

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
    deployed: int | None = None
    rows_to_begin: int | None = None

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
            "deployed": self.deployed,
            "rows_to_begin": self.rows_to_begin,
        }

    def __repr__(self) -> str:
        """List the rows that each design takes, and say what the plan assumes."""
        heading = "  ".join(f"{f'{chance:.0%}':>8}" for chance in self.chances)
        n_tested = f"{self.n_designs:,} designs, tested in this order."
        if self.n_designs == 1:
            n_tested = "One design is tested."
        lines = [
            f"Plan for a certificate at delta = {self.delta:g}:",
            *(f"  {promise.sentence}" for promise in self.promises),
            f"{n_tested} Fresh rows for a chance of success of",
            f"  design  {heading}",
        ]
        for one in self.designs:
            rows = ("too many" if n is None else f"{n:,}" for n in one.rows)
            cells = "  ".join(f"{n:>8}" for n in rows)
            if one.why_not:
                lines.append(f"  {one.number:>6}  {one.why_not}")
                continue
            start = f"  {one.number:>6}  {cells}  "
            design = wrap(one.point.design.arrows(), _WIDTH - len(start))
            lines += [start + design[0], *(" " * len(start) + more for more in design[1:])]
        if self.n_designs > 1:
            lines.append("A design is tested only if all before it pass.")
        if self.deployed is not None and self.rows_to_begin is None:
            lines.append(
                f"No number of rows makes it likely that the deployed design {self.deployed} "
                "passes: tests begin with another."
            )
        elif self.deployed is not None:
            lines.append(
                f"Design {self.deployed} is deployed, and tested first if there are at least "
                f"{self.rows_to_begin:,} rows,\nfor a chance of one half."
            )
        if self.is_scored:
            lines.append(
                "Some figures are scored ones, which are a little too good: take more rows."
            )
        return "\n".join(lines)


def plan_certificate(
    front: ParetoFront,
    promises: Sequence[Promise],
    *,
    delta: float,
    chances: Sequence[float] = _CHANCES,
    order: Any = None,
    deployed: ParetoPoint | int | None = None,
) -> CertificatePlan:
    """Plan a certificate: the rows that the leading designs take, or those in `order`."""
    delta = check_delta(delta)
    aims = tuple(check_number("chances", one, 0, 1, "()") for one in chances)
    numbers, in_use, rows_to_begin = wanted_order(front, order), None, None
    warn_of_little(front, promises)
    if not numbers:
        numbers = order_of(front, promises)
        if deployed is not None:
            in_use = front.position(deployed)
            prospects = [_prospect(front, front[in_use], one) for one in promises]
            (rows_to_begin,) = rows_for_chances(prospects, delta, (LIKELY,))
            if rows_to_begin is not None:
                numbers = first_of(front, in_use, numbers)
    planned = []
    for number in numbers[:_LEADING]:
        point = front.points[number]
        prospects = [_prospect(front, point, one) for one in promises]
        why_not = next((_why_not(point, one) for one in prospects if one.is_hopeless), "")
        rows = rows_for_chances(prospects, delta, aims)
        planned.append(PlannedDesign(number, point, rows, why_not))
    return CertificatePlan(
        tuple(promises), delta, aims, tuple(planned), len(numbers), in_use, rows_to_begin
    )


def warn_of_little(front: ParetoFront, promises: Sequence[Promise]) -> None:
    """Warn if always answering with the commonest class keeps all promises."""
    commonest = next((one for one in front.references if one.kind == "commonest"), None)
    if commonest is not None and all(map(commonest.keeps, promises)):
        # This, the function that plans or certifies, its method, and the caller.
        warnings.warn(
            DeploymentWarning(
                f"the label {commonest.label!r} for everyone keeps all promises on the scored "
                "rows; promise more."
            ),
            stacklevel=4,
        )


def check_delta(delta: object) -> float:
    """Return the level of a certificate, if it is one."""
    return check_number("delta", delta, 0, 1, "()")


def wanted_order(front: ParetoFront, order: Any) -> tuple[int, ...]:
    """Return positions of the designs that the user wants tested, each once; empty if none."""
    if order is None:
        return ()
    given = [order] if np.ndim(order) == 0 or isinstance(order, ParetoPoint) else list(order)
    if not given:
        raise ParameterError(f"order must name at least one design, got {order!r}.")
    return tuple(dict.fromkeys(front.position(one) for one in given))


def _estimate(point: ParetoPoint, promise: Promise) -> Estimate | None:
    """Return the expected figure of a promise; None if only the scored rows tell about it."""
    if point.expected is None:
        return None
    if promise.costs is not None:
        total = point.total_with(promise.costs)
        interval = total.interval
        if total.basis != "expected" or interval is None:
            return None
        return Estimate(total.value, interval.low, interval.high)
    if promise.kind == "recall" and point.by_class is not None and point.expected.recall:
        return point.expected.recall[point.by_class.labels.index(promise.label)]
    if promise.label is not None:
        return None
    if promise.kind == "accuracy" and point.metric != "accuracy":
        return None
    estimate: Estimate = getattr(point.expected, promise.kind)
    return estimate


def _prospect(front: ParetoFront, point: ParetoPoint, promise: Promise) -> Prospect:
    """Return what to plan with: the expected figure, or the scored one if there is no other."""
    scored, expected = counted_of(front, point, promise), _estimate(point, promise)
    is_certain = _is_certain(front, point, promise)
    if promise.is_ceiling:
        worst = _worst_cost(front, point, promise) or 1.0
        drawn = float(np.dot(scored.costs, scored.n_paying)) / (sum(scored.n_paying) or 1.0)
        mean = point.cost if promise.costs is None else drawn
        mean = mean if expected is None else expected.value
        shares = tuple(min(1.0, one * mean / (drawn or 1.0) / worst) for one in scored.costs)
        return Prospect(promise, mean, 1.0, shares, scored.n_paying, worst, is_certain)
    figure = scored.n_kept / scored.n_rows if scored.n_rows else 0.0
    figure = figure if expected is None else expected.value
    if scored.n_rows and figure >= 1:  # nobody is always right: half a row is off
        figure = 1 - 0.5 / (scored.n_rows + 1)
    n_rows = float(point.n_rows if point.by_class is None else point.by_class.rows.sum())
    share = scored.n_rows / n_rows
    if promise.kind == "accuracy" and promise.label is None and point.expected is not None:
        share = point.expected.coverage.value
    return Prospect(promise, figure, share, is_certain=is_certain)


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
    front: ParetoFront,
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
        expected = _prospect(front, point, check.promise)
        scored = counted_of(front, point, check.promise)
        if check.promise.is_ceiling:
            # The mean cost of scored and tested rows, plus half a standard error.
            costs, paying = (
                np.array(expected.costs) * expected.worst_cost,
                np.array(expected.paying),
            )
            mean = float(costs @ paying / paying.sum())
            variance = float(((costs - mean) ** 2) @ paying / paying.sum())
            total = scored.n_rows + n_rows
            pooled = (scored.n_rows * mean + n_rows * check.seen) / total
            figure = pooled + 0.5 * math.sqrt(variance / total)
            prospects.append(replace(expected, figure=figure, is_certain=check.is_certain))
        elif check.n_kept is not None:
            n_members = check.n_rows + scored.n_rows
            kept = (check.n_kept + scored.n_kept + 0.5) / (n_members + 1)
            figure = kept - 0.5 * math.sqrt(kept * (1 - kept) / (n_members + 1))
            n_scored = scored.n_rows / expected.share if expected.share else 0.0
            share = n_members / (n_rows + n_scored)
            prospects.append(Prospect(check.promise, figure, share, is_certain=check.is_certain))
    return rows_for_chances(prospects, delta, (_CHANCES[0],))[0]
