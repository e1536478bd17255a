"""Rivals: other classifiers that know the costs of features, and their tuning."""

from emsco.lab.rivals.aaco import AACO
from emsco.lab.rivals.astc import ASTC
from emsco.lab.rivals.base import CostedClassifier
from emsco.lab.rivals.cact_lasso import CaCTLasso
from emsco.lab.rivals.cost_aware_boosting import CostAwareBoosting
from emsco.lab.rivals.cost_ordered import CostOrdered
from emsco.lab.rivals.cstc import CSTC
from emsco.lab.rivals.dime import DIME
from emsco.lab.rivals.fixed_subset import FixedSubset
from emsco.lab.rivals.greedy_miser import GreedyMiser
from emsco.lab.rivals.optimal_trees import OptimalTrees
from emsco.lab.rivals.penalised_catboost import PenalisedCatBoost
from emsco.lab.rivals.threshold_cascade import ThresholdCascade
from emsco.lab.rivals.tuned_rival import Trial, TunedRival, tune

__all__ = [
    "AACO",
    "ASTC",
    "CSTC",
    "DIME",
    "CaCTLasso",
    "CostAwareBoosting",
    "CostOrdered",
    "CostedClassifier",
    "FixedSubset",
    "GreedyMiser",
    "OptimalTrees",
    "PenalisedCatBoost",
    "ThresholdCascade",
    "Trial",
    "TunedRival",
    "tune",
]
