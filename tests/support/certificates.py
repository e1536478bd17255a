"""Designs whose true figures are known, and how often they are certified by mistake."""

from __future__ import annotations

import numpy as np

from emsco.front.certificate.test import RowResults, check_promises
from emsco.scoring.error_costs import ErrorCosts
from emsco.stats.promises import Promise

LABELS = ("well", "ill")
COSTS = np.array([1.0, 4.0, 10.0])
PAYING = np.array([0.5, 0.3, 0.2])
ILL, COVERAGE, ACCURACY = 0.4, 0.8, 0.9

# Promises on which the figures of `draw` sit exactly.
KINDS = {
    "accuracy": [Promise("accuracy", ACCURACY)],
    "accuracy of a label": [
        Promise("accuracy", ILL * ACCURACY / (ILL * ACCURACY + (1 - ILL) * (1 - ACCURACY)), "ill")
    ],
    "coverage": [Promise("coverage", COVERAGE)],
    "recall": [Promise("recall", COVERAGE * ACCURACY, "ill")],
    "cost": [Promise("cost", float(COSTS @ PAYING))],
    "total": [
        Promise(
            "total",
            float(COSTS @ PAYING)
            + COVERAGE * (1 - ACCURACY) * (ILL * 50 + (1 - ILL) * 20)
            + (1 - COVERAGE) * 5,
            costs=ErrorCosts.from_parameters({"well": 20, "ill": 50}, 5, LABELS),
        )
    ],
}


def draw(rng: np.random.Generator, n_rows: int) -> RowResults:
    """Results of a design on rows, with the true figures above."""
    truth = (rng.random(n_rows) < ILL).astype(np.int64)
    given = np.where(rng.random(n_rows) < ACCURACY, truth, 1 - truth)
    given = np.where(rng.random(n_rows) < COVERAGE, given, 2)
    cost = COSTS[np.searchsorted(PAYING.cumsum()[:-1], rng.random(n_rows))]
    return RowResults(LABELS, truth, given, cost, float(COSTS[-1]))


def false_rate(promises, delta, n_sets, seed, n_rows=150, weighted=False) -> float:
    """Share of data sets in which a design on its limits is certified.

    Designs after it would be tested only if it passes, so they add nothing to this share.
    """
    rng, wrong = np.random.default_rng(seed), 0
    for _ in range(n_sets):
        weights = rng.uniform(0.2, 2.0, n_rows) if weighted else None
        checks = check_promises(promises, draw(rng, n_rows), delta, weights, 2.0)
        wrong += max(one.p_value for one in checks) <= delta
    return wrong / n_sets
