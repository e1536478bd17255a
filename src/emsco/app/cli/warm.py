"""`emsco warm`: compile ahead, by small fits in several processes, so that no command waits."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from emsco.app.cli.output import echo

if TYPE_CHECKING:
    from emsco._base.progress import JobProgress

_TINY: dict[str, Any] = {
    "generations": 2,
    "population_size": 20,
    "max_stages": 2,
    "cv": 1 / 3,
    "random_state": 0,
}


def warm(
    jobs: Annotated[
        int, typer.Option("--jobs", "-j", help="Processes; -1: one for each core.")
    ] = -1,
) -> None:
    """Compile emsco for this machine, once, so that later commands start at once.

    Numba compiles what is slow in Python when it is first used, which makes the first fit of a
    fresh installation wait for half a minute. This command does it ahead. What it compiles is kept
    beside the installed package, or where NUMBA_CACHE_DIR says, for all who use it.
    """
    from emsco._base.checks import check_jobs
    from emsco._base.progress import JobProgress

    n_jobs = check_jobs(jobs)
    with JobProgress("compiling") as progress:
        compile_parts(n_jobs, progress)
    echo("emsco is compiled for this machine.")


def compile_parts(n_jobs: int, progress: JobProgress) -> None:
    """Compile every kernel that fits, choices and decisions use, and keep them in Numba's cache."""
    from emsco._base.workers import in_processes

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


def _fit(n_classes: int, settings: dict[str, Any], *, weighted: bool = False) -> None:
    import numpy as np

    from emsco import EMSCOClassifier

    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 5))
    y = np.digitize(X[:, 0] + rng.normal(size=90) / 2, [0.0, 0.7][: n_classes - 1])
    if settings.get("gaps") == "skip":
        X[::9, 2] = np.nan
    weights = np.arange(90) % 3 + 1.0 if weighted else None
    clf = EMSCOClassifier(**_TINY | settings).fit(X, y, sample_weight=weights)
    clf.decide(X)
    clf.predict_proba(X)
    clf.evaluate(X, y)
    case = clf.cascade_.open()
    while case.needs:
        case.give({name: X[0, int(name[1:])] for name in case.needs})


def _paper() -> None:
    import numpy as np

    from emsco import EMSCOClassifier

    X = np.random.default_rng(0).normal(size=(60, 5))
    EMSCOClassifier.paper(generations=2, population_size=20).fit(X, X[:, 0] > 0)


# The slowest first.
_PARTS: dict[str, Callable[[], None]] = {
    "boosted trees": partial(_fit, 2, {"estimator": "boosting", "search": "evolution"}),
    "exact search": partial(_fit, 2, {"estimator": "logistic"}),
    "three classes": partial(_fit, 3, {"estimator": "spline", "search": "evolution"}),
    "trees of three classes": partial(_fit, 3, {"estimator": "boosting", "search": "evolution"}),
    "weights": partial(_fit, 2, {"estimator": "spline", "search": "evolution"}, weighted=True),
    "one threshold": partial(_fit, 2, {"estimator": "logistic", "min_confidence": 0.7}),
    "gaps": partial(_fit, 2, {"estimator": "logistic", "gaps": "skip", "search": "evolution"}),
    "the paper": _paper,
}
