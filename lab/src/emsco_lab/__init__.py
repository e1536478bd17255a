"""What EMSCO is tried with: rivals, data sets, comparisons, sweeps, and the paper's tables."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emsco_lab.compare import (
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
    from emsco_lab.compare_figure import draw_comparison
    from emsco_lab.compare_report import (
        ComparisonReport,
        broken_limits,
        nothing_words,
        quick_words,
        recall_table,
        total_lines,
    )
    from emsco_lab.methods import (
        COMMONEST,
        EMSCO,
        METHODS,
        check_installed,
        check_methods,
        label_of,
    )
    from emsco_lab.parts import Parts, divided, split_parts
    from emsco_lab.standings import Standing
    from emsco_lab.trials import CostedRows, LabelledRows

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
    "TuningEffort",
    "broken_limits",
    "check_installed",
    "check_methods",
    "compare_methods",
    "divided",
    "draw_comparison",
    "label_of",
    "nothing_words",
    "quick_words",
    "recall_table",
    "split_parts",
    "total_lines",
]

_HOMES = {
    "COMMONEST": "emsco_lab.methods",
    "EMSCO": "emsco_lab.methods",
    "FULL": "emsco_lab.compare",
    "METHODS": "emsco_lab.methods",
    "QUICK": "emsco_lab.compare",
    "SPLITS": "emsco_lab.compare",
    "TASKS": "emsco_lab.compare",
    "TESTED": "emsco_lab.compare",
    "ComparisonReport": "emsco_lab.compare_report",
    "CostedRows": "emsco_lab.trials",
    "TuningEffort": "emsco_lab.compare",
    "LabelledRows": "emsco_lab.trials",
    "MethodComparison": "emsco_lab.compare",
    "Parts": "emsco_lab.parts",
    "Standing": "emsco_lab.standings",
    "Task": "emsco_lab.compare",
    "broken_limits": "emsco_lab.compare_report",
    "check_installed": "emsco_lab.methods",
    "check_methods": "emsco_lab.methods",
    "compare_methods": "emsco_lab.compare",
    "divided": "emsco_lab.parts",
    "draw_comparison": "emsco_lab.compare_figure",
    "label_of": "emsco_lab.methods",
    "nothing_words": "emsco_lab.compare_report",
    "quick_words": "emsco_lab.compare_report",
    "recall_table": "emsco_lab.compare_report",
    "split_parts": "emsco_lab.parts",
    "total_lines": "emsco_lab.compare_report",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use, so that data sets and rivals wait for no comparison."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
