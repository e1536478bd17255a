"""Cascades: decide whole tables, or buy features one stage at a time."""

from emsco.cascade.cascade import Cascade
from emsco.cascade.case import Case, CaseDecision
from emsco.cascade.certainty import EffectiveRows, Intervals
from emsco.cascade.decisions import Decisions
from emsco.cascade.evaluation import Evaluation, ExitReport, Subgroups
from emsco.cascade.stages import FrontModels

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
