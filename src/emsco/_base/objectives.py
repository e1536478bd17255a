"""The three objectives, coverage, accuracy and mean cost, and estimates of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np

from emsco._base.documents import Fields, is_finite_number
from emsco._base.text import rounded

LEVEL = 0.95
NORMAL = 1.96  # standard errors that a 95 % interval reaches to each side
METRICS = ("accuracy", "balanced_accuracy")  # what the objective "accuracy" can be
_NAMES, _TOTAL = ("coverage", "accuracy", "cost"), "total"
_LARGEST = 1e150  # cost whose square is still a number
_ROUNDING = 1e-9  # methods add up the same costs in different orders


class Interval(NamedTuple):
    """Limits between which a figure lies, with a stated confidence."""

    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Objectives:
    """Coverage, accuracy and mean cost of a design, a cascade or another method on some rows.

    Attributes
    ----------
    coverage : float
        Share of rows that get a label.
    accuracy : float
        Share of the labels that are correct; 0 if no row gets a label.
    cost : float
        Mean cost of a row, rejected rows included.
    """

    coverage: float
    accuracy: float
    cost: float

    @property
    def objectives(self) -> Objectives:
        """The three objectives alone, without the fields of a subclass."""
        return Objectives(self.coverage, self.accuracy, self.cost)

    def balanced(self, total_cost: float) -> float:
        """Return √(coverage² + accuracy² + (1 - cost / total cost)²).

        Examples
        --------
        >>> Objectives(coverage=0.6, accuracy=0.8, cost=10.0).balanced(10.0)
        1.0
        """
        return float(balanced_length(self.coverage, self.accuracy, self.cost, total_cost))

    def dominates(self, other: Objectives) -> bool:
        """Tell whether it is at least as good in all three objectives and better in one.

        Differences within rounding do not count.

        Examples
        --------
        >>> Objectives(0.9, 0.8, 3.0).dominates(Objectives(0.9, 0.8, 4.0))
        True
        """
        pairs = (
            (self.coverage, other.coverage),
            (self.accuracy, other.accuracy),
            (-self.cost, -other.cost),
        )
        differ = [(a, b) for a, b in pairs if not math.isclose(a, b, rel_tol=_ROUNDING)]
        return bool(differ) and all(a > b for a, b in differ)


def objectives_from_dict(fields: Fields) -> Objectives:
    """Read and check the three objectives that `dataclasses.asdict` wrote."""
    coverage, accuracy = (fields.number(name, 0, 1) for name in ("coverage", "accuracy"))
    return Objectives(coverage, accuracy, fields.number("cost", 0))


class Estimate(NamedTuple):
    """A figure and its 95 % interval."""

    value: float
    low: float
    high: float

    @property
    def error(self) -> float:
        """Standard error."""
        return (self.high - self.low) / (2 * NORMAL)

    @property
    def in_percent(self) -> str:
        """The value of a share, then the interval."""
        return f"{self.value:.1%} ({self.low:.1%} to {self.high:.1%})"

    def __str__(self) -> str:
        """Show the value, then the interval."""
        value, low, high = (rounded(figure, digits=3) for figure in self)
        return f"{value} ({low} to {high})"


@dataclass(frozen=True, slots=True)
class Expected:
    """Figures of a design on new rows, corrected for the choice.

    A design that looks best on the scored rows is partly good and partly lucky. Its scored figures
    less what luck adds to a choice are its expected figures.

    Attributes
    ----------
    coverage, accuracy, cost : Estimate
        Each with `value`, `low` and `high`; accuracy is that of the front's metric.
    recall : tuple of Estimate
        Share of each class that gets its label; empty in files of earlier versions.
    total : Estimate or None
        Mean cost of a row with its errors and rejections, if the search was for the lowest.
    """

    coverage: Estimate
    accuracy: Estimate
    cost: Estimate
    recall: tuple[Estimate, ...] = ()
    total: Estimate | None = None

    @property
    def figures(self) -> Objectives:
        """The three values, without their intervals."""
        return Objectives(self.coverage.value, self.accuracy.value, self.cost.value)

    def __str__(self) -> str:
        """Put all three into words, and the total if there is one."""
        shares = (f"{name} {getattr(self, name).in_percent}" for name in _NAMES[:2])
        total = "" if self.total is None else f", total {self.total}"
        return f"{', '.join(shares)}, cost {self.cost}{total}"

    def balanced(self, total_cost: float) -> tuple[float, float]:
        """Return the balanced score and its standard error; `total_cost` is that of everything."""
        saved, per_one = 1 - self.cost.value / (total_cost or 1.0), 1 / (total_cost or 1.0)
        score = float(
            balanced_length(self.coverage.value, self.accuracy.value, self.cost.value, total_cost)
        )
        slopes = (
            self.coverage.value * self.coverage.error,
            self.accuracy.value * self.accuracy.error,
            saved * per_one * self.cost.error,
        )
        return score, math.sqrt(sum(slope**2 for slope in slopes)) / (score or 1.0)

    def to_lists(self) -> dict[str, list[Any]]:
        """Return plain values: value, low and high of each figure, and of each class's recall."""
        single = {name: list(getattr(self, name)) for name in self._single}
        return {**single, "recall": [list(one) for one in self.recall]}

    @property
    def _single(self) -> tuple[str, ...]:
        """Names of the figures that are one estimate each."""
        return _NAMES if self.total is None else (*_NAMES, _TOTAL)

    @classmethod
    def from_dict(cls, fields: Fields, n_classes: int) -> Self:
        """Read the values that `to_lists` gave from a file and check them."""
        coverage, accuracy, cost = (_estimate(fields, name, fields.items(name)) for name in _NAMES)
        # Files of earlier versions have no recall.
        recall = fields.items("recall") if "recall" in fields.values else []
        if len(recall) not in (0, n_classes):
            fields.refuse("recall", f"three numbers for each of {n_classes} classes", recall)
        total = None
        if _TOTAL in fields.values:
            total = _estimate(fields, _TOTAL, fields.items(_TOTAL))
        recalls = tuple(_estimate(fields, "recall", one) for one in recall)
        return cls(coverage, accuracy, cost, recalls, total)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values with their names, for a reader."""
        single = {name: getattr(self, name)._asdict() for name in self._single}
        return {**single, "recall": [one._asdict() for one in self.recall]}


def _estimate(fields: Fields, name: str, numbers: Any) -> Estimate:
    """Check the three numbers of an estimate."""
    is_triple = isinstance(numbers, list) and len(numbers) == 3
    if not is_triple or not all(map(is_finite_number, numbers)):
        fields.refuse(name, "three numbers", numbers)
    value, low, high = map(float, numbers)
    if not 0 <= low <= value <= high:
        fields.refuse(name, "a value between its limits", numbers)
    if high > (limit := _LARGEST if name in ("cost", _TOTAL) else 1):
        fields.refuse(name, f"at most {limit:g}", numbers)
    return Estimate(value, low, high)


def metric_name(metric: str) -> str:
    """Return the name of a metric for tables and pictures.

    Examples
    --------
    >>> metric_name("balanced_accuracy")
    'balanced accuracy'
    """
    return metric.replace("_", " ")


def metric_brief(metric: str) -> str:
    """Return the name of a metric for a narrow column.

    Examples
    --------
    >>> metric_brief("balanced_accuracy")
    'bal. acc.'
    """
    return "bal. acc." if metric == "balanced_accuracy" else metric


def balanced_length(coverage: Any, accuracy: Any, cost: Any, total_cost: float) -> Any:
    """Return √(coverage² + accuracy² + saved²) of numbers or arrays.

    The share saved is 1 - cost / total cost. It is 0 if several stages cost more than buying
    everything in one.
    """
    saved = np.maximum(0.0, 1 - cost / (total_cost or 1.0))
    return np.sqrt(coverage**2 + accuracy**2 + saved**2)
