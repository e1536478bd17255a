"""The scored rows one by one, in designs whose stages have thresholds of their own."""

from __future__ import annotations

import numpy as np
import pytest
from support.leveled import (
    FOLDS,
    ONE_SPLIT,
    ROWS,
    bench_of,
    followed,
    grid_of,
    random_genes,
    tolerant_evaluator,
)

from emsco.scoring.scored_rows import ScoredRows

MAX_STAGES = 3


def rows_of(bench, grid):
    return ScoredRows(bench.bank, bench.data, bench.splits, grid, bench.blocks.members())


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("gaps", ["refuse", "skip"])
def test_each_row_has_the_label_and_the_stage_that_a_loop_finds(n_classes, gaps):
    bench, grid = bench_of(n_classes, gaps=gaps), grid_of(n_classes)
    genes = random_genes(grid, n_designs=10)
    plain = followed(bench, genes, grid)
    for one, outcomes in zip(rows_of(bench, grid).outcomes(genes), plain, strict=True):
        found = zip(one.given.tolist(), one.stage.tolist(), strict=True)
        wanted = [(n_classes if label is None else label, stage) for label, stage in outcomes]
        assert list(found) == wanted


@pytest.mark.parametrize("splits", [ONE_SPLIT, FOLDS], ids=["one", "folds"])
@pytest.mark.parametrize("weights", [None, ROWS % 4, np.sqrt(1 + ROWS)], ids=["", "whole", "any"])
@pytest.mark.parametrize("gaps", ["refuse", "skip"])
def test_outcomes_add_up_to_the_scores(splits, weights, gaps):
    bench, grid = bench_of(3, weights, gaps, splits), grid_of(3)
    genes = random_genes(grid, n_designs=80)  # more than are looked at together
    scores = tolerant_evaluator(bench, grid, MAX_STAGES).score(genes)
    every = np.concatenate([scored for _, scored in splits])
    units = np.ones(len(every)) if bench.data.units is None else bench.data.units[every]
    rows = rows_of(bench, grid)
    for i, one in enumerate(rows.outcomes(genes)):
        for counts, which in (
            (scores.exits[i], one.given < 3),
            (scores.correct_exits[i], one.given == rows.truth),
        ):
            own = np.bincount(one.stage[which], units[which], MAX_STAGES)
            assert own.tolist() == counts.tolist()
    assert i == 79
