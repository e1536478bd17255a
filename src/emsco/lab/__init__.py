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

_NAMES = {
    "compare": "FULL QUICK SPLITS TASKS TESTED Effort MethodComparison Task compare_methods",
    "compare_figure": "draw_comparison",
    "compare_report": "ComparisonReport broken_limits quick_words",
    "methods": "EMSCO METHODS check_methods label_of",
    "splits": "Parts divided split_parts",
    "standings": "Standing",
    "sweep": "ThresholdSweep draw_sweep sweep_thresholds",
    "trials": "CostedRows LabelledRows",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a public name on first use: a data set needs no comparison, nor a sweep a rival."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List all public names, also those not yet imported."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
