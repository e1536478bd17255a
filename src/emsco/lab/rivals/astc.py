"""Approximately submodular tree of classifiers: Kusner et al. (2014)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from emsco._base.checks import check_number, check_whole
from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco.costs import FeatureCosts
from emsco.lab.rivals.classifier_trees import (
    MAX_DEPTH,
    ClassifierTree,
    TreedClassifier,
    TreedRows,
    WeakLearners,
    ridge,
    weighted_median,
)
from emsco.lab.rivals.set_costs import SetCosts

_DEPTHS = (1, 2, 3, 4)
_HALVINGS = 8  # the grid halves the budget so often
_LEVEL = 1e-10  # share of an input's first length below which its remainder is rounding


@dataclass(eq=False, repr=False, kw_only=True)
class ASTC(TreedClassifier):
    """Approximately submodular tree of classifiers, the quick cousin of `CSTC`.

    It grows the same kind of tree, but fits each node once, top down, to the rows that reach it. A
    node greedily takes the feature with the largest gain in R² per unit of cost that its path has
    not yet paid. Then it sends half its rows either way. Pruning, answers and probabilities are
    those of `CSTC`.

    A feature must lower Akaike's criterion to be taken, whatever its cost. Level j of `depth`
    levels may spend j / depth of the budget on its path, which leaves a share for lower levels.

    Parameters
    ----------
    costs : mapping, array-like, FeatureCosts or None
        Cost of each feature; None: 1 each.
    budget : float or None
        Largest cost of the features of any row; None: half the cost of all features.
    depth : int
        Classifiers on the longest path, from 1.
    validation_fraction, random_state
        As for `CSTC`.
    gaps : {"refuse", "impute"}
        What to do with missing values. "refuse" raises an error; "impute" fills in the mean of the
        training rows and adds an indicator.

    Attributes
    ----------
    tree_ : ClassifierTree
    learners_ : WeakLearners
    path_costs_ : ndarray of shape (n_nodes,)
    used_ : ndarray of bool, shape (n_features,)
    classes_, costs_, encoding_, n_features_in_, feature_names_in_
        As for all rivals.

    References
    ----------
    Kusner, Chen, Zhou, Xu, Weinberger, Chen: "Feature-Cost Sensitive Learning with Submodular
    Trees of Classifiers", AAAI 2014.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> rival = ASTC(budget=6, random_state=0).fit(X.iloc[:400], y[:400])
    >>> report = rival.evaluate(X.iloc[400:], y[400:])
    >>> bool(report.accuracy > 0.9 and report.cost <= 6)
    True
    """

    budget: float | None = None
    depth: int = 3
    validation_fraction: float = 0.2

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> list[dict[str, Any]]:  # noqa: ARG003
        """The total cost, halved again and again, on trees of up to four levels."""
        total = SetCosts.from_costs(costs).total
        return [
            {"depth": depth, "budget": total / 2**k}
            for depth in _DEPTHS
            for k in range(_HALVINGS + 1)
        ]

    def _grow(self, rows: TreedRows, features: BoolArray, seed: int) -> ClassifierTree:  # noqa: ARG002
        prices = self._prices
        budget = 0.5 * prices.total if self.budget is None else self.budget
        budget = check_number("budget", budget, 0, 1e100)
        depth = check_whole("depth", self.depth, 1, MAX_DEPTH)
        self.learners_ = WeakLearners.from_inputs(rows.rows, rows.weights, features)
        values = self.learners_.values(rows.rows)
        n_nodes = 2**depth - 1
        lines = np.zeros((n_nodes, values.shape[1] + 2))
        bought = np.zeros((n_nodes, len(features)), dtype=np.bool_)
        at = np.zeros(len(values), dtype=np.int64)
        for node in range(n_nodes):
            parent, here = (node - 1) // 2, np.flatnonzero(at == node)
            if node:
                lines[node], bought[node] = lines[parent], bought[parent]
            if not len(here):
                continue
            level = (node + 1).bit_length()
            share = budget * level / depth
            inputs, targets, weights = values[here], rows.targets[here], rows.weights[here]
            picked = pick_features(inputs, targets, weights, features, prices, bought[node], share)
            bought[node, picked] = True
            columns = np.flatnonzero(features[picked].any(axis=0))
            lines[node] = 0.0
            fitted = ridge(inputs[:, columns], targets, weights)
            lines[node, -2], lines[node, columns] = fitted[0], fitted[1:]
            score = inputs @ lines[node, :-2] + lines[node, -2]
            lines[node, -1] = weighted_median(score, weights)
            at[here] = np.where(score > lines[node, -1], 2 * node + 1, 2 * node + 2)
        return ClassifierTree.from_weights(lines[:, :-2], lines[:, -2], lines[:, -1])


def pick_features(
    inputs: FloatArray,
    targets: FloatArray,
    row_weights: FloatArray,
    features: BoolArray,
    prices: SetCosts,
    bought: BoolArray,
    budget: float,
) -> IntArray:
    """Pick the features of one node greedily, in the order in which they are taken.

    Parameters
    ----------
    inputs : ndarray of shape (n_rows, n_inputs)
    targets, row_weights : ndarray of shape (n_rows,)
    features : ndarray of bool, shape (n_features, n_inputs)
        Tells whether a feature brings an input.
    prices : SetCosts
    bought : ndarray of bool, shape (n_features,)
        Features already paid for.
    budget : float
        Largest cost of old and new features together.
    """
    root = np.sqrt(row_weights)
    left = np.column_stack([root, targets * root, inputs * root[:, None]])
    _remove(left, left[:, :1].copy())
    left = left[:, 1:]  # remainders of targets, then of inputs, beyond the features taken
    lengths = np.maximum((left**2).sum(axis=0), 1.0)
    known, spent = bought.copy(), float(prices.of(bought))
    picked: list[int] = []
    while True:
        new = prices.after(known).alone
        # What taken features explain but for rounding would otherwise look like a new direction.
        left[:, (left**2).sum(axis=0) <= _LEVEL * lengths] = 0.0
        gains, sizes = _gains(left, features)
        error = float(left[:, 0] @ left[:, 0])
        # Akaike: n log(error) + 2 size must fall
        worth = gains > error * -np.expm1(-2.0 * sizes / row_weights.sum())
        worth &= (spent + new <= budget * (1 + 1e-12)) | (new == 0)
        worth[picked] = False
        if not worth.any():
            return np.array(picked, dtype=np.int64)
        free = worth & (new == 0)
        among = np.flatnonzero(free if free.any() else worth)
        ratio = gains[among] / (1.0 if free.any() else new[among])
        best = int(among[np.argmax(ratio)])
        picked.append(best)
        known[best] = True
        spent += float(new[best])
        _remove(left, left[:, 1:][:, features[best]])


def _gains(left: FloatArray, features: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Drop in squared error that each feature would bring, and its number of inputs."""
    residual, inputs = left[:, 0], left[:, 1:]
    squares = (inputs**2).sum(axis=0)
    alone = np.divide(
        (residual @ inputs) ** 2, squares, where=squares > 0, out=np.zeros_like(squares)
    )
    gains = features @ alone
    for feature in np.flatnonzero(features.sum(axis=1) > 1):
        basis = _basis(inputs[:, features[feature]])
        gains[feature] = ((residual @ basis) ** 2).sum()
    return gains, features.sum(axis=1).astype(np.float64)


def _basis(columns: FloatArray) -> FloatArray:
    """Orthonormal basis of the span of columns."""
    basis, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    spanning: FloatArray = basis[:, sizes > 1e-9 * max(1.0, sizes[0])]
    return spanning


def _remove(left: FloatArray, columns: FloatArray) -> None:
    """Remove from `left`, in place, the part that these columns explain."""
    basis = _basis(columns)
    left -= basis @ (basis.T @ left)
