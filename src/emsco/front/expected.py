"""Expected figures of the points of a front: their scored figures, corrected for the choice.

A design that looks best on the scored rows is partly good and partly lucky. How much luck adds is
measured by choosing again and again. A *bag* is a sample of the scored rows, drawn with
replacement; about a third of the rows stay outside. In each bag the choice of a point is made
again, among all designs that are nearly as good. The chosen design looks better inside the bag than
on the rows outside, by the luck of the choice. That difference is taken off the scored figures.

`Bags` draws the samples, `BagFigures` has the figures of all designs inside and outside of each,
`ChoiceRules` chooses in each, and `OptimismCorrection` puts them together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.random import Generator

from emsco._base.objectives import NORMAL, Estimate, Expected, balanced_length
from emsco._base.typing import FloatArray, IntArray, Report, SingleArray
from emsco._base.workers import slices
from emsco.designs.population import Designs
from emsco.front.economical import TOLERANCES, TOLERATED, TOLERATED_OUTSIDE
from emsco.front.pareto_front import ParetoFront
from emsco.front.point import ParetoPoint
from emsco.front.rules import (
    DELAY_LIMITS,
    Preference,
    error_costs_of,
    given_error_costs,
    limits_in,
)
from emsco.scoring.by_class import ByClass
from emsco.scoring.comparisons import Comparison
from emsco.scoring.error_costs import ErrorCosts
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import knee_of
from emsco.scoring.rows import ScoredRows
from emsco.scoring.walk import Walk
from emsco.stats.intervals import share_estimate

MAX_BAGS, _FEWEST_BAGS = 100, 20  # samples of the rows
_BAGGED_ROWS = 400_000  # rows of all bags together, above the fewest bags
_WORK = 1e9  # rows of all bags, times designs
_FEWEST_DESIGNS = 20  # beside the points
_MOST_UNITS = 50_000  # rows, or blocks of rows where there are more
_AT_ONCE, _CELLS = 64, 2e7  # designs at a time, and rows times designs
# Models of different folds share rows, so accuracy varies more than rows do by themselves.
_FOLDS = 1.2
_ROUNDING = 1e-12  # of sums of squares
_TIE = 1e-6  # shares that differ by less are the same
_NAMED = ("one_standard_error", "knee", "balanced")  # whose choice follows from three figures
_UNFOLLOWED = {"min_recall", *DELAY_LIMITS}  # limits on figures that bags do not have


@dataclass(frozen=True, slots=True, eq=False)
class Bags:
    """Weights of the rows inside and outside each bag.

    Attributes
    ----------
    weights : ndarray of shape (2, n_bags, n_rows)
        Inside, then outside, with rows sorted by class.
    order : ndarray of shape (n_rows,)
        Rows by class.
    ends : ndarray of shape (n_classes + 1,)
        Where each class begins and ends in `order`.
    """

    weights: SingleArray
    order: IntArray
    ends: IntArray

    @classmethod
    def draw(
        cls,
        truth: IntArray,
        weights: FloatArray,
        groups: IntArray | None,
        n_bags: int,
        n_classes: int,
        rng: Generator,
    ) -> Self:
        """Draw bags of rows; rows of a group come together, as often as it is drawn.

        `truth`, `weights` and `groups` have an entry per row; groups count from 0.
        """
        of_row = np.arange(len(truth)) if groups is None else groups
        n_units = int(of_row.max()) + 1
        # As often as each unit is drawn with replacement; about a third of them not at all.
        drawn = rng.multinomial(n_units, np.full(n_units, 1 / n_units), n_bags)[:, of_row]
        order = np.argsort(truth, kind="stable")
        # Rows that were not drawn are outside the bag.
        both = np.stack([drawn, drawn == 0])[:, :, order] * weights[order]
        # Rows of a class lie side by side, so that sums by class are products of slices.
        ends = np.searchsorted(truth[order], np.arange(n_classes + 1))
        return cls(both.astype(np.float32), order, ends)

    @property
    def n_bags(self) -> int:
        """Number of bags."""
        return int(self.weights.shape[1])

    def rows_by_class(self) -> SingleArray:
        """Weight of the rows of each class inside and outside each bag: (n_classes, 2, n_bags)."""
        return np.stack([self.weights[:, :, a:b].sum(axis=2) for a, b in pairwise(self.ends)])


@dataclass(slots=True, eq=False)
class BagFigures:
    """Figures of designs inside and outside each bag; designs are added part by part.

    Arrays have the shape (2, n_bags, n_designs): inside, then outside.

    Attributes
    ----------
    bags : Bags
    is_balanced : bool
        Whether accuracy is the mean over the classes.
    money : ErrorCosts or None
        What errors and rejections cost, if designs are to have the lowest total.
    coverage, accuracy, cost : ndarray
    total : ndarray or None
    """

    bags: Bags
    is_balanced: bool = False
    money: ErrorCosts | None = None
    _parts: list[tuple[SingleArray, SingleArray, SingleArray]] = field(default_factory=list)
    _answered: SingleArray = field(init=False)
    _correct: SingleArray = field(init=False)
    coverage: SingleArray = field(init=False)
    accuracy: SingleArray = field(init=False)
    cost: SingleArray = field(init=False)
    total: SingleArray | None = field(init=False, default=None)

    def add(self, answered: SingleArray, correct: SingleArray, spent: SingleArray) -> None:
        """Add some designs, by what they do with each row in the order of the bags.

        Arrays have the shape (n_designs, n_rows): the share of a row's decisions that are answers,
        that of correct ones, and the mean cost.
        """
        # A matrix product sums over rows for all bags and designs at once.
        weighted = self.bags.weights @ spent.T
        self._parts.append((self._by_class(answered), self._by_class(correct), weighted))

    def close(self) -> None:
        """Compute the figures of all designs added."""
        self._answered, self._correct, spent = (
            np.concatenate(parts, axis=-1) for parts in zip(*self._parts, strict=True)
        )
        self._parts = []
        total = np.maximum(self.bags.weights.sum(axis=2), 1e-12)[:, :, None]
        self.cost = spent / total
        self.coverage = self._answered.sum(axis=0) / total
        self.accuracy = self._accuracy(self._correct, self._answered)
        if self.money is not None:
            rows = self.bags.rows_by_class()[..., None]
            lost = _losses(self.money, self._answered, self._correct, rows)
            self.total = self.cost + lost.sum(axis=0).astype(np.float32) / total

    def luck(self, chosen: IntArray) -> FloatArray:
        """Return what luck adds to the figures of the design chosen in each bag.

        These are coverage, accuracy, cost, the recall of each class, then the total if there is
        one. Counts are added up over bags before they are divided: a few rows outside may all be
        rejected.
        """
        at = np.arange(self.bags.n_bags), chosen
        # The design chosen in each bag, inside and outside it, by class.
        correct, answered = (
            part[(..., *at)].sum(axis=-1) for part in (self._correct, self._answered)
        )
        rows = self.bags.rows_by_class().sum(axis=-1)
        figures = [
            self.coverage[(slice(None), *at)].mean(axis=1),
            self._accuracy(correct, answered),
            self.cost[(slice(None), *at)].mean(axis=1),
            *(correct / np.where(rows > 0, rows, 1)),
        ]
        if self.total is not None:
            figures.append(self.total[(slice(None), *at)].mean(axis=1))
        return np.array([float(inside - outside) for inside, outside in figures])

    def best_beside(self, design: int) -> IntArray:
        """Choose the most accurate in each bag of those that cost no more and cover no less.

        Where errors have a cost, it is the one with the lowest total.
        """
        coverage, accuracy, cost = self.coverage[0], self.accuracy[0], self.cost[0]
        # Sums in single precision may differ in the last digits.
        may_be = (cost <= cost[:, [design]] + _TIE) & (coverage >= coverage[:, [design]] - _TIE)
        if self.total is not None:
            cheapest: IntArray = np.where(may_be, self.total[0], np.inf).argmin(axis=1)
            return cheapest
        chosen: IntArray = np.where(may_be, accuracy, -1.0).argmax(axis=1)
        return chosen

    def behind_outside(self, chosen: IntArray, everything: int) -> FloatArray:
        """How far the design chosen in each bag is behind another one on the rows outside.

        Returns the mean differences of accuracy and of the recall of each class.
        """
        at = np.arange(self.bags.n_bags)
        correct, answered = self._correct[:, 1], self._answered[:, 1]
        rows = self.bags.rows_by_class()[:, 1].sum(axis=1)
        right, given = correct[:, at, chosen].sum(axis=1), answered[:, at, chosen].sum()
        all_right, all_given = (
            correct[:, :, everything].sum(axis=1),
            answered[:, :, everything].sum(),
        )
        accuracy = right.sum() / max(given, 1e-12) - all_right.sum() / max(all_given, 1e-12)
        recall = (right - all_right) / np.maximum(rows, 1e-12)
        return -np.array([accuracy, *recall], dtype=np.float64)

    def inside_by_class(self) -> tuple[SingleArray, SingleArray, SingleArray]:
        """Shares of all rows inside each bag that are correct, wrong and rejected, by true class.

        Each has the shape (n_classes, n_bags, n_designs).
        """
        rows = self.bags.rows_by_class()[:, 0, :, None]
        # A bag may miss all rows of positive weight.
        total = np.maximum(rows.sum(axis=0), 1e-12)
        answered, correct = self._answered[:, 0], self._correct[:, 0]
        return correct / total, (answered - correct) / total, (rows - answered) / total

    def _by_class(self, shares: SingleArray) -> SingleArray:
        """Weight of the rows of each class: (n_classes, 2, n_bags, n_designs)."""
        weights, ends = self.bags.weights, self.bags.ends
        return np.stack([weights[:, :, a:b] @ shares[:, a:b].T for a, b in pairwise(ends)])

    def _accuracy(self, correct: SingleArray, answered: SingleArray) -> SingleArray:
        if not self.is_balanced:
            # Over all classes at once, or class by class below.
            correct, answered = correct.sum(axis=0, keepdims=True), answered.sum(axis=0)[None]
        shares = correct / np.where(answered > 0, answered, 1)
        accuracy: SingleArray = shares.mean(axis=0)
        return accuracy


@dataclass(frozen=True, eq=False)
class ChoiceRules:
    """Follows rules in each bag.

    Attributes
    ----------
    figures : BagFigures
    sizes : ndarray of shape (n_designs,)
        Rank of each design by simplicity.
    total_cost : float
        Of all features.
    everything : int or None
        Position of the design that buys everything at once among those of `figures`.
    tolerated : float
        Standard errors by which the economical design may be behind it.
    """

    figures: BagFigures
    sizes: IntArray
    total_cost: float
    everything: int | None = None
    tolerated: float = TOLERATED

    def followed(self, front: ParetoFront, prefer: Preference | None) -> dict[int, IntArray]:
        """Return what rules choose in each bag, by the position of the point they choose here.

        Of two rules that choose the same point, `prefer` counts, or the later one. A point that
        `prefer` deploys by a rule that cannot be followed is left out. Costs of errors are
        followed by `cheapest`.
        """
        from moocore import is_nondominated

        # The simplest design whose score is at most a standard error below the best. The error is
        # that of the best expected point of the front.
        expected = [point.expected for point in front if point.expected is not None]
        balanced = [one.balanced(self.total_cost or 1.0) for one in expected]
        # The error of the best is the yardstick of the rule, also in the bags.
        _, error = max(balanced, key=lambda score: score[0])
        near = self._scores >= self._scores.max(axis=1, keepdims=True) - error
        simple: IntArray = np.where(near, self.sizes, len(self.sizes)).argmin(axis=1)
        # The knee of the designs that no other beats.
        knees = []
        for coverage, accuracy, cost in zip(*self._inside, strict=True):
            objectives = np.column_stack([coverage, accuracy, -cost])
            unbeaten = np.flatnonzero(is_nondominated(objectives, maximise=True))
            knee = knee_of(coverage[unbeaten], accuracy[unbeaten], cost[unbeaten])
            knees.append(unbeaten[knee])
        choices = {
            front.position(front.one_standard_error()): simple,
            front.position(front.knee()): np.array(knees),
            front.position(front.balanced()): self._balanced({}),
        }
        if prefer is None or prefer in _NAMED or given_error_costs(prefer):
            return choices
        if not isinstance(prefer, dict):
            deployed = front.prefer(prefer)
            # A rule that cannot be followed in bags must not lend its point another rule's luck.
            choices.pop(front.position(deployed), None)
            versus = deployed.versus_everything
            if prefer == "economical" and self.everything is not None and versus is not None:
                choices[front.position(deployed)] = self.economical(
                    self.everything, _errors_of(versus), self.tolerated
                )
            return choices
        limits, rule = limits_in(prefer), prefer.get("rule")
        if (
            rule in (None, "balanced")
            and not _UNFOLLOWED & limits.keys()
            and front.within(**limits)
        ):
            chosen = self._balanced(limits) if rule else self._meant(limits)
            choices[front.position(front.select(**prefer))] = chosen
        return choices

    def economical(
        self, everything: int, errors: FloatArray, tolerated: float = TOLERATED
    ) -> IntArray:
        """Choose the cheapest design in each bag that is as good as buying everything.

        As good means what `is_good_enough` does. `errors` has the standard errors of the
        differences from everything in accuracy and in the recall of each class, of one design or of
        each. Everything itself always passes.
        """
        coverage, accuracy, cost = self._inside
        good = coverage >= coverage[:, [everything]] - _TIE
        good &= accuracy >= accuracy[:, [everything]] - tolerated * errors[0]
        correct, wrong, rejected = self.figures.inside_by_class()
        for k, error in enumerate(errors[1:]):
            rows = (correct[k] + wrong[k] + rejected[k])[:, [everything]]
            needed = correct[k][:, [everything]] - tolerated * error * rows
            good &= correct[k] >= needed - _TIE
        good[:, everything] = True
        chosen: IntArray = np.where(good, cost, np.inf).argmin(axis=1)
        return chosen

    def cheapest(self, costs: ErrorCosts, limits: Mapping[str, Any], by_class: ByClass) -> IntArray:
        """Choose the design with the lowest total within limits; the nearest to them if none is.

        Bags count rows by their true class, not by the wrong label they get. Wrong labels cost
        the mean over `by_class`, the results of all points together.
        """
        correct, wrong, rejected = self.figures.inside_by_class()
        by_kind = (
            (correct, np.diagonal(costs.of_labels)),
            (wrong, costs.mean_wrong(by_class)),
            (rejected, costs.costs[:, -1]),
        )
        total = self._inside[2] + sum(np.tensordot(cost, one, 1) for one, cost in by_kind)
        beyond = self._beyond(limits)
        # Beyond the limits is worse than any total within them.
        far = total.max(axis=1, keepdims=True) + 1 + beyond
        chosen: IntArray = np.where(beyond > 0, far, total).argmin(axis=1)
        return chosen

    @cached_property
    def _inside(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Coverage, accuracy and cost in each bag, (n_bags, n_designs)."""
        figures = self.figures.coverage, self.figures.accuracy, self.figures.cost
        coverage, accuracy, cost = (one[0].astype(np.float64) for one in figures)
        return coverage, accuracy, cost

    @cached_property
    def _scores(self) -> FloatArray:
        scores: FloatArray = balanced_length(*self._inside, self.total_cost or 1.0)
        return scores

    def _balanced(self, limits: Mapping[str, Any]) -> IntArray:
        """Choose the best balanced design within limits; the nearest to them if none is."""
        return self._best(self._scores, limits)

    def _meant(self, limits: Mapping[str, Any]) -> IntArray:
        """Choose what limits mean, as `PointLimits.best` does; the nearest to them if none is."""
        coverage, accuracy, cost = self._inside
        # Too small to outweigh any real difference.
        dearer = _TIE * cost / (self.total_cost or 1.0)  # of equals the cheapest
        has_accuracy = limits.get("min_accuracy") is not None
        if limits.get("min_coverage") is not None:
            return self._best(-dearer if has_accuracy else accuracy - dearer, limits)
        if has_accuracy:
            return self._best(coverage - dearer, limits)
        answering = np.where(coverage >= 1 - _TIE, 1 + accuracy, coverage * accuracy)
        return self._best(answering - dearer, limits)

    def _best(self, scores: FloatArray, limits: Mapping[str, Any]) -> IntArray:
        """Choose the design with the highest score within limits; the nearest if none is."""
        beyond = self._beyond(limits)
        # Beyond the limits is worse than any score within them.
        lowest = scores.min(axis=1, keepdims=True) - 1
        chosen: IntArray = np.where(beyond > 0, lowest - beyond, scores).argmax(axis=1)
        return chosen

    def _beyond(self, limits: Mapping[str, Any]) -> FloatArray:
        """How far each design is outside the limits in each bag; 0 within them."""
        coverage, accuracy, cost = self._inside
        max_cost = limits.get("max_cost")
        beyond: FloatArray = (
            np.maximum(0, (limits.get("min_coverage") or 0.0) - coverage)
            + np.maximum(0, (limits.get("min_accuracy") or 0.0) - accuracy)
            + np.maximum(0, cost - (np.inf if max_cost is None else float(max_cost)))
            / (self.total_cost or 1.0)
        )
        return beyond


