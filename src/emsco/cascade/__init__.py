"""Cascades: decide whole tables, or buy features one stage at a time."""

from emsco.cascade.cascade import Cascade
from emsco.cascade.case import Case, CaseDecision
from emsco.cascade.decisions import Decisions
from emsco.cascade.effective import EffectiveRows
from emsco.cascade.evaluation import Evaluation
from emsco.cascade.exits import ExitReport
from emsco.cascade.intervals import Intervals
from emsco.cascade.stages import FrontModels
from emsco.cascade.subgroups import Subgroups

__all__ = [
    "Cascade",
    "Case",
    "CaseDecision",
    "Decisions",
    "EffectiveRows",
    "Evaluation",
    "ExitReport",
    "FrontModels",
    "Intervals",
    "Subgroups",
]
