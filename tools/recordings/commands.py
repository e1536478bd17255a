"""Commands on files: fits, the commands that follow a fit, and the studies."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import emsco
from emsco import Cascade, EMSCOClassifier, FeatureCosts, ParetoFront
from recordings.facts import (
    Facts,
    Table,
    cancer,
    decision_facts,
    file_facts,
    has_archive,
    made,
    measures,
    mixed,
    parse_json,
    plain,
    wine,
)

# Top-level keys of JSON that describe the call and not its result.
_ABOUT = {"run", "out", "data", "of", "settings", "versions", "files", "experiment"}
_ABOUT |= {"cv", "n_splits"}


@dataclass(frozen=True, slots=True)
class Shell:
    """Runs commands of emsco in a folder.

    Attributes
    ----------
    folder : Path
        Where the commands run, and where their files are.
    """

    folder: Path

    def run(self, *arguments: object, code: int = 0) -> str:
        """Run a command and return its output; refuse any other exit code."""
        done = self._start(*arguments)
        printed, complaint = done.communicate()
        if done.returncode != code:
            raise RuntimeError(f"emsco {arguments} ended with {done.returncode}: {complaint}")
        return printed

    def json(self, *arguments: object) -> Any:
        """Run a command with --json, and return the result without facts about the call."""
        facts = parse_json(self.run(*arguments, "--json"))
        return {key: value for key, value in facts.items() if key not in _ABOUT}

    def kill_once_there(self, path: str, *arguments: object, patience: float = 300.0) -> int:
        """Start a command, kill it once a path exists, and return its exit code."""
        started, deadline = self._start(*arguments), time.monotonic() + patience
        while started.poll() is None and time.monotonic() < deadline:
            if (self.folder / path).exists():
                time.sleep(0.2)
                started.kill()
                break
            time.sleep(0.02)
        started.communicate()
        return started.returncode

    def _start(self, *arguments: object) -> subprocess.Popen[str]:
        package = str(Path(emsco.__file__).resolve().parent.parent)  # the very emsco imported here
        return subprocess.Popen(
            [sys.executable, "-m", "emsco", *map(str, arguments)],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": package, "PYTHONIOENCODING": "utf-8"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )


def read_columns(path: Path) -> dict[str, list[str]]:
    """Read the cells of a CSV file by column, as text, which holds every digit."""
    with path.open(encoding="utf-8", newline="") as file:
        names, *rows = csv.reader(file)
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


Command = Callable[[Path], Facts]

_TREE = "sklearn.tree._tree.Tree"
_HELD_OUT = ("--cv", 1 / 3, "--refit", "first")
_QUICK = ("--estimator", "logistic", *_HELD_OUT)


def _write(table: Table, path: Path, rows: slice = slice(None)) -> None:
    """Write labelled rows with an id as CSV or Parquet, by the ending of the path."""
    frame = table.to_pandas().iloc[rows]
    frame.insert(0, "id", [f"r{i}" for i in frame.index])
    if path.suffix == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)


def _followed(shell: Shell, new: str, *trust: str) -> Facts:
    """Look at the run in the folder `run`; then choose, decide and evaluate with it."""
    run, folder = "run", shell.folder
    loaded = file_facts(folder / run / "cascade.json", folder / run / "front.json", trust)
    last = len(loaded["front"]["points"]) - 1
    trusted = [word for name in trust for word in ("--trust", name)]
    return {
        "loaded": loaded,
        "history": read_columns(folder / run / "history.csv"),
        "front": shell.json("front", run, *trusted),
        "choose": shell.json("choose", run, last, *trusted),
        "counts": shell.json("decide", run, new, "--keep", "id", "--out", "kept.csv", *trusted),
        "decisions": read_columns(folder / "kept.csv"),
        "evaluate": shell.json("evaluate", run, new, *trusted),
    }


def _fit(folder: Path) -> Facts:
    """Fit by exact search, with costs in CSV."""
    shell, table = Shell(folder), cancer(8, frame=True)
    _write(table, folder / "rows.csv", slice(160))
    _write(table, folder / "new.csv", slice(160, None))
    names = list(table.columns())
    lines = ["feature,cost", *(f"{name},{1 + i}" for i, name in enumerate(names))]
    (folder / "costs.csv").write_text("\n".join(lines), encoding="utf-8")
    fit = shell.json(
        *("fit", "rows.csv", "--target", "label", "--drop", "id", "--costs", "costs.csv"),
        *("--search", "exact", "--max-stages", 3, "--min-confidence", 0.8, "--prefer", "knee"),
        *("--seed", 1, "--jobs", 1, "--out", "run", *_QUICK),
    )
    facts = {"fit": fit, **_followed(shell, "new.csv")}
    limits = ("--min-coverage", 0.5, "--max-cost", 20)
    facts["cheap"] = shell.json("front", "run", *limits)
    facts["chosen"] = shell.json("choose", "run", *limits)
    facts["shown"] = shell.json("show", "run")
    return facts


def _fit_parts(folder: Path) -> Facts:
    """Fit on separate training, scored and test files, with weights and a line of costs."""
    shell, table = Shell(folder), made(12, 260).weighted(whole=False)
    for i, name in enumerate(("train", "val", "test")):
        _write(table, folder / f"{name}.csv", slice(i, None, 3))
    (folder / "costs.txt").write_text(",".join(map(str, range(1, 13))), encoding="utf-8")
    fit = shell.json(
        *("fit", "--train", "train.csv", "--val", "val.csv", "--test", "test.csv"),
        *("--target", "label", "--drop", "id", "--weights", "w", "--costs", "costs.txt"),
        *("--search", "evolution", "--generations", 6, "--population-size", 40),
        *("--refit", "all"),
        *("--max-stages", 4, "--max-cost", 60, "--seed", 3, "--jobs", 1, "--out", "run"),
    )
    return {"fit": fit, **_followed(shell, "test.csv")}


def _fit_problem(folder: Path) -> Facts:
    """Fit on categories and missing values, with settings by class, rules and JSON costs."""
    shell, table = Shell(folder), mixed(holes=True)
    _write(table, folder / "rows.parquet")
    costs = '{"malic_acid": 1, "ash": 2, "flavanoids": 9, "look": '
    costs += '{"cost": 4, "columns": ["colour", "tint"]}, "strong": 0.5}'
    (folder / "costs.json").write_text(costs, encoding="utf-8")
    fit = shell.json(
        *("fit", "rows.parquet", "--target", "label", "--drop", "id", "--costs", "costs.json"),
        *("--gaps", "impute", "--allow-exclusion", "--evaluation-cost", 0.25, "--first", "ash"),
        *("--together", "malic_acid,strong", "--max-worst-cost", 16, "--max-stages", 3),
        *("--min-confidence", "barolo=0.8,grignolino=0.6,barbera=0.7"),
        *("--class-weight", "barolo=2,grignolino=1,barbera=1", "--search", "exact"),
        *("--jobs", 1, "--out", "run", *_QUICK),
    )
    facts = {"fit": fit, **_followed(shell, "rows.parquet")}
    shell.run("decide", "run", "rows.parquet", "--out", "decisions.parquet")
    return {
        **facts,
        "parquet": plain(pd.read_parquet(folder / "decisions.parquet").to_dict("list")),
    }


def _fit_estimator(folder: Path) -> Facts:
    """Fit trees as stage models, calibrated and cached; their types must be trusted."""
    shell = Shell(folder)
    _write(cancer(5, frame=True), folder / "rows.csv")
    fit = shell.json(
        *("fit", "rows.csv", "--target", "label", "--drop", "id", "--search", "paper"),
        *("--estimator", "DecisionTreeClassifier(max_depth=3)", "--calibration", "sigmoid"),
        *("--cache", "cache", "--max-stages", 3, "--generations", 4, "--population-size", 20),
        *("--jobs", 1, "--out", "run", *_HELD_OUT),
    )
    return {"fit": fit, **_followed(shell, "rows.csv", _TREE)}


def _fit_groups(folder: Path) -> Facts:
    """Fit with groups of columns in a costs file, by the paper's search."""
    shell, table = Shell(folder), measures(4)
    _write(table, folder / "rows.csv")
    lines = [f"{name},{3 if name.endswith('mean') else ''}" for name in table.columns()]
    groups = [name.rsplit("_", 1)[0] for name in table.columns()]
    body = [f"{line},{group}" for line, group in zip(lines, groups, strict=True)]
    (folder / "costs.csv").write_text("\n".join(["feature,cost,group", *body]), encoding="utf-8")
    fit = shell.json(
        *("fit", "rows.csv", "--target", "label", "--drop", "id", "--costs", "costs.csv"),
        *("--search", "paper", "--prefer", "fittest", "--generations", 5, "--max-stages", 3),
        *("--population-size", 30, "--min-confidence", 0.95, "--jobs", 1, "--out", "run"),
        *_QUICK,
    )
    return {"fit": fit, **_followed(shell, "rows.csv")}


