"""scikit-fallback's cascade of classifiers, over groups of features in the order of costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from emsco._base.checks import check_choice, check_number, check_whole, refused
from emsco._base.text import counted
from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray
from emsco.cascade import Decisions
from emsco.costs import FeatureCosts
from emsco.data.random_states import draw_seed
from emsco_lab.rivals.base import Package
from emsco_lab.rivals.light import LightRival, chances, train_light
from emsco_lab.rivals.set_costs import buying_order

_MODELS = ("boosting", "logistic")
_GROUPS = (2, 3, 4)
_THRESHOLDS = (0.0, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999)
_MAX_GROUPS = 4
_MAX_STEPS = 1000


@dataclass(eq=False, repr=False, kw_only=True)
class ThresholdCascade(LightRival):
    """A threshold cascade of scikit-fallback whose classifiers read more and more features.

    Features are sorted by cost, and cut into groups of about the same number; equal costs stay
    together. If features share fees, the order is that in which they are cheapest next, once the
    fees of those before are paid. The first classifier reads the cheapest group, the next one also
    the second group, and so on. A row exits at the first classifier that is sure enough; the last
    one answers all rows that are left. A row pays for the features that its classifiers read.

    Parameters
    ----------
    costs : mapping, array-like, FeatureCosts or None
        Cost of each feature: by name, or in column order; None: 1 each.
    n_groups : int
        Number of groups; fewer if there are fewer distinct costs.
    model : {"boosting", "logistic"}
        Classifiers: LightGBM, or logistic regression on standardised inputs.
    threshold : float or sequence of float
        Confidence from which a row exits, for all classifiers or for each but the last.
    n_trees, learning_rate, max_leaves, min_rows
        Of LightGBM: rounds of boosting, share of each tree that counts, most leaves of a tree and
        fewest rows of a leaf.
    n_jobs : int or None
        Threads of LightGBM, as in joblib; on small data one is fastest.
    random_state : int, RandomState or None
    gaps : {"refuse", "impute"}
        What to do with missing values. "refuse" raises an error; "impute" fills in the mean of the
        training rows and adds an indicator.

    Attributes
    ----------
    groups_ : ndarray of int, shape (n_features,)
        Group of each feature, from 0.
    cascade_ : skfb.ensemble.ThresholdCascadeClassifier

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> rival = ThresholdCascade(costs=[1, 9, 9], n_groups=2, model="logistic", threshold=0.9)
    >>> rival.fit(X, X[:, 0] + 0.1 * X[:, 1] > 0).groups_.tolist()
    [0, 1, 1]
    >>> rival.decide([[2, 0, 0], [0, 0, 0]]).cost.tolist()
    [1.0, 19.0]
    """

    needs: ClassVar[tuple[Package, ...]] = (*LightRival.needs, Package("skfb", "scikit-fallback"))

    n_groups: int = 3
    model: str = "boosting"
    threshold: float | Sequence[float] = 0.9

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> list[dict[str, Any]]:  # noqa: ARG003
        """Up to four groups, with both models; each fit contains thresholds from 0 to 1."""
        n_levels = int(buying_order(costs).max()) + 1
        return [
            {"n_groups": n_groups, "model": model, "threshold": 1.0}
            for n_groups in _GROUPS
            if n_groups <= max(n_levels, _GROUPS[0])
            for model in _MODELS
        ]

    def staged(self) -> Iterator[tuple[dict[str, Any], Self]]:
        """Yield this rival with other thresholds for all classifiers, and last with its own."""
        for threshold in _THRESHOLDS:
            stage = copy(self)
            stage.threshold = threshold
            stage.cascade_ = _cascade(self.cascade_.estimators_, stage._thresholds())
            yield {"threshold": threshold}, stage
        yield {}, self

    @property
    def model_cost_(self) -> float:
        """Cost of a row that reaches the last classifier."""
        return float(self._stage_costs()[-1]) + self.costs_.evaluation

    def _fit(self, rows: FloatArray, labels: LabelArray, weights: FloatArray | None) -> None:
        n_groups = check_whole("n_groups", self.n_groups, 1, _MAX_GROUPS)
        # The cheapest features are group 0; sizes are as equal as equal steps allow.
        order = buying_order(self.costs_)
        sizes = np.bincount(order)
        cuts = _cuts(sizes, min(n_groups, len(sizes)))
        self.groups_ = np.searchsorted(np.array(cuts), order, side="right").astype(np.int64)
        self.used_ = np.ones(len(self.groups_), dtype=np.bool_)
        thresholds = self._thresholds()
        seed = draw_seed(self.random_state)
        reads = self._reached()[:, self.encoding_.input_feature]
        stages = [self._steps(np.flatnonzero(here), seed) for here in reads]
        for stage in stages:
            stage.fit(rows, labels, model__sample_weight=weights)
        self.cascade_ = _cascade(stages, thresholds)

    def _judge(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        probabilities, stage = self._exits(rows)
        return probabilities, self._stage_costs()[stage]

    def _decide(self, rows: FloatArray) -> Decisions:
        probabilities, stage = self._exits(rows)
        return self._decided(probabilities, self._stage_costs()[stage], stage + 1)

    def _buys(self) -> tuple[tuple[str, ...], ...]:
        names = np.array(self.costs_.names, dtype=object)
        return tuple(tuple(names[self.groups_ == g]) for g in range(self.groups_.max() + 1))

    def _exits(self, rows: FloatArray) -> tuple[FloatArray, IntArray]:
        """Class probabilities at each row's exit, and the exit's position."""
        probabilities = self.cascade_.predict_proba(rows)
        return np.asarray(probabilities), probabilities.ensemble_mask.toarray().argmax(axis=1)

    def _reached(self) -> BoolArray:
        """Features that each classifier reads, (n_groups, n_features)."""
        return self.groups_ <= np.arange(self.groups_.max() + 1)[:, None]

    def _stage_costs(self) -> FloatArray:
        """Cost of a row at each exit, without the first evaluation, which every rival pays."""
        costs = self._prices.of(self._reached())
        return costs + self.costs_.evaluation * np.arange(len(costs))

    def _thresholds(self) -> list[float]:
        """Threshold of every classifier but the last."""
        n_exits = int(self.groups_.max())
        one = self.threshold
        given = list(one) if isinstance(one, Sequence) else [one] * n_exits
        if len(given) != n_exits:
            raise refused(
                "threshold",
                f"be a number or {counted(n_exits, 'number')}, one for each group but the last",
                self.threshold,
            )
        return [check_number("threshold", each, 0, 1) for each in given]

    def _steps(self, columns: IntArray, seed: int) -> Pipeline:
        """An unfitted classifier that reads some of the inputs."""
        bought = ColumnTransformer([("bought", "passthrough", columns)])
        if check_choice("model", self.model, _MODELS) == "logistic":
            last = LogisticRegression(max_iter=_MAX_STEPS)
            return Pipeline([("bought", bought), ("scale", StandardScaler()), ("model", last)])
        model = _Light(self._light_settings(seed), self.n_trees)
        return Pipeline([("bought", bought), ("model", model)])


class _Light(ClassifierMixin, BaseEstimator):  # type: ignore[misc]  # no stubs
    """LightGBM as a step of a pipeline, for labels 0, 1, …."""

    def __init__(self, settings: dict[str, Any], n_trees: int) -> None:
        self.settings = settings
        self.n_trees = n_trees

    def fit(self, X: FloatArray, y: LabelArray, sample_weight: FloatArray | None = None) -> Self:
        """Train the trees."""
        self.classes_ = np.unique(y)
        self.booster_ = train_light(X, y, sample_weight, self.settings, self.n_trees)
        return self

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Class probabilities, (n_rows, n_classes)."""
        return chances(self.booster_, X, self.n_trees)


