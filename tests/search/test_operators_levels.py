"""Random levels, and those that vary: what may change, and how often."""

from __future__ import annotations

import numpy as np
import pytest
from support.leveled import grid_of, random_genes

from emsco.designs.chromosomes import levels_of, stage_counts, stages_of
from emsco.designs.thresholds import ThresholdGrid
from emsco.search.operators import random_levels, vary_levels

GRID = grid_of()  # early stages have 0, 1 or 2, the last one 1 or 3
SINGLE = ThresholdGrid.single(np.full(2, 0.7))


def rng_of(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_one_stage_of_about_as_many_designs_as_the_rate_says_changes(rate):
    given = random_genes(GRID, n_designs=3000)
    found = vary_levels(given, rate, GRID, rng_of())
    assert np.array_equal(stages_of(found), stages_of(given))
    assert GRID.holds(found)
    changes = (levels_of(found, 3) != levels_of(given, 3)).sum(axis=1)
    assert changes.max() == (rate > 0)
    # The level drawn may be the one that there was: one of three, or one of two at the end.
    is_last = 1 / stage_counts(given)
    wanted = rate * (is_last / 2 + (1 - is_last) * 2 / 3).mean()
    assert changes.mean() == pytest.approx(wanted, abs=0.03)


def test_every_level_that_a_stage_may_have_is_drawn():
    stages = np.tile(np.array([[0, 1, 2, -1, 0]], dtype=np.int16), (500, 1))
    for found in (
        random_levels(stages, GRID, rng_of()),
        vary_levels(GRID.complete(stages), 1.0, GRID, rng_of()),
    ):
        levels = levels_of(found, 3)
        assert [set(levels[:, i].tolist()) for i in range(3)] == [{0, 1, 2}, {0, 1, 2}, {1, 3}]


def test_random_levels_are_uniform_and_keep_the_stages():
    stages = stages_of(random_genes(GRID, n_designs=3000, seed=1))
    found = random_levels(stages, GRID, rng_of())
    assert np.array_equal(stages_of(found), stages)
    assert GRID.holds(found)
    last = levels_of(found, 3)[np.arange(3000), stage_counts(stages) - 1]
    assert (last == 3).mean() == pytest.approx(0.5, abs=0.04)


def test_the_same_seed_draws_the_same_levels():
    given = random_genes(GRID)
    runs = [vary_levels(given, 0.5, GRID, rng_of(seed)).tolist() for seed in (3, 3, 4)]
    assert runs[0] == runs[1] != runs[2]


def test_with_one_threshold_there_is_nothing_to_draw():
    stages, rng = stages_of(random_genes(GRID)), rng_of()
    state = rng.bit_generator.state
    assert vary_levels(stages, 1.0, SINGLE, rng) is stages
    assert random_levels(stages, SINGLE, rng) is stages
    assert rng.bit_generator.state == state


def test_no_designs_have_no_levels_to_vary():
    none = random_genes(GRID)[:0]
    assert vary_levels(none, 1.0, GRID, rng_of()).shape == none.shape
