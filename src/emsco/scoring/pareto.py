"""Dominance, ranks and fitness. With whole-number counts, rounding never affects them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Self

import numpy as np

from emsco._base.objectives import balanced_length
from emsco._base.typing import BoolArray, FloatArray, IntArray
from emsco.designs.population import Designs
from emsco.scoring.scores import Scores

__all__ = [
    "SAME_COST",
    "Ranking",
    "accuracy_ranks",
    "balanced_accuracy_ranks",
    "balanced_length",
    "balanced_scores",
    "best_balanced_first",
    "exact_objectives",
    "fittest_of",
    "front_mask",
    "knee_of",
    "pareto_levels",
    "simplest_first",
    "tie_groups",
]

_LENGTH_DECIMALS = 12
_NEAR = 1e-12  # means of shares this near to each other may be equal; rounding errors are smaller
SAME_COST = 1e-9  # relative; costs closer than this are equal, unless they are whole numbers


def accuracy_ranks(correct: IntArray, accepted: IntArray) -> IntArray:
    """Rank accuracies, correct / accepted, exactly; with nothing accepted the accuracy is 0.

    Division of whole numbers below 2⁵³ rounds, but never reverses an order. Only quotients that
    come out equal have to be compared as fractions.
    """
    divisor = np.maximum(accepted, 1)
    common = np.maximum(np.gcd(correct, divisor), 1)
    pairs = np.column_stack([correct // common, divisor // common])
    different, place = np.unique(pairs, axis=0, return_inverse=True)
    quotient = different[:, 0] / different[:, 1]
    order = sorted(
        range(len(different)), key=lambda i: (quotient[i], Fraction(*different[i].tolist()))
    )
    ranks = np.empty(len(different), dtype=np.int64)
    ranks[order] = np.arange(len(different))
    by_design: IntArray = ranks[place.reshape(-1)]
    return by_design


def balanced_accuracy_ranks(correct: IntArray, accepted: IntArray) -> IntArray:
    """Rank means of correct / accepted over the classes exactly; both are (n_designs, n_classes).

    Rounding may separate equal means, and may make different ones equal. So means that come out
    nearly equal are compared as fractions, unless they are of the same shares.
    """
    divisor = np.maximum(accepted, 1)
    # Shares in lowest terms, so that equal shares have equal numbers.
    common = np.maximum(np.gcd(correct, divisor), 1)
    shares = np.stack([correct // common, divisor // common], axis=2)
    mean = (correct / divisor).mean(axis=1)
    order = np.argsort(mean, kind="stable")
    near = np.diff(mean[order]) <= _NEAR
    same = near & (np.diff(shares[order], axis=0) == 0).all(axis=(1, 2))
    # Ranks rise where a mean is above the one before it; runs of near ones are settled below.
    rises = ~near
    # Runs of means that are near their neighbours, by their first position and their end.
    edges = np.flatnonzero(np.diff(np.concatenate([[False], near, [False]]).astype(np.int8)))
    for first, last in edges.reshape(-1, 2).tolist():
        end = last + 1
        # Means of the very same shares are equal for sure.
        if not same[first : end - 1].all():
            members = order[first:end]
            exact = [sum(Fraction(*one) for one in line) for line in shares[members].tolist()]
            by_value = sorted(range(len(members)), key=exact.__getitem__)
            order[first:end] = members[by_value]
            rises[first : end - 1] = [exact[i] < exact[j] for i, j in pairwise(by_value)]
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.concatenate([[0], np.cumsum(rises)])[: len(order)]
    return ranks


def exact_objectives(scores: Scores) -> FloatArray:
    """Coverage, accuracy and cost of each design as float64 columns; larger is better.

    The numbers are ordered exactly as the objectives are, with the same ties.
    """
    # Equal fractions give equal floats. Different fractions with denominators below 2²⁶ give
    # different floats, because they are more than half a unit in the last place apart.
    accuracy: FloatArray | IntArray = scores.accuracy
    if scores.by_class is not None:
        accuracy = balanced_accuracy_ranks(scores.by_class[:, 1], scores.by_class[:, 0])
    elif scores.n_rows >= 2**26:
        accuracy = accuracy_ranks(scores.correct, scores.accepted)
    cost: FloatArray | IntArray = scores.spent
    if cost.dtype.kind == "f" or cost.max(initial=0) >= 2**53:
        # Rank them from 0; floats within `SAME_COST` share a rank.
        distinct, cost = np.unique(cost, return_inverse=True)
        if distinct.dtype.kind == "f":
            # Chained: each within rounding of its neighbour, so equality stays transitive in a run.
            rises = np.diff(distinct) > SAME_COST * np.abs(distinct[1:])
            cost = np.concatenate([[0], np.cumsum(rises)])[cost]
    objectives = np.empty((len(scores), 3))
    objectives[:, 0], objectives[:, 1], objectives[:, 2] = scores.accepted, accuracy, -cost
    return objectives


def pareto_levels(scores: Scores) -> IntArray:
    """Non-domination level of each design: 0 if no other design dominates it.

    Designs above the limits come after all others, ordered by how far they exceed them.
    """
    from moocore import pareto_rank

    feasible = scores.feasible
    if feasible.all():
        levels: IntArray = pareto_rank(exact_objectives(scores), maximise=True).astype(np.int64)
        return levels
    # By how far they are beyond, then behind all that are within.
    levels = np.unique(scores.beyond, return_inverse=True)[1].reshape(-1)
    if feasible.any():
        levels[feasible] = pareto_levels(scores[feasible])
        levels[~feasible] += levels[feasible].max()
    return levels


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """A ranked population: level, aggregate performance, log fitness and order.

    `order` lists the designs from the fittest down. Of equally fit designs, fewer stages come
    first, then the smaller chromosome. Equal designs have the same number in `chromosome`.
    """

    level: IntArray
    aggregate: FloatArray
    log_fitness: FloatArray
    order: IntArray
    chromosome: FloatArray

    @classmethod
    def from_scores(
        cls, designs: Designs, scores: Scores, smallest_cost: float, epsilon: float = 0.01
    ) -> Self:
        """Rank a population; `smallest_cost` is the smallest feature cost above 0."""
        level = pareto_levels(scores)
        aggregate = _aggregate(scores.coverage, scores.accuracy, scores.cost, smallest_cost)
        # Any better level outweighs the largest ratio of aggregates.
        base = aggregate.max() / aggregate.min() + epsilon
        log_fitness = (level.max() - level) * np.log(base) + np.log(aggregate)
        # Sort by level first: a better level always means higher fitness, and levels are whole
        # numbers, while the logarithm of a large power is rounded.
        chromosome, n_stages, length = _longest_first(designs, aggregate)
        order = np.lexsort((chromosome, n_stages, length, level))
        return cls(level, aggregate, log_fitness, order, chromosome)

    @property
    def distinct(self) -> IntArray:
        """The distinct designs, from the fittest down."""
        sorted_chromosomes = self.chromosome[self.order]  # equal designs are neighbours here
        repeats = sorted_chromosomes[1:] == sorted_chromosomes[:-1]
        first: IntArray = self.order[np.concatenate([[True], ~repeats])]
        return first

    @property
    def selection_probabilities(self) -> FloatArray:
        """Share of each design in the roulette wheel."""
        # Relative to the fittest, as fitness itself overflows with many levels.
        weight = np.exp(self.log_fitness - self.log_fitness.max())
        shares: FloatArray = weight / weight.sum()
        return shares


def fittest_of(
    designs: Designs,
    coverage: FloatArray,
    accuracy: FloatArray,
    cost: FloatArray,
    smallest_cost: float,
) -> int:
    """Position of the paper's fittest design on a front.

    It is the first in the `Ranking` of the front. All designs there share a level, so the
    aggregate alone decides.
    """
    aggregate = _aggregate(coverage, accuracy, cost, smallest_cost)
    return int(np.lexsort(_longest_first(designs, aggregate))[0])


def _longest_first(
    designs: Designs, lengths: FloatArray
) -> tuple[FloatArray, IntArray, FloatArray]:
    """Keys that sort designs by length, the longest first; equally long ones by simplicity."""
    # Lengths that differ only by rounding count as equal.
    rounded = np.round(lengths, _LENGTH_DECIMALS)
    return designs.chromosomes(), designs.n_stages, -rounded


def _aggregate(
    coverage: FloatArray, accuracy: FloatArray, cost: FloatArray, smallest_cost: float
) -> FloatArray:
    """Length of (coverage, accuracy, inverse cost), with costs relative to the cheapest design."""
    lowest = cost.min()
    # Beside a design that costs nothing, all ratios would be 0, and its own undefined.
    shift = smallest_cost if lowest == 0 else 0.0
    inverse_cost = (lowest + shift) / (cost + shift)
    length: FloatArray = np.sqrt(coverage**2 + accuracy**2 + inverse_cost**2)
    return length


def front_mask(scores: Scores) -> BoolArray:
    """Whether each design is on the front. Designs with equal objectives share the answer.

    A design within the limits dominates all designs above them. Among the latter, those
    that exceed the limits least dominate the others.
    """
    from moocore import is_nondominated

    if not scores.feasible.all():
        # Limits count before everything else: only those that miss them least are compared.
        nearest = scores.beyond == scores.beyond.min()
        among = np.zeros(len(scores), dtype=np.bool_)
        among[nearest] = front_mask(replace(scores[nearest], excess=None))
        return among
    objectives = exact_objectives(scores)
    # Weakly: designs with equal objectives do not throw each other out.
    mask: BoolArray = is_nondominated(objectives, maximise=True, keep_weakly=True)
    return mask


def tie_groups(scores: Scores) -> IntArray:
    """Group number of each design; designs with equal objectives share one."""
    objectives = exact_objectives(scores)
    groups: IntArray = np.unique(objectives, axis=0, return_inverse=True)[1].reshape(-1)
    return groups


def simplest_first(designs: Designs) -> IntArray:
    """Sort designs by simplicity: fewer stages first, then the smaller chromosome."""
    order: IntArray = np.lexsort((designs.chromosomes(), designs.n_stages))
    return order


def best_balanced_first(designs: Designs, scores: Scores, total_cost: float) -> IntArray:
    """Sort designs by balanced score, the best first; equal ones by simplicity."""
    order: IntArray = np.lexsort(_longest_first(designs, balanced_scores(scores, total_cost)))
    return order


def balanced_scores(scores: Scores, total_cost: float) -> FloatArray:
    """Balanced score of each design."""
    length: FloatArray = balanced_length(scores.coverage, scores.accuracy, scores.cost, total_cost)
    return length


def knee_of(coverage: FloatArray, accuracy: FloatArray, cost: FloatArray) -> int:
    """Position of the point nearest to the best of all objectives, each scaled to 0..1."""
    objectives = np.column_stack([coverage, accuracy, -cost])
    best, worst = objectives.max(axis=0), objectives.min(axis=0)
    # An objective that all points share does not count.
    missed = (best - objectives) / np.where(best > worst, best - worst, 1.0)
    return int(np.argmin((missed**2).sum(axis=1)))
