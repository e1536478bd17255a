"""LightGBM for rivals: settings that repeat, training, and class probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs

from emsco._base.checks import check_number, check_whole
from emsco._base.typing import FloatArray, IntArray, LabelArray
from emsco_lab.rivals.base import CostedClassifier, Package


def dealt(labels: LabelArray, n_hands: int, rng: np.random.RandomState) -> IntArray:
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
    """A rival whose models are trees of LightGBM, with parameters of their own."""

    needs: ClassVar[tuple[Package, ...]] = (Package("lightgbm", "lightgbm"),)

    n_trees: int = 100
    learning_rate: float = 0.1
    max_leaves: int = 8
    min_rows: int = 5
    n_jobs: int | None = None

    def _light_settings(self, seed: int) -> dict[str, Any]:
        """Parameters that give the same trees on any number of threads, after checks."""
        n_classes = len(self.classes_)
        several = {"objective": "multiclass", "num_class": n_classes}
        return {
            **({"objective": "binary"} if n_classes == 2 else several),
            "learning_rate": check_number("learning_rate", self.learning_rate, 0, np.inf, "()"),
            "num_leaves": check_whole("max_leaves", self.max_leaves, 2, 131_072),
            "min_data_in_leaf": check_whole("min_rows", self.min_rows, 1),
            "num_threads": effective_n_jobs(self.n_jobs),
            "seed": seed,
            "deterministic": True,
            "force_col_wise": True,  # else LightGBM picks the faster way, and sums in another order
            "feature_pre_filter": False,
            "verbosity": -1,
        }


def train_light(
    rows: FloatArray,
    labels: LabelArray,
    weights: FloatArray | None,
    settings: dict[str, Any],
    n_trees: int,
) -> Any:
    """Train a Booster of LightGBM; `n_trees` counts rounds."""
    import lightgbm

    data = lightgbm.Dataset(rows, labels, weight=weights, params=settings)
    rounds = check_whole("n_trees", n_trees, 1)
    # What was trained is kept: a copy without its data would be written as text, and read again.
    return lightgbm.train(settings, data, rounds, keep_training_booster=True)


def chances(booster: Any, rows: FloatArray, n_trees: int) -> FloatArray:
    """Class probabilities by the first `n_trees` rounds, shape (n_rows, n_classes)."""
    predicted = np.asarray(booster.predict(rows, num_iteration=n_trees))
    return predicted if predicted.ndim == 2 else np.column_stack([1 - predicted, predicted])
