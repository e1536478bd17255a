"""Numbers of the explorer page, written short."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["rounded"]

_DIGITS = 10  # finer than any limit of a reader, and half as long as full precision


def rounded(numbers: Iterable[float], digits: int = _DIGITS) -> list[float]:
    """Write whole numbers as integers and round the others.

    Examples
    --------
    >>> rounded([2.0, 1 / 3])
    [2, 0.3333333333]
    """
    found = (float(f"{number:.{digits}g}") for number in numbers)
    return [int(number) if number.is_integer() else number for number in found]
