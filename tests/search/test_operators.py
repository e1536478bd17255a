"""The paper's variation operators, each compared with its distribution."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import betabinom, binom, binomtest, chisquare
from support.brute import every_design
from support.leveled import grid_of, random_genes

from emsco.designs.chromosomes import compress, levels_of, stage_counts, stages_of
from emsco.designs.space import DesignSpace
from emsco.designs.thresholds import ThresholdGrid
from emsco.search.operators import (
    growth_probability,
    initial_population,
    mutate,
    neighbours,
    random_designs,
    random_levels,
    recombine,
    round_half_up,
    select,
    vary_levels,
)

UNLIKELY = 1e-3  # seeds are fixed: a correct distribution always passes, a wrong one has p near 0


def frozen(designs) -> np.ndarray:
    designs = np.array(designs, dtype=np.int16)
    designs.setflags(write=False)
    return designs


def space_of(designs, max_stages, **options) -> DesignSpace:
    return DesignSpace(designs.shape[1], max_stages, **options)


def drawn_genes(design, stage_bias, max_stages, n_copies=10, seed=0) -> np.ndarray:
    """Redraw all genes; among thousands every stage occurs, so compress changes none."""
    designs = frozen([design] * n_copies)
    mutants = mutate(
        designs, 1.0, stage_bias, space_of(designs, max_stages), np.random.default_rng(seed)
    )
    return mutants.ravel()


def fits_beta_binomial(genes, highest, stage_bias) -> bool:
    expected = betabinom(highest, 1, stage_bias).pmf(np.arange(highest + 1)) * len(genes)
    observed = np.bincount(genes, minlength=highest + 1)
    return len(observed) == highest + 1 and chisquare(observed, expected).pvalue > UNLIKELY


class Needle:
    """A generator whose uniform draws are given."""

    def __init__(self, *draws: float) -> None:
        self._draws = np.array(draws)

    def random(self, size):
        assert size == len(self._draws)
        return self._draws


# Rounding


def test_halves_round_up():
    halves = np.array([0.0, 0.49, 0.5, 1.5, 2.5, 3.4, 3.6, 149.5])
    assert round_half_up(halves).tolist() == [0, 0, 1, 2, 3, 3, 4, 150]


# Mutation


def test_growth_probability_agrees_with_every_point_of_the_papers_figure(mutation_figure):
    stage_bias, curves = mutation_figure[:, 0], mutation_figure[:, 1:]
    assert curves.size == 900
    probabilities = [growth_probability(15, 0.1, n_stages, stage_bias) for n_stages in (2, 3, 4)]
    assert np.abs(np.column_stack(probabilities) - curves).max() < 1e-14


def test_growth_probability_is_that_of_the_draws():
    designs = frozen([[0] * 30 + [1] * 30] * 20_000)
    mutants = mutate(designs, 0.02, 2.5, space_of(designs, 9), np.random.default_rng(1))
    n_grown = int((mutants.max(axis=1) == 2).sum())
    expected = float(growth_probability(60, 0.02, 2, np.array(2.5)))
    assert binomtest(n_grown, len(designs), expected).pvalue > UNLIKELY


@pytest.mark.parametrize("stage_bias", [1.0, 2.0, 2.5])
@pytest.mark.parametrize("n_stages", [1, 2, 3, 5])
def test_redrawn_genes_are_beta_binomial_up_to_one_new_stage(n_stages, stage_bias):
    genes = drawn_genes(np.arange(4000) % n_stages, stage_bias, max_stages=10)
    assert fits_beta_binomial(genes, n_stages, stage_bias)


@pytest.mark.parametrize("position", [0, 2000, 3999], ids=["first", "middle", "last"])
def test_the_stage_count_is_taken_before_the_mutation_began(position):
    design = np.zeros(4000, dtype=np.int16)
    design[position] = 1  # the only gene that makes it a design of two stages
    assert fits_beta_binomial(drawn_genes(design, 2.0, max_stages=10), 2, 2.0)


def test_designs_of_different_stage_counts_are_mutated_each_by_its_own():
    designs = frozen([[0] * 4000, np.arange(4000) % 3])
    flat, deep = mutate(designs, 1.0, 2.0, space_of(designs, 10), np.random.default_rng(2))
    assert fits_beta_binomial(flat, 1, 2.0)
    assert fits_beta_binomial(deep, 3, 2.0)


def test_each_gene_is_redrawn_independently_at_the_mutation_rate():
    n_features, rate, stage_bias = 12, 0.3, 2.0
    designs = frozen(np.zeros((20_000, n_features)))
    moved = mutate(designs, rate, stage_bias, space_of(designs, 2), np.random.default_rng(3)).sum(
        axis=1
    )
    expected = binom(n_features, rate / (1 + stage_bias)).pmf(np.arange(n_features + 1))
    observed = np.bincount(moved, minlength=n_features + 1)
    pooled = [np.append(part[:5], part[5:].sum()) for part in (observed, expected * len(designs))]
    assert chisquare(*pooled).pvalue > UNLIKELY


def test_no_gene_is_redrawn_at_rate_0():
    designs = frozen([[0, 1, 2, 0], [0, 0, 0, 0], [1, 0, 1, 0]])
    assert np.array_equal(
        mutate(designs, 0.0, 2.0, space_of(designs, 4), np.random.default_rng(0)), designs
    )


def test_mutants_are_compressed_even_where_no_gene_was_redrawn():
    mutants = mutate(
        frozen([[0, 0, 2, 3]]),
        0.0,
        2.0,
        space_of(frozen([[0, 0, 2, 3]]), 4),
        np.random.default_rng(0),
    )
    assert mutants.tolist() == [[0, 0, 1, 2]]


# Selection


@pytest.mark.parametrize(
    "shares",
    [[0.5, 0.3, 0.2], [0.1, 0.2, 0.3, 0.4], np.arange(1, 41) / 820, [5.0, 3.0, 2.0]],
    ids=["three", "rising", "forty", "no-sum-of-1"],
)
def test_designs_are_selected_by_their_own_share(shares):
    shares = np.array(shares)
    observed = np.bincount(select(shares, 50_000, np.random.default_rng(6)), minlength=len(shares))
    expected = shares / shares.sum() * 50_000
    assert chisquare(observed, expected).pvalue > UNLIKELY
    assert chisquare(observed, np.roll(expected, 1)).pvalue < UNLIKELY  # the script's mistake


def test_each_part_of_the_wheel_belongs_to_the_design_whose_share_it_is():
    draws = Needle(0.0, 0.49, 0.5, 0.74, 0.75, 0.999)
    assert select(np.array([0.5, 0.25, 0.25]), 6, draws).tolist() == [0, 0, 1, 1, 2, 2]


@pytest.mark.parametrize("position", [0, 1, 2])
def test_a_design_without_a_share_is_never_selected(position):
    shares = np.insert([0.5, 0.5], position, 0.0)
    edges = Needle(0.0, 0.25, 0.5, 0.75, 1 - 2**-53)
    assert position not in select(shares, 5, edges)


def test_a_share_too_small_to_see_does_not_disturb_the_others():
    shares = np.array([1e-300, 0.25, 1e-18, 0.75, 5e-324])
    observed = np.bincount(select(shares, 20_000, np.random.default_rng(7)), minlength=5)
    assert observed[[0, 2, 4]].tolist() == [0, 0, 0]
    assert chisquare(observed[[1, 3]], [5000, 15_000]).pvalue > UNLIKELY


def test_selection_draws_with_replacement_and_leaves_its_input_alone():
    shares = np.array([1.0, 0.0])
    shares.setflags(write=False)
    assert select(shares, 5, np.random.default_rng(8)).tolist() == [0] * 5


# Recombination


def plain_gene(gene: int, n_parent: int, n_child: int) -> int:
    """SPEC 6, word for word, in fractions."""
    ratio = Fraction(gene + 1, n_parent)
    return max(0, math.floor(ratio * n_child + Fraction(1, 2)) - 1)


@pytest.mark.parametrize("n_first", range(1, 11))
def test_every_gene_keeps_its_relative_position_halves_up(n_first):
    """All genes of all parents of up to 10 stages, in children of all their stage counts."""
    for n_second in range(1, 11):
        pairs = [(n_first - 1, n_second - 1), *product(range(n_first), range(n_second))]
        first, second = frozen(pairs).T
        rng = np.random.default_rng([n_first, n_second])
        children = recombine(np.tile(first, (250, 1)), np.tile(second, (250, 1)), 1.0, rng)
        mean = math.floor(Fraction(n_first + n_second, 2) + Fraction(1, 2))
        assert set(children[:, 0] + 1) == {n_first, n_second, mean}  # last stages become last
        for n_child in {n_first, n_second, mean}:
            for column, (one, other) in enumerate(pairs):
                genes = children[children[:, 0] + 1 == n_child, column]
                either = plain_gene(one, n_first, n_child), plain_gene(other, n_second, n_child)
                assert set(genes.tolist()) == set(either)


def test_a_child_has_either_parents_stage_count_or_their_mean_a_third_each():
    first, second = frozen([[0, 1]] * 9000), frozen([[0, 5]] * 9000)
    children = recombine(first, second, 1.0, np.random.default_rng(9))
    observed = np.bincount(children[:, 1] + 1, minlength=7)
    assert observed.sum() == observed[[2, 4, 6]].sum()
    assert chisquare(observed[[2, 4, 6]]).pvalue > UNLIKELY


def test_the_mean_stage_count_rounds_up():
    first, second = frozen([[0, 1]] * 9000), frozen([[0, 2]] * 9000)
    children = recombine(first, second, 1.0, np.random.default_rng(10))
    observed = np.bincount(children[:, 1] + 1, minlength=4)
    assert chisquare(observed[2:], [3000, 6000]).pvalue > UNLIKELY


def test_each_gene_comes_from_either_parent_by_its_own_fair_coin():
    first, second = frozen([[0, 0, 1, 1]] * 16_000), frozen([[1, 1, 0, 0]] * 16_000)
    children = recombine(first, second, 1.0, np.random.default_rng(11))
    observed = np.bincount(children @ [1, 2, 4, 8], minlength=16)
    assert chisquare(observed).pvalue > UNLIKELY


@pytest.mark.parametrize("crossover_rate", [0.2, 0.8])
def test_children_are_copies_of_a_parent_at_the_rate_left_by_crossover(crossover_rate):
    n_pairs, n_features = 10_000, 40  # so many that no crossed child equals a parent by chance
    first = frozen([np.arange(n_features) % 2] * n_pairs)
    second = frozen(1 - first)
    children = recombine(first, second, crossover_rate, np.random.default_rng(12))
    of_first = int((children == first).all(axis=1).sum())
    of_second = int((children == second).all(axis=1).sum())
    observed = np.array([of_first, of_second, n_pairs - of_first - of_second])
    shares = np.array([(1 - crossover_rate) / 2, (1 - crossover_rate) / 2, crossover_rate])
    assert chisquare(observed, shares * n_pairs).pvalue > UNLIKELY


# The first population


@pytest.mark.parametrize("n_features", [2, 3, 7, 40])
def test_the_first_designs_have_exactly_two_stages(n_features):
    designs = initial_population(300, DesignSpace(n_features, 2), 2.0, np.random.default_rng(16))
    assert designs.shape == (300, n_features)
    assert (designs.min(axis=1) == 0).all()
    assert (designs.max(axis=1) == 1).all()


@pytest.mark.parametrize("stage_bias", [1.0, 2.5])
def test_the_first_designs_are_mutants_at_rate_one_half_given_that_both_stages_are_used(stage_bias):
    designs = initial_population(20_000, DesignSpace(4, 2), stage_bias, np.random.default_rng(17))
    late = 0.5 / (1 + stage_bias)  # redrawn, and then to the second of two stages
    in_second = [bin(number).count("1") for number in range(1, 15)]
    chances = np.array([late**n * (1 - late) ** (4 - n) for n in in_second])
    observed = np.bincount(designs @ [1, 2, 4, 8], minlength=16)[1:15]
    assert chisquare(observed, chances / chances.sum() * 20_000).pvalue > UNLIKELY


# Neighbours


def one_step_away(design, max_stages) -> set[tuple[int, ...]]:
    """Every design one move, merge or swap away, by lists of stages."""
    stages = [set(np.flatnonzero(np.equal(design, j)).tolist()) for j in range(max(design) + 1)]
    designs = []
    for feature in range(len(design)):
        rest = [stage - {feature} for stage in stages]
        designs += [[*rest[:j], rest[j] | {feature}, *rest[j + 1 :]] for j in range(len(stages))]
        designs += [[*rest[:place], {feature}, *rest[place:]] for place in range(len(rest) + 1)]
    for j in range(len(stages) - 1):
        before, (one, other), after = stages[:j], stages[j : j + 2], stages[j + 2 :]
        designs += [[*before, one | other, *after], [*before, other, one, *after]]
    kept = [[stage for stage in chain if stage] for chain in designs]
    genes = (
        tuple(next(j for j, stage in enumerate(chain) if i in stage) for i in range(len(design)))
        for chain in kept
        if len(chain) <= max_stages
    )
    return set(genes) - {tuple(design)}


@pytest.mark.parametrize("max_stages", [1, 2, 3, 5])
def test_many_draws_reach_every_design_one_step_away_and_no_other(max_stages):
    vectors = np.array(list(product(range(max_stages), repeat=5)))
    designs = frozen(np.unique(compress(vectors), axis=0))
    nearby, parent = neighbours(
        designs, space_of(designs, max_stages), 1000, np.random.default_rng(18)
    )
    for i, design in enumerate(designs.tolist()):
        reached = {tuple(child) for child in nearby[parent == i].tolist()}
        assert reached == one_step_away(design, max_stages)


@pytest.mark.parametrize("most", [1, 7])
def test_few_draws_take_some_of_the_steps_of_each_design_by_lot(most):
    designs = frozen([[0, 1, 2, 0, 1, 2], [0, 0, 0, 0, 0, 1], [5, 4, 3, 2, 1, 0]])
    reached = [set(), set(), set()]
    for seed in range(400):
        nearby, parent = neighbours(
            designs, space_of(designs, 6), most, np.random.default_rng(seed)
        )
        assert np.bincount(parent, minlength=3).max() <= most
        for child, i in zip(nearby.tolist(), parent, strict=True):
            reached[i].add(tuple(child))
    assert reached == [one_step_away(design, 6) for design in designs.tolist()]


def test_neighbours_come_in_the_order_of_their_parents_and_are_compressed():
    designs = frozen([np.arange(12) % 5, np.arange(12) % 2, np.zeros(12)])
    nearby, parent = neighbours(designs, space_of(designs, 5), 30, np.random.default_rng(19))
    assert nearby.dtype == np.int16
    assert (np.diff(parent) >= 0).all()
    assert set(parent.tolist()) == {0, 1, 2}
    assert np.array_equal(compress(nearby), nearby)
    assert nearby.max() == 4


# Exclusion, and a fixed first feature


@pytest.mark.parametrize("max_stages", [1, 2, 3, 9])
def test_a_redrawn_gene_is_never_bought_as_if_that_were_one_more_place(max_stages):
    design = [0, 1, 2, 0, 1, 2] if max_stages > 2 else [0] * 6
    designs = frozen([design] * 4000)
    space = space_of(designs, max_stages, allow_exclusion=True)
    mutants = mutate(designs, 1.0, 2.0, space, np.random.default_rng(21))
    highest = min(max(design) + 1, max_stages - 1)
    expected = 1 / (highest + 2)
    # Mutants that would buy nothing are copies: that many fewer.
    expected -= expected**6
    n_never = int((mutants == -1).sum())
    assert binomtest(n_never, mutants.size, expected).pvalue > UNLIKELY
    assert space.holds(mutants).all()


def test_stages_of_redrawn_genes_that_are_bought_are_beta_binomial():
    designs = frozen([[0, 1, 2] * 20] * 200)
    space = space_of(designs, 9, allow_exclusion=True)
    genes = mutate(designs, 1.0, 2.5, space, np.random.default_rng(22)).ravel()
    assert fits_beta_binomial(genes[genes >= 0], 3, 2.5)


def test_a_mutant_that_would_buy_nothing_is_its_parent():
    designs = frozen([[0, -1]] * 500)
    space = space_of(designs, 1, allow_exclusion=True)
    mutants = mutate(designs, 1.0, 2.0, space, np.random.default_rng(23))
    counts = [int((mutants == pair).all(axis=1).sum()) for pair in ([0, 0], [0, -1], [-1, 0])]
    assert sum(counts) == 500  # a quarter each, and the quarter that buys nothing is [0, -1]
    assert chisquare(counts, [125, 250, 125]).pvalue > UNLIKELY


def test_children_leave_out_what_the_parent_of_the_gene_leaves_out():
    first, second = frozen([[0, -1, 1, -1]] * 300), frozen([[1, 0, -1, -1]] * 300)
    children = recombine(first, second, 1.0, np.random.default_rng(24))
    assert (children[:, 3] == -1).all()
    assert set(children[:, 1].tolist()) == {-1, 0}
    assert set(children[:, 2].tolist()) == {-1, 1}
    assert (children[:, 0] >= 0).all()


def test_a_child_that_would_buy_nothing_is_its_first_parent():
    first, second = frozen([[0, -1]] * 400), frozen([[-1, 0]] * 400)
    children = recombine(first, second, 1.0, np.random.default_rng(25))
    counts = [int((children == pair).all(axis=1).sum()) for pair in ([0, 0], [0, -1], [-1, 0])]
    assert sum(counts) == 400
    assert chisquare(counts, [100, 200, 100]).pvalue > UNLIKELY


spaces = st.builds(
    DesignSpace,
    n_features=st.integers(3, 6),
    max_stages=st.integers(1, 5),
    allow_exclusion=st.booleans(),
    first=st.sampled_from([None, 0, 2]),
)


@settings(deadline=None, derandomize=True, max_examples=60)
@given(spaces, st.integers(0, 1000))
def test_no_operator_leaves_its_space(space, seed):
    rng = np.random.default_rng(seed)
    if space.size > 1:
        designs = initial_population(30, space, 2.0, rng)
        assert space.holds(designs).all()
        assert (designs.max(axis=1) == space.deepest - 1).all() or space.deepest > 2
    designs = random_designs(40, space, rng)
    assert space.holds(designs).all()
    crossed = recombine(designs[:20], designs[20:], 0.8, rng)
    mutants = mutate(crossed, 0.3, 2.0, space, rng)
    assert space.holds(mutants).all()
    assert np.array_equal(compress(mutants), mutants)
    nearby, _ = neighbours(mutants, space, 50, rng)
    assert space.holds(nearby).all()


@pytest.mark.parametrize(("max_stages", "first"), [(2, None), (3, 1)])
def test_random_designs_are_everywhere_in_their_space(max_stages, first):
    space = DesignSpace(3, max_stages, allow_exclusion=True, first=first)
    designs = random_designs(20_000, space, np.random.default_rng(26))
    assert len(np.unique(designs, axis=0)) == space.size


@pytest.mark.parametrize("first", [None, 1])
@pytest.mark.parametrize("max_stages", [1, 2, 3])
def test_steps_reach_the_whole_space_and_drop_and_bring_back_features(max_stages, first):
    space = DesignSpace(3, max_stages, allow_exclusion=True, first=first)
    every = frozen(every_design(3, max_stages, allow_exclusion=True, first=first))
    nearby, parent = neighbours(every, space, 1000, np.random.default_rng(27))
    for i, design in enumerate(every.tolist()):
        reached = {tuple(child) for child in nearby[parent == i].tolist()}
        for other in map(tuple, every.tolist()):
            changed = [pair for pair in zip(design, other, strict=True) if pair[0] != pair[1]]
            if len(changed) == 1 and -1 in changed[0]:  # dropped, or brought back
                assert other in reached
    seen, new = set(), {tuple(every[0].tolist())}
    while new:
        seen |= new
        children, _ = neighbours(frozen(sorted(new)), space, 1000, np.random.default_rng(28))
        new = set(map(tuple, children.tolist())) - seen
    assert len(seen) == space.size


# Drawn before designs could leave features out.
GOLDEN = [
    [[2, 0, 2, 2, 1, 2], [0, 0, 0, 0, 0, 0], [0, 2, 0, 1, 1, 0]],
    [[0, 1, 2, 2, 1, 2], [0, 0, 0, 1, 0, 0], [0, 1, 2, 1, 1, 0]],
    [[2, 0, 2, 2, 1, 2], [0, 0, 0, 0, 0, 0], [0, 1, 2, 1, 1, 0]],
]


def test_draws_without_exclusion_are_what_they_were():
    rng = np.random.default_rng(29)
    space = DesignSpace(6, 4)
    designs = random_designs(3, space, rng)
    mutants = mutate(designs, 0.5, 2.0, space, rng)
    children = recombine(designs, mutants, 0.8, rng)
    assert designs.tolist() == GOLDEN[0]
    assert mutants.tolist() == GOLDEN[1]
    assert children.tolist() == GOLDEN[2]


GRID = grid_of()  # early stages have 0, 1 or 2, the last one 1 or 3
SINGLE = ThresholdGrid.single(np.full(2, 0.7))


def rng_of(seed=0):
    return np.random.default_rng(seed)


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_one_stage_of_about_as_many_designs_as_the_rate_says_changes(rate):
    given = random_genes(GRID, n_designs=3000)
    varied = vary_levels(given, rate, GRID, rng_of())
    assert np.array_equal(stages_of(varied), stages_of(given))
    assert GRID.holds(varied)
    changes = (levels_of(varied, 3) != levels_of(given, 3)).sum(axis=1)
    assert changes.max() == (rate > 0)
    # The level drawn may be the one that there was: one of three, or one of two at the end.
    is_last = 1 / stage_counts(given)
    wanted = rate * (is_last / 2 + (1 - is_last) * 2 / 3).mean()
    assert changes.mean() == pytest.approx(wanted, abs=0.03)


def test_every_level_that_a_stage_may_have_is_drawn():
    stages = np.tile(np.array([[0, 1, 2, -1, 0]], dtype=np.int16), (500, 1))
    for genes in (
        random_levels(stages, GRID, rng_of()),
        vary_levels(GRID.complete(stages), 1.0, GRID, rng_of()),
    ):
        levels = levels_of(genes, 3)
        assert [set(levels[:, i].tolist()) for i in range(3)] == [{0, 1, 2}, {0, 1, 2}, {1, 3}]


def test_random_levels_are_uniform_and_keep_the_stages():
    stages = stages_of(random_genes(GRID, n_designs=3000, seed=1))
    genes = random_levels(stages, GRID, rng_of())
    assert np.array_equal(stages_of(genes), stages)
    assert GRID.holds(genes)
    last = levels_of(genes, 3)[np.arange(3000), stage_counts(stages) - 1]
    assert (last == 3).mean() == pytest.approx(0.5, abs=0.04)


def test_with_one_threshold_there_is_nothing_to_draw():
    stages, rng = stages_of(random_genes(GRID)), rng_of()
    state = rng.bit_generator.state
    assert vary_levels(stages, 1.0, SINGLE, rng) is stages
    assert random_levels(stages, SINGLE, rng) is stages
    assert rng.bit_generator.state == state