def _killed(folder: Path) -> Facts:
    """Kill a fit while it searches, resume it, and compare it with an undisturbed fit."""
    shell = Shell(folder)
    _write(cancer(30, frame=True), folder / "rows.csv")
    fit = [
        *("fit", "rows.csv", "--target", "label", "--drop", "id", "--search", "evolution"),
        *("--max-stages", 5, "--generations", 60, "--population-size", 100),
        *("--min-confidence", 0.95, "--jobs", 1, *_QUICK),
    ]
    killed = shell.kill_once_there("run/checkpoint", *fit, "--out", "run")
    resumed = shell.json(*fit, "--out", "run", "--resume")
    whole = shell.json(*fit, "--out", "whole")
    cascade = Cascade.load(folder / "run" / "cascade.json")
    return {
        "killed": killed,
        "fit": resumed,
        "alike": resumed["front"] == whole["front"],
        "history": read_columns(folder / "run" / "history.csv"),
        "decisions": decision_facts(cascade.decide(cancer(30, frame=True).X)),
    }


def _sweep(folder: Path, *options: object) -> Facts:
    shell = Shell(folder)
    _write(wine(7), folder / "rows.csv")
    facts: Facts = shell.json(
        *("sweep", "rows.csv", "--target", "label", "--drop", "id", "--runs", 2),
        *("--generations", 5, "--population-size", 30, "--max-stages", 3, "--jobs", 1),
        *("--min-confidence", "0.6,0.8:0.9:0.05", "--prefer", "fittest", "--prefer", "balanced"),
        *options,
    )
    return facts


