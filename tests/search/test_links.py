"""Chains of fitted subsets, compared with every chain and every threshold of these subsets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.brute import every_design
from support.leveled import FOLDS, ROWS, bench_of, every_leveled, grid_of, random_genes

from emsco.costs import FeatureCosts
from emsco.designs.chromosomes import stage_counts
from emsco.designs.space import DesignSpace
from emsco.designs.thresholds import ThresholdGrid
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import front_mask
from emsco.scoring.scores import CostLimits, Scores
from emsco.search import links
from emsco.search.exact.chains import find_front
from emsco.search.exact.spaces import SingleThresholdSpace
from emsco.search.links import Linker, chains_between, linked_front

EVERY = 31  # the number of the subset of all five features
WIDE = 500  # chains of a subset: none is given up for lack of room


def vectors(scores):
    """Accepted, correct and spent of each design; fractions are rounded."""
    spent = np.round(scores.spent / scores.per_one, 6).tolist()
    return list(zip(scores.accepted.tolist(), scores.correct.tolist(), spent, strict=True))


def some_words(seed, first=None, n_words=8):
    words = np.random.default_rng(seed).integers(1, EVERY, size=n_words)
    words = np.unique(words if first is None else words | 1 << first)
    return words.astype(np.uint64)[:, None]


def numbers_of(design):
    """Numbers of the subsets of a design, stage by stage."""
    return [
        sum(1 << i for i, at in enumerate(design) if 0 <= at <= stage)
        for stage in range(max(design) + 1)
    ]


def every_chain(evaluator, space, words):
    """All designs of these subsets, with all their thresholds."""
    usable = {EVERY, *words[:, 0].tolist()}
    plain = every_design(5, space.max_stages, space.allow_exclusion, space.first)
    return every_leveled([d for d in plain if usable.issuperset(numbers_of(d))], evaluator.grid)


def plain_front(evaluator, genes):
    """Vectors that nothing within the limits beats, with the fewest stages of each."""
    scores = evaluator.score(genes)
    within = np.flatnonzero(scores.feasible)
    front = within[front_mask(scores[within])] if len(within) else within
    fewest = {}
    for vector, n in zip(vectors(scores[front]), stage_counts(genes[front]), strict=True):
        fewest[vector] = min(int(n), fewest.get(vector, 99))
    return fewest


def assert_sound(evaluator, space, chains, genes):
    """Designs of the space and the grid, within the limits, none of which beats another."""
    assert {design.tobytes() for design in chains} <= {design.tobytes() for design in genes}
    assert space.holds(chains).all()
    assert evaluator.grid.holds(chains)
    scores = evaluator.score(chains)
    assert front_mask(scores).all()
    assert scores.feasible.all()
    assert len(set(vectors(scores))) == len(chains)


def best_balanced(evaluator, genes):
    scores, total = evaluator.score(genes), evaluator.costs.total
    return max(scores.objectives(i).balanced(total) for i in range(len(scores)))


# All chains of at most two stages


@pytest.mark.parametrize("allow_exclusion", [False, True])
@pytest.mark.parametrize("first", [None, 1])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("weights", [None, ROWS % 3], ids=["", "weights"])
@pytest.mark.parametrize("gaps", ["refuse", "skip"])
def test_chains_of_two_stages_are_those_of_enumeration(
    allow_exclusion, first, n_classes, weights, gaps
):
    evaluator = bench_of(n_classes, weights, gaps).evaluator(2, grid_of(n_classes))
    space, words = DesignSpace(5, 2, allow_exclusion, first), some_words(n_classes, first)
    genes = every_chain(evaluator, space, words)
    chains = linked_front(evaluator, space, words, width=WIDE)
    assert_sound(evaluator, space, chains, genes)
    stages = dict(zip(vectors(evaluator.score(chains)), stage_counts(chains).tolist(), strict=True))
    assert stages == plain_front(evaluator, genes)
    assert len(stages) > 1


@pytest.mark.parametrize("allow_exclusion", [False, True])
def test_a_single_stage_is_all_features_or_the_best_of_the_subsets(allow_exclusion):
    evaluator, words = bench_of().evaluator(1, grid_of()), some_words(0)
    space = DesignSpace(5, 1, allow_exclusion)
    chains = linked_front(evaluator, space, words, width=WIDE)
    genes = every_chain(evaluator, space, words)
    assert set(vectors(evaluator.score(chains))) == plain_front(evaluator, genes).keys()
    assert allow_exclusion or (chains >= 0).all()


@pytest.mark.parametrize(
    "limits",
    [CostLimits(mean=6.0), CostLimits(worst=9.0), CostLimits(mean=5.0, worst=12.0)],
    ids=str,
)
@pytest.mark.parametrize("costs", [(1, 2, 3, 4, 5), (np.pi, 2 / 3, 3, 1 / 7, 5)])
@pytest.mark.parametrize("evaluation", [0.0, 0.5])
def test_chains_stay_within_the_cost_limits(limits, costs, evaluation):
    bench, space, words = bench_of(), DesignSpace(5, 2, allow_exclusion=True), some_words(3)
    prices = replace(FeatureCosts.from_array(costs), evaluation=evaluation)
    evaluator = Evaluator(bench.bank, prices, grid_of(), 2, limits=limits)
    genes = every_chain(evaluator, space, words)
    chains = linked_front(evaluator, space, words, width=WIDE)
    assert_sound(evaluator, space, chains, genes)
    assert set(vectors(evaluator.score(chains))) == plain_front(evaluator, genes).keys()
    assert not evaluator.score(genes).feasible.all()


@pytest.mark.parametrize("seed", range(4))
def test_of_equal_designs_the_one_with_fewest_stages_is_found(seed):
    bench = bench_of(costs=(0, 0, 0, 0, 1))  # free stages make many designs equal
    evaluator, space = bench.evaluator(2, grid_of()), DesignSpace(5, 2, allow_exclusion=True)
    words = some_words(seed)
    chains = linked_front(evaluator, space, words, width=WIDE)
    wanted = plain_front(evaluator, every_chain(evaluator, space, words))
    stages = zip(vectors(evaluator.score(chains)), stage_counts(chains).tolist(), strict=True)
    assert dict(stages) == wanted


@pytest.mark.parametrize("gaps", ["refuse", "skip"])
@pytest.mark.parametrize("weights", [None, ROWS % 4], ids=["", "weights"])
def test_a_sample_of_the_rows_finds_chains_nearly_as_good(monkeypatch, weights, gaps):
    evaluator = bench_of(2, weights, gaps, FOLDS * 4).evaluator(2, grid_of())
    space, words = DesignSpace(5, 2, allow_exclusion=True), some_words(1)
    whole = linked_front(evaluator, space, words, width=WIDE)
    monkeypatch.setattr(links, "_MOST_WORDS", evaluator.bank.n_words // 2)
    known = evaluator.score(whole[:1])
    chains = linked_front(evaluator, space, words, known, width=WIDE)
    genes = every_chain(evaluator, space, words)
    assert {design.tobytes() for design in chains} <= {design.tobytes() for design in genes}
    best, nearly = (best_balanced(evaluator, one) for one in (whole, chains))
    assert 0.98 * best < nearly <= best


def test_rows_of_a_sample_of_bits_are_counted_by_weight():
    bank = bench_of(2, ROWS % 3, splits=FOLDS * 4).bank
    places, n_rows = bank.sampled_words(bank.n_words)
    assert (places.tolist(), n_rows) == (list(range(bank.n_words)), bank.n_rows)
    few, n_few = bank.sampled_words(2)
    assert few.tolist() == [0, bank.n_words // 2]
    assert 0 < n_few < n_rows


def test_nothing_is_found_where_nothing_is_within_the_limits():
    evaluator = Evaluator(
        bench_of().bank,
        FeatureCosts.from_array([1] * 5),
        grid_of(),
        2,
        limits=CostLimits(worst=4.0),
    )
    chains = linked_front(evaluator, DesignSpace(5, 2), some_words(0), width=WIDE)
    assert chains.shape == (0, 5)
    assert chains.dtype == np.int16


def test_what_a_known_design_beats_is_left_out():
    evaluator, space = bench_of().evaluator(2, grid_of()), DesignSpace(5, 2, allow_exclusion=True)
    words = some_words(5)
    genes = every_chain(evaluator, space, words)
    scores = evaluator.score(genes)
    front = scores[front_mask(scores)]
    better = Scores(front.n_rows, front.exits[:3], front.correct_exits[:3], front.spent[:3] - 1)
    chains = linked_front(evaluator, space, words, better, width=WIDE)
    kept = set(vectors(evaluator.score(chains)))
    assert kept <= set(vectors(front))
    assert not kept & set(vectors(front[np.arange(3)]))
    assert kept
    assert len(linked_front(evaluator, space, words, front, width=WIDE)) == len(
        set(vectors(front))
    )  # equals are not better


# Longer chains


@pytest.mark.parametrize("width", [1, 2, 8, WIDE])
@pytest.mark.parametrize("allow_exclusion", [False, True])
@pytest.mark.parametrize("gaps", ["refuse", "skip"])
def test_longer_chains_are_sound_however_few_are_followed(width, allow_exclusion, gaps):
    evaluator = bench_of(gaps=gaps).evaluator(3, grid_of())
    space, words = DesignSpace(5, 3, allow_exclusion), some_words(1)
    genes = every_chain(evaluator, space, words)
    chains = linked_front(evaluator, space, words, width=width)
    assert_sound(evaluator, space, chains, genes)
    best = plain_front(evaluator, genes).keys()
    n_missed = len(best - set(vectors(evaluator.score(chains))))
    assert width < WIDE or n_missed < len(best) / 5


def test_wider_is_no_worse():
    evaluator, space = bench_of(3).evaluator(4, grid_of(3)), DesignSpace(5, 4)
    words = np.arange(1, 32, dtype=np.uint64)[:, None]
    narrow, wide = (linked_front(evaluator, space, words, width=width) for width in (1, 64))
    joined = np.concatenate([wide, narrow])
    better = front_mask(evaluator.score(joined))
    assert better[: len(wide)].mean() >= better[len(wide) :].mean()
    assert stage_counts(wide).max() > 2


def test_all_features_are_among_the_subsets_though_nobody_names_them():
    evaluator, space = bench_of().evaluator(3, grid_of()), DesignSpace(5, 3)
    chains = linked_front(evaluator, space, some_words(0)[:0], width=WIDE)
    assert (chains >= 0).all()
    assert (stage_counts(chains) == 1).all()


# Linkers


def linker_of(evaluator, max_stages, allow_exclusion=False, first=None):
    return Linker(evaluator, DesignSpace(5, max_stages, allow_exclusion, first))


def single(n_classes=2, least=0.75):
    return ThresholdGrid.single(np.full(n_classes, least))


@pytest.mark.parametrize("weights", [None, ROWS % 3], ids=["", "weights"])
@pytest.mark.parametrize("gaps", ["refuse", "skip"])
@pytest.mark.parametrize("first", [None, 2])
def test_with_one_threshold_and_all_subsets_fitted_chains_are_the_exact_front(weights, gaps, first):
    bench = bench_of(2, weights, gaps)
    evaluator = bench.evaluator(3, single())
    evaluator.score(np.array(every_design(5, 3, first=first), dtype=np.int16))
    linker, at_once = linker_of(evaluator, 3, first=first), np.zeros((1, 5), dtype=np.int16)
    chains = linker.link(evaluator.subsets, evaluator.score(at_once))
    exact = find_front(
        SingleThresholdSpace.from_evaluator(bench.evaluator(3, single()), linker.space)
    )
    wanted = set(vectors(evaluator.score(exact.designs)))
    assert set(vectors(evaluator.score(chains))) == wanted
    assert linker.space.holds(chains).all()


def test_chains_are_made_of_fitted_subsets_only():
    evaluator, at_once = bench_of().evaluator(3, single()), np.zeros((1, 5), dtype=np.int16)
    evaluator.score(np.array([[0, 1, 1, 2, 2], [1, 0, 2, 2, 2], [0, 0, 0, 1, 1]], dtype=np.int16))
    scores = evaluator.score(at_once)
    n_fits = evaluator.bank.n_fits
    chains = linker_of(evaluator, 3).link(evaluator.subsets, scores)
    fitted = set(evaluator.subsets[:, 0].tolist())
    assert all(fitted.issuperset(numbers_of(design)) for design in chains.tolist())
    assert evaluator.bank.n_fits == n_fits
    assert len(chains) > 1


def test_fewer_subsets_are_linked_where_there_are_more_rows_or_levels(monkeypatch):
    monkeypatch.setattr(links, "_WORK", 1e6)
    few = linker_of(bench_of().evaluator(3, single()), 3).most_subsets
    levels = linker_of(bench_of().evaluator(3, grid_of()), 3).most_subsets
    rows = linker_of(bench_of(splits=FOLDS * 3).evaluator(3, single()), 3).most_subsets
    assert 64 <= min(levels, rows) < max(levels, rows) < few


# Between generations


class Asked:
    """Stands for a search that wants chains, or does not."""

    generation = 3

    def __init__(self, evaluator, wants_chains=True):
        self.wants_chains, self.taken = wants_chains, []
        genes = random_genes(evaluator.grid)
        scores = evaluator.score(genes)
        self.front = genes[front_mask(scores)], scores[front_mask(scores)]
        self._subsets = evaluator.subsets

    def promising(self, most_subsets):
        return self._subsets[:most_subsets]

    def nearest(self):
        return np.zeros(0, dtype=np.int64)

    def take_chains(self, designs, scores):
        self.taken.append((designs, scores))


def test_a_search_gets_the_chains_that_it_wants_with_their_scores():
    evaluator = bench_of().evaluator(3, grid_of())
    search, linker = Asked(evaluator), linker_of(evaluator, 3, allow_exclusion=True)
    chains_between(search, evaluator, linker)()
    [(designs, scores)] = search.taken
    assert scores.exits.tolist() == evaluator.score(designs).exits.tolist()
    both = Scores.concatenate([search.front[1], scores])
    assert front_mask(both)[len(search.front[1]) :].all()  # the front beats none of them


def test_a_search_that_wants_no_chains_gets_none():
    evaluator = bench_of().evaluator(3, grid_of())
    search = Asked(evaluator, wants_chains=False)
    chains_between(search, evaluator, linker_of(evaluator, 3))()
    assert search.taken == []
