"""The tables and figures of the paper, one module each."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emsco.lab.paper.comparison import (
        QUICK,
        Extent,
        PaperComparison,
        draw_paper_comparison,
        known_comparison,
        reproduce_comparison,
    )
    from emsco.lab.paper.costs import cost_table, draw_cost_table
    from emsco.lab.paper.global_optima import draw_global_optima, reproduce_global
    from emsco.lab.paper.landscape import draw_trade_offs, reproduce_landscape
    from emsco.lab.paper.mutation import draw_mutation, reproduce_mutation
    from emsco.lab.paper.published import SETS
    from emsco.lab.paper.sweep import reproduce_sweep
    from emsco.lab.paper.tuning import TuningExtent, draw_tuning, reproduce_tuning

__all__ = [
    "QUICK",
    "SETS",
    "Extent",
    "PaperComparison",
    "TuningExtent",
    "cost_table",
    "draw_cost_table",
    "draw_global_optima",
    "draw_mutation",
    "draw_paper_comparison",
    "draw_trade_offs",
    "draw_tuning",
    "known_comparison",
    "reproduce_comparison",
    "reproduce_global",
    "reproduce_landscape",
    "reproduce_mutation",
    "reproduce_sweep",
    "reproduce_tuning",
]

_NAMES = {
    "comparison": "QUICK Extent PaperComparison draw_paper_comparison known_comparison "
    "reproduce_comparison",
    "costs": "cost_table draw_cost_table",
    "global_optima": "draw_global_optima reproduce_global",
    "landscape": "draw_trade_offs reproduce_landscape",
    "mutation": "draw_mutation reproduce_mutation",
    "published": "SETS",
    "sweep": "reproduce_sweep",
    "tuning": "TuningExtent draw_tuning reproduce_tuning",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a public name on first use: a table of costs needs no search."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List all public names, also those not yet imported."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
