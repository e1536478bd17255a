"""LightGBM on one fixed subset of the features, the best that a budget affords."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Self, TypeAlias, TypeVar

import numpy as np

from emsco._base.checks import check_number
from emsco._base.typing import BoolArray, FloatArray, LabelArray
from emsco.costs import FeatureCosts
from emsco.data.random_states import random_of
from emsco_lab.rivals.light import LightRival, chances, dealt, train_light
from emsco_lab.rivals.set_costs import SetCosts

Number = TypeVar("Number", int, float)
Subset: TypeAlias = frozenset[int]

# Shares of the cost of everything; stages of a fit.
_BUDGETS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.7, 0.85)
_STAGES = (10, 20, 50, 100, 200, 500, 1000)  # numbers of trees that tuning tries
_LEAVES = (4, 16)  # sizes of trees that tuning tries
_MOST_ROWS = 6000  # that score subsets
_FOLDS = 3
_SCORING_TREES = (2, 5, 10, 20)
_SCORING = {"learning_rate": 0.2, "num_leaves": 8, "min_data_in_leaf": 10, "num_threads": 1}


@dataclass(eq=False, repr=False, kw_only=True)
class FixedSubset(LightRival):
    """Boosted trees of LightGBM that buy the same features for every row.

    Features are taken one at a time, as long as the budget affords them and the log loss on
    held-out rows falls: once by the largest gain per unit of cost, once by the largest gain. The
    better of the two subsets counts. With a budget of 1 it is LightGBM on all features.

    Parameters
    ----------
    costs : mapping, array-like, FeatureCosts or None
        Cost of each feature: by name, or in column order; None: 1 each.
    budget : float
        Largest cost of the subset, as a share of the cost of all features.
    n_trees, learning_rate, max_leaves, min_rows
        Rounds of boosting, each with a tree per class if there are three or more; share of each
        tree that counts; most leaves of a tree and fewest rows of a leaf.
    n_jobs : int or None
        Threads, as in joblib; on small data one is fastest.
    random_state : int, RandomState or None
        Draws the held-out rows.
    gaps : {"refuse", "impute"}
        What to do with missing values. "refuse" raises an error; "impute" fills in the mean of the
        training rows and adds an indicator.

    Attributes
    ----------
    booster_ : lightgbm.Booster

    Notes
    -----
    A gain counts from an earlier step until its feature comes first, and only then is it measured
    anew. That saves most fits. A subset is scored by its best number of up to 20 trees, on three
    folds of at most 6,000 rows. A fit also holds rivals of smaller budgets and trees, see `staged`.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> y = X[:, 0] + X[:, 2] > 0
    >>> rival = FixedSubset(costs=[2, 1, 7], budget=0.3, random_state=0).fit(X, y)
    >>> rival.used_.tolist(), rival.decide(X).cost.max().item()
    ([True, False, False], 2.0)
    """

    budget: float = 1.0

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> list[dict[str, Any]]:  # noqa: ARG003
        """One fit, which contains budgets from 0.01 to 1, two sizes of trees and up to 200."""
        return [{"budget": 1.0, "max_leaves": _LEAVES[-1], "n_trees": 200}]

    def staged(self) -> Iterator[tuple[dict[str, Any], Self]]:
        """Yield this rival with smaller budgets, smaller and fewer trees, and last as it is."""
        for (budget, max_leaves), (used, booster) in self._boosters.items():
            for n_trees in _up_to(self.n_trees, _STAGES):
                stage = copy(self)
                stage.budget, stage.max_leaves, stage.n_trees = budget, max_leaves, n_trees
                stage.used_, stage.booster_ = used, booster
                differs = {"budget": budget, "max_leaves": max_leaves, "n_trees": n_trees}
                if any(getattr(self, name) != value for name, value in differs.items()):
                    yield differs, stage
        yield {}, self

    def _fit(self, rows: FloatArray, labels: LabelArray, weights: FloatArray | None) -> None:
        check_number("budget", self.budget, 0, 1)
        rng = random_of(self.random_state)
        settings = self._light_settings(int(rng.randint(2**31 - 1)))
        brings = self._features_of(np.eye(self.encoding_.n_inputs, dtype=np.bool_)).T
        # Some rows, in folds, score subsets with small models.
        some = dealt(labels, -(-len(rows) // _MOST_ROWS), rng) == 0
        fold = dealt(labels[some], _FOLDS, rng)
        chooser = _Chooser(
            rows[some],
            labels[some],
            np.ones(some.sum()) if weights is None else weights[some],
            tuple(fold == k for k in range(min(_FOLDS, len(fold)))),
            brings,
            {**settings, **_SCORING},
        )
        trained: dict[tuple[Subset, int], Any] = {}
        self._boosters: dict[tuple[float, int], tuple[BoolArray, Any]] = {}
        for budget, leaves in product(
            _up_to(self.budget, _BUDGETS), _up_to(self.max_leaves, _LEAVES)
        ):
            subset = chooser.choose(self._prices, budget)
            used = np.isin(np.arange(len(self.costs_.names)), list(subset))
            if (subset, leaves) not in trained:
                read = _columns(rows, used[self.encoding_.input_feature])
                trained[subset, leaves] = train_light(
                    read, labels, weights, {**settings, "num_leaves": leaves}, self.n_trees
                )
            self._boosters[budget, leaves] = used, trained[subset, leaves]
        self.used_, self.booster_ = self._boosters[self.budget, self.max_leaves]

    def _judge(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        read = _columns(rows, self.used_[self.encoding_.input_feature])
        cost = np.full(len(rows), float(self._prices.of(self.used_)))
        return chances(self.booster_, read, self.n_trees), cost


@dataclass(frozen=True, slots=True, eq=False)
class _Chooser:
    """Chooses subsets by their log loss on held-out rows, and scores no subset twice.

    Attributes
    ----------
    rows, labels, weights
        The rows that take part.
    folds : tuple of ndarray of bool, shape (n_rows,)
        Rows that are held out, fold by fold.
    brings : ndarray of bool, shape (n_features, n_inputs)
    settings : dict
    losses : dict
        Subsets scored so far.
    """

    rows: FloatArray
    labels: LabelArray
    weights: FloatArray
    folds: tuple[BoolArray, ...]
    brings: BoolArray
    settings: dict[str, Any]
    losses: dict[Subset, float] = field(default_factory=dict)

    def choose(self, prices: SetCosts, budget: float) -> Subset:
        """The better of two greedy subsets that cost at most a share of everything."""
        if budget >= 1:
            return frozenset(range(len(prices.features)))
        max_cost = budget * prices.total * (1 + 1e-12)
        subsets = [self._greedy(prices, max_cost, per_cost) for per_cost in (True, False)]
        return min(subsets, key=lambda subset: (self.loss(subset), _cost(prices, subset)))

    def loss(self, subset: Subset) -> float:
        """Mean log loss on the held-out rows."""
        if subset not in self.losses:
            read = _columns(self.rows, np.any(self.brings[list(subset)], axis=0))
            losses = np.zeros((len(self.folds), len(_SCORING_TREES)))
            for fold, out in enumerate(self.folds):
                fitted = train_light(
                    read[~out],
                    self.labels[~out],
                    self.weights[~out],
                    self.settings,
                    _SCORING_TREES[-1],
                )
                truth, weights = self.labels[out], self.weights[out]
                for i, n_trees in enumerate(_SCORING_TREES):
                    chance = chances(fitted, read[out], n_trees)[np.arange(len(truth)), truth]
                    logs = np.log(np.maximum(chance, 1e-15))
                    losses[fold, i] = -np.average(logs, weights=weights)
            self.losses[subset] = float(losses.mean(axis=0).min())
        return self.losses[subset]

    def _greedy(self, prices: SetCosts, max_cost: float, per_cost: bool) -> Subset:
        """Take the feature with the largest gain, per unit of cost or not, again and again."""
        taken: Subset = frozenset()
        gains = np.full(len(prices.features), np.inf)
        while True:
            new = prices.after(_mask(prices, taken)).alone  # fees that are paid count no more
            # Features that cost nothing come first.
            per = np.maximum(new, 1e-6 * prices.alone.max()) if per_cost else np.ones(len(new))
            left = max_cost - _cost(prices, taken)
            may = [f for f in range(len(new)) if f not in taken and new[f] <= left]
            measured: set[int] = set()
            # Gains seldom grow as features are taken: an old gain is an upper bound, and only the
            # leader is measured anew, until it stays the leader.
            while may and (best := max(may, key=(gains / per).__getitem__)) not in measured:
                gains[best] = self.loss(taken) - self.loss(taken | {best})
                measured.add(best)
            if not may or gains[best] <= 0:
                return taken
            taken |= {best}


def _up_to(last: Number, values: tuple[Number, ...]) -> list[Number]:
    """Those of the values that are below the last, and the last."""
    below: list[Number] = [value for value in values if value < last]
    below.append(last)
    return below


def _columns(rows: FloatArray, which: BoolArray) -> FloatArray:
    """Some columns; a constant one if that is none, since LightGBM needs one."""
    return rows[:, which] if which.any() else np.zeros((len(rows), 1))


def _mask(prices: SetCosts, subset: Subset) -> BoolArray:
    mask = np.zeros(len(prices.features), dtype=np.bool_)
    mask[list(subset)] = True
    return mask


def _cost(prices: SetCosts, subset: Subset) -> float:
    fees = prices.fees.of_subsets(_mask(prices, subset))
    return float(prices.features[list(subset)].sum() + fees)
