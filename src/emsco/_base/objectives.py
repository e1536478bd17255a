"""The three objectives: coverage, accuracy and mean cost."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from emsco._base.documents import Fields

LEVEL = 0.95


class Interval(NamedTuple):
    """Limits between which a figure lies, with a stated confidence."""

    low: float
    high: float


METRICS = ("accuracy", "balanced_accuracy")  # what the objective "accuracy" can be
_ROUNDING = 1e-9  # methods add up the same costs in different orders


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

    @classmethod
    def from_dict(cls, fields: Fields) -> Objectives:
        """Read and check the fields that `dataclasses.asdict` wrote."""
        coverage, accuracy = (fields.number(name, 0, 1) for name in ("coverage", "accuracy"))
        return Objectives(coverage, accuracy, fields.number("cost", 0))

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
    saved = np.maximum(0.0, 1 - cost / total_cost)
    return np.sqrt(coverage**2 + accuracy**2 + saved**2)
