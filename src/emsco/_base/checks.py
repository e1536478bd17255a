"""Checks of parameters, with one wording for every error: name, rule, value."""

from __future__ import annotations

import math
import re
from numbers import Integral, Real
from typing import Any

from emsco._base.text import what_was_meant
from emsco.errors import ParameterError

LARGEST_SEED = 2**32 - 1  # NumPy's RandomState, which scikit-learn uses, has 32 bits

_UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_UNITS |= {"KIB": 2**10, "MIB": 2**20, "GIB": 2**30, "TIB": 2**40}
_LEAST_PERCENT = 10  # numbers from here up were probably meant as per cent


def is_number(value: Any) -> bool:
    """Tell whether a value is a real number; True and False are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def check_choice(name: str, value: Any, choices: tuple[str, ...]) -> str:
    """Return `value` if it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(f'"{choice}"' for choice in choices)
        meant = what_was_meant(value, choices)
        raise ParameterError(f"{name} must be one of {listed}, got {value!r}{meant}")
    return value


def check_whole(name: str, value: Any, low: int, high: int | None = None) -> int:
    """Return `value` as an int if it is a whole number from `low` to `high`."""
    rule = f"a whole number from {low}" + (f" to {high}" if high is not None else " up")
    whole = is_number(value) and isinstance(value, Integral)
    if not whole or value < low or (high is not None and value > high):
        raise ParameterError(f"{name} must be {rule}, got {value!r}.")
    return int(value)


def check_jobs(n_jobs: Any) -> int:
    """Return the number of threads or processes that joblib makes of `n_jobs`; None is 1."""
    from joblib import effective_n_jobs  # deciding does without

    if n_jobs is not None and check_whole("n_jobs", n_jobs, -(2**31)) == 0:
        raise ParameterError(
            "n_jobs must be a number of threads, or negative to count from all cores, got 0."
        )
    count: int = effective_n_jobs(n_jobs)
    return count


def check_number(
    name: str, value: Any, low: float, high: float, ends: str = "[]", *, note: str = ""
) -> float:
    """Return `value` as a float if it is in the interval, whose `ends` are written as in "(]".

    `note` follows the rule.
    """
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
        meant = f"; did you mean {share:g}?" if percent else "."
        raise ParameterError(
            f"{name} must be a number in {ends[0]}{low:g}, {high:g}{ends[1]}{note}, got "
            f"{value!r}{meant}"
        )
    return number


def memory_bytes(name: str, value: Any) -> int:
    """Return a size in bytes, given as a number or with a unit such as "512MiB" or "2 GB".

    Examples
    --------
    >>> memory_bytes("memory_limit", "1.5 KiB")
    1536
    """
    text = str(value).strip().upper()
    match = re.fullmatch(r"([0-9.]+(?:E[+]?[0-9]+)?)\s*([KMGT]?I?B|)", text)
    try:
        if match is None or match[2] == "IB":
            raise ValueError
        size = int(float(match[1]) * _UNITS[match[2]])
    except (OverflowError, ValueError):
        size = 0
    if size <= 0:
        raise ParameterError(
            f"{name} must be a number of bytes above 0, with or without a unit such as "
            f'"512MiB", got {value!r}.'
        )
    return size