def _cuts(sizes: IntArray, n_groups: int) -> list[int]:
    """Places that cut levels into groups with the least sum of squared sizes; if tied, the first.

    `min_sums[i]` is that sum for the levels from i on. It grows group by group, from the last.
    """
    # Dynamic programming over the start of a group: `ends` remembers where each group should end.
    total, n_levels = np.cumsum([0, *sizes]), len(sizes)
    min_sums = (total[-1] - total) ** 2.0
    min_sums[-1] = np.inf  # a group has a level
    ends = []
    for _ in range(n_groups - 1):
        sums = np.full((n_levels + 1, n_levels + 1), np.inf)
        start, end = np.triu_indices(n_levels + 1, 1)
        sums[start, end] = (total[end] - total[start]) ** 2 + min_sums[end]
        ends.append(sums.argmin(axis=1))
        min_sums = sums.min(axis=1)
    cuts, here = [], 0
    for end_of in reversed(ends):
        here = int(end_of[here])
        cuts.append(here)
    return cuts


def _cascade(stages: list[Pipeline], thresholds: list[float]) -> Any:
    """scikit-fallback's cascade of fitted classifiers."""
    from skfb.ensemble import ThresholdCascadeClassifier

    return ThresholdCascadeClassifier(stages, thresholds, prefit=True)
