"""Budgeted, selective classification: buy features stage by stage, stop when sure, or decline."""

from emsco.cascade import Cascade, Decisions, Evaluation, ExitReport
from emsco.costs import FeatureCosts
from emsco.design import Design
from emsco.errors import (
    CostsError,
    DataError,
    EMSCOError,
    MemoryLimitError,
    NoSuchDesign,
    ParameterError,
)
from emsco.estimator import EMSCOClassifier, Generation
from emsco.front import ParetoFront, ParetoPoint

__all__ = [
    "Cascade",
    "CostsError",
    "DataError",
    "Decisions",
    "Design",
    "EMSCOClassifier",
    "EMSCOError",
    "Evaluation",
    "ExitReport",
    "FeatureCosts",
    "Generation",
    "MemoryLimitError",
    "NoSuchDesign",
    "ParameterError",
    "ParetoFront",
    "ParetoPoint",
]
