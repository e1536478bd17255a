"""Rules that choose a point of a front: a rule by name, or limits.

The economical rule, the default of `fit`, has a module of its own: `emsco.front.economical`. Limits
choose what people mean by them (`PointLimits.best`):

- with a highest cost or delay alone, the most accurate design that answers everyone;
- with a lowest coverage, the most accurate design that labels so many rows;
- with a lowest accuracy or recall, the one that labels most rows, and of those the cheapest;
- with both, the cheapest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import partial
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from emsco._base.checks import check_choice, check_number, is_number
from emsco._base.objectives import balanced_length, metric_name
from emsco._base.text import some, what_was_meant
from emsco.costs import FeatureCosts
from emsco.data.labels import of_labels
from emsco.designs.population import Designs
from emsco.errors import NoSuchDesign, ParameterError
from emsco.front.economical import economical_of, why_economical
from emsco.front.point import ParetoPoint
from emsco.scoring.error_costs import ErrorCosts, plain_costs
from emsco.scoring.pareto import aggregates, knee_of, longest_first

Preference: TypeAlias = str | dict[str, Any]

_WHY = {  # each rule, and why it chooses a point
    "economical": "the cheapest that answers as well as buying everything",
    "accurate": "the most accurate",
    "balanced": "the best balance of coverage, accuracy and cost",
    "fittest": "the one that the paper would deploy",
    "knee": "the nearest to the best of all three figures",
    "one_standard_error": "the simplest within a standard error of the best expected",
}
RULES = tuple(_WHY)
DELAY_LIMITS = ("max_mean_delay", "max_worst_delay")
_ROUNDING = 1e-9  # relative; a delay this close above a limit is still within it
_ERROR_COSTS = ("error_cost", "reject_cost")


def choose(
    rule: str, points: Sequence[ParetoPoint], costs: FeatureCosts, *, by_fitness: bool = False
) -> int:
    """Return the position of the point that a rule chooses.

    `by_fitness` says that the points are the paper's, the fittest first.
    """
    columns = np.array([(p.coverage, p.accuracy, p.cost) for p in points]).T.copy()
    coverage, accuracy, cost = columns[0], columns[1], columns[2]
    # Without the comparison there is nothing to be economical about: the knee, below.
    if rule == "economical" and any(point.versus_everything is not None for point in points):
        return economical_of(points, costs.total)
    if rule == "accurate":
        # Equal accuracy goes to the cheaper point.
        return max(range(len(points)), key=lambda i: (points[i].steadied_accuracy, -points[i].cost))
    if rule == "balanced":
        return int(np.argmax(balanced_length(coverage, accuracy, cost, costs.total)))
    if rule == "fittest":
        # The paper's fitness depends on its last population, which is gone; the first is its
        # choice.
        if by_fitness:
            return 0
        designs = Designs.of(np.array([point.design.stages for point in points]))
        lengths = aggregates(coverage, accuracy, cost, costs.smallest)
        return int(longest_first(designs, lengths)[0])
    if rule == "one_standard_error":
        # The simplest within a standard error of the best balanced score, of expected figures or
        # of scored ones if a point has no others.
        total = costs.total or 1.0
        scores = [
            (one.balanced(total), 0.0) if one.expected is None else one.expected.balanced(total)
            for one in points
        ]
        best, error = max(scores)
        near = [i for i, (score, _) in enumerate(scores) if score >= best - error]
        # A design that tells nothing is simple, too, and must not win for that.
        informative = [i for i in near if points[i].is_informative]
        return min(informative or near, key=lambda i: points[i].size)
    return knee_of(coverage, accuracy, cost)  # also if nobody has compared them with everything


@dataclass(frozen=True, slots=True)
class PointLimits:
    """Limits on the scored figures of a point; None sets no limit.

    Attributes
    ----------
    max_cost : float or None
        Highest mean cost of a row.
    min_accuracy, min_coverage : float or None
        Lowest accuracy and coverage, from 0 to 1.
    min_recall : mapping or None
        Lowest share of each class that must get the correct label.
    max_mean_delay, max_worst_delay : float or None
        Longest time that a row waits, on average and at worst.
    """

    max_cost: float | None = None
    min_accuracy: float | None = None
    min_coverage: float | None = None
    min_recall: Any = None
    max_mean_delay: float | None = None
    max_worst_delay: float | None = None

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name in ("max_cost", "min_accuracy", "min_coverage", *DELAY_LIMITS):
            if (limit := getattr(self, name)) is not None:
                check_number(name, limit, 0, math.inf if name.startswith("max") else 1)
        recall: Any = self.min_recall
        if recall is not None and not isinstance(recall, Mapping):
            raise ParameterError(
                "min_recall must be a dict of labels and shares, as in {'ill': 0.9}, got "
                f"{recall!r}."
            )
        for label, share in (recall or {}).items():
            check_number(f"min_recall of class {label!r}", share, 0, 1)

    def within(self, points: Sequence[ParetoPoint]) -> list[int]:
        """Return the positions of the points within the limits."""
        criteria = self._criteria(points)
        return [i for i, one in enumerate(points) if all(each.is_met_by(one) for each in criteria)]

    def required(self, points: Sequence[ParetoPoint], *, may_reject: bool = False) -> list[int]:
        """Return the positions of the points within the limits; raise an error if there is none.

        To reject everyone for nothing counts only with `may_reject`.
        """
        within = [i for i in self.within(points) if may_reject or not points[i].rejects_everyone]
        if not within:
            raise NoSuchDesign(self._why_none(points))
        return within

    @property
    def _has_quality(self) -> bool:
        """Whether there is a limit on how good labels are."""
        return self.min_accuracy is not None or bool(self.min_recall)

    @property
    def chooses(self) -> str:
        """What these limits choose, in words."""
        if self._has_quality:
            if self.min_coverage is not None:
                return "the cheapest"
            return "the one that labels most rows, and of those the cheapest,"
        if self.min_coverage is not None:
            return "the most accurate"
        return "the most accurate that answers everyone"

    def chosen_in_words(self, point: ParetoPoint) -> str:
        """Why these limits chose a point, in words."""
        is_limited = self._has_quality or self.min_coverage is not None
        if not is_limited and point.coverage < 1:
            return "the one that labels most rows correctly"
        return self.chooses

    def best(self, points: Sequence[ParetoPoint], within: Sequence[int]) -> int:
        """Return the one of some positions that these limits choose.

        Points whose labels are no better than the commonest class come last. Where no point
        answers everyone, the one that labels most rows correctly stands in for it.
        """
        within = [i for i in within if points[i].is_informative] or list(within)
        if self._has_quality and self.min_coverage is not None:
            return min(within, key=lambda i: (points[i].cost, -points[i].accuracy))
        if self._has_quality:
            return max(within, key=lambda i: (points[i].coverage, -points[i].cost))
        if self.min_coverage is None:
            answering = [i for i in within if points[i].coverage == 1]
            if not answering:
                labelled = {i: points[i].coverage * points[i].steadied_accuracy for i in within}
                return max(within, key=lambda i: (labelled[i], -points[i].cost))
            within = answering
        return max(within, key=lambda i: (points[i].steadied_accuracy, -points[i].cost))

    def nearest(self, points: Sequence[ParetoPoint]) -> int:
        """Return the position of the point that misses the limits by least.

        Shares that are missing are added up, and what is too much of a cost or a delay counts as a
        share of the largest one.
        """
        criteria = self._criteria(points)
        largest = [
            # Shares are compared as they are; costs and delays have a scale of their own.
            max(map(one.figure, points)) or 1.0 if one.is_ceiling else 1.0
            for one in criteria
        ]

        def missed(i: int) -> float:
            return math.fsum(
                each.missed_by(points[i]) / scale
                for each, scale in zip(criteria, largest, strict=True)
            )

        labelling = [i for i, point in enumerate(points) if not point.rejects_everyone]
        return min(labelling, key=missed)

    def _why_none(self, points: Sequence[ParetoPoint]) -> str:
        """Say that no point is within the limits, and which is nearest."""
        criteria, near = self._criteria(points), self.nearest(points)
        limits = " and ".join(
            f"{one.title} at {'most' if one.is_ceiling else 'least'} {one.limit:g}"
            for one in criteria
        )
        figures = " and ".join(f"{one.title} {one.figure(points[near]):.4g}" for one in criteria)
        rare = "; class_weight 'balanced' finds more of a rare class" if self.min_recall else ""
        return (
            f"None of the {len(points):,} designs has {limits}; the nearest is design {near}, with "
            f"{figures}. Loosen a limit, or choose it by its number{rare}."
        )

    def _criteria(self, points: Sequence[ParetoPoint]) -> list[_Criterion]:
        """List the limits that are set; refuse those about figures that these points lack."""
        limits = {
            "cost": self.max_cost,
            "accuracy": self.min_accuracy,
            "coverage": self.min_coverage,
            "mean_delay": self.max_mean_delay,
            "worst_delay": self.max_worst_delay,
        }
        criteria = []
        for name, limit in limits.items():
            if limit is None:
                continue
            if name.endswith("delay") and not points[0].stage_delays:
                raise ParameterError(
                    f"max_{name} must be left out where no feature has a delay, got {limit!r}."
                )
            title = metric_name(points[0].metric if name == "accuracy" else name)
            criteria.append(_Criterion(title, limit, attrgetter(name)))
        if not self.min_recall:
            return criteria
        if points[0].by_class is None:
            raise ParameterError(
                "min_recall must be left out for a front without results by class, got "
                f"{self.min_recall!r}."
            )
        labels = points[0].by_class.labels

        def recall(place: int, point: ParetoPoint) -> float:
            return 0.0 if point.by_class is None else float(point.by_class.recall[place])

        return criteria + [
            _Criterion(f"recall of {labels[place]!r}", limit, partial(recall, place))
            for place, limit in self.places(labels)
        ]

    def places(self, classes: Sequence[object]) -> list[tuple[int, float]]:
        """Return the position of each class with a limit, and the limit; refuse other labels."""
        labels, places = list(classes), []
        for label, share in of_labels(self.min_recall or {}, labels).items():
            if label not in labels:
                raise ParameterError(
                    f"min_recall must name the classes {some(labels)}, got {label!r}"
                    f"{what_was_meant(label, labels)}"
                )
            places.append((labels.index(label), share))
        return places


class _Criterion(NamedTuple):
    """One limit on a figure of points."""

    title: str
    limit: float
    figure: Callable[[ParetoPoint], float]

    @property
    def is_ceiling(self) -> bool:
        """Whether figures above the limit miss it."""
        return self.title in ("cost", "mean delay", "worst delay")

    def is_met_by(self, point: ParetoPoint) -> bool:
        """Whether a point is within the limit; a delay may round above it."""
        if not self.is_ceiling:
            return self.figure(point) >= self.limit
        # Costs are exact sums of units, so only delays may be rounded.
        slack = 0.0 if self.title == "cost" else _ROUNDING
        return self.figure(point) <= self.limit * (1 + slack)

    def missed_by(self, point: ParetoPoint) -> float:
        """How far a point is beyond the limit; 0 within it."""
        beyond = self.figure(point) - self.limit
        return max(0.0, beyond if self.is_ceiling else -beyond)


def check_preference(
    rule: object, classes: Sequence[object] | None = None, *, may_reject: bool = True
) -> None:
    """Check a rule for `ParetoFront.prefer`, so that a bad one fails before the search starts.

    With `classes`, limits and costs by class must name them. `may_reject` says whether designs
    reject rows, so that costs of errors need one of rejections too.
    """
    if isinstance(rule, dict):
        known = [*(field.name for field in fields(PointLimits)), "rule", *_ERROR_COSTS]
        if unknown := [name for name in rule if name not in known]:
            raise ParameterError(
                f"prefer must name limits out of {', '.join(known)}, got {unknown[0]!r}."
            )
        limits = PointLimits(**limits_in(rule))
        check_rule(rule.get("rule"), has_error_costs=bool(given_error_costs(rule)))
        if classes is not None:
            # Names of classes are checked here, before a long fit, not after it.
            limits.places(classes)
            error_costs_of(rule, classes, may_reject=may_reject)
    elif not isinstance(rule, str) or rule not in _WHY:
        listed = ", ".join(f'"{name}"' for name in _WHY)
        raise ParameterError(
            f"prefer must be {listed} or limits such as max_cost, got {rule!r}"
            f"{what_was_meant(rule, _WHY)}"
        )


def limits_in(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits of a preference, without its rule and its costs."""
    return {name: limit for name, limit in rule.items() if name not in ("rule", *_ERROR_COSTS)}


