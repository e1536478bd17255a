"""Figures of the points of a front beyond their scores, computed when somebody asks for them.

A fit needs few of them: the rule that deploys a design looks at some points. Shortlists, expected
figures and results by class of all points take long, and nobody may look at them. Whatever is asked
for first, the values are the same: results of a point depend on it alone, and the others are
computed for all points at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from emsco._base.objectives import Expected
from emsco._base.typing import Report
from emsco._base.workers import one_thread
from emsco.cascade import FrontModels
from emsco.designs.population import Designs
from emsco.front.assessment import Assessor
from emsco.front.averaging import SeenFold, allow_for_averaging
from emsco.front.expected import OptimismCorrection
from emsco.front.pareto_front import ParetoFront
from emsco.front.point import RESULTS, ParetoPoint, Pending
from emsco.front.rules import Preference
from emsco.scoring.walk import Walk


@dataclass(eq=False)
class PendingResults:
    """Results by class of the points of a search, and their shortlist.

    Attributes
    ----------
    assessor : Assessor
    scored : sequence of ParetoPoint
        The points as they were scored.
    designs : Designs
        Of the points, over blocks.
    """

    assessor: Assessor
    scored: Sequence[ParetoPoint]
    designs: Designs
    _known: dict[int, ParetoPoint] = field(default_factory=dict)
    _has_all: bool = False

    def points(self) -> list[ParetoPoint]:
        """Return the points with figures that are computed when they are read."""
        names = (*RESULTS, "shortlisted")
        return [
            point.with_figures(**{name: Pending(self, i, name) for name in names})
            for i, point in enumerate(self.scored)
        ]

    def figure(self, position: int, name: str) -> Any:
        """Return a figure of the point at a position."""
        with one_thread():
            if name == "shortlisted":
                self.assess_all()
            else:
                self.assess([position])
        return getattr(self._known[position], name)

    def assess(self, positions: Sequence[int]) -> None:
        """Find the results of some points at once, which takes less time than one by one."""
        if not (new := [i for i in positions if i not in self._known]):
            return
        found = self.assessor.with_results([self.scored[i] for i in new], self.designs[new])
        self._known.update(zip(new, found, strict=True))

    def assess_all(self, report: Report | None = None) -> None:
        """Find the results of all points, and which of them are shortlisted."""
        if not self._has_all:
            found = self.assessor.assessed(self.scored, self.designs, report)
            self._known = dict(enumerate(found))
            self._has_all = True
            self.assessor.walk.forget()

    def keep(self, walk: Walk) -> None:
        """Go on with rows that were reduced for later."""
        evaluator = self.assessor.evaluator.without_scores()
        self.assessor = replace(self.assessor, walk=walk, evaluator=evaluator)


@dataclass(eq=False)
class PendingExpected:
    """Expected figures of the points of a front, which depend on all of them.

    Attributes
    ----------
    correction : OptimismCorrection
    front : ParetoFront
        In the order of the search.
    nothing : sequence of ParetoPoint
        Points after these, which buy nothing.
    designs, others, prefer, tolerated
        As for `OptimismCorrection.corrected`.
    report, is_over
        The same, while a fit waits for the figures.
    models : FrontModels or None
        Averages of models, in the order of the final front, if figures allow for that.
    folds : sequence of SeenFold
        Rows to compare averages on.
    order : sequence of int
        Position, here, of each point of the final front.
    is_kept : bool
        Whether the figures may be computed after the fit.
    """

    correction: OptimismCorrection
    front: ParetoFront
    nothing: Sequence[ParetoPoint]
    designs: Designs
    others: Designs
    prefer: Preference | None
    tolerated: float
    report: Report | None = None
    is_over: Callable[[], bool] | None = None
    models: FrontModels | None = None
    folds: Sequence[SeenFold] = ()
    order: Sequence[int] = ()
    is_kept: bool = False

    def points(self) -> list[ParetoPoint]:
        """Return all points with expected figures that are computed when they are read."""
        every = (*self.front.points, *self.nothing)
        return [
            point.with_figures(expected=Pending(self, i, "expected"))
            for i, point in enumerate(every)
        ]

    @cached_property
    def corrected(self) -> list[ParetoPoint]:
        """The points with what single models are expected to do on new rows."""
        with one_thread():
            front = self.correction.corrected(
                self.front,
                self.designs,
                self.others,
                self.prefer,
                self.report,
                self.is_over,
                self.tolerated,
            )
            nothing = [
                one.with_figures(expected=self.correction.of_nothing(one)) for one in self.nothing
            ]
            self.correction.walk.forget()
        return [*front.points, *nothing]

    @cached_property
    def _expected(self) -> list[Expected | None]:
        """The same of what is deployed, in this order."""
        expected = [one.expected for one in self.corrected]
        if self.models is None:
            return expected
        points = tuple(self.corrected[i] for i in self.order)
        with one_thread():
            front = allow_for_averaging(
                replace(self.front, points=points, models=self.models), self.folds
            )
        for i, point in zip(self.order, front, strict=True):
            expected[i] = point.expected
        return expected

    def figure(self, position: int, name: str) -> Expected | None:
        """Return the expected figures of the point at a position."""
        del name  # it has no others
        return self._expected[position]

    def keep(self, walk: Walk) -> None:
        """Go on with rows that were reduced for later."""
        evaluator = self.correction.evaluator.without_scores()
        self.correction = replace(self.correction, walk=walk, evaluator=evaluator)
        self.report = self.is_over = None
        self.is_kept = True
