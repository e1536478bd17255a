"""LightGBM on one fixed subset of the features, the best that a budget affords."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache
from itertools import product
from typing import Any, Self, TypeAlias

import numpy as np
from sklearn.utils import check_random_state

from emsco import FeatureCosts
from emsco_lab.rivals.base import STAGES, Grid, Judged, Setting
from emsco_lab.rivals.encoding import Flags, Floats, Whole
from emsco_lab.rivals.light import LightRival, chances, dealt

Subset: TypeAlias = frozenset[int]

_BUDGETS = (0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.55, 0.7, 0.85)  # that a fit contains
_LEAVES = (4, 16)
_MOST_ROWS, _FOLDS = 6000, 3  # that score subsets
_SCORING_TREES = (2, 5, 10, 20)
_SCORING = {
    "learning_rate": 0.2,
    "num_leaves": 8,
    "min_data_in_leaf": 10,
    "num_threads": 1,
    "n_trees": _SCORING_TREES[-1],
}


@dataclass(eq=False, repr=False, kw_only=True)
class FixedSubset(LightRival):
    """Boosted trees of LightGBM that buy the same features for every row.

    Features are taken one at a time, as long as the budget affords them and the log loss on
    held-out rows falls: once by the largest gain per unit of cost, once by the largest gain. The
    better of the two subsets counts. With a budget of 1 it is LightGBM on all features.

    Parameters
    ----------
    budget : float
        Largest cost of the subset, as a share of the cost of all features.

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
    def grid(cls, costs: FeatureCosts, n_rows: int) -> Grid:  # noqa: ARG003 - one for all
        """One fit, which contains budgets from 0.01 to 1, two sizes of trees and up to 200."""
        return [{"budget": 1.0, "max_leaves": _LEAVES[-1], "n_trees": 200}]

    def staged(self) -> Iterator[tuple[Setting, Self]]:
        """Yield this rival with smaller budgets, smaller and fewer trees, and last as it is."""
        for (budget, max_leaves), (used, booster) in self._boosters.items():
            for n_trees in _up_to(self.n_trees, STAGES[3:]):
                differs = {"budget": budget, "max_leaves": max_leaves, "n_trees": n_trees}
                if any(getattr(self, name) != value for name, value in differs.items()):
                    stage = copy(self).set_params(**differs)
                    stage.used_, stage.booster_ = used, booster
                    yield differs, stage
        yield {}, self

    def _fit(self, rows: Floats, labels: Whole, weights: Floats) -> Flags:
        rng = check_random_state(self.random_state)
        seed = int(rng.randint(2**31 - 1))
        # Some rows, in folds, score subsets with small models.
        some = dealt(labels, -(-len(rows) // _MOST_ROWS), rng) == 0
        fold = dealt(labels[some], _FOLDS, rng)

        @cache
        def loss(subset: Subset) -> float:
            """Mean log loss on held-out rows."""
            read, losses = self._columns(rows[some], subset), []
            for out in (fold == k for k in range(min(_FOLDS, len(fold)))):
                fitted = self._train(
                    read[~out], labels[some][~out], weights[some][~out], seed=seed, **_SCORING
                )
                truth = np.arange(out.sum()), labels[some][out]
                said = [chances(fitted, read[out], n_trees)[truth] for n_trees in _SCORING_TREES]
                logs = np.log(np.maximum(said, 1e-15))
                losses.append(-np.average(logs, axis=1, weights=weights[some][out]))
            return float(np.mean(losses, axis=0).min())

        @cache
        def trained(subset: Subset, leaves: int) -> Any:
            read = self._columns(rows, subset)
            return self._train(read, labels, weights, seed=seed, num_leaves=leaves)

        self._boosters: dict[tuple[float, int], tuple[Flags, Any]] = {}
        budgets, sizes = _up_to(self.budget, _BUDGETS), _up_to(self.max_leaves, _LEAVES)
        for budget, leaves in product(budgets, sizes):
            subset = self._chosen(budget, loss)
            self._boosters[budget, leaves] = self._mask(subset), trained(subset, leaves)
        used, self.booster_ = self._boosters[self.budget, self.max_leaves]
        return used

    def _judge(self, rows: Floats) -> Judged:
        read = self._columns(rows, frozenset(np.flatnonzero(self.used_).tolist()))
        return chances(self.booster_, read, self.n_trees), self.used_, 1

    def _chosen(self, budget: float, loss: Callable[[Subset], float]) -> Subset:
        """The better of two greedy subsets that cost at most a share of everything."""
        prices = self._prices
        if budget >= 1:
            return frozenset(range(len(prices.features)))
        max_cost = budget * prices.total * (1 + 1e-12)

        def cost(subset: Subset) -> float:
            return float(prices.of(self._mask(subset)))

        def greedy(*, per_cost: bool) -> Subset:
            """Take the feature with the largest gain, per unit of cost or not, again and again."""
            taken: Subset = frozenset()
            gains = np.full(len(prices.features), np.inf)
            while True:
                new = prices.after(self._mask(taken)).alone  # fees that are paid count no more
                # Features that cost nothing come first.
                per = np.maximum(new, 1e-6 * prices.alone.max()) if per_cost else 1.0
                affordable = set(np.flatnonzero(new <= max_cost - cost(taken)).tolist()) - taken
                measured: set[int] = set()
                # Gains seldom grow as features are taken: an old gain is an upper bound, and only
                # the leader is measured anew, until it stays the leader.
                while affordable:
                    best = max(sorted(affordable), key=(gains / per).__getitem__)
                    if best in measured:
                        break
                    gains[best] = loss(taken) - loss(taken | {best})
                    measured.add(best)
                if not affordable or gains[best] <= 0:
                    return taken
                taken |= {best}

        subsets = greedy(per_cost=True), greedy(per_cost=False)
        return min(subsets, key=lambda subset: (loss(subset), cost(subset)))

    def _mask(self, subset: Subset) -> Flags:
        return np.isin(np.arange(len(self.costs_.names)), list(subset))

    def _columns(self, rows: Floats, subset: Subset) -> Floats:
        """Inputs of some features; a constant one if that is none, since LightGBM needs one."""
        which = np.isin(self.encoding_.input_feature, list(subset))
        return rows[:, which] if which.any() else np.zeros((len(rows), 1))


def _up_to(last: Any, values: Sequence[Any]) -> list[Any]:
    """Those of the values that are below the last, and the last."""
    return [*(value for value in values if value < last), last]
