"""Promises about new rows, such as "accuracy at least 0.95"."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from emsco._base.checks import check_number
from emsco._base.documents import Fields
from emsco._base.objectives import Interval, Objectives
from emsco._base.text import some
from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco.data.labels import of_labels
from emsco.errors import ParameterError
from emsco.scoring.error_costs import ErrorCosts, Total

_KINDS = ("accuracy", "coverage", "recall", "cost", "total")
LIMITS = ("min_accuracy", "min_coverage", "min_recall", "max_cost", "max_total")
_NO_PROOF = ", since no number of rows can show that a share is 1"
_ROUNDING = 1e-9
# Width of an interval above which rows are too few to tell; of a cost, as a share of the promise.
_TELLING_SHARE, _TELLING_COST = 0.2, 0.4


class Verdict(StrEnum):
    """What rows say about a promise.

    Examples
    --------
    >>> print(Verdict.TOO_FEW)
    too few rows
    """

    KEPT = "kept"
    WITHIN_CHANCE = "as promised, within chance"
    NOT_KEPT = "not kept"
    TOO_FEW = "too few rows"


@dataclass(frozen=True, slots=True)
class Promise:
    """One promise about new rows: a lowest share, a highest mean cost or a highest mean total.

    Attributes
    ----------
    kind : {"accuracy", "coverage", "recall", "cost", "total"}
        "accuracy" is the share of given labels that are correct, "recall" the share of a class
        that gets its label, and "coverage" the share of rows that get any label. A "total" is the
        cost of a row with its errors and rejections.
    limit : float
        Lowest share, or highest mean cost or total of a row.
    label : object
        The class that an accuracy or a recall is about; None for all labels.
    costs : ErrorCosts or None
        What errors and rejections cost, for a total.

    Examples
    --------
    >>> print(Promise("recall", 0.9, "ill"))
    recall of 'ill' at least 0.9
    >>> Promise("accuracy", 0.95).sentence
    'at least 95 % of the labels given are correct'
    """

    kind: str
    limit: float
    label: object = None
    costs: ErrorCosts | None = None

    @property
    def name(self) -> str:
        """Name of the figure, such as "accuracy of 'ill'"."""
        what = f"mean {self.kind}" if self.is_ceiling else self.kind
        return what if self.label is None else f"{what} of {self.label!r}"

    @property
    def key(self) -> str:
        """Name of the figure in a file, such as "recall ill"."""
        return self.kind if self.label is None else f"{self.kind} {self.label}"

    @property
    def parameter(self) -> str:
        """The parameter that asks for it, such as "min_accuracy"."""
        return LIMITS[_KINDS.index(self.kind)]

    @property
    def is_ceiling(self) -> bool:
        """Whether larger figures break the promise."""
        return self.kind in ("cost", "total")

    @property
    def needs_labels(self) -> bool:
        """Whether only rows with a known label count."""
        return self.kind in ("accuracy", "recall", "total")

    @property
    def sentence(self) -> str:
        """The promise in full, such as "at least 80 % of the rows get a label"."""
        if self.costs is not None:
            return f"a row costs at most {self.limit:g} in all on average, with {self.costs}"
        if self.is_ceiling:
            return f"a row costs at most {self.limit:g} on average"
        rows = {
            "accuracy": "labels given are correct",
            "coverage": "rows get a label",
            "recall": f"rows that are {self.label!r} are called {self.label!r}",
        }[self.kind]
        if self.kind == "accuracy" and self.label is not None:
            rows = f"rows called {self.label!r} are {self.label!r}"
        return f"at least {100 * self.limit:.6g} % of the {rows}"

    def is_met_by(self, figure: float) -> bool:
        """Whether a figure is on the right side of the limit; rounding breaks no promise."""
        sign = -1 if self.is_ceiling else 1
        return sign * (figure - self.limit) >= -_ROUNDING * max(1.0, abs(self.limit))

    def worst(self, interval: Interval) -> float:
        """The worse end of an interval of the figure."""
        return interval.high if self.is_ceiling else interval.low

    def best(self, interval: Interval) -> float:
        """The better end of an interval of the figure."""
        return interval.low if self.is_ceiling else interval.high

    def rows(
        self, labels: Sequence[object], truth: IntArray, given: IntArray
    ) -> tuple[BoolArray, BoolArray]:
        """Tell which rows a share is about, and which rows are as promised.

        Classes are positions in `labels`. `truth` is -1 if it is not known; `given` is the number
        of classes for a rejected row. A mean cost is about all rows.
        """
        everyone, answered = np.ones(len(given), dtype=np.bool_), given < len(labels)
        if not self.needs_labels:
            return everyone, answered
        if self.kind == "total":
            return truth >= 0, answered
        # Position -1 is no class, and stands for all labels.
        place = -1 if self.label is None else labels.index(self.label)
        if self.kind == "recall":
            return truth == place, given == place
        called = answered if self.label is None else given == place
        # Rows whose truth is not known cannot be counted as correct or wrong.
        return called & (truth >= 0), given == truth

    def amounts(self, costs: Sequence[float]) -> FloatArray:
        """What a row can add to a mean cost or total, ascending, if features cost one of these."""
        if self.costs is None:
            return np.unique(costs)
        return np.unique(np.add.outer(costs, np.unique(self.costs.costs)))

    def spent(self, cost: FloatArray, truth: IntArray, given: IntArray) -> FloatArray:
        """What rows cost, for a total with their errors and rejections.

        Classes are as for `rows`; the true ones must be known for a total.
        """
        return cost if self.costs is None else cost + self.costs.costs[truth, given]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values."""
        plain: dict[str, Any] = {"kind": self.kind, "limit": self.limit, "label": self.label}
        if self.costs is not None:
            plain["error_costs"] = self.costs.costs.tolist()
        return plain

    def __str__(self) -> str:
        return f"{self.name} at {'most' if self.is_ceiling else 'least'} {self.limit:g}"


