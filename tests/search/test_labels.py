"""Exact search against twins that score every design: the front, its ties, its proof."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import brute, thresholds
from support.brute import Instance, RealInstance
from support.leveled import genes_of

from emsco.designs.space import DesignSpace
from emsco.errors import MemoryLimitError
from emsco.scoring.pareto import front_mask
from emsco.search import labels, subsets
from emsco.search.labels import front_of_chains
from emsco.search.subsets import Subsets


def found_ones(front):
    """The simplest design of each vector, with the number of designs that tie."""
    designs = genes_of(front.designs)
    assert len(set(designs)) == len(designs)
    return dict(zip(designs, front.n_tied.tolist(), strict=True))


def assert_whole(case, **options):
    """Check that the search finds what the twin finds, and settles every design."""
    if isinstance(case, Instance):
        table, fronts = case.landscape(), case.front().values()
    else:
        table, fronts = Subsets.all(case.evaluator, case.space), case.front()
    result = front_of_chains(table, **options)
    assert found_ones(result) == {ties[0]: len(ties) for ties in fronts}
    assert result.n_settled == case.space.size == len(case.every_design())
    assert result.stopped is None
    return result


# Seeds of a twin decide on features, rows, costs, fees, weights, gaps, limits, exclusion, stages.


@given(st.integers(0, 10**6))
def test_the_front_of_one_threshold_is_that_of_every_design(seed):
    assert_whole(brute.varied(seed))


@given(st.integers(0, 10**6))
def test_the_front_of_several_thresholds_is_that_of_every_design(seed):
    assert_whole(thresholds.varied(seed))


@pytest.mark.thorough
@pytest.mark.parametrize("max_stages", [3, 5, 6])
@pytest.mark.parametrize("costs", [brute.FREE_AND_EXPENSIVE, brute.BROKEN])
def test_six_features_are_searched_too(max_stages, costs):
    assert_whole(Instance.random(6, max_stages, 70, 0.15, costs))
    assert_whole(Instance.random(6, max_stages, 70, 0.15, costs).with_idle(3))


def test_every_design_is_counted_where_no_row_is_ever_accepted():
    front = front_of_chains(Instance.random(5, 5, 9, 0.0).landscape())
    assert found_ones(front) == {(0, 0, 0, 0, 0): 541}


def test_fewer_stages_are_simpler_than_a_smaller_chromosome():
    accepts = np.zeros((8, 2), dtype=bool)
    accepts[0b001, 0] = accepts[0b011, 1] = True
    accepts[[0b110, 0b111]] = True
    instance = Instance(accepts, accepts, (2, 2, 1), 3)
    assert instance.front() == {(2, 2, 6): [(1, 0, 0), (0, 1, 2), (2, 0, 1), (2, 1, 0)]}
    assert found_ones(assert_whole(instance)) == {(1, 0, 0): 4}


@pytest.mark.parametrize("allow_exclusion", [False, True])
def test_a_row_of_weight_two_counts_as_two_rows(allow_exclusion):
    instance = Instance.random(4, 3, 128, 0.1, (3, 5, 1, 2))
    instance = replace(instance, allow_exclusion=allow_exclusion)
    times = [1] * 64 + [2] * 64
    accepts, correct = (
        np.repeat(rows, times, axis=1) for rows in (instance.accepts, instance.correct)
    )
    weighed = front_of_chains(replace(instance, word_weights=(1, 2)).landscape())
    doubled = front_of_chains(replace(instance, accepts=accepts, correct=correct).landscape())
    assert found_ones(weighed) == found_ones(doubled)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("seed", range(400, 412))
def test_threads_and_designs_known_before_change_nothing(seed, n_jobs, monkeypatch):
    monkeypatch.setattr(labels, "_TRIED_AT_ONCE", 20)
    instance = brute.varied(seed, most_spent=np.inf, most_paid=np.inf)
    every = instance.every_design()
    assert_whole(instance, known=instance.scores(every[:: 1 + len(every) // 5]), n_jobs=n_jobs)


def test_known_designs_past_the_limits_hide_none_within():
    instance = Instance.random(4, 3, 70, 0.1, (3, 5, 1, 2))
    instance = replace(instance, allow_exclusion=True, most_paid=6)
    past = [0.0 if instance.is_affordable(d) else 1.0 for d in instance.every_design()]
    known = replace(instance.scores(instance.every_design()), excess=np.array(past))
    assert_whole(instance, known=known)


@pytest.fixture(scope="module")
def hard():
    instance = Instance.random(6, 4, 400, 0.04, (3, 5, 0, 2, 7, 11), seed=3)
    return instance.with_idle(2)


def test_what_is_known_saves_work(hard):
    alone = front_of_chains(hard.landscape())
    known = hard.scores(genes_of(alone.designs))
    helped = front_of_chains(hard.landscape(), known)
    assert found_ones(helped) == found_ones(alone)
    assert helped.n_labels < alone.n_labels


@pytest.mark.parametrize("room", [1, 2, 100])
@pytest.mark.parametrize("n_lines", [1, 30])
def test_little_room_and_coarse_bounds_change_nothing(hard, monkeypatch, room, n_lines):
    roomy = front_of_chains(hard.landscape())
    monkeypatch.setattr(labels, "_ROOM", room)
    monkeypatch.setattr(subsets, "_LINES", n_lines)
    tight = front_of_chains(hard.landscape())
    assert found_ones(tight) == found_ones(roomy)
    assert tight.n_settled == roomy.n_settled


@pytest.mark.parametrize("memory_limit", [1, 5000])
def test_too_little_memory_is_named_and_ends_with_what_is_known(hard, memory_limit):
    front = front_of_chains(hard.landscape(), memory_limit=memory_limit)
    said = f"memory_limit was reached by {front.n_labels:,} kinds of chains"
    assert str(front.stopped).startswith(said)
    assert front.n_settled < hard.space.size


class StopAfter:
    """A report that raises in its n-th call."""

    def __init__(self, n_calls, error):
        self._left, self._error = n_calls, error

    def __call__(self, _):
        self._left -= 1
        if self._left == 0:
            raise self._error("full")  # anew: an error that is kept holds the labels it has met


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("error", [MemoryLimitError, KeyboardInterrupt])
def test_a_search_that_is_stopped_keeps_a_front_of_what_it_knows(hard, error, n_jobs):
    front = front_of_chains(hard.landscape(), n_jobs=n_jobs, report=StopAfter(12, error))
    assert front.stopped.is_interrupted == (error is KeyboardInterrupt)
    assert 0 < front.n_settled < hard.space.size
    assert hard.space.holds(front.designs.stages).all()
    assert front_mask(hard.scores(genes_of(front.designs))).all()


def test_other_errors_of_a_report_are_not_swallowed(hard):
    with pytest.raises(ZeroDivisionError):
        front_of_chains(hard.landscape(), report=StopAfter(1, ZeroDivisionError))


def test_progress_is_told_from_the_first_size_to_the_last(hard):
    steps = []
    front = front_of_chains(hard.landscape(), n_jobs=2, report=steps.append)
    done, settled = [one.done for one in steps], [one.n_settled for one in steps]
    assert (sorted(done), sorted(settled)) == (done, settled)
    assert done[-1] == 6
    assert settled[-1] == front.n_settled == hard.space.size


@pytest.mark.parametrize("max_stages", [1, 2, 3, 4])
def test_the_front_of_pima_is_that_of_every_design(paper_set, max_stages):
    pima = RealInstance.from_set(paper_set("pima"), 0.65, 8)
    front = front_of_chains(pima.landscape(max_stages))
    ties = pima.front(max_stages).values()
    assert found_ones(front) == {designs[0]: len(designs) for designs in ties}
    assert front.n_settled == DesignSpace(8, max_stages).size


# A table of some subsets


@pytest.mark.parametrize("allow_exclusion", [False, True])
@pytest.mark.parametrize("seed", range(500, 508))
def test_chains_of_some_subsets_are_the_best_of_these(seed, allow_exclusion):
    case = thresholds.varied(seed, n_features=4, allow_exclusion=allow_exclusion)
    first = case.space.first
    rng = np.random.default_rng(seed)
    members = np.sort(rng.permutation(np.arange(1, 16))[:8])
    table = Subsets.some(
        case.evaluator, case.space, members.astype(np.uint64)[:, None], case.evaluator.bits.n_words
    )
    whole, wanted = Subsets.all(case.evaluator, case.space), {0, 15, *members.tolist()}
    kept = [n for n in sorted(wanted) if first is None or n == 0 or n >> first & 1]
    for one, all_of_them in ((table.accepts, whole.accepts), (table.errs, whole.errs)):
        assert one.tolist() == all_of_them[kept].tolist()
    assert table.cost.tolist() == pytest.approx(whole.cost[kept].tolist())
    front = front_of_chains(table)
    chains = case.every_design()
    known = chains[np.isin(chains.subsets()[:, :, 0], kept).all(axis=1)]
    scores = case.evaluator.score(known)
    best = known[front_mask(scores) & scores.feasible]
    assert _vectors(case.evaluator, front.designs) == _vectors(case.evaluator, best)


def _vectors(evaluator, designs):
    if not len(designs):
        return set()
    scores = evaluator.score(designs)
    columns = scores.accepted.tolist(), scores.correct.tolist(), scores.spent.round(9).tolist()
    return set(zip(*columns, strict=True))
