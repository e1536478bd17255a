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
        MethodComparison,
        Task,
        TuningEffort,
        compare_methods,
    )
    from emsco.lab.compare_figure import draw_comparison
    from emsco.lab.compare_report import (
        ComparisonReport,
        broken_limits,
        nothing_words,
        quick_words,
        recall_table,
        total_lines,
    )
    from emsco.lab.methods import (
        COMMONEST,
        EMSCO,
        METHODS,
        check_installed,
        check_methods,
        label_of,
    )
    from emsco.lab.parts import Parts, divided, split_parts
    from emsco.lab.standings import Standing
    from emsco.lab.sweep import ThresholdSweep, draw_sweep, sweep_thresholds
    from emsco.lab.trials import CostedRows, LabelledRows

__all__ = [
    "COMMONEST",
    "EMSCO",
    "FULL",
    "METHODS",
    "QUICK",
    "SPLITS",
    "TASKS",
    "TESTED",
    "ComparisonReport",
    "CostedRows",
    "LabelledRows",
    "MethodComparison",
    "Parts",
    "Standing",
    "Task",
    "ThresholdSweep",
    "TuningEffort",
    "broken_limits",
    "check_installed",
    "check_methods",
    "compare_methods",
    "divided",
    "draw_comparison",
    "draw_sweep",
    "label_of",
    "nothing_words",
    "quick_words",
    "recall_table",
    "split_parts",
    "sweep_thresholds",
    "total_lines",
]

_HOMES = {
    "COMMONEST": "emsco.lab.methods",
    "EMSCO": "emsco.lab.methods",
    "FULL": "emsco.lab.compare",
    "METHODS": "emsco.lab.methods",
    "QUICK": "emsco.lab.compare",
    "SPLITS": "emsco.lab.compare",
    "TASKS": "emsco.lab.compare",
    "TESTED": "emsco.lab.compare",
    "ComparisonReport": "emsco.lab.compare_report",
    "CostedRows": "emsco.lab.trials",
    "TuningEffort": "emsco.lab.compare",
    "LabelledRows": "emsco.lab.trials",
    "MethodComparison": "emsco.lab.compare",
    "Parts": "emsco.lab.parts",
    "Standing": "emsco.lab.standings",
    "Task": "emsco.lab.compare",
    "ThresholdSweep": "emsco.lab.sweep",
    "broken_limits": "emsco.lab.compare_report",
    "check_installed": "emsco.lab.methods",
    "check_methods": "emsco.lab.methods",
    "compare_methods": "emsco.lab.compare",
    "divided": "emsco.lab.parts",
    "draw_comparison": "emsco.lab.compare_figure",
    "draw_sweep": "emsco.lab.sweep",
    "label_of": "emsco.lab.methods",
    "nothing_words": "emsco.lab.compare_report",
    "quick_words": "emsco.lab.compare_report",
    "recall_table": "emsco.lab.compare_report",
    "split_parts": "emsco.lab.parts",
    "sweep_thresholds": "emsco.lab.sweep",
    "total_lines": "emsco.lab.compare_report",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that data sets and rivals wait for no comparison."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
