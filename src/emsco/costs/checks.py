"""Checks of costs, fees and delays."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from emsco._base.checks import is_number
from emsco._base.text import brief, some, what_was_meant
from emsco._base.typing import FloatArray
from emsco.errors import CostsError, Parameter, Part

__all__ = [
    "LARGEST_COST",
    "check_amount",
    "check_costs",
    "check_known",
]

LARGEST_COST = 1e100  # so that no sum over rows and features can overflow


def check_amount(what: str, value: Any) -> float:
    """Return a cost or a time as a number, if it is one.

    Examples
    --------
    >>> check_amount("the fee 'visit'", 20)
    20.0
    """
    try:
        number = float(value) if is_number(value) else math.nan
    except OverflowError:
        number = math.inf
    if not 0 <= number <= LARGEST_COST:  # written so that NaN fails too
        got = f"{number:g}" if is_number(value) else brief(value)
        raise CostsError(f"{what} must be finite and at least 0, got {got}.")
    return number


def check_known(
    what: Part,
    names: Iterable[str],
    features: Sequence[str],
    groups: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """Refuse names that are no features; a column of a group is bought with its group."""
    known = set(features)
    owner = {column: name for name, own in (groups or {}).items() for column in own}
    for name in names:
        if name not in known:
            hint = f", a column of group {owner[name]!r}." if name in owner else ""
            hint = hint or what_was_meant(name, features)
            raise CostsError(what, f" must name features ({some(features)}), got {name!r}{hint}")


def check_costs(costs: FloatArray, names: tuple[str, ...], may_be_free: bool) -> None:
    """Refuse costs that are not one number per feature, or all 0 unless there are others."""
    if costs.ndim != 1:
        raise CostsError(
            Parameter("costs"),
            f" must be one number per feature, got an array of shape {costs.shape}.",
        )
    if len(costs) != len(names):
        raise CostsError(
            Parameter("costs"),
            f" must have one entry for each of the {len(names)} features, got {len(costs)}.",
        )
    if len(set(names)) < len(names):
        raise CostsError(f"feature names must differ, got {some(names)}.")
    if bad := np.flatnonzero(~((costs >= 0) & np.isfinite(costs))).tolist():
        raise CostsError(
            Parameter("costs"),
            f" must be finite and at least 0, got {costs[bad[0]]:g} for feature {names[bad[0]]!r}.",
        )
    if costs.max(initial=0) > LARGEST_COST:
        raise CostsError(
            Parameter("costs"), f" must be at most {LARGEST_COST:g}, got {costs.max():g}."
        )
    if not may_be_free and not (costs > 0).any():
        raise CostsError(f"at least one cost must be above 0, got 0 for all {len(costs)} features.")
