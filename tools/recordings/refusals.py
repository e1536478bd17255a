"""Calls that must be refused, and the classes of their errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from emsco import Cascade, EMSCOClassifier, FeatureCosts, ParetoFront
from recordings.facts import Facts
from recordings.tables import cancer, wine

__all__ = ["record_refusals"]

Call = Callable[[], object]
_FEW: dict[str, Any] = {"generations": 1, "population_size": 10, "random_state": 0, "cv": 1 / 3}


def record_refusals(folder: Path) -> Facts:
    """Record the class of every error and its ancestors; its sentence may change."""
    clf = EMSCOClassifier(max_stages=2, **_FEW).fit(cancer(5).X, cancer(5).y)
    calls = {**_fits(folder), **_uses(clf, folder)}
    return {name: _error(call, folder) for name, call in calls.items()}


def _error(call: Call, folder: Path) -> Facts:
    try:
        call()
    except Exception as error:  # record any class
        ancestors = [one.__name__ for one in type(error).__mro__ if one.__name__[0] != "_"]
        return {"classes": ancestors, "message": str(error).replace(str(folder), "FOLDER")}
    return {"classes": None}


def _fits(folder: Path) -> dict[str, Call]:
    """Calls of `fit` that must be refused."""
    table = cancer(5)
    holes = np.where(np.arange(table.X.size).reshape(table.X.shape) == 7, np.nan, table.X)

    def fit(X: Any = table.X, y: Any = table.y, **settings: Any) -> Call:
        return lambda: EMSCOClassifier(**{**_FEW, **settings}).fit(X, y)

    def checkpoint_of_another() -> None:
        fit(checkpoint=folder / "checkpoint")()
        fit(checkpoint=folder / "checkpoint", generations=2)()

    return {
        "threshold": fit(min_confidence=1.5),
        "threshold-of-unknown-class": fit(min_confidence={0: 0.9, 7: 0.9}),
        "search": fit(search="best"),
        "stages": fit(max_stages=0),
        "costs-below-zero": fit(costs=[1, 1, -1, 1, 1]),
        "costs-of-unknown-columns": fit(X=wine(3).X, y=wine(3).y, costs={"colour": 1}),
        "costs-in-two-groups": lambda: FeatureCosts.from_mapping(
            {"a": 1, "b": 1}, ["x"], {"a": ["x"], "b": ["x"]}
        ),
        "missing-value": fit(X=holes),
        "one-class": fit(y=np.zeros(len(table.y))),
        "exact-out-of-reach": fit(X=cancer(30).X, search="exact"),
        "little-memory": fit(memory_limit="1KB"),
        "limits": fit(prefer={"min_accuracy": 1.0, "max_cost": 0.001}),
        "rules": fit(constraints={"max_worst_cost": 0.5}),
        "other-checkpoint": checkpoint_of_another,
    }


def _uses(clf: EMSCOClassifier, folder: Path) -> dict[str, Call]:
    """Calls that use a fitted classifier and its files, and must be refused."""
    table = cancer(5)
    (folder / "text.json").write_text("no cascade", encoding="utf-8")
    clf.cascade_.save(folder / "cascade.json")

    def resume_another() -> None:
        other = EMSCOClassifier(max_stages=1, **_FEW).fit(table.X, table.y).cascade_
        clf.cascade_.resume(other.open().to_json())

    return {
        "no-file": lambda: Cascade.load(folder / "nothing.json"),
        "no-cascade": lambda: Cascade.load(folder / "text.json"),
        "cascade-for-front": lambda: ParetoFront.load(folder / "cascade.json"),
        "too-few-columns": lambda: clf.decide(table.X[:, :3]),
        "unknown-label": lambda: clf.evaluate(table.X, table.y + 5),
        "value-not-needed": lambda: clf.cascade_.open().give({"colour": 1}),
        "case-of-another": resume_another,
        "budget": lambda: clf.cascade_.open(budget=-1),
        "point": lambda: clf.choose(1000),
    }
