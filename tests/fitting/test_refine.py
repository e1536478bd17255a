"""The refinement of a fit: which designs get better models, what comes of it, and runners-up."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.brute import every_design
from support.leveled import bench_of, every_leveled, grid_of, random_designs

from emsco import RefinementEnd
from emsco.designs.chromosomes import nested_subsets
from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.designs.space import DesignSpace
from emsco.errors import InterruptedWarning
from emsco.fitting.refine import (
    MOST_SUBSETS,
    chains_of,
    finish_search,
    order_by_budget,
    order_by_worth,
    runners_up,
    wanted_subsets,
)
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import front_mask
from emsco.scoring.scores import CostLimits, Counts
from emsco.search.loop import SearchResult, Stop, StopReason

SPACE = DesignSpace(5, 2, allow_exclusion=True)
ONE_LEVEL = ThresholdGrid.single(np.array([0.75, 0.75]))


def found(grid, n_designs=6, metric="accuracy", cause=Stop.GENERATIONS):
    """A search result and the evaluator that scored its designs."""
    evaluator = bench_of(metric=metric).evaluator(2, grid)
    designs = random_designs(grid, n_designs, 2)
    reason = StopReason(cause, generations=1, n_settled=9)
    return SearchResult(designs, evaluator.score(designs), (), reason), evaluator


def refined(result, evaluator, better=None, **options):
    """What `finish_search` makes of a result; the models that count may be better ones."""
    at_once = evaluator.grid.complete(np.zeros((1, 5), dtype=np.int16))
    names = {"searched_with": "lines", "finished_with": "trees"}
    everything = evaluator.score(at_once)
    return finish_search(result, everything, better or evaluator, SPACE, **names, **options)


def vectors(scores):
    """Objectives of designs, as whole numbers."""
    columns = (one.tolist() for one in (scores.accepted, scores.correct, scores.spent))
    return {*zip(*columns, strict=True)}


def are_made_of(stages, subsets):
    """Whether every stage of each design knows one of these subsets."""
    known = {one.tobytes() for one in subsets}
    chains = (nested_subsets(one[None], one.max() + 1)[0] for one in stages)
    return np.array([known.issuperset(one.tobytes() for one in chain) for chain in chains])


def test_what_is_as_good_as_everything_comes_first_at_halved_costs():
    correct = np.array([[5], *[[90]] * 8])
    scores = Counts(100, correct, correct, np.arange(9))
    assert order_by_worth(scores, scores[[8]]).tolist() == [1, 5, 3, 7, 2, 6, 4, 8, 0]


def test_what_a_budget_would_choose_comes_first_and_the_most_different_of_it():
    accepted = np.array([[1000], [950], [1000], [1000], [650]])  # the last one labels few
    correct = np.array([[500], [700], [600], [800], [620]])
    scores = Counts(1000, accepted, correct, np.array([0, 3, 2, 9, 1]) * 1000)
    order = order_by_budget(scores, 10.0, 0.9).tolist()
    assert (order[0], order[1], order[-1], {*order}) == (0, 3, 4, {*range(5)})


def test_chains_are_all_designs_of_the_space_whose_subsets_are_fitted():
    space = DesignSpace(5, 3, allow_exclusion=True, first=4)
    every = np.array(every_design(5, 3, allow_exclusion=True), dtype=np.int16)
    subsets = wanted_subsets(Designs.of(every[space.holds(every)][::7]), 12)
    expected = every[are_made_of(every, subsets) & space.holds(every)]
    assert sorted(chains_of(subsets, space).tolist()) == sorted(expected.tolist())


@pytest.mark.parametrize("grid", [ONE_LEVEL, grid_of()], ids=["one threshold", "thresholds"])
def test_a_refined_front_is_that_of_all_designs_of_its_subsets(grid):
    result, evaluator = found(grid, cause=Stop.PROVEN)
    better, refinement = refined(result, evaluator)
    subsets = wanted_subsets(result.designs, MOST_SUBSETS)
    every = np.array(every_design(5, 2, allow_exclusion=True), dtype=np.int16)
    scores = evaluator.score(every_leveled(every[are_made_of(every, subsets)], grid))
    assert vectors(better.scores) == vectors(scores[front_mask(scores)])
    assert (refinement.end, refinement.n_subsets) == (RefinementEnd.COMPLETE, len(subsets))
    assert better.stop_reason.cause is Stop.SETTLED


def test_for_another_metric_designs_keep_their_thresholds():
    result, evaluator = found(grid_of(), metric="balanced_accuracy")
    better, _ = refined(result, evaluator)
    assert better.scores.accuracy.max() >= result.scores.accuracy.max()


def test_without_time_or_within_no_limit_the_search_is_kept():
    result, evaluator = found(grid_of())
    costs, limits = evaluator.costs, CostLimits(worst=0.5)
    poor = Evaluator(evaluator.bits, costs, evaluator.grid, 2, limits=limits)
    stopped = replace(result, stop_reason=StopReason(Stop.INTERRUPTED))
    for given, options, end in (
        (result, {"time_limit": -1.0}, RefinementEnd.TIME_LIMIT),
        (stopped, {"time_limit": -1.0}, RefinementEnd.INTERRUPTED),
        (result, {"better": poor}, RefinementEnd.NOTHING_FEASIBLE),
    ):
        kept, refinement = refined(given, evaluator, **options)
        assert kept.designs is result.designs
        assert (refinement.n_subsets, refinement.end) == (0, end)


def test_ctrl_c_keeps_the_subsets_that_are_finished():
    def stop(done, _):
        if done:
            raise KeyboardInterrupt

    with pytest.warns(InterruptedWarning):
        better, refinement = refined(*found(ONE_LEVEL, 20), report=stop)
    assert (refinement.n_subsets, refinement.end) == (8, RefinementEnd.INTERRUPTED)
    assert len(better.designs)
    assert better.stop_reason.is_interrupted


def test_runners_up_are_near_the_front_and_those_of_a_proven_one_were_not_all_searched():
    result, evaluator = found(grid_of(), 400)
    front = result.take(np.flatnonzero(front_mask(result.scores)))
    near = runners_up(replace(front, scored=result.designs, proven=True), evaluator, SPACE)
    searched, beside = ({*map(bytes, one.stages)} for one in (result.designs, near))
    assert beside - searched
    some, error = evaluator.score(near), 0.5 / np.sqrt(front.scores.n_rows)
    behind = [
        np.subtract.outer(front.scores.coverage, some.coverage),
        np.subtract.outer(front.scores.accuracy, some.accuracy),
        np.subtract.outer(-front.scores.cost, -some.cost) / evaluator.costs.total,
    ]
    assert np.max(behind, axis=0).min(axis=0).max() <= 2 * error + 1e-12
