"""Budgeted, selective classification: buy features stage by stage, stop when sure, or decline."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from emsco.cascade import Cascade, Case, CaseDecision, Decisions, Evaluation, ExitReport
from emsco.costs import FeatureCosts
from emsco.designs.constraints import Constraints
from emsco.designs.design import Design
from emsco.errors import (
    CheckpointError,
    CostsError,
    DataError,
    EMSCOError,
    FileError,
    MemoryLimitError,
    NoSuchDesign,
    ParameterError,
)
from emsco.front import ParetoFront, ParetoPoint
from emsco.trust.reliability import Reliability

if TYPE_CHECKING:
    from emsco.estimator import EMSCOClassifier, Generation

__all__ = [
    "Cascade",
    "Case",
    "CaseDecision",
    "CheckpointError",
    "Constraints",
    "CostsError",
    "DataError",
    "Decisions",
    "Design",
    "EMSCOClassifier",
    "EMSCOError",
    "Evaluation",
    "ExitReport",
    "FeatureCosts",
    "FileError",
    "Generation",
    "MemoryLimitError",
    "NoSuchDesign",
    "ParameterError",
    "ParetoFront",
    "ParetoPoint",
    "Reliability",
]

_NEED_SCIKIT_LEARN = ("EMSCOClassifier", "Generation")


def __getattr__(name: str) -> Any:
    """Import what needs scikit-learn when it is first asked for: deciding does without."""
    if name in _NEED_SCIKIT_LEARN:
        return getattr(import_module("emsco.estimator"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """All public names, those not yet imported included."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
