"""Evolution: the designs it proposes, its ends, and the exact front that it finds."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from support.brute import every_design
from support.leveled import bench_of, every_leveled, genes_of, grid_of

from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.designs.space import DesignSpace
from emsco.scoring.pareto import front_mask
from emsco.scoring.scores import Counts
from emsco.search.evolution import EvolutionSearch, NearbySubsets
from emsco.search.linking import give_chains
from emsco.search.loop import Stop, StopReason, run_search
from emsco.search.settings import SearchSettings

GRIDS = [grid_of(), ThresholdGrid.single(np.full(2, 0.75))]


def made_up(designs):
    """Scores that depend on the design only, and often tie."""
    genes = designs.stages + 1024 * np.maximum(designs.level_of_feature, 0)
    keys = genes.astype(np.int64) @ 7 ** np.arange(genes.shape[1])
    accepted, spent = 1 + keys * 7 % 50, 1 + keys * 11 % 97
    return Counts(50, accepted[:, None], accepted[:, None] * 2 // 3, spent)


def alike(designs, spent=7, correct=8, n_rows=50):
    one = np.ones((len(designs), 1), dtype=np.int64)
    return Counts(n_rows, n_rows * one, correct * one, spent * one[:, 0])


def search_with(n_features=6, grid=None, evaluator=None, **settings):
    chosen = {"max_stages": 3, "population_size": 30, "generations": 20, "patience": 1000}
    costs = np.arange(1.0, n_features + 1) if evaluator is None else evaluator.costs.costs
    rng, chosen = np.random.default_rng(0), SearchSettings(**chosen | settings)
    return EvolutionSearch(costs, chosen, rng, costs.sum(), grid=grid)


def run(search, score=made_up):
    """All designs asked for, by generation."""
    asked = []
    while search.stop_reason is None:
        asked.append(search.ask())
        search.tell(score(asked[-1]))
    return asked


@pytest.mark.parametrize("first", [None, 2])
@pytest.mark.parametrize("allow_exclusion", [False, True])
@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("n_features", [3, 9, 20])
def test_designs_are_new_and_of_the_space_until_there_are_no_more(
    n_features, grid, allow_exclusion, first
):
    search = search_with(n_features, grid, allow_exclusion=allow_exclusion, first=first)
    asked = Designs.concatenate(run(search))
    genes, scores = genes_of(asked), made_up(asked)
    assert len({*genes}) == len(genes)
    assert search.space.holds(asked.stages).all()
    assert {*asked.levels.ravel().tolist()} == {*grid.early, *grid.last, 0}
    kept = search.archive.designs
    assert sorted(genes_of(kept)) == sorted(genes_of(asked[front_mask(scores)]))
    if n_features == 3:
        every = every_leveled(every_design(3, 3, allow_exclusion, first), grid)
        assert sorted(genes) == sorted(genes_of(every))
        assert str(search.stop_reason) == f"all {len(every):,} designs have been scored"
    else:
        assert search.stop_reason == StopReason(Stop.GENERATIONS, 20)


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (4, 1)])
def test_the_smallest_spaces_are_searched_to_their_end(shape, grid):
    search = search_with(shape[0], grid, max_stages=shape[1])
    assert sum(map(len, run(search))) == search.space.size
    assert search.stop_reason.cause is Stop.EXHAUSTED


@pytest.mark.parametrize("allow_exclusion", [False, True])
@pytest.mark.parametrize("grid", GRIDS)
def test_with_chains_a_small_search_ends_with_the_whole_front_and_its_ties(grid, allow_exclusion):
    evaluator, chosen = bench_of().evaluator(2, grid), {"allow_exclusion": allow_exclusion}
    search = search_with(5, grid, max_stages=2, population_size=60, generations=100, **chosen)
    between = partial(give_chains, search, evaluator)
    result = run_search(search, evaluator, between=between)
    scores = evaluator.score(every_leveled(every_design(5, 2, allow_exclusion), grid))
    front = scores[front_mask(scores)]
    found, wanted = (
        {*zip(one.accepted, one.correct, one.spent, strict=True)} for one in (result.scores, front)
    )
    assert found == wanted
    assert result.n_tied.sum() == len(front)


@pytest.mark.parametrize(("reached", "n_told"), [(5000, 26), (9500, 101)])
def test_a_search_ends_once_its_front_hardly_grows_for_what_is_left_to_gain(reached, n_told):
    def hardly(designs):
        """Better all the time, by little after ten generations."""
        n = search.generation + 1
        return alike(designs, correct=reached - 500 * (n < 10) + n // 5, n_rows=10_000)

    search = search_with(10, generations=100, patience=None)
    assert len(run(search, hardly)) == n_told


def test_patience_ends_a_search_whose_front_stays_the_same():
    search = search_with(10, patience=3)
    # A better front in generation 2.
    assert len(run(search, lambda designs: alike(designs, 7 - (search.generation == 1)))) == 6
    assert search.stop_reason == StopReason(Stop.SAME_FRONT, 3)


@pytest.mark.parametrize(("first", "allow_exclusion"), [(None, True), (None, False), (4, True)])
def test_new_subsets_are_the_nearest_to_those_in_use_until_none_is_left(first, allow_exclusion):
    used = Designs.of(np.array([[0, 1, 1, 1, 0], [1, 0, 0, 2, 0]], dtype=np.int16))
    subsets, left = NearbySubsets(DesignSpace(5, 3, allow_exclusion, first), 0.6), {*range(1, 32)}
    in_use = {0b10001, 0b10110, 0b10111, 0b11111}
    left -= {one for one in left if first is not None and not one >> first & 1}
    assert subsets.most == round(0.6 * len(left))
    subsets.note(used)
    left -= in_use
    while len(stages := subsets.propose(used, 4)):
        worth = {one: sum(0.2 ** (one ^ u).bit_count() for u in in_use - {31}) for one in left}
        best = sorted(left, key=lambda one: (-round(worth[one], 9), one))[:4]
        rest = -1 if allow_exclusion else 1
        assert stages.tolist() == [[0 if n >> i & 1 else rest for i in range(5)] for n in best]
        subsets.note(Designs.of(stages))
        left -= {*best}
    assert not left
    assert subsets.n_known == (31 if first is None else 16)


@pytest.mark.parametrize(("n_features", "wanted"), [(20, [10, 20, 40, 50]), (7, [4, 14, 50])])
def test_chains_are_wanted_in_time_and_promising_subsets_begin_with_the_front(n_features, wanted):
    search, asked_for = search_with(n_features, GRIDS[0], generations=50), []
    while search.stop_reason is None:
        search.tell(made_up(search.ask()))
        if search.wants_chains:
            asked_for.append(search.generation)
            none = search.ask()[:0]
            search.take_chains(none, made_up(none))
    assert asked_for == wanted
    words = search.promising(1000)[:, 0].tolist()
    front = search.front[0].subsets()[:, :, 0].ravel().tolist()
    assert words[: len({*front})] == [*dict.fromkeys(front)]
    assert len(words) == len({*words}) > len({*front})
    assert search.promising(3)[:, 0].tolist() == words[:3]
