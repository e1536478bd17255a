"""Banks of logistic regressions, as most tests want them."""

from __future__ import annotations

import numpy as np

from emsco.designs.thresholds import ThresholdGrid
from emsco.models.bank import logistic_bank

__all__ = ["coefs_of", "logistic_bank", "sure"]


def coefs_of(bank, subsets):
    """Weights by split and subset: (n_splits, n_subsets, n_features + 1), of two classes."""
    return bank.engine.coefs(bank.kept(subsets))[:, :, 0]


def sure(min_confidence):
    """The same threshold for both classes and all stages."""
    return ThresholdGrid.single(np.full(2, float(min_confidence)))
