"""An interval of a figure, and how sure it is."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["LEVEL", "Interval"]

LEVEL = 0.95


class Interval(NamedTuple):
    """Limits between which a figure lies, with a stated confidence."""

    low: float
    high: float
