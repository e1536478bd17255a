"""Which point of a front is preferred: a rule by name, or limits."""

from __future__ import annotations

import math

from emsco.errors import ParameterError
from emsco.parameters import check_number

__all__ = ["check_preference"]

_RULES = ("balanced", "fittest", "knee")
_LIMITS = ("max_cost", "min_accuracy", "min_coverage")


def check_preference(rule: object) -> None:
    """Refuse what `ParetoFront.prefer` does not know, before anything is searched for."""
    if isinstance(rule, dict):
        if unknown := [name for name in rule if name not in _LIMITS]:
            raise ParameterError(
                f"prefer must name limits out of {', '.join(_LIMITS)}, got {unknown[0]!r}."
            )
        for name, limit in rule.items():
            if limit is not None:
                check_number(name, limit, 0, math.inf if name == "max_cost" else 1)
    elif not isinstance(rule, str) or rule not in _RULES:
        listed = ", ".join(f'"{name}"' for name in _RULES)
        raise ParameterError(f"prefer must be {listed} or a dict of limits, got {rule!r}.")
