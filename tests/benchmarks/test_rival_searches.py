"""Rival searches: the designs they ask for, and the fronts they keep."""

from __future__ import annotations

import numpy as np
import pytest
from search_quality import GSEMO, NSGA2, RandomSearch

from emsco.designs.chromosomes import compress
from emsco.errors import ParameterError
from emsco.scoring.pareto import front_mask
from emsco.scoring.scores import Scores
from emsco.search.loop import Stop

RIVALS = [RandomSearch, GSEMO, NSGA2]
every_rival = pytest.mark.parametrize("rival", RIVALS, ids=lambda rival: rival.__name__)


def score(designs) -> Scores:
    """Made-up scores that depend on the design only, and often tie."""
    keys = designs.astype(np.int64) @ 7 ** np.arange(designs.shape[1])
    accepted, spent = 1 + keys * 7 % 20, 1 + keys * 11 % 31
    return Scores(20, accepted[:, None], accepted[:, None] * 2 // 3, spent)


def make(rival, n_features=6, max_stages=4, seed=0, size=20):
    return rival(np.arange(1.0, n_features + 1), max_stages, np.random.default_rng(seed), size)


def designs_of(search, n_generations=15) -> np.ndarray:
    """Search for some generations; return all designs asked for, in order."""
    asked = []
    for _ in range(n_generations):
        asked.append(search.ask().copy())
        search.tell(score(asked[-1]))
    return np.concatenate(asked)


@every_rival
@pytest.mark.parametrize("max_stages", [2, 4, 6])
def test_designs_asked_for_are_compressed_and_within_the_limit(rival, max_stages):
    asked = designs_of(make(rival, max_stages=max_stages))
    assert asked.dtype == np.int16
    assert np.array_equal(compress(asked), asked)
    assert 1 < asked.max() + 1 <= max_stages


@every_rival
def test_the_archive_is_the_front_of_all_scored_designs_each_once(rival):
    search = make(rival, n_features=4)
    asked = np.unique(designs_of(search), axis=0)
    front = asked[front_mask(score(asked))]
    assert np.unique(search.archive.designs, axis=0).tolist() == front.tolist()
    assert len(search.archive.designs) == len(front) < len(asked)


@every_rival
def test_the_front_is_that_of_the_archive(rival):
    search = make(rival)
    designs_of(search)
    designs, scores = search.front
    assert np.array_equal(designs, search.archive.front()[0])
    assert np.array_equal(scores.spent, score(designs).spent)


@every_rival
def test_a_rival_counts_generations_and_never_ends_itself(rival):
    search = make(rival)
    assert (search.generation, search.stop_reason) == (-1, None)
    designs_of(search, n_generations=5)
    assert (search.generation, search.stop_reason) == (4, None)


@every_rival
def test_the_same_seed_asks_for_the_same_designs_and_another_for_others(rival):
    asked = [designs_of(make(rival, seed=seed)).tolist() for seed in (3, 3, 4)]
    assert asked[0] == asked[1] != asked[2]


@every_rival
def test_another_use_of_numpys_own_random_numbers_changes_nothing(rival):
    asked = []
    for seed in (0, 1):
        np.random.seed(seed)  # noqa: NPY002  # the generator of a careless library
        asked.append(designs_of(make(rival)).tolist())
    assert asked[0] == asked[1]


def test_random_search_draws_every_number_of_stages_about_as_often():
    asked = designs_of(make(RandomSearch, n_features=30, max_stages=4, size=400))
    counts = np.bincount(asked.max(axis=1), minlength=4) / len(asked)
    assert np.abs(counts - 0.25).max() < 0.02


def test_gsemo_starts_from_one_design_and_breeds_a_batch_from_its_archive():
    search = make(GSEMO, n_features=40, size=15)
    first = search.ask()
    assert first.shape == (1, 40)
    search.tell(score(first))
    children = search.ask()
    assert children.shape == (15, 40)
    assert 0 < (children != first).sum(axis=1).mean() < 5  # one gene in the mean, or renumbered


@pytest.mark.parametrize("rival", [RandomSearch, GSEMO])
@pytest.mark.parametrize(("n_features", "max_stages"), [(1, 1), (5, 1), (2, 2)])
def test_the_smallest_spaces_work(rival, n_features, max_stages):
    search = make(rival, n_features, max_stages)
    assert designs_of(search).max() < max_stages
    assert len(search.front[0]) >= 1


@pytest.mark.parametrize(("n_features", "max_stages"), [(3, 3)])
def test_nsga2_says_when_it_has_no_new_design(n_features, max_stages):
    search = make(NSGA2, n_features, max_stages)
    designs_of(search)
    assert search.stop_reason.cause is Stop.EXHAUSTED
    assert len(search.front[0]) >= 1


def test_rivals_refuse_limits_on_costs():
    search = RandomSearch(np.ones(4), 2, np.random.default_rng(0), batch=5)
    designs = search.ask()
    ones = np.ones(len(designs), dtype=np.int64)
    scores = Scores(9, ones[:, None], ones[:, None], ones, excess=0.1 * ones)
    with pytest.raises(ParameterError, match=r'search must be "exact", .* got RandomSearch'):
        search.tell(scores)
