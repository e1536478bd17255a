"""Counts of a bank whose stages have thresholds of their own, compared with loops over bits."""

from __future__ import annotations

import numpy as np
import pytest
from support.brute import unpack
from support.leveled import FOLDS, ROWS, bench_of, grid_of, plain_counts, random_genes, tolerant

from emsco.designs.chromosomes import levels_of, stage_counts, stages_of
from emsco.designs.thresholds import ThresholdGrid


def counted(bank, genes, grid, max_stages=3):
    """The counts of the stages, for a bank that counts no classes."""
    levels = levels_of(genes, max_stages)
    return bank.count(stages_of(genes), stage_counts(genes), tolerant(grid), levels)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weights", [None, ROWS % 4], ids=["", "weights"])
@pytest.mark.parametrize("gaps", ["refuse", "skip"])
def test_counts_are_those_of_a_loop_over_rows_and_stages(n_classes, weights, gaps):
    bench, grid = bench_of(n_classes, weights, gaps), grid_of(n_classes)
    genes = random_genes(grid, n_designs=15)
    wanted = plain_counts(bench, genes, grid, 3)
    assert counted(bench.bank, genes, grid).tolist() == wanted.tolist()
    assert wanted[0].sum() > wanted[1].sum() > 0


def test_without_levels_every_stage_has_the_first_threshold():
    bank, grid = bench_of().bank, grid_of()
    stages = stages_of(random_genes(grid))
    plain = bank.count(stages, stage_counts(stages), ThresholdGrid.single(grid.thresholds[0]))
    assert bank.count(stages, stage_counts(stages), grid).tolist() == plain.tolist()
    other = bank.count(stages, stage_counts(stages), ThresholdGrid.single(grid.thresholds[1]))
    levels = np.ones((len(stages), 3), dtype=np.int64)
    found = bank.count(stages, stage_counts(stages), grid, levels)
    assert found.tolist() == other.tolist() != plain.tolist()


def test_levels_need_no_new_fits():
    bank, grid = bench_of().bank, grid_of()
    genes = random_genes(grid)
    counted(bank, stages_of(genes), grid)
    n_fits = bank.n_fits
    counted(bank, genes, grid)
    assert bank.n_fits == n_fits


def test_a_bank_that_holds_few_bits_at_a_time_counts_the_same(monkeypatch):
    grid = grid_of()
    genes = random_genes(grid, n_designs=80)
    whole, tight = bench_of().bank, bench_of().bank
    monkeypatch.setattr(type(tight), "capacity", 7)
    assert counted(tight, genes, grid).tolist() == counted(whole, genes, grid).tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_of_each_class_are_counted_with_levels_too(n_classes):
    grid = grid_of(n_classes)
    bench = bench_of(n_classes, ROWS % 3, metric="balanced_accuracy", splits=FOLDS)
    plain = bench_of(n_classes, ROWS % 3, splits=FOLDS)
    genes = random_genes(grid)
    found, wanted = counted(bench.bank, genes, grid), counted(plain.bank, genes, grid)
    assert found[:, :, n_classes:].tolist() == wanted.tolist()
    assert found[:, :, :n_classes].sum(axis=2).tolist() == wanted.sum(axis=2).tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_bits_of_a_subset_are_its_answers_at_the_threshold(n_classes):
    bench, grid = bench_of(n_classes, splits=FOLDS), grid_of(n_classes)
    words = np.array([[3], [20], [31]], dtype=np.uint64)
    subsets = np.array([[1, 1, 0, 0, 0], [0, 0, 1, 0, 1], [1] * 5], dtype=bool)
    scored = [own for _, own in FOLDS]
    answers = bench.bank.answers(subsets, bench.data.rows, scored)
    for level, least in enumerate(grid.thresholds):
        found = bench.bank.bits_of(words, tolerant(grid), level)
        for i, ((winner, sure), own) in enumerate(zip(answers, scored, strict=True)):
            accepted, correct = unpack(found[:, :, i : i + 1].copy(), len(own))  # 40 rows a word
            leaves = sure >= least[winner]
            assert accepted.tolist() == leaves.tolist()
            assert correct.tolist() == (leaves & (winner == bench.data.labels[own])).tolist()
