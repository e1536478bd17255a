"""Optimal cost-sensitive decision trees (STreeD), as a rival."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any, ClassVar, TypeAlias

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from emsco import DataError, FeatureCosts
from emsco_lab.rivals.base import CostedClassifier, Grid, Judged
from emsco_lab.rivals.encoding import Flags, Floats, Whole

Path: TypeAlias = tuple[tuple[int, bool], ...]  # binary columns, and whether they are true
_PACKAGES = "--no-deps pystreed scikit-survival numexpr"  # pystreed imports the other two
_BINS = 255  # of an input, between which cuts are chosen
_MAX_COLUMNS, _FEWEST_ROWS = 120, 500  # few rows take hardly less time than some
_WORK = 1e10  # rows, times classes, times columns to the power of depth: half a second or less
_TREES, _LEVELS = 60, 4  # of the forest that ranks cuts
_LONGEST = 60.0  # seconds of a fit, should the estimate of its work be wrong


@dataclass(eq=False, repr=False, kw_only=True)
class OptimalTrees(CostedClassifier):
    """The decision tree of a given depth with the lowest mean cost of features and errors.

    It is not grown greedily: STreeD (van der Linden et al. 2023) searches all trees whose splits
    are among given binary columns. A row pays for the features on its path. Of a feature with
    several fees, the search knows the largest as shared; a row's cost counts each once.

    Numeric inputs become columns by cuts, and each category is a column. Cuts between all values,
    or at 254 quantiles, are ranked. First come those of a greedy tree of the same depth, so that
    the optimal tree is no worse on its training rows if errors cost much. Then comes the best cut
    of every feature, then the others. Best are those that gain most in a random forest whose every
    split is the best one of an input drawn at random, so that an expensive input takes no cuts
    away from a cheap one. Columns are as many as a search can take in about half a second: for
    1,800 rows of three classes, 120 at depth 3 and 36 at depth 4.

    Parameters
    ----------
    error_cost : float
        Cost of an error, relative to the cost of all features.
    depth : int
        Largest number of splits on a path, up to 5.

    Attributes
    ----------
    leaves_ : list of (ndarray of shape (n_classes,), tuple)
        Smoothed class shares of each leaf's training rows, and the path to it.
    columns_ : tuple of ndarray
        The input and the cut of each binary column.

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

    needs: ClassVar = dict.fromkeys(("pystreed", "sksurv", "numexpr"), _PACKAGES)

    error_cost: float = 3.0
    depth: int = 3

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> Grid:  # noqa: ARG003 - no units
        """Depths of 2 to 4, with errors of a thirtieth of the cost of everything to 1,000 times."""
        error_costs = np.logspace(-1.5, 3, 14).round(4).tolist()
        return [
            {"depth": depth, "error_cost": cost} for depth, cost in product((2, 3, 4), error_costs)
        ]

    def _fit(self, rows: Floats, labels: Whole, weights: Floats) -> Flags:
        from pystreed import STreeDCostSensitiveClassifier
        from pystreed.data import CostSpecifier, FeatureCostSpecifier

        repeats = weights.astype(np.int64)
        if (repeats != weights).any():
            raise DataError("sample_weight must be whole numbers, since optimal trees repeat rows.")
        repeats //= np.gcd.reduce(repeats)
        rows, labels = np.repeat(rows, repeats, axis=0), np.repeat(labels, repeats)
        feature_of, n_classes = self.encoding_.input_feature, len(self.classes_)
        self.columns_ = best_cuts(rows, labels, feature_of, self.depth, self._seed())
        tests = [FeatureCostSpecifier(*test) for test in self._test_costs()]
        errors = self.error_cost * (self._prices.total or 1.0) * (1 - np.eye(n_classes))
        solver = STreeDCostSensitiveClassifier(max_depth=self.depth, time_limit=_LONGEST)
        columns, root = self._binary(rows), None
        if tests:
            solver.fit(columns.astype(np.intc), labels, CostSpecifier(errors.tolist(), tests))
            root = solver.get_tree()
        self.leaves_ = []
        for path in _paths(root):
            counts = np.bincount(labels[_reach(columns, path)], minlength=n_classes)
            shares = (counts + 1) / (counts.sum() + n_classes)  # Laplace
            self.leaves_.append((shares, path))
        asked = [column for _, path in self.leaves_ for column, _ in path]
        return np.isin(np.arange(len(self.costs_.names)), feature_of[self.columns_[0][asked]])

    def _judge(self, rows: Floats) -> Judged:
        columns, feature_of = self._binary(rows), self.encoding_.input_feature
        probabilities = np.empty((len(rows), len(self.classes_)))
        bought = np.zeros((len(rows), len(self.used_)), dtype=np.bool_)
        for shares, path in self.leaves_:
            here = _reach(columns, path)
            probabilities[here] = shares
            for column, _ in path:
                bought[here, feature_of[self.columns_[0][column]]] = True
        return probabilities, bought, 1

    def _binary(self, rows: Floats) -> Flags:
        inputs, cuts = self.columns_
        return rows[:, inputs] > cuts

    def _test_costs(self) -> Iterator[tuple[float, float, str, int, int]]:
        """Yield cost, cost once the fee is paid, fee, and first and last column of each feature."""
        prices, features = self._prices, self.encoding_.input_feature[self.columns_[0]]
        for feature in np.unique(features):
            columns = np.flatnonzero(features == feature)
            cost, fees = prices.alone[feature], prices.fees * prices.members[:, feature]
            group = f"fee{fees.argmax()}" if fees.any() else "x"  # none
            discounted = cost - fees.max(initial=0.0)
            yield float(cost), float(discounted), group, int(columns[0]), int(columns[-1])


