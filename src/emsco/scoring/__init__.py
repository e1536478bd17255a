"""What designs are worth: answers of stage models, outcomes by row, and counts of them.

`Answers`, `Outcomes` and `Counts` are public, for scores and searches of one's own.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emsco.scoring.answers import Answers, Counts, Outcomes

__all__ = ["Answers", "Counts", "Outcomes"]


def __getattr__(name: str) -> Any:
    """Import a public name on first use, since a cascade decides without it."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module("emsco.scoring.answers"), name)
