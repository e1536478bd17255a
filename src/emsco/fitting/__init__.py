"""A fit from rows to a front: its settings, its steps, and the workbench that they share."""

from emsco.fitting.fit import Fitted, fit_rows
from emsco.fitting.settings import PAPER, REFITS, FitSettings, seeds_of_fit
from emsco.fitting.workbench import Workbench

__all__ = ["PAPER", "REFITS", "FitSettings", "Fitted", "Workbench", "fit_rows", "seeds_of_fit"]
