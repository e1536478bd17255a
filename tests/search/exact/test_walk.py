"""Exact search with thresholds against scoring every design: the front, its ties, its proof."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.brute import RealInstance
from support.thresholds import GRIDS, varied

from emsco.designs.chromosomes import stages_of
from emsco.designs.space import DesignSpace
from emsco.designs.thresholds import ThresholdGrid
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import front_mask, tie_groups
from emsco.scoring.scores import CostLimits
from emsco.search.allowances import shift_of
from emsco.search.exact import walk
from emsco.search.exact.chains import find_front
from emsco.search.exact.proof import TimeLimitError
from emsco.search.exact.spaces import SingleThresholdSpace, ThresholdSpace
from emsco.search.exact.walk import walk_front


def found_ones(result):
    """The simplest design of each vector, with the number of designs that tie."""
    designs = [tuple(design) for design in result.designs.tolist()]
    assert len(set(designs)) == len(designs)
    return dict(zip(designs, result.n_tied.tolist(), strict=True))


def assert_whole(case, **options):
    """Check that the search finds what scoring every design finds, and settles all of them."""
    result = walk_front(ThresholdSpace.from_evaluator(case.evaluator, case.space), **options)
    assert found_ones(result) == {ties[0]: len(ties) for ties in case.front()}
    assert result.n_settled == len(case.every_design()) == case.space.size
    assert result.stopped is None
    return result


class TestFront:
    @pytest.mark.parametrize("block", range(8))
    def test_is_what_scoring_every_design_finds_for_any_combination(self, block):
        for seed in range(15 * block, 15 * (block + 1)):
            assert_whole(varied(seed))

    @pytest.mark.parametrize("allow_exclusion", [False, True])
    @pytest.mark.parametrize("grid", GRIDS, ids=range(len(GRIDS)))
    def test_is_found_for_every_grid(self, grid, allow_exclusion):
        for seed in range(300, 308):
            assert_whole(varied(seed, grid, allow_exclusion=allow_exclusion))

    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_threads_and_designs_known_before_change_nothing(self, n_jobs):
        for seed in range(400, 410):
            case = varied(seed)
            every = case.every_design()
            known = case.evaluator.score(every[:: 1 + len(every) // 7])
            assert_whole(case, known=known, n_jobs=n_jobs)

    def test_knowing_the_front_before_saves_work_and_changes_nothing(self, hard, whole):
        known = hard.evaluator.score(whole.designs)
        helped = walk_front(ThresholdSpace.from_evaluator(hard.evaluator, hard.space), known)
        assert found_ones(helped) == found_ones(whole)
        assert helped.n_transitions < whole.n_transitions

    @pytest.mark.parametrize("n_lines", [1, 4, 30])
    def test_a_coarse_table_of_allowances_changes_nothing(self, monkeypatch, hard, whole, n_lines):
        monkeypatch.setattr("emsco.search.allowances._LINES", n_lines)
        space = ThresholdSpace.from_evaluator(hard.evaluator, hard.space)
        assert shift_of(space.n_rows) > 0
        assert found_ones(walk_front(space)) == found_ones(whole)

    @pytest.mark.parametrize(("budget", "room", "at_once"), [(1, 1, 1), (50, 4, 3), (7, 4096, 40)])
    def test_short_rounds_change_nothing(self, monkeypatch, hard, whole, budget, room, at_once):
        for name, value in (("_BUDGET", budget), ("_ROOM", room), ("_AT_ONCE", at_once)):
            monkeypatch.setattr(walk, name, value)
        result = walk_front(ThresholdSpace.from_evaluator(hard.evaluator, hard.space), n_jobs=2)
        assert found_ones(result) == found_ones(whole)
        assert result.n_settled == whole.n_settled

    def test_threads_do_the_same_work(self, hard):
        space = ThresholdSpace.from_evaluator(hard.evaluator, hard.space)
        one, two = (walk_front(space, n_jobs=n_jobs) for n_jobs in (1, 2))
        assert one.n_transitions == two.n_transitions
        assert one.designs.tolist() == two.designs.tolist()

    def test_nothing_is_found_where_nothing_is_within_the_limits(self):
        case = varied(3)
        space = ThresholdSpace.from_evaluator(case.evaluator, case.space)
        result = walk_front(replace(space, most_paid=-1.0))
        assert (len(result.designs), result.n_settled) == (0, case.space.size)


@pytest.fixture(scope="module")
def hard():
    space = {"n_features": 4, "max_stages": 3, "allow_exclusion": True, "first": None}
    return varied(7, GRIDS[1], limits=CostLimits(), **space)


@pytest.fixture(scope="module")
def whole(hard):
    return assert_whole(hard)


class StopAfter:
    """A report that raises in its n-th call."""

    def __init__(self, n_calls, error):
        self._left, self._error = n_calls, error

    def __call__(self, _):
        self._left -= 1
        if self._left == 0:
            raise self._error


class TestStopping:
    @pytest.mark.parametrize("n_calls", [1, 6])
    @pytest.mark.parametrize("error", [TimeLimitError(2.0), KeyboardInterrupt()], ids=str)
    def test_keeps_what_is_known(self, monkeypatch, hard, n_calls, error):
        monkeypatch.setattr(walk, "_BUDGET", 5)
        space = ThresholdSpace.from_evaluator(hard.evaluator, hard.space)
        result = walk_front(space, report=StopAfter(n_calls, error))
        assert result.stopped.is_interrupted == isinstance(error, KeyboardInterrupt)
        assert 0 < result.n_settled < hard.space.size
        scores = hard.evaluator.score(result.designs)
        assert front_mask(scores).all()
        assert len(np.unique(tie_groups(scores))) == len(scores)

    def test_progress_is_told_from_the_first_round_to_the_last(self, monkeypatch, hard):
        monkeypatch.setattr(walk, "_BUDGET", 5)
        steps = []
        walk_front(ThresholdSpace.from_evaluator(hard.evaluator, hard.space), report=steps.append)
        done = [step.done for step in steps]
        assert done == sorted(done)
        assert {step.n_sizes for step in steps} == {100}
        assert (done[-1], steps[-1].n_settled) == (100, hard.space.size)


class TestPaperSets:
    @pytest.mark.parametrize("allow_exclusion", [False, True])
    def test_one_threshold_given_twice_has_the_front_of_one(self, paper_set, allow_exclusion):
        pima = RealInstance.from_set(paper_set("pima"), 0.65, 4)
        one, space = pima.evaluator, DesignSpace(8, 4, allow_exclusion)
        grid = ThresholdGrid(np.full((2, 2), 0.65), (0,), (1,))
        twice = Evaluator(one.bank, one.costs, grid, 4)
        result = walk_front(ThresholdSpace.from_evaluator(twice, space), n_jobs=2)
        designs = stages_of(result.designs).tolist()
        expected = find_front(SingleThresholdSpace.from_evaluator(one, space))
        assert dict(zip(map(tuple, designs), result.n_tied.tolist(), strict=True)) == found_ones(
            expected
        )
        assert result.n_settled == expected.n_settled == space.size
