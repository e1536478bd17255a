"""Small tables, random designs with thresholds of their own, and a loop over rows and stages."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from emsco.costs import FeatureCosts
from emsco.data.training import TrainingData
from emsco.designs.chromosomes import compress, levels_of, stages_of, with_levels
from emsco.designs.thresholds import ThresholdGrid
from emsco.fitting import Workbench
from emsco.models.recipe import StageRecipe

N_ROWS, NAMES = 120, "abcde"
ROWS = np.arange(N_ROWS)
ONE_SPLIT = [(ROWS[:70], ROWS[70:])]
FOLDS = [(np.delete(ROWS, ROWS[i::3]), ROWS[i::3]) for i in range(3)]
LOGISTIC = StageRecipe(None, None, None, 2**28, 1, 0)


def grid_of(n_classes=2):
    """Four levels: two for early stages, one for any, one that labels everyone at the end."""
    rise = np.linspace(0.0, 0.05, n_classes)
    levels = np.stack([least + rise for least in (0.6, 0.75, 0.9)])
    return ThresholdGrid(np.vstack([levels, np.zeros(n_classes)]), (0, 1, 2), (1, 3))


def made_table(n_classes=2, has_gaps=False, n_rows=N_ROWS, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.arange(n_rows) % n_classes)
    strength = np.array([1.2, 0.9, 0.6, 0.3, 0.0])
    X = rng.normal(size=(n_rows, 5)) + y[:, None] * strength
    if has_gaps:
        X[rng.random(X.shape) < 0.15] = np.nan
    return pd.DataFrame(X, columns=list(NAMES)), y


def bench_of(
    n_classes=2,
    weights=None,
    gaps="refuse",
    splits=ONE_SPLIT,
    recipe=LOGISTIC,
    metric="accuracy",
    costs=(1, 2, 3, 4, 5),
):
    """Return a workbench of a small table."""
    table, y = made_table(n_classes, gaps != "refuse")
    costs = FeatureCosts.from_array(costs, list(table))
    data = TrainingData.from_table(table, y, weights, costs, gaps)
    return Workbench(data, splits, recipe, metric=metric)


class TolerantGrid(ThresholdGrid):
    """A grid at which stages count even if the models of folds disagree about them."""

    searched_levels = ()


def tolerant(grid):
    """Return the grid at which no stage is refused."""
    return TolerantGrid(grid.thresholds, grid.early, grid.last)


def tolerant_evaluator(bench, grid, max_stages):
    """Return an evaluator that also counts stages about which the models of folds disagree."""
    return bench.evaluator(max_stages, tolerant(grid))


def random_genes(grid, n_designs=40, max_stages=3, n_features=5, seed=0, allow_exclusion=True):
    """Random designs with random levels of those that their stages may have."""
    rng = np.random.default_rng(seed)
    lowest = -1 if allow_exclusion else 0
    draws = rng.integers(lowest, max_stages, size=(n_designs, n_features))
    draws[:, 0] = np.maximum(draws[:, 0], 0)
    stages = compress(draws)
    levels = rng.choice(grid.early, size=(n_designs, max_stages))
    levels[np.arange(n_designs), stages.max(axis=1)] = rng.choice(grid.last, size=n_designs)
    return with_levels(stages, levels)


def every_leveled(designs, grid):
    """Every way to give levels to each of some designs."""
    genes = [
        with_levels(np.array([design], dtype=np.int16), np.array([levels]))[0]
        for design in designs
        for levels in product(*[grid.early] * max(design), grid.last)
    ]
    return np.array(genes, dtype=np.int16)


def followed(bench, genes, grid):
    """Send each scored row through each design; yield (label or None, stage) of each row.

    Plain loops over the answers of the bank's models, split by split.
    """
    inputs = bench.data.rows, [scored for _, scored in bench.splits]
    missing, known = bench.data.missing(), {}
    for design, levels in zip(stages_of(genes), levels_of(genes, 10), strict=True):
        outcomes = []
        for stage in range(design.max() + 1):
            subset = (design >= 0) & (design <= stage)
            if subset.tobytes() not in known:
                known[subset.tobytes()] = bench.bank.answers(subset[None], *inputs)
        for split, (_, scored) in enumerate(bench.splits):
            for i, row in enumerate(scored.tolist()):
                label, stage = None, 0
                for stage in range(design.max() + 1):
                    subset = (design >= 0) & (design <= stage)
                    winner, sure = (one[0, i] for one in known[subset.tobytes()][split])
                    lacks = missing is not None and missing[row, design == stage].any()
                    if sure >= grid.thresholds[levels[stage], winner] and not lacks:
                        label = int(winner)
                        break
                outcomes.append((label, stage))
        yield outcomes


def plain_counts(bench, genes, grid, max_stages):
    """Rows that leave at each stage and the correct ones, (2, n_designs, max_stages), weighted."""
    every = np.concatenate([scored for _, scored in bench.splits])
    truth = bench.data.labels[every].tolist()
    units = [1] * len(every) if bench.data.units is None else bench.data.units[every].tolist()
    counts = np.zeros((2, len(genes), max_stages), dtype=np.int64)
    for d, outcomes in enumerate(followed(bench, genes, grid)):
        for (label, stage), right, unit in zip(outcomes, truth, units, strict=True):
            counts[0, d, stage] += unit * (label is not None)
            counts[1, d, stage] += unit * (label == right)
    return counts