def _losses(
    money: ErrorCosts, answered: SingleArray, correct: SingleArray, rows: SingleArray
) -> FloatArray:
    """What wrong labels and rejections cost the rows of each class, which is the first axis.

    A wrong label of a class costs the mean over all that would be wrong.
    """
    shape = (-1, *(1,) * (answered.ndim - 1))
    right, wrong, rejected = (
        costs.reshape(shape)
        for costs in (np.diagonal(money.of_labels), money.mean_wrong(), money.costs[:, -1])
    )
    lost: FloatArray = right * correct + wrong * (answered - correct) + rejected * (rows - answered)
    return lost


def sizes_of(designs: Designs) -> IntArray:
    """Rank designs by simplicity: by their stages, then by the features they buy.

    Examples
    --------
    >>> sizes_of(Designs.of(np.array([[0, 1], [0, 0], [0, -1]], dtype=np.int16))).tolist()
    [2, 1, 0]
    """
    n_bought, n_stages = (designs.stages >= 0).sum(axis=1), designs.n_stages
    for i, fork in enumerate(designs.forks or ()):
        if fork is not None:
            n_stages[i] = fork.design.n_stages
            n_bought[i] = fork.design.subsets().any(axis=0).sum()
    # Stages count before features: no number of features makes up for a stage.
    size = n_stages * (max(designs.stages.shape[1], int(n_bought.max(initial=0))) + 1) + n_bought
    ranks: IntArray = np.unique(size, return_inverse=True)[1]
    return ranks


