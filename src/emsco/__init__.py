"""Budgeted, selective classification: buy features stage by stage, stop when sure, or decline."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emsco._base.objectives import Interval
    from emsco.cascade import (
        Cascade,
        Case,
        CaseDecision,
        Decisions,
        EffectiveRows,
        Evaluation,
        ExitReport,
        Intervals,
        Subgroups,
    )
    from emsco.cascade.acquisition import Bought
    from emsco.cascade.monitor import Alarm, Monitor, MonitoredPromise
    from emsco.cascade.telemetry import trace_purchases
    from emsco.costs import FeatureCosts, Fee
    from emsco.designs.constraints import Constraints
    from emsco.designs.design import Branch, Design
    from emsco.designs.questions import Question
    from emsco.errors import (
        AnswerError,
        CheckpointError,
        CostsError,
        DataError,
        DataWarning,
        DeploymentWarning,
        EMSCOError,
        FileError,
        MemoryLimitError,
        NoSuchDesign,
        ParameterError,
    )
    from emsco.estimator import EMSCOClassifier, Generation
    from emsco.fitting.refine import Refinement, RefinementEnd
    from emsco.front import Certificate, CertificatePlan, ParetoFront, ParetoPoint
    from emsco.front.references import Reference
    from emsco.models.choice import FamilyLoss, ModelChoice
    from emsco.scoring.by_class import ByClass
    from emsco.scoring.comparisons import Comparison
    from emsco.scoring.error_costs import ErrorCosts, Total
    from emsco.search.loop import Stop, StopReason
    from emsco.search.settings import PaperSearch
    from emsco.stats.promises import Promise, PromiseReport, SeenPromise, SeenTotal, Verdict
    from emsco.stats.reliability import Reliability

__all__ = [
    "Alarm",
    "AnswerError",
    "Bought",
    "Branch",
    "ByClass",
    "Cascade",
    "Case",
    "CaseDecision",
    "Certificate",
    "CertificatePlan",
    "CheckpointError",
    "Comparison",
    "Constraints",
    "CostsError",
    "DataError",
    "DataWarning",
    "Decisions",
    "DeploymentWarning",
    "Design",
    "EMSCOClassifier",
    "EMSCOError",
    "EffectiveRows",
    "ErrorCosts",
    "Evaluation",
    "ExitReport",
    "FamilyLoss",
    "FeatureCosts",
    "Fee",
    "FileError",
    "Generation",
    "Interval",
    "Intervals",
    "MemoryLimitError",
    "ModelChoice",
    "Monitor",
    "MonitoredPromise",
    "NoSuchDesign",
    "PaperSearch",
    "ParameterError",
    "ParetoFront",
    "ParetoPoint",
    "Promise",
    "PromiseReport",
    "Question",
    "Reference",
    "Refinement",
    "RefinementEnd",
    "Reliability",
    "SeenPromise",
    "SeenTotal",
    "Stop",
    "StopReason",
    "Subgroups",
    "Total",
    "Verdict",
    "trace_purchases",
]

_HOMES = {
    "Alarm": "emsco.cascade.monitor",
    "AnswerError": "emsco.errors",
    "Bought": "emsco.cascade.acquisition",
    "Branch": "emsco.designs.design",
    "ByClass": "emsco.scoring.by_class",
    "Cascade": "emsco.cascade",
    "Case": "emsco.cascade",
    "CaseDecision": "emsco.cascade",
    "Certificate": "emsco.front",
    "CertificatePlan": "emsco.front",
    "CheckpointError": "emsco.errors",
    "Comparison": "emsco.scoring.comparisons",
    "Constraints": "emsco.designs.constraints",
    "CostsError": "emsco.errors",
    "DataError": "emsco.errors",
    "DataWarning": "emsco.errors",
    "Decisions": "emsco.cascade",
    "DeploymentWarning": "emsco.errors",
    "Design": "emsco.designs.design",
    "EMSCOClassifier": "emsco.estimator",
    "EMSCOError": "emsco.errors",
    "EffectiveRows": "emsco.cascade",
    "ErrorCosts": "emsco.scoring.error_costs",
    "Evaluation": "emsco.cascade",
    "ExitReport": "emsco.cascade",
    "FamilyLoss": "emsco.models.choice",
    "FeatureCosts": "emsco.costs",
    "Fee": "emsco.costs",
    "FileError": "emsco.errors",
    "Generation": "emsco.estimator",
    "Interval": "emsco._base.objectives",
    "Intervals": "emsco.cascade",
    "MemoryLimitError": "emsco.errors",
    "ModelChoice": "emsco.models.choice",
    "Monitor": "emsco.cascade.monitor",
    "MonitoredPromise": "emsco.cascade.monitor",
    "NoSuchDesign": "emsco.errors",
    "PaperSearch": "emsco.search.settings",
    "ParameterError": "emsco.errors",
    "ParetoFront": "emsco.front",
    "ParetoPoint": "emsco.front",
    "Promise": "emsco.stats.promises",
    "PromiseReport": "emsco.stats.promises",
    "Question": "emsco.designs.questions",
    "Reference": "emsco.front.references",
    "Refinement": "emsco.fitting.refine",
    "RefinementEnd": "emsco.fitting.refine",
    "Reliability": "emsco.stats.reliability",
    "SeenPromise": "emsco.stats.promises",
    "SeenTotal": "emsco.stats.promises",
    "Stop": "emsco.search.loop",
    "StopReason": "emsco.search.loop",
    "Subgroups": "emsco.cascade",
    "Total": "emsco.scoring.error_costs",
    "Verdict": "emsco.stats.promises",
    "trace_purchases": "emsco.cascade.telemetry",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use.

    A process that only decides never imports scikit-learn. The command line starts without any
    import, so that it handles Ctrl-C from the first moment.
    """
    if name == "__version__":
        return import_module("importlib.metadata").version("emsco")
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return value


def __dir__() -> list[str]:
    """List all public names, imported or not."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
