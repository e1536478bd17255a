"""Choose the penalty of logistic regressions: once, by cross-validation on all inputs."""

from __future__ import annotations

import warnings

import numpy as np

from emsco._base.typing import FloatArray, IntArray, LabelArray
from emsco.errors import DataError
from emsco.models.choosing import log_losses
from emsco.models.engine import SplitRows

__all__ = ["choose_penalty"]

_GRID = (0.1, 1.0, 10.0, 100.0)
_FOLDS = 3
_MOST_ROWS = 6000


def choose_penalty(
    X: FloatArray,
    labels: LabelArray,
    train: IntArray,
    n_classes: int,
    weights: FloatArray | None = None,
    class_weights: FloatArray | None = None,
) -> float:
    """Return the penalty with the lowest log loss over three folds of the training rows.

    At most 6,000 rows take part, and the folds depend on the rows alone, so that the same data
    gives the same penalty everywhere. A penalty whose models do not converge is not taken.
    """
    if weights is not None:
        train = train[weights[train] > 0]
    train = train[:: max(1, -(-len(train) // _MOST_ROWS))]
    by_label = train[np.argsort(labels[train], kind="stable")]
    fold = np.arange(len(by_label)) % _FOLDS
    losses = np.zeros(len(_GRID))
    for k in range(_FOLDS):
        fitting, judging = by_label[fold != k], by_label[fold == k]
        if len(np.unique(labels[fitting])) < n_classes or not len(judging):
            return 1.0  # too few rows of a class to tell
        for i, penalty in enumerate(_GRID):
            split = SplitRows.cut(
                X,
                labels,
                fitting,
                fitting[:0],
                penalty,
                n_classes=n_classes,
                weights=weights,
                class_weights=class_weights,
            )
            losses[i] += _loss(split, X[judging], labels[judging], weights, judging)
    return _GRID[int(losses.argmin())] if np.isfinite(losses).any() else _GRID[-1]


def _loss(
    split: SplitRows,
    rows: FloatArray,
    labels: LabelArray,
    weights: FloatArray | None,
    judging: IntArray,
) -> float:
    """Log loss of the model of all inputs, summed over rows; infinite if it cannot be fitted.

    Weights that span many orders of magnitude make small penalties unusable, and not all of them.
    """
    from sklearn.exceptions import ConvergenceWarning  # late: deciding needs no scikit-learn

    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            models = split.fitter.fit(np.ones((1, rows.shape[1]), dtype=np.bool_))
        except (ConvergenceWarning, DataError):
            return np.inf
    scaling = split.scaling
    said = models.probabilities(scaling.filled(rows), scaling.mean, scaling.inverse, 0)
    own = np.ones(len(rows)) if weights is None else weights[judging]
    return float(log_losses(said, labels) @ own)
