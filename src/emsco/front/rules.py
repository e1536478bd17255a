"""Rules that choose a point of a front: a rule by name, or limits."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, TypeAlias

from emsco._base.checks import check_choice, check_number, is_number, refused
from emsco._base.objectives import balanced_length, metric_name
from emsco._base.text import did_you_mean, in_short, some
from emsco.data.labels import of_labels
from emsco.errors import Hint, NoSuchDesign, Parameter, Remedy
from emsco.front.point import ParetoPoint
from emsco.stats.by_class import CHANCE, ByClass
from emsco.stats.error_costs import ErrorCosts, plain_costs

Preference: TypeAlias = str | dict[str, Any]

SAME_COST = 0.01  # of the cost of everything: a smaller difference in cost is none
_RULES = {
    "economical": "the cheapest that is not worse than buying everything",
    "accurate": "the most accurate",
    "balanced": "the best balance of coverage, accuracy and cost",
    "fittest": "the one that the paper would deploy",
    "knee": "the nearest to the best of all three figures",
    "one_standard_error": "the simplest within a standard error of the best expected",
}
RULES = tuple(_RULES)  # their names
DELAY_LIMITS = ("max_mean_delay", "max_worst_delay")
_ROUNDING = 1e-9  # relative; a delay this close above a limit is still within it
_ERROR_COSTS = ("error_cost", "reject_cost")
_TOLERATED = 0.5  # standard errors by which a design may fall behind buying everything


def is_good_enough(point: ParetoPoint) -> bool:
    """Whether a point is not worse than buying everything by more than half a standard error.

    Coverage, accuracy, and the shares of each class that are found and mislabelled count.
    """
    versus = point.versus_everything
    return versus is not None and versus.shortfall <= _TOLERATED


def economical_of(points: Sequence[ParetoPoint], total_cost: float) -> int:
    """Return the position of the cheapest point that is not worse than buying everything.

    Points that beat the commonest class come before others. Of the points that cost next to
    nothing more, the one with fewest stages and features is returned, or what it was simplified
    to. If every point is worse, it is the one that loses least against it in anything.
    """
    for i, point in enumerate(points):
        if point.is_simplified:
            return i
    good = [i for i, point in enumerate(points) if is_good_enough(point)]
    if not good:
        return min(range(len(points)), key=lambda i: (_loss(points[i]), points[i].cost))
    good = [i for i in good if points[i].is_informative] or good
    most = min(points[i].cost for i in good) + SAME_COST * total_cost
    return min((i for i in good if points[i].cost <= most), key=lambda i: size_of(points[i]))


def accurate_of(points: Sequence[ParetoPoint]) -> int:
    """Return the position of the point with the best steadied accuracy; if equal, the cheapest."""
    return max(range(len(points)), key=lambda i: (points[i].steadied_accuracy, -points[i].cost))


def one_standard_error_of(points: Sequence[ParetoPoint], total_cost: float) -> int:
    """Return the position of the simplest point within one standard error of the best.

    The best has the largest balanced score of expected figures, or of scored ones if a point has
    no others. Of points that are as simple, the cheapest is returned.
    """
    scores = [_balanced(point, total_cost) for point in points]
    best, error = max(scores)
    near = [i for i, (score, _) in enumerate(scores) if score >= best - error]
    informative = [i for i in near if points[i].is_informative]
    return min(informative or near, key=lambda i: size_of(points[i]))


def cheapest_of(points: Sequence[ParetoPoint], costs: ErrorCosts) -> int:
    """Return the position of the point with the lowest total; if equal, the simplest."""
    totals = [point.total_with(costs).value for point in points]
    return min(range(len(points)), key=lambda i: (totals[i], size_of(points[i])))


def _balanced(point: ParetoPoint, total_cost: float) -> tuple[float, float]:
    """Balanced score of a point, and its standard error; 0 for one without expected figures."""
    if point.expected is not None:
        return point.expected.balanced(total_cost)
    return float(balanced_length(point.coverage, point.accuracy, point.cost, total_cost)), 0.0


def _loss(point: ParetoPoint) -> float:
    return math.inf if point.versus_everything is None else point.versus_everything.loss


def _behind(point: ParetoPoint) -> float:
    return math.inf if point.versus_everything is None else point.versus_everything.shortfall


def size_of(point: ParetoPoint) -> tuple[int, int, float]:
    """Sort key: fewer stages first, then fewer features, then a lower cost."""
    return point.n_stages, int((point.design.stages >= 0).sum()), point.cost


@dataclass(frozen=True, slots=True)
class Limits:
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
            raise refused(
                "min_recall", "be a dict of labels and shares, as in {'ill': 0.9}", recall
            )
        for label, least in (recall or {}).items():
            check_number("min_recall", least, 0, 1, of=f"class {label!r}")

    def within(self, points: Sequence[ParetoPoint]) -> list[int]:
        """Return the positions of the points within the limits."""
        places, delays = self._places(points), self._delays(points)
        return [
            i
            for i, point in enumerate(points)
            if (self.max_cost is None or point.cost <= self.max_cost)
            and (self.min_accuracy is None or point.accuracy >= self.min_accuracy)
            and (self.min_coverage is None or point.coverage >= self.min_coverage)
            and all(_recall(point, place) >= least for place, least in places)
            and all(getattr(point, name) <= most * (1 + _ROUNDING) for name, most in delays.items())
        ]

    def required(self, points: Sequence[ParetoPoint]) -> list[int]:
        """Return the positions of the points within the limits; raise an error if there is none."""
        found = self.within(points)
        if not found:
            near = self.nearest(points)
            point = points[near]
            named = f"The nearest is design {near}: {in_short(point, metric_name(point.metric))}. "
            way_out = Hint(Remedy.NEAREST, (str(near),))
            raise NoSuchDesign(f"{self.why_none(points)} {named}", way_out, ".")
        return found

    def nearest(self, points: Sequence[ParetoPoint]) -> int:
        """Return the position of the point that misses the limits by least.

        Shares that are missing are added up, and what is too much of a cost or a delay counts as a
        share of the largest one.
        """
        places = self._places(points)
        most = {"cost": self.max_cost, **self._delays(points)}

        def missed(point: ParetoPoint) -> float:
            shares = [
                (self.min_accuracy or 0.0) - point.accuracy,
                (self.min_coverage or 0.0) - point.coverage,
                *(least - _recall(point, place) for place, least in places),
            ]
            for name, limit in most.items():
                largest = max(getattr(one, name) for one in points) or 1.0
                shares.append(0.0 if limit is None else (getattr(point, name) - limit) / largest)
            return sum(max(0.0, share) for share in shares)

        return min(range(len(points)), key=lambda i: missed(points[i]))

    def why_none(self, points: Sequence[ParetoPoint]) -> str:
        """Explain that no point is within the limits, and how close the points come to each."""
        limits = []
        if self.max_cost is not None:
            cheapest = min(p.cost for p in points)
            limits.append(f"cost at most {self.max_cost:g} (the cheapest: {cheapest:g})")
        for name in ("accuracy", "coverage"):
            if (least := getattr(self, f"min_{name}")) is not None:
                best = max(getattr(p, name) for p in points)
                said = metric_name(points[0].metric) if name == "accuracy" else name
                limits.append(f"{said} at least {least:g} (the best: {best:.4g})")
        for name, most in self._delays(points).items():
            said, soonest = name.replace("_", " "), min(getattr(p, name) for p in points)
            limits.append(f"{said} at most {most:g} (the shortest: {soonest:.4g})")
        for place, least in self._places(points):
            best = max(_recall(point, place) for point in points)
            label = _counted(points[0]).labels[place]
            limits.append(f"recall of {label!r} at least {least:g} (the best: {best:.4g})")
        return f"None of the {len(points)} designs has {' and '.join(limits)}."

    def _delays(self, points: Sequence[ParetoPoint]) -> dict[str, float]:
        """Limit of each delay of a point that has one, by its name."""
        given = {name: limit for name in DELAY_LIMITS if (limit := getattr(self, name)) is not None}
        for name, limit in given.items():
            if not points[0].stage_delays:
                raise refused(name, "be left out where no feature has a delay", limit)
        return {name.removeprefix("max_"): limit for name, limit in given.items()}

    def _places(self, points: Sequence[ParetoPoint]) -> list[tuple[int, float]]:
        """Position of each class that has a limit, and the limit."""
        if not self.min_recall:
            return []
        if points[0].by_class is None:
            raise refused(
                "min_recall", "be left out for a front without results by class", self.min_recall
            )
        return self.places(_counted(points[0]).labels)

    def places(self, classes: Sequence[object]) -> list[tuple[int, float]]:
        """Return the position of each class with a limit, and the limit; refuse other labels."""
        labels, places = list(classes), []
        for label, least in of_labels(self.min_recall or {}, labels).items():
            if label not in labels:
                hint = did_you_mean(label, labels)
                raise refused("min_recall", f"name the classes {some(labels)}", label, hint=hint)
            places.append((labels.index(label), least))
        return places


def _counted(point: ParetoPoint) -> ByClass:
    if point.by_class is None:
        raise AssertionError("all points have results by class, or none")
    return point.by_class


def _recall(point: ParetoPoint, place: int) -> float:
    return float(_counted(point).recall[place])


def check_preference(
    rule: object, classes: Sequence[object] | None = None, *, may_reject: bool = True
) -> None:
    """Check a rule for `ParetoFront.prefer`, so that a bad one fails before the search starts.

    With `classes`, limits and costs by class must name them. `may_reject` says whether designs
    reject rows, so that costs of errors need one of rejections too.
    """
    if isinstance(rule, dict):
        known = [*(field.name for field in fields(Limits)), "rule", *_ERROR_COSTS]
        if unknown := [name for name in rule if name not in known]:
            raise refused(
                "prefer", f"name limits out of {', '.join(known)}", rule, got=repr(unknown[0])
            )
        limits = Limits(**limits_of(rule))
        check_rule(rule.get("rule"), has_error_costs=bool(given_error_costs(rule)))
        if classes is not None:
            limits.places(classes)
            error_costs_of(rule, classes, may_reject=may_reject)
    elif not isinstance(rule, str) or rule not in _RULES:
        listed = ", ".join(f'"{name}"' for name in _RULES)
        hint = did_you_mean(rule, _RULES) if isinstance(rule, str) else ""
        raise refused("prefer", (f"be {listed} ", Hint(Remedy.LIMITS)), rule, hint=hint)


def limits_of(rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return the limits of a preference, without its rule and its costs."""
    return {name: limit for name, limit in rule.items() if name not in ("rule", *_ERROR_COSTS)}


