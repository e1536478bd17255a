"""The oracle: small random problems go through an earlier version of emsco and through this one.

python benchmarks/oracle.py                          200 problems beside 0.3
python benchmarks/oracle.py --count 20               two minutes
python benchmarks/oracle.py --first 117 --count 1    one of them again, with what it is
python benchmarks/oracle.py --commit COMMIT          beside the last commit that changed results

The earlier version gets an environment of its own under build/oracle: three minutes and 1 GB, once
for each commit. This version is the emsco that this Python imports, told in the first line. A
problem may have many classes, weights, groups of rows and of columns, gaps, categories, fees,
delays, prices by row, limits, any thresholds, money, branches, any search and any stage models.
Both versions must give the same front, deployed design, expected figures, decisions and evaluation,
or the same kind of error. What differs is printed, and the exit code is 1 if anything does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from importlib.metadata import version
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from rich.progress import track
from sklearn.tree import DecisionTreeClassifier

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from golden.facts import Problem, differences, facts_of  # noqa: E402 - found by the line above
from golden.fits import N_NEW, made_rows  # noqa: E402

import emsco  # noqa: E402

RELEASE, COMMIT = "0.3", "1d0f24e"
ERRORS = {"CheckpointError": "FileError"}  # what 0.3 called it → what it is called now
LIBRARIES = ("numpy", "pandas", "scikit-learn", "scipy")
ANSWER = "--answer"  # what a version is called with to answer: the first problem and how many


def spelled(settings: dict[str, Any]) -> dict[str, Any]:
    """Say settings in the words of the emsco that is running: those of 0.3, or later ones.

    The settings of a problem are flat: a search by its name with its `population_size` and
    `generations`, constraints with `buy_all`.
    """
    known, said = signature(emsco.EMSCOClassifier).parameters, dict(settings)
    if "population_size" not in known:
        sizes = {name: said.pop(name) for name in ("population_size", "generations")}
        kinds = {"evolution": "EvolutionSearch", "paper": "PaperSearch"}
        if said["search"] in kinds:
            said["search"] = getattr(emsco, kinds[said["search"]])(**sizes)
    if "allow_exclusion" in known:
        rules = dict(said["constraints"])
        said["allow_exclusion"] = not rules.pop("buy_all", False)
        said["constraints"] = rules
    return said


@dataclass(frozen=True)
class Draw:
    """Draws the parts of a problem, one after the other, by its number."""

    rng: np.random.Generator

    def chance(self, share: float) -> bool:
        """Whether something with this chance happens."""
        return bool(self.rng.random() < share)

    def one_of(self, *options: Any) -> Any:
        """One of some options; repeat one to draw it more often."""
        return options[int(self.rng.integers(len(options)))]

    def problem(self) -> Problem:
        """A problem with settings as `spelled` takes them."""
        regions = self.chance(0.3)
        n_classes = 2 if regions else self.one_of(2, 2, 2, 3, 3, 4, 7)
        n_rows = 600 if regions else int(self.rng.integers(150, 300))
        n_features = int(self.rng.integers(5 if regions else 3, 7))
        made = made_rows(self.rng, n_rows + N_NEW, n_features, n_classes, regions=regions)
        table, y = self._mixed(made[0]), made[1]
        labels: list[Any] = list(range(n_classes))
        if self.chance(0.3):
            labels = [f"{'zyxwvut'[label]}{label}" for label in labels]  # not in order of place
            y = np.array(labels)[y]
        names, settings = list(table), self._settings(labels, list(table))
        if regions:
            settings |= {"branches": "auto", "max_stages": 3, "search": "evolution"}
        if self.chance(0.3):
            answers_all = settings.get("always_answer", False)
            settings["gaps"] = "impute" if answers_all else self.one_of("impute", "skip")
            table = table.mask(self.rng.random(table.shape) < 0.08)
        costs, prices = self._costs(names)
        for column in prices.values():
            table[column] = self.rng.integers(1, 9, len(table)) / 2
        rows, new = table[:n_rows], table[n_rows:].reset_index(drop=True)
        repeats = np.arange(n_rows)
        return Problem(
            rows,
            y[:n_rows],
            new,
            y[n_rows:],
            costs,
            settings,
            weights=self.one_of(None, None, None, repeats % 3, 0.25 + repeats % 4 / 2),
            groups=self.one_of(None, None, None, None, repeats // 2),
            prices=prices,
        )

    def _mixed(self, rows: pd.DataFrame) -> pd.DataFrame:
        """Make a category and a truth value of some columns."""
        if self.chance(0.3):
            parts = pd.cut(rows["b"], [-np.inf, -0.5, 0.5, np.inf], labels=["low", "mid", "high"])
            rows["b"] = parts.astype(object)
        if self.chance(0.2):
            rows["c"] = (rows["c"] > 0).astype(object)
        return rows

    def _costs(self, names: list[str]) -> tuple[emsco.FeatureCosts, dict[str, str]]:
        """Costs, and the columns that hold prices."""
        costs: dict[str, Any] = {name: int(self.rng.integers(1, 9)) for name in names}
        more: dict[str, Any] = {}
        if self.chance(0.2):
            costs["a"] = 0
        if self.chance(0.3):
            costs = {name: cost / 3 for name, cost in costs.items()}
        if self.chance(0.25):
            costs["panel"] = costs.pop(names[-1]) + costs.pop(names[-2])
            more["groups"] = {"panel": names[-2:]}
        features = list(costs)
        if self.chance(0.3):
            more["fees"] = {"visit": (2.5, features[:2]), "draw": (1, features[-2:])}
        if self.chance(0.2):
            more["delays"] = {features[-1]: 24, features[0]: 1}
        prices = {}
        if self.chance(0.2):
            prices = {features[0]: "price"}
            costs[features[0]] = "price"
        made = emsco.FeatureCosts.from_mapping(costs, [*names, *prices.values()], **more)
        return replace(made, evaluation=self.one_of(0.0, 0.0, 0.0, 0.5)), prices

    def _settings(self, labels: list[Any], names: list[str]) -> dict[str, Any]:
        tree = DecisionTreeClassifier(max_depth=3, random_state=0)
        search = self.one_of("auto", "auto", "exact", "evolution", "evolution", "paper")
        settings = {
            "search": search,
            "population_size": 100,
            "generations": 20,
            "max_stages": int(self.rng.integers(1, 5)),
            "cv": self.one_of(1 / 3, 1 / 3, 2, 3),
            "refit": self.one_of("average", "average", "all", "first"),
            "estimator": self.one_of(*["logistic"] * 5, "spline", "boosting", tree, "auto"),
            "constraints": self.one_of(
                *[{}] * 6,
                {"first": names[:1]},
                {"max_mean_cost": 9.0},
                {"max_worst_cost": 16.0},
                {"buy_all": True},
            ),
        }
        if settings["constraints"].get("buy_all"):
            settings["max_stages"] = 3  # 0.3 crashes with one stage
        sure = dict.fromkeys(labels, 0.6) | {labels[0]: 0.85}
        if search in ("exact", "paper"):  # which know neither stages of their own nor money
            settings["min_confidence"] = self.one_of(0.6, 0.75, 0.75, sure)
            return settings
        settings["branches"] = self.one_of("auto", "auto", 1, 3)
        if self.chance(0.2):
            matrix = 30 * (1 - np.eye(len(labels)))
            matrix[0] *= 3
            by_label = dict.fromkeys(labels, 20.0) | {labels[-1]: 60.0}
            settings["error_cost"] = self.one_of(25.0, by_label, matrix.tolist())
            settings["reject_cost"] = self.one_of(None, 8.0, dict.fromkeys(labels, 9.0))
            return settings
        settings["class_weight"] = self.one_of(None, None, None, "balanced")
        settings["metric"] = self.one_of("accuracy", "accuracy", "accuracy", "balanced_accuracy")
        settings["prefer"] = self.one_of(
            *["economical"] * 4, "one_standard_error", "accurate", "accurate", "balanced", "knee"
        )
        settings["always_answer"] = self.chance(0.3)
        settings["min_confidence"] = self.one_of("auto", "auto", "auto", 0.75, sure)
        if settings["always_answer"]:
            settings["min_confidence"] = "auto"
        return settings


def drawn(number: int) -> Problem:
    """The problem with this number."""
    return Draw(np.random.default_rng(number)).problem()


def answer(number: int) -> dict[str, Any]:
    """What the emsco that is running makes of a problem."""
    problem = drawn(number)
    text = problem.rows.to_csv() + problem.new.to_csv() + str(problem.settings)
    said: dict[str, Any] = {"problem": sha256(text.encode()).hexdigest()}
    try:
        facts = facts_of(replace(problem, settings=spelled(problem.settings)))
    except emsco.errors.EMSCOError as error:  # the other version must refuse as well
        kind = type(error).__name__
        return {**said, "refused": ERRORS.get(kind, kind), "sentence": str(error)}
    return {**said, "facts": facts}


def installed(commit: str) -> Path:
    """Python of an environment that has this commit of emsco; made once.

    Raises
    ------
    SystemExit
        If it cannot be installed.
    """
    named = ["git", "-C", str(ROOT), "rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"]
    told = subprocess.run(named, capture_output=True, text=True, check=False).stdout.strip()
    if not told:  # a branch moves, so an environment has the name of its commit
        sys.exit(f"--commit must name a commit of this repository, got {commit!r}.")
    home = ROOT / "build" / "oracle" / told
    python, done = home / "env" / "bin" / "python", home / "done"
    if done.exists():
        return python
    print(f"installing {commit} into {home.relative_to(ROOT)}", flush=True)
    source = home / "source"
    source.mkdir(parents=True, exist_ok=True)
    alike = home / "alike.txt"  # the same libraries as here, or nine digits would not be equal
    alike.write_text("".join(f"{name}=={version(name)}\n" for name in LIBRARIES))
    steps = (
        ["git", "-C", ROOT, "archive", "--output", home / "source.tar", told],
        ["tar", "-xf", home / "source.tar", "-C", source],
        [sys.executable, "-m", "venv", "--clear", home / "env"],
        [python, "-m", "pip", "install", "-q", "-c", alike, f"{source}[frames]"],
        [python, "-c", "import emsco"],
    )
    for step in steps:
        made = subprocess.run([*map(str, step)], capture_output=True, text=True, check=False)
        if made.returncode:
            why = (made.stderr.strip() or made.stdout.strip() or "no reason given").splitlines()
            sys.exit(f"{commit} must be installed to compare with it, but cannot be: {why[-1]}")
    if (warm := python.with_name("emsco")).exists():  # 0.3 compiles its kernels when they run
        subprocess.run([str(warm), "warm"], capture_output=True, check=False)
    done.touch()
    return python


def answers(python: list[str], first: int, count: int) -> Iterator[dict[str, Any]]:
    """Answers of the emsco that a Python has, in order, from a process of its own."""
    with subprocess.Popen(
        [*python, __file__, ANSWER, str(first), str(count)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    ) as asked:
        try:
            yield from map(json.loads, asked.stdout or ())
        finally:
            asked.terminate()


def compared(before: dict[str, Any], after: dict[str, Any]) -> dict[str, str]:
    """What differs between two answers, by section."""
    if before["problem"] != after["problem"]:
        return {"problem": "the two environments draw different rows"}
    told = differences(before.get("facts", {}), after.get("facts", {}))
    if before.get("refused") != after.get("refused"):
        both = [one.get("sentence", "a fit") for one in (before, after)]
        return {"refused": " → ".join(both)}
    return told


def main() -> int:
    """Compare, or answer for a version."""
    if sys.argv[1:2] == [ANSWER]:
        first, count = map(int, sys.argv[2:4])
        for number in range(first, first + count):
            print(json.dumps(answer(number)), flush=True)
        return 0
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200, help="problems (default: 200)")
    parser.add_argument("--first", type=int, default=0, help="number of the first (default: 0)")
    parser.add_argument("--commit", default=COMMIT, help=f"earlier version (default: {RELEASE})")
    asked = parser.parse_args()
    if asked.count < 1 or asked.first < 0:
        parser.error("--count must be at least 1 and --first at least 0.")
    numbers = range(asked.first, asked.first + asked.count)
    if asked.count == 1:
        one = drawn(asked.first)
        print(one.rows, one.costs, one.settings, sep="\n")
    earlier = [str(installed(asked.commit)), "-E"]  # whatever PYTHONPATH says
    print(f"{Path(emsco.__file__).parent} beside {asked.commit}", flush=True)
    before = answers(earlier, asked.first, asked.count)
    after = answers([sys.executable], asked.first, asked.count)
    found, n_equal, n_refused = Counter[str](), 0, 0
    for number in track(numbers, "problems", disable=not sys.stderr.isatty()):
        pair = next(before, None), next(after, None)
        if None in pair:
            who = "the earlier version" if pair[0] is None else "this version"
            sys.exit(f"problem {number} ended {who}; see above.")
        told = compared(*pair)
        n_equal += not told
        n_refused += all("refused" in one for one in pair)
        found.update(told.keys())
        for section, what in told.items():
            print(f"problem {number}, {section}: {what}", flush=True)
    sections = ", ".join(f"{name} {count}" for name, count in found.most_common())
    print(
        f"{n_equal} of {len(numbers)} problems are equal beside {asked.commit}; "
        f"both refuse {n_refused}" + (f"; different: {sections}" if found else "")
    )
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main())