def given_error_costs(rule: object) -> dict[str, Any]:
    """Return the costs of errors and rejections that a preference has; empty if it has none."""
    given = rule if isinstance(rule, Mapping) else {}
    return {name: given[name] for name in _ERROR_COSTS if given.get(name) is not None}


def preference_of_fit(given: Mapping[str, Any]) -> Preference:
    """Return what deploys a design, given the parameters of a fit: costs of errors go before.

    Without another rule, costs of errors alone deploy the lowest total; with limits, within them.

    Examples
    --------
    >>> preference_of_fit({"prefer": {"max_cost": 9}, "error_cost": 50})
    {'error_cost': 50, 'max_cost': 9}
    >>> preference_of_fit({"prefer": "knee", "error_cost": 50})
    'knee'
    """
    prefer: Preference = given["prefer"]
    costs = given_error_costs(given)
    if costs and isinstance(prefer, Mapping):
        return {**costs, **prefer}
    return costs if costs and prefer == "economical" else prefer


def error_costs_of(
    rule: object, labels: Sequence[object] | None, *, may_reject: bool = True
) -> ErrorCosts | None:
    """Check the costs of errors and rejections that a preference has; None if it has none."""
    given = given_error_costs(rule)
    return ErrorCosts.if_given(
        given.get("error_cost"), given.get("reject_cost"), labels, may_reject=may_reject
    )


