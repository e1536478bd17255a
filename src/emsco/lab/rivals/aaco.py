"""AACO: a policy that asks similar training rows which features are worth their cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from scipy.spatial.distance import cdist

from emsco._base.checks import check_number, check_whole
from emsco._base.typing import BoolArray, FloatArray, IntArray, LabelArray
from emsco.costs import FeatureCosts
from emsco.data.random_states import random_of
from emsco.lab.rivals.base import CostedClassifier
from emsco.lab.rivals.light import dealt
from emsco.lab.rivals.set_costs import SetCosts
from emsco.models.boosting.trainer import BoostingJob, BoostingSize
from emsco.models.boosting.trees import TreeEnsemble
from emsco.models.outcome_engine import OutcomeRows
from emsco.models.scaling import Scaling
from emsco.models.shard import SplitData

_PRICES = (0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0, 2.0, 5.0, 10.0)  # that tuning tries
_MOST_ROWS = 1500  # that rows are compared with
_BLOCK = 200  # rows at a time, which limits memory
_MOST_KEPT = 2**25  # losses, which take 256 MB
_MANY = 2000  # rows that bear larger trees
_COPIES, _ROUNDS, _RATE, _LEAST, _L2 = 8, 80, 0.15, 40, 30.0  # of the boosted model


@dataclass(eq=False, repr=False, kw_only=True)
class AACO(CostedClassifier):
    """Acquisition conditioned oracle: features are bought one at a time, row by row.

    For a row with some known features, the nearest training rows by these features stand for what
    may come. A plan is a set of features to buy. Its worth is the mean log loss of the nearest rows
    with these features, plus `price` times what they cost beyond the known ones. If no plan beats
    buying nothing, the row gets its answer. Otherwise it buys the best single feature of the best
    plan, and looks again.

    One boosted model answers for every set of features. It is trained on copies of the rows in
    which features are blanked out. Losses are out of fold.

    Parameters
    ----------
    costs : mapping, array-like, FeatureCosts or None
        Cost of each feature: by name, or in column order; None: 1 each.
    price : float
        Log loss that all features together must save.
    n_neighbours : int
        Nearest training rows, of at most 1,500.
    n_plans : int
        Random sets of features; plans are these and all single features.
    random_state : int, RandomState or None
    gaps : {"refuse", "impute"}
        What to do with missing values. "refuse" raises an error; "impute" fills in the mean of the
        training rows and adds an indicator.

    Attributes
    ----------
    ensemble_ : TreeEnsemble

    References
    ----------
    Valancius, Lennon, Oliva: "Acquisition Conditioned Oracle for Nongreedy Active Feature
    Acquisition", ICML 2024.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(300, 3))
    >>> rival = AACO(costs=[1, 1, 8], price=0.5, random_state=0).fit(X, X[:, 0] > 0)
    >>> rival.decide(X[:3]).cost.tolist()
    [1.0, 1.0, 1.0]
    """

    price: float = 0.3
    n_neighbours: int = 100
    n_plans: int = 12

    @classmethod
    def grid(cls, costs: FeatureCosts, n_rows: int) -> list[dict[str, Any]]:  # noqa: ARG003
        """One fit, which contains prices from 0.03 to 10."""
        return [{"price": _PRICES[-1]}]

    def staged(self) -> Iterator[tuple[dict[str, Any], Self]]:
        """Yield this rival with other prices, and last with its own."""
        return self._with_prices(_PRICES)

    def _fit(self, rows: FloatArray, labels: LabelArray, weights: FloatArray | None) -> None:
        check_number("price", self.price, 0, np.inf, "[)")
        n_neighbours = check_whole("n_neighbours", self.n_neighbours, 1)
        n_plans = check_whole("n_plans", self.n_plans, 0)
        rng = random_of(self.random_state)
        seed = int(rng.randint(2**31 - 1))
        some = np.flatnonzero(dealt(labels, -(-len(rows) // _MOST_ROWS), rng) == 0)
        half = dealt(labels, 2, rng)
        leaves = 31 if len(rows) >= _MANY else 16
        size = BoostingSize(_COPIES, _ROUNDS, leaves, _RATE, _LEAST, _L2)

        def trained(train: IntArray) -> TreeEnsemble:
            """Train the model that answers for every set of features."""
            data = SplitData(rows, labels, train, train[:0], len(self.classes_), weights)
            split = OutcomeRows.from_split(data, seed=seed)
            return BoostingJob(split, self.encoding_.input_feature).shared(size)

        self.ensemble_ = trained(np.arange(len(rows)))
        folds = [(trained(np.flatnonzero(half != k)), half[some] == k) for k in (0, 1)]
        n_features = len(self.costs_.names)
        self._scaling = Scaling.learn(rows, weights)
        self._oracle = _Oracle(
            rows=self._scaling.standardised(rows[some]),
            labels=labels[some],
            weights=np.ones(len(some)) if weights is None else weights[some],
            folds=[(model, here, model.code(rows[some][here])) for model, here in folds],
            input_feature=self.encoding_.input_feature,
            plans=rng.uniform(size=(n_plans, n_features)) < rng.uniform(size=(n_plans, 1)),
            prices=self._prices.as_shares(),
            n_neighbours=min(n_neighbours, len(some)),
        )
        self.used_ = np.ones(n_features, dtype=np.bool_)

    def _judge(self, rows: FloatArray) -> tuple[FloatArray, FloatArray]:
        scaled, codes = self._scaling.standardised(rows), self.ensemble_.code(rows)
        known = np.zeros((len(rows), len(self.costs_.names)), dtype=np.bool_)
        asking = np.arange(len(rows))
        while len(asking):
            asks = []
            # Rows that know the same features share their plans, so they are asked together.
            for state, place in _by_state(known[asking]):
                here = asking[place]
                bought = self._oracle.next_features(state, scaled[here], self.price)
                here, bought = here[bought >= 0], bought[bought >= 0]
                known[here, bought] = True
                asks.append(here)
            asking = np.concatenate(asks)
        probabilities = np.empty((len(rows), len(self.classes_)))
        for state, place in _by_state(known):
            reads = state[self.encoding_.input_feature]
            probabilities[place] = self.ensemble_.shares(
                np.ascontiguousarray(codes[:, place]), reads
            )
        return probabilities, self._prices.of(known)


@dataclass(frozen=True, slots=True, eq=False)
class _Oracle:
    """Training rows with their losses, which tell what features are worth.

    Attributes
    ----------
    rows : ndarray of shape (n_rows, n_inputs)
        Standardised.
    labels, weights : ndarray of shape (n_rows,)
    folds : list of (TreeEnsemble, ndarray of bool, ndarray)
        A model, the rows it was not trained on, and their codes.
    input_feature : ndarray of shape (n_inputs,)
    plans : ndarray of bool, shape (n_plans, n_features)
    prices : SetCosts
        As shares of the price of everything.
    n_neighbours : int
    losses : dict
        Losses of the rows, by set of features, as far as they were asked for lately.
    """

    rows: FloatArray
    labels: LabelArray
    weights: FloatArray
    folds: list[tuple[TreeEnsemble, BoolArray, LabelArray]]
    input_feature: IntArray
    plans: BoolArray
    prices: SetCosts
    n_neighbours: int
    losses: dict[bytes, FloatArray] = field(default_factory=dict)

    def next_features(self, state: BoolArray, asking: FloatArray, price: float) -> IntArray:
        """The feature that each row should buy next, or -1 if it should stop.

        Parameters
        ----------
        state : ndarray of bool, shape (n_features,)
            Features that the rows know.
        asking : ndarray of shape (n_asking, n_inputs)
            Standardised rows, of which only known features are read.
        price : float
        """
        new = np.flatnonzero(~state)
        if not len(new):
            return np.full(len(asking), -1, dtype=np.int64)
        single = np.eye(len(state), dtype=np.bool_)[new]
        plans = np.concatenate([state[None], state | single, state | self.plans])
        worth = self._expected(plans, state, asking)
        worth += price * self.prices.after(state).of(plans)[:, None]
        best = worth.argmin(axis=0)
        # Lines 1 to len(new) of `worth` are single features; only those of the best plan count.
        alone = np.where(plans[best][:, new].T, worth[1 : 1 + len(new)], np.inf)
        stops = (plans[best] == state).all(axis=1)
        return np.where(stops, -1, new[alone.argmin(axis=0)])

    def _expected(self, plans: BoolArray, state: BoolArray, asking: FloatArray) -> FloatArray:
        """Mean loss of the neighbours of each row with each plan, (n_plans, n_asking)."""
        losses = self._losses_of(plans)
        reads = state[self.input_feature]
        if not reads.any():
            same = np.average(losses, axis=1, weights=self.weights)
            return np.repeat(same[:, None], len(asking), axis=1)
        pool = np.ascontiguousarray(self.rows[:, reads])
        means = []
        for start in range(0, len(asking), _BLOCK):
            # cdist, and sums row by row, so that a row's answer does not depend on the other rows.
            far = cdist(asking[start : start + _BLOCK, reads], pool, "sqeuclidean")
            near = np.argpartition(far, self.n_neighbours - 1, axis=1)[:, : self.n_neighbours]
            weights = self.weights[near]
            weights /= weights.sum(axis=1, keepdims=True)
            means.append((losses[:, near] * weights).sum(axis=2))
        return np.hstack(means)

    def _losses_of(self, plans: BoolArray) -> FloatArray:
        """Out-of-fold log loss of every row with each plan, (n_plans, n_rows)."""
        if len(self.losses) * len(self.rows) > _MOST_KEPT:
            self.losses.clear()  # rows of many features ask for more sets than memory holds
        lacking = {plan.tobytes(): plan for plan in plans if plan.tobytes() not in self.losses}
        if lacking:
            losses = np.empty((len(lacking), len(self.rows)))
            reads = np.stack(list(lacking.values()))[:, self.input_feature]
            for model, here, codes in self.folds:
                losses[:, here] = _log_losses(model.logits(codes, reads), self.labels[here])
            self.losses.update(zip(lacking, losses, strict=True))
        return np.stack([self.losses[plan.tobytes()] for plan in plans])


def _log_losses(logits: FloatArray, labels: LabelArray) -> FloatArray:
    """Log loss of the true class, from logits (n_subsets, n_outputs, n_rows)."""
    if logits.shape[1] == 1:
        wrong: FloatArray = np.where(labels == 1, -logits[:, 0], logits[:, 0])
        return np.logaddexp(0.0, wrong)
    total = np.logaddexp.reduce(logits, axis=1)
    losses: FloatArray = total - logits[:, labels, np.arange(len(labels))]
    return losses


def _by_state(known: BoolArray) -> Iterator[tuple[BoolArray, IntArray]]:
    """Distinct states, each with the places of its rows."""
    states, state_of = np.unique(known, axis=0, return_inverse=True)
    for k, state in enumerate(states):
        yield state, np.flatnonzero(state_of.reshape(-1) == k)
