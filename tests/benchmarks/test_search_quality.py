"""Quality of fronts, on cases small enough to work out by hand; and rival searches."""

from __future__ import annotations

import math

import numpy as np
import pytest
from search_quality import GSEMO, NSGA2, FrontQuality, RandomSearch, losses, share_of_front

from emsco.designs.chromosomes import compress
from emsco.errors import ParameterError
from emsco.scoring.pareto import front_mask
from emsco.scoring.scores import Scores
from emsco.search.loop import Stop

N_ROWS = 10
TOTAL = 4.0


def scores_of(*rows) -> Scores:
    """Scores of designs of one stage, from (accepted, correct, spent)."""
    accepted, correct, spent = np.array(rows).T
    return Scores(N_ROWS, accepted[:, None], correct[:, None], spent)


# Losses: (0, 0.5, 0.5) and (0.5, 0, 0.25).
TRUTH = scores_of((10, 5, 20), (5, 5, 10))


def test_losses_are_missing_coverage_missing_accuracy_and_relative_cost():
    scores = scores_of((10, 5, 20), (5, 5, 10), (0, 0, 40))
    assert losses(scores, TOTAL).tolist() == [[0, 0.5, 0.5], [0.5, 0, 0.25], [1, 1, 1]]


def test_costs_are_counted_in_units():
    scores = Scores(N_ROWS, np.array([[10]]), np.array([[10]]), np.array([2000]), per_one=100)
    assert losses(scores, TOTAL).tolist() == [[0, 0, 0.5]]


def test_the_true_front_has_perfect_quality():
    quality = FrontQuality.from_scores(TRUTH, TOTAL, TRUTH)
    assert (quality.share, quality.hypervolume_ratio) == (1.0, 1.0)
    assert (quality.igd_plus, quality.epsilon) == (0.0, 0.0)


def test_the_hypervolume_is_that_of_the_boxes_up_to_the_reference_point():
    # Boxes of 1 · 0.5 · 0.5 and 0.5 · 1 · 0.75, which share 0.5 · 0.5 · 0.5.
    assert FrontQuality.from_scores(TRUTH, TOTAL).hypervolume == pytest.approx(0.25 + 0.375 - 0.125)


def test_a_design_that_loses_everything_has_no_volume():
    assert FrontQuality.from_scores(scores_of((0, 0, 40)), TOTAL).hypervolume == 0.0


def test_a_part_of_the_front_has_its_share_of_vectors_and_of_volume():
    quality = FrontQuality.from_scores(scores_of((10, 5, 20)), TOTAL, TRUTH)
    assert quality.share == 0.5
    assert quality.hypervolume == pytest.approx(0.25)
    assert quality.hypervolume_ratio == pytest.approx(0.25 / 0.5)
    # (0, 0.5, 0.5) is 0 behind itself, and (0, 0.5, 0.25) behind (0.5, 0, 0.25).
    assert quality.igd_plus == pytest.approx(math.hypot(0.5, 0.25) / 2)
    assert quality.epsilon == pytest.approx(0.5)


def test_a_slightly_more_expensive_front_shares_nothing_and_misses_a_little():
    quality = FrontQuality.from_scores(scores_of((10, 5, 24), (5, 5, 14)), TOTAL, TRUTH)
    assert quality.share == 0.0
    assert quality.igd_plus == pytest.approx(0.1)
    assert quality.epsilon == pytest.approx(0.1)


def test_without_the_true_front_only_the_volume_is_known():
    values = FrontQuality.from_scores(TRUTH, TOTAL).to_dict()
    assert values.pop("hypervolume") == pytest.approx(0.5)
    assert list(values) == ["share", "hypervolume_ratio", "igd_plus", "epsilon"]
    assert all(math.isnan(value) for value in values.values())


def test_vectors_that_repeat_count_once():
    repeated = scores_of((10, 5, 20), (10, 5, 20), (10, 5, 20), (5, 5, 10))
    assert share_of_front(repeated, TRUTH) == 1.0
    assert share_of_front(scores_of((5, 5, 10)), repeated) == 0.5


def test_designs_off_the_front_add_no_share():
    assert share_of_front(scores_of((10, 5, 20), (10, 5, 21), (9, 5, 20)), TRUTH) == 0.5


# Rival searches: the designs they ask for, and the fronts they keep

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
