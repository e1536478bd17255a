"""Searches propose designs and are told their counts; they know no data.

The names below are public, for searches of one's own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emsco.search.own import (
        Front,
        Landscape,
        Search,
        choose,
        count_designs,
        find_front,
        mutate,
        start_search,
    )

__all__ = [
    "Front",
    "Landscape",
    "Search",
    "choose",
    "count_designs",
    "find_front",
    "mutate",
    "start_search",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use, since a cascade decides without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("emsco.search.own"), name)
