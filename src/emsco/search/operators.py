"""The paper's variation operators, each for a whole population at once.

Populations are arrays of shape (n_designs, n_features): the stage of each feature, from 0.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from emsco._typing import FloatArray, IntArray, StageArray
from emsco.design import compress, stage_counts

__all__ = [
    "growth_probability",
    "initial_population",
    "mutate",
    "recombine",
    "round_half_up",
    "select",
]

_INITIAL_RATE = 0.5


def round_half_up(x: FloatArray | float) -> IntArray:
    """Nearest whole number; halves go up, where NumPy's own rounding takes them to even.

    Examples
    --------
    >>> round_half_up(np.array([0.5, 1.5, 2.5])).tolist()
    [1, 2, 3]
    """
    return np.floor(np.asarray(x) + 0.5).astype(np.int64)


def initial_population(
    n_designs: int, n_features: int, stage_bias: float, rng: Generator
) -> StageArray:
    """Random two-stage designs: mutants of the one-stage design, redrawn until both are used."""
    designs = np.zeros((n_designs, n_features), dtype=np.int16)
    poor = np.arange(n_designs)
    while poor.size:
        designs[poor] = mutate(designs[poor], _INITIAL_RATE, stage_bias, 2, rng)
        poor = poor[designs[poor].max(axis=1) == 0]
    return designs


def select(shares: FloatArray, n_parents: int, rng: Generator) -> IntArray:
    """Roulette wheel: indices of parents, drawn with replacement by their shares."""
    edges = np.cumsum(shares)
    landed = np.searchsorted(edges, rng.random(n_parents) * edges[-1], side="right")
    chosen: IntArray = np.minimum(landed, len(shares) - 1)
    return chosen


def recombine(
    first: StageArray, second: StageArray, crossover_rate: float, rng: Generator
) -> StageArray:
    """One child per pair of parents, not yet compressed.

    A child that is crossed gets the stage count of one parent or their mean, and each of its
    genes keeps the relative position it had in the parent it comes from. Others are copies.
    """
    n_pairs, n_features = first.shape
    of_first, of_second = stage_counts(first), stage_counts(second)
    mean = round_half_up((of_first + of_second) / 2)
    counts = np.stack([of_first, of_second, mean])[
        rng.integers(3, size=n_pairs), np.arange(n_pairs)
    ]
    from_first = rng.random((n_pairs, n_features)) < 0.5
    gene = np.where(from_first, first, second) + 1
    of_parent = np.where(from_first, of_first[:, None], of_second[:, None])
    crossed = np.maximum(0, _round_ratio(gene * counts[:, None], of_parent) - 1)
    copies = np.where(rng.random((n_pairs, 1)) < 0.5, first, second)
    is_crossed = rng.random((n_pairs, 1)) < crossover_rate
    return np.where(is_crossed, crossed, copies).astype(np.int16)


def mutate(
    designs: StageArray, rate: float, stage_bias: float, max_stages: int, rng: Generator
) -> StageArray:
    """Redraw each gene with probability `rate`, towards early stages, then compress.

    A redrawn gene is beta-binomial with α = 1, β = `stage_bias` over 0..min(|Q|, k - 1), so
    that a design may grow by a stage.
    """
    row, gene = np.nonzero(rng.random(designs.shape) < rate)
    highest = np.minimum(stage_counts(designs), max_stages - 1)[row]
    mutants = designs.copy()
    mutants[row, gene] = rng.binomial(highest, rng.beta(1.0, stage_bias, size=len(row)))
    return compress(mutants)


def growth_probability(
    n_features: int, rate: float, n_stages: int, stage_bias: FloatArray
) -> FloatArray:
    """Probability that a mutation draws a new stage for some gene, where the cap does not bite."""
    from scipy.special import gammaln

    log_new = (
        np.log(stage_bias)
        + gammaln(n_stages + 1)
        + gammaln(stage_bias)
        - gammaln(n_stages + stage_bias + 1)
    )
    grown: FloatArray = 1 - (1 - rate * np.exp(log_new)) ** n_features
    return grown


def _round_ratio(numerator: IntArray, denominator: IntArray) -> IntArray:
    """round(numerator / denominator), halves up, in whole numbers."""
    return (2 * numerator + denominator) // (2 * denominator)
