"""Budgeted, selective classification: buy features stage by stage, stop when sure, or decline."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emsco._base.intervals import Interval
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
    from emsco.cascade.acquiring import Bought
    from emsco.cascade.monitor import Monitor
    from emsco.costs import FeatureCosts, Fee
    from emsco.designs.constraints import Constraints
    from emsco.designs.design import Design
    from emsco.errors import (
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
    from emsco.front import Certificate, CertificatePlan, ParetoFront, ParetoPoint
    from emsco.front.references import Reference
    from emsco.models.choosing import FamilyLoss, ModelChoice
    from emsco.search.finishing import Finish, FinishEnd
    from emsco.search.stopping import Stop, StopReason
    from emsco.trust.by_class import ByClass
    from emsco.trust.differences import Comparison
    from emsco.trust.error_costs import ErrorCosts, Total
    from emsco.trust.keeping import PromiseReport, SeenPromise
    from emsco.trust.promises import Promise, Verdict
    from emsco.trust.reliability import Reliability
    from emsco.trust.seen_totals import SeenTotal
    from emsco.trust.watching import Alarm, MonitoredPromise

__all__ = [
    "Alarm",
    "Bought",
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
    "Finish",
    "FinishEnd",
    "Generation",
    "Interval",
    "Intervals",
    "MemoryLimitError",
    "ModelChoice",
    "Monitor",
    "MonitoredPromise",
    "NoSuchDesign",
    "ParameterError",
    "ParetoFront",
    "ParetoPoint",
    "Promise",
    "PromiseReport",
    "Reference",
    "Reliability",
    "SeenPromise",
    "SeenTotal",
    "Stop",
    "StopReason",
    "Subgroups",
    "Total",
    "Verdict",
]

_HOMES = {
    "Alarm": "emsco.trust.watching",
    "Bought": "emsco.cascade.acquiring",
    "ByClass": "emsco.trust.by_class",
    "Cascade": "emsco.cascade",
    "Case": "emsco.cascade",
    "CaseDecision": "emsco.cascade",
    "Certificate": "emsco.front",
    "CertificatePlan": "emsco.front",
    "CheckpointError": "emsco.errors",
    "Comparison": "emsco.trust.differences",
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
    "ErrorCosts": "emsco.trust.error_costs",
    "Evaluation": "emsco.cascade",
    "ExitReport": "emsco.cascade",
    "FamilyLoss": "emsco.models.choosing",
    "FeatureCosts": "emsco.costs",
    "Fee": "emsco.costs",
    "FileError": "emsco.errors",
    "Finish": "emsco.search.finishing",
    "FinishEnd": "emsco.search.finishing",
    "Generation": "emsco.estimator",
    "Interval": "emsco._base.intervals",
    "Intervals": "emsco.cascade",
    "MemoryLimitError": "emsco.errors",
    "ModelChoice": "emsco.models.choosing",
    "Monitor": "emsco.cascade.monitor",
    "MonitoredPromise": "emsco.trust.watching",
    "NoSuchDesign": "emsco.errors",
    "ParameterError": "emsco.errors",
    "ParetoFront": "emsco.front",
    "ParetoPoint": "emsco.front",
    "Promise": "emsco.trust.promises",
    "PromiseReport": "emsco.trust.keeping",
    "Reference": "emsco.front.references",
    "Reliability": "emsco.trust.reliability",
    "SeenPromise": "emsco.trust.keeping",
    "SeenTotal": "emsco.trust.seen_totals",
    "Stop": "emsco.search.stopping",
    "StopReason": "emsco.search.stopping",
    "Subgroups": "emsco.cascade",
    "Total": "emsco.trust.error_costs",
    "Verdict": "emsco.trust.promises",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use.

    A process that only decides never imports scikit-learn. The command line starts without any
    import, so that it handles Ctrl-C from the first moment.
    """
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = globals()[name] = getattr(import_module(_HOMES[name]), name)
    return found


def __dir__() -> list[str]:
    """List all public names, imported or not."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
