"""Promises: whether new rows bear out the figures that were promised for a design."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from emsco._base.intervals import Interval
from emsco._base.objectives import Objectives

__all__ = ["Kept", "PromiseReport", "PromisedFigure"]

_ROUNDING = 1e-9
_FIGURES = ("coverage", "accuracy", "cost")


class Kept(StrEnum):
    """Whether a promise was kept."""

    YES = "kept"
    NO = "not kept"
    UNKNOWN = "cannot tell"


@dataclass(frozen=True, slots=True)
class PromisedFigure:
    """A figure that was promised, and what new rows say about it.

    A promise is kept if the seen figure is at least as good. It is not kept if the whole interval
    is worse. Otherwise, the seen figure is worse by no more than chance explains.

    Attributes
    ----------
    name : str
        "coverage", "accuracy" or "cost".
    promised, seen : float
    interval : Interval
        95 % interval of the true figure.

    Examples
    --------
    >>> found = PromisedFigure("accuracy", 0.87, 0.84, Interval(0.79, 0.88))
    >>> print(found.verdict)
    cannot tell
    """

    name: str
    promised: float
    seen: float
    interval: Interval

    @property
    def verdict(self) -> Kept:
        """Whether the promise was kept."""
        sign = -1 if self.name == "cost" else 1
        best = self.interval.low if self.name == "cost" else self.interval.high
        slack = _ROUNDING * max(1.0, abs(self.promised))
        if sign * (self.seen - self.promised) >= -slack:
            return Kept.YES
        worse = sign * (best - self.promised) < -slack
        return Kept.NO if worse else Kept.UNKNOWN

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, with the verdict."""
        return {**asdict(self), "interval": list(self.interval), "verdict": str(self.verdict)}


@dataclass(frozen=True, slots=True)
class PromiseReport:
    """Coverage, accuracy and cost that were promised, beside what new rows say about them.

    Attributes
    ----------
    coverage, accuracy, cost : PromisedFigure
    kind : {"expected", "scored", "promised"}
        Where the promised figures come from: a point's expected figures, its scored figures, or
        elsewhere.

    Examples
    --------
    >>> promised, seen = Objectives(0.9, 0.87, 5.0), Objectives(0.92, 0.84, 5.6)
    >>> intervals = Interval(0.88, 0.95), Interval(0.79, 0.88), Interval(5.2, 6.0)
    >>> found = PromiseReport.from_objectives(promised, seen, *intervals)
    >>> [str(one.verdict) for one in found.figures]
    ['kept', 'cannot tell', 'not kept']
    >>> print(found.verdict)
    not kept
    """

    coverage: PromisedFigure
    accuracy: PromisedFigure
    cost: PromisedFigure
    kind: str = "promised"

    @classmethod
    def from_objectives(
        cls,
        promised: Objectives,
        seen: Objectives,
        coverage: Interval,
        accuracy: Interval,
        cost: Interval,
        kind: str = "promised",
    ) -> PromiseReport:
        """Compare promised with seen figures, whose intervals are given."""
        intervals = dict(zip(_FIGURES, (coverage, accuracy, cost), strict=True))
        figures = {
            name: PromisedFigure(name, getattr(promised, name), getattr(seen, name), interval)
            for name, interval in intervals.items()
        }
        return cls(**figures, kind=kind)

    @property
    def figures(self) -> tuple[PromisedFigure, PromisedFigure, PromisedFigure]:
        """The three figures."""
        return self.coverage, self.accuracy, self.cost

    @property
    def verdict(self) -> Kept:
        """The worst verdict of the three."""
        found = {figure.verdict for figure in self.figures}
        worst_first = (Kept.NO, Kept.UNKNOWN, Kept.YES)
        return next(verdict for verdict in worst_first if verdict in found)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: the kind, the verdict, then each figure."""
        by_name = {figure.name: figure.to_dict() for figure in self.figures}
        return {"kind": self.kind, "verdict": str(self.verdict), **by_name}
