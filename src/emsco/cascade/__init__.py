"""Cascades: fitted stages that decide rows, in tables or one by one, buying as they go."""

from emsco.cascade.cascade import Cascade
from emsco.cascade.case import Case, CaseDecision
from emsco.cascade.decisions import Decisions, Evaluation, ExitReport
from emsco.cascade.stages import FrontModels

__all__ = [
    "Cascade",
    "Case",
    "CaseDecision",
    "Decisions",
    "Evaluation",
    "ExitReport",
    "FrontModels",
]
