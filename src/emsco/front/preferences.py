"""Rules that choose a point of a front: a rule by name, or limits."""

from __future__ import annotations

import math
from collections.abc import Sequence

from emsco._base.checks import check_number, refused
from emsco._base.objectives import metric_name
from emsco.errors import Hint, Remedy
from emsco.front.point import ParetoPoint

__all__ = ["check_preference", "why_none"]

_RULES = ("balanced", "fittest", "knee")
_LIMITS = ("max_cost", "min_accuracy", "min_coverage")


def check_preference(rule: object) -> None:
    """Check a rule for `ParetoFront.prefer`, so that a bad one fails before the search starts."""
    if isinstance(rule, dict):
        if unknown := [name for name in rule if name not in _LIMITS]:
            raise refused(
                "prefer", f"name limits out of {', '.join(_LIMITS)}", rule, got=repr(unknown[0])
            )
        for name, limit in rule.items():
            if limit is not None:
                check_number(name, limit, 0, math.inf if name == "max_cost" else 1)
    elif not isinstance(rule, str) or rule not in _RULES:
        listed = ", ".join(f'"{name}"' for name in _RULES)
        raise refused("prefer", (f"be {listed} ", Hint(Remedy.LIMITS)), rule)


def why_none(
    points: Sequence[ParetoPoint],
    max_cost: float | None,
    min_accuracy: float | None,
    min_coverage: float | None,
) -> str:
    """Explain that no point is within the limits, and how close the points come to each."""
    limits = []
    if max_cost is not None:
        limits.append(f"cost at most {max_cost:g} (the cheapest: {min(p.cost for p in points):g})")
    if min_accuracy is not None:
        best, metric = max(p.accuracy for p in points), metric_name(points[0].metric)
        limits.append(f"{metric} at least {min_accuracy:g} (the best: {best:.4g})")
    if min_coverage is not None:
        best = max(p.coverage for p in points)
        limits.append(f"coverage at least {min_coverage:g} (the best: {best:.4g})")
    return f"None of the {len(points)} designs has {' and '.join(limits)}; loosen a limit."
