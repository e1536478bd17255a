"""Evolution where thresholds are genes: its proposals, and when it wants chains."""

from __future__ import annotations

import numpy as np
import pytest
from support.brute import every_design
from support.leveled import bench_of, every_leveled, grid_of

from emsco.designs.chromosomes import levels_of, stages_of
from emsco.designs.thresholds import ThresholdGrid
from emsco.scoring.pareto import front_mask
from emsco.scoring.scores import Scores
from emsco.search.evolution import EvolutionSearch
from emsco.search.links import Linker, chains_between
from emsco.search.loop import run_search
from emsco.search.settings import SearchSettings

GRID = grid_of()


def made_up(designs) -> Scores:
    """Scores that depend on the design and its levels only."""
    keys = designs.astype(np.int64) @ 7 ** np.arange(designs.shape[1])
    accepted, spent = 1 + keys * 7 % 50, 1 + keys * 11 % 97
    return Scores(50, accepted[:, None], accepted[:, None] * 2 // 3, spent)


def search_with(n_features=6, seed=0, grid=GRID, **settings):
    chosen = {"max_stages": 3, "population_size": 30, "generations": 20, **settings}
    costs = np.arange(1.0, n_features + 1)
    return EvolutionSearch(costs, SearchSettings(**chosen), np.random.default_rng(seed), grid=grid)


def run(search, score=made_up):
    """All designs asked for, by generation."""
    asked = []
    while search.stop_reason is None:
        asked.append(search.ask().copy())
        search.tell(score(asked[-1]))
    return asked


def vectors(scores):
    columns = scores.accepted, scores.correct, scores.spent
    return set(zip(*(column.tolist() for column in columns), strict=True))


# Proposals


@pytest.mark.parametrize("n_features", [3, 7, 20])
@pytest.mark.parametrize("allow_exclusion", [False, True])
def test_designs_are_new_and_of_the_space_and_have_levels_of_the_grid(n_features, allow_exclusion):
    search = search_with(n_features, allow_exclusion=allow_exclusion)
    asked = np.concatenate(run(search))
    assert len(np.unique(asked, axis=0)) == len(asked)
    assert GRID.holds(asked)
    assert search.space.holds(asked).all()


def test_the_first_designs_have_the_first_level_of_each_kind():
    first = search_with().ask()
    assert first.tolist() == GRID.complete(stages_of(first)).tolist()


def test_children_have_all_levels_in_the_end():
    asked = np.concatenate(run(search_with(20)))  # too many designs to draw any by lot
    levels = levels_of(asked, 3)
    assert set(levels.reshape(-1).tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize("allow_exclusion", [False, True])
def test_every_design_of_a_small_space_is_scored_with_all_its_levels(allow_exclusion):
    search = search_with(
        3, population_size=300, generations=10_000, allow_exclusion=allow_exclusion
    )
    asked = np.concatenate(run(search))
    every = every_leveled(every_design(3, 3, allow_exclusion), GRID)
    assert sorted(asked.tolist()) == sorted(every.tolist())
    assert str(search.stop_reason) == f"all {len(every):,} designs have been scored"


def test_one_threshold_for_all_stages_is_searched_as_without_a_grid():
    single = ThresholdGrid.single(np.full(2, 0.7))
    runs = [np.concatenate(run(search_with(grid=grid))).tolist() for grid in (single, None)]
    assert runs[0] == runs[1]


# Chains


def schedule(search):
    """Generations after which a search wanted chains; it gets none."""
    wanted = []
    while search.stop_reason is None:
        search.tell(made_up(search.ask()))
        if search.wants_chains:
            wanted.append(search.generation)
            search.take_chains(search.ask()[:0], None)
    return wanted


def test_chains_of_many_features_are_wanted_at_doubled_generations_and_at_the_end():
    assert schedule(search_with(20, generations=50)) == [10, 20, 40, 50]


def test_chains_of_few_features_are_wanted_after_four_generations_and_with_more_subsets():
    wanted = schedule(search_with(7, generations=50))
    assert wanted[0] == 4
    assert wanted[-1] == 50
    assert 2 < len(wanted) < 30


def test_a_search_of_a_single_design_wants_no_chains():
    search = search_with(1, grid=ThresholdGrid.single(np.full(2, 0.7)))
    search.tell(made_up(search.ask()))
    assert not search.wants_chains


@pytest.mark.parametrize("grid", [GRID, ThresholdGrid.single(np.full(2, 0.75))])
@pytest.mark.parametrize("allow_exclusion", [False, True])
def test_with_chains_a_small_search_ends_with_the_front_and_each_design_once(grid, allow_exclusion):
    evaluator = bench_of().evaluator(2, grid)
    settings = SearchSettings(
        2, population_size=60, generations=400, allow_exclusion=allow_exclusion
    )
    search = EvolutionSearch(
        evaluator.costs.costs, settings, np.random.default_rng(0), evaluator.costs.total, grid=grid
    )
    linker = Linker(evaluator, settings.space(5, grid))
    result = run_search(search, evaluator, between=chains_between(search, evaluator, linker))
    every = every_leveled(every_design(5, 2, allow_exclusion), grid)
    scores = evaluator.score(every)
    front = scores[front_mask(scores)]
    assert vectors(result.scores) == vectors(front)
    assert sum(result.n_tied) == len(front)  # each of them once
    assert len(np.unique(search.archive.designs, axis=0)) == len(search.archive.designs)


def test_chains_may_be_designs_that_are_about_to_be_scored():
    search = search_with(7)
    search.tell(made_up(search.ask()))
    ahead = search.ask()[:4].copy()
    search.take_chains(ahead, made_up(ahead))
    search.tell(made_up(search.ask()))
    kept = search.archive.designs.tolist()
    assert len(kept) == len({tuple(design) for design in kept})


def test_promising_subsets_are_those_of_the_front_first():
    search = search_with(7)
    for _ in range(5):
        search.tell(made_up(search.ask()))
    words = search.promising(1000)[:, 0].tolist()
    front = stages_of(search.front[0]).tolist()
    of_front = [
        sum(1 << i for i, at in enumerate(design) if 0 <= at <= stage)
        for design in front
        for stage in range(max(design) + 1)
    ]
    distinct = list(dict.fromkeys(of_front))
    assert words[: len(distinct)] == distinct
    assert len(words) == len(set(words)) > len(distinct)
    assert search.promising(3)[:, 0].tolist() == words[:3]
