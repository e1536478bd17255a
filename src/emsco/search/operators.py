"""The paper's variation operators, each for a whole population at once.

A population is an array of shape (n_designs, n_features): the stage of each feature, from 0. If
the space allows exclusion, -1 means that a feature is never bought. If it does not, the operators
draw exactly the random numbers of the paper.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.random import Generator

from emsco._base.checks import check_number, check_whole
from emsco._base.typing import FloatArray, IntArray, StageArray
from emsco._kernels.variation import cross_rows, mutate_rows, take_steps
from emsco.designs.chromosomes import (
    NEVER,
    compress,
    levels_of,
    stage_counts,
    stages_of,
    with_levels,
)
from emsco.designs.space import DesignSpace
from emsco.designs.thresholds import ThresholdGrid

_INITIAL_RATE = 0.5


def round_half_up(x: FloatArray | float) -> IntArray:
    """Round to the nearest whole number, halves up; NumPy rounds halves to even.

    Examples
    --------
    >>> round_half_up(np.array([0.5, 1.5, 2.5])).tolist()
    [1, 2, 3]
    """
    return np.floor(np.asarray(x) + 0.5).astype(np.int64)


def initial_population(
    n_designs: int, space: DesignSpace, stage_bias: float, rng: Generator
) -> StageArray:
    """Random two-stage designs: mutants of the one-stage design, redrawn until they have two.

    If the space allows only one stage, the mutants have one.
    """
    space = replace(space, max_stages=min(space.max_stages, 2))
    designs = np.zeros((n_designs, space.n_features), dtype=np.int16)
    # Rejection sampling: a mutant may come out with a single stage, and then it is drawn again.
    poor = np.arange(n_designs)
    while poor.size:
        designs[poor] = mutate(designs[poor], _INITIAL_RATE, stage_bias, space, rng)
        poor = poor[stage_counts(designs[poor]) < space.deepest]
    return designs


def random_designs(n_designs: int, space: DesignSpace, rng: Generator) -> StageArray:
    """Random designs: a uniform number of stages, then uniform genes over them.

    With exclusion, "never" is one more value of a gene. Designs that buy nothing are redrawn.
    """
    n_stages = rng.integers(1, space.max_stages + 1, size=(n_designs, 1))
    lowest = NEVER if space.allow_exclusion else 0
    genes = rng.integers(lowest, n_stages, size=(n_designs, space.n_features))
    if space.first is not None:
        genes[:, space.first] = 0
    while (poor := np.flatnonzero(genes.max(axis=1, initial=NEVER) == NEVER)).size:
        genes[poor] = rng.integers(lowest, n_stages[poor], size=(len(poor), space.n_features))
    # Some stages may have drawn no feature; they are closed up.
    return compress(genes)


def select(shares: FloatArray, n_parents: int, rng: Generator) -> IntArray:
    """Spin the roulette wheel: draw positions of parents by their shares, with replacement."""
    edges = np.cumsum(shares)
    # On the right of equal edges, so that nobody with a share of 0 is drawn.
    landed = np.searchsorted(edges, rng.random(n_parents) * edges[-1], side="right")
    # The product may round up to the last edge itself.
    chosen: IntArray = np.minimum(landed, len(shares) - 1)
    return chosen


def recombine(
    first: StageArray, second: StageArray, crossover_rate: float, rng: Generator
) -> StageArray:
    """Make one child per pair of parents, not yet compressed.

    A crossed child has the stage count of one parent or their mean. Each of its genes keeps the
    relative position it had in the parent it comes from. Other children are copies. A feature
    that a parent never buys is passed on as such. A child that would buy nothing is a copy of the
    first parent.
    """
    first, second = np.ascontiguousarray(first), np.ascontiguousarray(second)
    n_pairs, n_features = first.shape
    children = np.empty_like(first)
    draws = rng.random((n_pairs, 3 + n_features))
    cross_rows(first, second, draws, crossover_rate, children)
    return children


def mutate(
    designs: StageArray, rate: float, stage_bias: float, space: DesignSpace, rng: Generator
) -> StageArray:
    """Redraw each gene with probability `rate`, towards early stages, then compress.

    A redrawn gene is beta-binomial with α = 1, β = `stage_bias` over 0..h, h = min(|Q|, k - 1),
    so a design may grow by a stage. With exclusion, a gene is -1 with probability 1 / (h + 2) and
    beta-binomial otherwise. A mutant that would buy nothing is a copy of its parent. The feature
    that every design of the space buys first is put back to the first stage.
    """
    designs = np.ascontiguousarray(designs)
    mutants = np.empty_like(designs)
    draws = rng.random(designs.shape)
    mutate_rows(
        designs,
        draws,
        rate,
        _cumulative_stages(stage_bias, space.max_stages),
        space.allow_exclusion,
        -1 if space.first is None else space.first,
        mutants,
        # Room to count the features of each stage, before stages without any are closed up.
        np.empty(int(designs.max(initial=0)) + space.max_stages + 1, dtype=np.int64),
    )
    return mutants


@lru_cache(maxsize=64)
def _cumulative_stages(stage_bias: float, max_stages: int) -> FloatArray:
    """Distribution functions of the beta-binomials over 0..h, one row for each h below k."""
    from scipy.special import betaln, gammaln

    # In logarithms, as factorials of many stages overflow. Row h is the beta-binomial over 0..h,
    # and columns beyond h have no mass.
    h, j = np.arange(max_stages)[:, None], np.arange(max_stages)[None, :]
    left = np.maximum(h - j, 0)
    ways = gammaln(h + 1) - gammaln(j + 1) - gammaln(left + 1)
    log_mass = ways + betaln(j + 1, left + stage_bias) - betaln(1, stage_bias)
    cumulative: FloatArray = np.cumsum(np.where(j <= h, np.exp(log_mass), 0.0), axis=1)
    cumulative.setflags(write=False)
    return cumulative


def growth_probability(
    n_features: int, rate: float, n_stages: int, stage_bias: FloatArray
) -> FloatArray:
    """Probability that a mutation adds a stage, if `max_stages` allows one."""
    from scipy.special import gammaln

    check_whole("n_features", n_features, 1)
    check_number("rate", rate, 0, 1)
    check_whole("n_stages", n_stages, 1)
    for bias in np.ravel(stage_bias).tolist():
        check_number("stage_bias", bias, 0, np.inf, "()")
    # Mass of the one new stage, j = h, of the beta-binomial; any of the features may draw it.
    log_new = (
        np.log(stage_bias)
        + gammaln(n_stages + 1)
        + gammaln(stage_bias)
        - gammaln(n_stages + stage_bias + 1)
    )
    grown: FloatArray = 1 - (1 - rate * np.exp(log_new)) ** n_features
    return grown


def n_steps(designs: StageArray, allow_exclusion: bool = False) -> IntArray:
    """Number of steps that `neighbours` draws from, for each design."""
    n_stages = stage_counts(designs)
    n_places = 2 * n_stages + 1 + allow_exclusion
    # A feature may go to a stage, into a gap before, between or after them, or be dropped; a pair
    # of adjacent stages may be merged or swapped.
    steps: IntArray = designs.shape[1] * n_places + 2 * (n_stages - 1)
    return steps


def neighbours(
    designs: StageArray, space: DesignSpace, max_steps: int, rng: Generator
) -> tuple[StageArray, IntArray]:
    """Designs one step away from each of `designs`, and the position of their parent.

    A step moves a feature to another stage, or to a new stage between two others. Or it merges
    two adjacent stages, or swaps them. With exclusion, a step may also drop a feature, or bring a
    dropped one back. At most `max_steps` steps of each design are drawn, in random order. Steps
    that leave the space are skipped, and a few may repeat.
    """
    n_features = designs.shape[1]
    n_places = 2 * stage_counts(designs) + 1 + space.allow_exclusion
    steps = n_steps(designs, space.allow_exclusion)
    draws = rng.random((len(designs), int(steps.max())))
    # Steps that a design does not have are sorted behind all others.
    draws[np.arange(draws.shape[1]) >= steps[:, None]] = np.inf
    step = np.argsort(draws, axis=1)[:, :max_steps]
    # What is left after a design's own steps is cut off here, as designs differ in their number.
    parent, column = map(np.ascontiguousarray, np.nonzero(step < steps[:, None]))
    children = np.empty((len(parent), n_features), dtype=np.int16)
    allowed = np.empty(len(parent), dtype=np.bool_)
    take_steps(
        np.ascontiguousarray(designs),
        parent,
        step[parent, column],
        n_places,
        space.max_stages,
        space.allow_exclusion,
        -1 if space.first is None else space.first,
        children,
        allowed,
        np.empty(int(n_places.max()) + 2, dtype=np.int64),
    )
    return children[allowed], parent[allowed]


def vary_levels(
    designs: StageArray, rate: float, grid: ThresholdGrid, rng: Generator
) -> StageArray:
    """Give one random stage of some designs a random threshold of those that it may have."""
    if grid.is_single or not len(designs):
        return designs
    n_stages = stage_counts(designs)
    levels = levels_of(designs, int(n_stages.max()))
    # Whether a design varies, which of its stages, and to which threshold.
    draws = rng.random((3, len(designs)))
    stage = (draws[1] * n_stages).astype(np.int64)
    early = np.array(grid.early)[(draws[2] * len(grid.early)).astype(np.int64)]
    last = np.array(grid.last)[(draws[2] * len(grid.last)).astype(np.int64)]
    varied = np.flatnonzero(draws[0] < rate)
    levels[varied, stage[varied]] = np.where(stage == n_stages - 1, last, early)[varied]
    return with_levels(stages_of(designs), levels)


def random_levels(stages: StageArray, grid: ThresholdGrid, rng: Generator) -> StageArray:
    """Give each stage of each design a random threshold of those that it may have."""
    if grid.is_single:
        return stages
    n_stages = stage_counts(stages)
    size = (len(stages), int(n_stages.max()))
    early = rng.choice(np.array(grid.early), size=size)
    last = rng.choice(np.array(grid.last), size=size)
    is_last = np.arange(size[1]) == n_stages[:, None] - 1
    return with_levels(stages, np.where(is_last, last, early))
