"""Cost-sensitive tree of classifiers: Xu, Kusner, Weinberger and Chen (2013)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from emsco._base.checks import check_choice, check_number, check_whole
from emsco._base.typing import BoolArray, FloatArray
from emsco.costs import CostsLike, FeatureCosts
from emsco.lab.rivals.learners import KINDS, BoostedLearners, FeatureLearners
from emsco.lab.rivals.set_costs import SetCosts
from emsco.lab.rivals.soft import SoftProblem, descend, grow
from emsco.lab.rivals.tree import ClassifierTree
from emsco.lab.rivals.treed import TreedClassifier, TreedRows

_NEGLIGIBLE = 1e-3  # smoothing leaves useless weights below this
_SMALL = 0.01  # share of the largest weight; smaller weights hardly change a score
_PENALTIES = (-2.0, -1.5, -1.0, -0.75, -0.5, -0.25, 0.0, 0.5)  # powers of ten
# Sharpness and sparsity: the best values on scored rows of two splits each of Credit, Heart and
# Pima that no comparison uses. A sharpness of 30 was never best.
_PAIRS = ((1.0, 1e-3), (3.0, 1e-3), (10.0, 1e-3), (10.0, 1e-2))
_DEPTHS = (2, 3, 4)
_TREE_PENALTIES = (-1.0, -0.5, -0.25, 0.0, 0.25)  # fewer: trees share features
_MOST_DEPTH = 8


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
    objective_: FloatArray

    def __init__(
        self,
        costs: CostsLike = None,
        penalty: float | None = None,
        sparsity: float = 1e-3,
        depth: int = 3,
        weak_learners: str = "features",
        sharpness: float = 1.0,
        validation_fraction: float = 0.2,
        random_state: Any = None,
        tol: float = 1e-4,
        max_sweeps: int = 10,
        gaps: str = "refuse",
    ) -> None:
        self.costs = costs
        self.penalty = penalty
        self.sparsity = sparsity
        self.depth = depth
        self.weak_learners = weak_learners
        self.sharpness = sharpness
        self.validation_fraction = validation_fraction
        self.random_state = random_state
        self.tol = tol
        self.max_sweeps = max_sweeps
        self.gaps = gaps

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
    def contest_grid(cls, costs: FeatureCosts, n_rows: int) -> list[dict[str, Any]]:
        """A dozen settings of all kinds: all of them would take longer than every other rival."""
        return cls.grid(costs, n_rows)[:: len(_PENALTIES) + 1]

    def _grow(self, rows: TreedRows, features: BoolArray, seed: int) -> ClassifierTree:
        penalty = 0.1 / float(self.costs_.alone.mean()) if self.penalty is None else self.penalty
        penalty = check_number("penalty", penalty, 0, 1e100)
        sparsity = check_number("sparsity", self.sparsity, 0, 1e100)
        depth = check_whole("depth", self.depth, 1, _MOST_DEPTH)
        max_sweeps = check_whole("max_sweeps", self.max_sweeps, 0)
        tol = check_number("tol", self.tol, 0, 1)
        if check_choice("weak_learners", self.weak_learners, KINDS) == "features":
            self.learners_ = FeatureLearners.learn(rows.rows, rows.weights, features)
        else:
            self.learners_ = BoostedLearners.learn(
                rows.rows, rows.targets, rows.weights, features, seed
            )
        problem = SoftProblem(
            self.learners_.values(rows.rows),
            rows.targets,
            rows.weights / rows.weights.sum(),
            *_charged(self.learners_.reads, self._prices),
            penalty,
            sparsity,
            check_number("sharpness", self.sharpness, 0, 1e6, "(]"),
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
