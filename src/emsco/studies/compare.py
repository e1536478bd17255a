"""Comparison of every method on one split of your own data, each with a curve over its knob."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from emsco import baselines
from emsco._base.checks import check_choice
from emsco._base.objectives import Objectives
from emsco.designs.space import default_max_stages
from emsco.designs.thresholds import check_min_confidence
from emsco.errors import EMSCOError
from emsco.search.settings import SearchSettings
from emsco.studies.compare_records import OwnComparison, label_of
from emsco.studies.jobs import Begin, Report
from emsco.studies.methods import (
    EVERY,
    RIVALS,
    Attempt,
    MethodResult,
    Outcome,
    new_rival,
    spread,
    tune_rival,
)
from emsco.studies.searching import Parts, SplitBanks, SplitData

__all__ = ["METHODS", "compare_methods"]

METHODS = ("emsco", *RIVALS)
_THRESHOLDS = (0.35, 0.45, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)


def compare_methods(
    parts: Parts,
    min_confidence: float = 0.75,
    methods: Sequence[str] = METHODS,
    seed: int = 0,
    most: int = EVERY,
    n_jobs: int | None = -1,
    begin: Begin | None = None,
    report: Report | None = None,
) -> OwnComparison:
    """Fit, tune and test every method on the same rows.

    Parameters
    ----------
    parts : Parts
    min_confidence : float
        Threshold of the methods that can decline to answer; above 1 / number of classes.
    methods : sequence of str
        "emsco" and rivals; see `METHODS`.
    seed : int
    most : int
        Largest number of settings to try: of each rival's grid, and of EMSCO's thresholds.
    n_jobs : int or None
        Processes, as in joblib; results do not depend on it.
    begin : callable, optional
        Called with the digests and settings of the comparison, after all checks and before any
        computation; may refuse.
    report : callable, optional
        Called with the number of methods done, the number of all methods, and the last one's name.
    """
    check_min_confidence(min_confidence, np.unique(parts.y))
    methods = tuple(dict.fromkeys(methods))
    for method in methods:
        check_choice("methods", method, METHODS)
    of: dict[str, Any] = {}
    if begin:
        of = {**SplitData.from_parts(parts).facts(), "methods": methods, "seed": seed}
        of |= {"min_confidence": min_confidence, "settings tried": most}
        begin(of)
    workers = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    jobs = (delayed(_try_method)(method, parts, min_confidence, seed, most) for method in methods)
    found: dict[str, MethodResult] = {}
    for method, result in workers(jobs):
        found[method] = result
        if report:
            report(len(found), len(methods), label_of(method))
    return OwnComparison(
        {method: found[method] for method in methods},
        min_confidence,
        parts.costs.total,
        (len(parts.train), len(parts.val), len(parts.test)),
        _n_effective(parts),
        references=_references(parts),
        of=of,
    )


def _try_method(
    method: str, parts: Parts, min_confidence: float, seed: int, most: int
) -> tuple[str, MethodResult]:
    """Fit, tune and test one method; if it refuses the data, the note says why."""
    started = perf_counter()
    try:
        if method == "emsco":
            result = _try_emsco(parts, min_confidence, seed, most)
        else:
            rival = new_rival(method, parts.costs, min_confidence, seed)
            result = tune_rival(rival, parts, most)
            if result.setting == {}:  # its only knob is the threshold
                result = _over_thresholds(rival, parts, result, most)
    except EMSCOError as obstacle:
        result = MethodResult(note=str(obstacle))
    return method, replace(result, seconds=perf_counter() - started)


def _references(parts: Parts) -> dict[str, Objectives]:
    """Test what there is without a cascade; nothing if EMSCO refuses the data."""
    try:
        return SplitBanks(parts).references()
    except EMSCOError:
        return {}


def _try_emsco(parts: Parts, min_confidence: float, seed: int, most: int) -> MethodResult:
    """Find the balanced design at every threshold; deploy the one at `min_confidence`."""
    banks = SplitBanks(parts)
    n_features = len(parts.costs.names)
    settings = SearchSettings(default_max_stages(n_features), 1 / n_features)
    curve, outcome, note = [], None, ""
    for threshold in _thresholds(parts, min_confidence, most):
        rng = np.random.default_rng(seed)
        found = banks.search("auto", settings, threshold, rng)
        choice = banks.choose(found, "balanced", threshold)
        curve.append(Attempt({"min_confidence": threshold}, choice.scored, choice.seen))
        if threshold == min_confidence:
            outcome, note = Outcome.from_choice(0, choice), str(found.stop_reason)
    if outcome is None:
        raise AssertionError("min_confidence is one of the thresholds")
    return MethodResult((outcome,), tuple(curve), {"min_confidence": min_confidence}, note)


def _over_thresholds(
    rival: baselines.CostedClassifier, parts: Parts, result: MethodResult, most: int
) -> MethodResult:
    """Give a rival's result a curve over thresholds."""
    threshold = rival.get_params()["min_confidence"]
    grid = [{"min_confidence": one} for one in _thresholds(parts, threshold, most)]
    train, val, test = (parts.rows(part) for part in ("train", "val", "test"))
    tuned = baselines.tune(rival, train, val, test=test, grid=grid)
    curve = tuple(Attempt.from_trial(trial) for trial in tuned.trials)
    return replace(result, curve=curve, setting={"min_confidence": threshold})


def _thresholds(parts: Parts, asked: float, most: int) -> list[float]:
    """Thresholds to try: some above chance, and the one asked for."""
    least = 1 / len(np.unique(parts.y))
    return sorted({asked, *spread([one for one in _THRESHOLDS if one > least], most)})


def _n_effective(parts: Parts) -> float:
    """Kish's effective number of test rows."""
    if parts.weights is None:
        return float(len(parts.test))
    weights = parts.weights[parts.test]
    return float(weights.sum() ** 2 / (weights**2).sum())
