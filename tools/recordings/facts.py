"""Facts of results: every number to the bit, by public names alone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from emsco import Cascade, EMSCOClassifier, Evaluation, ParetoFront, ParetoPoint
from recordings.names import named
from recordings.plain import digest, plain, plain_fields
from recordings.tables import Table

__all__ = [
    "Facts",
    "classifier_facts",
    "decision_facts",
    "evaluation_facts",
    "file_facts",
    "front_facts",
]

Facts = dict[str, Any]

_POINT = ("coverage", "accuracy", "cost", "n_stages", "n_tied", "n_rows", "exits", "correct_exits")
_DECISIONS = ("labels", "accepted", "confidence", "stage", "cost", "guesses", "reasons", "ids")
_EVALUATION = ("n_rows", "coverage", "accuracy", "cost")
_EXIT = ("stage", "features", "cost", "n_rows", "n_correct", "confidence", "accuracy")
_GENERATION = ("generation", "n_front", "n_designs", "n_subsets")
_CASE = ("decided", "accepted", "label", "confidence", "stage", "cost", "reason")
_MOST_POINTS, _MOST_TIES, _FEW_ROWS, _SOME_ROWS = 15, 6, 8, 60


def classifier_facts(clf: EMSCOClassifier, table: Table, folder: Path) -> Facts:
    """Everything that a fitted classifier knows and does, including its files."""
    front, cascade = clf.front_, clf.cascade_
    return {
        "front": front_facts(front),
        "ties": _ties(front),
        "history": [_generation(record) for record in clf.history_],
        "stop_reason": str(clf.stop_reason_),
        "classes": plain(clf.classes_),
        "chosen": front.position(clf.point_),
        "rules": _rules(front),
        "decisions": decision_facts(clf.decide(table.X)),
        "predict": plain(clf.predict(table.X)),
        "predict_proba": plain(clf.predict_proba(table.X)),
        "evaluation": evaluation_facts(clf.evaluate(table.X, table.y, table.weights)),
        "reliability": plain(clf.reliability(table.X, table.y, table.weights)),
        "risk": plain(clf.risk_coverage(table.X, table.y, table.weights)),
        "designs": _every_design(front, table),
        "kept": _kept(clf, table, folder),
        "cases": _cases(cascade, table),
        "bought": _bought(cascade, table),
    }


def front_facts(front: ParetoFront) -> Facts:
    """The points in their order, and whether they are proven."""
    seen = named(front, "seen")
    return {
        "proven": front.proven,
        "min_confidence": plain(front.min_confidence),
        "costs": plain_fields(front.costs, ("names", "costs", "evaluation", "columns", "total")),
        "points": [_point(point) for point in front],
        "seen": None if seen is None else [evaluation_facts(one) for one in seen],
    }


def decision_facts(decisions: Any) -> Facts:
    """All columns of decisions."""
    return plain_fields(decisions, _DECISIONS)


def evaluation_facts(evaluation: Evaluation) -> Facts:
    """The objectives, and every exit."""
    exits = [plain_fields(leave, _EXIT) for leave in evaluation.exits]
    return {**plain_fields(evaluation, _EVALUATION), "exits": exits}


def file_facts(cascade: Path, front: Path, trusted: Sequence[str] = ()) -> Facts:
    """Contents of a run's files after loading."""
    loaded = Cascade.load(cascade, trusted)
    return {
        "cascade": {
            "design": plain(loaded.design),
            "classes": plain(loaded.classes),
            "min_confidence": plain(loaded.min_confidence),
            "stage_costs": plain(loaded.stage_costs),
        },
        "front": front_facts(ParetoFront.load(front, trusted)),
    }


def _point(point: ParetoPoint) -> Facts:
    return {**plain_fields(point, _POINT), "design": plain(point.design)}


def _generation(record: Any) -> Facts:
    return {**plain_fields(record, _GENERATION), "best": _point(record.best)}


def _ties(front: ParetoFront) -> list[list[Any]]:
    """The first designs that tie with each of the first points."""
    return [
        [plain(design) for design in islice(front.ties(i), _MOST_TIES)]
        for i in range(min(len(front), _MOST_TIES))
    ]


def _rules(front: ParetoFront) -> Facts:
    """The point that every rule would deploy."""
    rules: dict[str, Any] = {"balanced": "balanced", "knee": "knee", "fittest": "fittest"}
    costs = sorted(point.cost for point in front)
    rules["limits"] = {"max_cost": costs[len(costs) // 2], "min_coverage": 0.0}
    return {
        **{name: front.position(front.prefer(rule)) for name, rule in rules.items()},
        "balanced_scores": plain(front.balanced_scores()),
    }


def _every_design(front: ParetoFront, table: Table) -> list[str]:
    """Checksums of the decisions of every design, or of the first if there are many."""
    first = range(min(len(front), _MOST_POINTS))
    return [digest(decision_facts(front.cascade(i).decide(table.X))) for i in first]


def _kept(clf: EMSCOClassifier, table: Table, folder: Path) -> Facts:
    """Facts after saving and loading; `alike` says whether decisions agree in every bit."""
    front, cascade = clf.front_, clf.cascade_
    types = {name for i in range(len(front)) for name in front.cascade(i).untrusted_types}
    cascade.save(folder / "cascade.json")
    front.save(folder / "front.json")
    loaded = Cascade.load(folder / "cascade.json", sorted(types))
    every = ParetoFront.load(folder / "front.json", sorted(types))
    decisions, before = decision_facts(loaded.decide(table.X)), decision_facts(clf.decide(table.X))
    return {
        "alike": {
            "cascade": decisions == before,
            "front": front_facts(every) == front_facts(front),
            "designs": _every_design(every, table) == _every_design(front, table),
            "fittest": every.position(every.fittest()) == front.position(front.fittest()),
        },
        "decisions": decisions,
        "designs": _every_design(every, table),
        "trusted": sorted(types),
    }


def _cases(cascade: Cascade, table: Table) -> list[Any]:
    """Decide some rows one by one; record every question and answer, and resume each time."""
    columns, seen = table.columns(), []
    budgets = (None, 0.6 * cascade.costs.total)
    for i, budget in ((i, budget) for i in range(_FEW_ROWS) for budget in budgets):
        case, steps = cascade.open(budget=budget), []
        while case.needs:
            steps.append(plain(case.needs))
            case.give({name: columns[name][i] for name in case.needs})
            steps.append(plain_fields(case.decision, _CASE))
            case = cascade.resume(case.to_json())
        seen.append([*steps, plain_fields(case.decision, _CASE)])
    return seen


def _bought(cascade: Cascade, table: Table) -> Facts:
    """Buy features on demand: all at once, in batches, within a budget, and async."""
    columns, ids = table.columns(), range(min(len(table.y), _SOME_ROWS))
    asked: list[Any] = []

    def acquire(names: Sequence[str], rows: Sequence[int]) -> dict[str, list[Any]]:
        asked.append([list(names), len(rows)])
        return {name: [columns[name][i] for i in rows] for name in names}

    async def acquire_later(names: Sequence[str], rows: Sequence[int]) -> dict[str, list[Any]]:
        await asyncio.sleep(0)
        return {name: [columns[name][i] for i in rows] for name in names}

    return {
        "all": decision_facts(cascade.run(ids, acquire)),
        "budget": decision_facts(cascade.run(ids, acquire, budget=0.6 * cascade.costs.total)),
        "batches": decision_facts(cascade.run(ids, acquire, batch_size=7)),
        "asked": asked,
        "async": decision_facts(asyncio.run(cascade.arun(ids[:_FEW_ROWS], acquire_later))),
    }
