"""Rivals: other classifiers that know the costs of features, and their tuning."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emsco.lab.rivals.aaco import AACO
    from emsco.lab.rivals.astc import ASTC
    from emsco.lab.rivals.base import CostedClassifier
    from emsco.lab.rivals.cact_lasso import CaCTLasso
    from emsco.lab.rivals.cost_aware_boosting import CostAwareBoosting
    from emsco.lab.rivals.cost_ordered import CostOrdered
    from emsco.lab.rivals.cstc import CSTC
    from emsco.lab.rivals.fixed_subset import FixedSubset
    from emsco.lab.rivals.greedy_miser import GreedyMiser
    from emsco.lab.rivals.penalised_catboost import PenalisedCatBoost
    from emsco.lab.rivals.threshold_cascade import ThresholdCascade
    from emsco.lab.rivals.tuned_rival import Trial, TunedRival, tune

__all__ = [
    "AACO",
    "ASTC",
    "CSTC",
    "CaCTLasso",
    "CostAwareBoosting",
    "CostOrdered",
    "CostedClassifier",
    "FixedSubset",
    "GreedyMiser",
    "PenalisedCatBoost",
    "ThresholdCascade",
    "Trial",
    "TunedRival",
    "tune",
]

_NAMES = {
    "aaco": "AACO",
    "astc": "ASTC",
    "base": "CostedClassifier",
    "cact_lasso": "CaCTLasso",
    "cost_aware_boosting": "CostAwareBoosting",
    "cost_ordered": "CostOrdered",
    "cstc": "CSTC",
    "fixed_subset": "FixedSubset",
    "greedy_miser": "GreedyMiser",
    "penalised_catboost": "PenalisedCatBoost",
    "threshold_cascade": "ThresholdCascade",
    "tuned_rival": "Trial TunedRival tune",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    """Import a rival at its first use, since some need optional packages."""
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List all public names, also those not yet imported."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
