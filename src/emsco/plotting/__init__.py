"""Plots for papers, drawn with matplotlib: `pip install 'emsco[plot]'`.

Each plot is a plain record and a function that draws it. Fronts, histories, comparisons
and sweeps make the records in their own packages.
"""

from __future__ import annotations

from emsco.plotting.convergence import Convergence, draw_convergence
from emsco.plotting.cost_classes import CostClasses, draw_cost_classes
from emsco.plotting.curves import draw_reliability, draw_risk_coverage
from emsco.plotting.figures import (
    COLUMN,
    check_matplotlib,
    check_picture,
    entitle,
    new_figure,
    save_figure,
    write_figure,
)
from emsco.plotting.promises import PromiseTrack, draw_monitor
from emsco.plotting.trade_offs import FrontPicture, FrontSeries, ReferenceMark, draw_front
from emsco.plotting.workflow import CascadePicture, draw_cascade

__all__ = [
    "COLUMN",
    "CascadePicture",
    "Convergence",
    "CostClasses",
    "FrontPicture",
    "FrontSeries",
    "PromiseTrack",
    "ReferenceMark",
    "check_matplotlib",
    "check_picture",
    "draw_cascade",
    "draw_convergence",
    "draw_cost_classes",
    "draw_front",
    "draw_monitor",
    "draw_reliability",
    "draw_risk_coverage",
    "entitle",
    "new_figure",
    "save_figure",
    "write_figure",
]
