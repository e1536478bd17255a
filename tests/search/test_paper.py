"""The paper's loop, driven by made-up scores: no data, no models."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import betabinom, binomtest, chisquare

from emsco.designs.chromosomes import compress
from emsco.designs.space import DesignSpace
from emsco.scoring.scores import Scores
from emsco.search.loop import Stop, StopReason
from emsco.search.paper import PaperLoop
from emsco.search.settings import SearchSettings

N_ROWS = 97

seeds = st.integers(0, 10_000)


def scores_of(rows) -> Scores:
    """Scores of designs of one stage, from (accepted, correct, spent)."""
    accepted, correct, spent = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Scores(N_ROWS, accepted[:, None], correct[:, None], spent, 1.0)


def made_up(seed: int, most: int = N_ROWS) -> Callable[[np.ndarray], Scores]:
    """Random scores, the same for the same design; a small `most` makes many ties."""

    def score(designs: np.ndarray) -> Scores:
        rows = []
        for design in designs.tolist():
            rng = np.random.default_rng([seed, *(gene % 2**16 for gene in design)])
            accepted = rng.integers(most + 1)
            rows.append((accepted, rng.integers(accepted + 1), rng.integers(1, 10 * most)))
        return scores_of(rows)

    return score


def all_alike(designs: np.ndarray) -> Scores:
    """Give all designs the same objectives, so that all are non-dominated."""
    return scores_of([(50, 40, 900)] * len(designs))


def one_wins(designs: np.ndarray) -> Scores:
    """The first design dominates all that `all_alike` scores, and those dominate the others."""
    return scores_of([(60, 60, 100)] + [(1, 0, 9000)] * (len(designs) - 1))


def search_with(n_features=6, seed=0, **options) -> PaperLoop:
    chosen = {"max_stages": 3, "mutation_rate": 0.1, "population_size": 12, "generations": 8}
    chosen |= options
    return PaperLoop(n_features, 1.0, SearchSettings(**chosen), np.random.default_rng(seed))


def generations(search: PaperLoop, score):
    """Run to the end, pausing after each generation."""
    while search.stop_reason is None:
        search.tell(score(search.ask()))
        yield search


def run(search: PaperLoop, score) -> PaperLoop:
    for _ in generations(search, score):
        pass
    return search


def tuples(designs) -> list[tuple[int, ...]]:
    return [tuple(design) for design in np.asarray(designs).tolist()]


def objectives(scores: Scores) -> list[tuple[int, Fraction, int]]:
    counts = zip(
        scores.accepted.tolist(), scores.correct.tolist(), scores.spent.tolist(), strict=True
    )
    return [
        (accepted, Fraction(correct_exits, accepted or 1), -spent)
        for accepted, correct_exits, spent in counts
    ]


def known(designs, scores) -> dict[tuple[int, ...], tuple[int, Fraction, int]]:
    return dict(zip(tuples(designs), objectives(scores), strict=True))


def dominated(point, points) -> bool:
    return any(
        other != point and all(a >= b for a, b in zip(other, point, strict=True))
        for other in points
    )


def non_dominated(points: dict) -> set:
    return {design for design, point in points.items() if not dominated(point, points.values())}


def fittest_first(points: dict) -> list:
    """Distinct designs by level, aggregate, stage count and chromosome, in exact arithmetic."""
    cheapest = min(-point[2] for point in points.values())

    def key(design):
        accepted, accuracy, spent = points[design]
        inverse_cost = Fraction(cheapest, -spent)
        length = Fraction(accepted, N_ROWS) ** 2 + accuracy**2 + inverse_cost**2
        return -length, max(design), design

    ordered, left = [], dict(points)
    while left:
        front = non_dominated(left)
        ordered += sorted(front, key=key)
        left = {design: point for design, point in left.items() if design not in front}
    return ordered


def elite_count(points: dict, elite_fraction: float) -> int:
    share = math.floor(Fraction(str(elite_fraction)) * len(points) + Fraction(1, 2))
    return max(share, len(non_dominated(points)))


# Elitism


@pytest.mark.parametrize("elite_fraction", [0.0, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(3))
def test_only_as_many_children_are_asked_for_as_elites_leave_room(elite_fraction, seed):
    search = search_with(seed=seed, elite_fraction=elite_fraction)
    for _ in generations(search, made_up(seed)):
        points = known(*search.population)
        assert len(search.ask()) == 12 - elite_count(points, elite_fraction)


def test_duplicates_do_not_count_towards_the_elite():
    search = search_with(n_features=2, population_size=40, elite_fraction=0.5)
    search.tell(all_alike(search.ask()))
    assert set(tuples(search.population[0])) == {(0, 1), (1, 0)}
    assert len(search.ask()) == 38


@pytest.mark.parametrize("seed", range(3))
def test_the_fittest_distinct_designs_go_on_unchanged_and_children_fill_up(seed):
    search, score = search_with(seed=seed, elite_fraction=0.4, generations=5), made_up(seed)
    search.tell(score(search.ask()))
    while search.stop_reason is None:
        points = known(*search.population)
        expected = fittest_first(points)[: elite_count(points, 0.4)]
        children = search.ask()
        search.tell(score(children))
        designs, scores = search.population
        assert tuples(designs) == expected + tuples(children)
        assert objectives(scores) == objectives(score(designs))


def test_the_first_designs_asked_for_are_a_whole_population_of_two_stages():
    asked = search_with(population_size=25).ask()
    assert asked.shape == (25, 6)
    assert set(asked.max(axis=1).tolist()) == {1}


# Children


def two_ranks(designs: np.ndarray) -> Scores:
    """(0, 1) dominates (1, 0); their aggregates are √3 and √(48² / 97² + 1/4 + 1/4)."""
    return scores_of([(97, 97, 100) if tuple(d) == (0, 1) else (48, 24, 200) for d in designs])


@pytest.mark.parametrize("epsilon", [0.01, 3.0])
def test_parents_are_drawn_by_their_fitness(epsilon):
    search = search_with(
        2, population_size=4000, mutation_rate=0.0, crossover_rate=0.0, epsilon=epsilon
    )
    search.tell(two_ranks(search.ask()))
    n_better = tuples(search.population[0]).count((0, 1))
    high, low = math.sqrt(3), math.sqrt((48 / 97) ** 2 + 0.5)
    fitness = n_better * (high / low + epsilon) * high, (4000 - n_better) * low
    children = tuples(search.ask())
    n_copies = children.count((0, 1))
    assert binomtest(n_copies, len(children), fitness[0] / sum(fitness)).pvalue > 1e-3


@pytest.mark.parametrize("crossover_rate", [0.0, 0.5, 1.0])
def test_children_cross_two_parents_at_the_crossover_rate(crossover_rate):
    search = search_with(2, population_size=4000, mutation_rate=0.0, crossover_rate=crossover_rate)
    search.tell(all_alike(search.ask()))
    share = tuples(search.population[0]).count((0, 1)) / 4000
    children = tuples(search.ask())
    n_mixed = children.count((0, 0))  # a gene of each: both first, or both second and compressed
    expected = crossover_rate * share * (1 - share)
    assert binomtest(n_mixed, len(children), expected).pvalue > 1e-3


@pytest.mark.parametrize("stage_bias", [1.5, 3.0])
def test_children_are_mutated_with_the_bias_of_the_settings(stage_bias):
    search = search_with(2000, mutation_rate=1.0, max_stages=9, stage_bias=stage_bias)
    search.tell(one_wins(search.ask()))
    genes = search.ask().ravel()
    expected = betabinom(2, 1, stage_bias).pmf([0, 1, 2]) * len(genes)
    assert chisquare(np.bincount(genes, minlength=3), expected).pvalue > 1e-3


# Property 1: nothing non-dominated is ever lost


@settings(deadline=None, derandomize=True, max_examples=20)
@given(
    seeds,
    st.integers(2, 5),
    st.integers(2, 4),
    st.integers(1, 12),
    st.integers(0, 3),
    st.sampled_from([3, N_ROWS]),
)
def test_the_front_is_always_that_of_all_designs_ever_scored(
    seed, n_features, max_stages, population_size, growth, most
):
    search = search_with(
        n_features,
        seed,
        max_stages=max_stages,
        population_size=population_size,
        growth=growth,
        mutation_rate=0.3,
    )
    seen, score = {}, made_up(seed, most)
    for _ in generations(search, score):
        seen |= known(*search.population)
        assert set(tuples(search.front[0])) == non_dominated(seen)


@settings(deadline=None, derandomize=True, max_examples=20)
@given(seeds, st.sampled_from([4, N_ROWS]))
def test_a_globally_optimal_design_once_met_stays_to_the_end(seed, most):
    score = made_up(seed, most)
    vectors = np.array(list(product(range(3), repeat=4)))
    space = vectors[(compress(vectors) == vectors).all(axis=1)]
    optima = non_dominated(known(space, score(space)))
    search = search_with(4, seed, mutation_rate=0.4)
    met = [optima & set(tuples(search.population[0])) for _ in generations(search, score)]
    assert all(before <= after for before, after in pairwise(met))
    assert met[-1] == optima & set(tuples(search.front[0]))


def test_a_long_run_on_a_small_space_finds_the_whole_front():
    score = made_up(5)
    vectors = np.array(list(product(range(3), repeat=4)))
    space = vectors[(compress(vectors) == vectors).all(axis=1)]
    search = run(search_with(4, population_size=30, generations=150, mutation_rate=0.4), score)
    assert set(tuples(search.front[0])) == non_dominated(known(space, score(space)))


# Result


@pytest.mark.parametrize("seed", range(4))
def test_the_front_is_sorted_fittest_first_and_distinct(seed):
    search = run(search_with(seed=seed, population_size=40), made_up(seed))
    designs, scores = search.front
    points = known(*search.population)
    front = [design for design in fittest_first(points) if design in non_dominated(points)]
    assert len(front) > 1
    assert tuples(designs) == front
    assert objectives(scores) == [points[design] for design in front]
    assert tuple(search.best) == front[0]


def test_equal_designs_in_the_front_come_once_fewer_stages_first():
    search = search_with(n_features=3, population_size=60, generations=6, mutation_rate=0.5)
    designs = tuples(run(search, all_alike).front[0])
    assert designs == sorted(set(designs), key=lambda design: (max(design), design))
    assert {max(design) for design in designs} == {0, 1, 2}


def test_the_same_seed_gives_the_same_run():
    one, other = (run(search_with(seed=7), made_up(3)) for _ in range(2))
    assert np.array_equal(one.population[0], other.population[0])
    assert one.generation == other.generation


@settings(deadline=None, derandomize=True, max_examples=25)
@given(seeds, st.integers(1, 6), st.integers(1, 5))
def test_every_design_asked_for_is_compressed_and_within_the_stage_limit(seed, n_features, limit):
    search = search_with(n_features, seed, max_stages=limit, mutation_rate=0.7)
    while search.stop_reason is None:
        asked = search.ask()
        assert asked.max(initial=0) < limit
        assert np.array_equal(compress(asked), asked)
        search.tell(made_up(seed)(asked))


# Population size


def sizes(search: PaperLoop, script) -> list[int]:
    """Population sizes of the generations scored by the functions of `script`, in turn."""
    children = []
    for score in script:
        search.tell(score(search.ask()))
        children.append(len(search.population[0]))
    return children


def test_a_population_grows_while_all_of_it_is_elite_and_shrinks_to_its_first_size():
    search = search_with(
        40, population_size=6, growth=3, mutation_rate=0.5, generations=99, max_stages=9
    )
    script = [all_alike] * 4 + [one_wins] * 6
    assert sizes(search, script) == [6, 9, 12, 15, 18, 15, 12, 9, 6, 6]


@pytest.mark.parametrize(("elite_fraction", "after"), [(0.65, 9), (0.55, 6)])
def test_a_population_shrinks_only_where_the_elite_leaves_more_room_than_that(
    elite_fraction, after
):
    search = search_with(
        40, population_size=6, growth=3, mutation_rate=0.5, elite_fraction=elite_fraction
    )  # at size 9, the elite is 6 = 9 - 3, or 5
    assert sizes(search, [all_alike, one_wins, one_wins]) == [6, 9, after]


@settings(deadline=None, derandomize=True, max_examples=30)
@given(seeds, st.integers(0, 4), st.sampled_from([0.1, 0.5, 1.0]))
def test_every_change_of_size_follows_the_rule(seed, growth, elite_fraction):
    search = search_with(
        4, seed, population_size=5, growth=growth, elite_fraction=elite_fraction, generations=12
    )
    expected = 5
    for _ in generations(search, made_up(seed, most=3)):
        points = known(*search.population)
        assert len(search.population[0]) == expected
        n_elites = elite_count(points, elite_fraction)
        if n_elites == expected:
            expected += growth
        elif n_elites < expected - growth and expected > 5:
            expected -= growth


# Halting


@pytest.mark.parametrize("limit", [0, 1, 5])
def test_a_search_ends_when_all_generations_have_run(limit):
    search = search_with(generations=limit)
    n_told = sum(1 for _ in generations(search, made_up(1)))
    assert n_told == limit + 1
    assert search.generation == limit
    assert search.stop_reason == StopReason(Stop.GENERATIONS, limit)


def test_generations_count_from_the_initial_population_as_0():
    search = search_with()
    assert search.generation == -1
    assert [search.generation for _ in generations(search, made_up(1))] == list(range(9))


def improving(n_times: int):
    """A better design than all before it in each of the first `n_times` calls, then none."""
    calls = iter(range(10_000))

    def score(designs: np.ndarray) -> Scores:
        call = next(calls)
        best = (60, 60, 900 - call) if call < n_times else (1, 0, 9000)
        return scores_of([best] + [(1, 0, 9000)] * (len(designs) - 1))

    return score


@pytest.mark.parametrize("patience", [1, 2, 4])
@pytest.mark.parametrize("n_times", [1, 3])
def test_a_search_ends_when_the_fittest_has_stayed_the_same_for_that_many_generations(
    patience, n_times
):
    search = search_with(40, mutation_rate=0.5, generations=50, patience=patience)
    run(search, improving(n_times))
    assert search.generation == n_times - 1 + patience
    assert search.stop_reason == StopReason(Stop.SAME_BEST, patience)


def test_a_change_of_the_fittest_starts_the_count_again():
    good, better = (60, 60, 900), (60, 60, 800)
    firsts = iter([good, (1, 0, 9000), better] + [(1, 0, 9000)] * 9)
    search = search_with(40, mutation_rate=0.5, generations=50, patience=2)
    run(search, lambda designs: scores_of([next(firsts)] + [(1, 0, 9000)] * (len(designs) - 1)))
    assert search.generation == 4


def test_a_search_ends_when_the_population_is_full_of_non_dominated_designs():
    search = run(search_with(40, mutation_rate=0.5), all_alike)
    assert search.generation == 0
    assert "full of elite designs" in str(search.stop_reason)
    assert len(search.front[0]) == 12


def test_a_full_population_does_not_end_a_search_that_may_grow():
    search = run(search_with(40, mutation_rate=0.5, growth=1, generations=3), all_alike)
    assert search.generation == 3
    assert len(search.population[0]) == 15


@pytest.mark.parametrize(("n_features", "max_stages"), [(1, 1), (1, 4), (5, 1)])
def test_where_only_one_design_exists_it_is_scored_once_and_the_search_ends(n_features, max_stages):
    search = search_with(n_features, max_stages=max_stages, population_size=300)
    asked = search.ask()
    search.tell(all_alike(asked))
    assert tuples(asked) == [(0,) * n_features] == tuples(search.front[0])
    assert str(search.stop_reason) == "only one design exists"
    assert search.generation == 0


# Exclusion, a fixed first feature, and cost limits


@pytest.mark.parametrize("first", [None, 3])
@pytest.mark.parametrize("max_stages", [1, 3])
def test_every_generation_keeps_to_its_space(max_stages, first):
    options = {"max_stages": max_stages, "allow_exclusion": True, "first": first}
    space = DesignSpace(6, **options)
    for search in generations(search_with(**options), made_up(0)):
        designs, _ = search.population
        assert space.holds(designs).all()
    assert (designs == -1).any()


def test_the_front_holds_designs_within_the_limits_once_one_is_known():
    score = made_up(2)

    def limited(designs):
        scores = score(designs)
        return replace(scores, excess=np.maximum(scores.spent - 150, 0) / 1000)

    nearest = []
    for search in generations(search_with(generations=30), limited):
        nearest.append(search.front[1].beyond.max())
        assert search.front[1].beyond.max() == search.population[1].beyond.min()
    assert nearest == sorted(nearest, reverse=True)
    assert nearest[-1] == 0
