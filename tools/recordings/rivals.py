"""Fits of the rivals in `emsco.lab.rivals`, and their tuning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from emsco.lab import rivals as baselines
from recordings.facts import Facts, decision_facts, evaluation_facts
from recordings.plain import plain
from recordings.tables import Table, cancer, mixed, wine

__all__ = ["RIVALS", "Rival", "record_rival"]


@dataclass(frozen=True, slots=True)
class Rival:
    """A fit of a rival: its class, its rows and settings, and a grid if it is tuned as well."""

    name: str
    table: Callable[[], Table]
    settings: dict[str, Any] = field(default_factory=dict)
    grid: tuple[dict[str, Any], ...] = ()


def record_rival(rival: Rival, _folder: Path) -> Facts:
    """Fit a rival, and record its decisions and purchases; then tune it."""
    table = rival.table()
    new = getattr(baselines, rival.name)(**rival.settings)
    fitted = new.fit(table.X, table.y, table.weights)
    return {
        "decisions": decision_facts(fitted.decide(table.X)),
        "predict": plain(fitted.predict(table.X)),
        "predict_proba": plain(fitted.predict_proba(table.X)),
        "evaluation": evaluation_facts(fitted.evaluate(table.X, table.y, table.weights)),
        "used": plain(fitted.used_),
        "model_cost": plain(fitted.model_cost_),
        "stages": [plain(settings) for settings, _ in fitted.staged()],
        "tuned": _tuned(rival, table) if rival.grid else None,
    }


def _tuned(rival: Rival, table: Table) -> Facts:
    """Fit on two thirds of the rows, and choose on the rest."""
    scored = [i % 3 == 0 for i in range(len(table.y))]
    fitted = [not here for here in scored]
    train, val = (table.X[fitted], table.y[fitted]), (table.X[scored], table.y[scored])
    new = getattr(baselines, rival.name)(**rival.settings)
    found = baselines.tune(new, train, val, test=val, grid=rival.grid)
    return {
        "best": plain(found.best.settings),
        "decisions": decision_facts(found.rival.decide(table.X)),
        "trials": [
            [plain(trial.settings), plain(trial.score), evaluation_facts(trial.evaluation)]
            for trial in found.trials
        ],
    }


_COSTS = [1, 5, 2, 8, 3, 1, 13, 4]

RIVALS = {
    "rival-greedy-miser": Rival(
        "GreedyMiser",
        cancer,
        {"costs": _COSTS, "n_trees": 20, "random_state": 0},
        ({"penalty": 0.0}, {"penalty": 0.5}),
    ),
    "rival-cstc": Rival(
        "CSTC",
        cancer,
        {"costs": _COSTS, "penalty": 0.01, "depth": 2, "max_sweeps": 3, "random_state": 0},
        ({"penalty": 0.001}, {"penalty": 0.1}),
    ),
    "rival-astc": Rival(
        "ASTC",
        cancer,
        {"costs": _COSTS, "budget": 12, "depth": 2, "random_state": 0},
        ({"budget": 5.0}, {"budget": 20.0}),
    ),
    "rival-cact-lasso": Rival(
        "CaCTLasso",
        cancer,
        {"costs": _COSTS, "penalty": 0.5},
        ({"penalty": 0.0}, {"penalty": 2.0}),
    ),
    "rival-cact-lasso-three-classes": Rival("CaCTLasso", wine, {"min_confidence": 0.8}),
    "rival-cost-ordered": Rival(
        "CostOrdered", cancer, {"costs": _COSTS, "min_confidence": 0.9, "random_state": 0}
    ),
    "rival-cost-ordered-categories": Rival("CostOrdered", mixed, {"random_state": 0}),
    "rival-boosting": Rival(
        "CostAwareBoosting",
        cancer,
        {"costs": _COSTS, "n_trees": 20, "n_jobs": 1, "random_state": 0},
        ({"strength": 0.0}, {"strength": 0.1}),
    ),
    "rival-boosting-weighted": Rival(
        "CostAwareBoosting",
        lambda: wine().weighted(whole=False),
        {"n_trees": 10, "n_jobs": 1, "random_state": 0},
    ),
}
