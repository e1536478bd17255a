"""Optimal cost-sensitive decision trees (STreeD), as a rival."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from emsco._base.checks import check_number, check_whole, refused
from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray
from emsco.costs import FeatureCosts
from emsco.data.random_states import draw_seed
from emsco.models.boosting.trees import Bins
from emsco_lab.rivals.base import CostedClassifier, Package
from emsco_lab.rivals.set_costs import SetCosts

_PACKAGES = "--no-deps pystreed scikit-survival numexpr"  # pystreed imports the other two
_DEEPEST = 5
_BINS = 255  # of an input, between which cuts are chosen
_MAX_COLUMNS, _FEWEST_ROWS = 120, 500  # few rows take hardly less time than some
_WORK = 1e10  # rows, times classes, times columns to the power of depth: half a second or less
_TREES, _LEVELS = 60, 4  # of the forest that ranks cuts
_LONGEST = 60.0  # seconds of a fit, should the estimate of its work be wrong


@dataclass(frozen=True, slots=True, eq=False)
class TreeNode:
    """A node of a tree; a leaf has no children.

    Attributes
    ----------
    probabilities : ndarray of shape (n_classes,)
        Smoothed shares of its training rows.
    input, cut : int and float
        What it asks: whether an input is above a cut.
    below, above : TreeNode or None
    """

    probabilities: FloatArray
    input: int = -1
    cut: float = np.nan
    below: TreeNode | None = None
    above: TreeNode | None = None

    def inputs(self) -> set[int]:
        """Inputs that this node or one below it asks for."""
        if self.below is None or self.above is None:
            return set()
        return {self.input} | self.below.inputs() | self.above.inputs()

    def leaves(
        self, rows: FloatArray, here: IntArray, asked: tuple[int, ...] = ()
    ) -> Iterator[tuple[FloatArray, IntArray, tuple[int, ...]]]:
        """Yield each leaf's probabilities, the rows that reach it, and the inputs on the way."""
        if self.below is None or self.above is None:
            yield self.probabilities, here, asked
            return
        asked = (*asked, self.input)
        is_above = rows[here, self.input] > self.cut
        yield from self.below.leaves(rows, here[~is_above], asked)
        yield from self.above.leaves(rows, here[is_above], asked)


