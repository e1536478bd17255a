"""The finish of a search: which designs get better models, and what comes of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from support.brute import every_design
from support.leveled import bench_of, every_leveled, grid_of, random_genes

from emsco.costs import FeatureCosts
from emsco.designs.chromosomes import compress, nested_subsets, stage_counts, stages_of
from emsco.designs.space import DesignSpace
from emsco.errors import InterruptedWarning
from emsco.models.bank import logistic_bank
from emsco.models.engine import SplitRows
from emsco.models.shard import SplitData
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import front_mask
from emsco.scoring.scores import CostLimits, Scores
from emsco.search.finishing import (
    MOST_SUBSETS,
    RefinementEnd,
    chains_of,
    finish_search,
    order_by_budget,
    order_by_worth,
    runners_up,
    spread_order,
    wanted_subsets,
)
from emsco.search.loop import SearchResult, Stop, StopReason

SPACE = DesignSpace(5, 3, allow_exclusion=True)


@pytest.fixture
def evaluator():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 5))
    y = (X @ [1, 0.8, 0.6, 0.4, 0.2] + rng.normal(size=240) > 0).astype(np.uint8)
    split = SplitRows.cut(SplitData(X, y, np.arange(160), np.arange(160, 240)))
    costs = FeatureCosts.from_array([5.0, 4.0, 3.0, 2.0, 1.0])
    return Evaluator(logistic_bank([split], 5), costs, 0.75, 3)


def everything(evaluator):
    """Scores of the design that buys all features at once."""
    return evaluator.score(np.zeros((1, 5), dtype=np.int16))


def finished(result, evaluator, space=SPACE, **options):
    names = {"searched_with": "lines", "finished_with": "trees"}
    return finish_search(result, everything(evaluator), evaluator, space, **names, **options)


def result_of(evaluator, designs) -> SearchResult:
    designs = compress(designs)
    stop = StopReason(Stop.GENERATIONS, generations=1)
    return SearchResult(designs, evaluator.score(designs), (), stop)


def test_the_order_begins_with_the_best_and_goes_to_the_most_different(evaluator):
    result = result_of(evaluator, [[0, 0, 0, 0, 0], [-1, -1, -1, -1, 0], [0, 0, 0, 0, 1]])
    assert spread_order(result.scores, 15.0).tolist() == [0, 1, 2]


def test_what_is_as_good_as_everything_comes_first_the_cheapest_of_it_leading(evaluator):
    result = result_of(evaluator, [[-1, -1, -1, -1, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 1]])
    order = order_by_worth(result.scores, everything(evaluator))
    assert order.tolist()[:2] == [2, 1]
    assert result.scores.cost[2] < result.scores.cost[1]
    assert order[-1] == 0


def test_what_budgets_would_choose_comes_first_the_most_different_leading():
    n_correct = np.array([500, 700, 600, 800, 620])
    n_accepted = np.array([1000, 950, 1000, 1000, 650])
    cost = np.array([0, 3, 2, 9, 1]) * 1000
    scores = Scores(1000, n_accepted[:, None], n_correct[:, None], cost)
    order = order_by_budget(scores, 10.0)
    assert order[0] == 0
    assert order[1] == 3  # the most different of 0, 1, 2 and 3
    assert order[-1] == 4  # most accurate, but it labels few
    assert sorted(order) == list(range(5))
    assert order_by_budget(scores[[4]], 10.0).tolist() == [0]


def test_costs_are_halved_and_each_comes_once():
    def order_of(n):
        correct = np.full((n, 1), 90)
        scores = Scores(100, correct, correct, np.arange(n) * 100)
        return order_by_worth(scores, scores[[0]]).tolist()

    assert order_of(8) == [0, 4, 2, 6, 1, 5, 3, 7]
    assert all(sorted(order_of(n)) == list(range(n)) for n in range(1, 40))
    assert order_of(5)[0] == 0


def test_chains_are_all_designs_whose_subsets_are_fitted():
    rng = np.random.default_rng(1)
    subsets = np.unique(rng.random((9, 5)) < 0.5, axis=0)
    subsets = subsets[subsets.any(axis=1)]
    known = {one.tobytes() for one in subsets}
    chains = (
        chain for size in (1, 2, 3) for chain in combinations(sorted(subsets, key=np.sum), size)
    )
    every = [
        [one.tobytes() for one in chain]
        for chain in chains
        if all((a <= b).all() and (a < b).any() for a, b in pairwise(chain))
    ]
    designs = [
        [one.tobytes() for one in nested_subsets(design[None], int(design.max()) + 1)[0]]
        for design in chains_of(subsets, SPACE)
    ]
    assert sorted(designs) == sorted(every)
    assert all(set(chain) <= known for chain in designs)


@pytest.mark.parametrize(
    "space", [DesignSpace(5, 3), DesignSpace(5, 2, allow_exclusion=True, first=4)]
)
def test_chains_stay_within_the_space(space):
    subsets = np.array([[True] * 5, [False] * 4 + [True], [True] + [False] * 4])
    chains = chains_of(subsets, space)
    assert len(chains)
    assert space.holds(chains).all()


def test_a_finished_front_has_no_dominated_design(evaluator):
    result = result_of(evaluator, [[0, 1, 1, 2, 2], [-1, 0, -1, 1, -1], [2, 1, 0, 0, 0]])
    refined, finish = finished(result, evaluator)
    assert front_mask(refined.scores).all()
    assert not refined.proven
    assert finish.end is RefinementEnd.COMPLETE
    assert finish.n_subsets == len(wanted_subsets(result.designs, MOST_SUBSETS))
    assert finish.n_designs >= len(refined.designs)


def test_without_time_nothing_is_finished(evaluator):
    result = result_of(evaluator, [[0, 1, 1, 2, 2]])
    refined, finish = finished(result, evaluator, time_limit=-1.0)
    assert refined.designs is result.designs
    assert finish.end is RefinementEnd.TIME_LIMIT
    assert finish.n_subsets == 0


def test_ctrl_c_keeps_the_subsets_that_are_finished(evaluator):
    def stop(done, total):
        if done:
            raise KeyboardInterrupt

    chains = [[0, 1, 2, -1, -1], [2, 0, 1, -1, -1], [-1, -1, 0, 1, 2], [-1, 2, -1, 0, 1]]
    result = result_of(evaluator, chains)
    with pytest.warns(InterruptedWarning):
        refined, finish = finished(result, evaluator, report=stop)
    assert (finish.n_subsets, finish.end) == (8, RefinementEnd.INTERRUPTED)
    assert len(refined.designs)
    assert refined.stop_reason.is_interrupted


def test_a_finished_front_is_not_called_proven(evaluator):
    proven = StopReason(Stop.PROVEN, n_settled=541, n_designs=541)
    result = replace(result_of(evaluator, [[0, 1, 1, 2, 2]]), stop_reason=proven, proven=True)
    refined, _ = finished(result, evaluator)
    assert not refined.proven
    assert str(refined.stop_reason) == "all 541 designs are settled, with the models of the search"


def test_the_search_is_kept_if_no_finished_design_is_within_the_cost_limits(evaluator):
    result = result_of(evaluator, [[0, 1, 1, 2, 2]])
    poor = Evaluator(evaluator.bank, evaluator.costs, 0.75, 3, limits=CostLimits(worst=0.5))
    refined, finish = finished(result, poor)
    assert refined.designs is result.designs
    assert finish.end is RefinementEnd.NOTHING_FEASIBLE


NAMES = {"searched_with": "lines", "finished_with": "trees"}


def searched(evaluator, genes):
    """What a search says that found these designs, and the design of all features at once."""
    scores = evaluator.score(genes)
    result = SearchResult(genes, scores, (), StopReason(Stop.GENERATIONS, generations=1))
    at_once = evaluator.grid.complete(np.zeros((1, 5), dtype=np.int16))
    return result, evaluator.score(at_once)


def vectors(scores):
    columns = scores.accepted, scores.correct, scores.spent
    return set(zip(*(column.tolist() for column in columns), strict=True))


@pytest.mark.parametrize("max_stages", [1, 2, 3])
@pytest.mark.parametrize("allow_exclusion", [False, True])
def test_thresholds_are_searched_again_for_the_subsets_near_the_front(max_stages, allow_exclusion):
    grid, space = grid_of(), DesignSpace(5, max_stages, allow_exclusion)
    evaluator = bench_of().evaluator(max_stages, grid)
    genes = random_genes(grid, 6, max_stages, allow_exclusion=allow_exclusion)
    refined, finish = finish_search(*searched(evaluator, genes), evaluator, space, **NAMES)
    assert finish.end is RefinementEnd.COMPLETE
    assert finish.n_subsets == len(wanted_subsets(genes, 32))
    assert grid.holds(refined.designs)
    assert space.holds(refined.designs).all()
    assert front_mask(refined.scores).all()
    assert refined.scores.exits.tolist() == evaluator.score(refined.designs).exits.tolist()


def test_the_front_of_two_stages_is_that_of_all_chains_and_thresholds():
    grid, space = grid_of(), DesignSpace(5, 2, allow_exclusion=True)
    evaluator = bench_of().evaluator(2, grid)
    genes = random_genes(grid, 6, 2)
    refined, _ = finish_search(*searched(evaluator, genes), evaluator, space, **NAMES)
    fitted = {one.tobytes() for one in wanted_subsets(genes, 32)}

    def is_fitted(design):
        stages = np.array(design)
        every = [(stages >= 0) & (stages <= stage) for stage in range(max(design) + 1)]
        return all(one.tobytes() in fitted for one in every)

    chains = [design for design in every_design(5, 2, allow_exclusion=True) if is_fitted(design)]
    scores = evaluator.score(every_leveled(chains, grid))
    assert vectors(refined.scores) == vectors(scores[front_mask(scores)])


def test_no_finished_design_is_worse_than_those_of_the_search():
    grid = grid_of()
    evaluator = bench_of().evaluator(2, grid)
    result, at_once = searched(evaluator, random_genes(grid, 6, 2))
    space = DesignSpace(5, 2, allow_exclusion=True)
    refined, _ = finish_search(result, at_once, evaluator, space, **NAMES)
    for accepted, correct, spent in vectors(result.scores):
        assert any(
            a >= accepted and c * accepted >= correct * a and s <= spent
            for a, c, s in vectors(refined.scores)
        )


def test_for_balanced_accuracy_designs_of_the_search_keep_their_thresholds():
    grid, space = grid_of(), DesignSpace(5, 2, allow_exclusion=True)
    evaluator = bench_of(metric="balanced_accuracy").evaluator(2, grid)
    genes = random_genes(grid, 6, 2)
    result, everything = searched(evaluator, genes)
    refined, _ = finish_search(result, everything, evaluator, space, **NAMES)
    assert grid.holds(refined.designs)
    assert stage_counts(refined.designs).max() == 2
    # The same models score again, so nothing that the search has found gets lost.
    best = result.scores.accuracy.max()
    assert refined.scores.accuracy.max() >= best


def test_the_search_is_kept_if_nothing_is_within_the_limits():
    grid = grid_of()
    evaluator = bench_of().evaluator(2, grid)
    result, at_once = searched(evaluator, random_genes(grid, 6, 2))
    poor = Evaluator(evaluator.bank, evaluator.costs, grid, 2, limits=CostLimits(worst=0.5))
    refined, finish = finish_search(result, at_once, poor, DesignSpace(5, 2), **NAMES)
    assert refined.designs is result.designs
    assert (finish.n_subsets, finish.end) == (0, RefinementEnd.NOTHING_FEASIBLE)
    assert str(finish) == "searched with lines; no design is within the limits with trees"


EXCLUDING = DesignSpace(5, 3, allow_exclusion=True)


@pytest.fixture(scope="module")
def leveled():
    return bench_of().evaluator(3, grid_of())


def _front(leveled, genes):
    return genes[front_mask(leveled.score(genes))]


def _rows(designs):
    return {design.tobytes() for design in designs}


def test_runners_up_are_near_the_front(leveled):
    genes = random_genes(leveled.grid, 400)
    front = _front(leveled, genes)
    scores = leveled.score(runners_up(front, genes, leveled, EXCLUDING))
    best = leveled.score(front)
    error = 0.5 / np.sqrt(best.n_rows)
    for i in range(len(scores)):
        behind = np.maximum.reduce(
            [
                (best.coverage - scores.coverage[i]) / error,
                (best.accuracy - scores.accuracy[i]) / error,
                (scores.cost[i] - best.cost) / error / leveled.costs.total,
            ]
        )
        assert behind.min() <= 2


def test_with_all_models_fitted_features_move_between_stages(leveled):
    genes = random_genes(leveled.grid, 60)
    front = _front(leveled, genes)
    runners = runners_up(front, genes, leveled, EXCLUDING, all_fitted=True)
    assert _rows(stages_of(runners)) - _rows(stages_of(genes))
    every = _rows(stages_of(every_leveled(every_design(5, 3, allow_exclusion=True), leveled.grid)))
    assert _rows(stages_of(runners)) <= every