def best_cuts(
    rows: Floats, labels: Whole, feature_of: Whole, depth: int, seed: int
) -> tuple[Whole, Floats]:
    """Choose binary columns: the input and the cut of each, features one after another."""
    cuts_of = [_cuts(column) for column in rows.T]
    sizes = np.array([len(cuts) for cuts in cuts_of])
    cuts, inputs = np.concatenate(cuts_of), np.repeat(np.arange(len(sizes)), sizes)
    starts = np.cumsum(sizes) - sizes
    codes = np.column_stack([np.searchsorted(*pair) for pair in zip(cuts_of, rows.T, strict=True)])

    def gains(model: Any) -> Floats:
        """What each cut gains in a tree."""
        tree = model.tree_
        splits = np.flatnonzero(tree.feature >= 0)
        lost = tree.weighted_n_node_samples * tree.impurity
        gained = lost[splits] - lost[tree.children_left[splits]] - lost[tree.children_right[splits]]
        # A split between the codes 3 and 4, or between 3 and 5 if no row here has 4, is cut 3.
        places = starts[tree.feature[splits]] + tree.threshold[splits].astype(np.int64)
        return np.bincount(places, gained, len(cuts)).astype(np.float64)

    greedy = DecisionTreeClassifier(max_depth=depth, random_state=seed).fit(codes, labels)
    forest = RandomForestClassifier(
        _TREES, max_depth=_LEVELS, max_features=1, bootstrap=False, random_state=seed
    ).fit(codes, labels)
    best_first = np.argsort(-sum(map(gains, forest.estimators_)), kind="stable")
    _, first = np.unique(feature_of[inputs[best_first]], return_index=True)
    is_first = np.isin(np.arange(len(cuts)), first)
    rank = np.where(gains(greedy)[best_first] > 0, 0, np.where(is_first, 1, 2))
    work = max(len(rows), _FEWEST_ROWS) * (int(labels.max()) + 1)
    n_columns = max(1, min(_MAX_COLUMNS, int((_WORK / work) ** (1 / depth))))
    chosen = np.sort(best_first[np.argsort(rank, kind="stable")][:n_columns])
    chosen = chosen[np.argsort(feature_of[inputs[chosen]], kind="stable")]
    return inputs[chosen], cuts[chosen]


def _cuts(column: Floats) -> Floats:
    """Cuts between all distinct values, or at quantiles if there are many."""
    values = np.unique(column)
    if len(values) > _BINS:
        shares = np.linspace(0, 1, _BINS + 1)[1:-1]
        return np.unique(np.quantile(column, shares, method="midpoint"))
    # The middle of two neighbours may be rounded to the upper one, which must stay above it.
    middle = values[:-1] + (values[1:] - values[:-1]) / 2
    return np.where(middle < values[1:], middle, values[:-1])


def _paths(node: Any, path: Path = ()) -> Iterator[Path]:
    """Yield the path to each leaf of a tree of STreeD; no tree is a leaf."""
    if node is None or node.is_leaf_node():
        yield path
    else:
        yield from _paths(node.left_child, (*path, (node.feature, False)))
        yield from _paths(node.right_child, (*path, (node.feature, True)))


def _reach(columns: Flags, path: Path) -> Flags:
    """Rows that take a path."""
    asked = [column for column, _ in path]
    return (columns[:, asked] == [answer for _, answer in path]).all(axis=1)