def promises_of(
    labels: Sequence[object],
    limits: Mapping[str, Any],
    costs: ErrorCosts | None = None,
    *,
    to_prove: bool = False,
) -> tuple[Promise, ...]:
    """Check promises as users write them, such as ``{"min_accuracy": 0.95}``.

    `labels` are the classes. "min_accuracy" is a number, or a dict of labels and numbers, in which
    the key None stands for all labels; "min_recall" is a dict of labels and numbers. `costs` are
    those of errors and rejections, for "max_total". With `to_prove`, a share of 1 is refused.

    Examples
    --------
    >>> limits = {"min_accuracy": {"well": 0.99}, "max_cost": 50}
    >>> [str(one) for one in promises_of(["ill", "well"], limits)]
    ["accuracy of 'well' at least 0.99", 'mean cost at most 50']
    """
    accuracy, coverage, recall, cost, total = (limits.get(name) for name in LIMITS)
    promises: list[Promise] = []
    if accuracy is not None:
        by_label = accuracy if isinstance(accuracy, Mapping) else {None: accuracy}
        promises += _by_label("accuracy", by_label, labels, to_prove)
    if coverage is not None:
        promises.append(Promise("coverage", check_number("min_coverage", coverage, 0, 1, "(]")))
    if recall is not None:
        if not isinstance(recall, Mapping):
            raise ParameterError(
                "min_recall must be a dict of labels and shares, as in {'ill': 0.9}, got "
                f"{recall!r}."
            )
        promises += _by_label("recall", recall, labels, to_prove)
    if cost is not None:
        promises.append(Promise("cost", check_number("max_cost", cost, 0, math.inf, "[)")))
    if total is not None:
        if costs is None:
            raise ParameterError(
                "error_cost must be given beside max_total, got None; a total has errors in it."
            )
        highest = check_number("max_total", total, 0, math.inf, "[)")
        promises.append(Promise("total", highest, costs=costs))
    if not promises:
        raise ParameterError(f"one of {', '.join(LIMITS)} must be given, got none.")
    return tuple(promises)


def _by_label(
    kind: str, limits: Mapping[Any, Any], labels: Sequence[object], to_prove: bool
) -> list[Promise]:
    """Return a promise for each label; unknown labels are refused."""
    name, promises = f"min_{kind}", []
    ends, note = ("()", _NO_PROOF) if to_prove else ("(]", "")
    for label, limit in of_labels(limits, labels).items():
        is_whole = label is None and kind == "accuracy"
        if label not in labels and not is_whole:
            raise ParameterError(f"{name} must name the classes {some(labels)}, got {label!r}.")
        of = name if is_whole else f"{name} of class {label!r}"
        share = check_number(of, limit, 0, 1, ends, note=note)
        promises.append(Promise(kind, share, None if is_whole else labels[labels.index(label)]))
    # In the order of the classes, the one for all labels first, however they were written.
    return sorted(promises, key=lambda one: -1 if one.label is None else labels.index(one.label))


