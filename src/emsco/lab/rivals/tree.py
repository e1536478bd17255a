"""A binary tree of linear classifiers: the paths of rows, their cost, and pruning.

Nodes are numbered breadth first from 0; the children of node k are 2k + 1, which takes the rows
that score above its threshold, and 2k + 2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from emsco._base.arrays import locked_copy
from emsco._base.typing import BoolArray, FloatArray, IntArray

_RIDGE = 1.0  # as the L2 penalty of EMSCO's stages


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
                continue
            kept = tree.kept.copy()
            kept[node] = False
            smaller = replace(tree, kept=kept)
            found = smaller.error(values, targets, row_weights)
            if found <= error:
                tree, error = smaller, found
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
    found = np.eye(n_nodes, dtype=np.bool_)
    for node in range(1, n_nodes):
        found[:, node] |= found[:, (node - 1) // 2]
    return found


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
    found: FloatArray = np.einsum("ij,ij->i", values, weights)
    return found


def ridge(values: FloatArray, targets: FloatArray, row_weights: FloatArray) -> FloatArray:
    """Solve a ridge regression with a free intercept; return the intercept, then the weights."""
    inputs = np.column_stack([np.ones(len(values)), values])
    gram = (inputs.T * row_weights) @ inputs
    gram[np.diag_indices(len(gram))] += np.r_[1e-9, np.full(values.shape[1], _RIDGE)]
    return np.asarray(np.linalg.solve(gram, inputs.T @ (row_weights * targets)), dtype=np.float64)
