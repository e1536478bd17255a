"""Rivals: other classifiers that know the costs of features, and their tuning."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emsco.baselines.astc import ASTC
    from emsco.baselines.base import CostedClassifier
    from emsco.baselines.boosting import CostAwareBoosting
    from emsco.baselines.catboosting import PenalisedCatBoost
    from emsco.baselines.cost_ordered import CostOrdered
    from emsco.baselines.cstc import CSTC
    from emsco.baselines.fixed_subset import FixedSubset
    from emsco.baselines.greedy_miser import GreedyMiser
    from emsco.baselines.lasso import CaCTLasso
    from emsco.baselines.threshold_cascade import ThresholdCascade
    from emsco.baselines.tuning import Trial, TunedRival, tune

__all__ = [
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

_HOMES = {
    "ASTC": "astc",
    "CSTC": "cstc",
    "CaCTLasso": "lasso",
    "CostAwareBoosting": "boosting",
    "CostOrdered": "cost_ordered",
    "CostedClassifier": "base",
    "FixedSubset": "fixed_subset",
    "GreedyMiser": "greedy_miser",
    "PenalisedCatBoost": "catboosting",
    "ThresholdCascade": "threshold_cascade",
    "Trial": "tuning",
    "TunedRival": "tuning",
    "tune": "tuning",
}


def __getattr__(name: str) -> Any:
    """Import a rival at its first use, since some need optional packages."""
    if name in _HOMES:
        return getattr(import_module(f"emsco.baselines.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List all public names, also those not yet imported."""
    return [*__all__, *(name for name in globals() if name.startswith("__"))]