@dataclass(frozen=True, eq=False)
class OptimismCorrection:
    """Estimates what new rows will show of the points of a front.

    In many samples of the scored rows, *bags*, the choice of a point is made again, among all
    designs that are nearly as good. What the chosen ones lose on the rows outside is luck.

    Bags are drawn of *units*: rows, or blocks of many rows of a class if there are too many rows.
    Sums over blocks vary as sums over their rows do, and take less time and memory.

    Attributes
    ----------
    walk : Walk
    evaluator : Evaluator
    total_cost : float
        Of all features.
    groups : ndarray of shape (n_distinct_rows,) or None
        Group of each distinct scored row, from 0, if rows of a group come together.
    money : ErrorCosts or None
        What errors and rejections cost, if the search was for the lowest total.
    """

    walk: Walk
    evaluator: Evaluator
    total_cost: float
    groups: IntArray | None = None
    money: ErrorCosts | None = None

    def tolerance(
        self,
        points: Sequence[ParetoPoint],
        designs: Designs,
        others: Designs,
        is_over: Callable[[], bool],
    ) -> float:
        """Find by how many standard errors the economical design may be behind everything.

        The cheapest design that looks as good as everything is chosen in each bag. The tolerance is
        the first of `TOLERANCES` that some point is within, and with which the choice is at most
        `TOLERATED_OUTSIDE` behind on the rows outside, on average over the bags, in accuracy and in
        the recall of each class. If there is none, it is `TOLERATED`. `points` and their `designs`
        are those to choose from; `others` are as in `corrected`.
        """
        known = [(one.versus_everything, i) for i, one in enumerate(points)]
        versus = [(one, i) for one, i in known if one is not None and one.values[0] >= -_TIE]
        if not versus:
            return TOLERATED
        # Designs that nobody has compared with everything differ from it as the others do.
        errors = np.array([_errors_of(one) for one, _ in versus]).T
        usual = np.median(errors, axis=1)
        coverage = self.evaluator.score(others).coverage
        beside = others[1:][coverage[1:] >= coverage[0] - _TIE]
        tried = Designs.concatenate([others[:1], designs[[i for _, i in versus]], beside])
        figures, _, n_tried = self._bagged(tried, 1, None, is_over)
        every = np.repeat(usual[:, None], n_tried, axis=1)
        n_known = min(errors.shape[1], n_tried - 1)
        every[:, 1 : 1 + n_known] = errors[:, :n_known]
        rules = ChoiceRules(figures, sizes_of(tried[:n_tried]), self.total_cost)
        lowest = min(one.behind for one, _ in versus)
        for tolerated in TOLERANCES:
            behind = figures.behind_outside(rules.economical(0, every, tolerated), 0)
            if lowest <= tolerated and (behind <= TOLERATED_OUTSIDE * usual + _TIE).all():
                return tolerated
        return TOLERATED

    def corrected(
        self,
        front: ParetoFront,
        designs: Designs,
        others: Designs,
        prefer: Preference | None,
        report: Report | None = None,
        is_over: Callable[[], bool] | None = None,
        tolerated: float = TOLERATED,
    ) -> ParetoFront:
        """Return a front with the expected figures of its points.

        A point stands for "the most accurate of those that cost no more and cover no less", a rule
        that is followed in each bag. Points that are best balanced, knees or within one standard
        error of the best are followed by their own rule, and so is the economical one, and the one
        that limits deploy.

        Parameters
        ----------
        front : ParetoFront
        designs : Designs
            Designs of its points, over blocks.
        others : ndarray of shape (n_others, n_features)
            Designs that might have been chosen as well. The first one buys everything at once.
        prefer : str, dict or None
            The rule or the limits that deploy a point.
        report : callable, optional
            Called as ``report(done, total)``.
        is_over : callable, optional
            Tells when the time is over: then no more of the others are tried.
        tolerated : float
            Standard errors by which the economical design may be behind buying everything.
        """
        # Time and memory go with bags, rows and designs; the rest is left out.
        n_others = max(_FEWEST_DESIGNS, int(_WORK / (self._bags.n_bags * self._n_rows)))
        tried = Designs.concatenate([designs, others[:n_others]])
        figures, errors, n_tried = self._bagged(tried, len(front), report, is_over)

        def correct(front: ParetoFront, choices: Mapping[int, IntArray]) -> ParetoFront:
            """Take the luck of the choice in each bag off the points at some positions."""
            points = list(front.points)
            for i, chosen in choices.items():
                luck = figures.luck(chosen)
                expected = _expected(points[i], luck, errors[i], self._n_rows, self.money)
                points[i] = points[i].with_figures(expected=expected)
            return replace(front, points=tuple(points))

        front = correct(front, {i: figures.best_beside(i) for i in range(len(front))})
        everything = len(front) if n_tried > len(front) else None
        rules = ChoiceRules(
            figures,
            sizes_of(tried[:n_tried]),
            self.total_cost,
            everything,
            tolerated,
        )
        front = correct(front, rules.followed(front, prefer))

        # Of costs of errors, the luck of the lowest total is taken off the point that has it. Then
        # another point may have the lowest total, so this is repeated until it has been corrected.
        parts = [point.by_class for point in front if point.by_class is not None]
        if not isinstance(prefer, dict) or not parts:
            return front
        limits = limits_in(prefer)
        costs = error_costs_of(prefer, parts[0].labels, may_reject=False)
        if costs is None or _UNFOLLOWED & limits.keys() or not front.within(**limits):
            return front
        # Costs of labels are averaged over all points, as bags do not know which label was wrong.
        choice, done = rules.cheapest(costs, limits, ByClass.joined(parts)), set[int]()
        while (i := front.position(front.find(prefer))) not in done:
            done.add(i)
            front = correct(front, {i: choice})
        return front

    def _bagged(
        self,
        tried: Designs,
        n_points: int,
        report: Report | None,
        is_over: Callable[[], bool] | None,
    ) -> tuple[BagFigures, list[FloatArray], int]:
        """Figures of designs in all bags, errors of the first `n_points`, and how many there are.

        When the time is over, designs beyond the points are left out.
        """
        is_balanced = self.evaluator.metric != "accuracy"
        figures, errors = BagFigures(self._bags, is_balanced, self.money), []
        # Where each row's unit stands in the order of the bags.
        places, weights = np.argsort(self._bags.order)[self._unit], self._weights[self._bags.order]
        at_once = int(np.clip(_CELLS / len(self.rows), 1, _AT_ONCE))
        for part in slices(len(tried), at_once):
            if part.start >= n_points and is_over is not None and is_over():
                tried = tried[: part.start]
                break
            answered, correct, spent = self.walk.shares(tried[part], places)
            figures.add(answered, correct, spent)
            points = range(max(0, min(n_points - part.start, len(spent))))
            measure = partial(self._errors, weights, answered, correct, spent)
            errors += self.walk.workers.map(measure, points)
            if report:
                report(min(part.stop, len(tried)), len(tried))
        figures.close()
        return figures, errors, len(tried)

    @property
    def rows(self) -> ScoredRows:
        """The scored rows."""
        return self.walk.scored

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
        # Blocks are of one class each, so that sums by class stay exact.
        for k in range(self.rows.n_classes):
            of_class = np.flatnonzero(truth == k)
            n_blocks = -(-len(of_class) * _MOST_UNITS // self._n_rows)
            # Dealt out in turn, so that blocks of a class have about the same size.
            units[of_class] = n_units + np.arange(len(of_class)) % max(1, n_blocks)
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
    def _bags(self) -> Bags:
        n_bags = int(np.clip(_BAGGED_ROWS // self._n_rows, _FEWEST_BAGS, MAX_BAGS))
        # A seed of the data alone, so that the same fit expects the same.
        rng = np.random.default_rng(self._n_rows)
        return Bags.draw(self._truth, self._weights, self.groups, n_bags, self.rows.n_classes, rng)

    def _errors(
        self,
        weights: FloatArray,
        answered: SingleArray,
        correct: SingleArray,
        spent: SingleArray,
        i: int,
    ) -> FloatArray:
        """Standard errors of the figures of one design, in the order of `BagFigures.luck`.

        Weights are those of the units, in the order of the bags.
        """
        n_answered, n_correct = answered[i] * weights, correct[i] * weights
        coverage = self._error(n_answered, weights)
        accuracy = self._error(n_correct, n_answered)
        cost = self._error(spent[i] * weights, weights)
        n_classes = self.rows.n_classes
        of_class = [self._truth[self._bags.order] == k for k in range(n_classes)]
        recall = [self._error(n_correct * members, weights * members) for members in of_class]
        if self.evaluator.metric != "accuracy":
            # Classes are independent, so their variances add up.
            shares = [
                self._error(n_correct * members, n_answered * members) for members in of_class
            ]
            accuracy = float(np.linalg.norm(shares)) / n_classes
        if self.money is None:
            return np.array([coverage, accuracy, cost, *recall])
        members = np.array(of_class)
        lost = _losses(
            self.money, answered[i] * members, correct[i] * members, members.astype(np.float32)
        )
        total = _FOLDS * self._error((spent[i] + lost.sum(axis=0)) * weights, weights)
        return np.array([coverage, accuracy, cost, *recall, total])

    def _error(self, part: FloatArray, whole: FloatArray) -> float:
        """Standard error of a ratio of two sums over units, in the order of the bags."""
        groups = None if self.groups is None else self.groups[self._bags.order]
        return _ratio_error(part, whole, groups)

    def of_nothing(self, point: ParetoPoint) -> Expected:
        """Return what to expect of a point that buys nothing: its scored figures.

        Nobody chose it, so there is no luck to take off, and it does the same with every row: only
        the share of the class that it answers with may be another one.
        """
        accuracy = Estimate(point.accuracy, point.accuracy, point.accuracy)
        if point.coverage and point.metric == "accuracy" and point.by_class is not None:
            label = int(point.by_class.given.argmax())
            correct = np.where(self._truth == label, self._weights, 0.0)
            error = _ratio_error(correct, self._weights, self.groups)
            accuracy = share_estimate(
                point.accuracy, _counted(point.accuracy, error, float(self._n_rows))
            )
        coverage = Estimate(point.coverage, point.coverage, point.coverage)
        recall = () if point.by_class is None else point.by_class.recall.tolist()
        return Expected(
            coverage,
            accuracy,
            Estimate(0.0, 0.0, 0.0),
            tuple(Estimate(share, share, share) for share in recall),
            self._total_of_nothing(point),
        )

    def _total_of_nothing(self, point: ParetoPoint) -> Estimate | None:
        if self.money is None or point.by_class is None:
            return None
        total = self.money.total_of_nothing(point.by_class)
        return _amount(total.value, total.standard_error or 0.0)


def _ratio_error(part: FloatArray, whole: FloatArray, groups: IntArray | None) -> float:
    """Standard error of a ratio of two sums over rows, or over groups of them."""
    total = float(whole.sum()) or 1.0
    ratio = float(part.sum()) / total
    if groups is not None:
        # Rows of a group stand or fall together, so influences are added up within groups first.
        influence = np.bincount(groups, (part - ratio * whole) / total)
        return float(np.linalg.norm(influence))
    of_part = float(part @ part)
    squares = of_part - 2 * ratio * float(part @ whole) + ratio**2 * float(whole @ whole)
    # Squares this small are rounding: there is no spread at all.
    return float(np.sqrt(squares)) / total if squares > _ROUNDING * of_part else 0.0


def _errors_of(versus: Comparison) -> FloatArray:
    """Standard errors of differences in accuracy and in the recall of each class."""
    return np.array([versus.errors[1], *versus.errors[3 : 3 + versus.n_classes]])


def _expected(
    point: ParetoPoint,
    luck: FloatArray,
    errors: FloatArray,
    n_rows: int,
    money: ErrorCosts | None = None,
) -> Expected:
    """Take the luck off the scored figures of a point, and put an interval around each."""
    figures = np.array([point.coverage, point.accuracy, point.cost])
    max_luck = np.array([errors[0], np.inf, errors[2]])  # a cost that never varies is no luck
    coverage, accuracy, cost = (figures - np.clip(luck[:3], -max_luck, max_luck)).tolist()
    counted = _counted(point.coverage, float(errors[0]), n_rows)
    labelled = _counted(point.accuracy, float(errors[1]), point.coverage * n_rows)
    total = None
    if money is not None and point.by_class is not None:
        scored = point.cost + money.losses(point.by_class)
        total = _amount(scored - float(luck[-1]), float(errors[-1]))
        luck, errors = luck[:-1], errors[:-1]
    return Expected(
        share_estimate(coverage, counted),
        share_estimate(accuracy, labelled / _FOLDS**2),
        _amount(cost, float(errors[2])),
        _expected_recall(point.by_class, luck[3:], errors[3:], n_rows),
        total,
    )


def _amount(value: float, error: float) -> Estimate:
    """Put an interval around an amount of at least 0."""
    value, half = max(0.0, value), NORMAL * error
    return Estimate(value, max(0.0, value - half), value + half)


def _expected_recall(
    by_class: ByClass | None, luck: FloatArray, errors: FloatArray, n_rows: int
) -> tuple[Estimate, ...]:
    """Take the luck off the recall of each class; empty if nobody has counted the classes."""
    if by_class is None:
        return ()
    of_class = by_class.rows / (by_class.rows.sum() or 1.0) * n_rows
    figures = zip(by_class.recall, luck, errors, of_class, strict=True)
    return tuple(
        share_estimate(
            float(scored - lucky), _counted(float(scored), float(error), float(n)) / _FOLDS**2
        )
        for scored, lucky, error, n in figures
    )


def _counted(share: float, error: float, n_rows: float) -> float:
    """Rows that a share with this standard error is as good as counted on, at most all of them.

    A share of 0 or 1 has an error of 0, but says no more than so many rows.
    """
    return min(share * (1 - share) / error**2, n_rows) if error > 0 else n_rows
