"""LightGBM for rivals: settings that repeat, training, and class probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import lightgbm
import numpy as np
from joblib import effective_n_jobs

from emsco_lab.rivals.base import CostedClassifier
from emsco_lab.rivals.encoding import Floats, Whole


def dealt(labels: Whole, n_hands: int, rng: np.random.RandomState) -> Whole:
    """Deal rows to hands 0, 1, …, class after class, in random order.

    Examples
    --------
    >>> hands = dealt(np.array([0, 0, 0, 0, 1, 1]), 2, np.random.RandomState(0))
    >>> np.bincount(hands[:4]).tolist(), np.bincount(hands[4:]).tolist()
    ([2, 2], [1, 1])
    """
    order = rng.permutation(len(labels))
    hands = np.empty(len(labels), dtype=np.int64)
    hands[order[np.argsort(labels[order], kind="stable")]] = np.arange(len(labels)) % n_hands
    return hands


@dataclass(eq=False, repr=False, kw_only=True)
class LightRival(CostedClassifier):
    """A rival whose models are trees of LightGBM.

    Parameters
    ----------
    n_trees, learning_rate, max_leaves, min_rows
        Rounds of boosting, each with a tree per class if there are three or more; share of each
        tree that counts; most leaves of a tree and fewest rows of a leaf.
    n_jobs : int or None
        Threads, as in joblib; on small data one is fastest.
    """

    n_trees: int = 100
    learning_rate: float = 0.1
    max_leaves: int = 8
    min_rows: int = 5
    n_jobs: int | None = None

    def _train(self, rows: Floats, labels: Whole, weights: Floats, **settings: Any) -> Any:
        """Train a Booster that is the same on any number of threads."""
        n_classes = len(self.classes_)
        settings = {
            "objective": "multiclass" if n_classes > 2 else "binary",
            "num_class": n_classes if n_classes > 2 else 1,
            "learning_rate": self.learning_rate,
            "num_leaves": self.max_leaves,
            "min_data_in_leaf": self.min_rows,
            "num_threads": effective_n_jobs(self.n_jobs),
            "deterministic": True,
            "force_col_wise": True,  # else LightGBM picks the faster way, and sums in another order
            "feature_pre_filter": False,
            "verbosity": -1,
        } | settings
        n_trees = settings.pop("n_trees", self.n_trees)
        data = lightgbm.Dataset(rows, labels, weight=weights, params=settings)
        # What was trained is kept: a copy without its data would be written and read as text.
        return lightgbm.train(settings, data, n_trees, keep_training_booster=True)


def chances(booster: Any, rows: Floats, n_trees: int) -> Floats:
    """Class probabilities by the first `n_trees` rounds, shape (n_rows, n_classes)."""
    predicted = booster.predict(rows, num_iteration=n_trees)
    return predicted if predicted.ndim == 2 else np.column_stack([1 - predicted, predicted])
