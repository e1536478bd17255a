"""Compile the kernels ahead, by small fits in several processes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from emsco._base.progress import JobProgress
from emsco._base.workers import in_processes

_TINY: dict[str, Any] = {
    "generations": 2,
    "population_size": 20,
    "max_stages": 2,
    "cv": 1 / 3,
    "random_state": 0,
}


def warm(n_jobs: int, progress: JobProgress) -> None:
    """Compile every kernel that fits, choices and decisions use, and keep them in Numba's cache."""
    total = len(_PARTS) + 1
    for done, _ in enumerate(in_processes(_run, list(_PARTS), n_jobs), start=1):
        progress.job(done, total, "")
    for part in _PARTS:  # what two processes have compiled at once, one of them may have lost
        _run(part)
    progress.job(total, total, "")


def _run(part: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the rows are made up
        _PARTS[part]()


def _fit(n_classes: int, settings: dict[str, Any], weights: bool = False) -> None:
    from emsco import EMSCOClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 5))
    y = np.digitize(X[:, 0] + rng.normal(size=90) / 2, [0.0, 0.7][: n_classes - 1])
    if settings.get("gaps") == "skip":
        X[::9, 2] = np.nan
    own = np.arange(90) % 3 + 1.0 if weights else None
    clf = EMSCOClassifier(**_TINY | settings).fit(X, y, sample_weight=own)
    clf.decide(X)
    clf.predict_proba(X)
    clf.evaluate(X, y)
    case = clf.cascade_.open()
    while case.needs:
        case.give({name: X[0, int(name[1:])] for name in case.needs})


def _paper() -> None:
    from emsco import EMSCOClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 5))
    EMSCOClassifier.paper(generations=2, population_size=20).fit(X, X[:, 0] > 0)


# The slowest first.
_PARTS: dict[str, Callable[[], None]] = {
    "boosted trees": partial(_fit, 2, {"estimator": "boosting", "search": "evolution"}),
    "exact search": partial(_fit, 2, {"estimator": "logistic"}),
    "three classes": partial(_fit, 3, {"estimator": "spline", "search": "evolution"}),
    "trees of three classes": partial(_fit, 3, {"estimator": "boosting", "search": "evolution"}),
    "weights": partial(_fit, 2, {"estimator": "spline", "search": "evolution"}, weights=True),
    "one threshold": partial(_fit, 2, {"estimator": "logistic", "min_confidence": 0.7}),
    "gaps": partial(_fit, 2, {"estimator": "logistic", "gaps": "skip", "search": "evolution"}),
    "the paper": _paper,
}
