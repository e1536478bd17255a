"""What EMSCO is tried with: rivals, data sets, comparisons, sweeps, and the paper's tables."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emsco.lab.compare import (
        FULL,
        QUICK,
        SPLITS,
        TASKS,
        TESTED,
        Effort,
        MethodComparison,
        Task,
        compare_methods,
    )
    from emsco.lab.compare_figure import draw_comparison
    from emsco.lab.compare_report import ComparisonReport, broken_limits, quick_words
    from emsco.lab.methods import EMSCO, METHODS, check_methods, label_of
    from emsco.lab.splits import Parts, divided, split_parts
    from emsco.lab.standings import Standing
    from emsco.lab.sweep import ThresholdSweep, draw_sweep, sweep_thresholds
    from emsco.lab.trials import CostedRows, LabelledRows

__all__ = [
    "EMSCO",
    "FULL",
    "METHODS",
    "QUICK",
    "SPLITS",
    "TASKS",
    "TESTED",
    "ComparisonReport",
    "CostedRows",
    "Effort",
    "LabelledRows",
    "MethodComparison",
    "Parts",
    "Standing",
    "Task",
    "ThresholdSweep",
    "broken_limits",
    "check_methods",
    "compare_methods",
    "divided",
    "draw_comparison",
    "draw_sweep",
    "label_of",
    "quick_words",
    "split_parts",
    "sweep_thresholds",
]

_MODULES = (
    "methods",
    "splits",
    "trials",
    "standings",
    "sweep",
    "compare",
    "compare_report",
    "compare_figure",
)


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that data sets and rivals wait for no comparison."""
    if name in __all__:
        for module in _MODULES:
            value = getattr(import_module(f"{__name__}.{module}"), name, None)
            if value is not None:
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
