"""Expected figures: what new rows will show of a design, after its luck on the scored rows."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple, Self

from emsco._base.documents import Fields, is_number
from emsco._base.objectives import Objectives, balanced_length

NORMAL = 1.96  # standard errors that a 95 % interval reaches to each side


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
        return f"{self.value:.3g} ({self.low:.3g} to {self.high:.3g})"


@dataclass(frozen=True, slots=True)
class Expected:
    """Coverage, accuracy and cost of a design on new rows, corrected for the choice.

    A design that looks best on the scored rows is partly good and partly lucky. Its scored figures
    less what luck adds to a choice are its expected figures.

    Attributes
    ----------
    coverage, accuracy, cost : Estimate
        Each with `value`, `low` and `high`; accuracy is that of the front's metric.
    """

    coverage: Estimate
    accuracy: Estimate
    cost: Estimate

    @property
    def figures(self) -> Objectives:
        """The three values, without their intervals."""
        return Objectives(self.coverage.value, self.accuracy.value, self.cost.value)

    def __str__(self) -> str:
        """Put all three into words."""
        shares = (f"{name} {getattr(self, name).in_percent}" for name in _NAMES[:2])
        return f"{', '.join(shares)}, cost {self.cost}"

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
        return score, sqrt(sum(slope**2 for slope in slopes)) / (score or 1.0)

    def to_lists(self) -> dict[str, list[float]]:
        """Return plain values: value, low and high of each figure."""
        return {name: list(getattr(self, name)) for name in _NAMES}

    @classmethod
    def from_fields(cls, fields: Fields) -> Self:
        """Read the values that `to_lists` gave from a file and check them."""
        return cls(*(_estimate(fields, name) for name in _NAMES))

    def to_dict(self) -> dict[str, dict[str, float]]:
        """Return plain values with their names, for a reader."""
        return {name: getattr(self, name)._asdict() for name in _NAMES}


_NAMES = ("coverage", "accuracy", "cost")
_LARGEST = 1e150  # cost whose square is still a number


def _estimate(fields: Fields, name: str) -> Estimate:
    found = fields.items(name)
    if len(found) != 3 or not all(map(is_number, found)):
        fields.refuse(name, "three numbers", found)
    value, low, high = map(float, found)
    if not 0 <= low <= value <= high:
        fields.refuse(name, "a value between its limits", found)
    if high > (most := _LARGEST if name == "cost" else 1):
        fields.refuse(name, f"at most {most:g}", found)
    return Estimate(value, low, high)


def share_estimate(value: float, n_rows: float) -> Estimate:
    """Return a share with Wilson's interval, as if it was counted on so many rows.

    Examples
    --------
    >>> print(share_estimate(0.9, 100))
    0.9 (0.826 to 0.945)
    """
    value, n = min(max(value, 0.0), 1.0), max(n_rows, 1.0)
    z = NORMAL**2 / n
    centre = (value + z / 2) / (1 + z)
    half = sqrt(z * value * (1 - value) + z * z / 4) / (1 + z)
    return Estimate(value, min(value, max(0.0, centre - half)), max(value, min(1.0, centre + half)))
