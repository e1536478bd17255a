"""The choice of a search, what it refuses, proofs beside plain enumeration, and early ends."""

from dataclasses import replace
from itertools import count
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pytest
from support import brute

from emsco.costs import FeatureCosts
from emsco.data.training import TrainingData
from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.errors import NoSuchDesign, ParameterError
from emsco.scoring.bits import RowBits
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import front_mask
from emsco.scoring.scores import CostLimits, Counts
from emsco.search import exact
from emsco.search.plan import SearchPlan, plan_search
from emsco.search.progress import SearchProgress
from emsco.search.settings import SearchSettings
from emsco.search.subsets import Subsets

SINGLE = ThresholdGrid.single(np.full(2, 0.75))
TWO = ThresholdGrid([[0.6, 0.6], [0.8, 0.8], [0.0, 0.0]], (0, 1), (1, 2))
LEAST = Subsets.n_bytes(8, 1, 2)
EXCLUDING = {"allow_exclusion": True}


def settings_of(kind="exact", **given):
    usual = {"max_stages": 3, "population_size": 20, "generations": 4}
    return SearchSettings(kind=kind, **usual | given)


def planned(kind, n_features=8, max_stages=4, memory_limit=2**40, time_limit=None, **given):
    """Plan a search of a problem that nobody runs."""
    known = {"per_fit": 1e-6, "grid": SINGLE, "metric": "accuracy"}
    known |= {"n_rows": 100, "n_words": 2, "capacity": 2**40, "n_jobs": 1, **given}
    evaluator = SimpleNamespace(**known, limits=CostLimits(), prices=None)
    evaluator.costs = FeatureCosts.from_array(np.ones(n_features))
    evaluator.bits = evaluator.bank = evaluator.engine = evaluator  # all that they have is in one
    evaluator.seconds_per_fit = lambda: known["per_fit"]
    settings = settings_of(kind, max_stages=max_stages, **EXCLUDING)
    return plan_search(evaluator, settings, memory_limit, time_limit)


@pytest.mark.parametrize(
    ("given", "note"),
    [
        ({"n_features": 14, "max_stages": 8}, "designs would take about"),
        ({"per_fit": 1e-3, "time_limit": 0.1}, "would take a second or less on one core"),
        ({"n_features": 12, "per_fit": None}, "would fit 4,095 models"),
        ({"grid": TWO, "n_features": 12}, "would take about"),
    ],
)
def test_auto_leaves_to_evolution_what_takes_long(given, note):
    auto = planned("auto", **given)
    assert auto.settings.kind == "evolution"
    assert note in auto.note


@pytest.mark.parametrize(
    ("given", "obstacle"),
    [
        ({"n_features": 31, "max_stages": 2}, "fit 2,147,483,647 models"),
        ({"capacity": 254}, "keep 255 models where memory_limit holds 254"),
        ({"memory_limit": LEAST - 1}, f"keep {LEAST:,} bytes where memory_limit is {LEAST - 1:,}"),
        ({"n_features": 20}, "take about 5 days on one core"),
        ({"n_features": 24, "max_stages": 9}, "need larger whole numbers"),
        ({"metric": "balanced_accuracy"}, "not support balanced accuracy"),
    ],
)
def test_what_is_out_of_reach_is_refused_or_noted_in_the_same_words(given, obstacle):
    with pytest.raises(ParameterError) as refused:
        planned("exact", **given)
    note = planned("auto", **given).note
    assert obstacle in note
    assert f'search must be "evolution", "paper" or "auto" here, got "exact": {note}.' == str(
        refused.value
    )


def test_small_problems_are_within_reach_and_forecast():
    auto = planned("auto", per_fit=0.03, capacity=255, memory_limit=LEAST)
    assert auto.settings.kind == "exact"
    assert auto.forecast == "exact search over 219,749 designs should take about 8 seconds"
    assert 10**8 < planned("auto", n_features=6, grid=TWO).max_tried < 10**9


# Searches of 120 rows


@pytest.fixture(scope="module")
def make(small_problem):
    """Make an evaluator of six features."""
    costs = FeatureCosts.from_array([3, 1, 4, 1, 5, 9]).with_delays([0, 1, 0.5, 0.5, 3, 3])
    data = TrainingData.from_table(*small_problem, None, costs, "refuse")
    bits = brute.bench_of_split(data, (np.arange(60), np.arange(60, 120))).bits

    def made(grid=SINGLE, evaluation=0.0, **limits):
        limits, paid = CostLimits(**limits), replace(costs, evaluation=evaluation)
        return Evaluator(bits, paid, grid, 3, limits=limits)

    return made


class CtrlC(SearchProgress):
    """Interrupts a proof once so much of it is done."""

    def __init__(self, interrupts_at):
        super().__init__(shown=False)
        self._interrupts_at = interrupts_at

    def exact(self, progress):
        if progress.done >= self._interrupts_at:
            raise KeyboardInterrupt


def run(evaluator, kind="exact", *, limit=None, ends=np.inf, max_tried=None, room=2**30, **given):
    checked = SearchPlan(evaluator, settings_of(kind, **given), room, max_tried=max_tried)
    return checked.run(np.random.default_rng(0), CtrlC(ends), limit)


