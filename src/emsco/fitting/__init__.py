"""A fit from rows to a front: its parameters, its steps, and the workbench that does the work."""

from emsco.fitting.fit import Fitted, fit_rows
from emsco.fitting.settings import PAPER, REFITS, seeds_of_fit
from emsco.fitting.workbench import Workbench

__all__ = ["PAPER", "REFITS", "Fitted", "Workbench", "fit_rows", "seeds_of_fit"]
