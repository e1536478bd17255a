"""Whether new rows bear out what a point of a front promises."""

from __future__ import annotations

from dataclasses import replace

from emsco._base.objectives import Interval, Objectives
from emsco.cascade import Evaluation
from emsco.front.point import ParetoPoint
from emsco.stats.promises import PromiseReport


def with_promises(seen: Evaluation, point: ParetoPoint) -> Evaluation:
    """Add what a point promised to an evaluation, and to its total if it has one."""
    found = replace(seen, promise=promise_of(seen, point))
    if seen.total is None:
        return found
    return found.with_total(seen.total.costs, point.total_with(seen.total.costs))


def promise_of(seen: Evaluation, point: ParetoPoint) -> PromiseReport:
    """Compare an evaluation with the figures that its point promises."""
    basis, figures = promised_by(point)
    ranges = {}
    if basis == "expected" and point.expected is not None:
        for name in ("coverage", "accuracy", "cost"):
            estimate = getattr(point.expected, name)
            ranges[name] = Interval(estimate.low, estimate.high)
    return seen.against(figures, basis, ranges)


def promised_by(point: ParetoPoint) -> tuple[str, Objectives]:
    """Return the coverage, accuracy and cost that a point promises, and their basis.

    They are the expected figures, which are corrected for the choice. A point without them, or of
    a front scored by balanced accuracy, promises its scored figures. The accuracy is always the
    share of labels that are correct.

    Examples
    --------
    >>> from emsco import Design
    >>> counts = {"n_tied": 1, "n_rows": 50, "exits": (40,), "correct_exits": (38,)}
    >>> point = ParetoPoint(0.8, 0.9, 2.0, Design([0], ["age"]), **counts)
    >>> promised_by(point)
    ('scored', Objectives(coverage=0.8, accuracy=0.95, cost=2.0))
    """
    return point.promised
