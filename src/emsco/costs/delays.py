"""Delays: the time until the value of a feature is there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from emsco._base.text import brief
from emsco._base.typing import FloatArray
from emsco.costs.checks import check_amount, check_known
from emsco.errors import CostsError, Parameter

__all__ = ["changed_delays", "checked_delays", "delays_of"]


def delays_of(delays: Mapping[str, Any], names: Sequence[str]) -> FloatArray:
    """Return the delay of each feature, given some by name; 0 for the others."""
    check_known("delays", delays, names)
    found = (check_amount(f"the delay of {name!r}", delays.get(name, 0)) for name in names)
    return np.array(list(found), dtype=np.float64)


def _numbers(delays: ArrayLike, names: tuple[str, ...]) -> FloatArray:
    """Copy delays; refuse what is not one number for each feature."""
    try:
        given = np.array(delays, dtype=np.float64)
    except (OverflowError, TypeError, ValueError):
        numbers = f" must be numbers, one for each feature, got {brief(delays)}."
        raise CostsError(Parameter("delays"), numbers) from None
    if given.shape != (len(names),):
        each = f" must have one entry for each of the {len(names)} features, got shape "
        raise CostsError(Parameter("delays"), each, f"{given.shape}.")
    return given


def checked_delays(delays: ArrayLike, names: tuple[str, ...]) -> FloatArray:
    """Copy, check and lock delays; none mean 0 for all features."""
    given = _numbers(delays if np.size(delays) else np.zeros(len(names)), names)
    for name, delay in zip(names, given.tolist(), strict=True):
        check_amount(f"the delay of {name!r}", delay)
    given.setflags(write=False)
    return given


def changed_delays(
    before: FloatArray,
    delays: Mapping[str, Any] | ArrayLike,
    names: tuple[str, ...],
    groups: Mapping[str, Sequence[str]],
) -> FloatArray:
    """Return other delays, in feature order or by name; those that are not named stay."""
    if not isinstance(delays, Mapping):
        return _numbers(delays, names)
    check_known(Parameter("delays"), delays, names, groups)
    own = dict(zip(names, before.tolist(), strict=True))
    return delays_of({**own, **delays}, names)
