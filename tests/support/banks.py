"""Banks of logistic regressions, as most tests want them."""

from __future__ import annotations

import numpy as np

from emsco._base.workers import Workers
from emsco.models.bank import ModelBank
from emsco.models.engine import Engine
from emsco.models.logistic import LogisticFitter
from emsco.models.rows import FitOptions, SplitData


def bank_of(X, y, *splits, n_jobs=1, n_classes=2, **options):
    """A bank of splits, each of training and scored rows."""
    parts = [SplitData(X, y, *split, n_classes=n_classes) for split in splits]
    every = np.arange(X.shape[1])
    fitters = LogisticFitter.open(parts, FitOptions(every, Workers(n_jobs)))
    return ModelBank(Engine(fitters, n_classes), np.eye(len(every), dtype=np.bool_), **options)


def coefs_of(bank, subsets):
    """Weights by split and subset: (n_splits, n_subsets, n_features + 1), of two classes."""
    return np.stack(bank.engine.by_split(bank.kept(subsets)))
