"""Figures in files must follow from their own counts: a file that contradicts itself is refused."""

from __future__ import annotations

import math
from operator import mul

from emsco._base.documents import Fields
from emsco._base.typing import FloatArray
from emsco.cascade import Evaluation
from emsco.costs import FeatureCosts
from emsco.designs.design import Design
from emsco.front.point import ParetoPoint
from emsco.front.references import Reference

__all__ = ["check_point", "check_reference", "check_seen", "paid_after_stages"]

_ROUNDING = 1e-9  # sums of weights are added up in different orders


def paid_after_stages(design: Design, costs: FeatureCosts) -> FloatArray | None:
    """Return the cost of a row after each stage; None if rows pay prices of their own."""
    return None if costs.prices else costs.after_stages(design.subsets())


def check_point(fields: Fields, point: ParetoPoint, paid: FloatArray | None = None) -> None:
    """Check the figures of a point against its exits.

    Parameters
    ----------
    fields : Fields
        What the point was read from, for messages.
    point : ParetoPoint
    paid : ndarray of shape (n_stages,), optional
        Cost of a row after each stage; without it, the cost is not checked.
    """
    left, correct = math.fsum(point.exits), math.fsum(point.correct_exits)
    _check_most(fields, "exits", left, point.n_rows)
    _check(fields, "coverage", point.coverage, left / point.n_rows)
    if point.metric == "accuracy":
        _check(fields, "accuracy", point.accuracy, correct / (left or 1))
    if paid is not None:
        spent = math.fsum(map(mul, point.exits, paid.tolist()))
        spent += max(0.0, point.n_rows - left) * float(paid[-1])
        _check(fields, "cost", point.cost, spent / point.n_rows)


def check_seen(fields: Fields, seen: Evaluation, paid: FloatArray | None) -> None:
    """Check the figures of an evaluation against its exits, and these against the classes."""
    *stages, rejected = seen.exits
    left = math.fsum(report.n_rows for report in stages)
    correct = math.fsum(report.n_correct for report in stages)
    if rejected.n_correct:
        fields.refuse("exits", "without correct labels for rejected rows", rejected.n_correct)
    _check(fields, "n_rows", seen.n_rows, left + rejected.n_rows)
    _check(fields, "coverage", seen.coverage, left / (seen.n_rows or 1))
    _check(fields, "accuracy", seen.accuracy, correct / (left or 1))
    by_class = seen.by_class
    for total, counts in (
        (seen.n_rows, by_class.rows),
        (left, by_class.answered),
        (correct, by_class.correct),
    ):
        if not _are_close(total, float(counts.sum())):
            fields.refuse("by_class", "counts that add up to those of the exits", by_class.counts)
    if paid is not None:
        for report, cost in zip(seen.exits, [*paid.tolist(), float(paid[-1])], strict=True):
            if not _are_close(report.cost, cost):
                fields.refuse("exits", f"at the costs of the design, {cost:g} here", report.cost)
        spent = math.fsum(report.n_rows * report.cost for report in seen.exits)
        _check(fields, "cost", seen.cost, spent / (seen.n_rows or 1))


def check_reference(fields: Fields, reference: Reference, costs: FeatureCosts) -> None:
    """Check the figures of a reference against its counts by class."""
    rows, answered = (
        float(one.sum()) for one in (reference.by_class.rows, reference.by_class.answered)
    )
    _check(fields, "coverage", reference.coverage, answered / (rows or 1))
    _check(fields, "accuracy", reference.accuracy, reference.by_class.accuracy)
    paid = paid_after_stages(Design.everything(costs.names), costs)
    if reference.kind == "commonest":
        _check(fields, "cost", reference.cost, 0.0)
    elif paid is not None:
        _check(fields, "cost", reference.cost, float(paid[-1]))


def _check(fields: Fields, name: str, figure: float, counted: float) -> None:
    if not _are_close(figure, counted):
        fields.refuse(name, f"{counted:.10g}, as the counts say", figure)


def _check_most(fields: Fields, name: str, total: float, most: float) -> None:
    if total > most * (1 + _ROUNDING):
        fields.refuse(name, f"at most {most:.10g} rows together", total)


def _are_close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_ROUNDING, abs_tol=_ROUNDING)
