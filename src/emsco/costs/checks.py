"""Checks that fees, prices and delays share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from emsco._base.checks import is_number
from emsco._base.text import brief, some
from emsco.errors import CostsError, Part

__all__ = ["LARGEST_COST", "check_amount", "check_known"]

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
            hint = f", a column of group {owner[name]!r}" if name in owner else ""
            raise CostsError(what, f" must name features ({some(features)}), got {name!r}{hint}.")
