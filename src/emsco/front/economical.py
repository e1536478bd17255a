"""The economical rule, which `fit` deploys a design by unless it is told otherwise.

The yardstick is to buy everything at once, one stage with all features, and to answer everyone. If
labels need a confidence that the user has given, the yardstick needs it too. A design is compared
with it row by row, in coverage, accuracy, and the shares of each class that are found and
mislabelled (`ParetoPoint.versus_everything`). So a design that rejects rows is behind a yardstick
that answers them all. Then the rule decides in four steps:

1. *Choose* (`economical_of`). A point is good enough if it is behind the yardstick in none of
   these figures by more than a tolerance in standard errors. The cheapest of those wins; among
   points that cost next to nothing more, the one with fewest stages and features. The cheapest of
   many that look good enough is partly lucky, above all about a rare class. So a fit finds the
   tolerance by choosing in samples of the rows, such that the choice is good enough on the rows
   outside (`OptimismCorrection.tolerance`). It may demand that a point be ahead of the yardstick
   in everything; if none is, half a standard error is tolerated.
2. *Start again* if no point is good enough, as happens where a class is rare: a front knows nothing
   of classes, so designs that give up on the rare one beat all others on it. The start is then the
   yardstick itself, or a cascade that ends as it does and is behind it in nothing.
3. *Simplify* (`Simplifier`). Stages are merged and features left out as long as nothing changes by
   more than about one row. Only a fit can do this, since it takes the scored rows.
4. *Look again* (`undominated`). If another point is expected to be no worse in anything, and is
   better in something beyond noise, that one is deployed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from emsco._base.objectives import Objectives
from emsco._base.typing import StageArray
from emsco._base.workers import slices
from emsco.designs.chromosomes import compress
from emsco.designs.population import Designs
from emsco.front.point import ParetoPoint
from emsco.scoring.by_class import CHANCE

if TYPE_CHECKING:  # to load a front takes no search
    from emsco.front.assessment import Assessor, JudgedDesign

# Standard errors by which a point may be behind the yardstick at most. A design that is just as
# good is behind in some figure by chance, so 0 may refuse all. Chosen out of 0 to 2 on public and
# generated tables: lab/REPORT.md.
TOLERATED = 0.5
# What a fit tries first: not to be behind in any figure, or to be ahead in all, until the choice is
# at most so far behind on rows that did not choose it. Chosen on four tables, seeds 0 to 2.
TOLERANCES = (0.0, -0.5, -1.0)
TOLERATED_OUTSIDE = 0.75
# A difference in cost is none below this share of the cost of everything: saving a hundredth is not
# worth another stage or feature.
_SAME_COST = 0.01
# Standard errors by which a simpler design may be behind the one it started from. If two designs
# label n rows differently, and all of them worse, the difference is √n standard errors: one row
# makes 1.0, two make 1.4. So 1.1 allows for one row and refuses two.
_ONE_ROW = 1.1
# Simpler designs that are judged before the time is looked at.
_AT_ONCE = 16
# Where no point is good enough: rows times designs that are scored by counts, and that one look
# judges row by row. The more rows, the fewer designs, so that the work stays about the same.
_SCORED_CELLS, _FEWEST_SCORED, _MOST_SCORED = 4 * 10**7, 100, 2000
_JUDGED_CELLS, _FEWEST_JUDGED, _MOST_JUDGED = 2 * 10**7, 8, 64
# Each look narrows the costs down to the gap between two judged designs; four looks of 8 to 64
# designs tell thousands of designs apart.
_LOOKS = 4


def is_good_enough(point: ParetoPoint, tolerated: float = TOLERATED) -> bool:
    """Whether a point is as good as buying everything, within a tolerance in standard errors.

    Coverage, accuracy, and the shares of each class that are found and mislabelled count.
    """
    versus = point.versus_everything
    return versus is not None and versus.behind <= tolerated


def economical_of(
    points: Sequence[ParetoPoint], total_cost: float, tolerated: float = TOLERATED
) -> int:
    """Return the position of the cheapest point that is as good as buying everything.

    A point that the rule of a fit chose stays chosen. Points that beat the commonest
    class come before others. Of the points that cost next to nothing more than the cheapest, the
    one with fewest stages and features is returned. If every point is worse, it is the one that
    loses least in any figure.
    """
    for was_chosen in (attrgetter("is_economical"), attrgetter("is_simplified")):
        for i, point in enumerate(points):
            if was_chosen(point):
                return i
    good = [i for i, point in enumerate(points) if is_good_enough(point, tolerated)]
    if not good:
        return min(range(len(points)), key=lambda i: (loss_of(points[i]), points[i].cost))
    good = [i for i in good if points[i].is_informative] or good
    max_cost = min(points[i].cost for i in good) + _SAME_COST * total_cost
    return min((i for i in good if points[i].cost <= max_cost), key=lambda i: points[i].size)


def loss_of(point: ParetoPoint) -> float:
    """Most that a point loses in any figure beside buying everything; infinite if unknown."""
    return math.inf if point.versus_everything is None else point.versus_everything.loss


def why_economical(point: ParetoPoint) -> str:
    """Say in words why the rule chose a point that was compared with buying everything."""
    shortfall = math.inf if point.versus_everything is None else point.versus_everything.shortfall
    if point.n_stages == 1 and not point.design.left_out:
        return "everything at once, since every cascade falls short of it in something"
    as_well = "answers everyone as well as buying everything"
    if point.coverage < 1:
        as_well = "is as good as buying everything"
    if point.is_simplified and shortfall <= CHANCE:
        return f"the simplest cheap design that {as_well}, within chance"
    if not is_good_enough(point):
        return "the one that falls least short of buying everything, since all do"
    return f"the cheapest that {as_well}"


def undominated(
    points: Sequence[ParetoPoint],
    chosen: int,
    beats: Callable[[int], bool],
    promised: Callable[[int], Objectives],
) -> int:
    """Return the position of a point that beats the chosen one in all respects, or the chosen one.

    Its promised coverage, accuracy and cost and the scored recall of each class must be no worse.
    `beats` tells whether the point at a position is better in something beyond noise, and
    `promised` what it promises. Of several, the cheapest is returned.
    """
    deployed = points[chosen]
    for i in sorted(range(len(points)), key=lambda i: points[i].cost):
        by_class = points[i].by_class
        if by_class is None or deployed.by_class is None or i == chosen:
            continue
        # Promises come last: they take the longest to compute.
        if bool((by_class.recall >= deployed.by_class.recall).all()) and beats(i):
            figures, of_chosen = promised(i), promised(chosen)
            if (
                figures.coverage >= of_chosen.coverage
                and figures.accuracy >= of_chosen.accuracy
                and figures.cost <= of_chosen.cost
            ):
                return i
    return chosen


@dataclass(frozen=True, slots=True, eq=False)
class Simplifier:
    """Simplifies the economical design as long as nothing changes by more than about one row.

    Attributes
    ----------
    assessor : Assessor
    may_leave_out : bool
        Whether a design may leave features out, so that its last stage may be dropped.
    may_fit : bool
        Whether there is time for new fits, which designs without single features take.
    is_over : callable
        Tells when the time is over: then a design is as simple as it gets.
    tolerated : float
        Standard errors by which the economical design may be behind buying everything.
    """

    assessor: Assessor
    may_leave_out: bool
    may_fit: bool
    is_over: Callable[[], bool]
    tolerated: float = TOLERATED

    def simplified(
        self, points: Sequence[ParetoPoint], designs: Designs, scored: Designs
    ) -> JudgedDesign | None:
        """Simplify the economical one of some points; None if there is nothing to simplify.

        If no point is good enough, the start is to buy everything at once, or a cascade of stages
        that were `scored` and is as good, whichever becomes cheaper.
        """
        place = economical_of(points, self.assessor.costs.total, self.tolerated)
        if not points[place].design.is_chain:
            return None  # its parts were searched apart, and a simpler tree would be another one
        starts = [designs[[place]]]
        if not is_good_enough(points[place], self.tolerated):
            at_once = self.assessor.all_at_once
            if not self.assessor.evaluator.score(at_once).feasible[0]:
                return None  # within the limits, nothing may be lost on top
            starts = [at_once]
            if not self.is_over() and (like := self._like_everything(scored)) is not None:
                starts.append(like)
        simpler = [one for start in starts if (one := self._simpler(start)) is not None]
        if not simpler:
            return None  # even these designs are refused
        best = min(simpler, key=lambda one: one.point.cost)
        if np.array_equal(best.found.keys, designs[[place]].keys):
            return None
        return replace(best, point=replace(best.point, is_simplified=True))

    def _simpler(self, start: Designs) -> JudgedDesign | None:
        """Simplify one design step by step; None if its threshold is refused.

        Every step is compared with the start, so that small changes do not add up. It must cost
        next to nothing more, still beat the commonest class if the design before it does, and still
        be good enough if the start is.
        """
        figures = self.assessor.figures_of(start)
        best = next(self.assessor.judged(start, figures), None)
        if best is None:
            return None
        max_cost = best.point.cost + _SAME_COST * self.assessor.costs.total
        is_good = is_good_enough(best.point, self.tolerated)
        while not self.is_over():
            fewer = _variants(
                best.found.stages[0],
                may_leave_out=self.may_leave_out,
                may_fit=self.may_fit,
                first=self.assessor.blocks.first,
            )
            variants = best.found.pass_on(fewer, self.assessor.evaluator.grid.early[0])
            passed = [
                one
                for part in slices(len(variants), _AT_ONCE)
                if not self.is_over()
                for one in self.assessor.judged(variants[part], figures)
                if one.shortfall <= _ONE_ROW
                and one.point.cost <= max_cost
                and one.point.size < best.point.size
                and one.point.is_informative >= best.point.is_informative
                and is_good_enough(one.point, self.tolerated) >= is_good
            ]
            if not passed:
                break
            best = min(passed, key=lambda one: one.point.size)
        return best

    def _like_everything(self, scored: Designs) -> Designs | None:
        """Find a cheap cascade that ends as buying everything does and is behind it in nothing.

        Judging designs row by row takes long, and the cheapest good one is wanted. So each look
        judges designs spread evenly over the costs, and the next look those below the cheapest
        that is as good.
        """
        evaluator, grid = self.assessor.evaluator, self.assessor.evaluator.grid
        n_rows = len(self.assessor.rows)
        # Designs near buying everything in coverage and accuracy, the cheapest first. All stages
        # before the last have one threshold, and the last has that of buying everything.
        everything = evaluator.score(self.assessor.all_at_once)
        stages = np.unique(scored.stages, axis=0)
        n_tried = int(np.clip(_SCORED_CELLS // n_rows, _FEWEST_SCORED, _MOST_SCORED))
        stages = np.random.default_rng(0).permutation(stages)[:n_tried]
        tried = Designs.concatenate([grid.complete(stages, early) for early in grid.early])
        tried = tried.sorted()
        scores = evaluator.score(tried)
        is_near = scores.feasible & (scores.cost < everything.cost[0])
        is_near &= scores.errors_behind(everything) <= 1  # a cheap sieve before rows are judged
        near = tried[is_near][np.argsort(scores.cost[is_near], kind="stable")]

        n_judged = int(np.clip(_JUDGED_CELLS // n_rows, _FEWEST_JUDGED, _MOST_JUDGED))
        best = None
        for _ in range(_LOOKS):
            if not len(near):
                break
            places = np.unique(np.linspace(0, len(near) - 1, n_judged).astype(np.int64))
            judged = self.assessor.judged(near[places], self.assessor.everything)
            # Of so many designs, one is half a standard error better by luck, so none is tolerated.
            max_behind = min(0.0, self.tolerated)
            good = (
                one
                for one in judged
                if is_good_enough(one.point, max_behind) and one.point.is_informative
            )
            if (cheapest := next(good, None)) is None:
                break
            best = cheapest.found
            near = near[: int(np.flatnonzero((near.keys == best.keys).all(axis=1))[0])]
        return best


def _variants(
    stages: StageArray, *, may_leave_out: bool, may_fit: bool, first: int | None
) -> StageArray:
    """Simpler designs next to one: two stages merged, the last dropped, a feature left out.

    The block `first` has to be bought at the start, so it stays.
    """
    last = int(stages.max())
    variants = [np.where(stages > j, stages - 1, stages) for j in range(last)]
    if may_leave_out and last > 0:
        variants.append(np.where(stages == last, -1, stages))
    if may_leave_out and may_fit:
        bought = np.flatnonzero(stages >= 0)
        places = np.arange(len(stages))
        may_go = [i for i in bought if i != first and len(bought) > 1]
        variants += [compress(np.where(places == i, -1, stages)) for i in may_go]
    if not variants:
        return stages[None][:0]
    return np.unique(np.array(variants, dtype=stages.dtype), axis=0)
