"""Greedy Miser: boosted trees that pay for a feature when they first split on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, softmax

from emsco import FeatureCosts
from emsco_lab.rivals.base import CostedClassifier, Grid, Judged
from emsco_lab.rivals.encoding import Flags, Floats, Whole
from emsco_lab.rivals.kernels import grow_tree, walk_trees

_DECIMALS = 12
_STRENGTHS = np.logspace(-4, 1, 11)  # of the penalty, as a share of rows / mean cost


@dataclass(eq=False, repr=False, kw_only=True)
class GreedyMiser(CostedClassifier):
    """Gradient boosting over trees that weigh the cost of a feature against its gain.

    Each tree grows layer by layer on the gradient of the logistic loss. The score of a split is the
    squared error that it leaves, plus `penalty` times the cost of its feature, and of its fees,
    unless an earlier tree has paid for them. Every node makes its best split, if it has one.
    Probabilities are a sigmoid of the score, or a softmax over more classes. This rival never
    declines. A row pays for the features on its own paths.

    Parameters
    ----------
    penalty : float
        λ, the squared error that a unit of cost must explain. Errors are sums over rows, so useful
        values grow with their number: `grid` has 0.0001 to 10 times rows / mean cost.
    n_trees : int
        Rounds of boosting; with more than two classes, a round has one tree per class.
    learning_rate : float
        η, the share of each tree that counts.
    depth : int
        Layers of splits; a tree has at most 2 ** depth leaves.

    Attributes
    ----------
    trees_ : tuple of ndarray, shape (n_rounds, n_scores, n_nodes)
        Columns, cuts and values of trees as heaps, see `kernels`.

    Notes
    -----
    After Xu, Weinberger & Chapelle, "The Greedy Miser: Learning under test-time budgets", ICML
    2012. Penalties are fixed while a tree grows: each node charges the full cost of a new feature.
    So if all features cost the same, costs do not change the first tree. Among tied splits the
    left-most column wins, then the lowest cut. Whole sample weights count as repeated rows.

    LightGBM's penalty on coupled features (see `CostAwareBoosting`) is the same idea with three
    differences. A feature is free from its first split on, also within the same tree. A split
    that gains less than its penalty is not made. Leaves take Newton steps.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> spender = GreedyMiser(penalty=0, n_trees=20).fit(X.iloc[:400], y[:400])
    >>> miser = GreedyMiser(penalty=100, n_trees=20).fit(X.iloc[:400], y[:400])
    >>> bool(miser.used_.sum() < spender.used_.sum())
    True
    """

    tree_numbers: ClassVar = range(1, 10**6)  # after each round

    penalty: float = 1.0
    n_trees: int = 100
    learning_rate: float = 0.1
    depth: int = 3

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> Grid:
        """No penalty, and penalties from 0.0001 to 10 times rows / mean cost."""
        scale = n_rows / costs.alone.mean()
        return [{"penalty": float(strength * scale)} for strength in (0.0, *_STRENGTHS)]

    def _fit(self, rows: Floats, labels: Whole, weights: Floats) -> Flags:
        # +1 for rows of a class and -1 for others, a line per class; of two, only the second.
        classes = np.arange(len(self.classes_))[1 if len(self.classes_) == 2 else 0 :]
        targets = np.where(labels == classes[:, None], 1.0, -1.0)
        order = np.argsort(rows.T, axis=1, kind="stable")  # once for all trees
        scores, rounds = np.zeros_like(targets), []
        used, prices = np.zeros(len(self.costs_.names), dtype=np.bool_), self._prices
        for _ in range(self.n_trees):
            trees = []
            for residuals, score in zip(_residuals(targets, scores), scores, strict=True):
                penalties = self.penalty * prices.after(used).alone[self.encoding_.input_feature]
                columns, cuts, values, leaf = grow_tree(
                    rows, order, residuals, weights, penalties, self.depth
                )
                values *= self.learning_rate
                score += values[leaf]
                used[self.encoding_.input_feature[columns[columns >= 0]]] = True
                trees.append((columns, cuts, values))
            rounds.append(trees)
        self.trees_ = tuple(
            np.array([[tree[part] for tree in trees] for trees in rounds]) for part in range(3)
        )
        return used

    def _judge(self, rows: Floats) -> Judged:
        reads = np.zeros(rows.shape, dtype=np.bool_)
        scores = walk_trees(rows, *(part[: self.n_trees] for part in self.trees_), reads)
        # Rounded, so that tied classes stay tied despite the last bits of their sums.
        scores = scores.round(_DECIMALS)
        if len(self.classes_) > 2:
            return softmax(scores, axis=1), self._features_of(reads), 1
        return expit(np.hstack([-scores, scores])), self._features_of(reads), 1

    def _used(self) -> Flags:
        """Features in the first `n_trees` rounds."""
        return self._features_of(
            np.isin(np.arange(len(self.encoding_.input_feature)), self.trees_[0][: self.n_trees])
        )


def _residuals(targets: Floats, scores: Floats) -> Floats:
    """Negative gradient of the logistic loss, a line per score."""
    if len(targets) == 1:
        return targets * expit(-targets * scores)
    return (targets > 0) - softmax(scores, axis=0)
