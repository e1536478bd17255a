"""Banks of logistic regressions, as most tests want them."""

from __future__ import annotations

from emsco.models.bank import logistic_bank
from emsco.models.engine import SplitRows
from emsco.models.shard import SplitData

__all__ = ["bank_of", "coefs_of", "logistic_bank"]


def bank_of(X, y, *splits, **options):
    """A bank of splits, each of training and scored rows."""
    cut = [SplitRows.cut(SplitData(X, y, *split)) for split in splits]
    return logistic_bank(cut, X.shape[1], **options)


def coefs_of(bank, subsets):
    """Weights by split and subset: (n_splits, n_subsets, n_features + 1), of two classes."""
    return bank.engine.coefs(bank.kept(subsets))[:, :, 0]
