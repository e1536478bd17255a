"""Greedy Miser: boosted trees that pay for a feature when they first split on it."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import expit, softmax

from emsco._base.checks import check_choice, check_number, check_whole
from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray, SmallIntArray
from emsco._base.workers import by_parts
from emsco.costs import FeatureCosts
from emsco_lab.rivals.base import CostedClassifier
from emsco_lab.rivals.kernels import grow_tree, walk_trees

_LOSSES = ("logistic", "squared")
_DECIMALS = 12
_DEEPEST = 12  # arrays have room for all nodes of a full tree
_STRENGTHS = np.logspace(-4, 1, 11)  # of the penalty, as a share of rows / mean cost


@dataclass(eq=False, repr=False, kw_only=True)
class GreedyMiser(CostedClassifier):
    """Gradient boosting over trees that weigh the cost of a feature against its gain.

    Each tree grows layer by layer on the gradient of the loss. The score of a split is the squared
    error that it leaves, plus `penalty` times the cost of its feature, and of its fees, unless an
    earlier tree has paid for them. Every node makes its best split, if it has one. This rival never
    declines.

    Parameters
    ----------
    costs : mapping, array-like, FeatureCosts or None
        Cost of each feature: by name, or in column order; None: 1 each.
    penalty : float
        λ, the squared error that a unit of cost must explain. Errors are sums over rows, so useful
        values grow with their number: `grid` has 0.0001 to 10 times rows / mean cost.
    n_trees : int
        Rounds of boosting; with more than two classes, a round has one tree per class.
    learning_rate : float
        η, the share of each tree that counts.
    depth : int
        Layers of splits; a tree has at most 2 ** depth leaves.
    loss : {"logistic", "squared"}
        With "logistic", probabilities are a sigmoid of the score, or a softmax over more classes.
        With "squared", scores p aim at +1 for a class and -1 for the rest. They are clipped to
        [-1, 1], and (p + 1) / 2 is the probability, normalised if there are more than two classes.
    random_state : int, RandomState or None
        Unused: nothing is random. Other rivals have it.
    gaps : {"refuse", "impute"}
        What to do with missing values. "refuse" raises an error; "impute" fills in the mean of the
        training rows and adds an indicator.

    Attributes
    ----------
    trees_ : BoostedTrees
    classes_, costs_, encoding_, used_, n_features_in_, feature_names_in_
        As for all rivals. A row pays for the features on its own paths; `model_cost_` is the cost
        of all features in the trees.

    Notes
    -----
    After Xu, Weinberger & Chapelle, "The Greedy Miser: Learning under test-time budgets", ICML
    2012. Penalties are fixed while a tree grows: each node charges the full cost of a new feature.
    So if all features cost the same, costs do not change the first tree. Among tied splits the
    left-most column wins, then the lowest cut. Whole sample weights count as repeated rows.

    LightGBM's penalty on coupled features (see `CostAwareBoosting`) is the same idea with three
    differences. A feature is free from its first split on, also within the same tree. A split
    that gains less than its penalty is not made. Leaves take Newton steps. With the squared loss
    and trees of one split, both give the same scores as long as LightGBM leaves out no split.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> spender = GreedyMiser(penalty=0, n_trees=20).fit(X.iloc[:400], y[:400])
    >>> miser = GreedyMiser(penalty=100, n_trees=20).fit(X.iloc[:400], y[:400])
    >>> miser.model_cost_ < spender.model_cost_
    True
    """

    penalty: float = 1.0
    n_trees: int = 100
    learning_rate: float = 0.1
    depth: int = 3
    loss: str = "logistic"

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> list[dict[str, Any]]:
        """No penalty, and penalties from 0.0001 to 10 times rows / mean cost."""
        scale = n_rows / costs.alone.mean()
        return [{"penalty": float(strength * scale)} for strength in (0.0, *_STRENGTHS)]

    def staged(self) -> Iterator[tuple[dict[str, Any], Self]]:
        """Yield this rival after 1, 2, … and all of its rounds."""
        feature_of, n_features = self._features
        for n_trees in range(1, len(self.trees_.columns)):
            fewer = copy(self)
            fewer.n_trees = n_trees
            fewer.trees_ = self.trees_.first(n_trees)
            fewer.used_ = fewer.trees_.used(feature_of, n_features)
            yield {"n_trees": n_trees}, fewer
        yield {}, self

    @property
    def _features(self) -> tuple[IntArray, int]:
        """Feature of each input, and the number of features."""
        return self.encoding_.input_feature, len(self.costs_.names)

    def _fit(self, rows: FloatArray, labels: LabelArray, weights: FloatArray | None) -> None:
        penalty = check_number("penalty", self.penalty, 0, 1e100)
        rate = check_number("learning_rate", self.learning_rate, 0, 1, ends="(]")
        n_trees = check_whole("n_trees", self.n_trees, 1)
        depth = check_whole("depth", self.depth, 1, _DEEPEST)
        check_choice("loss", self.loss, _LOSSES)
        feature_of, n_features = self._features
        # +1 for rows of a class and -1 for others, a line per class; of two, only the second.
        classes = np.arange(len(self.classes_))[1 if len(self.classes_) == 2 else 0 :]
        targets = np.where(labels == classes[:, None], 1.0, -1.0)
        counts = np.ones(len(rows)) if weights is None else weights
        order = np.argsort(rows.T, axis=1, kind="stable")  # once for all trees
        order_32, ordered = order.astype(np.int32), np.take_along_axis(rows.T, order, axis=1)
        rows = np.ascontiguousarray(rows)
        leaf, work = np.empty(len(rows), dtype=np.int32), np.empty((3, 3, 2**depth))
        shape = n_trees, len(targets), 2 ** (depth + 1) - 1  # room for full trees
        trees = BoostedTrees(np.full(shape, -1, dtype=np.int32), np.zeros(shape), np.zeros(shape))
        scores = np.zeros_like(targets)
        used, prices = np.zeros(n_features, dtype=np.bool_), self._prices
        for t in range(n_trees):
            residuals = _residuals(self.loss, targets, scores)
            for s in range(len(targets)):
                columns = trees.columns[t, s]
                grow_tree(
                    rows,
                    order_32,
                    ordered,
                    residuals[s],
                    counts,
                    (penalty * prices.after(used).alone)[feature_of],
                    columns,
                    trees.cuts[t, s],
                    trees.values[t, s],
                    leaf,
                    work,
                )
                trees.values[t, s] *= rate
                scores[s] += trees.values[t, s, leaf]
                used[feature_of[columns[columns >= 0]]] = True
        for array in (trees.columns, trees.cuts, trees.values):
            array.setflags(write=False)
        self.trees_ = trees
        self.used_ = used

    def _judge(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        feature_of, n_features = self._features
        scores, met = self.trees_.walk(rows, feature_of, n_features)
        prices = self._prices
        cost = np.where(met, prices.features, 0.0).sum(axis=1) + prices.fees.of_subsets(met)
        # Rounded, so that tied classes stay tied despite the last bits of their sums.
        return _probabilities(self.loss, scores.round(_DECIMALS)), cost


@dataclass(frozen=True, slots=True, eq=False)
class BoostedTrees:
    """Trees as heaps: the children of node k are 2k + 1 (at or below the cut) and 2k + 2.

    Attributes
    ----------
    columns : ndarray of int, shape (n_rounds, n_scores, n_nodes)
        The input that a node splits on; -1 for a leaf.
    cuts, values : ndarray of float, of the same shape
        Only the values of leaves count. Two classes have one score, for the second of them.
    """

    columns: SmallIntArray
    cuts: FloatArray
    values: FloatArray

    def first(self, n_rounds: int) -> Self:
        """The trees of the first rounds, without a copy."""
        return type(self)(self.columns[:n_rounds], self.cuts[:n_rounds], self.values[:n_rounds])

    def used(self, feature_of: IntArray, n_features: int) -> BoolArray:
        """Features that some tree splits on."""
        used = np.zeros(n_features, dtype=np.bool_)
        used[feature_of[self.columns[self.columns >= 0]]] = True
        return used

    def walk(
        self, rows: FloatArray, feature_of: IntArray, n_features: int
    ) -> tuple[FloatArray, BoolArray]:
        """Scores, (n_rows, n_scores), and features on each row's paths, (n_rows, n_features)."""
        scores = np.zeros((len(rows), self.columns.shape[1]))
        met = np.zeros((len(rows), n_features), dtype=np.bool_)

        def walk(part: slice) -> None:
            walk_trees(
                rows[part],
                self.columns,
                self.cuts,
                self.values,
                feature_of,
                scores[part],
                met[part],
            )

        by_parts(len(rows), walk)
        return scores, met


def _residuals(loss: str, targets: FloatArray, scores: FloatArray) -> FloatArray:
    """Negative gradient of the loss, a line per score."""
    if loss == "squared":
        return targets - scores
    if len(targets) == 1:
        return np.asarray(targets * expit(-targets * scores))
    return np.asarray((targets > 0) - softmax(scores, axis=0))


def _probabilities(loss: str, scores: FloatArray) -> FloatArray:
    """Turn scores, (n_rows, n_scores), into class probabilities."""
    if loss == "logistic" and scores.shape[1] > 1:
        return np.asarray(softmax(scores, axis=1))
    shares = expit(scores) if loss == "logistic" else (np.clip(scores, -1.0, 1.0) + 1.0) / 2.0
    if shares.shape[1] == 1:
        return np.hstack([1.0 - shares, shares])
    total = shares.sum(axis=1, keepdims=True)
    uniform = np.full_like(shares, 1.0 / shares.shape[1])
    return np.asarray(np.divide(shares, total, out=uniform, where=total > 0))
