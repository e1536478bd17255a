"""Assess designs row by row: results by class, references, and what differs beyond noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from emsco._base.typing import FloatArray, StageArray
from emsco.costs import FeatureCosts
from emsco.designs.blocks import Blocks
from emsco.designs.chromosomes import compress
from emsco.designs.design import Design
from emsco.front.point import ParetoPoint
from emsco.front.preferences import SAME_COST, is_good_enough, size_of
from emsco.front.references import Reference, references_of
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.scored_rows import RowOutcomes, ScoredRows
from emsco.trust.by_class import ByClass
from emsco.trust.differences import RowFigures

__all__ = ["Assessor"]

_APART = 1.645  # standard errors of a difference that chance explains once in 20 times
_LEAST = np.array([0.02, 0.01, 0.05])  # of coverage, accuracy and the cost of everything


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
    labels : sequence
        The classes.
    """

    rows: ScoredRows
    evaluator: Evaluator
    blocks: Blocks
    costs: FeatureCosts
    labels: Sequence[object]

    def references(self, commonest: int) -> tuple[Reference, ...]:
        """Measure what there is without a cascade; `commonest` is the position of a class."""
        winner = self.rows.guesses(np.ones((1, self.blocks.n_blocks), dtype=np.bool_))[0]
        return references_of(
            self.labels,
            self.rows.truth,
            winner,
            self._everything_outcomes.given < len(self.labels),
            commonest,
            float(self._paid(np.zeros(self.blocks.n_blocks, dtype=np.int16))[0]),
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
        listed: list[RowFigures] = []
        measured = zip(points, designs, self.rows.outcomes(designs), strict=True)
        for i, (point, design, outcomes) in enumerate(measured):
            figures = self._figures(design, outcomes)
            is_new = self._is_new(figures, listed)
            if is_new:
                listed.append(figures)
            found.append(self._with(point, outcomes, figures, listed=is_new))
            if report:
                report(i + 1, len(points))
        return found

    def simplified(
        self, points: Sequence[ParetoPoint], designs: StageArray, may_leave_out: bool, may_fit: bool
    ) -> ParetoPoint | None:
        """Look for a simpler design that is as good as the economical ones, beyond noise.

        Starting from the designs that are good enough and cost next to nothing more than the
        cheapest of them, stages are merged and dropped as long as that stays true. With
        `may_leave_out`, the last stage may be dropped. With `may_fit`, single features too, which
        takes new fits.

        Returns the simplest, or None if it is one of the points already.
        """
        good = [i for i, point in enumerate(points) if is_good_enough(point)]
        if not good:
            return None
        most = min(points[i].cost for i in good) + SAME_COST * self.costs.total
        start = min((i for i in good if points[i].cost <= most), key=lambda i: size_of(points[i]))
        best, design = points[start], designs[start]
        while True:
            variants = _variants(design, may_leave_out, may_fit, self.blocks.first)
            tried = [
                (point, variant)
                for point, variant in self._points_of(variants)
                if is_good_enough(point) and point.cost <= most and size_of(point) < size_of(best)
            ]
            if not tried:
                break
            best, design = min(tried, key=lambda pair: size_of(pair[0]))
        known = any(best.design == point.design for point in points)
        return None if known else replace(best, is_simplified=True)

    def _points_of(self, designs: StageArray) -> Iterator[tuple[ParetoPoint, StageArray]]:
        """Score and assess designs that are within the cost limits."""
        if not len(designs):
            return
        scores = self.evaluator.score(designs)
        for i, (design, outcomes) in enumerate(
            zip(designs, self.rows.outcomes(designs), strict=True)
        ):
            if scores.feasible[i]:
                whole = Design(self.blocks.designs(design), self.costs.names)
                point = ParetoPoint.from_scores(whole, scores, i, per_row=self.evaluator.per_row)
                yield self._with(point, outcomes, self._figures(design, outcomes)), design

    def _with(
        self,
        point: ParetoPoint,
        outcomes: RowOutcomes,
        figures: RowFigures,
        *,
        listed: bool = True,
    ) -> ParetoPoint:
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
            shortlisted=listed,
        )

    def _is_new(self, figures: RowFigures, listed: list[RowFigures]) -> bool:
        """Whether a design is better than each that is listed in something, beyond noise."""
        least = _LEAST * (1.0, 1.0, self.costs.total)
        return all(figures.beats(one, _APART, least) for one in reversed(listed))

    def _figures(self, design: StageArray, outcomes: RowOutcomes) -> RowFigures:
        rows = self.rows
        cost = self._paid(design)[outcomes.stage]
        return RowFigures.measure(
            rows.truth, outcomes.given, cost, rows.weights, rows.rows, rows.n_classes
        )

    def _paid(self, design: StageArray) -> FloatArray:
        return self.costs.after_stages(
            Design(self.blocks.designs(design), self.costs.names).subsets()
        )

    @cached_property
    def _everything_outcomes(self) -> RowOutcomes:
        return next(self.rows.outcomes(np.zeros((1, self.blocks.n_blocks), dtype=np.int16)))

    @cached_property
    def _everything(self) -> RowFigures:
        every = np.zeros(self.blocks.n_blocks, dtype=np.int16)
        return self._figures(every, self._everything_outcomes)


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