def limits_of(promises: Sequence[Promise]) -> dict[str, Any]:
    """Return promises as users write them, with the costs of errors for a total.

    Examples
    --------
    >>> limits_of([Promise("accuracy", 0.95), Promise("recall", 0.9, "ill")])
    {'min_accuracy': 0.95, 'min_recall': {'ill': 0.9}}
    """
    limits: dict[str, dict[Any, float]] = {}
    errors: dict[str, Any] = {}
    for one in promises:
        limits.setdefault(one.parameter, {})[one.label] = one.limit
        if one.costs is not None:
            rejections = zip(one.costs.labels, one.costs.costs[:, -1].tolist(), strict=True)
            errors = {"error_cost": one.costs.of_labels, "reject_cost": dict(rejections)}
    return errors | {
        name: by_label[None] if list(by_label) == [None] else by_label
        for name, by_label in limits.items()
    }


def promises_from_dict(fields: Fields, labels: Sequence[object]) -> tuple[Promise, ...]:
    """Read promises from a file and check them."""
    promises: list[Promise] = []
    for one in fields.many_fields("promises"):
        kind, label = one.text("kind"), one.get("label")
        if kind not in _KINDS:
            one.refuse("kind", f"one of {', '.join(_KINDS)}", kind)
        # Coverage and cost are about all rows, so they have no label.
        may_be = {"accuracy": [None, *labels], "recall": [*labels]}.get(kind, [None])
        if label not in may_be or (kind, label) in ((each.kind, each.label) for each in promises):
            one.refuse("label", f"one of {some(may_be)}, each once", label)
        limit = one.number("limit", 0, math.inf if kind in ("cost", "total") else 1)
        if not limit and kind not in ("cost", "total"):
            one.refuse("limit", "above 0", limit)
        costs = ErrorCosts.from_fields(one, "error_costs", labels) if kind == "total" else None
        # The label as the classes have it: 1 and 1.0 are equal, but print differently.
        promises.append(Promise(kind, limit, may_be[may_be.index(label)], costs))
    return tuple(promises)


@dataclass(frozen=True, slots=True)
class SeenPromise:
    """A promise, and the figure that new rows show.

    A promise is kept if the seen figure is at least as good. It is not kept if the seen figure is
    worse by more than chance explains: the chance in what was seen, and that in the promise, if it
    has an interval too. Otherwise the figure is as promised, within chance.

    Rows are too few to tell if their interval is wider than 20 percentage points, or for a cost
    than 40 % of the promise. A figure that breaks its promise beyond chance, or that meets a limit
    that is no estimate, needs no such interval.

    Attributes
    ----------
    promise : Promise
    seen : float
    interval : Interval
        95 % interval of the true figure.
    promised : Interval or None
        95 % interval of the promised figure, if that is an estimate.

    Examples
    --------
    >>> accuracy = SeenPromise(Promise("accuracy", 0.87), 0.84, Interval(0.79, 0.88))
    >>> print(accuracy.verdict)
    as promised, within chance
    """

    promise: Promise
    seen: float
    interval: Interval
    promised: Interval | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether the promise was kept."""
        limit = self.promise.limit
        telling_width = _TELLING_COST * limit if self.promise.is_ceiling else _TELLING_SHARE
        is_vague = self.interval.high - self.interval.low > telling_width
        if self.promise.is_met_by(self.seen):
            is_estimate = self.promised is not None
            return Verdict.TOO_FEW if is_estimate and is_vague else Verdict.KEPT
        # Both the seen figure and the promised one may be off by chance, each by its own interval.
        promised = Interval(limit, limit) if self.promised is None else self.promised
        chance = math.hypot(
            self.promise.best(self.interval) - self.seen, limit - self.promise.worst(promised)
        )
        nearest = self.seen - chance if self.promise.is_ceiling else self.seen + chance
        if not self.promise.is_met_by(nearest):
            return Verdict.NOT_KEPT
        return Verdict.TOO_FEW if is_vague else Verdict.WITHIN_CHANCE

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, with the verdict."""
        return {
            **self.promise.to_dict(),
            "seen": self.seen,
            "interval": list(self.interval),
            "verdict": str(self.verdict),
            "promised": None if self.promised is None else list(self.promised),
        }