def _compare(folder: Path) -> Facts:
    shell = Shell(folder)
    _write(cancer(6, frame=True), folder / "rows.csv")
    facts: Facts = shell.json(
        *("compare", "rows.csv", "--target", "label", "--drop", "id", "--quick", "--jobs", 1),
        *(word for name in _COMPARED for word in ("--method", name)),
    )
    return facts


_COMPARED = ("emsco", "astc", "cact_lasso", "cost_ordered", "cost_aware_boosting")


def _demo(folder: Path) -> Facts:
    facts: Facts = Shell(folder).json("demo", "--seed", 1)
    return facts


def _reproduce(*arguments: object) -> Command:
    """Make a command that reproduces a figure or table of the paper."""

    def record(folder: Path) -> Facts:
        facts: Facts = Shell(folder).json("reproduce", *arguments)
        return facts

    return record


def _refused(folder: Path) -> Facts:
    """Run commands that must end with an error of emsco."""
    shell = Shell(folder)
    _write(wine(5).with_holes(), folder / "rows.csv")
    fit = ("fit", "rows.csv", "--target", "label", "--out", "run")
    commands: dict[str, tuple[Any, int]] = {
        "gaps": ((*fit, "--drop", "id"), 1),
        "threshold": ((*fit, "--drop", "id", "--gaps", "skip", "--min-confidence", 2), 1),
        "no run": (("front", "nothing"), 1),
        "usage": (("fit", "--colour", "blue"), 2),
    }
    for arguments, code in commands.values():
        shell.run(*arguments, code=code)
    return {name: code for name, (_, code) in commands.items()}


_PAPER: dict[str, Command] = {
    "command-reproduce-landscape": _reproduce("landscape", "--set", "pima", "--max-stages", 3),
    "command-reproduce-sweep": _reproduce("sweep", "--set", "pima", "--runs", 1, "--jobs", 1),
    "command-reproduce-tuning": _reproduce(
        *("tuning", "--set", "pima", "--runs", 1, "--thin", 200, "--jobs", 1)
    ),
    "command-reproduce-comparison": _reproduce(
        *("comparison", "--quick", "--set", "pima", "--jobs", 1, "--method", "paper"),
        *("--method", "evolution", "--method", "exact", "--method", "cact_lasso"),
        *("--method", "cost_ordered", "--method", "cost_aware_boosting"),
    ),
    "command-reproduce-global": _reproduce("global", "--runs", 1, "--jobs", 1),
}

COMMANDS: dict[str, Command] = {
    "command-fit": _fit,
    "command-fit-parts": _fit_parts,
    "command-fit-problem": _fit_problem,
    "command-fit-estimator": _fit_estimator,
    "command-fit-groups": _fit_groups,
    "command-fit-killed": _killed,
    "command-sweep": _sweep,
    "command-sweep-exact": lambda folder: _sweep(folder, "--search", "exact"),
    "command-compare": _compare,
    "command-demo": _demo,
    "command-refused": _refused,
    "command-reproduce-mutation": _reproduce("mutation", "--mutants", 2000),
    "command-reproduce-costs": _reproduce("costs"),
    **(_PAPER if has_archive() else {}),
}


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
