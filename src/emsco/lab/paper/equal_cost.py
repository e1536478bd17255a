"""Rivals at EMSCO's cost: the best setting on scored rows that is no more expensive."""

from __future__ import annotations

import math

import numpy as np

from emsco._base.objectives import Objectives
from emsco.lab.methods import CONTESTANTS, Attempt, Contestant
from emsco.lab.paper.comparison import Comparison
from emsco.lab.paper.standings import Duel, Standing, duels

_ROUNDING = 1e-9


def equal_cost(
    comparison: Comparison, name: str, first: Contestant
) -> dict[Contestant, tuple[Standing, Duel]]:
    """Let rivals spend as much as a contestant; return their standings and its duels with them.

    On every split a rival deploys the setting with the largest coverage² + accuracy² on the scored
    rows, among those that cost no more there than the contestant does on average. Splits without
    such a setting do not count. All tests are corrected together.
    """
    if (name, first) not in comparison.standings:
        return {}
    budgets = _budgets(comparison, name, first)
    found: dict[Contestant, Standing] = {}
    for rival in (one for one in CONTESTANTS if not one.is_emsco):
        tests: dict[int, list[Objectives]] = {}
        for job, result in comparison.results.items():
            if (job.name, job.method) != (name, rival.method) or job.split not in budgets:
                continue
            if best := _best_within(result.curve, budgets[job.split]):
                tests[job.split] = [best.seen]
        if tests:
            found[rival] = Standing.from_tests(tests)
    fought = duels(comparison.standings[name, first], list(found.values()))
    return dict(zip(found, zip(found.values(), fought, strict=True), strict=True))


def _budgets(comparison: Comparison, name: str, first: Contestant) -> dict[int, float]:
    """Mean cost of the contestant on the scored rows of each split."""
    return {
        job.split: float(np.mean([one.scored.cost for one in outcomes]))
        for job, result in comparison.results.items()
        if (job.name, job.method) == (name, first.method)
        and (outcomes := result.of_rule(first.rule))
    }


def _best_within(curve: tuple[Attempt, ...], budget: float) -> Attempt | None:
    within = [one for one in curve if one.scored.cost <= budget * (1 + _ROUNDING)]
    return max(
        within,
        key=lambda one: math.hypot(one.scored.coverage, one.scored.accuracy),
        default=None,
    )
