"""Small fits that together use every search, every kind of stage model and every kind of cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from golden.facts import Problem
from sklearn.tree import DecisionTreeClassifier

from emsco import EMSCOClassifier, FeatureCosts

N_NEW = 200
QUICK = {"cv": 1 / 3, "estimator": "logistic"}


def made_rows(
    rng: np.random.Generator, n_rows: int, n_features: int, n_classes: int, *, regions: bool = False
) -> tuple[pd.DataFrame, np.ndarray]:
    """Make columns a, b, c, … that tell classes apart, the later ones better.

    With `regions`, the first column only says which half of the others tells anything.
    """
    centres = rng.normal(size=(n_classes, n_features)) * np.linspace(0.3, 1.2, n_features)
    y = rng.integers(n_classes, size=n_rows)
    noise = rng.normal(size=(n_rows, n_features))
    shifts = centres[y]
    if regions:
        half = np.arange(n_features) % 2 == 0
        shifts = np.where((noise[:, :1] > 0) == half, 0.0, 3 * shifts)
        shifts[:, 0] = 0.0
    names = [chr(ord("a") + i) for i in range(n_features)]
    return pd.DataFrame((noise + shifts).round(3), columns=names), y


def problem(
    seed: int,
    n_rows: int,
    n_features: int,
    settings: dict[str, Any],
    n_classes: int = 2,
    *,
    regions: bool = False,
    **costs: Any,
) -> Problem:
    """Make rows and new ones; features cost 1, 2, 3, … unless `costs` say otherwise."""
    rng = np.random.default_rng(seed)
    rows, y = made_rows(rng, n_rows + N_NEW, n_features, n_classes, regions=regions)
    costs.setdefault("costs", {name: i + 1 for i, name in enumerate(rows)})
    made = FeatureCosts.from_mapping(names=list(rows), **costs)
    new = rows[n_rows:].reset_index(drop=True)
    return Problem(rows[:n_rows], y[:n_rows], new, y[n_rows:], made, {**QUICK, **settings})


def with_columns(made: Problem, change: Callable[[pd.DataFrame, int], pd.DataFrame]) -> Problem:
    """Change the columns of the rows and of the new ones, each from a seed of its own."""
    return replace(made, rows=change(made.rows.copy(), 1), new=change(made.new.copy(), 2))


def default() -> Problem:
    """No settings at all: what a user gets who asks for nothing."""
    return replace(problem(13, 120, 3, {}), settings={})


def paper() -> Problem:
    """The paper's search and its deployed design; every feature is bought in the end."""
    return replace(problem(1, 240, 7, {}), classifier=EMSCOClassifier.paper)


def exact() -> Problem:
    """A proven front at one threshold, with whole weights."""
    made = problem(2, 240, 6, {"search": "exact", "min_confidence": 0.8, "max_stages": 3})
    return replace(made, weights=np.arange(240) % 3)


def evolution() -> Problem:
    """A threshold for each stage, and designs that reject."""
    return problem(20, 240, 5, {"search": "evolution", "max_stages": 3, "branches": 1})


def spline() -> Problem:
    """Curves, out of fold, averaged; features that belong to the first stage, or together."""
    rules = {"first": ["b"], "together": [["c", "d"]], "max_worst_cost": 14}
    settings = {"estimator": "spline", "cv": 3, "constraints": rules, "always_answer": True}
    return problem(4, 210, 6, settings, 3)


def boosting() -> Problem:
    """Boosted trees, first shared and then of each subset."""
    return problem(5, 200, 4, {"estimator": "boosting", "always_answer": True, "max_stages": 3})


def any_estimator() -> Problem:
    """A classifier of scikit-learn, with a threshold for each label."""
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    sure = {0: 0.9, 1: 0.6}
    return problem(6, 240, 5, {"estimator": tree, "min_confidence": sure, "refit": "all"})


def money() -> Problem:
    """What errors and rejections cost decides; the matrix is by true label and label given."""
    matrix = [[0, 30, 90], [60, 0, 30], [150, 120, 0]]
    settings = {"error_cost": matrix, "reject_cost": {0: 25, 1: 25, 2: 40}, "max_stages": 3}
    return problem(21, 240, 5, settings, 3)


def branches() -> Problem:
    """Rows go different ways after a question."""
    settings = {"cv": 2, "always_answer": True, "max_stages": 3}
    return problem(11, 600, 5, settings, regions=True, costs=dict.fromkeys("abcde", 1.0))


def fees_and_prices() -> Problem:
    """Fees that features share, a price by row, waiting times and a cost of running a stage."""

    def priced(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
        return rows.assign(tokens=np.random.default_rng(seed).integers(1, 9, len(rows)) / 2)

    made = with_columns(problem(40, 240, 5, {"max_stages": 3, "branches": 1}), priced)
    costs = FeatureCosts.from_mapping(
        {"a": 1, "b": 2, "c": 1.5, "d": "tokens", "e": 4},
        [*made.rows],
        fees={"draw": (2.5, ["b", "c", "e"]), "visit": (1, ["c", "d"])},
        delays={"d": 2, "e": 24},
    )
    return replace(made, costs=replace(costs, evaluation=0.25), prices={"d": "tokens"})


def gaps_and_categories() -> Problem:
    """Missing values that are filled in, a category, a truth value, and classes by name."""

    def mixed(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
        rng = np.random.default_rng(seed)
        ward = pd.cut(rows.pop("f"), [-np.inf, -0.5, 0.5, np.inf], labels=["A", "B", "ICU"])
        rows["smokes"] = rows.pop("e") > 0
        holes = rng.random(rows.shape) < 0.1
        holes[:, list(rows).index("smokes")] = False
        return rows.mask(holes).assign(ward=ward.astype(object))

    settings = {"gaps": "impute", "branches": 1, "max_stages": 3, "always_answer": True}
    made = with_columns(problem(30, 240, 6, settings, 3), mixed)
    names = np.array(["well", "ill", "chronic"])
    costs = FeatureCosts.from_mapping({"a": 1, "b": 2, "c": 3, "d": 4, "smokes": 0, "ward": 1})
    return replace(made, y=names[made.y], y_new=names[made.y_new], costs=costs)


def groups() -> Problem:
    """Columns bought together, rows that belong together, fractional weights, skipped gaps."""

    def with_holes(rows: pd.DataFrame, seed: int) -> pd.DataFrame:
        return rows.mask(np.random.default_rng(seed).random(rows.shape) < 0.05)

    panels = {
        "costs": {"a": 0.5, "left": 3, "right": 5},
        "groups": {"left": ["b", "c"], "right": ["d", "e", "f"]},
    }
    made = problem(35, 260, 6, {"gaps": "skip", "cv": 3, "max_stages": 3}, **panels)
    weights = 0.25 + np.arange(260) % 4 / 2
    return replace(with_columns(made, with_holes), weights=weights, groups=np.arange(260) // 2)


def many_classes() -> Problem:
    """Nine classes, balanced accuracy and class weights."""
    settings = {"metric": "balanced_accuracy", "class_weight": "balanced", "max_stages": 2}
    return problem(12, 360, 5, {**settings, "always_answer": True, "branches": 1}, 9)


FITS: dict[str, Callable[[], Problem]] = {
    made.__name__: made
    for made in (
        default,
        paper,
        exact,
        evolution,
        spline,
        boosting,
        any_estimator,
        money,
        branches,
        fees_and_prices,
        gaps_and_categories,
        groups,
        many_classes,
    )
}
