"""The paper's loop: roulette wheel, recombination, mutation, elitism on distinct designs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.random import Generator

from emsco._base.typing import FloatArray, IntArray, StageArray
from emsco.designs.population import Designs
from emsco.scoring.pareto import aggregates, exact_objectives, longest_first
from emsco.scoring.scores import Counts
from emsco.search.loop import Stop, StopReason
from emsco.search.operators import initial_population, mutate, recombine, select
from emsco.search.settings import SearchSettings


def pareto_levels(scores: Counts) -> IntArray:
    """Non-domination level of each design: 0 if no other design dominates it.

    Designs above the limits come after all others, ordered by how far they exceed them.
    """
    from moocore import pareto_rank

    feasible = scores.feasible
    levels: IntArray = np.unique(scores.excess, return_inverse=True)[1].reshape(-1)
    if feasible.any():
        levels[feasible] = pareto_rank(exact_objectives(scores[feasible]), maximise=True)
        levels[~feasible] += levels[feasible].max()
    return levels


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """A ranked population: level, log fitness and order.

    `order` lists the designs from the fittest down. Of equally fit designs, fewer stages come
    first, then the smaller chromosome. Equal designs have the same number in `chromosome`.
    """

    level: IntArray
    log_fitness: FloatArray
    order: IntArray
    chromosome: FloatArray

    @classmethod
    def from_scores(
        cls, designs: Designs, scores: Counts, smallest_cost: float, epsilon: float = 0.01
    ) -> Self:
        """Rank a population; `smallest_cost` is the smallest feature cost above 0."""
        level = pareto_levels(scores)
        aggregate = aggregates(scores.coverage, scores.accuracy, scores.cost, smallest_cost)
        # Any better level outweighs the largest ratio of aggregates.
        base = aggregate.max() / aggregate.min() + epsilon
        log_fitness = (level.max() - level) * np.log(base) + np.log(aggregate)
        # Sort by level first: a better level always means higher fitness, and levels are whole
        # numbers, while the logarithm of a large power is rounded.
        order = longest_first(designs, aggregate)
        order = order[np.argsort(level[order], kind="stable")]
        return cls(level, log_fitness, order, designs.chromosomes())

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


class PaperLoop:
    """EMSCO as published: roulette wheel, recombination, mutation and elitism.

    Parameters
    ----------
    n_features : int
    smallest_cost : float
        Smallest feature cost above 0.
    settings : SearchSettings
    rng : numpy.random.Generator

    Attributes
    ----------
    generation : int
        Generations after the initial population.
    stop_reason : StopReason or None
        Why the search has ended; None while it goes on.
    """

    archive = None  # the paper keeps only the last generation

    def __init__(
        self, n_features: int, smallest_cost: float, settings: SearchSettings, rng: Generator
    ) -> None:
        self.generation = -1
        self.stop_reason: StopReason | None = None
        self._space = settings.space(n_features)
        self._smallest_cost, self._settings, self._rng = smallest_cost, settings, rng
        self._size, self._same_best = settings.population_size, 0
        self._elite: tuple[Designs, Counts] | None = None
        self._front: tuple[Designs, Counts] | None = None
        stages = np.zeros((1, n_features), dtype=np.int16)
        if self._space.size > 1:
            stages = initial_population(self._size, self._space, settings.stage_bias, rng)
        self._asked = Designs.of(stages)

    def ask(self) -> Designs:
        """Propose designs to score next: the initial population, later the children."""
        return self._asked

    def tell(self, scores: Counts) -> None:
        """Take the scores of the designs last asked for, and breed the next generation."""
        designs, settings = self._asked, self._settings
        if self._elite is not None:
            designs = Designs.concatenate([self._elite[0], designs])
            scores = Counts.concatenate([self._elite[1], scores])
        self.generation += 1
        ranking = Ranking.from_scores(designs, scores, self._smallest_cost, settings.epsilon)
        distinct = ranking.distinct
        front = distinct[ranking.level[distinct] == 0]
        best = designs.stages[front[0]]
        is_same = self._front is not None and np.array_equal(best, self._front[0].stages[0])
        self._same_best = self._same_best + 1 if is_same else 0
        # Halves round up. In floats 0.35 · 90 is just below 31.5.
        share = int(round(settings.elite_fraction * len(distinct), 9) + 0.5)
        elite = distinct[: max(share, len(front))]
        self._elite, self._front = (designs[elite], scores[elite]), (designs[front], scores[front])
        self.stop_reason = self._reason_to_stop(len(elite))
        if self.stop_reason is None:
            # A population that is all elite grows; a grown one that has room again shrinks.
            if len(elite) == self._size:
                self._size += settings.growth
            elif settings.population_size < self._size > len(elite) + settings.growth:
                self._size -= settings.growth
            shares = ranking.selection_probabilities
            self._asked = self._children(designs.stages, shares, self._size - len(elite))

    def _children(self, stages: StageArray, shares: FloatArray, n_children: int) -> Designs:
        """Draw parents by their shares, cross them, and mutate the children."""
        settings, space, rng = self._settings, self._space, self._rng
        first, second = np.split(stages[select(shares, 2 * n_children, rng)], 2)
        children = recombine(first, second, settings.crossover_rate, rng)
        rate = settings.rate(space.n_features)
        return Designs.of(mutate(children, rate, settings.stage_bias, space, rng))

    @property
    def front(self) -> tuple[Designs, Counts]:
        """The distinct non-dominated designs of the current generation, fittest first."""
        if self._front is None:
            raise RuntimeError("tell() the scores of the initial population first.")
        return self._front

    def _reason_to_stop(self, n_elites: int) -> StopReason | None:
        settings = self._settings
        if self._space.size == 1:
            return StopReason(Stop.EXHAUSTED, n_designs=1)
        if self.generation >= settings.generations:
            return StopReason(Stop.GENERATIONS, settings.generations)
        if settings.patience is not None and self._same_best >= settings.patience:
            return StopReason(Stop.SAME_BEST, settings.patience)
        if settings.growth == 0 and n_elites == self._size:
            return StopReason(Stop.ELITES, self.generation)
        return None
