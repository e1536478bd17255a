"""The file of a front: convert it to plain values and back, and check every value that is read.

The checksum of a file finds accidents. Beyond that, figures must be those of their counts, so that
a file with a right checksum and false values is refused too.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import mul
from typing import TYPE_CHECKING, Any

from emsco._base.documents import Fields
from emsco._base.objectives import METRICS
from emsco._base.typing import FloatArray
from emsco.cascade import Evaluation, FrontModels
from emsco.cascade.format import Shared, StoredModels, design_from_dicts, stages_from_dicts
from emsco.costs import FeatureCosts
from emsco.data.row_prints import RowPrints
from emsco.designs.design import Design
from emsco.front.point import ParetoPoint
from emsco.front.references import KINDS, KINDS_ANSWERING, Reference
from emsco.models.stage_models import StageModels
from emsco.scoring.error_costs import ErrorCosts

if TYPE_CHECKING:
    from emsco.front.pareto_front import ParetoFront

_ROUNDING = 1e-9  # sums of weights are added up in different orders


def front_to_dict(front: ParetoFront, models: FrontModels) -> dict[str, Any]:
    """Convert a front and its models to plain values."""
    everything = () if models.everything is None else (models.everything,)
    shared = Shared.from_models(
        front.costs,
        models.classes,
        front.min_confidence,
        models.encoding,
        (*models.of_points, *everything),
    )
    at_once = Design.everything(front.costs.names)
    evaluations = front.seen or (None,) * len(front)
    return {
        **shared.to_dict(),
        "metric": front.metric,
        "proven": front.proven,
        "by_fitness": front.by_fitness,
        **({} if front.money is None else {"error_costs": front.money.costs.tolist()}),
        "references": [one.to_dict() for one in front.references],
        "seen_references": [one.to_dict() for one in front.seen_references],
        "searched": None if front.searched is None else front.searched.to_dict(),
        "everything": [
            stage
            for fitted in everything
            for stage in shared.design_to_dict(at_once, fitted)["stages"]
        ],
        "points": [
            {
                **shared.design_to_dict(point.design, fitted),
                "scored": point.scores_to_dict(),
                "seen": None if seen is None else seen.counts_to_dict(),
            }
            for point, fitted, seen in zip(front, models.of_points, evaluations, strict=True)
        ],
    }


def front_from_dict(fields: Fields, trusted: Sequence[str]) -> dict[str, Any]:
    """Read the attributes of a front from a file and check them."""
    shared = Shared.from_dict(fields, trusted)
    if (metric := fields.text("metric")) not in METRICS:
        fields.refuse("metric", f"one of {', '.join(METRICS)}", metric)
    points, pieces, evaluations = [], [], []
    labels = shared.classes.tolist()
    money = None
    if "error_costs" in fields.values:
        money = ErrorCosts.from_fields(fields, "error_costs", labels)
    for one in fields.many_fields("points"):
        design, of_design = design_from_dicts(one, shared)
        # With prices by row there is nothing to check costs against.
        scored, paid = one.fields("scored"), _paid_after_stages(design, shared.costs)
        is_weighted = money is not None
        point = ParetoPoint.from_dict(scored, design, labels, metric, is_weighted=is_weighted)
        points.append(point)
        check_point(scored, points[-1], paid)
        # Points share models, so these are numbers of models until a point is deployed.
        pieces.append(of_design)
        if one.get("seen") is not None:
            seen = one.fields("seen")
            evaluations.append(Evaluation.from_dict(seen, design.buys, shared.classes))
            _check_seen(seen, evaluations[-1], design, paid)
    _check_points(fields, points, evaluations)
    everything: StageModels | None = None  # the model that sees every feature, if there is one
    if fields.items("everything"):
        design, everything = stages_from_dicts(fields, shared, "everything")
        if design != Design.everything(shared.costs.names):
            fields.refuse("everything", "one stage that buys all features", str(design))
    models = FrontModels(
        shared.classes,
        shared.encoding,
        StoredModels(shared, tuple(pieces)),
        everything,
    )
    has_searched = fields.values.get("searched") is not None  # older files have none
    return {
        "points": tuple(points),
        "costs": shared.costs,
        "min_confidence": shared.min_confidence,
        "proven": fields.flag("proven"),
        # Files of before it was kept have no such field.
        "by_fitness": "by_fitness" in fields.values and fields.flag("by_fitness"),
        "money": money,
        "models": models,
        "seen": tuple(evaluations) or None,
        "searched": (
            RowPrints.from_dict(fields.fields("searched"), shared.encoding.n_inputs)
            if has_searched
            else None
        ),
        **_references(fields, labels, shared.costs),
    }


def _references(
    fields: Fields, labels: Sequence[object], costs: FeatureCosts
) -> dict[str, tuple[Reference, ...]]:
    """Read the references on scored and on test rows, which need the model of everything."""
    references: dict[str, tuple[Reference, ...]] = {}
    paid = _paid_after_stages(Design.everything(costs.names), costs)
    for name in ("references", "seen_references"):
        written = fields.many_fields(name) if fields.items(name) else []
        kinds = KINDS if len(written) == len(KINDS) else KINDS_ANSWERING
        if len(written) not in (0, len(kinds)):
            fields.refuse(name, f"2 or {len(KINDS)} references, or none", f"{len(written)}")
        known = []
        for one, kind in zip(written, kinds, strict=False):
            reference = Reference.from_dict(one, kind, labels)
            by_class = reference.by_class
            n_rows, answered = float(by_class.rows.sum()), float(by_class.answered.sum())
            _check(one, "coverage", reference.coverage, answered / (n_rows or 1))
            _check(one, "accuracy", reference.accuracy, by_class.accuracy)
            if kind == "commonest":
                _check(one, "cost", reference.cost, 0.0)
            # The commonest class buys nothing; the other references buy everything.
            elif paid is not None:
                _check(one, "cost", reference.cost, float(paid[-1]))
            known.append(reference)
        references[name] = tuple(known)
    if any(references.values()) and not fields.items("everything"):
        fields.refuse("everything", "a stage, since there are references", [])
    if references["seen_references"] and not references["references"]:
        fields.refuse("seen_references", "empty without 'references'", "3 references")
    return references


def _check_points(
    fields: Fields, points: Sequence[ParetoPoint], evaluations: Sequence[Evaluation]
) -> None:
    """Check what all points have in common."""
    if evaluations and len(evaluations) < len(points):
        fields.refuse("points", "evaluated all or none", f"{len(evaluations)} evaluations")
    judged = sum(point.by_class is not None for point in points)
    if 0 < judged < len(points):
        fields.refuse("points", "judged by class all or none", f"{judged} results by class")
    simplified = [i for i, point in enumerate(points) if point.is_simplified]
    if len(simplified) > 1:
        fields.refuse("points", "simplified at most once", f"points {simplified[0]} and more")
    for kind, measured in (("scored", points), ("seen", evaluations)):
        # Designs were scored together, so that their figures can be compared.
        n_rows = sorted({one.n_rows for one in measured})
        if len(n_rows) > 1:
            fields.refuse(
                "points", f"{kind} on the same rows", f"{n_rows[0]:g} and {n_rows[1]:g} rows"
            )


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
    # Exactly rounded sums, as the limit on rounding is tight.
    left, correct = math.fsum(point.exits), math.fsum(point.correct_exits)
    if left > point.n_rows * (1 + _ROUNDING):
        fields.refuse("exits", f"at most {point.n_rows:.10g} rows together", left)
    rejected = point.rejected_by_stage
    if any(rejected[j] for j in {*range(point.n_stages)} - {*point.design.leaves}):
        fields.refuse(
            "rejected_exits", "rows that are rejected at the end of a path", list(rejected)
        )
    if not point.design.is_chain:
        _check(fields, "n_rows", point.n_rows, left + math.fsum(rejected))
    _check(fields, "coverage", point.coverage, left / point.n_rows)
    if point.metric == "accuracy":
        _check(fields, "accuracy", point.accuracy, correct / (left or 1))
    if paid is not None:
        # Rejected rows have paid for every stage of their path.
        spent = math.fsum(map(mul, (*point.exits, *rejected), (*paid.tolist(), *paid.tolist())))
        _check(fields, "cost", point.cost, spent / point.n_rows)


def _check_seen(fields: Fields, seen: Evaluation, design: Design, paid: FloatArray | None) -> None:
    """Check the figures of an evaluation against its exits, and these against the classes."""
    *stages, rejected = seen.exits
    left = math.fsum(report.n_rows for report in stages)
    correct = math.fsum(report.n_correct for report in stages)
    # A rejection gives no label, so it cannot be a correct one.
    if rejected.n_correct:
        fields.refuse("exits", "without correct labels for rejected rows", rejected.n_correct)
    _check(fields, "n_rows", seen.n_rows, left + rejected.n_rows)
    if seen.rejected_exits:  # otherwise all were rejected after the last stage
        at_leaves = [seen.rejected_exits[j] for j in design.leaves]
        if not _are_close(math.fsum(at_leaves), rejected.n_rows):
            fields.refuse(
                "rejected_exits",
                f"{rejected.n_rows:g} rows, rejected at the end of a path",
                list(seen.rejected_exits),
            )
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
        ranges = [(cost, cost) for cost in paid.tolist()]
        # Rejected rows have paid for every stage of their path; the mean is of all paths.
        of_leaves = [float(paid[j]) for j in design.leaves]
        ranges.append((min(of_leaves), max(of_leaves)))
        for report, (low, high) in zip(seen.exits, ranges, strict=True):
            is_empty = not design.is_chain and not report.n_rows  # the mean cost of no rows is 0
            nearest = min(max(report.cost, low), high)
            if not is_empty and not _are_close(report.cost, nearest):
                fields.refuse("exits", f"at the costs of the design, {nearest:g} here", report.cost)
        spent = math.fsum(report.n_rows * report.cost for report in seen.exits)
        _check(fields, "cost", seen.cost, spent / (seen.n_rows or 1))


def _paid_after_stages(design: Design, costs: FeatureCosts) -> FloatArray | None:
    """Return the cost of a row after each stage; None if rows pay prices of their own."""
    return None if costs.prices else costs.after_stages(design.subsets(), design.before)


def _check(fields: Fields, name: str, figure: float, counted: float) -> None:
    if not _are_close(figure, counted):
        fields.refuse(name, f"{counted:.10g}, as the counts say", figure)


def _are_close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=_ROUNDING, abs_tol=_ROUNDING)
