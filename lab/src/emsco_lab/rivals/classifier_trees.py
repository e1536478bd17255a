"""Trees of linear classifiers, which CSTC and ASTC grow: weak learners, nodes, pruning, answers.

Nodes are numbered breadth first from 0; the children of node k are 2k + 1, which takes the rows
that score above its threshold, and 2k + 2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.checks import check_number
from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray
from emsco.data.random_states import random_of
from emsco.models.scaling import Scaling
from emsco_lab.rivals.base import CostedClassifier

MAX_DEPTH = 8
_RIDGE = 1.0  # as the L2 penalty of EMSCO's stages
_N_TREES, _TREE_DEPTH = 50, 3  # of boosted weak learners


@dataclass(frozen=True, slots=True, eq=False)
class WeakLearners:
    """Numbers that the nodes of a tree read: inputs, or the values of small regression trees.

    Attributes
    ----------
    scaling : Scaling
        Gives them mean 0 and deviation 1 on the training rows.
    reads : ndarray of bool, shape (n_features, n_learners)
        Features that each learner reads.
    trees : tuple
        Empty if the learners are the inputs themselves.
    """

    scaling: Scaling
    reads: BoolArray
    trees: tuple[Any, ...] = ()

    @classmethod
    def from_inputs(cls, rows: FloatArray, row_weights: FloatArray, features: BoolArray) -> Self:
        """Take the inputs; `features`, (n_features, n_inputs), tells which feature brings them."""
        return cls(Scaling.learn(rows, row_weights), features)

    @classmethod
    def from_boosting(
        cls,
        rows: FloatArray,
        targets: FloatArray,
        row_weights: FloatArray,
        features: BoolArray,
        seed: int,
    ) -> Self:
        """Boost trees on targets of -1 and 1, without regard to costs."""
        from sklearn.ensemble import GradientBoostingRegressor

        boosted = GradientBoostingRegressor(
            n_estimators=_N_TREES, max_depth=_TREE_DEPTH, random_state=seed
        ).fit(rows, targets, row_weights)
        trees = tuple(boosted.estimators_[:, 0])
        split_on = [tree.tree_.feature[tree.tree_.feature >= 0] for tree in trees]
        reads = np.column_stack([features[:, inputs].any(axis=1) for inputs in split_on])
        return cls(Scaling.learn(_predictions(trees, rows), row_weights), reads, trees)

    def values(self, rows: FloatArray) -> FloatArray:
        """Value of each learner for each row, (n_rows, n_learners)."""
        return self.scaling.standardised(_predictions(self.trees, rows) if self.trees else rows)


def _predictions(trees: tuple[Any, ...], rows: FloatArray) -> FloatArray:
    return np.column_stack([tree.predict(rows) for tree in trees])


@dataclass(frozen=True, slots=True, eq=False)
class ClassifierTree:
    """Linear nodes that pass a row down until it stops at one, which answers.

    The score of a row at node k selects a child. The row goes there if that child is kept; else it
    stops at k. Scores and answers are linear in the values of weak learners. Answers stand for
    classes -1 and 1.

    Attributes
    ----------
    weights : ndarray of shape (n_nodes, n_learners)
        Weights of the scores.
    intercepts, thresholds : ndarray of shape (n_nodes,)
    kept : ndarray of bool, shape (n_nodes,)
        Nodes that are not pruned; the root always is kept.
    answer_weights : ndarray of shape (n_nodes, n_learners)
        Weights of the answers; those of the scores until `refit`.
    answer_intercepts : ndarray of shape (n_nodes,)
    """

    weights: FloatArray
    intercepts: FloatArray
    thresholds: FloatArray
    kept: BoolArray
    answer_weights: FloatArray
    answer_intercepts: FloatArray

    def __post_init__(self) -> None:
        """Copy and lock the arrays."""
        for name in self.__slots__:
            object.__setattr__(self, name, locked_copy(getattr(self, name)))

    @classmethod
    def from_weights(
        cls, weights: FloatArray, intercepts: FloatArray, thresholds: FloatArray
    ) -> Self:
        """Make a full tree whose nodes answer with their scores."""
        kept = np.ones(len(weights), dtype=np.bool_)
        return cls(weights, intercepts, thresholds, kept, weights, intercepts)

    def exits(self, values: FloatArray) -> IntArray:
        """The node where each row stops, from the values of its weak learners."""
        at = np.zeros(len(values), dtype=np.int64)
        moving = np.arange(len(values))
        while len(moving):
            node = at[moving]
            score = _rows_times(values[moving], self.weights[node]) + self.intercepts[node]
            child = np.where(score > self.thresholds[node], 2 * node + 1, 2 * node + 2)
            goes_on = child < len(self.kept)
            goes_on[goes_on] = self.kept[child[goes_on]]
            moving = moving[goes_on]
            at[moving] = child[goes_on]
        return at

    def answers(self, values: FloatArray, exits: IntArray) -> FloatArray:
        """Answer of the node where each row stops: about -1 or about 1."""
        return _rows_times(values, self.answer_weights[exits]) + self.answer_intercepts[exits]

    def bought(self, reads: BoolArray) -> BoolArray:
        """Features bought on the path to each node, itself included.

        Parameters
        ----------
        reads : ndarray of bool, shape (n_features, n_learners)
            Tells whether a weak learner reads a feature.
        """
        used = (self.weights != 0) | (self.answer_weights != 0)
        bought: BoolArray = on_path(len(used)).T @ used @ reads.T
        return bought

    def prune(self, values: FloatArray, targets: FloatArray, row_weights: FloatArray) -> Self:
        """Prune nodes, from the last, as long as errors on these rows do not rise.

        Parameters
        ----------
        values : ndarray of shape (n_rows, n_learners)
        targets : ndarray of shape (n_rows,)
            -1 or 1.
        row_weights : ndarray of shape (n_rows,)
        """
        tree, error = self, self.error(values, targets, row_weights)
        for node in range(len(self.kept) - 1, 0, -1):
            if not tree.kept[node] or tree.kept[2 * node + 1 : 2 * node + 3].any():
                continue  # rows could not reach a child without its parent
            kept = tree.kept.copy()
            kept[node] = False
            smaller = replace(tree, kept=kept)
            new_error = smaller.error(values, targets, row_weights)
            if new_error <= error:
                tree, error = smaller, new_error
        return tree

    def error(self, values: FloatArray, targets: FloatArray, row_weights: FloatArray) -> float:
        """Total weight of the rows with a wrong class."""
        answers = self.answers(values, self.exits(values))
        return float(row_weights @ ((answers > 0) != (targets > 0)))

    def refit(self, values: FloatArray, targets: FloatArray, row_weights: FloatArray) -> Self:
        """Fit the answers of each node again, to the rows that stop there; no row moves.

        An answer may read every weak learner with a weight on the path to its node, at no further
        cost. A ridge pulls its weights towards those of the score. That steadies nodes with few
        rows, and the squared error cannot rise.
        """
        exits = self.exits(values)
        support = on_path(len(self.kept)).T @ (self.weights != 0)
        answer_weights = np.zeros_like(self.weights)
        answer_intercepts = self.answer_intercepts.copy()
        for node in range(len(self.kept)):
            here, columns = exits == node, np.flatnonzero(support[node])
            start = self.weights[node, columns]
            left = targets[here] - values[here][:, columns] @ start - self.intercepts[node]
            move = ridge(values[here][:, columns], left, row_weights[here])
            answer_weights[node, columns] = start + move[1:]
            answer_intercepts[node] = self.intercepts[node] + move[0]
        return replace(self, answer_weights=answer_weights, answer_intercepts=answer_intercepts)


def on_path(n_nodes: int) -> BoolArray:
    """Whether node j (line) is on the path from the root to node k (column), k included."""
    on = np.eye(n_nodes, dtype=np.bool_)
    for node in range(1, n_nodes):
        on[:, node] |= on[:, (node - 1) // 2]
    return on


def weighted_median(values: FloatArray, weights: FloatArray) -> float:
    """A number between values, with as near to half the weight as possible on either side.

    If all values are equal, it is that value.
    """
    distinct, place = np.unique(values, return_inverse=True)
    if len(distinct) < 2:
        return float(distinct[0]) if len(distinct) else 0.0
    below = np.cumsum(np.bincount(place, weights, minlength=len(distinct)))
    cut = int(np.argmin(np.abs(below[:-1] - 0.5 * below[-1])))
    return float(0.5 * (distinct[cut] + distinct[cut + 1]))


def _rows_times(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Dot products line by line, summed in the same order for any number of lines."""
    products: FloatArray = np.einsum("ij,ij->i", values, weights)
    return products


def ridge(values: FloatArray, targets: FloatArray, row_weights: FloatArray) -> FloatArray:
    """Solve a ridge regression with a free intercept; return the intercept, then the weights."""
    inputs = np.column_stack([np.ones(len(values)), values])
    gram = (inputs.T * row_weights) @ inputs
    gram[np.diag_indices(len(gram))] += np.r_[1e-9, np.full(values.shape[1], _RIDGE)]
    return np.asarray(np.linalg.solve(gram, inputs.T @ (row_weights * targets)), dtype=np.float64)


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
        pruning = whole.pruning()
        tree = tree.prune(self.learners_.values(pruning.rows), pruning.targets, pruning.weights)
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
        extra: IntArray = on_path(len(self.tree_.kept)).sum(axis=0) - 1
        return extra

    def _judge(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        values = self.learners_.values(rows)
        exits = self.tree_.exits(values)
        second = np.clip(0.5 + 0.5 * self.tree_.answers(values, exits), 0.0, 1.0)
        # As in a cascade, a row pays for every classifier that it meets.
        paid = self.path_costs_ + self._extra_classifiers() * self.costs_.evaluation
        return np.column_stack([1.0 - second, second]), paid[exits]
