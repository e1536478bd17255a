"""Plots for papers, drawn with matplotlib: `pip install 'emsco[plot]'`.

Each plot is a plain record and a function that draws it. Fronts, histories and studies make the
records in their own packages.
"""

from emsco.pictures.marks import ReferenceMark
from emsco.pictures.plotting.cascade import CascadePicture, draw_cascade
from emsco.pictures.plotting.convergence import Convergence, draw_convergence
from emsco.pictures.plotting.costs import CostClasses, draw_cost_classes
from emsco.pictures.plotting.figures import (
    COLUMN,
    check_matplotlib,
    check_picture,
    entitle,
    new_figure,
    save_figure,
    write_figure,
)
from emsco.pictures.plotting.front import FrontPicture, FrontSeries, draw_front
from emsco.pictures.plotting.monitor import PromiseTrack, draw_monitor
from emsco.pictures.plotting.reliability import draw_reliability, draw_risk_coverage

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
