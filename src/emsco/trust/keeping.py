"""Whether new rows bear out the figures that were promised for a design."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import hypot
from typing import Any

from emsco._base.intervals import Interval
from emsco._base.objectives import Objectives
from emsco.trust.promises import Promise, Verdict

__all__ = ["PromiseReport", "SeenPromise"]


@dataclass(frozen=True, slots=True)
class SeenPromise:
    """A promise, and the figure that new rows show.

    A promise is kept if the seen figure is at least as good. It is not kept if the seen figure is
    worse by more than chance explains: the chance in what was seen, and that in the promise, if it
    has an interval too. Otherwise there are too few rows to tell, and also if they say much less
    than the rows behind the promise: the interval is more than twice as wide.

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
    >>> found = SeenPromise(Promise("accuracy", 0.87), 0.84, Interval(0.79, 0.88))
    >>> print(found.verdict)
    too few rows
    """

    promise: Promise
    seen: float
    interval: Interval
    promised: Interval | None = None

    @property
    def verdict(self) -> Verdict:
        """Whether the promise was kept."""
        limit = self.promise.limit
        promised = Interval(limit, limit) if self.promised is None else self.promised
        if self.promise.is_met_by(self.seen):
            may_say = self.promised is None or _width(self.interval) <= 2 * _width(promised)
            return Verdict.KEPT if may_say else Verdict.TOO_FEW
        chance = hypot(
            self.promise.best(self.interval) - self.seen, limit - self.promise.worst(promised)
        )
        nearest = self.seen - chance if self.promise.is_ceiling else self.seen + chance
        return Verdict.TOO_FEW if self.promise.is_met_by(nearest) else Verdict.NOT_KEPT

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, with the verdict."""
        more = {"seen": self.seen, "interval": list(self.interval), "verdict": str(self.verdict)}
        more["promised"] = self.promised and list(self.promised)
        return {**self.promise.to_dict(), **more}


def _width(interval: Interval) -> float:
    return interval.high - interval.low


@dataclass(frozen=True, slots=True)
class PromiseReport:
    """Coverage, accuracy and cost that were promised, beside what new rows say about them.

    Attributes
    ----------
    coverage, accuracy, cost : SeenPromise
    basis : {"expected", "scored", "promised"}
        Where the promised figures come from: a point's expected figures, its scored figures, or
        elsewhere.

    Examples
    --------
    >>> promised, seen = Objectives(0.9, 0.87, 5.0), Objectives(0.92, 0.84, 5.6)
    >>> intervals = Interval(0.88, 0.95), Interval(0.79, 0.88), Interval(5.2, 6.0)
    >>> found = PromiseReport.from_objectives(promised, seen, *intervals)
    >>> [str(one.verdict) for one in found.promises]
    ['kept', 'too few rows', 'not kept']
    >>> print(found.verdict)
    not kept
    """

    coverage: SeenPromise
    accuracy: SeenPromise
    cost: SeenPromise
    basis: str = "promised"

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
        found = {
            kind: SeenPromise(
                Promise(kind, getattr(promised, kind)),
                getattr(seen, kind),
                interval,
                known.get(kind),
            )
            for kind, interval in intervals.items()
        }
        return cls(**found, basis=basis)

    @property
    def promises(self) -> tuple[SeenPromise, SeenPromise, SeenPromise]:
        """All three."""
        return self.coverage, self.accuracy, self.cost

    @property
    def verdict(self) -> Verdict:
        """The worst verdict of the three."""
        found = {one.verdict for one in self.promises}
        worst_first = (Verdict.NOT_KEPT, Verdict.TOO_FEW, Verdict.KEPT)
        return next(verdict for verdict in worst_first if verdict in found)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values: the basis, the verdict, then each promise."""
        by_kind = {one.promise.kind: one.to_dict() for one in self.promises}
        return {"basis": self.basis, "verdict": str(self.verdict), **by_kind}
