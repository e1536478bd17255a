"""A cascade of classifiers over groups of features in the order of costs."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cache, partial
from itertools import product
from typing import ClassVar, Self

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from emsco import FeatureCosts
from emsco_lab.rivals.base import Grid, Setting
from emsco_lab.rivals.cost_ordered import InTurn, Model
from emsco_lab.rivals.encoding import Flags, Floats, Whole
from emsco_lab.rivals.light import LightRival, chances
from emsco_lab.rivals.set_costs import buying_order

_MODELS = ("boosting", "logistic")
_GROUPS = (2, 3, 4)
_THRESHOLDS = (0.0, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999)


@dataclass(eq=False, repr=False, kw_only=True)
class ThresholdCascade(InTurn, LightRival):
    """A threshold cascade, as in scikit-fallback, whose classifiers read more and more features.

    Features are sorted by cost, and cut into groups of about the same number; equal costs stay
    together. If features share fees, the order is that in which they are cheapest next, once the
    fees of those before are paid. The first classifier reads the cheapest group, the next one also
    the second group, and so on. A row exits at the first classifier that is sure enough; the last
    one answers all rows that are left. A row pays for the features that its classifiers read.

    Parameters
    ----------
    n_groups : int
        Number of groups, up to 4; fewer if there are fewer distinct costs.
    model : {"boosting", "logistic"}
        Classifiers: LightGBM, or logistic regression on standardised inputs.
    threshold : float
        Confidence from which a row exits.

    Attributes
    ----------
    groups_ : ndarray of int, shape (n_features,)
        Group of each feature, from 0.
    models_ : list of callable
        Each returns class probabilities.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> rival = ThresholdCascade(costs=[1, 9, 9], n_groups=2, model="logistic", threshold=0.9)
    >>> rival.fit(X, X[:, 0] + 0.1 * X[:, 1] > 0).groups_.tolist()
    [0, 1, 1]
    >>> rival.decide([[2, 0, 0], [0, 0, 0]]).cost.tolist()
    [1.0, 19.0]
    """

    choices: ClassVar = {"model": _MODELS, "n_groups": (1, *_GROUPS)}
    exits_from: ClassVar = "threshold"

    n_groups: int = 3
    model: str = "boosting"
    threshold: float = 0.9

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> Grid:  # noqa: ARG003 - no units
        """Up to four groups, with both models; each fit contains thresholds from 0 to 1."""
        n_levels = int(buying_order(costs).max()) + 1
        return [
            {"n_groups": n_groups, "model": model, "threshold": 1.0}
            for n_groups, model in product(_GROUPS, _MODELS)
            if n_groups <= max(n_levels, _GROUPS[0])
        ]

    def staged(self) -> Iterator[tuple[Setting, Self]]:
        """Yield this rival with other thresholds, and last with its own."""
        for threshold in _THRESHOLDS:
            stage = copy(self)
            stage.threshold = threshold
            yield {"threshold": threshold}, stage
        yield {}, self

    def _fit(self, rows: Floats, labels: Whole, weights: Floats) -> Flags:
        order = buying_order(self.costs_)
        cuts = _cuts(np.bincount(order), self.n_groups)
        self.groups_ = np.searchsorted(cuts, order, side="right")
        seed = self._seed()

        def fit(reads: Flags) -> Model:
            if self.model == "boosting":
                booster = self._train(rows[:, reads], labels, weights, seed=seed)
                return partial(chances, booster, n_trees=self.n_trees)
            model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
            model.fit(rows[:, reads], labels, logisticregression__sample_weight=weights)
            return model.predict_proba

        return self._fit_in_turn(self.groups_, fit)


def _cuts(sizes: Whole, n_groups: int) -> tuple[int, ...]:
    """Places that cut levels into groups with the least sum of squared sizes; if tied, the first.

    There are fewer groups if there are fewer levels.
    """
    total = np.cumsum([0, *sizes])

    @cache
    def best(start: int, n_left: int) -> tuple[int, tuple[int, ...]]:
        """Least sum for the levels from `start` on in so many groups, and its cuts."""
        if n_left == 1:
            return (total[-1] - total[start]) ** 2, ()
        choices = []
        for cut in range(start + 1, len(total) - n_left + 1):
            rest, cuts = best(cut, n_left - 1)
            choices.append(((total[cut] - total[start]) ** 2 + rest, (cut, *cuts)))
        return min(choices)

    return best(0, min(n_groups, len(sizes)))[1]
