"""Evolution: the designs it proposes, its ends, and the exact front that it finds."""

from __future__ import annotations

from itertools import count

import numpy as np
import pytest
from support.brute import every_design
from support.leveled import bench_of, every_leveled, grid_of

from emsco.costs import FeatureCosts
from emsco.designs.chromosomes import compress, levels_of, stages_of
from emsco.designs.space import DesignSpace
from emsco.designs.thresholds import ThresholdGrid
from emsco.models.bank import logistic_bank
from emsco.models.engine import SplitRows
from emsco.models.shard import SplitData
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import front_mask
from emsco.scoring.scores import CostLimits, Scores
from emsco.search import evolution
from emsco.search.evolution import EvolutionSearch, NearbySubsets
from emsco.search.exact.chains import find_front
from emsco.search.exact.spaces import SingleThresholdSpace
from emsco.search.links import Linker, chains_between
from emsco.search.loop import Stop, StopReason, run_search
from emsco.search.settings import SearchSettings

COSTS = [3, 1, 4, 1, 5, 9]
TO_THE_END = {"patience": 1000}  # whether or not the front still grows


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
    chosen = {"max_stages": 3, "population_size": 30, "generations": 20, **TO_THE_END, **settings}
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
    assert len(np.unique(asked, axis=0)) == len(asked) == DesignSpace(6, 3).size


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
    assert n_asked < DesignSpace(12, 4).size / 3000
    assert search.front[0].tolist() == [best.tolist()]


# The end


@pytest.mark.parametrize(("n_features", "max_stages"), [(2, 2), (4, 4), (6, 2), (5, 3), (6, 6)])
def test_every_design_of_a_small_space_is_scored_and_then_the_search_says_so(
    n_features, max_stages
):
    search = search_with(n_features, max_stages=max_stages, population_size=300, generations=10_000)
    n_asked = sum(map(len, run(search)))
    assert n_asked == DesignSpace(n_features, max_stages).size
    assert str(search.stop_reason) == f"all {n_asked:,} designs have been scored"


def test_all_designs_are_said_to_be_scored_only_where_they_are(monkeypatch):
    monkeypatch.setattr(evolution, "_POOL", 5)
    search = search_with(5, max_stages=5, population_size=300, generations=10_000)
    n_asked = sum(map(len, run(search)))
    assert n_asked == DesignSpace(5, 5).size or not str(search.stop_reason).startswith("all ")


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


