"""Small tables, and designs with thresholds of their own."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from emsco.costs import FeatureCosts
from emsco.data.training import TrainingData
from emsco.designs.chromosomes import compress
from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.fitting import Workbench
from emsco.models.recipe import StageRecipe

N_ROWS, NAMES = 120, "abcde"
ROWS = np.arange(N_ROWS)
ONE_SPLIT = [(ROWS[:70], ROWS[70:])]
FOLDS = [(np.delete(ROWS, ROWS[i::3]), ROWS[i::3]) for i in range(3)]
LOGISTIC = StageRecipe(None, None, 2**28, 1, 0)


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


def random_designs(grid, n_designs=40, max_stages=3, n_features=5, seed=0, allow_exclusion=True):
    """Random designs with random levels of those that their stages may have."""
    rng = np.random.default_rng(seed)
    draws = rng.integers(-1 if allow_exclusion else 0, max_stages, size=(n_designs, n_features))
    draws[:, 0] = np.maximum(draws[:, 0], 0)
    levels = rng.choice(grid.early, size=(n_designs, n_features))
    stages = compress(draws)
    levels[np.arange(n_designs), stages.max(axis=1)] = rng.choice(grid.last, size=n_designs)
    return Designs.of(stages, levels)


def every_leveled(designs, grid):
    """Every way to give levels to each of some designs."""
    return Designs.concatenate(
        [
            Designs.of(np.array([design], dtype=np.int16), [levels])
            for design in designs
            for levels in product(*[grid.early] * max(design), grid.last)
        ]
    )


def genes_of(designs):
    """Each design as a tuple: of each feature its stage, and 1024 times the level there."""
    genes = designs.stages + 1024 * designs.level_of_feature * (designs.stages >= 0)
    return list(map(tuple, genes.tolist()))
