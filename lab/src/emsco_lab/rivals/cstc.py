"""Cost-sensitive tree of classifiers: Xu, Kusner, Weinberger and Chen (2013).

During training, a row goes both ways at every node, with probabilities from the node's score. The
cost of a path is a mixed norm of its weights, which is small if the nodes of the path share
features. The objective is lowered node by node.

Nodes are numbered breadth first from 0; the children of node k are 2k + 1, which takes the rows
that score above its threshold, and 2k + 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.utils import check_random_state

from emsco import FeatureCosts
from emsco_lab.rivals.base import CostedClassifier, Grid, Judged
from emsco_lab.rivals.encoding import Flags, Floats, Scaling, Whole
from emsco_lab.rivals.kernels import block_terms

_NEGLIGIBLE = 1e-3  # smoothing leaves useless weights below this
_SMALL = 0.01  # share of the largest weight; smaller weights hardly change a score
_PENALTIES = (-2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.5)  # powers of ten
# Sharpness and sparsity: the best values on scored rows of two splits each of Credit, Heart and
# Pima that no comparison uses. A sharpness of 30 was never best.
_PAIRS = ((1.0, 1e-3), (3.0, 1e-3), (10.0, 1e-3), (10.0, 1e-2))
_TREE_PENALTIES = (-1.0, -0.5, -0.25, 0.0, 0.25)  # fewer: trees share features
_SMOOTHING = 1e-8  # |x| is sqrt(x² + this), so that gradients exist everywhere
# Of L-BFGS, in one block: it remembers many steps, since the objective has sharp bends.
_DESCENT = {"maxiter": 200, "maxcor": 30, "ftol": 1e-8}
_LEAST_FALL, _MAX_SWEEPS = 1e-4, 10  # share of the objective that ends training, and its end
_HELD_OUT = 0.2  # share of the training rows of each class that prune the tree
_RIDGE = 1.0  # as the L2 penalty of EMSCO's stages


@dataclass(eq=False, repr=False, kw_only=True)
class CSTC(CostedClassifier):
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

    Attributes
    ----------
    tree_ : ClassifierTree
    objective_ : ndarray
        The objective before the first step and after each; it never rises.

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

    choices: ClassVar = {"weak_learners": ("features", "trees")}
    multi_class: ClassVar[bool] = False

    penalty: float | None = None
    sparsity: float = 1e-3
    depth: int = 3
    weak_learners: str = "features"
    sharpness: float = 1.0

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> Grid:  # noqa: ARG003 - errors are means
        """Penalties over more than two powers of ten, on trees of two to four levels."""
        mean = float(costs.alone.mean())
        plain = [
            {"depth": depth, "sharpness": sharpness, "sparsity": rho, "penalty": 10.0**power / mean}
            for depth in (2, 3, 4)
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
    def comparison_grid(cls, costs: FeatureCosts, n_rows: int) -> Grid:
        """A dozen settings of all kinds: all of them would take longer than every other rival."""
        return cls.grid(costs, n_rows)[:: len(_PENALTIES) + 1]

    def _fit(self, rows: Floats, labels: Whole, weights: Floats) -> Flags:
        rng = check_random_state(self.random_state)
        # Equal rows become one with their weights added up. So they stay together, and the order
        # of rows does not matter.
        distinct, place = np.unique(np.column_stack([labels, rows]), axis=0, return_inverse=True)
        weights = np.bincount(place.reshape(-1), weights).astype(np.float64)
        targets, rows = 2.0 * distinct[:, 0] - 1.0, np.ascontiguousarray(distinct[:, 1:])
        held_out = np.zeros(len(rows), dtype=np.bool_)
        for label in (-1, 1):
            members = rng.permutation(np.flatnonzero(targets == label))
            held_out[members[: int(_HELD_OUT * len(members))]] = True
        growing, pruning = ~held_out, held_out if held_out.any() else ~held_out
        reads = self._learn(rows[growing], targets[growing], weights[growing], rng)
        inputs = self._values(rows)
        # The relaxed cost of a path charges a feature once for all learners that read it. A fee is
        # charged in the same way: once, for all learners that read any of its features.
        prices = self._prices
        problem = SoftProblem(
            np.ascontiguousarray(inputs[growing, :-1]),
            targets[growing],
            weights[growing] / weights[growing].sum(),
            np.concatenate([reads, prices.members @ reads]).astype(np.float64),
            np.concatenate([prices.features, prices.fees]),
            0.1 / float(self.costs_.alone.mean()) if self.penalty is None else self.penalty,
            self.sparsity,
            self.sharpness,
        )
        lines, objective = problem.descend(problem.grow(self.depth))
        self.objective_ = np.array(objective)
        tree = ClassifierTree.from_lines(lines)
        tree.prune(inputs[pruning], targets[pruning], weights[pruning])
        tree.refit(inputs, targets, weights)
        self.tree_ = tree
        self._bought = on_path(len(lines)).T @ (tree.lines[:, :-2] != 0) @ reads.T
        return self._bought[tree.kept[: len(lines)]].any(axis=0)

    def _learn(self, rows: Floats, targets: Floats, weights: Floats, rng: Any) -> Flags:
        """Set weak learners; return the features that each reads, (n_features, n_learners)."""
        reads = self._features_of(np.eye(rows.shape[1], dtype=np.bool_)).T
        seed = int(rng.randint(2**31 - 1))
        self._trees: list[Any] = []
        if self.weak_learners == "trees":  # without regard to costs
            boosting = GradientBoostingRegressor(n_estimators=50, max_depth=3, random_state=seed)
            self._trees = list(boosting.fit(rows, targets, weights).estimators_[:, 0])
            asked = [tree.tree_.feature[tree.tree_.feature >= 0] for tree in self._trees]
            reads = np.column_stack([reads[:, inputs].any(axis=1) for inputs in asked])
        self._scaling = Scaling.learn(self._learners(rows), weights)
        return reads

    def _learners(self, rows: Floats) -> Floats:
        return (
            np.column_stack([tree.predict(rows) for tree in self._trees]) if self._trees else rows
        )

    def _values(self, rows: Floats) -> Floats:
        """Value of each weak learner for each row, and at the end 1."""
        return np.column_stack([self._scaling.scaled(self._learners(rows)), np.ones(len(rows))])

    def _judge(self, rows: Floats) -> Judged:
        inputs = self._values(rows)
        exits = self.tree_.exits(inputs)
        second = np.clip(0.5 + 0.5 * _rows_times(inputs, self.tree_.answers[exits]), 0.0, 1.0)
        # As in a cascade, a row pays for every classifier that it meets.
        met = on_path(len(self.tree_.lines)).sum(axis=0)[exits]
        return np.column_stack([1.0 - second, second]), self._bought[exits], met


@dataclass(eq=False)
class ClassifierTree:
    """Linear nodes that pass a row down until it stops at one, which answers.

    The score of a row at node k selects a child. The row goes there if that child is kept; else it
    stops at k. Answers stand for classes -1 and 1.

    Attributes
    ----------
    lines : ndarray of shape (n_nodes, n_learners + 2)
        For each node: weights of the learners, an intercept, a threshold.
    answers : ndarray of shape (n_nodes, n_learners + 1)
        Weights and intercepts of the answers; those of the scores until `refit`.
    kept : ndarray of bool, shape (2 * n_nodes + 1,)
        Nodes that are not pruned; the root always is kept, and children of the last nodes are not.
    """

    lines: Floats
    answers: Floats
    kept: Flags

    @classmethod
    def from_lines(cls, lines: Floats) -> ClassifierTree:
        """Make a full tree, without negligible weights, so that no row pays for them."""
        lines = lines.copy()
        weights = lines[:, :-2]
        weights[np.abs(weights) < max(_NEGLIGIBLE, _SMALL * np.abs(weights).max())] = 0.0
        return cls(lines, lines[:, :-1].copy(), np.arange(2 * len(lines) + 1) < len(lines))

    def exits(self, inputs: Floats) -> Whole:
        """The node where each row stops."""
        at = np.zeros(len(inputs), dtype=np.int64)
        while True:
            goes_up = _rows_times(inputs, self.lines[at, :-1]) > self.lines[at, -1]
            child = 2 * at + np.where(goes_up, 1, 2)
            if not self.kept[child].any():
                return at
            at = np.where(self.kept[child], child, at)

    def prune(self, inputs: Floats, targets: Floats, weights: Floats) -> None:
        """Prune nodes, from the last, as long as errors on these rows do not rise."""

        def error() -> float:
            answers = _rows_times(inputs, self.answers[self.exits(inputs)])
            return float(weights @ ((answers > 0) != (targets > 0)))

        lowest = error()
        for node in range(len(self.lines) - 1, 0, -1):
            if self.kept[node] and not self.kept[2 * node + 1 : 2 * node + 3].any():
                self.kept[node] = False
                self.kept[node] = (new := error()) > lowest
                lowest = min(lowest, new)

    def refit(self, inputs: Floats, targets: Floats, weights: Floats) -> None:
        """Fit the answers of each node again, to the rows that stop there; no row moves.

        An answer may read every weak learner with a weight on the path to its node, at no further
        cost. A ridge pulls its weights towards those of the score. That steadies nodes with few
        rows, and the squared error cannot rise.
        """
        exits = self.exits(inputs)
        support = on_path(len(self.lines)).T @ (self.lines[:, :-2] != 0)
        for node, answer in enumerate(self.answers):
            here, columns = exits == node, np.append(np.flatnonzero(support[node]), -1)
            known = inputs[here][:, columns]
            left = targets[here] - known @ answer[columns]
            weighted = known.T * weights[here]
            pull = np.append(np.full(len(columns) - 1, _RIDGE), 1e-9)  # not on the intercept
            answer[columns] += np.linalg.solve(weighted @ known + np.diag(pull), weighted @ left)


@dataclass(frozen=True, eq=False)
class SoftProblem:
    """The objective: rows, costs and the strengths of both penalties.

    A tree in training is an array of lines, see `ClassifierTree`.

    Attributes
    ----------
    values : ndarray of shape (n_rows, n_learners)
        Values of the weak learners.
    targets : ndarray of shape (n_rows,)
        -1 or 1.
    weights : ndarray of shape (n_rows,)
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

    values: Floats
    targets: Floats
    weights: Floats
    reads: Floats
    costs: Floats
    penalty: float
    sparsity: float
    sharpness: float

    def objective(self, lines: Floats) -> float:
        """Expected squared errors of all nodes, and both penalties."""
        scores, up = self._scores(lines)
        reach = _reach(up, 0) * self.weights
        errors = (reach * (scores - self.targets) ** 2).sum()
        sizes = np.sqrt(lines[:, :-2] ** 2 + _SMOOTHING).sum()
        norms = np.sqrt(self._path_squares(lines) + _SMOOTHING) @ self.costs
        cost = reach[len(lines) // 2 :].sum(axis=1) @ norms
        return float(errors + self.sparsity * sizes + self.penalty * cost)

    def grow(self, depth: int) -> Floats:
        """Fit nodes top down, each as if it were a leaf, with its threshold at the median score."""
        n_nodes = 2**depth - 1
        lines = np.zeros((n_nodes, self.values.shape[1] + 2))
        reach = np.zeros((2 * n_nodes + 1, len(self.targets)))
        reach[0] = self.weights
        squares = np.zeros((n_nodes, len(self.costs)))
        for node in range(n_nodes):
            if node:  # start from the parent's line, whose features are paid for on this path
                parent = (node - 1) // 2
                lines[node] = lines[parent]
                squares[node] = squares[parent] + self._squares(lines[parent])
            lines[node] = self._minimised(lines[node], reach[node], *self._as_leaf(squares[node]))
            score = self.values @ lines[node, :-2] + lines[node, -2]
            lines[node, -1] = weighted_median(score, reach[node])
            up = expit(self.sharpness * (score - lines[node, -1]))
            reach[2 * node + 1], reach[2 * node + 2] = reach[node] * up, reach[node] * (1.0 - up)
        return lines

    def descend(self, lines: Floats) -> tuple[Floats, list[float]]:
        """Sweep over the nodes, breadth first, until a sweep hardly lowers the objective.

        Returns
        -------
        tuple of ndarray and list of float
            The tree, and the objective before the first step and after each.
        """
        lines, history = lines.copy(), [self.objective(lines)]
        for _ in range(_MAX_SWEEPS):
            before = history[-1]
            for node in range(len(lines)):
                lines[node] = self._minimised(lines[node], *self._around(lines, node))
                history.append(self.objective(lines))
            if before - history[-1] <= _LEAST_FALL * abs(before):
                break
        return lines, history

    def _scores(self, lines: Floats) -> tuple[Floats, Floats]:
        """Scores of each node (line) for each row (column), and probabilities to go up."""
        scores = lines[:, :-2] @ self.values.T + lines[:, -2:-1]
        return scores, expit(self.sharpness * (scores - lines[:, -1:]))

    def _squares(self, lines: Floats) -> Floats:
        """Squared weights that read each feature."""
        return lines[..., :-2] ** 2 @ self.reads.T

    def _path_squares(self, lines: Floats) -> Floats:
        """Squared weights that read each feature (column) on the path to each leaf (line)."""
        paths = on_path(len(lines))[:, len(lines) // 2 :].T.astype(np.float64)
        return paths @ self._squares(lines)

    def _as_leaf(self, squares: Floats) -> tuple[Floats, Floats, Floats]:
        """What is around a node without children: both ways from it end at itself."""
        n_rows = len(self.targets)
        return np.ones((2, 1, n_rows)), np.zeros((2, n_rows)), np.stack([squares[None]] * 2)

    def _around(self, lines: Floats, node: int) -> tuple[Floats, Floats, Floats, Floats]:
        """What the objective depends on besides one node's line; the last arguments of `terms`."""
        scores, up = self._scores(lines)
        first_leaf = len(lines) // 2
        under = on_path(len(lines))[node, first_leaf:]
        squares = self._path_squares(lines)[under] - self._squares(lines[node])
        squares = np.maximum(squares, 0.0)  # rounding may go below 0
        here = self.weights * _reach(up, 0)[node]
        if node >= first_leaf:
            return here, *self._as_leaf(squares[0])
        # A line moves its own node's answers, and rows between the two subtrees below it. So the
        # block needs, for each way, where rows end, their errors there and what paths have bought.
        ways = np.stack([_reach(up, child) for child in (2 * node + 1, 2 * node + 2)])
        errors = (ways * (scores - self.targets) ** 2).sum(axis=1)
        half = len(squares) // 2
        above, below = ways[:, first_leaf:][:, under]
        ends = np.stack([above[:half], below[half:]])
        return here, ends, errors, squares.reshape(2, half, -1)

    def _minimised(self, start: Floats, *around: Floats) -> Floats:
        """Minimise by L-BFGS from a starting line; the result is never worse."""
        optimum = minimize(self.terms, start, around, jac=True, method="L-BFGS-B", options=_DESCENT)
        return optimum.x if optimum.fun <= self.terms(start, *around)[0] else start

    def terms(
        self, line: Floats, here: Floats, ends: Floats, errors: Floats, squares: Floats
    ) -> tuple[float, Floats]:
        """Value of the terms that depend on one node's line, and their exact gradient.

        Parameters
        ----------
        line : ndarray of shape (n_learners + 2,)
        here : ndarray of shape (n_rows,)
            Row weight times the probability that the row reaches the node.
        ends : ndarray of shape (2, n_leaves / 2, n_rows)
            Probability that a row that goes up (0) or down (1) ends at each leaf below.
        errors : ndarray of shape (2, n_rows)
            Expected squared errors below, of a row that goes up or down.
        squares : ndarray of shape (2, n_leaves / 2, n_features)
            Squared weights that read each feature on the path to each of these leaves, without
            those of this node.
        """
        return block_terms(
            line,
            here,
            ends,
            errors,
            squares,
            self.values,
            self.targets,
            self.reads,
            self.penalty * self.costs,
            self.sparsity,
            self.sharpness,
            _SMOOTHING,
        )


def on_path(n_nodes: int) -> Flags:
    """Whether node j (line) is on the path from the root to node k (column), k included."""
    on = np.eye(n_nodes, dtype=np.bool_)
    for node in range(1, n_nodes):
        on[:, node] |= on[:, (node - 1) // 2]
    return on


def weighted_median(values: Floats, weights: Floats) -> float:
    """A number between values, with as near to half the weight as possible on either side.

    If all values are equal, it is that value.
    """
    distinct, place = np.unique(values, return_inverse=True)
    if len(distinct) < 2:
        return float(distinct[0])
    below = np.cumsum(np.bincount(place, weights))
    cut = int(np.argmin(np.abs(below[:-1] - 0.5 * below[-1])))
    return float(0.5 * (distinct[cut] + distinct[cut + 1]))


def _rows_times(inputs: Floats, weights: Floats) -> Floats:
    """Dot products line by line, summed in the same order for any number of lines."""
    return np.einsum("ij,ij->i", inputs, weights)


def _reach(up: Floats, top: int) -> Floats:
    """Probability that each row (column) that is at node `top` reaches each node (line)."""
    reach = np.zeros_like(up)
    reach[top] = 1.0
    for node in range(top, len(up) // 2):
        reach[2 * node + 1] += reach[node] * up[node]
        reach[2 * node + 2] += reach[node] * (1.0 - up[node])
    return reach
