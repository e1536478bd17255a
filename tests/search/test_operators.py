"""The paper's variation operators, compared with plain twins that get the same draws."""

from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import betabinom
from support.brute import every_design
from support.leveled import grid_of, random_designs

from emsco.designs.chromosomes import compress
from emsco.designs.space import DesignSpace
from emsco.search import operators

SPACES = st.builds(
    DesignSpace, st.integers(3, 6), st.integers(1, 5), st.booleans(), st.sampled_from([None, 0, 2])
)


def rng_of(seed=0):
    return np.random.default_rng(seed)


def tuples(stages):
    return list(map(tuple, stages.tolist()))


def plain_mutant(design, draws, rate, bias, space):
    """SPEC 7, gene by gene, with "never" as one more place where the space has it."""
    highest = min(max(design) + 1, space.max_stages - 1)
    never = space.allow_exclusion / (highest + 2)
    mutant = np.array(design)
    for i in np.flatnonzero(draws < rate):
        share = (draws[i] / rate - never) / (1 - never)
        below = betabinom.cdf(range(highest), highest, 1, bias)
        mutant[i] = -1 if share < 0 else (below <= share).sum()
    if space.first is not None:
        mutant[space.first] = 0
    return tuple(compress(mutant if mutant.max() >= 0 else design))


def plain_child(first, second, draws, rate):
    """SPEC 6 in fractions; a child that would buy nothing is its first parent."""
    if draws[0] >= rate:
        return first if draws[2] < 0.5 else second
    a, b = max(first) + 1, max(second) + 1
    n_stages, child = (a, b, (a + b + 1) // 2)[int(3 * draws[1])], []
    for i, draw in enumerate(draws[3:]):
        gene, n = (first[i], a) if draw < 0.5 else (second[i], b)
        place = int(Fraction((gene + 1) * n_stages, n) + Fraction(1, 2)) - 1
        child.append(-1 if gene < 0 else max(0, place))
    return tuple(child) if max(child) >= 0 else first


@settings(deadline=None, derandomize=True, max_examples=60)
@given(SPACES, st.integers(0, 1000), st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from([1.0, 2.5]))
def test_mutants_and_children_are_those_of_plain_twins(space, seed, rate, bias):
    designs = operators.random_designs(20, space, rng_of(seed))
    mutants = operators.mutate(designs, rate, bias, space, rng_of(seed))
    draws = rng_of(seed).random(designs.shape)
    for i, design in enumerate(tuples(designs)):
        assert tuple(mutants[i]) == plain_mutant(design, draws[i], rate, bias, space)
    children = operators.recombine(designs, mutants, rate, rng_of(seed))
    draws = rng_of(seed).random((20, 3 + space.n_features))
    parents = zip(tuples(designs), tuples(mutants), draws, strict=True)
    assert tuples(children) == [plain_child(*one, rate) for one in parents]


def test_each_part_of_the_wheel_belongs_to_the_design_whose_share_it_is():
    draws = SimpleNamespace(random=lambda _: np.array([0.0, 0.49, 0.5, 0.74, 0.75, 1 - 2**-53]))
    shares = np.array([0.0, 1.0, 0.5, 1e-300, 0.5, 0.0])
    assert operators.select(shares, 6, draws).tolist() == [1, 1, 2, 2, 4, 4]


def test_the_first_designs_are_mutants_of_two_stages():
    designs = operators.initial_population(20_000, DesignSpace(2, 5), 2.5, rng_of())
    assert {*tuples(designs)} == {(0, 1), (1, 0)}
    designs = operators.initial_population(20_000, DesignSpace(30, 5), 2.5, rng_of())
    assert designs.mean() == pytest.approx(0.5 / 3.5, abs=0.005)  # half, of which 1 in 3.5 is late


def one_step_away(design, space):
    """Every design one move, merge or swap away."""
    near, places = [], np.where(design < 0, -1, 2 * design + 1)  # new stages lie in between
    for place in range(-1, places.max() + 2):
        near += [*np.where(np.eye(len(design)) == 1, place, places)]
    for here in range(1, places.max(), 2):
        merged = np.where(places == here, here + 2, places)
        near += [merged, np.where(places == here + 2, here, merged)]
    designs = compress(np.array([one for one in near if one.max() >= 0], dtype=int))
    return {*tuples(designs[space.holds(designs)])} - {tuple(design)}


@pytest.mark.parametrize("first", [None, 1])
@pytest.mark.parametrize("allow_exclusion", [False, True])
@pytest.mark.parametrize("max_stages", [1, 2, 4])
def test_neighbours_are_all_designs_one_step_away(max_stages, allow_exclusion, first):
    space = DesignSpace(4, max_stages, allow_exclusion, first)
    every = np.array(every_design(4, max_stages, allow_exclusion, first), dtype=np.int16)
    assert {*tuples(operators.random_designs(40_000, space, rng_of()))} == {*tuples(every)}
    for most in (1000, 9):
        near, parent, gave_all = operators.neighbours(every, space, most, rng_of())
        assert gave_all.tolist() == [most == 1000] * len(every)
        for i, design in enumerate(every):
            steps, reached = one_step_away(design, space), tuples(near[parent == i])
            assert {*reached} == steps if gave_all[i] else {*reached} <= steps
            assert len(reached) <= most


@pytest.mark.parametrize("rate", [0.0, 0.3, 1.0])
def test_one_stage_of_some_designs_gets_any_level_that_it_may_have(rate):
    grid = grid_of()
    for i in range(3):
        given = random_designs(grid)[[i] * 4000]
        varied = operators.vary_levels(given, rate, grid, rng_of())
        before, n_stages = given.levels[0].tolist(), int(given.n_stages[0])
        reached, expected = {tuple(before)}, 0.0
        for stage in range(n_stages):
            allowed = grid.last if stage == n_stages - 1 else grid.early
            expected += rate * (1 - 1 / len(allowed)) / n_stages
            if rate:
                reached |= {(*before[:stage], one, *before[stage + 1 :]) for one in allowed}
        assert {*map(tuple, varied.levels.tolist())} == reached
        assert (varied.levels != before).any(axis=1).mean() == pytest.approx(expected, abs=0.03)
        assert varied.stages is given.stages
