"""Costs of errors on the explorer page, whose sliders have one number for each kind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from emsco.pictures.explorer.numbers import rounded
from emsco.trust.by_class import ByClass
from emsco.trust.error_costs import ErrorCosts

__all__ = ["error_costs_record"]


def error_costs_record(
    costs: ErrorCosts, designs: Sequence[ByClass | None], references: Sequence[ByClass | None]
) -> dict[str, Any]:
    """Return the numbers at which the sliders begin, and factors if costs differ by class.

    The sliders then begin at the mean over the rows of all designs. The factors of a design say
    how much more its own wrong and rejected rows cost, and what its correct ones do, as shares of
    the sliders.
    """
    counted = [one for one in designs if one is not None]
    _, error, reject = costs.mean_costs(ByClass.joined(counted) if counted else None)
    found: dict[str, Any] = {"error": error, "reject": reject, "designs": None, "references": None}
    if costs.is_uniform or not counted:
        return found
    return {
        **found,
        "designs": _factors(costs, designs, error, reject),
        "references": _factors(costs, references, error, reject),
    }


def _factors(
    costs: ErrorCosts, found: Sequence[ByClass | None], error: float, reject: float
) -> dict[str, list[float]]:
    means = [costs.mean_costs(one, promised=True) for one in found]
    return {
        "correct": rounded(correct / (error or 1.0) for correct, _, _ in means),
        "wrong": rounded(wrong / (error or 1.0) for _, wrong, _ in means),
        "rejected": rounded(rejected / (reject or 1.0) for _, _, rejected in means),
    }
