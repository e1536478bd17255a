"""Limits on delays: what a search keeps to, and what it refuses."""

import numpy as np
import pytest
from support import brute
from support.settings import ONE_THRESHOLD, PLAIN

from emsco import EMSCOClassifier, FeatureCosts
from emsco.errors import NoSuchDesign, ParameterError
from emsco.models.bank import logistic_bank
from emsco.models.engine import SplitRows
from emsco.models.shard import SplitData
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import front_mask
from emsco.scoring.scores import CostLimits
from emsco.search.plan import SearchPlan, plan_search
from emsco.search.problem import Problem
from emsco.search.settings import SearchSettings

DELAYS = [0, 1, 0.5, 0.5, 3, 3]


class Watcher:
    """Ignores all updates."""

    def begin(self, what, total): ...
    def generation(self, record): ...
    def exact(self, progress): ...


@pytest.fixture
def limited(small_problem):
    """Make a problem with limits."""
    bank = logistic_bank(
        [SplitRows.cut(SplitData(*small_problem, np.arange(60), np.arange(60, 120)))], 6
    )
    costs = FeatureCosts.from_array([3, 1, 4, 1, 5, 9]).with_delays(DELAYS)

    def make(**limits):
        evaluator = Evaluator(bank, costs, 0.6, 3, limits=CostLimits(**limits))
        return Problem(evaluator, costs.costs, 1e-6, 2**40, 2**30, n_jobs=1)

    return make


def settings_of(**options):
    own = {"max_stages": 3, "mutation_rate": 0.1, "population_size": 20, "generations": 12}
    return SearchSettings(**{**own, "allow_exclusion": True, **options})


def run(problem, kind, **options):
    plan = SearchPlan(kind, settings_of(**options))
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


def test_delays_of_all_designs_are_those_of_a_walk_over_rows(limited):
    evaluator = limited().evaluator
    designs = np.array(brute.every_design(6, 3, allow_exclusion=True), dtype=np.int16)[::9]
    exits = evaluator.score(designs).exits
    plain = [walked(*one, 60) for one in zip(designs.tolist(), exits, strict=True)]
    assert np.column_stack(evaluator.delays(designs, exits)) == pytest.approx(np.array(plain))


@pytest.mark.parametrize(
    "limits", [{"mean_delay": 0.8}, {"worst_delay": 1}, {"mean_delay": 0.4, "worst_delay": 2}]
)
def test_designs_are_feasible_within_limits_on_delays_and_costs(limited, limits):
    evaluator = limited(**limits, worst=12).evaluator
    designs = np.array(brute.every_design(6, 3, allow_exclusion=True), dtype=np.int16)[::9]
    scores = evaluator.score(designs)
    mean, worst = evaluator.delays(designs, scores.exits)
    within = mean <= limits.get("mean_delay", 99) + 1e-9
    within &= worst <= limits.get("worst_delay", 99) + 1e-9
    within &= evaluator.worst_costs(designs) <= 12
    assert 0 < within.sum() < len(designs)
    assert (scores.feasible == within).all()


@pytest.mark.parametrize("kind", ["evolution", "paper"])
def test_what_is_found_keeps_to_limits_on_delays(limited, kind):
    problem = limited(mean_delay=0.5, worst_delay=2)
    result = run(problem, kind)
    mean, worst = problem.evaluator.delays(result.designs, result.scores.exits)
    assert mean.max() <= 0.5
    assert worst.max() <= 2


def test_evolution_finds_the_front_within_a_limit_on_delays(limited):
    problem = limited(worst_delay=1)
    designs = np.array(brute.every_design(6, 3, allow_exclusion=True), dtype=np.int16)
    scores = problem.evaluator.score(designs)
    best = scores[np.flatnonzero(front_mask(scores))]
    found = run(problem, "evolution", population_size=60, generations=40).scores
    columns = ("accepted", "correct", "spent")
    assert {*zip(*(getattr(found, name).tolist() for name in columns), strict=True)} == {
        *zip(*(getattr(best, name).tolist() for name in columns), strict=True)
    }


def test_exact_search_is_not_for_limits_on_delays(limited):
    plan = plan_search("auto", limited(mean_delay=1), settings_of())
    assert (plan.kind, plan.note) == (
        "evolution",
        "exact search does not support limits on delays",
    )
    assert plan_search("auto", limited(), settings_of()).kind == "exact"
    words = r'^search must be "evolution", "paper" or "auto" with limits on delays, got "exact"\.$'
    with pytest.raises(ParameterError, match=words):
        plan_search("exact", limited(worst_delay=1), settings_of())


@pytest.mark.parametrize(
    ("limits", "options", "words"),
    [
        ({"mean_delay": 0.5}, {"first": 1}, "be at least 1, the delay of the fastest first stage"),
        ({"worst_delay": 0.5}, {"first": 1}, "be at least 1, the delay of the fastest first stage"),
        (
            {"worst_delay": 2},
            {"allow_exclusion": False},
            "be at least 3, the slowest delay, as every design buys all features in the end",
        ),
    ],
)
def test_limits_on_delays_that_every_design_exceeds_are_refused(limited, limits, options, words):
    name = next(iter(limits))
    with pytest.raises(ParameterError, match=rf"constraints\['max_{name}'\] must {words}, got"):
        plan_search("evolution", limited(**limits), settings_of(**options))


def test_no_design_within_limits_on_delays_says_how_near_one_came(limited):
    words = (
        r"a design must have a mean cost of at most 1\.5 and a worst-case delay of at most 0\.5, "
        r"but the nearest found has .*, a mean delay of [\d.]+ and a worst-case delay of [\d.]+;"
    )
    with pytest.raises(NoSuchDesign, match=words):
        run(limited(mean=1.5, worst_delay=0.5), "evolution", first=0)


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
    own = {**options, **small, "constraints": rules, "delays": DELAYS}
    clf = EMSCOClassifier(**own).fit(*small_problem)
    assert max(point.mean_delay for point in clf.front_) <= 1
    assert max(point.worst_delay for point in clf.front_) <= 1.5


def test_limits_on_delays_need_delays(small_problem):
    words = "be left out where no feature has a delay, got 1"
    clf = EMSCOClassifier(**PLAIN, constraints={"max_mean_delay": 1})
    with pytest.raises(ParameterError, match=rf"constraints\['max_mean_delay'\] must {words}"):
        clf.fit(*small_problem)
    with pytest.raises(ParameterError, match=f"max_worst_delay must {words}"):
        EMSCOClassifier(**PLAIN, prefer={"max_worst_delay": 1}).fit(*small_problem)
