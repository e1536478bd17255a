"""Timing, tables and problems that the benchmarks share."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from moocore import hypervolume
from sklearn.datasets import make_classification
from sklearn.model_selection import train_test_split

from emsco import FeatureCosts
from emsco.errors import EMSCOWarning
from emsco_lab import datasets
from emsco_lab.datasets import Dataset, load, paper_split
from emsco.models.bank import logistic_bank
from emsco.models.engine import SplitRows
from emsco.models.scaling import Scaling
from emsco.models.shard import SplitData
from emsco.scoring.evaluator import Evaluator

SEED = 0
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

# Made by rule: rows, share of positives, strength of the informative columns.
GENERATED = {
    "rare6": (6000, 0.06, 1.0),
    "rare24": (6000, 0.24, 1.0),
    "even40": (6000, 0.40, 1.0),
    "small30": (1000, 0.30, 0.6),
    "small4": (937, 0.04, 1.0),
}
PUBLIC = ("heart", "pima", "credit", "breast_cancer")


def best_of(n: int, job: Callable[[], object]) -> float:
    """Shortest of n timings, in seconds."""
    times = []
    for _ in range(n):
        started = time.perf_counter()
        job()
        times.append(time.perf_counter() - started)
    return min(times)


def status(key: str) -> float:
    """Read a line of this process's status, in MiB; Linux only."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(key)).split()[1]) / 1024


@contextmanager
def quietly() -> Iterator[None]:
    """Fit without warnings about the data or the deployed design."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EMSCOWarning)
        yield


def volume(figures: np.ndarray, total_cost: float) -> float:
    """Volume that rows of (coverage, accuracy, cost) dominate together, at most 1."""
    coverage, accuracy, cost = figures.T
    gains = np.column_stack([coverage, accuracy, 1 - cost / total_cost])
    return float(hypervolume(gains, ref=[0.0, 0.0, 0.0], maximise=True))


def all_subsets(n_features: int) -> np.ndarray:
    """Every subset of the features but the empty one."""
    numbers = np.arange(1, 2**n_features)
    return (numbers[:, None] >> np.arange(n_features) & 1).astype(bool)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows, labels and costs."""

    name: str
    X: pd.DataFrame
    y: np.ndarray
    costs: FeatureCosts


def held_out(table: Table, seed: int, share: float = 0.3) -> list:
    """Rows to fit on, test rows, labels to fit on and labels of the test rows."""
    return train_test_split(table.X, table.y, test_size=share, stratify=table.y, random_state=seed)


def load_table(name: str, seed: int) -> Table:
    """Make a generated table from a seed, or load a data set's rows without gaps."""
    if name in GENERATED:
        n_rows, share, strength = GENERATED[name]
        return generated(n_rows, share, seed, strength)
    data = datasets.load(name, seed)
    X = pd.DataFrame(data.X, columns=list(data.costs.table)).dropna()
    return Table(name, X, data.y[X.index], data.costs)


def generated(n_rows: int, share: float, seed: int, strength: float = 1.0) -> Table:
    """Make a table of 12 columns: 6 informative, 2 weak for 0.5, 3 of noise, 1 free and weak.

    A class has `share` of the rows. Informative columns differ between the classes by 0.5 to 1.5
    standard deviations, times `strength`.
    """
    rng = np.random.default_rng(seed)
    y = (rng.random(n_rows) < share).astype(int)
    columns, costs = {}, {}
    for i in range(6):
        shift = strength * rng.uniform(0.5, 1.5)
        columns[f"test{i}"] = rng.normal(size=n_rows) + shift * y
        costs[f"test{i}"] = float(rng.integers(2, 20))
    for i in range(2):
        columns[f"weak{i}"] = rng.normal(size=n_rows) + 0.15 * y
        costs[f"weak{i}"] = 0.5
    for i in range(3):
        columns[f"noise{i}"] = rng.normal(size=n_rows)
        costs[f"noise{i}"] = float(rng.integers(1, 5))
    columns["free"] = rng.normal(size=n_rows) + 0.3 * y
    costs["free"] = 0.0
    X = pd.DataFrame(columns)[list(rng.permutation(list(columns)))]
    return Table("generated", X, y, FeatureCosts.from_mapping(costs, list(X.columns)))


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows, labels, costs and one split."""

    name: str
    X: np.ndarray
    y: np.ndarray
    costs: np.ndarray
    train: np.ndarray
    scored: np.ndarray

    @cache  # noqa: B019 - a handful of problems live as long as the program
    def standardised(self) -> tuple[np.ndarray, np.ndarray]:
        """Training and scored rows, divided by the training rows' deviations."""
        scaling = Scaling.learn(self.X[self.train])
        rows = scaling.columns(self.X)[1:].T
        return np.ascontiguousarray(rows[self.train]), np.ascontiguousarray(rows[self.scored])


def load_problem(name: str, seed: int = 0) -> Problem:
    """Load heart or credit from the folder that EMSCO_DATA names, or make a synthetic set."""
    if name in ("heart", "credit"):
        data = datasets.load(name)
        X, y, costs = data.X, data.y, data.costs.costs
    elif name == "synthetic15":
        X, y = make_classification(
            4000, 15, n_informative=12, class_sep=0.85, flip_y=0.02, random_state=seed
        )
        costs = np.ones(15)
    else:
        X, y = make_classification(4000, 50, n_informative=25, random_state=seed)
        costs = np.full(50, 10.0)
    order = np.random.default_rng(seed).permutation(len(X))
    half, quarter = len(X) // 2, -(-len(X) // 4)
    return Problem(
        name,
        np.ascontiguousarray(X[order]),
        y[order].astype(np.uint8),
        costs,
        np.arange(half),
        np.arange(half, half + quarter),
    )


@cache
def dataset(name: str) -> Dataset:
    """Load a set once, since the costs of Synthetic15 need a forest."""
    return load(name, SEED)


def evaluator(name: str, max_stages: int, n_jobs: int = CORES) -> Evaluator:
    """Open an evaluator whose bank has fitted nothing yet."""
    data = dataset(name)
    train, scored, _ = paper_split(len(data.X), SEED)
    split = SplitRows.cut(SplitData(data.X, data.y, train, scored))
    bank = logistic_bank([split], data.X.shape[1], n_jobs=n_jobs)
    return Evaluator(bank, data.costs, data.min_confidence, max_stages)