def rule_of(preference: Any) -> Any:
    """Return the rule of a preference, without its limits and its costs; None if it has none."""
    return preference.get("rule") if isinstance(preference, dict) else preference


def rule_to_certify(preference: Any) -> str:
    """Return the rule that names the best of the certified designs; limits have done their part."""
    return rule_of(preference) or "accurate"


def check_rule(rule: Any, *, has_error_costs: bool) -> str | None:
    """Check the rule that chooses within limits; costs of errors leave no room for one."""
    if rule is None:
        return None
    if has_error_costs:
        raise ParameterError(f"rule must be left out where error_cost is given, got {rule!r}.")
    return check_choice("prefer", rule, RULES)


def plain_preference(rule: Preference) -> Preference:
    """Return a preference as plain values that a file can hold."""
    if not isinstance(rule, dict):
        return rule
    return {name: plain_costs(one) for name, one in rule.items()}


def preference_in_words(rule: str | Mapping[str, Any], point: ParetoPoint) -> str:
    """Say why a rule or limits chose a point.

    Examples
    --------
    >>> from emsco.designs.design import Design
    >>> point = ParetoPoint(0.9, 0.8, 5.0, Design([0], ("age",)), 1, 10, (9,), (7,))
    >>> preference_in_words("knee", point)
    'the nearest to the best of all three figures (knee)'
    >>> preference_in_words({"max_cost": 9}, point)
    'the one that labels most rows correctly within your limits'
    """
    if (given := given_error_costs(rule)) and not isinstance(rule, str):
        within = " within your limits" if limits_in(rule) else ""
        labels = None if point.by_class is None else point.by_class.labels
        costs = "your costs of errors"  # where nobody has counted the classes
        if labels is not None or all(map(is_number, given.values())):
            costs = str(error_costs_of(given, labels, may_reject=False))
        return f"the lowest {point.promised[0]} total{within} with {costs}"
    if not isinstance(rule, str):
        limits, name = limits_in(rule), rule_of(rule)
        if name is None:
            return f"{PointLimits(**limits).chosen_in_words(point)} within your limits"
        if limits:
            return f"{_WHY[name]} within your limits ({name})"
        rule = str(name)
    if rule == "economical" and point.versus_everything is None:
        rule = "knee"  # nobody has compared it with buying everything
    why = why_economical(point) if rule == "economical" else _WHY[rule]
    return f"{why} ({rule})"
