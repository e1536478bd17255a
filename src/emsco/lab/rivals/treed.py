"""Base class of trees of classifiers: rows that grow and prune them, and their answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from emsco._base.checks import check_number
from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray
from emsco.data.random_states import random_of
from emsco.lab.rivals.base import CostedClassifier
from emsco.lab.rivals.learners import WeakLearners
from emsco.lab.rivals.tree import ClassifierTree, on_path


@dataclass(frozen=True, slots=True, eq=False)
class TreedRows:
    """Distinct rows of two classes.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_inputs)
    targets : ndarray of shape (n_rows,)
        -1 or 1.
    weights : ndarray of shape (n_rows,)
    held_out : ndarray of bool, shape (n_rows,)
        Rows that prune the tree; the others grow it.
    """

    rows: FloatArray
    targets: FloatArray
    weights: FloatArray
    held_out: BoolArray

    @classmethod
    def from_labels(
        cls,
        rows: FloatArray,
        labels: LabelArray,
        weights: FloatArray | None,
        fraction: float,
        rng: np.random.RandomState,
    ) -> Self:
        """Hold out a fraction of each class.

        Equal rows become one with their weights added up. So equal rows stay together, the order
        of rows does not matter, and two equal rows count as one of twice the weight.
        """
        distinct, place = np.unique(np.column_stack([labels, rows]), axis=0, return_inverse=True)
        added = np.bincount(place.reshape(-1), weights, minlength=len(distinct)).astype(np.float64)
        held_out = np.zeros(len(distinct), dtype=np.bool_)
        for label in (0, 1):
            members = np.flatnonzero(distinct[:, 0] == label)
            held_out[rng.permutation(members)[: int(fraction * len(members))]] = True
        inputs, targets = np.ascontiguousarray(distinct[:, 1:]), 2.0 * distinct[:, 0] - 1.0
        return cls(inputs, targets, added, held_out)

    def part(self, which: BoolArray) -> Self:
        """Some of the rows."""
        return type(self)(
            self.rows[which], self.targets[which], self.weights[which], self.held_out[which]
        )

    def growing(self) -> Self:
        """Rows that grow the tree."""
        return self.part(~self.held_out)

    def pruning(self) -> Self:
        """Rows that prune the tree: the held-out ones, or all if none is held out."""
        return self.part(self.held_out) if self.held_out.any() else self


class TreedClassifier(CostedClassifier):
    """A rival that passes rows down a binary tree of linear classifiers, for two classes.

    The tree is grown on part of the rows and pruned on the rest. Then the answers of its nodes are
    fitted once more to all rows, which keep their paths.

    Attributes
    ----------
    tree_ : ClassifierTree
    learners_ : WeakLearners
        Numbers that its nodes read.
    path_costs_ : ndarray of shape (n_nodes,)
        Cost of the features bought on the path to each node.
    """

    validation_fraction: float
    random_state: Any
    tree_: ClassifierTree
    learners_: WeakLearners
    path_costs_: FloatArray

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that only two classes are supported."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def _grow(self, rows: TreedRows, features: BoolArray, seed: int) -> ClassifierTree:
        """Set `learners_` and grow a full tree.

        `features`, (n_features, n_inputs), tells whether a feature brings an input.
        """
        raise NotImplementedError

    def _fit(self, rows: FloatArray, labels: LabelArray, weights: FloatArray | None) -> None:
        fraction = check_number("validation_fraction", self.validation_fraction, 0, 1, "[)")
        rng = random_of(self.random_state)
        whole = TreedRows.from_labels(rows, labels, weights, fraction, rng)
        features = self._features_of(np.eye(rows.shape[1], dtype=np.bool_)).T
        tree = self._grow(whole.growing(), features, int(rng.randint(2**31 - 1)))
        few = whole.pruning()
        tree = tree.prune(self.learners_.values(few.rows), few.targets, few.weights)
        tree = tree.refit(self.learners_.values(whole.rows), whole.targets, whole.weights)
        bought = tree.bought(self.learners_.reads)
        self.tree_ = tree
        self.path_costs_ = self._prices.of(bought)
        self.used_ = np.any(bought[tree.kept], axis=0)

    @property
    def model_cost_(self) -> float:
        """Cost of every feature that the tree may ask for, and of evaluating its longest path."""
        more = self._extra_classifiers()[self.tree_.kept].max()
        return super().model_cost_ + float(more) * self.costs_.evaluation

    def _extra_classifiers(self) -> IntArray:
        """Classifiers on the path to each node, beyond the one that every rival evaluates."""
        found: IntArray = on_path(len(self.tree_.kept)).sum(axis=0) - 1
        return found

    def _judge(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        values = self.learners_.values(rows)
        exits = self.tree_.exits(values)
        second = np.clip(0.5 + 0.5 * self.tree_.answers(values, exits), 0.0, 1.0)
        # As in a cascade, a row pays for every classifier that it meets.
        paid = self.path_costs_ + self._extra_classifiers() * self.costs_.evaluation
        return np.column_stack([1.0 - second, second]), paid[exits]
