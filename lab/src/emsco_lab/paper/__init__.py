"""The tables and figures of the paper, one module each."""

from emsco_lab.paper.comparison import (
    QUICK,
    Extent,
    PaperComparison,
    draw_paper_comparison,
    known_comparison,
    reproduce_comparison,
)
from emsco_lab.paper.costs import cost_table, draw_cost_table
from emsco_lab.paper.global_optima import draw_global_optima, reproduce_global
from emsco_lab.paper.landscape import draw_trade_offs, reproduce_landscape
from emsco_lab.paper.mutation import draw_mutation, reproduce_mutation
from emsco_lab.paper.published import SETS
from emsco_lab.paper.sweep import reproduce_sweep
from emsco_lab.paper.tuning import TuningExtent, draw_tuning, reproduce_tuning

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
