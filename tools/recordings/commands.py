"""Commands on files: fits, the commands that follow a fit, and the studies."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

from emsco import Cascade
from recordings.facts import Facts, decision_facts, file_facts
from recordings.plain import plain
from recordings.shell import Shell, read_columns
from recordings.tables import Table, cancer, has_archive, made, measures, mixed, wine

__all__ = ["COMMANDS", "Command"]

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
    found: Facts = shell.json(
        *("sweep", "rows.csv", "--target", "label", "--drop", "id", "--runs", 2),
        *("--generations", 5, "--population-size", 30, "--max-stages", 3, "--jobs", 1),
        *("--min-confidence", "0.6,0.8:0.9:0.05", "--prefer", "fittest", "--prefer", "balanced"),
        *options,
    )
    return found


def _compare(folder: Path) -> Facts:
    shell = Shell(folder)
    _write(cancer(6, frame=True), folder / "rows.csv")
    found: Facts = shell.json(
        *("compare", "rows.csv", "--target", "label", "--drop", "id", "--quick", "--jobs", 1),
        *(word for name in _COMPARED for word in ("--method", name)),
    )
    return found


_COMPARED = ("emsco", "astc", "cact_lasso", "cost_ordered", "cost_aware_boosting")


def _demo(folder: Path) -> Facts:
    found: Facts = Shell(folder).json("demo", "--seed", 1)
    return found


def _reproduce(*arguments: object) -> Command:
    """Make a command that reproduces a figure or table of the paper."""

    def record(folder: Path) -> Facts:
        found: Facts = Shell(folder).json("reproduce", *arguments)
        return found

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
