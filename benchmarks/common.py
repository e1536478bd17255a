"""What the benchmarks share: times side by side, tables, a word on progress, and made-up rows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from emsco import FeatureCosts

SEED = 0
OURS = str(Path(__file__).parents[1] / "src")


def options(words: str | None) -> ArgumentParser:
    """Make a parser whose help is a docstring as it stands."""
    return ArgumentParser(description=words, formatter_class=RawDescriptionHelpFormatter)


def names(text: str) -> tuple[str, ...]:
    """Split what an option lists."""
    return tuple(text.split(","))


def progress(done: int, total: int, title: str) -> None:
    """Say which job of how many has ended."""
    print(f"{done} of {total}: {title}", file=sys.stderr, flush=True)


def side_by_side(*jobs: Callable[[], object], rounds: int = 3) -> list[float]:
    """Shortest seconds of each job; jobs take turns, so all see the same machine."""
    times = np.zeros((rounds, len(jobs)))
    for i in range(rounds):
        for j, job in enumerate(jobs):
            started = time.perf_counter()
            job()
            times[i, j] = time.perf_counter() - started
    shortest: list[float] = times.min(axis=0).tolist()
    return shortest


def in_new_process(script: str, arguments: list[str], sources: str) -> list[float]:
    """Run a script of the benchmarks with these sources of emsco, and read what it prints."""
    environment = {**os.environ, "PYTHONPATH": sources, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, script, *arguments]
    said = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    numbers: list[float] = json.loads(said.stdout)
    return numbers


def markdown(table: pd.DataFrame, digits: int = 2) -> str:
    """Write a table with its index in the first column; gaps stay empty."""
    lines = [[table.index.name or "", *table.columns], ["---"] * (1 + len(table.columns))]
    for index, cells in zip(table.index, table.to_numpy(dtype=object), strict=True):
        lines.append([index, *(_cell(cell, digits) for cell in cells)])
    return "\n".join(f"| {' | '.join(map(str, line))} |" for line in lines)


def _cell(value: object, digits: int) -> str:
    if isinstance(value, float):
        return "" if np.isnan(value) else f"{value:,.{digits}f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


@dataclass(frozen=True, eq=False)
class Table:
    """Rows, labels and costs."""

    X: pd.DataFrame
    y: np.ndarray
    costs: FeatureCosts


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
    return Table(X, y, FeatureCosts.from_mapping(costs, list(X.columns)))
