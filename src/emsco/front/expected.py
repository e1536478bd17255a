"""Expected figures of the points of a front: their scored figures, less the luck of the choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from emsco._base.objectives import balanced_length
from emsco._base.typing import FloatArray, IntArray, Report, StageArray
from emsco._base.workers import slices
from emsco.designs.chromosomes import stage_counts, stages_of
from emsco.front.pareto_front import ParetoFront
from emsco.front.point import ParetoPoint
from emsco.front.points import FrontPoints
from emsco.front.rules import DELAY_LIMITS, Preference, error_costs_of, given_error_costs, limits_of
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import knee_of
from emsco.scoring.scored_rows import ScoredRows
from emsco.stats.bags import BagFigures, Bags, RowShares
from emsco.stats.by_class import ByClass
from emsco.stats.error_costs import ErrorCosts
from emsco.stats.expected import NORMAL, Estimate, Expected, share_estimate

_NAMED = ("one_standard_error", "knee", "balanced")  # whose choice follows from three figures
UNFOLLOWED = {"min_recall", *DELAY_LIMITS}  # limits on other figures


@dataclass(frozen=True, slots=True, eq=False)
class ChoiceRules:
    """Follows rules in each bag.

    Attributes
    ----------
    figures : BagFigures
    sizes : ndarray of shape (n_designs,)
        Rank of each design by simplicity.
    total_cost : float
        Of all features.
    """

    figures: BagFigures
    sizes: IntArray
    total_cost: float

    def followed(self, front: FrontPoints, prefer: Preference | None) -> dict[int, IntArray]:
        """Return what rules choose in each bag, by the position of the point they choose here.

        Of two rules that choose the same point, `prefer` counts, or the later one. A point that
        `prefer` deploys by a rule that cannot be followed is left out. Costs of errors are
        followed by `cheapest`.
        """
        found = {front.position(front.prefer(name)): self._named(name, front) for name in _NAMED}
        if prefer is None or prefer in _NAMED or given_error_costs(prefer):
            return found
        if not isinstance(prefer, dict):
            found.pop(front.position(front.prefer(prefer)), None)
        elif (prefer.get("rule") or "balanced") == "balanced" and not UNFOLLOWED & prefer.keys():
            limits = {name: limit for name, limit in prefer.items() if name != "rule"}
            if front.within(**limits):
                found[front.position(front.select(**limits))] = self._balanced(limits)
        return found

    def cheapest(self, costs: ErrorCosts, limits: Mapping[str, Any], by_class: ByClass) -> IntArray:
        """Choose the design with the lowest total within limits; the nearest to them if none is.

        Bags count rows by their true class, not by the wrong label they get. Wrong labels cost
        the mean over `by_class`, the results of all points together.
        """
        correct, wrong, rejected = self.figures.inside_by_class()
        by_kind = (
            (correct, np.diagonal(costs.of_labels)),
            (wrong, costs.wrong_by_class(by_class)),
            (rejected, costs.costs[:, -1]),
        )
        total = self._inside[2] + sum(np.tensordot(cost, one, 1) for one, cost in by_kind)
        beyond = self._beyond(limits)
        far = total.max(axis=1, keepdims=True) + 1 + beyond
        found: IntArray = np.where(beyond > 0, far, total).argmin(axis=1)
        return found

    def _named(self, name: str, front: FrontPoints) -> IntArray:
        if name == "balanced":
            return self._balanced({})
        if name == "knee":
            return self._knees()
        best = front.position(max(front, key=lambda point: self._expected(point)[0]))
        return self._simple(self._expected(front[best])[1])

    def _expected(self, point: Any) -> tuple[float, float]:
        score: tuple[float, float] = point.expected.balanced(self.total_cost or 1.0)
        return score

    @property
    def _inside(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Coverage, accuracy and cost in each bag, (n_bags, n_designs)."""
        figures = self.figures.coverage, self.figures.accuracy, self.figures.cost
        coverage, accuracy, cost = (one[0].astype(np.float64) for one in figures)
        return coverage, accuracy, cost

    @property
    def _scores(self) -> FloatArray:
        scores: FloatArray = balanced_length(*self._inside, self.total_cost or 1.0)
        return scores

    def _balanced(self, limits: Mapping[str, Any]) -> IntArray:
        """Choose the best balanced design within limits; the nearest to them if none is."""
        beyond = self._beyond(limits)
        found: IntArray = np.where(beyond > 0, -beyond, self._scores).argmax(axis=1)
        return found

    def _beyond(self, limits: Mapping[str, Any]) -> FloatArray:
        """How far each design is outside the limits in each bag; 0 within them."""
        coverage, accuracy, cost = self._inside
        found: FloatArray = (
            np.maximum(0, (limits.get("min_coverage") or 0.0) - coverage)
            + np.maximum(0, (limits.get("min_accuracy") or 0.0) - accuracy)
            + np.maximum(0, cost - _most(limits)) / (self.total_cost or 1.0)
        )
        return found

    def _simple(self, error: float) -> IntArray:
        """Choose the simplest design whose score is at most a standard error below the best."""
        scores = self._scores
        near = scores >= scores.max(axis=1, keepdims=True) - error
        found: IntArray = np.where(near, self.sizes, len(self.sizes)).argmin(axis=1)
        return found

    def _knees(self) -> IntArray:
        """Choose the knee of the designs that no other beats."""
        from moocore import is_nondominated

        coverage, accuracy, cost = self._inside
        found = []
        for own in zip(coverage, accuracy, cost, strict=True):
            front = np.flatnonzero(
                is_nondominated(np.column_stack([*own[:2], -own[2]]), maximise=True)
            )
            found.append(front[knee_of(*(one[front] for one in own))])
        return np.array(found)


