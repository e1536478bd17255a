"""Fits of `EMSCOClassifier`: every search, and every kind of problem."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, PredefinedSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from emsco import EMSCOClassifier, FeatureCosts, PaperSearch
from emsco.lab import rivals
from emsco.metrics import make_selective_scorer
from recordings.facts import (
    Facts,
    Table,
    archived,
    cancer,
    classifier_facts,
    decision_facts,
    digits,
    evaluation_facts,
    has_archive,
    made,
    measures,
    mixed,
    plain,
    wine,
)

# Every setting whose default might change some day.
_PLAIN: dict[str, Any] = {
    "min_confidence": 0.8,
    "max_stages": 3,
    "search": "evolution",
    "prefer": "balanced",
    "cv": 1 / 3,
    "refit": False,
    "estimator": None,
    "allow_exclusion": False,
    "population_size": 40,
    "generations": 6,
    "n_jobs": 1,
    "random_state": 0,
}


@dataclass(frozen=True, slots=True)
class Fit:
    """A fit: its rows, and the settings that differ from a plain fit.

    Attributes
    ----------
    table : callable
        Makes the rows.
    settings : dict
    scratch : tuple of str
        Settings that name a folder: `cache` or `checkpoint`.
    before : tuple of dict
        Settings of fits that come first, on the same rows and with the same folders.
    """

    table: Callable[[], Table]
    settings: dict[str, Any] = field(default_factory=dict)
    scratch: tuple[str, ...] = ()
    before: tuple[dict[str, Any], ...] = ()


def record_fit(fit: Fit, folder: Path) -> Facts:
    """Fit, and record everything that the classifier knows and does."""
    table = fit.table()
    settings = {**_PLAIN, **deepcopy(fit.settings), **{name: folder / name for name in fit.scratch}}
    for one in ({**settings, **other} for other in fit.before):
        _fitted(one, table)
    clf = _fitted(settings, table)
    rules = ("balanced", "coverage", "accuracy", "cost")
    scores = {rule: make_selective_scorer(rule)(clf, table.X, table.y).hex() for rule in rules}
    return {**classifier_facts(clf, table, folder), "scorers": scores}


def _fitted(settings: dict[str, Any], table: Table) -> EMSCOClassifier:
    return EMSCOClassifier(**settings).fit(table.X, table.y, table.weights, groups=table.groups)


def _by_column(table: Table) -> dict[str, float]:
    """Costs 1, 2, 3, 4, 1, 2, … by column name."""
    return {name: 1.0 + i % 4 for i, name in enumerate(table.columns())}


def _in_groups() -> FeatureCosts:
    """Costs of measurements with three columns each; the last columns are on their own."""
    names = list(measures().columns())
    first = dict.fromkeys(name.rsplit("_", 1)[0] for name in names[:12])
    groups = {group: [name for name in names if name.startswith(f"{group}_")] for group in first}
    costs = {group: 2.5 + i for i, group in enumerate(groups)}
    return FeatureCosts.from_mapping({**costs, **dict.fromkeys(names[12:], 1)}, names, groups)


def _by_prefix() -> FeatureCosts:
    names = list(measures(4).columns())
    prefixes = dict.fromkeys(name.rsplit("_", 1)[0] for name in names)
    return FeatureCosts.from_prefixes({name: i + 1 for i, name in enumerate(prefixes)}, names)


def _stopped(**settings: Any) -> Fit:
    """Stop a fit after its first generation, then resume it from its checkpoint."""
    return Fit(lambda: made(12), settings, ("checkpoint",), ({"time_limit": 1e-6},))


_TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
_BAYES = make_pipeline(StandardScaler(), GaussianNB())
_EVERY_RULE = {
    "first": ["alcohol"],
    "together": [["ash", "alcalinity_of_ash"]],
    "max_mean_cost": 6,
    "max_worst_cost": 8,
}
_SPLITS = [(np.arange(0, 160), np.arange(160, 240)), (np.arange(80, 240), np.arange(0, 80))]

_SEARCHES = {
    "exact": Fit(cancer, {"search": "exact", "costs": [1, 2, 3, 4, 5, 6, 7, 8]}),
    "exact-all-stages": Fit(lambda: made(7), {"search": "exact", "max_stages": 7}),
    "exact-two-jobs": Fit(lambda: made(9), {"search": "exact", "n_jobs": 2}),
    "exact-default-stages": Fit(lambda: made(7), {"search": "exact", "max_stages": None}),
    "auto-few-features": Fit(lambda: cancer(6), {"search": "auto"}),
    "auto-many-features": Fit(lambda: cancer(30), {"search": "auto"}),
    "evolution": Fit(lambda: cancer(16), {"costs": [1, 2, 4, 8] * 4}),
    "evolution-two-jobs": Fit(lambda: cancer(16), {"costs": [1, 2, 4, 8] * 4, "n_jobs": 2}),
    "evolution-patience": Fit(lambda: made(8), {"patience": 2, "generations": 60}),
    "evolution-little-memory": Fit(lambda: made(14), {"memory_limit": "60KB"}),
    "evolution-many-features": Fit(lambda: made(40), {"max_stages": 6}),
    "paper": Fit(lambda: cancer(12), {"search": "paper"}),
    "paper-fittest": Fit(lambda: cancer(12), {"search": "paper", "prefer": "fittest"}),
    "paper-settings": Fit(
        lambda: made(10),
        {
            "search": PaperSearch(
                mutation_rate=0.075,
                crossover_rate=0.75,
                elite_fraction=0.3,
                stage_bias=2.5,
                epsilon=0.02,
                growth=5,
            ),
            "patience": 4,
            "generations": 15,
            "n_jobs": 2,
        },
    ),
    "random-state": Fit(lambda: made(10), {"random_state": np.random.RandomState(3)}),
}
_CLASSES = {
    "three-classes-exact": Fit(wine, {"search": "exact"}),
    "three-classes-evolution": Fit(lambda: wine(10), {"refit": True}),
    "three-classes-paper": Fit(lambda: wine(9), {"search": "paper"}),
    "ten-classes": Fit(digits, {"min_confidence": 0.6, "max_stages": 4}),
    "text-labels": Fit(lambda: mixed("pandas"), {"min_confidence": 0.7}),
}
_COSTS = {
    "costs-by-name": Fit(lambda: wine(8), {"costs": _by_column(wine(8))}),
    "costs-in-groups": Fit(measures, {"costs": _in_groups(), "min_confidence": 0.9}),
    "costs-in-groups-exact": Fit(
        measures, {"costs": _in_groups(), "search": "exact", "evaluation_cost": 0.25}
    ),
    "costs-by-prefix": Fit(lambda: measures(4), {"costs": _by_prefix(), "search": "exact"}),
    "costs-free": Fit(cancer, {"costs": [0, 0, 1, 2, 0, 3, 5, 1], "search": "exact"}),
    "costs-free-paper": Fit(cancer, {"costs": [0, 0, 1, 2, 0, 3, 5, 1], "search": "paper"}),
    "costs-in-cents": Fit(cancer, {"costs": [0.1, 2.35, 0.7, 1.99, 0.05, 3.3, 1.01, 4.4]}),
    "costs-irrational": Fit(
        cancer, {"costs": [np.sqrt(i + 2) for i in range(8)], "search": "exact"}
    ),
    "evaluation-cost": Fit(lambda: cancer(10), {"evaluation_cost": 0.5}),
}
_TABLES = {
    "pandas-categories": Fit(mixed, {"search": "exact", "min_confidence": 0.8}),
    "polars-categories": Fit(
        lambda: mixed("polars"), {"costs": {**dict.fromkeys(mixed().columns(), 1), "tint": 4}}
    ),
    "pyarrow-categories": Fit(lambda: mixed("pyarrow"), {"search": "paper"}),
    "gaps-impute": Fit(lambda: wine(8).with_holes(), {"gaps": "impute"}),
    "gaps-skip": Fit(lambda: wine(8).with_holes(), {"gaps": "skip", "search": "exact"}),
    "gaps-impute-categories": Fit(lambda: mixed(holes=True), {"gaps": "impute"}),
    "gaps-skip-polars": Fit(lambda: mixed("polars", holes=True), {"gaps": "skip"}),
    "gaps-skip-tree": Fit(
        lambda: wine(5).with_holes(), {"gaps": "skip", "estimator": _TREE, "search": "exact"}
    ),
}
_WEIGHTS = {
    "weights-whole": Fit(lambda: cancer().weighted(whole=True), {"search": "exact"}),
    "weights-decimal": Fit(lambda: cancer(12).weighted(whole=False)),
    "weights-decimal-exact": Fit(
        lambda: wine(6).weighted(whole=False), {"search": "exact", "refit": True}
    ),
    "weights-tree": Fit(
        lambda: cancer(5).weighted(whole=True), {"estimator": _TREE, "search": "exact"}
    ),
    "class-weight-balanced": Fit(wine, {"class_weight": "balanced", "search": "paper"}),
    "class-weight-by-label": Fit(
        lambda: wine().weighted(whole=True), {"class_weight": {0: 1, 1: 3, 2: 0.5}}
    ),
}
_DESIGNS = {
    "threshold-by-class": Fit(
        wine, {"min_confidence": {0: 0.95, 1: 0.8, 2: 0.6}, "search": "exact"}
    ),
    "threshold-by-class-weighted": Fit(
        lambda: mixed().weighted(whole=False),
        {"min_confidence": {"barolo": 0.9, "grignolino": 0.6, "barbera": 0.5}},
    ),
    "threshold-out-of-reach": Fit(lambda: made(6), {"min_confidence": 0.999999}),
    "exclusion-exact": Fit(lambda: wine(6), {"allow_exclusion": True, "search": "exact"}),
    "exclusion-evolution": Fit(lambda: cancer(14), {"allow_exclusion": True}),
    "exclusion-paper": Fit(lambda: cancer(9), {"allow_exclusion": True, "search": "paper"}),
    "constraints": Fit(
        lambda: wine(10),
        {"constraints": _EVERY_RULE, "allow_exclusion": True, "generations": 12},
    ),
    "constraints-exact": Fit(
        lambda: wine(8),
        {
            "constraints": {key: _EVERY_RULE[key] for key in ("first", "together")},
            "search": "exact",
        },
    ),
    "constraints-paper": Fit(
        lambda: wine(8), {"constraints": {"max_mean_cost": 5}, "search": "paper"}
    ),
    "prefer-knee": Fit(lambda: cancer(10), {"prefer": "knee"}),
    "prefer-fittest": Fit(lambda: cancer(10), {"prefer": "fittest"}),
    "prefer-limits": Fit(lambda: cancer(10), {"prefer": {"max_cost": 6, "min_coverage": 0.3}}),
}
_SPLITTING = {
    "cv-folds": Fit(cancer, {"cv": 3, "search": "exact", "refit": True}),
    "cv-folds-weighted": Fit(lambda: wine(6).weighted(whole=False), {"cv": 4, "refit": True}),
    "cv-predefined": Fit(
        cancer, {"cv": PredefinedSplit(np.where(np.arange(240) % 3 == 0, 0, -1)), "refit": True}
    ),
    "cv-by-group": Fit(
        lambda: cancer().grouped(), {"cv": GroupKFold(3), "search": "paper", "refit": True}
    ),
    "cv-average": Fit(lambda: made(8), {"cv": 3, "refit": "average"}),
    "cv-auto": Fit(lambda: made(6), {"cv": "auto", "refit": "average"}),
    "cv-list": Fit(cancer, {"cv": _SPLITS, "refit": True}),
    "cv-fraction": Fit(lambda: made(8), {"cv": 0.5, "refit": True, "search": "exact"}),
}
_MODELS = {
    "spline": Fit(lambda: cancer(5), {"estimator": "spline", "search": "exact"}),
    "boosting-own": Fit(lambda: cancer(4), {"estimator": "boosting", "search": "auto"}),
    "boosting-shared": Fit(lambda: cancer(7), {"estimator": "boosting", "generations": 2}),
    "auto-models": Fit(lambda: wine(5), {"estimator": "auto", "generations": 2}),
    "tree-after-logistic": Fit(
        lambda: cancer(6), {"estimator": _TREE, "search_with": "logistic", "generations": 2}
    ),
    "tree": Fit(lambda: cancer(6), {"estimator": _TREE, "search": "auto"}),
    "tree-two-jobs": Fit(
        lambda: cancer(5),
        {"estimator": _TREE, "search": "exact", "n_jobs": 2, "cv": 2, "refit": True},
    ),
    "tree-cached": Fit(
        lambda: wine(5),
        {"estimator": _TREE, "search": "exact"},
        ("cache",),
        ({"min_confidence": 0.6}, {"search": "evolution", "generations": 2}),
    ),
    "tree-sigmoid": Fit(
        lambda: cancer(5), {"estimator": _TREE, "calibration": "sigmoid", "search": "exact"}
    ),
    "bayes-pipeline": Fit(lambda: wine(5), {"estimator": _BAYES, "search": "paper"}),
    "bayes-isotonic": Fit(
        lambda: cancer(5), {"estimator": _BAYES, "calibration": "isotonic", "refit": True}
    ),
    "sigmoid": Fit(lambda: cancer(10), {"calibration": "sigmoid"}),
    "sigmoid-three-classes": Fit(
        lambda: wine(6).weighted(whole=False), {"calibration": "sigmoid", "search": "exact"}
    ),
    "isotonic": Fit(cancer, {"calibration": "isotonic", "search": "exact"}),
    "isotonic-three-classes": Fit(wine, {"calibration": "isotonic", "cv": 2, "refit": True}),
}
_RESUMED = {
    "resumed-evolution": _stopped(),
    "resumed-paper": _stopped(search="paper"),
    "resumed-exact": _stopped(search="exact", max_stages=2),
    "resumed-random-seed": Fit(
        lambda: wine(8),
        {"random_state": np.random.RandomState(8)},
        ("checkpoint",),
        ({"time_limit": 1e-6, "random_state": 9},),
    ),
}
_ARCHIVED = {
    "heart-exact": Fit(lambda: archived("heart"), {"search": "exact", "n_jobs": 2}),
    "heart-paper": Fit(
        lambda: archived("heart"),
        {"search": "paper", "costs": [10, 100, 100, 100, 10, 100, 100, 10, 100, 100, 10, 10]},
    ),
    "pima-all-stages": Fit(
        lambda: archived("pima"),
        {"search": "exact", "max_stages": 8, "costs": [1, 3, 1, 2, 3, 1, 2, 1]},
    ),
    "credit-evolution": Fit(lambda: archived("credit"), {"max_stages": 7, "generations": 15}),
}

FITS: dict[str, Fit] = {
    **_SEARCHES,
    **_CLASSES,
    **_COSTS,
    **_TABLES,
    **_WEIGHTS,
    **_DESIGNS,
    **_SPLITTING,
    **_MODELS,
    **_RESUMED,
    **(_ARCHIVED if has_archive() else {}),
}


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
    new = getattr(rivals, rival.name)(**rival.settings)
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
    new = getattr(rivals, rival.name)(**rival.settings)
    tuned = rivals.tune(new, train, val, test=val, grid=rival.grid)
    return {
        "best": plain(tuned.best.settings),
        "decisions": decision_facts(tuned.rival.decide(table.X)),
        "trials": [
            [plain(trial.settings), plain(trial.score), evaluation_facts(trial.evaluation)]
            for trial in tuned.trials
        ],
    }


_RIVAL_COSTS = [1, 5, 2, 8, 3, 1, 13, 4]

RIVALS = {
    "rival-greedy-miser": Rival(
        "GreedyMiser",
        cancer,
        {"costs": _RIVAL_COSTS, "n_trees": 20, "random_state": 0},
        ({"penalty": 0.0}, {"penalty": 0.5}),
    ),
    "rival-cstc": Rival(
        "CSTC",
        cancer,
        {"costs": _RIVAL_COSTS, "penalty": 0.01, "depth": 2, "max_sweeps": 3, "random_state": 0},
        ({"penalty": 0.001}, {"penalty": 0.1}),
    ),
    "rival-astc": Rival(
        "ASTC",
        cancer,
        {"costs": _RIVAL_COSTS, "budget": 12, "depth": 2, "random_state": 0},
        ({"budget": 5.0}, {"budget": 20.0}),
    ),
    "rival-cact-lasso": Rival(
        "CaCTLasso",
        cancer,
        {"costs": _RIVAL_COSTS, "penalty": 0.5},
        ({"penalty": 0.0}, {"penalty": 2.0}),
    ),
    "rival-cact-lasso-three-classes": Rival("CaCTLasso", wine, {"min_confidence": 0.8}),
    "rival-cost-ordered": Rival(
        "CostOrdered", cancer, {"costs": _RIVAL_COSTS, "min_confidence": 0.9, "random_state": 0}
    ),
    "rival-cost-ordered-categories": Rival("CostOrdered", mixed, {"random_state": 0}),
    "rival-boosting": Rival(
        "CostAwareBoosting",
        cancer,
        {"costs": _RIVAL_COSTS, "n_trees": 20, "n_jobs": 1, "random_state": 0},
        ({"strength": 0.0}, {"strength": 0.1}),
    ),
    "rival-boosting-weighted": Rival(
        "CostAwareBoosting",
        lambda: wine().weighted(whole=False),
        {"n_trees": 10, "n_jobs": 1, "random_state": 0},
    ),
}