def every_design(**space):
    return Designs.of(np.array(brute.every_design(6, 3, **space), dtype=np.int16))


def vectors(scores):
    return set(zip(scores.accepted, scores.correct, scores.spent, strict=True))


@pytest.mark.parametrize(
    ("limits", "space"),
    [
        ({}, {}),
        ({"evaluation": 0.25, "mean": 8.0}, {**EXCLUDING, "first": 4}),
        ({"worst": 12.0}, EXCLUDING),
    ],
)
def test_a_proof_finds_what_scoring_every_design_finds(make, monkeypatch, limits, space):
    evaluator, designs = make(**limits), every_design(**space)
    result = run(evaluator, **space)
    on_front = front_mask(scores := evaluator.score(designs))
    assert vectors(result.scores) == vectors(scores[on_front])
    assert (result.proven, result.n_tied.sum()) == (True, on_front.sum())
    settled = f"the front is proven: all {len(designs):,} designs are settled"
    assert str(result.stop_reason) == settled
    last = result.records[-1]
    assert (last.generation, last.n_designs, last.n_subsets) == (1, len(designs), 63)
    # Where time may run out, a large space has good designs first, which change nothing.
    monkeypatch.setattr(exact, "_LARGE", 0)
    assert len(run(evaluator, **space).records) == len(result.records)
    warm = run(evaluator, limit=600, **space)
    assert np.array_equal(warm.designs.keys, result.designs.keys)
    assert warm.records[-1].generation > 1


def test_a_proven_front_with_thresholds_has_all_that_evolution_finds(make):
    proven, evolved = run(make(TWO)), run(make(TWO), "evolution", generations=30)
    assert (proven.proven, evolved.proven) == (True, False)
    both = Counts.concatenate([proven.scores, evolved.scores])
    assert vectors(both[front_mask(both)]) == vectors(proven.scores)


@pytest.mark.filterwarnings("ignore:Search interrupted")
@pytest.mark.parametrize(
    ("how", "reason", "is_early"),
    [
        ({"limit": 1e-9}, "the time limit of 1e-09 s was reached", True),
        ({"limit": 50}, "the time limit of 50 s was reached", True),  # in fits
        ({"limit": 150}, "the time limit of 150 s was reached", False),
        ({"room": 1}, "memory_limit was reached", True),
        ({"ends": 0}, "interrupted", False),
        ({}, "interrupted", True),  # in fits
    ],
)
def test_what_stops_early_keeps_its_best_designs(make, monkeypatch, how, reason, is_early):
    monkeypatch.setattr(exact, "_LARGE", 0)
    # A clock that advances by 100 seconds each time it is read.
    monkeypatch.setattr(exact, "perf_counter", count(0, 100).__next__)
    if not how:
        monkeypatch.setattr(RowBits, "of_subsets", Mock(side_effect=KeyboardInterrupt))
    result = run(make(), **how)
    n_settled = result.stop_reason.n_settled
    end = f", so the front is not proven ({n_settled:,} of 603 designs are settled)"
    assert str(result.stop_reason).startswith(reason)
    assert str(result.stop_reason).endswith(end)
    assert (n_settled == 0, result.proven) == (is_early, False)
    assert front_mask(result.scores).all()
    assert vectors(make().score(result.designs)) == vectors(result.scores)


def test_a_proof_that_takes_longer_than_planned_leaves_off_for_evolution(make):
    one, two = (run(make(TWO), max_tried=500) for _ in range(2))
    assert "(exact search took longer than planned, and was given" in str(one.stop_reason)
    assert np.array_equal(one.designs.keys, two.designs.keys)


# Limits


@pytest.mark.parametrize(
    ("limits", "settings", "least"),
    [
        ({"mean": 3.2}, {**EXCLUDING, "first": 0}, "max_mean_cost'] must be at least 3.5 "),
        ({"worst": 23.0}, {}, "max_worst_cost'] must be at least 23.5 "),
        ({"worst_delay": 2}, {}, "max_worst_delay'] must be at least 3 "),
    ],
)
def test_limits_that_every_design_exceeds_are_refused(make, limits, settings, least):
    with pytest.raises(ParameterError) as refused:
        plan_search(make(evaluation=0.5, **limits), settings_of("paper", **settings), 2**30)
    assert least in str(refused.value)


def test_limits_that_no_design_keeps_are_refused_with_the_nearest(make):
    for kind, delay in (("exact", {}), ("paper", {"worst_delay": 3})):
        with pytest.raises(NoSuchDesign, match=", but the nearest found needs a mean") as refused:
            run(make(mean=8, **delay), kind, first=4)
        assert str(refused.value).count("worst-case delay") == 2 * len(delay)


@pytest.mark.parametrize("kind", ["evolution", "paper"])
def test_what_is_found_keeps_to_the_space_and_the_limits(make, kind):
    evaluator, space = make(mean=16.0, worst_delay=1), {**EXCLUDING, "first": 3}
    found = run(evaluator, kind, population_size=60, generations=30, **space)
    assert settings_of(**space).space(6).holds(found.designs.stages).all()
    assert evaluator.score(found.designs).feasible.all()
    if kind == "evolution":
        scores = evaluator.score(every_design(**space))
        assert vectors(found.scores) == vectors(scores[front_mask(scores)])
