"""Evolution: the designs it proposes, its ends, and the exact front that it finds."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest

from emsco.costs import FeatureCosts
from emsco.designs.chromosomes import compress
from emsco.designs.space import DesignSpace, count_designs
from emsco.models.bank import logistic_bank
from emsco.models.engine import SplitRows
from emsco.models.shard import SplitData
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import front_mask
from emsco.scoring.scores import CostLimits, Scores
from emsco.search import evolution
from emsco.search.evolution import EvolutionSearch
from emsco.search.exact.chains import find_front
from emsco.search.exact.spaces import SingleThresholdSpace
from emsco.search.loop import Stop, StopReason
from emsco.search.settings import SearchSettings

COSTS = [3, 1, 4, 1, 5, 9]


def made_up(designs) -> Scores:
    """Scores that depend on the design only, and often tie."""
    keys = designs.astype(np.int64) @ 7 ** np.arange(designs.shape[1])
    accepted, spent = 1 + keys * 7 % 50, 1 + keys * 11 % 97
    return Scores(50, accepted[:, None], accepted[:, None] * 2 // 3, spent)


def all_alike(designs) -> Scores:
    ones = np.ones(len(designs), dtype=np.int64)
    return Scores(50, 9 * ones[:, None], 8 * ones[:, None], 7 * ones)


def search_with(n_features=6, seed=0, costs=None, **settings) -> EvolutionSearch:
    costs = np.arange(1.0, n_features + 1) if costs is None else np.array(costs, dtype=float)
    chosen = {"max_stages": 3, "population_size": 30, "generations": 20, **settings}
    return EvolutionSearch(costs, SearchSettings(**chosen), np.random.default_rng(seed))


def run(search, score=made_up) -> list[np.ndarray]:
    """All designs asked for, by generation."""
    asked = []
    while search.stop_reason is None:
        asked.append(search.ask().copy())
        search.tell(score(asked[-1]))
    return asked


@pytest.fixture
def evaluate(small_problem):
    """Make an evaluator of the small problem for designs of at most `max_stages` stages."""

    def make(max_stages, min_confidence=0.75, limits=None):
        split = SplitRows.cut(SplitData(*small_problem, np.arange(60), np.arange(60, 120)))
        costs = FeatureCosts.from_array(COSTS)
        bank = logistic_bank([split], 6)
        return Evaluator(bank, costs, min_confidence, max_stages, limits=limits)

    return make


def exact_front(evaluator, max_stages):
    return find_front(
        SingleThresholdSpace.from_evaluator(
            evaluator, DesignSpace(evaluator.bank.n_features, max_stages)
        )
    )


def by_design(designs, values) -> dict[tuple[int, ...], int]:
    return dict(zip(map(tuple, designs.tolist()), values, strict=True))


def vectors(scores) -> set[tuple[int, int, int]]:
    columns = scores.accepted, scores.correct, scores.spent
    return set(zip(*(column.tolist() for column in columns), strict=True))


# Proposals


@pytest.mark.parametrize("n_features", [3, 7, 40])
def test_no_design_is_asked_for_twice(n_features):
    asked = np.concatenate(run(search_with(n_features)))
    assert len(np.unique(asked, axis=0)) == len(asked)


@pytest.mark.parametrize("max_stages", [2, 3, 7])
def test_designs_are_compressed_and_within_the_limit_of_stages(max_stages):
    asked = np.concatenate(run(search_with(7, max_stages=max_stages, generations=60)))
    assert asked.dtype == np.int16
    assert np.array_equal(compress(asked), asked)
    assert asked.max() == max_stages - 1


@pytest.mark.parametrize("population_size", [9, 30, 150])
def test_a_generation_asks_for_at_most_the_population_size(population_size):
    sizes = [len(asked) for asked in run(search_with(8, population_size=population_size))]
    assert max(sizes) == population_size
    assert min(sizes) > 0


def test_a_population_smaller_than_the_features_bounds_the_first_designs_too():
    assert len(search_with(8, population_size=4).ask()) <= 4


@pytest.mark.parametrize("population_size", [2, 3, 5])
def test_the_smallest_populations_still_breed(population_size):
    asked = run(search_with(8, population_size=population_size))
    assert [len(designs) for designs in asked[3:]] == [population_size] * 18  # two lines begin


def test_the_first_designs_are_one_stage_cheap_features_first_and_two_stages_by_lot():
    first = search_with(4, costs=[3, 1, 4, 2], population_size=12).ask().tolist()
    by_cost = [[0, 0, 0, 0], [1, 0, 1, 1], [1, 0, 1, 0], [0, 0, 1, 0]]
    assert first[:4] == by_cost
    assert len(first) > 4
    assert all(max(design) == 1 for design in first[4:])


def test_the_same_seed_asks_for_the_same_designs_and_another_for_others():
    runs = [np.concatenate(run(search_with(9, seed))).tolist() for seed in (3, 3, 4)]
    assert runs[0] == runs[1] != runs[2]


def run_with_chains(search, score=made_up) -> np.ndarray:
    """All designs asked for, with a pause for chains whenever the search wants it."""
    asked = []
    while search.stop_reason is None:
        asked.append(search.ask().copy())
        search.tell(score(asked[-1]))
        if search.wants_chains:
            search.take_chains(asked[-1][:0], None)
    return np.concatenate(asked)


@pytest.mark.parametrize("run", [run_with_chains, lambda search: np.concatenate(run(search))])
@pytest.mark.parametrize("side_until", [3, 4, 5, 60])
def test_lines_that_join_lose_no_design(monkeypatch, run, side_until):
    monkeypatch.setattr(evolution, "_SIDE_UNTIL", side_until)
    search = search_with(6, generations=200)
    asked = run(search)
    assert search.stop_reason.cause is Stop.EXHAUSTED
    assert len(np.unique(asked, axis=0)) == len(asked) == count_designs(6, 3)


@pytest.mark.parametrize("n_features", [9, 17])
def test_chains_that_wait_to_be_asked_for_are_taken_at_the_end(n_features):
    search = search_with(n_features, generations=2)
    asked = run(search)
    waiting = [line.asked for line in (search._main, search._side) if line is not search._line]
    assert sum(map(len, waiting)) > 0
    every = np.concatenate([*asked, *waiting])
    before, scores = vectors(search.front[1]), made_up(every)
    search.take_chains(every, scores)
    assert vectors(search.front[1]) == vectors(scores[front_mask(scores)]) != before


def test_asking_again_before_telling_changes_nothing():
    once, twice = search_with(), search_with()
    for _ in range(5):
        twice.ask()
        once.tell(made_up(once.ask()))
        twice.tell(made_up(twice.ask()))
    assert np.array_equal(once.ask(), twice.ask())


def test_the_search_climbs_to_the_best_design_of_a_large_space():
    best = compress(np.random.default_rng(5).integers(0, 4, size=12))

    def likeness(designs):
        same = (designs == best).sum(axis=1)[:, None]
        return Scores(12, np.full_like(same, 12), same, np.ones(len(designs), dtype=np.int64))

    search = search_with(12, max_stages=4, population_size=100, generations=40)
    n_asked = sum(map(len, run(search, likeness)))
    assert n_asked < count_designs(12, 4) / 3000
    assert search.front[0].tolist() == [best.tolist()]


# The end


@pytest.mark.parametrize(("n_features", "max_stages"), [(2, 2), (4, 4), (6, 2), (5, 3), (6, 6)])
def test_every_design_of_a_small_space_is_scored_and_then_the_search_says_so(
    n_features, max_stages
):
    search = search_with(n_features, max_stages=max_stages, population_size=300, generations=10_000)
    n_asked = sum(map(len, run(search)))
    assert n_asked == count_designs(n_features, max_stages)
    assert str(search.stop_reason) == f"all {n_asked:,} designs have been scored"


def test_all_designs_are_said_to_be_scored_only_where_they_are(monkeypatch):
    monkeypatch.setattr(evolution, "_POOL", 5)
    search = search_with(5, max_stages=5, population_size=300, generations=10_000)
    n_asked = sum(map(len, run(search)))
    assert n_asked == count_designs(5, 5) or not str(search.stop_reason).startswith("all ")


@pytest.mark.parametrize("generations", [0, 1, 7])
def test_a_search_ends_after_its_generations(generations):
    search = search_with(generations=generations, n_features=10)
    assert len(run(search)) == generations + 1
    assert search.generation == generations
    assert search.stop_reason == StopReason(Stop.GENERATIONS, generations)


def test_patience_ends_a_search_whose_front_stays_the_same():
    search = search_with(10, patience=3)
    assert len(run(search, all_alike)) == 5  # of which the side line has one
    assert str(search.stop_reason) == "the front has stayed the same for 3 generations"


def test_a_new_vector_on_the_front_renews_patience():
    calls = count()

    def better_in_generation_2(designs):
        scores = all_alike(designs)
        return Scores(50, scores.exits, scores.correct_exits, scores.spent - (next(calls) == 2))

    search = search_with(10, patience=3)
    assert len(run(search, better_in_generation_2)) == 2 + 1 + 4  # of which one is the side line's


def test_without_patience_a_front_may_stay_the_same():
    search = search_with(10, generations=15)
    assert len(run(search, all_alike)) == 16


@pytest.mark.parametrize(("n_features", "max_stages"), [(1, 1), (1, 3), (6, 1)])
def test_a_space_of_one_design_ends_at_once(n_features, max_stages):
    search = search_with(n_features, max_stages=max_stages)
    assert [designs.tolist() for designs in run(search)] == [[[0] * n_features]]
    assert str(search.stop_reason) == "only one design exists"
    assert search.front[0].tolist() == [[0] * n_features]


def test_there_is_no_front_before_the_first_scores():
    with pytest.raises(RuntimeError, match=r"tell\(\) the scores of the first designs first\."):
        _ = search_with().front


# Results


@pytest.mark.parametrize(
    ("max_stages", "min_confidence", "some_tie"),
    [(2, 0.75, False), (3, 0.6, False), (4, 0.75, True), (3, 0.51, True)],
)
def test_a_space_scored_as_a_whole_gives_the_exact_front_and_its_ties(
    evaluate, max_stages, min_confidence, some_tie
):
    evaluator = evaluate(max_stages, min_confidence)
    search = search_with(costs=COSTS, max_stages=max_stages, population_size=300, generations=99)
    run(search, evaluator.score)
    exact = exact_front(evaluator, max_stages)
    found = by_design(search.front[0], map(len, search.archive.ties()))
    assert found == by_design(exact.designs, exact.n_tied)
    assert (max(found.values()) > 1) is some_tie


@pytest.mark.parametrize("seed", range(3))
def test_less_than_half_of_a_space_is_enough_to_find_nearly_all_of_the_front(evaluate, seed):
    evaluator = evaluate(6, min_confidence=0.85)
    search = search_with(6, seed, COSTS, max_stages=6, population_size=25, generations=80)
    n_asked = sum(map(len, run(search, evaluator.score)))
    assert n_asked < count_designs(6, 6) / 2
    _, scores = search.front
    truth = evaluator.score(exact_front(evaluator, 6).designs)
    assert len(vectors(scores) & vectors(truth)) >= 18
    assert len(truth) == 19


def test_the_front_is_that_of_the_archive():
    search = search_with()
    run(search)
    designs, scores = search.front
    assert np.array_equal(designs, search.archive.front()[0])
    assert np.array_equal(scores.spent, made_up(designs).spent)


@pytest.mark.parametrize("unit", [1, 7.0], ids=["whole", "fractions"])
def test_the_archive_holds_all_that_nothing_scored_dominates(unit):
    def score(designs):
        scores = made_up(designs)
        spent = scores.spent if unit == 1 else scores.spent / unit
        return Scores(50, scores.exits, scores.correct_exits, spent)

    search = search_with(7)
    asked = np.concatenate(run(search, score))
    front = asked[front_mask(score(asked))]
    assert len(asked) > 500
    assert sorted(search.archive.designs.tolist()) == sorted(front.tolist())


def test_a_side_line_has_every_third_generation_and_joins_in_the_end():
    search = search_with(8, population_size=20, generations=70)
    lines = []
    while search.stop_reason is None:
        lines.append(search._line is not search._main)
        search.tell(made_up(search.ask()))
    assert lines[:6] == [False, False, True] * 2
    assert sum(lines) == 21
    assert not any(lines[61:])
    assert set(map(bytes, search.archive.designs)) == set(map(bytes, search._main.archive.designs))


# Exclusion, a fixed first feature, and cost limits


@pytest.mark.parametrize("first", [None, 2])
@pytest.mark.parametrize("max_stages", [1, 2, 3])
def test_a_small_space_with_exclusion_is_searched_to_its_last_design(max_stages, first):
    search = search_with(
        4, max_stages=max_stages, allow_exclusion=True, first=first, generations=500
    )
    asked = np.concatenate(run(search))
    space = DesignSpace(4, max_stages, allow_exclusion=True, first=first)
    assert len(asked) == len(np.unique(asked, axis=0)) == space.size
    assert space.holds(asked).all()
    assert str(search.stop_reason) == f"all {space.size:,} designs have been scored"


def test_only_one_design_exists_where_the_only_feature_may_be_left_out():
    search = search_with(1, allow_exclusion=True)
    assert np.concatenate(run(search)).tolist() == [[0]]
    assert str(search.stop_reason) == "only one design exists"


@pytest.mark.parametrize(
    "limits", [CostLimits(mean=3.0), CostLimits(worst=6.0), CostLimits(3.0, 9.0)]
)
def test_the_front_within_limits_is_the_exact_one(evaluate, limits):
    evaluator, space = evaluate(3, limits=limits), DesignSpace(6, 3, allow_exclusion=True)
    search = search_with(costs=COSTS, allow_exclusion=True, generations=60)
    run(search, evaluator.score)
    designs, scores = search.front
    assert scores.feasible.all()
    exact = find_front(SingleThresholdSpace.from_evaluator(evaluator, space))
    assert sorted(designs.tolist()) == sorted(exact.designs.tolist())


def test_a_search_that_knows_no_design_within_the_limits_goes_on_and_comes_nearer(evaluate):
    evaluator = evaluate(3, limits=CostLimits(worst=0.5))
    search = search_with(costs=COSTS, allow_exclusion=True, generations=10)
    nearest = []
    while search.stop_reason is None:
        search.tell(evaluator.score(search.ask()))
        nearest.append(search.front[1].beyond.min())
    assert nearest == sorted(nearest, reverse=True)
    assert len(nearest) == 11
    assert nearest[-1] == pytest.approx(0.5 / 23)  # the cheapest feature alone costs 1
    assert not search.front[1].feasible.any()
