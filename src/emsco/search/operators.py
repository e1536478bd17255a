"""Variation operators, each for a whole population at once: the paper's, and evolution's own.

They work on stages, shape (n_designs, n_features), from 0. If the space allows exclusion, -1 means
that a feature is never bought. If it does not, they draw exactly the random numbers of the paper.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
from numpy.random import Generator

from emsco._base.typing import BoolArray, FloatArray, IntArray, StageArray
from emsco._kernels.variation import cross_rows, mutate_rows, take_steps
from emsco.designs.chromosomes import NEVER, compress, stage_counts
from emsco.designs.grid import ThresholdGrid
from emsco.designs.population import Designs
from emsco.designs.space import DesignSpace

_INITIAL_RATE = 0.5


def initial_population(
    n_designs: int, space: DesignSpace, stage_bias: float, rng: Generator
) -> StageArray:
    """Random two-stage designs: mutants of the one-stage design, redrawn until they have two.

    If the space allows only one stage, the mutants have one.
    """
    space = replace(space, max_stages=min(space.max_stages, 2))
    designs = np.zeros((n_designs, space.n_features), dtype=np.int16)
    poor = np.arange(n_designs)
    while poor.size:
        designs[poor] = mutate(designs[poor], _INITIAL_RATE, stage_bias, space, rng)
        poor = poor[stage_counts(designs[poor]) < space.deepest]
    return designs


def random_designs(n_designs: int, space: DesignSpace, rng: Generator) -> StageArray:
    """Random designs: a uniform number of stages, then uniform stages for the features.

    With exclusion, "never" is one more value. Designs that buy nothing are redrawn.
    """
    n_stages = rng.integers(1, space.max_stages + 1, size=(n_designs, 1))
    lowest = NEVER if space.allow_exclusion else 0
    stages = rng.integers(lowest, n_stages, size=(n_designs, space.n_features))
    if space.first is not None:
        stages[:, space.first] = 0
    while (poor := np.flatnonzero((stages == NEVER).all(axis=1))).size:
        stages[poor] = rng.integers(lowest, n_stages[poor], size=(len(poor), space.n_features))
    return compress(stages)


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
    children = np.empty_like(first)
    draws = rng.random((len(first), 3 + first.shape[1]))
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
    mutants = np.empty_like(designs)
    mutate_rows(
        designs,
        rng.random(designs.shape),
        rate,
        _cumulative_stages(stage_bias, space.max_stages),
        space.allow_exclusion,
        _first_of(space),
        mutants,
        # Room to count the features of each stage, before stages without any are closed up.
        np.empty(int(designs.max(initial=0)) + space.max_stages + 1, dtype=np.int64),
    )
    return mutants


def _first_of(space: DesignSpace) -> int:
    """The feature that every design buys first, for kernels; -1 if there is none."""
    return -1 if space.first is None else space.first


@lru_cache(maxsize=64)
def _cumulative_stages(stage_bias: float, max_stages: int) -> FloatArray:
    """Distribution functions of the beta-binomials over 0..h, one row for each h below k."""
    from scipy.special import betaln

    h, j = np.arange(max_stages)[:, None], np.arange(max_stages)
    left = np.maximum(h - j, 0)
    # In logarithms, as factorials of many stages overflow.
    log_ratio = betaln(j + 1, left + stage_bias) - betaln(j + 1, left + 1)
    mass = np.where(j <= h, np.exp(log_ratio) * stage_bias / (h + 1), 0.0)
    cumulative: FloatArray = np.cumsum(mass, axis=1)
    cumulative.setflags(write=False)
    return cumulative


def neighbours(
    designs: StageArray, space: DesignSpace, max_steps: int, rng: Generator
) -> tuple[StageArray, IntArray, BoolArray]:
    """Designs one step away from each of `designs`, the position of their parent, who gave all.

    A step moves a feature to another stage, or to a new stage between two others. Or it merges
    two adjacent stages, or swaps them. With exclusion, a step may also drop a feature, or bring a
    dropped one back. At most `max_steps` steps of each design are drawn, in random order. Steps
    that leave the space are skipped, and a few may repeat. The last array says which designs have
    no steps beyond those drawn.
    """
    n_features, n_stages = designs.shape[1], stage_counts(designs)
    # A feature may go to a stage, into a gap before, between or after them, or be dropped; a pair
    # of adjacent stages may be merged or swapped.
    n_places = 2 * n_stages + 1 + space.allow_exclusion
    n_steps = n_features * n_places + 2 * (n_stages - 1)
    draws = rng.random((len(designs), int(n_steps.max())))
    # Steps that a design does not have are sorted behind all others.
    draws[np.arange(draws.shape[1]) >= n_steps[:, None]] = np.inf
    step = np.argsort(draws, axis=1)[:, :max_steps]
    parent, column = map(np.ascontiguousarray, np.nonzero(step < n_steps[:, None]))
    children = np.empty((len(parent), n_features), dtype=np.int16)
    allowed = np.empty(len(parent), dtype=np.bool_)
    take_steps(
        designs,
        parent,
        step[parent, column],
        n_places,
        space.max_stages,
        space.allow_exclusion,
        _first_of(space),
        children,
        allowed,
        np.empty(int(n_places.max()) + 2, dtype=np.int64),
    )
    return children[allowed], parent[allowed], n_steps <= max_steps


def vary_levels(designs: Designs, rate: float, grid: ThresholdGrid, rng: Generator) -> Designs:
    """Give one random stage of some designs a random threshold of those that it may have."""
    if grid.is_single:
        return designs
    drawn = random_levels(designs.stages, grid, rng).levels
    stage = np.where(rng.random(len(designs)) < rate, rng.integers(designs.n_stages), -1)
    varied = np.arange(drawn.shape[1]) == stage[:, None]
    return Designs(designs.stages, np.where(varied, drawn, designs.levels))


def random_levels(stages: StageArray, grid: ThresholdGrid, rng: Generator) -> Designs:
    """Give each stage of each design a random threshold of those that it may have."""
    if grid.is_single:
        return Designs.of(stages)
    n_stages = stage_counts(stages)
    size = (len(stages), int(n_stages.max(initial=1)))
    early, last = (rng.choice(np.array(some), size=size) for some in (grid.early, grid.last))
    is_last = np.arange(size[1]) == n_stages[:, None] - 1
    return Designs.of(stages, np.where(is_last, last, early))
