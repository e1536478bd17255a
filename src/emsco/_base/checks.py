"""One wording for every parameter error: which, must be, got."""

from __future__ import annotations

import math
import re
from numbers import Integral, Real
from typing import Any

import numpy as np

from emsco.errors import ParameterError

__all__ = ["check_choice", "check_number", "check_whole", "is_number", "memory_bytes"]

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_LEAST_PERCENT = 10  # of what is probably meant as a share


def is_number(value: Any) -> bool:
    """Whether this is a real number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(f'"{choice}"' for choice in choices)
        raise ParameterError(f"{name} must be one of {listed}, got {value!r}.")
    return value


def check_whole(name: str, value: Any, low: int, high: int | None = None) -> int:
    """A whole number within bounds, ends included."""
    rule = f"a whole number from {low}" + (f" to {high}" if high is not None else " up")
    whole = is_number(value) and isinstance(value, Integral)
    if not whole or value < low or (high is not None and value > high):
        raise ParameterError(f"{name} must be {rule}, got {value!r}.")
    return int(value)


def check_number(
    name: str, value: Any, low: float, high: float, ends: str = "[]", note: str = ""
) -> float:
    """A number in an interval; `ends` tells which ends belong to it, as in "(]"."""
    rule = f"a number in {ends[0]}{low:g}, {high:g}{ends[1]}{note}"
    try:
        number = float(value) if is_number(value) else math.nan
    except OverflowError:
        number = math.nan
    above = number > low if ends[0] == "(" else number >= low
    below = number < high if ends[1] == ")" else number <= high
    if not (above and below):  # written so that NaN fails too
        share = number / 100
        is_share = low < share < high or (share == high and ends[1] == "]")
        percent = high == 1 and number >= _LEAST_PERCENT and is_share
        hint = f"; did you mean {share:g}?" if percent else "."
        raise ParameterError(f"{name} must be {rule}, got {value!r}{hint}")
    return number


def memory_bytes(name: str, value: Any) -> int:
    """Bytes as a number, or with a unit such as "512MiB" or "2 GB".

    Examples
    --------
    >>> memory_bytes("memory_limit", "1.5 KiB")
    1536
    """
    text = str(value).strip().upper()
    match = re.fullmatch(r"([0-9.]+(?:E[+]?[0-9]+)?)\s*([KMGT]?I?B|)", text)
    try:
        if match is None or match[2] == "IB" or isinstance(value, (bool, np.bool_)):
            raise ValueError
        size = int(float(match[1]) * _UNITS[match[2]])
    except (OverflowError, ValueError):
        size = 0
    if size <= 0:
        raise ParameterError(
            f'{name} must be a number of bytes above 0, with or without a unit such as "512MiB", '
            f"got {value!r}."
        )
    return size
