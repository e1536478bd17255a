"""What EMSCO is tried with: rivals, data sets, comparisons, sweeps, and the paper's tables."""

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
