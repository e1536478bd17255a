"""Exact fronts whose stages have thresholds of their own: seconds, and nanoseconds a design."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from exact_speed import dataset
from timing import CORES, SEED

from emsco.designs.space import DesignSpace
from emsco.designs.thresholds import ThresholdGrid
from emsco.lab.datasets import paper_split
from emsco.models.bank import logistic_bank
from emsco.models.engine import SplitRows
from emsco.scoring.evaluator import Evaluator
from emsco.search.exact.front import ExactFront
from emsco.search.exact.spaces import ThresholdSpace
from emsco.search.exact.walk import walk_front

EIGHT = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9)


@dataclass(frozen=True)
class Case:
    """A set, its stages, and the thresholds that they may have.

    Without folds, a third of the rows is scored. "auto" is the grid that a fit searches.
    """

    name: str
    max_stages: int
    grid: str
    n_folds: int = 0
    allow_exclusion: bool = True

    def __str__(self) -> str:
        """The case in words."""
        rows = f"{self.n_folds} folds" if self.n_folds else "a third of the rows"
        leaving = "" if self.allow_exclusion else ", no feature left out"
        return f"{self.name}, {self.max_stages} stages, {self.grid}, {rows}{leaving}"


CASES = (
    Case("pima", 4, "auto"),
    Case("pima", 4, "auto", 5),
    Case("pima", 8, "auto"),
    Case("pima", 4, "8 levels"),
    Case("pima", 4, "8 levels", allow_exclusion=False),
    Case("pima", 4, "7 levels, then everyone"),
    Case("pima", 3, "8 levels", 5),
    Case("pima", 4, "8 levels", 5),
    Case("heart", 2, "8 levels"),
    Case("heart", 3, "auto"),
    Case("heart", 3, "auto", 5),
    Case("heart", 3, "8 levels"),
    Case("credit", 2, "8 levels"),
    Case("credit", 2, "8 levels", 5),
    Case("credit", 3, "auto"),
)


def open_evaluator(case: Case, n_jobs: int = CORES) -> Evaluator:
    """Open an evaluator whose bank has fitted nothing yet."""
    data = dataset(case.name)
    n_rows = len(data.X)
    if case.n_folds:
        parts = np.array_split(np.random.default_rng(SEED).permutation(n_rows), case.n_folds)
        pairs = [(np.setdiff1d(np.arange(n_rows), part), part) for part in parts]
    else:
        pairs = [paper_split(n_rows, SEED)[:2]]
    splits = [SplitRows.cut(data.X, data.y, *pair) for pair in pairs]
    bank = logistic_bank(splits, data.X.shape[1], n_jobs=n_jobs)
    return Evaluator(bank, data.costs, grid_of(case, data.y, bank.n_rows), case.max_stages)


def grid_of(case: Case, y: np.ndarray, n_scored: int) -> ThresholdGrid:
    """Return the thresholds of a case."""
    shares = np.bincount(y) / len(y)
    if case.grid == "auto":
        return ThresholdGrid.searched(shares, n_scored)
    levels = np.repeat(np.array(EIGHT)[:, None], len(shares), axis=1)
    every = tuple(range(len(levels)))
    if case.grid == "8 levels":
        return ThresholdGrid(levels, every, every)
    levels[0] = 0
    return ThresholdGrid(levels, every[1:], every[:1])


def report(cases: tuple[Case, ...] = CASES) -> None:
    """Time exact fronts, fits included, on all cores."""
    solve(Case("pima", 2, "auto"))  # compiles
    for case in cases:
        started = time.perf_counter()
        terrain, front = solve(case)
        seconds = time.perf_counter() - started
        size = terrain.design_space.size
        print(
            f"{case} ({terrain.n_words} words): {size:,} designs, {len(front.designs)} vectors, "
            f"{front.n_tied.sum():,} optimal designs, {front.n_transitions:,} subsets tried, "
            f"{seconds:.1f} s, {1e9 * seconds / size:.2f} ns a design",
            flush=True,
        )


def solve(case: Case, n_jobs: int = CORES) -> tuple[ThresholdSpace, ExactFront]:
    """Find the exact front of a case, fits included."""
    scorer = open_evaluator(case, n_jobs)
    grid, n_features = scorer.grid, scorer.bank.n_features
    own = case.max_stages, case.allow_exclusion, None, len(grid.early), len(grid.last)
    terrain = ThresholdSpace.from_evaluator(scorer, DesignSpace(n_features, *own))
    return terrain, walk_front(terrain, n_jobs=n_jobs)
