"""The paper's loop beside a plain twin of it, on made-up scores: no data, no models."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.dominance import (
    N_ROWS,
    chains,
    plain_levels,
    points_of,
    rows_of_designs,
    scores_of,
)

from emsco._base.text import counted
from emsco.designs.population import Designs
from emsco.scoring.scores import Counts
from emsco.search import operators
from emsco.search.paper import PaperLoop, Ranking, pareto_levels
from emsco.search.settings import SearchSettings


def made_up(designs, n_rows):
    """Scores that depend on the design alone; with few rows many tie."""
    keys = np.asarray(designs, dtype=np.int64) @ 7 ** np.arange(5)
    accepted = 1 + keys * 7 % n_rows
    return Counts(n_rows, accepted[:, None], (accepted * (keys % 4) // 4)[:, None], 1 + keys % 89)


def plain_loop(settings, rng, n_rows):
    """SPEC 9, design by design; yields designs to score, the front, and words of the end."""
    space, size, elite, generation = settings.space(5), settings.population_size, [], 0
    asked = operators.initial_population(size, space, settings.stage_bias, rng).tolist()
    same, best = 0, None
    while True:
        population = np.array(elite + asked, dtype=np.int16)
        ranking = Ranking.from_scores(Designs.of(population), made_up(population, n_rows), 1.0, 0.1)
        order = [*dict.fromkeys(tuple(population[i].tolist()) for i in ranking.order)]
        best_level = {tuple(one.tolist()) for one in population[ranking.level == 0]}
        front = [one for one in order if one in best_level]
        n_elites = (2 * settings.elite_fraction * len(order) + 1 + 1e-9) // 2  # halves round up
        elite = order[: max(int(n_elites), len(front))]
        same, best = (same + 1 if front[0] == best else 0), front[0]
        ends = {
            f"all {counted(generation, 'generation')} have run": generation == settings.generations,
            f"the same for {same} generations": same == settings.patience,
            "full of elite designs": settings.growth == 0 and len(elite) == size,
        }
        yield asked, front, [words for words, is_over in ends.items() if is_over]
        generation += 1
        if len(elite) == size:
            size += settings.growth
        elif len(elite) < size - settings.growth and size > settings.population_size:
            size -= settings.growth
        n_children = size - len(elite)
        parents = operators.select(ranking.selection_probabilities, 2 * n_children, rng)
        first, second = population[parents[:n_children]], population[parents[n_children:]]
        crossed = operators.recombine(first, second, settings.crossover_rate, rng)
        asked = operators.mutate(
            crossed, settings.rate(5), settings.stage_bias, space, rng
        ).tolist()


@pytest.mark.parametrize("n_rows", [3, 97])
@pytest.mark.parametrize("growth", [0, 3])
@pytest.mark.parametrize("elite_fraction", [0.0, 0.35, 0.9])
@pytest.mark.parametrize("patience", [None, 3])
def test_a_run_is_that_of_the_plain_loop(n_rows, growth, elite_fraction, patience):
    settings = SearchSettings(
        max_stages=3,
        mutation_rate=(None, 0.3)[growth > 0],
        population_size=10,
        generations=12,
        crossover_rate=0.6,
        elite_fraction=elite_fraction,
        stage_bias=1.5,
        epsilon=0.1,
        growth=growth,
        patience=patience,
    )
    search = PaperLoop(5, 1.0, settings, np.random.default_rng(growth))
    with pytest.raises(RuntimeError, match="tell"):
        _ = search.front
    for asked, front, ends in plain_loop(settings, np.random.default_rng(growth), n_rows):
        assert search.ask().stages.tolist() == asked
        search.tell(made_up(search.ask(), n_rows))
        designs, scores = search.front
        assert [*map(tuple, designs.stages.tolist())] == front
        assert (scores.spent == made_up(designs, n_rows).spent).all()
        assert bool(ends) == (search.stop_reason is not None)
        if ends:
            assert ends[0] in str(search.stop_reason)
            return


def test_where_only_one_design_exists_it_is_scored_once_and_the_search_ends():
    search = PaperLoop(5, 1.0, SearchSettings(max_stages=1), np.random.default_rng(0))
    search.tell(made_up(search.ask(), 97))
    assert search.front[0].stages.tolist() == [[0] * 5]
    assert str(search.stop_reason) == "only one design exists"


# Levels, and fitness: the paper's Property 2


@given(
    st.lists(
        st.tuples(rows_of_designs, st.sampled_from([0.0, 0.0, 0.25, 0.5])), min_size=1, max_size=25
    )
)
def test_designs_past_the_limits_come_after_all_within_the_nearest_first(population):
    rows, beyond = map(list, zip(*population, strict=True))
    scores = scores_of(rows, beyond=beyond)
    levels, points = pareto_levels(scores).tolist(), points_of(rows)
    within = [i for i, one in enumerate(beyond) if one == 0]
    assert [levels[i] for i in within] == plain_levels([points[i] for i in within])
    last = max((levels[i] for i in within), default=-1)
    steps = sorted({*beyond} - {0})
    assert all(one == 0 or levels[i] == last + 1 + steps.index(one) for i, one in enumerate(beyond))
    ranking = Ranking.from_scores(chains([[0]] * len(rows)), scores, 1.0)
    assert (np.diff(ranking.level[ranking.order]) >= 0).all()


@given(
    st.lists(st.tuples(rows_of_designs, st.permutations([0, 1, 2])), min_size=1, max_size=25),
    st.sampled_from([0.01, 0.5]),
)
def test_fitness_is_that_of_the_formula_and_decides_the_order(drawn, epsilon):
    rows, stages = map(list, zip(*drawn, strict=True))
    ranking = Ranking.from_scores(chains(stages), scores_of(rows), 2.0, epsilon)
    lowest = min(spent for _, _, spent in rows)
    shift = 2 * N_ROWS if lowest == 0 else 0  # beside a design that is free
    aggregate = np.array(
        [
            ((a / N_ROWS) ** 2 + (c / max(a, 1)) ** 2 + ((lowest + shift) / (s + shift)) ** 2)
            ** 0.5
            for a, c, s in rows
        ]
    )
    level = np.array(plain_levels(points_of(rows)))
    base = aggregate.max() / aggregate.min() + epsilon
    fitness = base ** (level.max() - level).astype(float) * aggregate
    assert np.exp(ranking.log_fitness) == pytest.approx(fitness, rel=1e-10)
    assert ranking.selection_probabilities == pytest.approx(fitness / fitness.sum(), rel=1e-10)
    for one in range(len(rows)):
        assert (ranking.log_fitness[one] > ranking.log_fitness[level > level[one]]).all()
    rounded = np.round(aggregate, 12)
    keys = [(level[i], -rounded[i], max(stages[i]), stages[i], i) for i in ranking.order]
    assert keys == sorted(keys)
    first = {tuple(stages[i]): i for i in reversed(ranking.order.tolist())}
    if len({*zip(rows, map(tuple, stages), strict=True)}) == len(first):  # a design has one score
        assert {*ranking.distinct.tolist()} == {*first.values()}


def test_hundreds_of_levels_do_not_overflow():
    n_levels = 600
    rows = [(12, 6, 1000 + i) for i in range(n_levels - 1)] + [(1, 0, 10**6)]
    ranking = Ranking.from_scores(chains([[0]] * n_levels), scores_of(rows), 1.0)
    assert np.ptp(ranking.log_fitness) > np.log(np.finfo(float).max)
    assert ranking.order.tolist() == list(range(n_levels))
    assert np.isfinite(ranking.selection_probabilities).all()
