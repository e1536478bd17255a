"""Points of a front, best first, and the rules that choose one of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any, overload

import numpy as np

from emsco._base.checks import check_whole, refused
from emsco._base.typing import FloatArray
from emsco.costs import FeatureCosts
from emsco.front.point import ParetoPoint
from emsco.front.rules import (
    Limits,
    accurate_of,
    cheapest_of,
    check_preference,
    check_rule,
    economical_of,
    error_costs_of,
    one_standard_error_of,
)
from emsco.scoring.pareto import balanced_length, fittest_of, knee_of
from emsco.stats.error_costs import ErrorCosts, Total


@dataclass(frozen=True, slots=True, eq=False)
class FrontPoints(Sequence[ParetoPoint]):
    """Points of a front, and the rules that choose one of them.

    Attributes
    ----------
    points : tuple of ParetoPoint
        Best first: by fitness for the paper's search, else by the balanced score.
    costs : FeatureCosts
    by_fitness : bool
        Whether the paper's search listed the points, the fittest of its population first.
    """

    points: tuple[ParetoPoint, ...]
    costs: FeatureCosts
    by_fitness: bool = field(default=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        """Tell the points how long a row has waited after each of their stages."""
        if self.costs.has_delays:
            object.__setattr__(self, "points", tuple(map(self._with_delays, self.points)))

    def _with_delays(self, point: ParetoPoint) -> ParetoPoint:
        own = tuple(self.costs.waits_after_stages(point.design.subsets()).tolist())
        return point if point.stage_delays == own else replace(point, stage_delays=own)

    def position(self, point: ParetoPoint | int) -> int:
        """Return the position of a point in the front, from 0."""
        if isinstance(point, Integral):
            return check_whole("point", point, 0, len(self) - 1)
        if not isinstance(point, ParetoPoint) or point not in self.points:
            raise refused("point", "be one of this front, or its position", point)
        return self.points.index(point)

    def find(self, which: object) -> ParetoPoint:
        """Return the point that a rule or limits choose, at a position, or one of the front."""
        if isinstance(which, (str, dict)):
            return self.prefer(which)
        if isinstance(which, Integral):
            return self.points[check_whole("point", which, 0, len(self) - 1)]
        if not isinstance(which, ParetoPoint) or which not in self.points:
            raise refused("point", "be one of this front_, its position or a rule", which)
        return which

    def __len__(self) -> int:
        """Number of points."""
        return len(self.points)

    @overload
    def __getitem__(self, index: int) -> ParetoPoint: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[ParetoPoint]: ...
    def __getitem__(self, index: int | slice) -> ParetoPoint | Sequence[ParetoPoint]:
        """Return the point at a position; 0 is the best."""
        return self.points[index]

    def __iter__(self) -> Iterator[ParetoPoint]:
        """Iterate over the points, best first."""
        return iter(self.points)

    def balanced_scores(self) -> FloatArray:
        """√(coverage² + accuracy² + (1 - cost / cost of all features)²) of each point."""
        found: FloatArray = balanced_length(*self._objectives(), self.costs.total)
        return found

    def economical(self) -> ParetoPoint:
        """Return the cheapest point that is not worse than buying everything at once.

        Not worse means within half a standard error in coverage, accuracy, and the shares of each
        class that are found and mislabelled. Of the points that cost at most 1 % of everything
        more than the cheapest, it is the one with fewest stages and features. If every point is
        worse, it is the one that loses least. A front built by hand returns its knee.
        """
        if all(point.versus_everything is None for point in self.points):
            return self.knee()
        return self.points[economical_of(self.points, self.costs.total)]

    def shortlist(self) -> list[int]:
        """Return the positions of points that differ from each other in something beyond noise."""
        return [i for i, point in enumerate(self.points) if point.shortlisted]

    def accurate(self) -> ParetoPoint:
        """Return the point with the best `steadied_accuracy`; if equal, the cheapest."""
        return self.points[accurate_of(self.points)]

    def one_standard_error(self) -> ParetoPoint:
        """Return the simplest point within one standard error of the best expected one.

        Best is the balanced score of the expected figures. Simple means few stages, then few
        features, then a low cost.
        """
        return self.points[one_standard_error_of(self.points, self.costs.total or 1.0)]

    def balanced(self) -> ParetoPoint:
        """Return the point with the best balanced score."""
        return self.points[int(np.argmax(self.balanced_scores()))]

    def knee(self) -> ParetoPoint:
        """Return the point nearest to the best of all objectives, each scaled to 0..1."""
        return self.points[knee_of(*self._objectives())]

    def fittest(self) -> ParetoPoint:
        """Return the point that the paper would deploy, whichever search found the front.

        It has the largest √(coverage² + accuracy² + (lowest cost / cost)²), with the lowest cost
        of the front; the paper's search uses that of its population and lists the fittest first.
        If it is 0, the smallest feature cost above 0 is added to both. Ties go to fewer stages.
        """
        if self.by_fitness:
            return self.points[0]
        designs = np.array([point.design.stages for point in self.points])
        return self.points[fittest_of(designs, *self._objectives(), self.costs.smallest)]

    def select(
        self,
        max_cost: float | None = None,
        min_accuracy: float | None = None,
        min_coverage: float | None = None,
        min_recall: Any = None,
        rule: str | None = None,
        *,
        max_mean_delay: float | None = None,
        max_worst_delay: float | None = None,
        error_cost: Any = None,
        reject_cost: Any = None,
    ) -> ParetoPoint:
        """Return the point with the best balanced score among those within the limits.

        Points whose labels are no better than the commonest class come last. With `error_cost`,
        it is the point with the lowest `ParetoPoint.total`.

        Parameters
        ----------
        max_cost : float, optional
            Highest mean cost of a row.
        min_accuracy, min_coverage : float, optional
            Lowest accuracy, by the `metric` of the front, and coverage, from 0 to 1.
        min_recall : dict, optional
            Lowest share of a class that must get the correct label, such as ``{"ill": 0.9}``.
            Rejected rows count as not found.
        rule : {"balanced", "economical", "accurate", "one_standard_error", "knee", "fittest"}
            Chooses among the points within the limits; by default "balanced".
        max_mean_delay, max_worst_delay : float, optional
            Longest time that a row waits for its features, on average and at worst.
        error_cost, reject_cost : float, mapping or array-like, optional
            Costs of an error and of a rejection in the unit of the feature costs, as for
            `ParetoPoint.total`. They choose instead of a rule.

        Raises
        ------
        NoSuchDesign
            If no point is within the limits; the message says how close the front comes to each.
        """
        limits = max_cost, min_accuracy, min_coverage, min_recall, max_mean_delay, max_worst_delay
        within = Limits(*limits).required(self.points)
        costs = self.error_costs(error_cost, reject_cost)
        rule = check_rule(rule, has_error_costs=costs is not None)
        if costs is not None:
            return self.points[within[cheapest_of([self[i] for i in within], costs)]]
        scores = self.balanced_scores()
        if rule != "balanced":
            part = tuple(self[i] for i in within)
            return FrontPoints(part, self.costs, by_fitness=self.by_fitness).prefer(rule)
        return self.points[max(within, key=lambda i: (self[i].is_informative, scores[i]))]

    def within(
        self,
        max_cost: float | None = None,
        min_accuracy: float | None = None,
        min_coverage: float | None = None,
        min_recall: Any = None,
        *,
        max_mean_delay: float | None = None,
        max_worst_delay: float | None = None,
    ) -> list[int]:
        """Return the positions of all points within the limits."""
        limits = max_cost, min_accuracy, min_coverage, min_recall, max_mean_delay, max_worst_delay
        return Limits(*limits).within(self.points)

    def totals(self, error_cost: Any, reject_cost: Any = None) -> list[Total]:
        """Return the total of each point, as `ParetoPoint.total` does."""
        costs = self.error_costs(error_cost, reject_cost)
        if costs is None:
            raise refused("error_cost", "be given", None)
        return [point.total_with(costs) for point in self.points]

    def error_costs(self, error_cost: Any, reject_cost: Any = None) -> ErrorCosts | None:
        """Check costs of errors and rejections; None if neither is given."""
        may_reject = any(point.coverage < 1 for point in self.points)
        both = {"error_cost": error_cost, "reject_cost": reject_cost}
        return error_costs_of(both, self.labels, may_reject=may_reject)

    @property
    def labels(self) -> tuple[object, ...] | None:
        """The classes; None if nobody has counted them."""
        counted = self.points[0].by_class
        return None if counted is None else counted.labels

    def prefer(self, rule: str | dict[str, Any]) -> ParetoPoint:
        """Return the point that a rule or limits choose.

        Rules are the methods "economical", "one_standard_error", "accurate", "balanced", "fittest"
        and "knee". Limits, and costs of errors and rejections, are a dict of the arguments of
        `select`, such as ``{"error_cost": 500, "reject_cost": 40, "max_cost": 300}``.
        """
        check_preference(rule)
        if isinstance(rule, dict):
            return self.select(**rule)
        found: ParetoPoint = getattr(self, rule)()
        return found

    def _objectives(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        columns = np.array([(p.coverage, p.accuracy, p.cost) for p in self.points]).T.copy()
        return columns[0], columns[1], columns[2]
