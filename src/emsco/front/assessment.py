"""Assess designs row by row: results by class, references, and what differs beyond noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np

from emsco._base.typing import AnyArray, FloatArray, StageArray
from emsco._base.workers import batched, slices
from emsco.costs import FeatureCosts
from emsco.designs.chromosomes import compress, stages_of
from emsco.designs.constraints import Blocks
from emsco.designs.design import Design
from emsco.designs.thresholds import inherit_levels
from emsco.front.point import ParetoPoint
from emsco.front.references import Reference, references_of
from emsco.front.rules import SAME_COST, economical_of, is_good_enough, size_of
from emsco.front.ties import NamedDesigns
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.scored_rows import RowOutcomes, ScoredRows
from emsco.stats.by_class import CHANCE, ByClass
from emsco.stats.differences import CodedFigures, RowFigures

_Figures: TypeAlias = Any  # RowFigures or CodedFigures, the same for all designs

_CHANGED = 1.1  # standard errors; one row more or less makes 1.0, two make 1.4
_AT_ONCE = 16  # simpler designs that are tried before the time is looked at
_LEAST = np.array([0.02, 0.01, 0.05])  # of coverage, accuracy and the cost of everything
# Where no design of a front passes: rows times designs that are tried, rows times designs
# that a look judges, and looks.
_TRIED, _JUDGED, _LOOKS = 4 * 10**7, 2 * 10**7, 4


@dataclass(frozen=True, eq=False)
class Assessor:
    """Assesses the designs of a search on the rows that scored them, one row at a time.

    Attributes
    ----------
    rows : ScoredRows
    evaluator : Evaluator
        Scores designs over blocks of features.
    blocks : Blocks
    costs : FeatureCosts
        Of the features.
    classes : ndarray of shape (n_classes,)
    """

    rows: ScoredRows
    evaluator: Evaluator
    blocks: Blocks
    costs: FeatureCosts
    classes: AnyArray

    @property
    def labels(self) -> list[object]:
        """The classes as plain values."""
        labels: list[object] = self.classes.tolist()
        return labels

    def _design(self, genes: StageArray) -> Design:
        """Return the design over named features of a chromosome over blocks."""
        named = NamedDesigns(self.costs.names, self.evaluator.grid, self.classes)
        return named(self.blocks.designs(genes))

    def references(self, commonest: int) -> tuple[Reference, ...]:
        """Measure what there is without a cascade; `commonest` is the position of a class."""
        winner = self.rows.guesses(np.ones((1, self.blocks.n_blocks), dtype=np.bool_))[0]
        return references_of(
            self.labels,
            self.rows.truth,
            winner,
            self._everything_outcomes.given < len(self.labels),
            commonest,
            self.costs.total,
            self.rows.own_weights,
        )

    def assessed(
        self,
        points: Sequence[ParetoPoint],
        designs: StageArray,
        report: Callable[[int, int], None] | None = None,
    ) -> list[ParetoPoint]:
        """Add results by class and the comparison with everything to each point.

        A point is shortlisted if it is better in something, beyond noise, than each point that is
        shortlisted already. `designs` holds the points' designs over blocks.
        """
        found: list[ParetoPoint] = []
        listed: list[_Figures] = []
        measured = zip(points, designs, self.rows.outcomes(designs), strict=True)
        _ = self._everything  # once, before threads ask for it

        def measure(
            one: tuple[ParetoPoint, StageArray, RowOutcomes],
        ) -> tuple[ParetoPoint, _Figures]:
            figures = self._figures(*one[1:])
            return self._with(one[0], one[2], figures), figures

        workers = self.rows.workers
        for few in batched(measured, 2 * workers.n_jobs):
            for point, figures in workers.map(measure, few):
                is_new = self._is_new(figures, listed)
                if is_new:
                    listed.append(figures)
                found.append(replace(point, shortlisted=is_new))
            if report:
                report(len(found), len(points))
        return found

    def simplified(
        self,
        points: Sequence[ParetoPoint],
        designs: StageArray,
        scored: StageArray,
        may_leave_out: bool,
        may_fit: bool,
        is_over: Callable[[], bool],
    ) -> tuple[ParetoPoint, StageArray] | None:
        """Simplify the economical design as long as nothing changes beyond chance.

        Stages are merged; with `may_leave_out`, the last stage may be dropped; with `may_fit`,
        single features too, which takes new fits. What remains must not be worse than the
        economical design in anything by more than one row's standard error, must cost next to
        nothing more, and must still beat the commonest class if that design does. If no point is
        good enough, the start is to buy everything at once, or a cascade of `scored` stages that
        is as good, whichever becomes cheaper. When `is_over`, it is as simple as it gets.

        Returns the simplified design as a point and over blocks, or None if there is nothing to
        simplify.
        """
        place = economical_of(points, self.costs.total)
        starts = [designs[place]]
        if not is_good_enough(points[place]):
            if not self._can_buy_everything:
                return None  # within the limits, nothing may be lost on top
            starts = [self._all_at_once, *([] if is_over() else self._like_everything(scored))]
        own = may_leave_out, may_fit, is_over
        found = [one for start in starts if (one := self._simpler(start, *own)) is not None]
        if not found:
            return None  # the bank refuses even these designs
        best, design = min(found, key=lambda pair: pair[0].cost)
        if np.array_equal(design, designs[place]):
            return None
        return replace(best, is_simplified=True), design

    def _simpler(
        self,
        design: StageArray,
        may_leave_out: bool,
        may_fit: bool,
        is_over: Callable[[], bool],
    ) -> tuple[ParetoPoint, StageArray] | None:
        """Simplify one design; None if the bank refuses it."""
        start = self._figures(design, next(self.rows.outcomes(design[None])))
        first = next(self._points_of(design[None], start), None)
        if first is None:
            return None
        best = first[0]
        most = best.cost + SAME_COST * self.costs.total
        while not is_over():
            simpler = _variants(stages_of(design), may_leave_out, may_fit, self.blocks.first)
            variants = inherit_levels(simpler, design[None], self.evaluator.grid)
            tried = [
                (point, variant)
                for part in slices(len(variants), _AT_ONCE)
                if not is_over()
                for point, variant, behind in self._points_of(variants[part], start)
                if behind <= _CHANGED
                and point.cost <= most
                and size_of(point) < size_of(best)
                and point.is_informative >= best.is_informative
            ]
            if not tried:
                break
            best, design = min(tried, key=lambda pair: size_of(pair[0]))
        return best, design

    def _like_everything(self, scored: StageArray) -> list[StageArray]:
        """The cheapest design found that is good enough and ends as buying everything does.

        There may be none on a front where a class is rare: a front knows nothing of classes, and
        designs that give up on the rare one beat all others. Stages are those of designs that a
        search has `scored`, their thresholds one for all before the last. Each look is at
        designs spread evenly over the costs below the best one so far.
        """
        tried = self._with_last_of_everything(scored)
        n_judged = int(np.clip(_JUDGED // len(self.rows.truth), 8, 64))
        found: list[StageArray] = []
        for _ in range(_LOOKS):
            if not len(tried):
                break
            places = np.unique(np.linspace(0, len(tried) - 1, n_judged).astype(np.int64))
            judged = self._points_of(tried[places], self._everything)
            good = (design for point, design, _ in judged if _is_as_good(point))
            if (design := next(good, None)) is None:
                break
            found = [design]
            tried = tried[: int(np.flatnonzero((tried == design).all(axis=1))[0])]
        return found

    def _with_last_of_everything(self, scored: StageArray) -> StageArray:
        """Designs near buying everything in coverage and accuracy, the cheapest first."""
        grid, everything = self.evaluator.grid, self.evaluator.score(self._all_at_once[None])
        stages = np.unique(stages_of(scored), axis=0)
        most = int(np.clip(_TRIED // len(self.rows.truth), 100, 2000))
        stages = np.random.default_rng(0).permutation(stages)[:most]
        tried = np.concatenate([grid.complete(stages, early) for early in grid.early])
        tried = np.unique(tried, axis=0)
        scores = self.evaluator.score(tried)
        near = scores.feasible & (scores.cost < everything.cost[0])
        near &= scores.errors_behind(everything) <= 1
        kept: StageArray = tried[near][np.argsort(scores.cost[near], kind="stable")]
        return kept

    @property
    def _can_buy_everything(self) -> bool:
        return bool(self.evaluator.score(self._all_at_once[None]).feasible[0])

    def _points_of(
        self, designs: StageArray, start: _Figures
    ) -> Iterator[tuple[ParetoPoint, StageArray, float]]:
        """Score and assess designs within the limits; yield them with their shortfall.

        That is the most standard errors by which a design is worse than `start` in anything.
        """
        if not len(designs):
            return
        scores = self.evaluator.score(designs)
        for i, outcomes in enumerate(self.rows.outcomes(designs)):
            if scores.feasible[i] and self._is_steady(outcomes, int(scores.correct[i])):
                own = self._design(designs[i])
                point = ParetoPoint.from_scores(own, scores, i, per_row=self.evaluator.per_row)
                figures = self._figures(designs[i], outcomes)
                behind = figures.minus(start).shortfall
                yield self._with(point, outcomes, figures), designs[i], behind

    def _is_steady(self, outcomes: RowOutcomes, correct: int) -> bool:
        """Whether the bank has counted the correct rows that there are.

        If not, it has refused the threshold of a stage.
        """
        return int(self.rows.units @ (outcomes.given == self.rows.truth)) == correct

    def _with(
        self,
        point: ParetoPoint,
        outcomes: RowOutcomes,
        figures: _Figures,
    ) -> ParetoPoint:
        rows: AnyArray
        sure: AnyArray
        if isinstance(figures, CodedFigures):
            rows, sure = figures.exits, figures.sure
        else:
            accepted = outcomes.given < len(self.labels)
            stages, weights = outcomes.stage[accepted], self.rows.weights[accepted]
            rows = np.bincount(stages, weights, point.n_stages)
            sure = np.bincount(stages, weights * outcomes.confidence[accepted], point.n_stages)
        confidence = np.minimum(1.0, sure / np.where(rows > 0, rows, 1.0))
        return replace(
            point,
            exit_confidence=tuple(confidence.tolist()),
            by_class=ByClass.from_labels(
                self.labels, self.rows.truth, outcomes.given, self.rows.own_weights
            ),
            versus_everything=figures.minus(self._everything),
            shortlisted=True,
        )

    def _is_new(self, figures: _Figures, listed: list[_Figures]) -> bool:
        """Whether a design is better than each that is listed in something, beyond noise."""
        least = _LEAST * (1.0, 1.0, self.costs.total)
        return all(figures.beats(one, CHANCE, least) for one in reversed(listed))

    def _figures(self, design: StageArray, outcomes: RowOutcomes) -> _Figures:
        rows = self.rows
        if rows.are_alike:
            decided = outcomes.given, outcomes.stage, outcomes.confidence
            return CodedFigures.measure(rows.truth, *decided, self._paid(design), rows.n_classes)
        cost = rows.costs(design, outcomes, self._paid(design))
        return RowFigures.measure(
            rows.truth, outcomes.given, cost, rows.weights, rows.rows, rows.n_classes
        )

    def _paid(self, design: StageArray) -> FloatArray:
        """Cost of a row after each stage, without what it pays by its own prices."""
        return self.costs.fixed().after_stages(self._design(design).subsets())

    @cached_property
    def _everything_outcomes(self) -> RowOutcomes:
        return next(self.rows.outcomes(self._all_at_once[None]))

    @cached_property
    def _everything(self) -> _Figures:
        return self._figures(self._all_at_once, self._everything_outcomes)

    @property
    def _all_at_once(self) -> StageArray:
        """The design of one stage that buys every block."""
        at_once = np.zeros((1, self.blocks.n_blocks), dtype=np.int16)
        design: StageArray = self.evaluator.grid.complete(at_once)[0]
        return design


def _is_as_good(point: ParetoPoint) -> bool:
    """Whether a point falls behind buying everything in nothing: of many, one is lucky by half."""
    versus = point.versus_everything
    return versus is not None and versus.shortfall <= 0 and point.is_informative


def _variants(
    design: StageArray, may_leave_out: bool, may_fit: bool, first: int | None
) -> StageArray:
    """Simpler designs next to this one: two stages merged, the last dropped, a feature left out."""
    last = int(design.max())
    found = [np.where(design > j, design - 1, design) for j in range(last)]
    if may_leave_out and last > 0:
        found.append(np.where(design == last, -1, design))
    if may_leave_out and may_fit:
        bought = np.flatnonzero(design >= 0)
        places = np.arange(len(design))
        may_go = [i for i in bought if i != first and len(bought) > 1]
        found += [compress(np.where(places == i, -1, design)) for i in may_go]
    if not found:
        return design[None][:0]
    return np.unique(np.array(found, dtype=design.dtype), axis=0)