@dataclass(eq=False, repr=False, kw_only=True)
class OptimalTrees(CostedClassifier):
    """The decision tree of a given depth with the lowest mean cost of features and errors.

    It is not grown greedily: STreeD (van der Linden et al. 2023) searches all trees whose splits
    are among given binary columns. A row pays for the features on its path.

    Numeric inputs become columns by cuts, and each category is a column. Cuts between all values,
    or at 254 quantiles, are ranked. First come those of a greedy tree of the same depth, so that
    the optimal tree is no worse on its training rows if errors cost much. Then comes the best cut
    of every feature, then the others. Best are those that gain most in a random forest whose every
    split is the best one of an input drawn at random, so that an expensive input takes no cuts
    away from a cheap one. Columns are as many as a search can take in about half a second: for
    1,800 rows of three classes, 120 at depth 3 and 36 at depth 4.

    Parameters
    ----------
    costs : mapping, array-like, FeatureCosts or None
        Cost of each feature: by name, or in column order; None: 1 each. Cuts of one feature are
        paid once, and so is a fee. Of a feature with several fees, the search knows the largest as
        shared; a row's cost counts each once.
    error_cost : float
        Cost of an error, relative to the cost of all features.
    depth : int
        Largest number of splits on a path.
    random_state : int, RandomState or None
    gaps : {"refuse", "impute"}
        What to do with missing values. "refuse" raises an error; "impute" fills in the mean of the
        training rows and adds an indicator.

    Attributes
    ----------
    tree_ : TreeNode

    Notes
    -----
    Needs pystreed: ``pip install --no-deps pystreed scikit-survival numexpr`` builds it from
    source. Weights must be whole numbers, since rows are repeated.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> rival = OptimalTrees(costs=[1, 1, 50], error_cost=1.0, random_state=0)
    >>> rival.fit(X, X[:, 0] > 0).used_.tolist()  # doctest: +SKIP
    [True, False, False]
    """

    needs: ClassVar[tuple[Package, ...]] = (
        Package("pystreed", "pystreed", _PACKAGES),
        Package("sksurv", "scikit-survival", _PACKAGES),
        Package("numexpr", "numexpr", _PACKAGES),
    )

    error_cost: float = 3.0
    depth: int = 3

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> list[dict[str, Any]]:  # noqa: ARG003
        """Depths of 2 to 4, with errors of a thirtieth of the cost of everything to 1,000 times."""
        error_costs = np.logspace(-1.5, 3, 14).round(4).tolist()
        return [{"depth": depth, "error_cost": cost} for depth in (2, 3, 4) for cost in error_costs]

    def _fit(self, rows: FloatArray, labels: LabelArray, weights: FloatArray | None) -> None:
        from pystreed import STreeDCostSensitiveClassifier
        from pystreed.data import CostSpecifier, FeatureCostSpecifier

        error_cost = check_number("error_cost", self.error_cost, 0, np.inf, "()")
        depth = check_whole("depth", self.depth, 1, _DEEPEST)
        if weights is not None:
            repeats = weights.astype(np.int64)
            if (repeats != weights).any():
                rule = "be whole numbers for optimal trees, which repeat rows"
                raise refused(
                    "sample_weight", rule, weights, got=f"{weights[repeats != weights][0]:g}"
                )
            repeats //= np.gcd.reduce(repeats)
            rows, labels = np.repeat(rows, repeats, axis=0), np.repeat(labels, repeats)
        seed = draw_seed(self.random_state)
        inputs, cuts = _columns(rows, labels, self.encoding_.input_feature, depth, seed)
        features = self.encoding_.input_feature[inputs]
        counts = np.bincount(labels, minlength=len(self.classes_))
        self.tree_ = TreeNode(_smoothed(counts))
        if len(inputs):
            specified = [
                FeatureCostSpecifier(*test) for test in _test_costs(self._prices, features)
            ]
            total = self._prices.total or 1.0
            errors = error_cost * total * (1 - np.eye(len(counts)))
            solver = STreeDCostSensitiveClassifier(max_depth=depth, time_limit=_LONGEST)
            columns = rows[:, inputs] > cuts
            solver.fit(columns.astype(np.intc), labels, CostSpecifier(errors.tolist(), specified))
            self.tree_ = _tree(solver.get_tree(), columns, labels, inputs, cuts, len(counts))
        reads = np.isin(np.arange(self.encoding_.n_inputs), list(self.tree_.inputs()))
        self.used_ = self._features_of(reads)

    def _judge(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        probabilities = np.empty((len(rows), len(self.classes_)))
        reads = np.zeros(rows.shape, dtype=np.bool_)
        for shares, here, asked in self.tree_.leaves(rows, np.arange(len(rows))):
            probabilities[here] = shares
            reads[here[:, None], list(asked)] = True
        return probabilities, self._prices.of(self._features_of(reads))


def _smoothed(counts: IntArray) -> FloatArray:
    """Class shares with one row more of each class (Laplace)."""
    shares: FloatArray = (counts + 1) / (counts.sum() + len(counts))
    return shares


def _columns(
    rows: FloatArray, labels: LabelArray, feature_of: IntArray, depth: int, seed: int
) -> tuple[IntArray, FloatArray]:
    """Choose binary columns: the input and the cut of each, features one after another."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    bins = Bins.learn(rows, _BINS)
    cuts = np.concatenate(bins.cuts)
    inputs = np.repeat(np.arange(len(bins)), bins.counts - 1)
    codes = bins.code(rows).T
    greedy = DecisionTreeClassifier(max_depth=depth, random_state=seed).fit(codes, labels)
    forest = RandomForestClassifier(
        _TREES, max_depth=_LEVELS, max_features=1, bootstrap=False, random_state=seed
    ).fit(codes, labels)
    gains = sum(_gains(one.tree_, bins) for one in forest.estimators_)
    best_first = np.argsort(-gains, kind="stable")
    is_greedy = _gains(greedy.tree_, bins)[best_first] > 0
    _, first = np.unique(feature_of[inputs[best_first]], return_index=True)
    is_first = np.isin(np.arange(len(cuts)), first)
    rank = np.where(is_greedy, 0, np.where(is_first, 1, 2))
    ranked = best_first[np.argsort(rank, kind="stable")]
    per_column = max(len(rows), _FEWEST_ROWS) * (int(labels.max()) + 1)
    n_columns = min(_MAX_COLUMNS, int((_WORK / per_column) ** (1 / depth)))
    chosen = np.sort(ranked[: max(1, n_columns)])
    chosen = chosen[np.argsort(feature_of[inputs[chosen]], kind="stable")]
    return inputs[chosen], cuts[chosen]


def _gains(tree: Any, bins: Bins) -> FloatArray:
    """What each cut gains in a tree of scikit-learn on the codes of bins, input after input."""
    starts = np.cumsum(bins.counts - 1) - (bins.counts - 1)
    splits = np.flatnonzero(tree.feature >= 0)
    lost = tree.weighted_n_node_samples * tree.impurity
    gains = lost[splits] - lost[tree.children_left[splits]] - lost[tree.children_right[splits]]
    # A split between the codes 3 and 4, or between 3 and 5 if no row here has 4, is cut 3.
    places = starts[tree.feature[splits]] + tree.threshold[splits].astype(np.int64)
    gained = np.bincount(places, gains, int((bins.counts - 1).sum()))
    return gained.astype(np.float64)  # of no splits, whole numbers come


def _test_costs(
    prices: SetCosts, features: IntArray
) -> Iterator[tuple[float, float, str, int, int]]:
    """Yield cost, cost once the fee is paid, group, and first and last column of each feature."""
    for feature in np.unique(features).tolist():
        columns = np.flatnonzero(features == feature)
        cost = discounted = float(prices.alone[feature])
        group = "x"  # none
        shared = np.flatnonzero(prices.fees.members[:, feature])
        if len(shared):
            largest = int(shared[np.argmax(prices.fees.amounts[shared])])
            discounted -= float(prices.fees.amounts[largest])
            group = f"fee{largest}"
        yield cost, discounted, group, int(columns[0]), int(columns[-1])


def _tree(
    node: Any,
    columns: BoolArray,
    labels: LabelArray,
    inputs: IntArray,
    cuts: FloatArray,
    n_classes: int,
) -> TreeNode:
    """Copy a tree of STreeD, with the class shares of its training rows."""
    shares = _smoothed(np.bincount(labels, minlength=n_classes))
    if node.is_leaf_node():
        return TreeNode(shares)
    is_above = columns[:, node.feature]
    below, above = (
        _tree(child, columns[side], labels[side], inputs, cuts, n_classes)
        for child, side in ((node.left_child, ~is_above), (node.right_child, is_above))
    )
    return TreeNode(shares, int(inputs[node.feature]), float(cuts[node.feature]), below, above)
