"""Cascades: fitted stages that decide rows, in tables or one by one, buying as they go."""

from emsco.cascade.case import Case, CaseDecision
from emsco.cascade.classifiers import (
    EstimatorClassifiers,
    LinearClassifiers,
    StageClassifiers,
)
from emsco.cascade.core import Cascade, check_truth, check_weights
from emsco.cascade.decisions import Decisions, Evaluation, ExitReport
from emsco.cascade.stages import StageModels

__all__ = [
    "Cascade",
    "Case",
    "CaseDecision",
    "Decisions",
    "EstimatorClassifiers",
    "Evaluation",
    "ExitReport",
    "LinearClassifiers",
    "StageClassifiers",
    "StageModels",
    "check_truth",
    "check_weights",
]
