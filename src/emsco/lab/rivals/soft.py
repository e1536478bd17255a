"""The objective of a cost-sensitive tree of classifiers, and its descent node by node.

During training, a row goes both ways at every node, with probabilities from the node's score. The
cost of a path is a mixed norm of its weights, which is small if the nodes of the path share
features.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from emsco._base.typing import FloatArray
from emsco._kernels.rivals import block_terms
from emsco.lab.rivals.tree import on_path, weighted_median

_SMOOTHING = 1e-8  # |x| is sqrt(x² + this), so that gradients exist everywhere
_MOST_STEPS = 200  # of L-BFGS, in one block
_LEAST_FALL = 1e-8  # share of the objective; L-BFGS ends with a smaller step
_MEMORY = 30  # steps that L-BFGS remembers: many, since the objective has sharp bends


@dataclass(frozen=True, slots=True, eq=False)
class SoftProblem:
    """The data of the objective: rows, costs and the strengths of both penalties.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_learners)
        Values of the weak learners.
    targets : ndarray of shape (n_rows,)
        -1 or 1.
    row_weights : ndarray of shape (n_rows,)
        With sum 1.
    reads : ndarray of shape (n_features, n_learners)
        1 where a learner reads a feature, else 0. Fees count as further features, which all
        learners read that read one of theirs.
    costs : ndarray of shape (n_features,)
    penalty, sparsity : float
        λ and ρ.
    sharpness : float
        Factor of scores inside the sigmoid.
    """

    values: FloatArray
    targets: FloatArray
    row_weights: FloatArray
    reads: FloatArray
    costs: FloatArray
    penalty: float
    sparsity: float
    sharpness: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class SoftTree:
    """A full tree during training.

    Attributes
    ----------
    lines : ndarray of shape (n_nodes, n_learners + 2)
        For each node: weights of the learners, an intercept, a threshold.
    """

    lines: FloatArray

    @property
    def first_leaf(self) -> int:
        """Number of the first leaf; all later nodes are leaves, too."""
        return len(self.lines) // 2

    def with_line(self, node: int, line: FloatArray) -> Self:
        """Copy the tree with one node changed."""
        lines = self.lines.copy()
        lines[node] = line
        return type(self)(lines)

    def scores(self, values: FloatArray) -> FloatArray:
        """Scores of each node (line) for each row (column)."""
        found: FloatArray = self.lines[:, :-2] @ values.T + self.lines[:, -2:-1]
        return found

    def path_squares(self, problem: SoftProblem) -> FloatArray:
        """Squared weights that read each feature (column) on the path to each leaf (line)."""
        paths = on_path(len(self.lines))[:, self.first_leaf :].T.astype(np.float64)
        found: FloatArray = paths @ (self.lines[:, :-2] ** 2 @ problem.reads.T)
        return found

    def objective(self, problem: SoftProblem) -> float:
        """Expected squared errors of all nodes, and both penalties."""
        scores = self.scores(problem.values)
        up = expit(problem.sharpness * (scores - self.lines[:, -1:]))
        reach = _reach(up, 0) * problem.row_weights
        errors = (reach * (scores - problem.targets) ** 2).sum()
        sizes = np.sqrt(self.lines[:, :-2] ** 2 + _SMOOTHING).sum()
        norms = np.sqrt(self.path_squares(problem) + _SMOOTHING) @ problem.costs
        cost = reach[self.first_leaf :].sum(axis=1) @ norms
        return float(errors + problem.sparsity * sizes + problem.penalty * cost)


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """The objective as a function of one node's line, with all others fixed.

    Attributes
    ----------
    problem : SoftProblem
    here : ndarray of shape (n_rows,)
        Row weight times the probability that the row reaches the node.
    ends : ndarray of shape (2, n_leaves / 2, n_rows)
        Probability that a row that goes up (0) or down (1) ends at each leaf below. Both ways
        from a leaf end at the leaf itself.
    errors : ndarray of shape (2, n_rows)
        Expected squared errors below, of a row that goes up or down.
    squares : ndarray of shape (2, n_leaves / 2, n_features)
        Squared weights that read each feature on the path to each of these leaves, without
        those of this node.
    """

    problem: SoftProblem
    here: FloatArray
    ends: FloatArray
    errors: FloatArray
    squares: FloatArray

    @classmethod
    def from_tree(cls, problem: SoftProblem, tree: SoftTree, node: int) -> Self:
        """Set up the block of one node, from the whole tree."""
        scores = tree.scores(problem.values)
        up = expit(problem.sharpness * (scores - tree.lines[:, -1:]))
        squares = tree.path_squares(problem) - tree.lines[node, :-2] ** 2 @ problem.reads.T
        under = on_path(len(tree.lines))[node, tree.first_leaf :]
        squares = np.maximum(squares[under], 0.0)  # rounding may go below 0
        here = problem.row_weights * _reach(up, 0)[node]
        if node >= tree.first_leaf:
            return cls.of_leaf(problem, here, squares[0])
        missed = (scores - problem.targets) ** 2
        ways = [_reach(up, child) for child in (2 * node + 1, 2 * node + 2)]
        ends = [way[tree.first_leaf :][under] for way in ways]
        half = len(squares) // 2
        return cls(
            problem,
            here,
            np.stack([ends[0][:half], ends[1][half:]]),
            np.stack([(way * missed).sum(axis=0) for way in ways]),
            squares.reshape(2, half, -1),
        )

    @classmethod
    def of_leaf(cls, problem: SoftProblem, here: FloatArray, squares: FloatArray) -> Self:
        """Set up the block of a node without children, from the squared weights of its path."""
        ends = np.ones((2, 1, len(here)))
        return cls(problem, here, ends, np.zeros((2, len(here))), np.stack([squares[None]] * 2))

    def __call__(self, line: FloatArray) -> tuple[float, FloatArray]:
        """Value of the terms that depend on this node, and their exact gradient."""
        problem = self.problem
        roots = np.empty_like(self.squares)
        norms, reached = np.zeros((2, *self.squares.shape[:2]))
        gradient = np.zeros_like(line)
        value = block_terms(
            line,
            problem.values,
            problem.targets,
            problem.reads,
            problem.costs,
            problem.penalty,
            problem.sparsity,
            problem.sharpness,
            _SMOOTHING,
            self.here,
            self.ends,
            self.errors,
            self.squares,
            roots,
            norms,
            reached,
            gradient,
        )
        return value, gradient

    def least(self, start: FloatArray) -> FloatArray:
        """Minimise by L-BFGS from a starting line; the result is never worse."""
        found = minimize(
            self,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _MOST_STEPS, "maxcor": _MEMORY, "ftol": _LEAST_FALL},
        )
        line: FloatArray = found.x
        return line if found.fun <= self(start)[0] else start


def grow(problem: SoftProblem, depth: int) -> SoftTree:
    """Fit nodes top down, each as if it were a leaf, with its threshold at the median score."""
    n_nodes = 2**depth - 1
    lines = np.zeros((n_nodes, problem.values.shape[1] + 2))
    reach = np.zeros((n_nodes, len(problem.targets)))
    reach[0] = problem.row_weights
    squares = np.zeros((n_nodes, len(problem.costs)))
    for node in range(n_nodes):
        parent = (node - 1) // 2
        if node:
            lines[node] = lines[parent]
            squares[node] = squares[parent] + lines[parent, :-2] ** 2 @ problem.reads.T
        block = Block.of_leaf(problem, reach[node], squares[node])
        lines[node] = block.least(lines[node])
        score = problem.values @ lines[node, :-2] + lines[node, -2]
        lines[node, -1] = weighted_median(score, reach[node])
        if 2 * node + 2 < n_nodes:
            up = expit(problem.sharpness * (score - lines[node, -1]))
            reach[2 * node + 1], reach[2 * node + 2] = reach[node] * up, reach[node] * (1.0 - up)
    return SoftTree(lines)


def descend(
    problem: SoftProblem, tree: SoftTree, tol: float, max_sweeps: int
) -> tuple[SoftTree, list[float]]:
    """Sweep over the nodes, breadth first, until a sweep lowers the objective by less than `tol`.

    Returns
    -------
    tuple of SoftTree and list of float
        The tree, and the objective before the first step and after each.
    """
    history = [tree.objective(problem)]
    for _ in range(max_sweeps):
        before = history[-1]
        for node in range(len(tree.lines)):
            line = Block.from_tree(problem, tree, node).least(tree.lines[node])
            tree = tree.with_line(node, line)
            history.append(tree.objective(problem))
        if before - history[-1] <= tol * abs(before):
            break
    return tree, history


def _reach(up: FloatArray, top: int) -> FloatArray:
    """Probability that each row (column) that is at node `top` reaches each node (line)."""
    found = np.zeros_like(up)
    found[top] = 1.0
    for node in range(top, len(up) // 2):
        found[2 * node + 1] += found[node] * up[node]
        found[2 * node + 2] += found[node] * (1.0 - up[node])
    return found
