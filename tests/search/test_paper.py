"""The paper's loop beside a plain twin of it, on made-up scores: no data, no models."""

from __future__ import annotations

import numpy as np
import pytest

from emsco._base.text import counted
from emsco.designs.population import Designs
from emsco.scoring.pareto import Ranking
from emsco.scoring.scores import Scores
from emsco.search import operators
from emsco.search.paper import PaperLoop
from emsco.search.settings import SearchSettings


def made_up(designs, n_rows):
    """Scores that depend on the design alone; with few rows many tie."""
    keys = np.asarray(designs, dtype=np.int64) @ 7 ** np.arange(5)
    accepted = 1 + keys * 7 % n_rows
    return Scores(n_rows, accepted[:, None], (accepted * (keys % 4) // 4)[:, None], 1 + keys % 89)


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