@dataclass(frozen=True, slots=True)
class PromiseReport:
    """Figures that were promised, beside what new rows say about them.

    Attributes
    ----------
    coverage, cost : SeenPromise
    accuracy : SeenPromise or None
        None if labels are those of least expected cost: figures of a front are of likeliest labels.
    basis : {"expected", "scored", "promised"}
        Where the promised figures come from: a point's expected figures, its scored figures, or
        elsewhere.
    recall : tuple of SeenPromise
        One for each class, if their recall was promised.

    Examples
    --------
    >>> promised, seen = Objectives(0.9, 0.87, 5.0), Objectives(0.92, 0.84, 5.6)
    >>> intervals = Interval(0.88, 0.95), Interval(0.79, 0.88), Interval(5.2, 6.0)
    >>> report = PromiseReport.from_objectives(promised, seen, *intervals)
    >>> [str(one.verdict) for one in report.promises]
    ['kept', 'as promised, within chance', 'not kept']
    >>> print(report.verdict)
    not kept
    """

    coverage: SeenPromise
    accuracy: SeenPromise | None
    cost: SeenPromise
    basis: str = "promised"
    recall: tuple[SeenPromise, ...] = ()

    @classmethod
    def from_objectives(
        cls,
        promised: Objectives,
        seen: Objectives,
        coverage: Interval,
        accuracy: Interval,
        cost: Interval,
        basis: str = "promised",
        ranges: Mapping[str, Interval] | None = None,
    ) -> PromiseReport:
        """Compare promised with seen figures, whose intervals are given.

        `ranges` has the intervals of promised figures by name, if these are estimates.
        """
        known = ranges or {}
        intervals = {"coverage": coverage, "accuracy": accuracy, "cost": cost}
        promises = {
            kind: SeenPromise(
                Promise(kind, getattr(promised, kind)),
                getattr(seen, kind),
                interval,
                known.get(kind),
            )
            for kind, interval in intervals.items()
        }
        return cls(promises["coverage"], promises["accuracy"], promises["cost"], basis)

    @property
    def promises(self) -> tuple[SeenPromise, ...]:
        """Those of coverage, accuracy and cost."""
        promises = (self.coverage, self.accuracy, self.cost)
        return tuple(one for one in promises if one is not None)

    @property
    def verdict(self) -> Verdict:
        """The worst verdict on coverage, accuracy and cost.

        Each class has a verdict of its own: of many classes, one is off by chance or has few rows.
        """
        verdicts = {one.verdict for one in self.promises}
        # One broken promise is enough, whatever the others say.
        worst_first = (
            Verdict.NOT_KEPT,
            Verdict.TOO_FEW,
            Verdict.WITHIN_CHANCE,
            Verdict.KEPT,
        )
        return next(verdict for verdict in worst_first if verdict in verdicts)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: the basis, the verdict, then each promise."""
        by_kind: dict[str, Any] = {"coverage": None, "accuracy": None, "cost": None}
        by_kind |= {one.promise.kind: one.to_dict() for one in self.promises}
        recall = [one.to_dict() for one in self.recall]
        return {"basis": self.basis, "verdict": str(self.verdict), **by_kind, "recall": recall}


@dataclass(frozen=True, slots=True)
class SeenTotal:
    """Mean total of new rows: their features, errors and rejections.

    Attributes
    ----------
    seen : Total
        On the new rows. Its interval is a little too wide: it allows for errors that are
        commonest among the most expensive rows.
    costs : ErrorCosts
        What errors and rejections cost.
    promised : Total or None
        What the design promised with the same costs.

    Examples
    --------
    >>> costs = ErrorCosts.from_parameters(500, 40)
    >>> print(SeenTotal(Total(12.0, 6.0, 2.0, 0.5), costs, Total(11.0, 6.0, 2.0)))
    20 (19.02 to 20.98); expected 19: not kept
    """

    seen: Total
    costs: ErrorCosts
    promised: Total | None = None

    @property
    def value(self) -> float:
        """The mean total of the new rows."""
        return self.seen.value

    @property
    def verdict(self) -> Verdict | None:
        """Whether the promised total was kept; None if nothing was promised."""
        if self.promised is None or self.seen.interval is None:
            return None
        promise = Promise("cost", self.promised.value)
        return SeenPromise(promise, self.value, self.seen.interval, self.promised.interval).verdict

    def lines(self) -> list[tuple[str, str, str, str]]:
        """Return name, seen value, promised value and verdict, for tables: the sum, its parts."""
        promised, verdict = self.promised, self.verdict
        told = "" if promised is None else f"{promised.value:.4g}"
        lines = [("total", self.seen.in_words, told, str(verdict or ""))]
        for name in ("features", "errors", "rejections"):
            told = "" if promised is None else f"{getattr(promised, name):.4g}"
            lines.append((f"  {name}", f"{getattr(self.seen, name):.4g}", told, ""))
        return lines

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: seen and promised totals, and the verdict."""
        return {
            "seen": self.seen.to_dict(),
            "promised": None if self.promised is None else self.promised.to_dict(),
            "verdict": None if self.verdict is None else str(self.verdict),
        }

    def __str__(self) -> str:
        """Show the seen total and, if there is one, the promised one with the verdict."""
        if self.promised is None:
            return self.seen.in_words
        told = f"{self.promised.basis} {self.promised.value:.4g}"
        return f"{self.seen.in_words}; {told}: {self.verdict}"
