"""Tuning of rivals: fit on training rows, score settings on others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot
from typing import Any

from sklearn.base import clone
from threadpoolctl import threadpool_limits

from emsco_lab.rivals.base import CostedClassifier, Evaluation, Setting

Rows = tuple[Any, Any]


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
    test : Evaluation
        On test rows, which do not affect the choice.
    """

    settings: Setting
    evaluation: Evaluation
    score: float
    test: Evaluation


def tune(
    rival: CostedClassifier, train: Rows, val: Rows, test: Rows, grid: Sequence[Setting]
) -> list[Trial]:
    """Fit a rival at every setting of a grid.

    The trials, in the order of the grid, are the rival's curve over its own knobs. Settings that a
    fit contains, such as fewer trees, are tried too.

    Parameters
    ----------
    rival : CostedClassifier
        Stays unchanged; its parameters hold unless the grid sets them.
    train, val, test : tuple of X and y
        Rows to fit on, rows to score settings on, and rows on which each setting is evaluated too.
    grid : sequence of dict
        Settings.

    Examples
    --------
    >>> import numpy as np
    >>> from emsco_lab.rivals import CaCTLasso
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> y = X[:, 0] > 0
    >>> grid = [{"penalty": 1.0}, {"penalty": 10.0}]
    >>> trials = tune(CaCTLasso(), (X[:200], y[:200]), (X[200:], y[200:]), (X, y), grid)
    >>> [trial.settings for trial in trials] == grid
    True
    """
    trials = []
    with threadpool_limits(1, "blas"):
        for setting in grid:
            fitted = clone(rival).set_params(**setting).fit(*train)
            for differs, stage in fitted.staged():
                one = stage.evaluate(*val)
                score = hypot(
                    one.coverage, one.accuracy, max(0.0, 1 - one.cost / stage.costs_.total)
                )
                trials.append(Trial({**setting, **differs}, one, score, stage.evaluate(*test)))
    return trials
