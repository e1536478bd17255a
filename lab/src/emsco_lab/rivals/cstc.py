"""Cost-sensitive tree of classifiers: Xu, Kusner, Weinberger and Chen (2013).

During training, a row goes both ways at every node, with probabilities from the node's score. The
cost of a path is a mixed norm of its weights, which is small if the nodes of the path share
features. The objective is lowered node by node.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from emsco._base.checks import check_choice, check_number, check_whole
from emsco._base.typing import BoolArray, FloatArray
from emsco.costs import FeatureCosts
from emsco_lab.rivals.classifier_trees import (
    MAX_DEPTH,
    ClassifierTree,
    TreedClassifier,
    TreedRows,
    WeakLearners,
    on_path,
    weighted_median,
)
from emsco_lab.rivals.kernels import block_terms
from emsco_lab.rivals.set_costs import SetCosts

_LEARNERS = ("features", "trees")
_NEGLIGIBLE = 1e-3  # smoothing leaves useless weights below this
_SMALL = 0.01  # share of the largest weight; smaller weights hardly change a score
_PENALTIES = (-2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.5)  # powers of ten
# Sharpness and sparsity: the best values on scored rows of two splits each of Credit, Heart and
# Pima that no comparison uses. A sharpness of 30 was never best.
_PAIRS = ((1.0, 1e-3), (3.0, 1e-3), (10.0, 1e-3), (10.0, 1e-2))
_DEPTHS = (2, 3, 4)
_TREE_PENALTIES = (-1.0, -0.5, -0.25, 0.0, 0.25)  # fewer: trees share features
_SMOOTHING = 1e-8  # |x| is sqrt(x² + this), so that gradients exist everywhere
_MAX_STEPS = 200  # of L-BFGS, in one block
_MIN_FALL = 1e-8  # share of the objective; L-BFGS ends with a smaller step
_MEMORY = 30  # steps that L-BFGS remembers: many, since the objective has sharp bends


@dataclass(eq=False, repr=False, kw_only=True)
class CSTC(TreedClassifier):
    """Cost-sensitive tree of classifiers, for two classes.

    A row goes down a binary tree of linear classifiers. It takes the answer of the last one it
    reaches, and pays for the features with a weight on its path. All nodes are trained together,
    with rows that go down softly. The objective is the expected squared error of every node, plus
    `penalty` times the expected cost of a path, relaxed to a mixed norm, plus `sparsity` times the
    sizes of all weights. L-BFGS lowers it node by node, breadth first.

    Afterwards, weights (of learners with deviation 1) below 0.001, or below a hundredth of the
    largest in the tree, become 0. Nodes are pruned from the last, as long as errors on the
    held-out rows do not rise. Answers are then fitted once more, without penalties, to the features
    that their paths have bought. An answer a means the probability (a + 1) / 2 of the second class,
    clipped to [0, 1].

    Parameters
    ----------
    costs : mapping, array-like, FeatureCosts or None
        Cost of each feature; None: 1 each.
    penalty : float or None
        The paper's λ, for unscaled costs; None: 0.1 divided by the mean cost.
    sparsity : float
        The paper's ρ.
    depth : int
        Classifiers on the longest path, from 1; the full tree has 2^depth - 1.
    weak_learners : {"features", "trees"}
        Inputs of the nodes: standardised features, or 50 boosted trees of depth 3.
    sharpness : float
        Steepness of the sigmoid that splits rows during training; 1 is the paper's. Scores mostly
        lie between -1 and 1, where the paper's sigmoid sends about half of every row either way.
        10 is closer to the finished tree, and is often more accurate.
    validation_fraction : float
        Share of the training rows of each class that prune the tree instead of growing it. If
        that is no row, the rows that grew the tree also prune it.
    random_state : int, RandomState or None
        Draws the held-out rows.
    tol : float
        Training ends when a sweep over all nodes lowers the objective by no more than this share.
    max_sweeps : int
    gaps : {"refuse", "impute"}
        What to do with missing values. "refuse" raises an error; "impute" fills in the mean of the
        training rows and adds an indicator.

    Attributes
    ----------
    tree_ : ClassifierTree
    learners_ : WeakLearners
    objective_ : ndarray
        The objective before the first step and after each; it never rises.
    path_costs_ : ndarray of shape (n_nodes,)
    used_ : ndarray of bool, shape (n_features,)
    classes_, costs_, encoding_, n_features_in_, feature_names_in_
        As for all rivals.

    References
    ----------
    Xu, Kusner, Weinberger, Chen: "Cost-Sensitive Tree of Classifiers", ICML 2013.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> rival = CSTC(depth=2, random_state=0).fit(X.iloc[:400], y[:400])
    >>> report = rival.evaluate(X.iloc[400:], y[400:])
    >>> bool(report.accuracy > 0.9 and report.cost < 20)
    True
    """

    prefers: ClassVar[str] = "processes"  # L-BFGS runs Python between compiled steps
    penalty: float | None = None
    sparsity: float = 1e-3
    depth: int = 3
    weak_learners: str = "features"
    sharpness: float = 1.0
    validation_fraction: float = 0.2
    tol: float = 1e-4
    max_sweeps: int = 10

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> list[dict[str, Any]]:  # noqa: ARG003
        """Penalties over more than two powers of ten, on trees of two to four levels."""
        mean = float(costs.alone.mean())
        plain = [
            {"depth": depth, "sharpness": sharpness, "sparsity": rho, "penalty": 10.0**power / mean}
            for depth in _DEPTHS
            for sharpness, rho in _PAIRS
            for power in _PENALTIES
        ]
        boosted = [
            {"weak_learners": "trees", "sharpness": sharpness, "penalty": 10.0**power / mean}
            for sharpness in (1.0, 10.0)
            for power in _TREE_PENALTIES
        ]
        return plain + boosted

    @classmethod
    def comparison_grid(cls, costs: FeatureCosts, n_rows: int) -> list[dict[str, Any]]:
        """A dozen settings of all kinds: all of them would take longer than every other rival."""
        return cls.grid(costs, n_rows)[:: len(_PENALTIES) + 1]

    def _grow(self, rows: TreedRows, features: BoolArray, seed: int) -> ClassifierTree:
        penalty = 0.1 / float(self.costs_.alone.mean()) if self.penalty is None else self.penalty
        penalty = check_number("penalty", penalty, 0, 1e100)
        sparsity = check_number("sparsity", self.sparsity, 0, 1e100)
        depth = check_whole("depth", self.depth, 1, MAX_DEPTH)
        max_sweeps = check_whole("max_sweeps", self.max_sweeps, 0)
        tol = check_number("tol", self.tol, 0, 1)
        if check_choice("weak_learners", self.weak_learners, _LEARNERS) == "features":
            self.learners_ = WeakLearners.from_inputs(rows.rows, rows.weights, features)
        else:
            self.learners_ = WeakLearners.from_boosting(
                rows.rows, rows.targets, rows.weights, features, seed
            )
        reads, costs = _charged(self.learners_.reads, self._prices)
        problem = SoftProblem(
            self.learners_.values(rows.rows),
            rows.targets,
            row_weights=rows.weights / rows.weights.sum(),
            reads=reads,
            costs=costs,
            penalty=penalty,
            sparsity=sparsity,
            sharpness=check_number("sharpness", self.sharpness, 0, 1e6, "(]"),
        )
        soft, objective = descend(problem, grow(problem, depth), tol, max_sweeps)
        self.objective_ = np.array(objective)
        weights = without_small(soft.lines[:, :-2])
        return ClassifierTree.from_weights(weights, soft.lines[:, -2], soft.lines[:, -1])


def _charged(reads: BoolArray, prices: SetCosts) -> tuple[FloatArray, FloatArray]:
    """Sets of learners that a path is charged for, a line each, and what they cost.

    The relaxed cost of a path charges a feature once for all learners that read it. A fee is
    charged in the same way: once, for all learners that read any of its features.
    """
    if len(prices.fees):
        reads = np.concatenate([reads, prices.fees.members @ reads])
    costs = np.concatenate([prices.features, prices.fees.amounts])
    return reads.astype(np.float64), costs


def without_small(weights: FloatArray) -> FloatArray:
    """Set negligible weights to 0, so that no row pays for them."""
    sizes = np.abs(weights)
    return np.where(sizes < max(_NEGLIGIBLE, _SMALL * sizes.max()), 0.0, weights)


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
        scores: FloatArray = self.lines[:, :-2] @ values.T + self.lines[:, -2:-1]
        return scores

    def path_squares(self, problem: SoftProblem) -> FloatArray:
        """Squared weights that read each feature (column) on the path to each leaf (line)."""
        paths = on_path(len(self.lines))[:, self.first_leaf :].T.astype(np.float64)
        squares: FloatArray = paths @ (self.lines[:, :-2] ** 2 @ problem.reads.T)
        return squares

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
        # A line moves its own node's answers, and rows between the two subtrees below it. So the
        # block needs, for each way, where rows end, their errors there and what paths have bought.
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

    def minimised(self, start: FloatArray) -> FloatArray:
        """Minimise by L-BFGS from a starting line; the result is never worse."""
        optimum = minimize(
            self,
            start,
            jac=True,
            method="L-BFGS-B",
            options={"maxiter": _MAX_STEPS, "maxcor": _MEMORY, "ftol": _MIN_FALL},
        )
        line: FloatArray = optimum.x
        return line if optimum.fun <= self(start)[0] else start


def grow(problem: SoftProblem, depth: int) -> SoftTree:
    """Fit nodes top down, each as if it were a leaf, with its threshold at the median score."""
    n_nodes = 2**depth - 1
    lines = np.zeros((n_nodes, problem.values.shape[1] + 2))
    reach = np.zeros((n_nodes, len(problem.targets)))
    reach[0] = problem.row_weights
    squares = np.zeros((n_nodes, len(problem.costs)))
    for node in range(n_nodes):
        parent = (node - 1) // 2
        if node:  # start from the parent's line, whose features are paid for on this path
            lines[node] = lines[parent]
            squares[node] = squares[parent] + lines[parent, :-2] ** 2 @ problem.reads.T
        block = Block.of_leaf(problem, reach[node], squares[node])
        lines[node] = block.minimised(lines[node])
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
            line = Block.from_tree(problem, tree, node).minimised(tree.lines[node])
            tree = tree.with_line(node, line)
            history.append(tree.objective(problem))
        if before - history[-1] <= tol * abs(before):
            break
    return tree, history


def _reach(up: FloatArray, top: int) -> FloatArray:
    """Probability that each row (column) that is at node `top` reaches each node (line)."""
    reach = np.zeros_like(up)
    reach[top] = 1.0
    for node in range(top, len(up) // 2):
        reach[2 * node + 1] += reach[node] * up[node]
        reach[2 * node + 2] += reach[node] * (1.0 - up[node])
    return reach
