"""Tuning of rivals: fit on training rows, choose on scored rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any

from joblib import Parallel, delayed
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from emsco import FeatureCosts, ParameterError
from emsco_lab.rivals.base import CostedClassifier, Evaluation, Setting

Rows = tuple[Any, ...]


@dataclass(frozen=True, eq=False)
class Trial:
    """A setting that tuning tried.

    Attributes
    ----------
    settings : dict
        Parameters that differ from those of the original rival.
    evaluation : Evaluation
        On the scored rows.
    score : float
        √(coverage² + accuracy² + (1 - mean cost / total cost)²).
    test : Evaluation or None
        On test rows, if `tune` had some.
    """

    settings: Setting
    evaluation: Evaluation
    score: float
    test: Evaluation | None = None


@dataclass(frozen=True, eq=False)
class TunedRival:
    """A tuned rival, and all trials of its tuning.

    Attributes
    ----------
    rival : CostedClassifier
        Fitted on the training rows at the best setting.
    best : Trial
        The best setting; of equal ones the first.
    trials : tuple of Trial
        All settings, in the order of the grid: the rival's curve over its own knobs.
    """

    rival: CostedClassifier
    best: Trial
    trials: tuple[Trial, ...]


def tune(
    rival: CostedClassifier,
    train: Rows,
    val: Rows,
    *,
    test: Rows | None = None,
    grid: Sequence[Setting] | None = None,
    n_jobs: int | None = 1,
) -> TunedRival:
    """Fit a rival at every setting of a grid, and keep the one with the best balanced score.

    Parameters
    ----------
    rival : CostedClassifier
        Stays unchanged; its parameters hold unless the grid sets them.
    train, val : tuple
        Training rows and scored rows, each ``(X, y)`` or ``(X, y, sample_weight)``.
    test : tuple, optional
        Test rows, on which every setting is also evaluated; they do not affect the choice.
    grid : sequence of dict, optional
        Settings; by default the rival's own grid. Settings that a fit contains, such as fewer
        trees, are tried too.
    n_jobs : int or None
        Fits at a time, as in joblib; the result does not depend on it.

    Examples
    --------
    >>> import numpy as np
    >>> from emsco_lab.rivals import CaCTLasso
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> y = X[:, 0] > 0
    >>> tuned = tune(CaCTLasso(), (X[:200], y[:200]), (X[200:], y[200:]))
    >>> len(tuned.trials), tuned.rival.used_.tolist()
    (101, [True, False, False])
    """
    if grid is None:
        named = clone(rival)
        costs = FeatureCosts.resolve(rival.costs, tuple(named._table(train[0], reset=True)))
        grid = rival.grid(costs, len(train[1]))
    if not grid:
        raise ParameterError("grid must have a setting or more, got none.")
    # Fits limit BLAS themselves, but the limit is global: a fit that ends would lift it for others.
    with threadpool_limits(1, "blas"):
        tries = Parallel(n_jobs, prefer=rival.prefers)(
            delayed(_try_setting)(rival, setting, train, val, test) for setting in grid
        )
    _, best, fitted = max(tries, key=lambda one: one[1].score)
    return TunedRival(fitted, best, tuple(trial for trials, _, _ in tries for trial in trials))


def _try_setting(
    rival: CostedClassifier, setting: Setting, train: Rows, val: Rows, test: Rows | None
) -> tuple[list[Trial], Trial, CostedClassifier]:
    """Fit one setting; return all its trials, the best of them, and that rival."""
    fitted = clone(rival).set_params(**setting).fit(*train)
    stages = []
    for differs, stage in fitted.staged():
        one = stage.evaluate(*val)
        saved = max(0.0, 1 - one.cost / stage.costs_.total)
        score = hypot(one.coverage, one.accuracy, saved)
        seen = None if test is None else stage.evaluate(*test)
        stages.append((Trial({**setting, **differs}, one, score, seen), stage))
    leader, stage = max(stages, key=lambda one: one[0].score)
    return [trial for trial, _ in stages], leader, stage
