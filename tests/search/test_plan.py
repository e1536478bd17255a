"""The choice of a search, the notes about it, and the ways an exact search ends."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import count, product
from types import SimpleNamespace

import numpy as np
import pytest
from support import brute
from support.settings import ONE_THRESHOLD, PLAIN

from emsco import EMSCOClassifier
from emsco.costs import FeatureCosts
from emsco.designs.chromosomes import compress
from emsco.designs.space import DesignSpace
from emsco.designs.thresholds import ThresholdGrid
from emsco.errors import InterruptedWarning, ParameterError
from emsco.models.bank import SubsetBank, logistic_bank
from emsco.models.engine import SplitRows
from emsco.models.shard import SplitData
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import front_mask
from emsco.scoring.scores import CostLimits, Scores
from emsco.search import plan
from emsco.search.exact.spaces import SingleThresholdSpace
from emsco.search.plan import SearchPlan, exact_seconds, plan_search
from emsco.search.problem import Problem
from emsco.search.settings import SearchSettings

PLENTY = 2**40


SINGLE = ThresholdGrid.single(np.full(2, 0.75))
SEVERAL = ThresholdGrid(np.linspace(0.6, 0.9, 8)[:, None].repeat(2, axis=1), *[tuple(range(8))] * 2)


def problem_of(
    n_features, n_train=100, capacity=PLENTY, memory_limit=PLENTY, n_jobs=1, grid=SINGLE
) -> Problem:
    """Make a problem to plan for, not to run."""
    bank = SimpleNamespace(n_rows=100, n_words=2)
    costs = SimpleNamespace(evaluation=0.0, total=float(n_features))
    evaluator = SimpleNamespace(
        bank=bank, limits=CostLimits(), costs=costs, metric="accuracy", grid=grid, prices=None
    )
    seconds = n_train * n_features * 6e-9  # as logistic regressions take
    return Problem(evaluator, np.ones(n_features), seconds, capacity, memory_limit, n_jobs)


def settings_of(max_stages, **options) -> SearchSettings:
    return SearchSettings(
        **{
            "max_stages": max_stages,
            "mutation_rate": 0.1,
            "population_size": 20,
            "generations": 4,
            **options,
        }
    )


class Watcher:
    """Keeps all updates, and raises Ctrl-C once this many sizes of chains are done."""

    def __init__(self, interrupts_at=np.inf):
        self.began, self.generations, self.parts = [], [], []
        self._interrupts_at = interrupts_at

    def begin(self, what, total):
        self.began.append((what, total))

    def generation(self, record):
        self.generations.append(record)

    def exact(self, progress):
        self.parts.append(progress)
        if progress.done >= self._interrupts_at:
            raise KeyboardInterrupt


@pytest.fixture
def problem(small_problem):
    split = SplitRows.cut(SplitData(*small_problem, np.arange(60), np.arange(60, 120)))
    costs = FeatureCosts.from_array([3, 1, 4, 1, 5, 9])
    evaluator = Evaluator(logistic_bank([split], 6), costs, 0.6, 3)
    return Problem(evaluator, costs.costs, 60, PLENTY, 2**30, n_jobs=1)


def run(problem, kind="exact", time_limit=None, watcher=None, note="", **options):
    plan = SearchPlan(kind, settings_of(3, **options), note)
    return plan.run(problem, np.random.default_rng(0), time_limit, watcher or Watcher())


def every_design(n_features, max_stages) -> np.ndarray:
    return np.unique(compress(list(product(range(max_stages), repeat=n_features))), axis=0)


@pytest.fixture
def clock(monkeypatch):
    """A clock that advances by one second each time exact search reads it."""
    seconds = count(100.0)
    monkeypatch.setattr(plan, "perf_counter", lambda: next(seconds))


# The choice


@pytest.mark.parametrize("search", ["evolution", "paper"])
def test_a_search_named_is_a_search_run_however_large_the_space(search):
    assert plan_search(search, problem_of(200), settings_of(10)) == SearchPlan(
        search, settings_of(10)
    )


def test_auto_is_exact_if_that_takes_a_moment_and_forecasts_the_time():
    plan = plan_search("auto", problem_of(8), settings_of(4))
    forecast = "exact search over 46,875 designs should take a second or less on one core"
    assert (plan.kind, plan.note, plan.forecast) == ("exact", "", forecast)


def test_auto_is_evolution_if_exact_would_take_long_and_notes_how_long():
    plan = plan_search("auto", problem_of(16), settings_of(8))
    assert plan.kind == "evolution"
    space = f"{DesignSpace(16, 8).size:,} designs"
    assert plan.note == f"exact search over {space} would take about 19 minutes on one core"


@pytest.mark.parametrize(("spared", "kind"), [(0.0, "exact"), (1e-9, "evolution")])
def test_auto_is_exact_up_to_the_seconds_it_may_take(monkeypatch, spared, kind):
    seconds = exact_seconds(problem_of(12), DesignSpace(12, 4))
    monkeypatch.setattr(plan, "MAX_EXACT", seconds - spared)
    assert plan_search("auto", problem_of(12), settings_of(4)).kind == kind


@pytest.mark.parametrize(("n_features", "kind"), [(12, "exact"), (20, "evolution")])
def test_auto_gives_exact_search_seconds_not_minutes(n_features, kind):
    assert plan_search("auto", problem_of(n_features, 500), settings_of(4)).kind == kind


def test_more_rows_features_or_stages_take_longer_with_any_number_of_jobs():
    base = exact_seconds(problem_of(12), DesignSpace(12, 3))
    assert exact_seconds(problem_of(12, n_train=10_000), DesignSpace(12, 3)) > base
    assert exact_seconds(problem_of(13), DesignSpace(13, 3)) > 2 * base
    assert exact_seconds(problem_of(12), DesignSpace(12, 4)) > base
    assert exact_seconds(problem_of(12, n_jobs=4), DesignSpace(12, 3)) == base


# Out of reach


def test_too_many_features_are_refused_with_their_size_their_time_and_the_way_out():
    with pytest.raises(ParameterError):
        plan_search("exact", problem_of(31), settings_of(2))


def test_30_features_are_not_too_many_for_two_stages():
    assert plan_search("exact", problem_of(30), settings_of(2)).kind == "exact"


def test_subsets_past_the_memory_are_an_obstacle():
    enough, less = (problem_of(8, capacity=capacity) for capacity in (255, 254))
    assert plan_search("exact", enough, settings_of(4)).kind == "exact"
    obstacle = "keep 255 models where memory_limit holds 254"
    with pytest.raises(ParameterError):
        plan_search("exact", less, settings_of(4))
    note = f"exact search is out of reach: it would {obstacle}"
    assert plan_search("auto", less, settings_of(4)).note == note


def test_bits_past_the_memory_are_an_obstacle():
    n_bytes = SingleThresholdSpace.n_bytes(8, 2)
    enough, less = (problem_of(8, memory_limit=limit) for limit in (n_bytes, n_bytes - 1))
    assert plan_search("exact", enough, settings_of(4)).kind == "exact"
    obstacle = f"keep {n_bytes:,} bytes of bits where memory_limit is {n_bytes - 1:,}"
    with pytest.raises(ParameterError):
        plan_search("exact", less, settings_of(4))
    note = f"exact search is out of reach: it would {obstacle}"
    assert plan_search("auto", less, settings_of(4)).note == note


def test_more_than_a_day_is_out_of_reach():
    problem = problem_of(20, n_train=2_000_000)
    note = "exact search is out of reach: 1,048,575 designs"
    assert plan_search("auto", problem, settings_of(2)).note == note
    with pytest.raises(ParameterError):
        plan_search("exact", problem, settings_of(2))


def test_a_day_is_a_day():
    n_train = round(
        86_400 / exact_seconds(problem_of(20, n_train=10**6), DesignSpace(20, 2)) * 10**6
    )
    assert plan_search("exact", problem_of(20, int(0.99 * n_train)), settings_of(2)).kind == "exact"
    with pytest.raises(ParameterError):
        plan_search("exact", problem_of(20, int(1.01 * n_train)), settings_of(2))


def test_chromosomes_past_the_numbers_that_hold_them_are_refused():
    assert plan_search("exact", problem_of(18, n_jobs=64), settings_of(9)).kind == "exact"
    with pytest.raises(ParameterError):
        plan_search("exact", problem_of(18, n_jobs=64), settings_of(10))


# Thresholds


def test_auto_proves_small_spaces_with_thresholds_and_evolves_large_ones():
    small = plan_search("auto", problem_of(6, grid=SEVERAL), settings_of(3, allow_exclusion=True))
    assert (small.kind, small.note) == ("exact", "")
    large = plan_search("auto", problem_of(12, grid=SEVERAL), settings_of(4, allow_exclusion=True))
    assert large.kind == "evolution"
    assert re.fullmatch(r"exact search over [0-9,]+ designs would take .* on one core", large.note)


def test_thresholds_take_time():
    space = DesignSpace(8, 4, n_early=8, n_last=8)
    few = replace(space, n_early=4, n_last=4)
    problem = problem_of(8, grid=SEVERAL)
    assert exact_seconds(problem, space) > 4 * exact_seconds(problem, few)


def test_exact_search_with_thresholds_refuses_what_is_out_of_reach():
    with pytest.raises(ParameterError):
        plan_search("exact", problem_of(16, grid=SEVERAL), settings_of(6))
    with pytest.raises(ParameterError):
        plan_search("exact", problem_of(8, grid=SEVERAL, memory_limit=100_000), settings_of(2))


@pytest.fixture
def with_thresholds(problem):
    grid = ThresholdGrid([[0.6, 0.6], [0.8, 0.8], [0.0, 0.0]], (0, 1), (1, 2))
    evaluator = Evaluator(problem.evaluator.bank, problem.evaluator.costs, grid, 3)
    return replace(problem, evaluator=evaluator)


def test_a_front_with_thresholds_is_proven_with_its_ties(with_thresholds):
    watcher = Watcher()
    result = run(with_thresholds, watcher=watcher)
    grid = with_thresholds.evaluator.grid
    size = settings_of(3).space(6, grid).size
    assert result.proven
    assert str(result.stop_reason) == f"the front is proven: all {size:,} designs are settled"
    assert watcher.began == [("first designs", 0), ("walk", 100)]
    assert watcher.parts[-1].n_settled == size
    for i, n_tied in enumerate(result.n_tied.tolist()):
        ties = np.array(list(result.ties(i)))
        scores = with_thresholds.evaluator.score(ties)
        assert grid.holds(ties)
        assert len(np.unique(ties, axis=0)) == len(ties) == n_tied
        assert set(scores.spent.tolist()) == {result.scores.spent[i]}
        assert set(scores.correct.tolist()) == {result.scores.correct[i]}


def test_no_evolution_finds_anything_that_a_proven_front_with_thresholds_lacks(with_thresholds):
    proven, evolved = run(with_thresholds), run(with_thresholds, kind="evolution", generations=30)
    both = Scores.concatenate([proven.scores, evolved.scores])
    assert front_mask(both)[: len(proven.designs)].all()
    best = evolved.scores[front_mask(both)[len(proven.designs) :]]
    vectors, others = (
        set(zip(some.accepted.tolist(), some.correct.tolist(), some.spent.tolist(), strict=True))
        for some in (proven.scores, best)
    )
    assert others <= vectors


def test_a_walk_that_is_stopped_keeps_what_is_known(with_thresholds, monkeypatch):
    monkeypatch.setattr("emsco.search.exact.walk._BUDGET", 5)
    with pytest.warns(InterruptedWarning):
        result = run(with_thresholds, watcher=Watcher(interrupts_at=10))
    assert not result.proven
    assert str(result.stop_reason).startswith("interrupted, so the front is not proven (")
    assert front_mask(result.scores).all()


def test_a_walk_that_takes_longer_than_planned_is_given_up_for_an_evolution(
    with_thresholds, monkeypatch
):
    monkeypatch.setattr("emsco.search.exact.walk._BUDGET", 5)
    watcher, settings = Watcher(), settings_of(3)
    plan = SearchPlan("exact", settings, max_tried=500)
    result = plan.run(with_thresholds, np.random.default_rng(0), None, watcher)
    assert [what for what, _ in watcher.began] == ["first designs", "walk", "evolution"]
    assert not result.proven
    assert re.fullmatch(
        r"all 4 generations have run \(exact search took longer than planned, and was given up "
        r"after \d+ % of the designs\)",
        str(result.stop_reason),
    )
    again = plan.run(with_thresholds, np.random.default_rng(0), None, Watcher())
    assert np.array_equal(result.designs, again.designs)


def test_auto_gives_a_walk_twice_the_seconds_that_it_plans_for():
    few, many = (
        plan_search("auto", problem_of(6, grid=SEVERAL), settings_of(3, allow_exclusion=True)),
        plan_search("exact", problem_of(6, grid=SEVERAL), settings_of(3, allow_exclusion=True)),
    )
    assert 10**8 < few.max_tried < 10**9
    assert many.max_tried is None


def test_a_time_limit_stops_a_walk(with_thresholds, clock):
    result = run(with_thresholds, time_limit=3.5)
    assert str(result.stop_reason).startswith("the time limit of 3.5 s was reached, so the front")
    assert not result.proven


# Exact search


def test_exact_search_finds_what_scoring_every_design_finds(problem):
    result = run(problem)
    designs = every_design(6, 3)
    scores = problem.evaluator.score(designs)
    on_front = front_mask(scores)
    tied = np.concatenate([list(result.ties(i)) for i in range(len(result.designs))])
    assert sorted(tied.tolist()) == sorted(designs[on_front].tolist())
    assert result.n_tied.sum() == on_front.sum()
    assert result.proven


def test_a_proven_front_says_so_and_counts_the_whole_space(problem):
    result = run(problem)
    assert str(result.stop_reason) == "the front is proven: all 603 designs are settled"
    assert (result.records[-1].n_designs, result.records[-1].n_subsets) == (603, 63)
    assert [record.generation for record in result.records] == [0, 1]
    assert result.records[-1].n_front == len(result.designs)


def test_large_spaces_are_warmed_up_and_give_the_same_front(problem, monkeypatch):
    cold, watcher = run(problem), Watcher()
    monkeypatch.setattr(plan, "_LARGE", 0)
    warm = run(problem, watcher=watcher)
    assert watcher.began == [("first designs", 4), ("exact", 5)]
    assert [record.generation for record in warm.records] == [0, 1, 2, 3, 4, 5]
    assert warm.designs.tolist() == cold.designs.tolist()
    assert warm.n_tied.tolist() == cold.n_tied.tolist()


def test_a_front_of_one_stage_is_proven_at_once(problem):
    plan = SearchPlan("exact", settings_of(1))
    result = plan.run(problem, np.random.default_rng(0), None, Watcher())
    assert result.designs.tolist() == [[0] * 6]
    assert result.proven


# Exact search that ends early


def check_unproven(problem, result):
    """Check that the result is a front of scored designs."""
    scores = problem.evaluator.score(result.designs)
    assert not result.proven
    assert front_mask(scores).all()
    assert np.array_equal(scores.spent, result.scores.spent)
    assert [next(result.ties(i)).tolist() for i in range(len(result.designs))] == (
        result.designs.tolist()
    )


@pytest.mark.parametrize(
    ("time_limit", "settled"),
    [(0.5, "0 of 603 designs are settled"), (1.5, r"[1-9]\d* of 603 designs are settled")],
    ids=["fitting", "chaining"],
)
def test_a_time_limit_ends_exact_search_with_what_is_known(problem, clock, time_limit, settled):
    result = run(problem, time_limit=time_limit)
    check_unproven(problem, result)
    reason = f"the time limit of {time_limit} s was reached, so the front is not proven"
    assert re.fullmatch(rf"{reason} \({settled}\)", str(result.stop_reason))


def test_a_time_limit_during_the_first_designs_leaves_nothing_proven(problem, monkeypatch):
    monkeypatch.setattr(plan, "_LARGE", 0)
    result = run(problem, time_limit=1e-9)
    check_unproven(problem, result)
    assert len(result.records) == 1
    assert str(result.stop_reason) == (
        "the time limit of 1e-09 s was reached, so the front is not proven "
        "(0 of 603 designs are settled)"
    )


def test_ctrl_c_while_chaining_keeps_what_is_known(problem):
    with pytest.warns(UserWarning, match="nterrupted"):
        result = run(problem, watcher=Watcher(interrupts_at=0))
    check_unproven(problem, result)
    assert str(result.stop_reason).startswith("interrupted, so the front is not proven (")


@pytest.mark.filterwarnings("ignore:Search interrupted")
def test_what_was_found_before_ctrl_c_joins_the_first_designs(problem):
    early, late = (run(problem, watcher=Watcher(interrupts_at=size)) for size in (0, 5))
    whole = run(problem)
    assert sorted(late.designs.tolist()) == sorted(whole.designs.tolist())
    assert sorted(early.designs.tolist()) != sorted(whole.designs.tolist())
    assert not late.proven


@pytest.mark.filterwarnings("ignore:Search interrupted")
def test_ctrl_c_while_fitting_all_subsets_keeps_the_first_designs(problem, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(SubsetBank, "bits", interrupted)
    try:
        check_unproven(problem, run(problem))
    except KeyboardInterrupt:
        pytest.fail("the first designs are lost")


def test_too_little_memory_for_chains_keeps_what_is_known(problem):
    result = run(replace(problem, memory_limit=1))
    check_unproven(problem, result)
    assert "memory_limit" in str(result.stop_reason)
    assert "so the front is not proven" in str(result.stop_reason)


# Exclusion, a fixed first feature, and cost limits


@pytest.fixture
def limited(problem, small_problem):
    """Make the problem with cost limits and a cost of running a stage."""

    def make(evaluation=0.0, **limits):
        split = SplitRows.cut(SplitData(*small_problem, np.arange(60), np.arange(60, 120)))
        costs = replace(FeatureCosts.from_array(problem.costs), evaluation=evaluation)
        bank = logistic_bank([split], 6)
        evaluator = Evaluator(bank, costs, 0.6, 3, limits=CostLimits(**limits))
        return replace(problem, evaluator=evaluator)

    return make


@pytest.mark.parametrize("first", [None, 4])
@pytest.mark.parametrize("evaluation", [0.0, 0.25])
@pytest.mark.parametrize("limits", [{}, {"mean": 8.0}, {"worst": 12.0}])
def test_exact_search_with_exclusion_finds_what_scoring_every_design_finds(
    limited, first, evaluation, limits
):
    problem = limited(evaluation, **limits)
    result = run(problem, allow_exclusion=True, first=first)
    designs = np.array(brute.every_design(6, 3, allow_exclusion=True, first=first), dtype=np.int16)
    scores = problem.evaluator.score(designs)
    on_front = front_mask(scores)
    tied = np.concatenate([list(result.ties(i)) for i in range(len(result.designs))])
    assert sorted(tied.tolist()) == sorted(designs[on_front].tolist())
    assert (
        str(result.stop_reason) == f"the front is proven: all {len(designs):,} designs are settled"
    )


@pytest.mark.parametrize("kind", ["exact", "evolution", "paper"])
def test_what_is_found_keeps_to_the_space_and_the_limits(limited, kind):
    problem = limited(0.5, mean=12.0, worst=20.0)
    result = run(problem, kind, allow_exclusion=True, first=3, generations=20)
    space = DesignSpace(6, 3, allow_exclusion=True, first=3)
    assert space.holds(result.designs).all()
    assert result.scores.cost.max() <= 12
    assert problem.evaluator.worst_costs(result.designs).max() <= 20


def test_a_worst_case_below_the_cost_of_everything_needs_exclusion(limited):
    problem = limited(0.5, worst=23.0)
    for search in ("auto", "exact", "evolution", "paper"):
        with pytest.raises(ParameterError):
            plan_search(search, problem, settings_of(3))
        assert plan_search(search, problem, settings_of(3, allow_exclusion=True))
    assert plan_search("exact", limited(0.5, worst=23.5), settings_of(3))


@pytest.mark.parametrize(
    ("limits", "name"), [({"mean": 3.2}, "max_mean_cost"), ({"worst": 3}, "max_worst_cost")]
)
def test_a_limit_below_the_cheapest_first_stage_is_refused(limited, limits, name):
    settings = settings_of(3, allow_exclusion=True, first=0)
    with pytest.raises(ParameterError):
        plan_search("evolution", limited(0.5, **limits), settings)


def test_chromosomes_have_one_value_more_with_exclusion():
    assert plan_search("exact", problem_of(18, n_jobs=64), settings_of(8)).kind == "exact"
    settings = settings_of(9, allow_exclusion=True)
    with pytest.raises(ParameterError):
        plan_search("exact", problem_of(18, n_jobs=64), settings)


def test_weights_past_31_bits_are_an_obstacle():
    problem = problem_of(6)
    problem.evaluator.bank.n_rows = 2**31
    with pytest.raises(ParameterError):
        plan_search("exact", problem, settings_of(3))


DELAYS = [0, 1, 0.5, 0.5, 3, 3]


@pytest.fixture
def delayed(small_problem):
    """Make a problem with limits."""
    split = SplitRows.cut(SplitData(*small_problem, np.arange(60), np.arange(60, 120)))
    bank = logistic_bank([split], 6)
    costs = FeatureCosts.from_array([3, 1, 4, 1, 5, 9]).with_delays(DELAYS)

    def make(**limits):
        evaluator = Evaluator(bank, costs, 0.6, 3, limits=CostLimits(**limits))
        return Problem(evaluator, costs.costs, 1e-6, 2**40, 2**30, n_jobs=1)

    return make


def delay_settings(**options):
    usual = {"max_stages": 3, "mutation_rate": 0.1, "population_size": 20, "generations": 12}
    return SearchSettings(**{**usual, "allow_exclusion": True, **options})


def run_with_delays(problem, kind, **options):
    plan = SearchPlan(kind, delay_settings(**options))
    return plan.run(problem, np.random.default_rng(0), None, Watcher())


def walked(design, exits, n_rows):
    """Mean and longest wait of the rows of a design, row by row."""
    waits = [
        max(d for d, s in zip(DELAYS, design, strict=True) if s == j)
        for j in range(max(design) + 1)
    ]
    after = np.cumsum(waits)
    rows = [after[j] for j in range(len(after)) for _ in range(int(exits[j]))]
    rows += [after[-1]] * (n_rows - len(rows))
    return np.mean(rows), after[-1]


def test_delays_of_all_designs_are_those_of_a_walk_over_rows(delayed):
    evaluator = delayed().evaluator
    designs = np.array(brute.every_design(6, 3, allow_exclusion=True), dtype=np.int16)[::9]
    exits = evaluator.score(designs).exits
    plain = [walked(*one, 60) for one in zip(designs.tolist(), exits, strict=True)]
    assert np.column_stack(evaluator.delays(designs, exits)) == pytest.approx(np.array(plain))


@pytest.mark.parametrize(
    "limits", [{"mean_delay": 0.8}, {"worst_delay": 1}, {"mean_delay": 0.4, "worst_delay": 2}]
)
def test_designs_are_feasible_within_limits_on_delays_and_costs(delayed, limits):
    evaluator = delayed(**limits, worst=12).evaluator
    designs = np.array(brute.every_design(6, 3, allow_exclusion=True), dtype=np.int16)[::9]
    scores = evaluator.score(designs)
    mean, worst = evaluator.delays(designs, scores.exits)
    within = mean <= limits.get("mean_delay", 99) + 1e-9
    within &= worst <= limits.get("worst_delay", 99) + 1e-9
    within &= evaluator.worst_costs(designs) <= 12
    assert 0 < within.sum() < len(designs)
    assert (scores.feasible == within).all()


@pytest.mark.parametrize("kind", ["evolution", "paper"])
def test_what_is_found_keeps_to_limits_on_delays(delayed, kind):
    problem = delayed(mean_delay=0.5, worst_delay=2)
    result = run_with_delays(problem, kind)
    mean, worst = problem.evaluator.delays(result.designs, result.scores.exits)
    assert mean.max() <= 0.5
    assert worst.max() <= 2


def test_evolution_finds_the_front_within_a_limit_on_delays(delayed):
    problem = delayed(worst_delay=1)
    designs = np.array(brute.every_design(6, 3, allow_exclusion=True), dtype=np.int16)
    scores = problem.evaluator.score(designs)
    best = scores[np.flatnonzero(front_mask(scores))]
    evolved = run_with_delays(problem, "evolution", population_size=60, generations=40).scores
    columns = ("accepted", "correct", "spent")
    assert {*zip(*(getattr(evolved, name).tolist() for name in columns), strict=True)} == {
        *zip(*(getattr(best, name).tolist() for name in columns), strict=True)
    }


@pytest.mark.parametrize(
    ("limits", "options"),
    [
        ({"mean_delay": 0.5}, {"first": 1}),
        ({"worst_delay": 0.5}, {"first": 1}),
        ({"worst_delay": 2}, {"allow_exclusion": False}),
    ],
)
def test_limits_on_delays_that_every_design_exceeds_are_refused(delayed, limits, options):
    with pytest.raises(ParameterError):
        plan_search("evolution", delayed(**limits), delay_settings(**options))


@pytest.mark.parametrize(
    "options",
    [
        {**ONE_THRESHOLD, "search": "paper"},
        {**PLAIN},
        {**PLAIN, "estimator": "spline", "search_with": "logistic"},
        {**PLAIN, "metric": "balanced_accuracy", "constraints": {"together": [["x0", "x1"]]}},
    ],
    ids=["paper", "thresholds", "finished", "balanced"],
)
def test_every_design_of_a_fit_keeps_to_limits_on_delays(small_problem, options):
    limits = {"max_mean_delay": 1.0, "max_worst_delay": 1.5}
    rules = {**limits, **options.get("constraints", {})}
    small = {"generations": 4, "population_size": 20, "random_state": 0}
    settings = {**options, **small, "constraints": rules, "delays": DELAYS}
    clf = EMSCOClassifier(**settings).fit(*small_problem)
    assert max(point.mean_delay for point in clf.front_) <= 1
    assert max(point.worst_delay for point in clf.front_) <= 1.5