def _most(limits: Mapping[str, Any]) -> float:
    most = limits.get("max_cost")
    return np.inf if most is None else float(most)


def sizes_of(designs: StageArray) -> IntArray:
    """Rank designs by simplicity: by their stages, then by the features they buy.

    Examples
    --------
    >>> sizes_of(np.array([[0, 1], [0, 0], [0, -1]], dtype=np.int16)).tolist()
    [2, 1, 0]
    """
    n_bought = (stages_of(designs) >= 0).sum(axis=1)
    size = stage_counts(designs) * (designs.shape[1] + 1) + n_bought
    ranks: IntArray = np.unique(size, return_inverse=True)[1]
    return ranks


_MOST_BAGS, _FEWEST_BAGS = 100, 20
_BAGGED_ROWS = 400_000  # rows of all bags together, above the fewest bags
_WORK = 1e9  # rows of all bags, times designs
_FEWEST_DESIGNS = 20  # beside the points
_MOST_UNITS = 50_000  # rows, or blocks of rows where there are more
_AT_ONCE, _CELLS = 64, 2e7  # designs at a time, and rows times designs
# Models of different folds share rows, so accuracy varies more than rows do by themselves.
_FOLDS = 1.2
_ROUNDING = 1e-12  # of sums of squares


@dataclass(frozen=True, eq=False)
class Expecter:
    """Estimates what new rows will show of the points of a front.

    In many samples of the scored rows, *bags*, the choice of a point is made again, among all
    designs that are nearly as good. What the chosen ones lose on the rows outside is luck.

    Bags are drawn of *units*: rows, or blocks of many rows of a class if there are too many rows.
    Sums over blocks vary as sums over their rows do, and take less time and memory.

    Attributes
    ----------
    rows : ScoredRows
    evaluator : Evaluator
    total_cost : float
        Of all features.
    groups : ndarray of shape (n_distinct_rows,) or None
        Group of each distinct scored row, from 0, if rows of a group come together.
    """

    rows: ScoredRows
    evaluator: Evaluator
    total_cost: float
    groups: IntArray | None = None

    def on(
        self,
        front: ParetoFront,
        designs: StageArray,
        others: StageArray,
        prefer: Preference | None,
        report: Report | None = None,
        is_over: Callable[[], bool] | None = None,
    ) -> ParetoFront:
        """Return a front with the expected figures of its points.

        A point stands for "the most accurate of those that cost no more and cover no less", a rule
        that is followed in each bag. Points that are best balanced, knees or within one standard
        error of the best are followed by their own rule, and so is the one that limits deploy.

        Parameters
        ----------
        front : ParetoFront
        designs : ndarray of shape (n_points, n_features)
            Designs of its points, over blocks.
        others : ndarray of shape (n_others, n_features)
            Designs that might have been chosen as well.
        prefer : str, dict or None
            The rule or the limits that deploy a point.
        report : callable, optional
            Called as ``report(done, total)``.
        is_over : callable, optional
            Tells when the time is over: then no more of the others are tried.
        """
        tried = np.concatenate([designs, others[: self._n_others]])
        figures, errors, n_tried = self._bagged(tried, len(front), report, is_over)
        tried = tried[:n_tried]
        n_rows = self._n_rows

        def corrected(i: int, chosen: IntArray) -> ParetoPoint:
            luck = figures.luck(chosen)
            return replace(front[i], expected=_corrected(front[i], luck, errors[i], n_rows))

        points = [corrected(i, figures.best_beside(i)) for i in range(len(front))]
        front = replace(front, points=tuple(points))
        rules = ChoiceRules(figures, sizes_of(tried), self.total_cost)
        for i, choice in rules.followed(front, prefer).items():
            points[i] = corrected(i, choice)
        front = replace(front, points=tuple(points))
        return _cheapest_corrected(front, prefer, rules, corrected)

    def _bagged(
        self,
        tried: StageArray,
        n_points: int,
        report: Report | None,
        is_over: Callable[[], bool] | None,
    ) -> tuple[BagFigures, list[FloatArray], int]:
        """Figures of designs in all bags, errors of the first `n_points`, and how many there are.

        When the time is over, designs beyond the points are left out.
        """
        figures, errors = BagFigures(self._bags, self.evaluator.metric != "accuracy"), []
        places = np.argsort(self._bags.order)[self._unit]
        at_once = int(np.clip(_CELLS / len(self.rows.truth), 1, _AT_ONCE))
        for part in slices(len(tried), at_once):
            if part.start >= n_points and is_over is not None and is_over():
                tried = tried[: part.start]
                break
            paid = self.evaluator.costs_after(tried[part])
            shares = RowShares(*self.rows.shares(tried[part], paid, places))
            figures.add(shares)
            n_own = min(n_points - part.start, len(shares.spent))
            _ = self._sorted_weights  # once, before threads ask for it
            own = range(max(0, n_own))
            errors += self.rows.workers.map(partial(self._errors, shares), own)
            if report:
                report(min(part.stop, len(tried)), len(tried))
        figures.close()
        return figures, errors, len(tried)

    @cached_property
    def _n_rows(self) -> int:
        """Number of distinct rows."""
        return int(self.rows.rows.max()) + 1

    @cached_property
    def _unit(self) -> IntArray:
        """Unit of each distinct row: the row itself, or one of the blocks of its class."""
        units = np.arange(self._n_rows)
        if self.groups is not None or self._n_rows <= _MOST_UNITS:
            return units
        truth = np.zeros(self._n_rows, dtype=np.int64)
        truth[self.rows.rows] = self.rows.truth
        n_units = 0
        for k in range(self.rows.n_classes):
            own = np.flatnonzero(truth == k)
            n_blocks = -(-len(own) * _MOST_UNITS // self._n_rows)
            units[own] = n_units + np.arange(len(own)) % max(1, n_blocks)
            n_units += n_blocks
        return units

    @cached_property
    def _truth(self) -> IntArray:
        """Class of each unit."""
        truth = np.zeros(int(self._unit.max()) + 1, dtype=np.int64)
        truth[self._unit[self.rows.rows]] = self.rows.truth
        return truth

    @cached_property
    def _weights(self) -> FloatArray:
        """Weight of each unit."""
        units = self._unit[self.rows.rows]
        weights: FloatArray = np.bincount(units, self.rows.weights).astype(np.float64)
        return weights

    @cached_property
    def _sorted_weights(self) -> FloatArray:
        """Weight of each unit, in the order of the bags."""
        weights: FloatArray = self._weights[self._bags.order]
        return weights

    @cached_property
    def _bags(self) -> Bags:
        n_bags = int(np.clip(_BAGGED_ROWS // self._n_rows, _FEWEST_BAGS, _MOST_BAGS))
        rng = np.random.default_rng(self._n_rows)
        own = self._truth, self._weights, self.groups
        return Bags.draw(*own, n_bags, self.rows.n_classes, rng)

    @property
    def _n_others(self) -> int:
        work = self._bags.n_bags * self._n_rows
        return max(_FEWEST_DESIGNS, int(_WORK / work))

    def _errors(self, shares: RowShares, i: int) -> FloatArray:
        """Standard errors of coverage, accuracy and cost of one of the designs.

        Rows are in the order of the bags.
        """
        weights = self._sorted_weights
        coverage = self._error(shares.answered[i] * weights, weights)
        cost = self._error(shares.spent[i] * weights, weights)
        correct, answered = shares.correct[i] * weights, shares.answered[i] * weights
        if self.evaluator.metric == "accuracy":
            return np.array([coverage, self._error(correct, answered), cost])
        n_classes = self.rows.n_classes
        of_class = [self._truth[self._bags.order] == k for k in range(n_classes)]
        by_class = [self._error(correct * own, answered * own) for own in of_class]
        return np.array([coverage, float(np.linalg.norm(by_class)) / n_classes, cost])

    def _error(self, part: FloatArray, whole: FloatArray) -> float:
        """Standard error of a ratio of two sums over rows, or over groups of them."""
        total = float(whole.sum()) or 1.0
        ratio = float(part.sum()) / total
        if self.groups is not None:
            influence = np.bincount(self.groups[self._bags.order], (part - ratio * whole) / total)
            return float(np.linalg.norm(influence))
        own = float(part @ part)
        squares = own - 2 * ratio * float(part @ whole) + ratio**2 * float(whole @ whole)
        return float(np.sqrt(squares)) / total if squares > _ROUNDING * own else 0.0


def _cheapest_corrected(
    front: ParetoFront,
    prefer: Preference | None,
    rules: ChoiceRules,
    corrected: Callable[[int, IntArray], ParetoPoint],
) -> ParetoFront:
    """Take the luck of the lowest total off the point that has it.

    Then another point may have the lowest total, so this is repeated until it has been corrected.
    """
    parts = [point.by_class for point in front if point.by_class is not None]
    if not given_error_costs(prefer) or not isinstance(prefer, dict) or not parts:
        return front
    costs = error_costs_of(prefer, parts[0].labels, may_reject=False)
    limits = limits_of(prefer)
    if costs is None or UNFOLLOWED & limits.keys() or not front.within(**limits):
        return front
    choice, done = rules.cheapest(costs, limits, ByClass.joined(parts)), set[int]()
    while (i := front.position(front.prefer(prefer))) not in done:
        done.add(i)
        points = [corrected(j, choice) if j == i else one for j, one in enumerate(front)]
        front = replace(front, points=tuple(points))
    return front


def _corrected(point: ParetoPoint, luck: FloatArray, errors: FloatArray, n_rows: int) -> Expected:
    """Take the luck off scored figures, and put an interval around each."""
    figures = np.array([point.coverage, point.accuracy, point.cost])
    most = np.array([errors[0], np.inf, errors[2]])  # a cost that never varies is no luck
    coverage, accuracy, cost = (figures - np.clip(luck, -most, most)).tolist()
    counted = _counted(point.coverage, float(errors[0]), n_rows)
    labelled = _counted(point.accuracy, float(errors[1]), point.coverage * n_rows)
    cost, half = max(0.0, cost), NORMAL * float(errors[2])
    return Expected(
        share_estimate(coverage, counted),
        share_estimate(accuracy, labelled / _FOLDS**2),
        Estimate(cost, max(0.0, cost - half), cost + half),
    )


def _counted(share: float, error: float, n_rows: float) -> float:
    """Rows that a share with this standard error is as good as counted on, at most all of them.

    A share of 0 or 1 has an error of 0, but says no more than so many rows.
    """
    return min(share * (1 - share) / error**2, n_rows) if error > 0 else n_rows
