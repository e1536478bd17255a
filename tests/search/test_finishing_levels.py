"""The finish of a search whose stages have thresholds of their own."""

from __future__ import annotations

import numpy as np
import pytest
from support.brute import every_design
from support.leveled import bench_of, every_leveled, grid_of, random_genes

from emsco.designs.chromosomes import stage_counts
from emsco.designs.space import DesignSpace
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import front_mask
from emsco.scoring.scores import CostLimits
from emsco.search.finishing import RefinementEnd, finish_search, wanted_subsets
from emsco.search.loop import SearchResult, Stop, StopReason

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
    found, finish = finish_search(*searched(evaluator, genes), evaluator, space, **NAMES)
    assert finish.end is RefinementEnd.COMPLETE
    assert finish.n_subsets == len(wanted_subsets(genes, 32))
    assert grid.holds(found.designs)
    assert space.holds(found.designs).all()
    assert front_mask(found.scores).all()
    assert found.scores.exits.tolist() == evaluator.score(found.designs).exits.tolist()


def test_the_front_of_two_stages_is_that_of_all_chains_and_thresholds():
    grid, space = grid_of(), DesignSpace(5, 2, allow_exclusion=True)
    evaluator = bench_of().evaluator(2, grid)
    genes = random_genes(grid, 6, 2)
    found, _ = finish_search(*searched(evaluator, genes), evaluator, space, **NAMES)
    fitted = {one.tobytes() for one in wanted_subsets(genes, 32)}

    def is_fitted(design):
        stages = np.array(design)
        every = [(stages >= 0) & (stages <= stage) for stage in range(max(design) + 1)]
        return all(one.tobytes() in fitted for one in every)

    chains = [design for design in every_design(5, 2, allow_exclusion=True) if is_fitted(design)]
    scores = evaluator.score(every_leveled(chains, grid))
    assert vectors(found.scores) == vectors(scores[front_mask(scores)])


def test_no_finished_design_is_worse_than_those_of_the_search():
    grid = grid_of()
    evaluator = bench_of().evaluator(2, grid)
    result, at_once = searched(evaluator, random_genes(grid, 6, 2))
    space = DesignSpace(5, 2, allow_exclusion=True)
    found, _ = finish_search(result, at_once, evaluator, space, **NAMES)
    for accepted, correct, spent in vectors(result.scores):
        assert any(
            a >= accepted and c * accepted >= correct * a and s <= spent
            for a, c, s in vectors(found.scores)
        )


def test_for_balanced_accuracy_designs_of_the_search_keep_their_thresholds():
    grid, space = grid_of(), DesignSpace(5, 2, allow_exclusion=True)
    evaluator = bench_of(metric="balanced_accuracy").evaluator(2, grid)
    genes = random_genes(grid, 6, 2)
    result, everything = searched(evaluator, genes)
    found, _ = finish_search(result, everything, evaluator, space, **NAMES)
    assert grid.holds(found.designs)
    assert stage_counts(found.designs).max() == 2
    # The same models score again, so nothing that the search has found gets lost.
    best = result.scores.accuracy.max()
    assert found.scores.accuracy.max() >= best


def test_the_search_is_kept_if_nothing_is_within_the_limits():
    grid = grid_of()
    evaluator = bench_of().evaluator(2, grid)
    result, at_once = searched(evaluator, random_genes(grid, 6, 2))
    poor = Evaluator(evaluator.bank, evaluator.costs, grid, 2, limits=CostLimits(worst=0.5))
    found, finish = finish_search(result, at_once, poor, DesignSpace(5, 2), **NAMES)
    assert found.designs is result.designs
    assert (finish.n_subsets, finish.end) == (0, RefinementEnd.NOTHING_FEASIBLE)
    assert str(finish) == "searched with lines; no design is within the limits with trees"
