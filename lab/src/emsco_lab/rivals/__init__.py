"""Rivals: other classifiers that know the costs of features, and their tuning."""

from emsco_lab.rivals.base import CostedClassifier, Decisions, Evaluation
from emsco_lab.rivals.cact_lasso import CaCTLasso
from emsco_lab.rivals.cost_aware_boosting import CostAwareBoosting
from emsco_lab.rivals.cost_ordered import CostOrdered
from emsco_lab.rivals.cstc import CSTC
from emsco_lab.rivals.dime import DIME
from emsco_lab.rivals.fixed_subset import FixedSubset
from emsco_lab.rivals.greedy_miser import GreedyMiser
from emsco_lab.rivals.optimal_trees import OptimalTrees
from emsco_lab.rivals.penalised_catboost import PenalisedCatBoost
from emsco_lab.rivals.threshold_cascade import ThresholdCascade
from emsco_lab.rivals.tuned_rival import Trial, tune

__all__ = [
    "CSTC",
    "DIME",
    "CaCTLasso",
    "CostAwareBoosting",
    "CostOrdered",
    "CostedClassifier",
    "Decisions",
    "Evaluation",
    "FixedSubset",
    "GreedyMiser",
    "OptimalTrees",
    "PenalisedCatBoost",
    "ThresholdCascade",
    "Trial",
    "tune",
]
