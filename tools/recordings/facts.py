"""Facts of results: every number to the bit, by public names alone."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_classification

from emsco import Cascade, Design, EMSCOClassifier, Evaluation, ParetoFront, ParetoPoint

# Earlier name → name today, for attributes, JSON keys and CSV columns.
ALIASES = {
    "oddities": "data_issues",
    "oddities_": "data_issues_",
    "finish_": "refinement_",
    "hits": "correct_exits",
    "correct": "correct_exits",
    "right": "accuracy",
    "largest_gap": "largest_error",
    "validation": "scored",
    "held_out": "scored",
    "test": "seen",
    "tests": "seen",
    "runs": "repeats",
    "n_runs": "n_repeats",
    "run": "repeat",
    "margin_over_runs": "margin_over_repeats",
    "spread_of_settings_and_runs": "spread_of_settings_and_repeats",
    "vectors_of_worst_run": "vectors_of_worst_repeat",
    "vectors_of_best_run": "vectors_of_best_repeat",
    "largest_gap_in_standard_errors": "largest_difference_in_standard_errors",
}

# Times, which differ from one recording to the next.
IGNORED = {"seconds", "seconds_by_method"}

# Sentences for people: a change is worth a note, but it changes no result.
WORDING = {
    "known",
    "message",
    "note",
    "notes",
    "reason",
    "reasons",
    "stop_reason",
    "summary",
    "warnings",
}


def named(value: Any, name: str) -> Any:
    """Get an attribute by this name, or by its earlier or present name."""
    today = ALIASES.get(name, name)
    every = [name, today, *(old for old, new in ALIASES.items() if new == today)]
    for one in every:
        if hasattr(value, one):
            return getattr(value, one)
    raise AttributeError(f"{type(value).__name__} has none of {', '.join(dict.fromkeys(every))}")


def plain(value: Any) -> Any:
    """Turn a result into plain values: floats as hexadecimal text, arrays with their dtype.

    Objects without a plain form of their own are written field by field.

    Examples
    --------
    >>> plain({"cost": 0.5, "exits": (3, 4)})
    {'cost': '0x1.0000000000000p-1', 'exits': [3, 4]}
    """
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, np.generic):
        return plain(value.item())
    if isinstance(value, Design):
        return np.asarray(value).tolist()
    if isinstance(value, np.ndarray):  # masked values come out as None
        return {"dtype": value.dtype.str, "values": plain(value.tolist())}
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if is_dataclass(value):
        return plain_fields(value, (field.name for field in fields(value)))
    return [plain(one) for one in value]


def plain_fields(value: Any, names: Iterable[str]) -> dict[str, Any]:
    """The named attributes of an object as plain values; see `names` about renamed ones."""
    return {name: plain(named(value, name)) for name in names}


def parse_json(text: str) -> Any:
    """Parse JSON into plain values, floats to the bit."""
    return json.loads(text, parse_float=lambda number: float(number).hex())


def digest(value: Any) -> str:
    """Shorten plain values to a checksum, where the values themselves would fill pages."""
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Table:
    """Labelled rows, with weights or groups if a case needs them."""

    X: Any
    y: Any
    weights: Any = None
    groups: Any = None

    def columns(self) -> dict[str, list[Any]]:
        """Cells by column name, as plain values; columns of an array are called x0, x1, …."""
        if isinstance(self.X, np.ndarray):
            return {f"x{i}": column.tolist() for i, column in enumerate(self.X.T)}
        cells: dict[str, list[Any]] = nw.from_native(self.X, eager_only=True).to_dict(
            as_series=False
        )
        return cells

    def to_pandas(self, target: str = "label") -> pd.DataFrame:
        """The rows with their labels, and their weights in a column `w` if there are any."""
        weights = {} if self.weights is None else {"w": self.weights}
        return pd.DataFrame({**self.columns(), target: np.asarray(self.y), **weights})

    def weighted(self, whole: bool) -> Table:
        """Give rows weights: whole numbers from 0 to 3, or numbers with many decimals."""
        rng = np.random.default_rng(5)
        n_rows = len(self.y)
        weights = rng.integers(0, 4, n_rows) if whole else rng.gamma(2.0, size=n_rows)
        return replace(self, weights=weights)

    def grouped(self) -> Table:
        """Put rows into six groups, for splitters that ask for groups."""
        return replace(self, groups=np.arange(len(self.y)) % 6)

    def with_holes(self, share: float = 0.08) -> Table:
        """Take some cells out of a pandas table."""
        rng = np.random.default_rng(3)
        return replace(self, X=self.X.mask(rng.random(self.X.shape) < share))


def cancer(n_columns: int = 8, frame: bool = False, n_rows: int = 240) -> Table:
    """Two classes: the first columns of the breast-cancer data."""
    data = load_breast_cancer(as_frame=True)
    X, y = data.data.iloc[:n_rows, :n_columns], data.target.iloc[:n_rows].to_numpy()
    return Table(X if frame else X.to_numpy(), y)


def measures(n_measures: int = 6) -> Table:
    """Two classes: mean, error and worst value of the first measurements."""
    data = load_breast_cancer(as_frame=True)
    names = [name.removeprefix("mean ") for name in data.feature_names[:n_measures]]
    columns = [form for m in names for form in (f"mean {m}", f"{m} error", f"worst {m}")]
    X = data.data.iloc[:240][columns]
    renamed = [f"{m}_{form}" for m in names for form in ("mean", "error", "worst")]
    return Table(X.set_axis(renamed, axis=1), data.target.iloc[:240].to_numpy())


def wine(n_columns: int = 7) -> Table:
    """Three classes, numbers as labels."""
    data = load_wine(as_frame=True)
    return Table(data.data.iloc[:, :n_columns], data.target.to_numpy())


def digits() -> Table:
    """Ten classes, twelve columns."""
    X, y = load_digits(return_X_y=True)
    return Table(X[:300, 18:30], y[:300])


def made(n_columns: int, n_rows: int = 220, n_classes: int = 2) -> Table:
    """Synthetic rows of scikit-learn."""
    X, y = make_classification(
        n_samples=n_rows,
        n_features=n_columns,
        n_informative=min(n_columns, 5),
        n_redundant=1,
        n_classes=n_classes,
        class_sep=0.9,
        random_state=7,
    )
    return Table(X, y)


def mixed(kind: str = "pandas", holes: bool = False) -> Table:
    """Numbers, text, categories and truth values; labels are text, of three classes."""
    base = wine(13)
    X = base.X[["malic_acid", "ash", "flavanoids"]].assign(
        colour=pd.cut(base.X["color_intensity"], 3, labels=["light", "medium", "dark"]),
        tint=np.where(base.X["hue"] > 1, "warm", np.where(base.X["hue"] > 0.8, "even", "cold")),
        strong=base.X["alcohol"] > 13,
    )
    if holes:
        rng = np.random.default_rng(2)
        for name in ("ash", "flavanoids", "tint"):
            X[name] = X[name].mask(rng.random(len(X)) < 0.1, None)
    y = np.array(["barolo", "grignolino", "barbera"])[base.y]
    if kind == "polars":
        return Table(pl.from_pandas(X), y)
    if kind == "pyarrow":
        return Table(pa.Table.from_pandas(X, preserve_index=False), y)
    return Table(X, y)


def has_archive() -> bool:
    """Whether EMSCO_DATA names a folder with the sets of the paper."""
    return "EMSCO_DATA" in os.environ


def archived(name: str, n_rows: int = 300) -> Table:
    """Some rows of heart, pima or credit, evenly spread, from the folder of EMSCO_DATA."""
    rows = pd.read_csv(Path(os.environ["EMSCO_DATA"]) / f"{name}.csv")
    rows = rows.iloc[:: max(1, len(rows) // n_rows)]
    return Table(rows.drop(columns="label"), rows["label"].to_numpy())


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
