"""Chains of fitted subsets, compared with every chain and every threshold of these subsets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.brute import every_design
from support.leveled import FOLDS, ROWS, bench_of, every_leveled, genes_of, grid_of, random_designs

from emsco.costs import FeatureCosts
from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.designs.space import DesignSpace
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import balanced_scores, front_mask
from emsco.scoring.scores import CostLimits, Counts
from emsco.search import linking
from emsco.search.linking import give_chains, link, linked_front, most_subsets

SINGLE = ThresholdGrid.single(np.full(2, 0.75))
WIDE = 500  # chains of a subset: none is given up for lack of room


def vectors(scores):
    """Accepted, correct and spent of each design; fractions are rounded."""
    spent = np.round(scores.spent / scores.per_one, 6).tolist()
    return set(zip(scores.accepted.tolist(), scores.correct.tolist(), spent, strict=True))


def some_words(seed, first=None):
    words = np.random.default_rng(seed).integers(1, 31, size=8)
    return np.unique(words if first is None else words | 1 << first).astype(np.uint64)[:, None]


def every_chain(evaluator, space, words):
    """All designs of these subsets and all features, with all their thresholds."""
    plain = np.array(every_design(5, space.max_stages, space.allow_exclusion, space.first))
    used = Designs.of(plain.astype(np.int16)).subsets()[:, :, 0]
    usable = np.isin(used, [31, *words[:, 0].tolist()]).all(axis=1)
    return every_leveled([tuple(design) for design in plain[usable].tolist()], evaluator.grid)


def assert_best(evaluator, space, words, chains, most_missed=0.0):
    """Check that chains are sound, and how many of the best of all chains are missing."""
    possible = every_chain(evaluator, space, words)
    assert {*genes_of(chains)} <= {*genes_of(possible)}
    scores, every = evaluator.score(chains), evaluator.score(possible)
    assert front_mask(scores).all()
    assert scores.feasible.all()
    assert len(vectors(scores)) == len(chains)
    within = every[every.feasible]
    best = vectors(within[front_mask(within)])
    assert len(best - vectors(scores)) <= most_missed * len(best)
    assert most_missed or len(best) > 1


@pytest.mark.parametrize("allow_exclusion", [False, True])
@pytest.mark.parametrize("first", [None, 1])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weights", [None, ROWS % 3], ids=["", "weights"])
@pytest.mark.parametrize("gaps", ["refuse", "skip"])
def test_chains_of_two_stages_are_the_best_of_all(allow_exclusion, first, n_classes, weights, gaps):
    evaluator = bench_of(n_classes, weights, gaps).evaluator(2, grid_of(n_classes))
    space, words = DesignSpace(5, 2, allow_exclusion, first), some_words(n_classes, first)
    chains = linked_front(evaluator, space, words, width=WIDE)
    assert_best(evaluator, space, words, chains)


@pytest.mark.parametrize("width", [1, 2, 8, WIDE])
@pytest.mark.parametrize("allow_exclusion", [False, True])
@pytest.mark.parametrize("gaps", ["refuse", "skip"])
def test_longer_chains_are_sound_however_few_are_followed(width, allow_exclusion, gaps):
    evaluator = bench_of(gaps=gaps).evaluator(3, grid_of())
    space, words = DesignSpace(5, 3, allow_exclusion), some_words(1)
    chains = linked_front(evaluator, space, words, width=width)
    assert_best(evaluator, space, words, chains, 0.2 if width >= 8 else 1.0)


@pytest.mark.parametrize(
    "limits",
    [CostLimits(mean=6.0), CostLimits(worst=9.0), CostLimits(mean=5.0, worst=12.0)],
    ids=str,
)
@pytest.mark.parametrize("costs", [(1, 2, 3, 4, 5), (np.pi, 2 / 3, 3, 1 / 7, 5)])
@pytest.mark.parametrize("evaluation", [0.0, 0.5])
def test_chains_stay_within_the_cost_limits(limits, costs, evaluation):
    space, words = DesignSpace(5, 2, allow_exclusion=True), some_words(3)
    prices = replace(FeatureCosts.from_array(costs), evaluation=evaluation)
    evaluator = Evaluator(bench_of().bits, prices, grid_of(), 2, limits=limits)
    chains = linked_front(evaluator, space, words, width=WIDE)
    assert_best(evaluator, space, words, chains)


def test_nothing_is_found_where_nothing_is_within_the_limits():
    costs, limits = FeatureCosts.from_array([1] * 5), CostLimits(worst=4.0)
    evaluator = Evaluator(bench_of().bits, costs, grid_of(), 2, limits=limits)
    chains = linked_front(evaluator, DesignSpace(5, 2), some_words(0))
    assert (chains.stages.shape, chains.levels.shape) == ((0, 5), (0, 5))


def test_what_a_known_design_beats_is_left_out_and_equals_are_not():
    evaluator, space = bench_of().evaluator(2, grid_of()), DesignSpace(5, 2, allow_exclusion=True)
    words = some_words(5)
    scores = evaluator.score(every_chain(evaluator, space, words))
    front = scores[front_mask(scores)]
    better = Counts(front.n_rows, front.exits[:3], front.correct_exits[:3], front.spent[:3] - 1)
    kept = vectors(evaluator.score(linked_front(evaluator, space, words, better, width=WIDE)))
    assert kept < vectors(front)
    assert not kept & vectors(front[np.arange(3)])
    equal = linked_front(evaluator, space, words, front, width=WIDE)
    assert len(equal) == len(vectors(front))


@pytest.mark.parametrize("gaps", ["refuse", "skip"])
@pytest.mark.parametrize("weights", [None, ROWS % 4], ids=["", "weights"])
def test_a_sample_of_the_rows_finds_chains_nearly_as_good(monkeypatch, weights, gaps):
    evaluator = bench_of(2, weights, gaps, FOLDS * 4).evaluator(2, grid_of())
    space, words = DesignSpace(5, 2, allow_exclusion=True), some_words(1)
    whole = linked_front(evaluator, space, words, width=WIDE)
    monkeypatch.setattr(linking, "_MOST_WORDS", evaluator.bits.n_words // 2)
    known = evaluator.score(whole[:1])
    best, nearly = (
        balanced_scores(scores, evaluator.costs.total).max()
        for scores in map(
            evaluator.score, (whole, linked_front(evaluator, space, words, known, width=WIDE))
        )
    )
    assert 0.98 * best < nearly <= best


def test_all_features_are_among_the_subsets_though_nobody_names_them():
    evaluator = bench_of().evaluator(3, grid_of())
    chains = linked_front(evaluator, DesignSpace(5, 3), some_words(0)[:0])
    assert (chains.stages == 0).all()


# Between generations


@pytest.mark.parametrize("weights", [None, ROWS % 3], ids=["", "weights"])
@pytest.mark.parametrize("gaps", ["refuse", "skip"])
@pytest.mark.parametrize("first", [None, 2])
def test_with_one_threshold_all_chains_of_all_fitted_subsets_are_tried(weights, gaps, first):
    evaluator = bench_of(2, weights, gaps).evaluator(3, SINGLE)
    some = every_design(5, 3, first=first)[::7]
    at_once = evaluator.score(Designs.of(np.array([(0,) * 5, *some], dtype=np.int16)))
    n_fits, space = evaluator.bits.bank.n_fits, DesignSpace(5, 3, first=first)
    chains = link(evaluator, space, evaluator.subsets[:1], at_once[np.zeros(1, int)])
    assert_best(evaluator, space, evaluator.subsets, chains)
    assert evaluator.bits.bank.n_fits == n_fits


def test_fewer_subsets_are_linked_where_there_are_more_rows_or_levels(monkeypatch):
    monkeypatch.setattr(linking, "_WORK", 1e6)
    benches = (bench_of(), SINGLE), (bench_of(), grid_of()), (bench_of(splits=FOLDS * 3), SINGLE)
    few, levels, rows = (most_subsets(one.evaluator(3, grid)) for one, grid in benches)
    assert 64 <= min(levels, rows) < max(levels, rows) < few


@pytest.mark.parametrize("wants_chains", [False, True])
def test_a_search_gets_the_chains_that_it_wants_with_their_scores(wants_chains):
    evaluator, taken = bench_of().evaluator(3, grid_of()), []
    known = random_designs(evaluator.grid)
    scores = evaluator.score(known)
    front = known[front_mask(scores)], scores[front_mask(scores)]
    subsets = evaluator.subsets

    class Asked:
        generation, space = 3, DesignSpace(5, 3, allow_exclusion=True)

        def promising(self, most_subsets):
            return subsets[:most_subsets]

        def take_chains(self, designs, scores):
            taken.append((designs, scores))

    search = Asked()
    search.wants_chains, search.front = wants_chains, front
    give_chains(search, evaluator)
    assert len(taken) == wants_chains
    for designs, scores in taken:
        assert scores.exits.tolist() == evaluator.score(designs).exits.tolist()
        both = Counts.concatenate([front[1], scores])
        assert front_mask(both)[len(front[1]) :].all()  # the front beats none of them
