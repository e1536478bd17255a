"""Assess designs row by row: results by class, references, and what differs beyond noise.

The economical rule builds on it, see `emsco.front.economical`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from emsco._base.typing import AnyArray, LabelArray, Report
from emsco._base.workers import batched
from emsco.costs import FeatureCosts
from emsco.designs.constraints import Blocks
from emsco.designs.design import Design
from emsco.designs.population import Designs
from emsco.front.point import NamedDesigns, ParetoPoint
from emsco.front.references import Reference, references_of
from emsco.scoring.by_class import CHANCE, ByClass
from emsco.scoring.comparisons import Figures
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.outcomes import Outcomes
from emsco.scoring.rows import ScoredRows
from emsco.scoring.scores import Counts
from emsco.scoring.walk import Walk

# A difference is noise below this much coverage, accuracy and share of the cost of everything.
_MARGINS = np.array([0.02, 0.01, 0.05])
_CLOSE = 1e-5  # scores that may be equal


@dataclass(frozen=True, slots=True, eq=False)
class JudgedDesign:
    """A design that was judged row by row.

    Attributes
    ----------
    point : ParetoPoint
    found : Designs
        The one design, over blocks.
    shortfall : float
        Most standard errors by which it is worse than the design it was compared with.
    """

    point: ParetoPoint
    found: Designs
    shortfall: float


@dataclass(frozen=True, eq=False)
class Assessor:
    """Assesses the designs of a search on the rows that scored them, one row at a time.

    Attributes
    ----------
    walk : Walk
    evaluator : Evaluator
        Scores designs over blocks of features.
    blocks : Blocks
    costs : FeatureCosts
        Of the features.
    classes : ndarray of shape (n_classes,)
    is_staked : bool
        Whether the models were fitted on rows weighted by what errors cost.
    """

    walk: Walk
    evaluator: Evaluator
    blocks: Blocks
    costs: FeatureCosts
    classes: AnyArray
    is_staked: bool = False

    @property
    def labels(self) -> list[object]:
        """The classes as plain values."""
        labels: list[object] = self.classes.tolist()
        return labels

    @property
    def rows(self) -> ScoredRows:
        """The scored rows."""
        return self.walk.scored

    def _design(self, found: Designs) -> Design:
        """Return the one chain over blocks as a design over named features."""
        named = NamedDesigns(self.costs.names, self.evaluator.grid, self.classes)
        return named(found.over(self.blocks.of_feature))

    def references(self, commonest: int) -> tuple[Reference, ...]:
        """Measure what there is without a cascade; `commonest` is the position of a class."""
        return references_of(
            self.labels,
            self.rows.truth,
            self._everything_winner,
            None
            if self.evaluator.grid.everything_answers_all
            else self._everything_outcomes.given < len(self.labels),
            commonest,
            self.costs.total,
            self.rows.own_weights,
        )

    def assessed(
        self, points: Sequence[ParetoPoint], designs: Designs, report: Report | None = None
    ) -> list[ParetoPoint]:
        """Add results by class and the comparison with everything to each point.

        A point is shortlisted if it is better in something, beyond noise, than each point that is
        shortlisted already. `designs` holds the points' designs over blocks.
        """
        assessed: list[ParetoPoint] = []
        listed: list[Figures] = []
        for point, figures in self._measured(points, designs):
            is_new = all(self._beats(figures, one) for one in reversed(listed))
            if is_new:
                listed.append(figures)
            assessed.append(replace(point, shortlisted=is_new))
            if report:
                report(len(assessed), len(points))
        return assessed

    def with_results(self, points: Sequence[ParetoPoint], designs: Designs) -> list[ParetoPoint]:
        """Add results by class and the comparison with everything to some points.

        They are those that `assessed` adds, which also makes a shortlist.
        """
        return [point for point, _ in self._measured(points, designs)]

    def _measured(
        self, points: Sequence[ParetoPoint], designs: Designs
    ) -> Iterator[tuple[ParetoPoint, Figures]]:
        """Points with their results, and their figures row by row."""
        measured = zip(points, self.walk.outcomes(designs), strict=True)
        _ = self.everything  # once, before threads ask for it

        def measure(
            one: tuple[ParetoPoint, Outcomes],
        ) -> tuple[ParetoPoint, Figures]:
            point, outcomes = one
            figures = Figures.of(outcomes, self.rows)
            return self._with_results(point, outcomes, figures), figures

        workers = self.walk.workers
        for few in batched(measured, 2 * workers.n_jobs):
            yield from workers.map(measure, few)

    def may_be_good(self, points: Sequence[ParetoPoint], max_loss: float = 0.0) -> list[int]:
        """Positions of points that may be as good as buying everything, by their scores alone.

        If everything answers everyone, a point that rejects a row is at least one standard error
        behind it, and loses that coverage; with `max_loss`, it may lose so much. Scores tell which
        points do, where all rows count alike.
        """
        if not self.rows.count_alike or self.everything.values[0] < 1:
            return list(range(len(points)))
        lowest = 1 - max_loss - _CLOSE
        return [i for i, point in enumerate(points) if point.coverage >= lowest]

    def may_find_all_of(self, points: Sequence[ParetoPoint], deployed: ParetoPoint) -> list[int]:
        """Positions of points that may find as much of every class as one of them.

        Then they label as many rows correctly, which scores tell where all rows count alike.
        """
        if not self.rows.count_alike:
            return list(range(len(points)))
        lowest = sum(deployed.correct_exits) * (1 - _CLOSE)
        return [i for i, point in enumerate(points) if sum(point.correct_exits) >= lowest]

    def judged(self, designs: Designs, start: Figures) -> Iterator[JudgedDesign]:
        """Score and judge designs within the limits, compared with the figures of `start`.

        Designs with a threshold that is refused are left out.
        """
        if not len(designs):
            return
        scores = self.evaluator.score(designs)
        may_be = scores.feasible & ~self.evaluator.refused(designs)
        for i, outcomes in enumerate(self.walk.outcomes(designs)):
            if not may_be[i]:
                continue
            design = self._design(designs[[i]])
            point = ParetoPoint.from_scores(design, scores, i, per_row=self.evaluator.per_row)
            figures = Figures.of(outcomes, self.rows)
            point = self._with_results(point, outcomes, figures)
            yield JudgedDesign(point, designs[[i]], figures.minus(start).shortfall)

    def nothing(self, threshold: float, label: int, share: float) -> ParetoPoint:
        """Assess the design that buys nothing: at threshold 0 all get one label.

        At threshold 1 all are rejected. `label` is its position and `share` that of its class.
        """
        n_rows = len(self.rows)
        given = label if share >= threshold else len(self.labels)
        outcomes = Outcomes(
            given=np.full(n_rows, given, dtype=np.uint8),
            stage=np.zeros(n_rows, dtype=np.int64),
            confidence=np.full(n_rows, share, dtype=np.float32),
            after=np.zeros(1),
        )
        scores = Counts.of_outcomes([outcomes], self.rows, self.evaluator.metric)
        design = Design.nothing(self.costs.names, threshold)
        point = ParetoPoint.from_scores(design, scores, 0, per_row=self.evaluator.per_row)
        return self._with_results(point, outcomes, Figures.of(outcomes, self.rows))

    def figures_of(self, design: Designs) -> Figures:
        """Measure the figures of one design over blocks, row by row."""
        return Figures.of(next(self.walk.outcomes(design)), self.rows)

    def beats(self, design: Designs, other: Designs) -> bool:
        """Whether one design is better than another in coverage, accuracy or cost beyond noise."""
        return self._beats(self.figures_of(design), self.figures_of(other))

    def _beats(self, figures: Figures, other: Figures) -> bool:
        margins = _MARGINS * (1.0, 1.0, self.costs.total)
        return figures.beats(other, CHANCE, margins)

    def _with_results(
        self, point: ParetoPoint, outcomes: Outcomes, figures: Figures
    ) -> ParetoPoint:
        """Add confidence, results by class and the comparison with everything to a point."""
        rows = figures.counts[:, :, 1:].sum(axis=(0, 2))
        weights = np.where(outcomes.given < len(self.labels), self.rows.weights, 0.0)
        sure = np.bincount(outcomes.stage, weights * outcomes.confidence, point.n_stages)
        confidence = np.minimum(1.0, sure / np.where(rows > 0, rows, 1.0))
        return replace(
            point,
            # Confidence about weighted rows says nothing about shares of plain ones.
            exit_confidence=None if self.is_staked else tuple(confidence.tolist()),
            by_class=ByClass.from_matrix(self.labels, figures.confusion),
            versus_everything=figures.minus(self.everything),
            shortlisted=True,
        )

    @cached_property
    def _everything_outcomes(self) -> Outcomes:
        return next(self.walk.outcomes(self.all_at_once))

    @cached_property
    def everything(self) -> Figures:
        """Figures of buying everything at once.

        If it is to answer everyone, it also answers rows that a stage would skip for lack of a
        value.
        """
        outcomes = self._everything_outcomes
        if self.evaluator.grid.everything_answers_all:
            outcomes = replace(outcomes, given=self._everything_winner)
        return Figures.of(outcomes, self.rows)

    @cached_property
    def _everything_winner(self) -> LabelArray:
        """Likeliest class of each scored row by the model that sees everything."""
        everything = np.ones((1, self.blocks.n_blocks), dtype=np.bool_)
        winner: LabelArray = self.walk.guesses(everything)[0]
        return winner

    @property
    def all_at_once(self) -> Designs:
        """The design of one stage that buys every block."""
        at_once = np.zeros((1, self.blocks.n_blocks), dtype=np.int16)
        return self.evaluator.grid.complete(at_once)