def given_error_costs(rule: object) -> dict[str, Any]:
    """Return the costs of errors and rejections that a preference has; empty if it has none."""
    given = rule if isinstance(rule, Mapping) else {}
    return {name: given[name] for name in _ERROR_COSTS if given.get(name) is not None}


def error_costs_of(
    rule: object, labels: Sequence[object] | None, *, may_reject: bool = True
) -> ErrorCosts | None:
    """Check the costs of errors and rejections that a preference has; None if it has none."""
    given = given_error_costs(rule)
    both = given.get("error_cost"), given.get("reject_cost")
    return ErrorCosts.if_given(*both, labels, may_reject=may_reject)


def label_costs_of(*rules: object) -> Any:
    """Return the cost of an error that the first of some preferences with costs has."""
    for rule in rules:
        if given := given_error_costs(rule):
            return given.get("error_cost")
    raise refused("cheapest_label", "be False where errors have no cost", value=True)


def one_choice(which: Any, limits: dict[str, Any]) -> Any:
    """Return a point, its position or a rule, or else limits; refuse both and neither."""
    if which is not None and limits:
        name = next(iter(limits))
        raise refused(name, "be left out where a point or a rule is given", limits[name])
    if which is None and not limits:
        raise refused("which", "be a point, its position or a rule", None)
    return limits if which is None else which


