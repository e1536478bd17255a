"""Designs that a search might as well have found."""

from __future__ import annotations

import numpy as np
import pytest
from support.brute import every_design
from support.leveled import bench_of, every_leveled, grid_of, random_genes

from emsco.designs.chromosomes import stages_of
from emsco.designs.space import DesignSpace
from emsco.scoring.pareto import front_mask
from emsco.search.finishing import runners_up

SPACE = DesignSpace(5, 3, allow_exclusion=True)


@pytest.fixture(scope="module")
def evaluator():
    return bench_of().evaluator(3, grid_of())


def _front(evaluator, genes):
    return genes[front_mask(evaluator.score(genes))]


def _rows(designs):
    return {design.tobytes() for design in designs}


def test_runners_up_are_near_the_front(evaluator):
    genes = random_genes(evaluator.grid, 400)
    front = _front(evaluator, genes)
    found = evaluator.score(runners_up(front, genes, evaluator, SPACE))
    best = evaluator.score(front)
    error = 0.5 / np.sqrt(best.n_rows)
    for i in range(len(found)):
        behind = np.maximum.reduce(
            [
                (best.coverage - found.coverage[i]) / error,
                (best.accuracy - found.accuracy[i]) / error,
                (found.cost[i] - best.cost) / error / evaluator.costs.total,
            ]
        )
        assert behind.min() <= 2


def test_the_front_itself_and_its_other_thresholds_are_among_them(evaluator):
    genes = random_genes(evaluator.grid, 400)
    front = _front(evaluator, genes)
    found = runners_up(front, genes[:0], evaluator, SPACE)
    assert _rows(front) & _rows(found)
    assert _rows(stages_of(found)) <= _rows(stages_of(front))


def test_with_all_models_fitted_features_move_between_stages(evaluator):
    genes = random_genes(evaluator.grid, 60)
    front = _front(evaluator, genes)
    found = runners_up(front, genes, evaluator, SPACE, all_fitted=True)
    assert _rows(stages_of(found)) - _rows(stages_of(genes))
    every = _rows(
        stages_of(every_leveled(every_design(5, 3, allow_exclusion=True), evaluator.grid))
    )
    assert _rows(stages_of(found)) <= every


def test_there_are_never_more_than_asked_for(evaluator):
    genes = random_genes(evaluator.grid, 400)
    assert len(runners_up(_front(evaluator, genes), genes, evaluator, SPACE, most=7)) <= 7


def test_the_order_in_which_designs_were_scored_does_not_matter(evaluator):
    genes = random_genes(evaluator.grid, 400)
    front = _front(evaluator, genes)
    one = runners_up(front, genes, evaluator, SPACE, most=20)
    other = runners_up(front, genes[::-1], evaluator, SPACE, most=20)
    assert np.array_equal(one, other)
