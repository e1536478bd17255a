"""Expected figures of the points of a front: their scored figures, less the luck of the choice."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from emsco._base.objectives import balanced_length
from emsco._base.typing import FloatArray, IntArray, StageArray
from emsco._base.workers import slices
from emsco.front.front import ParetoFront
from emsco.front.point import ParetoPoint
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.scored_rows import ScoredRows
from emsco.trust.expected import NORMAL, Estimate, Expected, share_estimate
from emsco.trust.optimism import BagFigures, Bags, RowShares

__all__ = ["Expecter"]

_MOST_BAGS, _FEWEST_BAGS = 100, 40
_BAGGED_ROWS = 400_000  # rows of all bags together, above the fewest bags
_WORK = 1e9  # rows of all bags, times designs
_FEWEST_DESIGNS = 100  # beside the points
_AT_ONCE = 64  # designs
# Models of different folds share rows, so accuracy varies more than rows do by themselves.
_FOLDS = 1.2


@dataclass(frozen=True, eq=False)
class Expecter:
    """Estimates what new rows will show of the points of a front.

    In many samples of the scored rows, *bags*, the choice of a point is made again, among all
    designs that are nearly as good. What the chosen ones lose on the rows outside is luck.

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
        limits: Mapping[str, Any],
        report: Callable[[int, int], None] | None = None,
    ) -> ParetoFront:
        """Return a front with the expected figures of its points.

        Rules of the best balanced point, of all and within the limits that deploy, are followed.
        """
        rules: dict[int, Mapping[str, Any]] = {front.position(front.balanced()): {}}
        if limits and limits.get("rule", "balanced") == "balanced" and front.within(**limits):
            rules[front.position(front.select(**limits))] = limits
        found = self.expected(front.points, designs, others, rules, report)
        pairs = zip(front.points, found, strict=True)
        points = (replace(point, expected=expected) for point, expected in pairs)
        return replace(front, points=tuple(points))

    def expected(
        self,
        points: Sequence[ParetoPoint],
        designs: StageArray,
        others: StageArray,
        rules: Mapping[int, Mapping[str, Any]],
        report: Callable[[int, int], None] | None = None,
    ) -> list[Expected]:
        """Return the expected figures of points.

        A point stands for "the most accurate of those no dearer and with no less coverage", a rule
        that is followed in each bag. Points that the best balanced score within limits has chosen
        are followed by that rule instead.

        Parameters
        ----------
        points : sequence of ParetoPoint
        designs : ndarray of shape (n_points, n_features)
            Their designs over blocks.
        others : ndarray of shape (n_others, n_features)
            Designs that might have been chosen as well.
        rules : mapping of int to mapping
            Limits within which points have the best balanced score, by position.
        report : callable, optional
            Called as ``report(done, total)``.
        """
        figures, errors = BagFigures(self._bags, self.evaluator.metric != "accuracy"), []
        tried = np.concatenate([designs, others[: self._n_others]])
        for part in slices(len(tried), _AT_ONCE):
            paid = self.evaluator.costs_after(tried[part])
            shares = RowShares(*self.rows.shares(tried[part], paid))
            figures.add(shares)
            n_points = max(0, len(points) - part.start)
            errors += [self._errors(shares, i) for i in range(min(n_points, len(tried[part])))]
            if report:
                report(part.stop, len(tried))
        figures.close()
        found = []
        for i, point in enumerate(points):
            within = rules.get(i)
            chosen = figures.best_beside(i) if within is None else self._balanced(figures, within)
            found.append(_corrected(point, figures.luck(chosen), errors[i], len(self._truth)))
        return found

    @cached_property
    def _truth(self) -> IntArray:
        """Class of each distinct row."""
        truth = np.zeros(int(self.rows.rows.max()) + 1, dtype=np.int64)
        truth[self.rows.rows] = self.rows.truth
        return truth

    @cached_property
    def _weights(self) -> FloatArray:
        """Weight of each distinct row."""
        weights: FloatArray = np.bincount(self.rows.rows, self.rows.weights).astype(np.float64)
        return weights

    @cached_property
    def _bags(self) -> Bags:
        n = len(self._truth)
        n_bags = int(np.clip(_BAGGED_ROWS // n, _FEWEST_BAGS, _MOST_BAGS))
        rng = np.random.default_rng(n)
        own = self._truth, self._weights, self.groups
        return Bags.draw(*own, n_bags, self.rows.n_classes, rng)

    @property
    def _n_others(self) -> int:
        work = self._bags.n_bags * len(self._truth)
        return max(_FEWEST_DESIGNS, int(_WORK / work))

    def _errors(self, shares: RowShares, i: int) -> FloatArray:
        """Standard errors of coverage, accuracy and cost of one of the designs."""
        weights = self._weights
        one = np.ones_like(weights)
        coverage = self._error(shares.answered[i] * weights, one * weights)
        cost = self._error(shares.spent[i] * weights, one * weights)
        correct, answered = shares.correct[i] * weights, shares.answered[i] * weights
        if self.evaluator.metric == "accuracy":
            return np.array([coverage, self._error(correct, answered), cost])
        n_classes = self.rows.n_classes
        of_class = [self._truth == k for k in range(n_classes)]
        by_class = [self._error(correct * own, answered * own) for own in of_class]
        return np.array([coverage, float(np.linalg.norm(by_class)) / n_classes, cost])

    def _error(self, part: FloatArray, whole: FloatArray) -> float:
        """Standard error of a ratio of two sums over rows, or over groups of them."""
        total = float(whole.sum()) or 1.0
        influence = (part - part.sum() / total * whole) / total
        if self.groups is not None:
            influence = np.bincount(self.groups, influence)
        return float(np.linalg.norm(influence))

    def _balanced(self, figures: BagFigures, within: Mapping[str, Any]) -> IntArray:
        """Choose the best balanced design within limits in each bag; the nearest if none is."""
        coverage, accuracy, cost = (
            one[0].astype(np.float64) for one in (figures.coverage, figures.accuracy, figures.cost)
        )
        beyond = (
            np.maximum(0, within.get("min_coverage", 0.0) - coverage)
            + np.maximum(0, within.get("min_accuracy", 0.0) - accuracy)
            + np.maximum(0, cost - within.get("max_cost", np.inf)) / (self.total_cost or 1.0)
        )
        score = balanced_length(coverage, accuracy, cost, self.total_cost or 1.0)
        found: IntArray = np.where(beyond > 0, -beyond, score).argmax(axis=1)
        return found


def _corrected(point: ParetoPoint, luck: FloatArray, errors: FloatArray, n_rows: int) -> Expected:
    """Take the luck off scored figures, and put an interval around each."""
    figures = np.array([point.coverage, point.accuracy, point.cost])
    coverage, accuracy, cost = (figures - luck).tolist()
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