def rule_of(preference: Any) -> Any:
    """Return the rule of a preference, without its limits and its costs."""
    return preference.get("rule") or "balanced" if isinstance(preference, dict) else preference


def check_rule(rule: Any, *, has_error_costs: bool) -> str:
    """Return the rule that chooses within limits; costs of errors leave no room for one."""
    if rule is None:
        return "balanced"
    if has_error_costs:
        otherwise = ("be left out where ", Parameter("error_cost"), " is given")
        raise refused("rule", otherwise, rule)
    return check_choice("prefer", rule, RULES)


def plain_preference(rule: Preference) -> Preference:
    """Return a preference as plain values that a file can hold."""
    if not isinstance(rule, dict):
        return rule
    return {name: plain_costs(one) for name, one in rule.items()}


def _in_words(given: Mapping[str, Any], point: ParetoPoint) -> str:
    labels = None if point.by_class is None else point.by_class.labels
    if labels is None and not all(map(is_number, given.values())):
        return "your costs of errors"  # nobody has counted the classes
    return str(error_costs_of(given, labels, may_reject=False))


def preference_in_words(rule: str | Mapping[str, Any], point: ParetoPoint) -> str:
    """Say why a rule or limits chose a point.

    Examples
    --------
    >>> from emsco.designs.design import Design
    >>> point = ParetoPoint(0.9, 0.8, 5.0, Design([0], ("age",)), 1, 10, (9,), (7,))
    >>> preference_in_words("knee", point)
    'the nearest to the best of all three figures (knee)'
    >>> preference_in_words({"max_cost": 9}, point)
    'the best balance of coverage, accuracy and cost within your limits (balanced)'
    """
    if (given := given_error_costs(rule)) and not isinstance(rule, str):
        within = " within your limits" if limits_of(rule) else ""
        return f"the lowest {point.promised[0]} total{within} with {_in_words(given, point)}"
    if not isinstance(rule, str) and limits_of(rule):
        name = rule_of(rule)
        return f"{_RULES[name]} within your limits ({name})"
    rule = str(rule_of(rule))
    why = _RULES[rule]
    if rule == "economical" and point.versus_everything is None:
        rule, why = "knee", _RULES["knee"]  # nobody has compared it with buying everything
    elif rule == "economical" and point.n_stages == 1 and not point.design.left_out:
        why = "everything at once, since every cascade falls short of it in something"
    elif rule == "economical" and point.is_simplified and _behind(point) <= CHANCE:
        cheap = "the simplest of the cheap ones that are not worse than buying everything"
        why = f"{cheap} by more than chance"
    elif rule == "economical" and not is_good_enough(point):
        why = "the one that falls least short of buying everything, since all do"
    return f"{why} ({rule})"
