"""Metrics for decisions, and scorers for GridSearchCV, cross_validate and the like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.pipeline import Pipeline

from emsco._base.objectives import balanced_length
from emsco.cascade import Decisions
from emsco.errors import DataError, ParameterError

__all__ = [
    "balanced_score",
    "coverage_score",
    "make_selective_scorer",
    "mean_cost_score",
    "selective_accuracy_score",
]


def coverage_score(y_true: ArrayLike, decisions: Decisions) -> float:
    """Share of rows that got a label.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
    decisions : Decisions

    Examples
    --------
    >>> decisions = Decisions(
    ...     guesses=np.array([0, 1, 1]),
    ...     accepted=np.array([True, True, False]),
    ...     confidence=np.array([0.9, 0.8, 0.6]),
    ...     stage=np.array([1, 2, 2]),
    ...     cost=np.array([1.0, 4.0, 4.0]),
    ... )
    >>> round(coverage_score([0, 0, 1], decisions), 3)
    0.667
    """
    _correct_guesses(y_true, decisions)
    return float(decisions.accepted.mean())


def selective_accuracy_score(y_true: ArrayLike, decisions: Decisions) -> float:
    """Share of labels that are correct; 0 if no row got a label.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
    decisions : Decisions

    Examples
    --------
    >>> decisions = Decisions(
    ...     guesses=np.array([0, 1, 1]),
    ...     accepted=np.array([True, True, False]),
    ...     confidence=np.array([0.9, 0.8, 0.6]),
    ...     stage=np.array([1, 2, 2]),
    ...     cost=np.array([1.0, 4.0, 4.0]),
    ... )
    >>> selective_accuracy_score([0, 0, 1], decisions)
    0.5
    """
    correct = _correct_guesses(y_true, decisions) & decisions.accepted
    return int(correct.sum()) / max(int(decisions.accepted.sum()), 1)


def mean_cost_score(y_true: ArrayLike, decisions: Decisions) -> float:
    """Mean cost of a row, rejected rows included.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
    decisions : Decisions

    Examples
    --------
    >>> decisions = Decisions(
    ...     guesses=np.array([0, 1, 1]),
    ...     accepted=np.array([True, True, False]),
    ...     confidence=np.array([0.9, 0.8, 0.6]),
    ...     stage=np.array([1, 2, 2]),
    ...     cost=np.array([1.0, 4.0, 4.0]),
    ... )
    >>> mean_cost_score([0, 0, 1], decisions)
    3.0
    """
    _correct_guesses(y_true, decisions)
    return float(decisions.cost.mean())


def balanced_score(y_true: ArrayLike, decisions: Decisions, total_cost: float) -> float:
    """√(coverage² + accuracy² + (1 - mean cost / total cost)²), the score of prefer="balanced".

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
    decisions : Decisions
    total_cost : float
        Cost of a row for which every feature is bought.
    """
    return float(
        balanced_length(
            np.float64(coverage_score(y_true, decisions)),
            np.float64(selective_accuracy_score(y_true, decisions)),
            np.float64(mean_cost_score(y_true, decisions)),
            total_cost,
        )
    )


def make_selective_scorer(
    metric: str | Callable[[ArrayLike, Decisions], float] = "balanced",
    *,
    greater_is_better: bool | None = None,
) -> SelectiveScorer:
    """Make a scorer for model selection, for classifiers alone or at the end of a Pipeline.

    Parameters
    ----------
    metric : {"balanced", "coverage", "accuracy", "cost"} or callable
        A callable takes true labels and `Decisions`.
    greater_is_better : bool, optional
        Whether larger values of a callable are better; True by default. The scorer for "cost"
        returns the negative cost, because a lower cost is better.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from emsco import EMSCOClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> clf = EMSCOClassifier(max_stages=2, generations=5, estimator="logistic", cv=1 / 3)
    >>> scores = cross_val_score(clf, X, y, scoring=make_selective_scorer("cost"), cv=3)
    >>> bool((scores < 0).all())
    True
    """
    if not isinstance(metric, str):
        return SelectiveScorer(metric, 1.0 if greater_is_better is not False else -1.0)
    if metric not in _NAMED:
        listed = ", ".join(f'"{name}"' for name in _NAMED)
        raise ParameterError(f"metric must be one of {listed} or a callable, got {metric!r}.")
    is_greater_better = metric != "cost"
    if greater_is_better not in (None, is_greater_better):
        raise ParameterError(
            f"greater_is_better must be left out for metric {metric!r}, got {greater_is_better!r}."
        )
    return SelectiveScorer(_NAMED[metric], 1.0 if is_greater_better else -1.0)


_NAMED: dict[str, Callable[..., float]] = {
    "balanced": balanced_score,
    "coverage": coverage_score,
    "accuracy": selective_accuracy_score,
    "cost": mean_cost_score,
}


class SelectiveScorer:
    """Scorer that `make_selective_scorer` returns, a class so that it can be pickled.

    A larger score is better.
    """

    def __init__(self, metric: Callable[..., float], sign: float) -> None:
        self._metric, self._sign = metric, sign

    def __call__(self, estimator: Any, X: Any, y: ArrayLike) -> float:
        """Score a fitted estimator that has `decide`."""
        if isinstance(estimator, Pipeline):
            X, estimator = estimator[:-1].transform(X), estimator[-1]
        decisions = estimator.decide(X)
        if self._metric is not balanced_score:
            return self._sign * self._metric(y, decisions)
        costs = getattr(estimator, "costs_", None)  # rivals have no cascade
        total = (estimator.cascade_.costs if costs is None else costs).total
        return self._sign * self._metric(y, decisions, total)


def _correct_guesses(y_true: ArrayLike, decisions: Decisions) -> Any:
    """Check that there is one label per decision, and mark the correct guesses."""
    truth = np.asarray(y_true)
    if truth.shape != decisions.accepted.shape:
        raise DataError(
            f"y_true must have one label for each of {len(decisions)} decisions, "
            f"got shape {truth.shape}."
        )
    return decisions.guesses == truth