@pytest.mark.parametrize(
    ("reached", "is_little"), [(5000, True), (9500, False)], ids=["half wrong", "few wrong"]
)
def test_a_search_may_end_once_its_front_hardly_grows(reached, is_little):
    def hardly(designs):
        """A front that gets better all the time, by little after ten generations."""
        generation = search.generation + 1
        ones = np.ones(len(designs), dtype=np.int64)
        correct = (reached - 500 * (generation < 10) + generation // 5) * ones
        return Scores(10_000, 10_000 * ones[:, None], correct[:, None], 7 * ones)

    search = search_with(10, generations=100, patience=None)
    # The same growth is more where little is left to gain.
    assert len(run(search, hardly)) == (10 + 15 + 1 if is_little else 101)
    if is_little:
        assert str(search.stop_reason) == "the front has hardly grown in the last 15 generations"
    search = search_with(10, generations=100)
    assert len(run(search, hardly)) == 101


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
    ties = by_design(search.front[0], map(len, search.archive.ties()))
    assert ties == by_design(exact.designs, exact.n_tied)
    assert (max(ties.values()) > 1) is some_tie


@pytest.mark.parametrize("seed", range(3))
def test_less_than_half_of_a_space_is_enough_to_find_nearly_all_of_the_front(evaluate, seed):
    evaluator = evaluate(6, min_confidence=0.85)
    search = search_with(6, seed, COSTS, max_stages=6, population_size=25, generations=80)
    n_asked = sum(map(len, run(search, evaluator.score)))
    assert n_asked < DesignSpace(6, 6).size / 2
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


N_FEATURES = 5
USED = np.array([[0, 1, 1, 1, 1], [1, 0, 0, 1, 1], [0, 0, 1, 2, 2]], dtype=np.int16)


def numbers_of(designs):
    """Numbers of the subsets of designs, stage by stage."""
    return {
        sum(1 << i for i, at in enumerate(design) if 0 <= at <= stage)
        for design in stages_of(designs).tolist()
        for stage in range(max(design) + 1)
    }


def nearby(allow_exclusion=False, first=None, noted=USED):
    subsets = NearbySubsets(DesignSpace(N_FEATURES, 3, allow_exclusion, first))
    subsets.note(noted)
    return subsets


def worth(subset, used):
    """A fifth for each feature in which a used subset differs; all or nothing does not count."""
    return sum(
        0.2 ** (subset ^ other).bit_count() for other in used if 0 < other < 2**N_FEATURES - 1
    )


def test_subsets_come_in_the_order_of_their_distance_to_those_in_use():
    subsets = nearby().nearest(USED, 100).tolist()
    used = numbers_of(USED)
    others = [subset for subset in range(1, 32) if subset not in used]
    assert sorted(subsets) == others
    worths = [round(worth(subset, used), 9) for subset in subsets]
    assert worths == sorted(worths, reverse=True)
    assert len(set(worths)) > 3


def test_a_proposal_buys_the_subset_first_and_the_rest_second_or_never():
    numbers = nearby().nearest(USED, 9).tolist()
    for allow_exclusion, rest in ((False, 1), (True, -1)):
        designs = nearby(allow_exclusion).propose(USED, 9)
        assert designs.dtype == np.int16
        wanted = [[0 if n >> i & 1 else rest for i in range(N_FEATURES)] for n in numbers]
        assert designs.tolist() == wanted


@pytest.mark.parametrize("first", [None, 0, 4])
def test_known_subsets_are_never_proposed_and_all_are_in_the_end(first):
    start = np.array([[0, 1, 1, 1, 0]], dtype=np.int16)
    search, proposed = nearby(allow_exclusion=True, first=first, noted=start), []
    while len(designs := search.propose(start, 4)):
        new = numbers_of(designs)
        assert not new & set(proposed)
        proposed += new
        search.note(designs)
    every = [n for n in range(1, 32) if first is None or n >> first & 1]
    assert sorted({*proposed, *numbers_of(start)}) == every
    assert search.n_known == len(every)


GRID = grid_of()


def made_up_by_level(designs) -> Scores:
    """Scores that depend on the design and its levels only."""
    keys = designs.astype(np.int64) @ 7 ** np.arange(designs.shape[1])
    accepted, spent = 1 + keys * 7 % 50, 1 + keys * 11 % 97
    return Scores(50, accepted[:, None], accepted[:, None] * 2 // 3, spent)


def leveled_search(n_features=6, seed=0, grid=GRID, **settings):
    chosen = {"max_stages": 3, "population_size": 30, "generations": 20, **TO_THE_END, **settings}
    costs = np.arange(1.0, n_features + 1)
    return EvolutionSearch(costs, SearchSettings(**chosen), np.random.default_rng(seed), grid=grid)


def all_asked(search, score=made_up_by_level):
    """All designs asked for, by generation."""
    asked = []
    while search.stop_reason is None:
        asked.append(search.ask().copy())
        search.tell(score(asked[-1]))
    return asked


def objectives_of(scores):
    columns = scores.accepted, scores.correct, scores.spent
    return set(zip(*(column.tolist() for column in columns), strict=True))


# Proposals


@pytest.mark.parametrize("n_features", [3, 7, 20])
@pytest.mark.parametrize("allow_exclusion", [False, True])
def test_designs_are_new_and_of_the_space_and_have_levels_of_the_grid(n_features, allow_exclusion):
    search = leveled_search(n_features, allow_exclusion=allow_exclusion)
    asked = np.concatenate(all_asked(search))
    assert len(np.unique(asked, axis=0)) == len(asked)
    assert GRID.holds(asked)
    assert search.space.holds(asked).all()


def test_children_have_all_levels_in_the_end():
    asked = np.concatenate(all_asked(leveled_search(20)))  # too many designs to draw any by lot
    levels = levels_of(asked, 3)
    assert set(levels.reshape(-1).tolist()) == {0, 1, 2, 3}


@pytest.mark.parametrize("allow_exclusion", [False, True])
def test_every_design_of_a_small_space_is_scored_with_all_its_levels(allow_exclusion):
    search = leveled_search(
        3, population_size=300, generations=10_000, allow_exclusion=allow_exclusion
    )
    asked = np.concatenate(all_asked(search))
    every = every_leveled(every_design(3, 3, allow_exclusion), GRID)
    assert sorted(asked.tolist()) == sorted(every.tolist())
    assert str(search.stop_reason) == f"all {len(every):,} designs have been scored"


def test_one_threshold_for_all_stages_is_searched_as_without_a_grid():
    single = ThresholdGrid.single(np.full(2, 0.7))
    runs = [
        np.concatenate(all_asked(leveled_search(grid=grid))).tolist() for grid in (single, None)
    ]
    assert runs[0] == runs[1]


# Chains


def schedule(search):
    """Generations after which a search wanted chains; it gets none."""
    wanted = []
    while search.stop_reason is None:
        search.tell(made_up_by_level(search.ask()))
        if search.wants_chains:
            wanted.append(search.generation)
            search.take_chains(search.ask()[:0], None)
    return wanted


def test_chains_of_many_features_are_wanted_at_doubled_generations_and_at_the_end():
    assert schedule(leveled_search(20, generations=50)) == [10, 20, 40, 50]


def test_chains_of_few_features_are_wanted_after_four_generations_and_with_more_subsets():
    wanted = schedule(leveled_search(7, generations=50))
    assert wanted[0] == 4
    assert wanted[-1] == 50
    assert 2 < len(wanted) < 30


@pytest.mark.parametrize("grid", [GRID, ThresholdGrid.single(np.full(2, 0.75))])
@pytest.mark.parametrize("allow_exclusion", [False, True])
def test_with_chains_a_small_search_ends_with_the_front_and_each_design_once(grid, allow_exclusion):
    evaluator = bench_of().evaluator(2, grid)
    settings = SearchSettings(
        2, population_size=60, generations=400, patience=400, allow_exclusion=allow_exclusion
    )
    search = EvolutionSearch(
        evaluator.costs.costs, settings, np.random.default_rng(0), evaluator.costs.total, grid=grid
    )
    linker = Linker(evaluator, settings.space(5, grid))
    result = run_search(search, evaluator, between=chains_between(search, evaluator, linker))
    every = every_leveled(every_design(5, 2, allow_exclusion), grid)
    scores = evaluator.score(every)
    front = scores[front_mask(scores)]
    assert objectives_of(result.scores) == objectives_of(front)
    assert sum(result.n_tied) == len(front)  # each of them once
    assert len(np.unique(search.archive.designs, axis=0)) == len(search.archive.designs)


def test_promising_subsets_are_those_of_the_front_first():
    search = leveled_search(7)
    for _ in range(5):
        search.tell(made_up_by_level(search.ask()))
    words = search.promising(1000)[:, 0].tolist()
    front = stages_of(search.front[0]).tolist()
    of_front = [
        sum(1 << i for i, at in enumerate(design) if 0 <= at <= stage)
        for design in front
        for stage in range(max(design) + 1)
    ]
    distinct = list(dict.fromkeys(of_front))
    assert words[: len(distinct)] == distinct
    assert len(words) == len(set(words)) > len(distinct)
    assert search.promising(3)[:, 0].tolist() == words[:3]
