"""Scores of designs whose stages have thresholds of their own, compared with a loop over rows."""

from __future__ import annotations

import numpy as np
import pytest
from support.leveled import (
    FOLDS,
    NAMES,
    ROWS,
    bench_of,
    grid_of,
    plain_counts,
    random_genes,
    tolerant_evaluator,
)

from emsco.designs.chromosomes import stages_of, with_levels
from emsco.designs.thresholds import ThresholdGrid
from emsco.scoring.journal import EntryRules, Journal

MAX_STAGES = 3


@pytest.fixture
def open_journal(tmp_path):
    rules = EntryRules(10**6, MAX_STAGES, grid_of())
    return lambda: Journal.open(tmp_path / "journal", {"X": 1}, 5, len(NAMES), rules)


# Scores


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weights", [None, ROWS % 4, np.sqrt(1 + ROWS)], ids=["", "whole", "any"])
@pytest.mark.parametrize("gaps", ["refuse", "impute", "skip"])
def test_scores_are_those_of_a_loop_over_rows_and_stages(n_classes, weights, gaps):
    bench, grid = bench_of(n_classes, weights, gaps, splits=FOLDS[:2]), grid_of(n_classes)
    genes = random_genes(grid, n_designs=8)
    scores = tolerant_evaluator(bench, grid, MAX_STAGES).score(genes)
    exits, correct_exits = plain_counts(bench, genes, grid, MAX_STAGES)
    assert scores.exits.tolist() == exits.tolist()
    assert scores.correct_exits.tolist() == correct_exits.tolist()
    assert 0 < scores.correct.sum() < scores.accepted.sum() < 8 * scores.n_rows


def test_a_row_pays_for_the_stages_that_it_reaches():
    bench, grid, costs = bench_of(), grid_of(), np.array([1, 2, 3, 4, 5])
    genes = random_genes(grid, n_designs=20)
    scores = bench.evaluator(MAX_STAGES, grid).score(genes)
    for design, exits, spent in zip(stages_of(genes), scores.exits, scores.spent, strict=True):
        paid = [costs[(design >= 0) & (design <= stage)].sum() for stage in range(MAX_STAGES)]
        rejected = scores.n_rows - exits.sum()
        assert spent / scores.per_one == exits @ paid + rejected * paid[-1]


def test_one_design_has_as_many_scores_as_its_stages_have_levels():
    grid, evaluator = grid_of(), bench_of().evaluator(MAX_STAGES, grid_of())
    stages = np.tile(np.array([[0, 1, 1, 0, -1]], dtype=np.int16), (6, 1))
    levels = np.array([[early, last] for early in grid.early for last in grid.last])
    scores = evaluator.score(with_levels(stages, levels))
    assert evaluator.n_designs == 6
    assert evaluator.n_subsets == 2
    accepted = scores.accepted.reshape(3, 2)
    assert (accepted[:, 1] == scores.n_rows).all()  # the last level labels everyone
    assert (np.diff(scores.exits[:, 0].reshape(3, 2), axis=0) < 0).all()  # stricter and stricter


def test_a_grid_of_one_threshold_scores_as_the_threshold_itself():
    bench, stages = bench_of(3), stages_of(random_genes(grid_of(3)))
    plain = bench.evaluator(MAX_STAGES, 0.7)
    single = bench.evaluator(MAX_STAGES, ThresholdGrid.single(np.full(3, 0.7)))
    assert plain.score(stages).exits.tolist() == single.score(stages).exits.tolist()
    assert single.thresholds.tolist() == [0.7] * 3
    with pytest.raises(RuntimeError, match=r"^the stages have thresholds of their own\.$"):
        _ = bench.evaluator(MAX_STAGES, grid_of(3)).thresholds


def test_subsets_are_listed_once_whatever_the_levels():
    evaluator = bench_of().evaluator(MAX_STAGES, grid_of())
    genes = random_genes(grid_of(), n_designs=30)
    evaluator.score(genes)
    stages = stages_of(genes).tolist()
    plain = {
        sum(1 << i for i, at in enumerate(design) if 0 <= at <= stage)
        for design in stages
        for stage in range(max(design) + 1)
    }
    assert sorted(evaluator.subsets[:, 0].tolist()) == sorted(plain)


# Journals


def test_designs_are_made_anew_each_time_without_a_journal():
    evaluator, genes = bench_of().evaluator(MAX_STAGES, grid_of()), random_genes(grid_of())
    made = [evaluator.made_after(4, lambda: genes) for _ in range(2)]
    assert made[0] is made[1] is genes


def test_designs_that_were_made_are_found_in_a_reopened_journal(open_journal):
    bench, grid, genes = bench_of(), grid_of(), random_genes(grid_of())
    with open_journal() as journal:
        first = bench.evaluator(MAX_STAGES, grid, journal).made_after(4, lambda: genes)
    assert first.tolist() == genes.tolist()
    with open_journal() as journal:
        evaluator = bench.evaluator(MAX_STAGES, grid, journal)
        later = evaluator.made_after(4, lambda: pytest.fail("they are known"))
        scores = evaluator.score(later)
        other = evaluator.made_after(5, lambda: genes[:3])
    assert later.tolist() == genes.tolist()
    assert other.tolist() == genes[:3].tolist()
    assert scores.exits.tolist() == bench.evaluator(MAX_STAGES, grid).score(genes).exits.tolist()


def test_a_step_that_finds_nothing_is_remembered_too(open_journal):
    bench, grid, none = bench_of(), grid_of(), np.zeros((0, 5), dtype=np.int16)
    with open_journal() as journal:
        assert not len(bench.evaluator(MAX_STAGES, grid, journal).made_after(0, lambda: none))
    with open_journal() as journal:
        evaluator = bench.evaluator(MAX_STAGES, grid, journal)
        assert not len(evaluator.made_after(0, lambda: pytest.fail("it is known")))


def test_counts_with_levels_are_taken_from_a_reopened_journal(open_journal, monkeypatch):
    bench, grid, genes = bench_of(), grid_of(), random_genes(grid_of())
    with open_journal() as journal:
        wanted = bench.evaluator(MAX_STAGES, grid, journal).score(genes)
    fresh = bench_of()
    monkeypatch.setattr(type(fresh.bank), "count", lambda *_: pytest.fail("they are counted"))
    with open_journal() as journal:
        found = fresh.evaluator(MAX_STAGES, grid, journal).score(genes)
    assert found.exits.tolist() == wanted.exits.tolist()
    assert found.correct_exits.tolist() == wanted.correct_exits.tolist()
