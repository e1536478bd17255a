"""The paper's loop: roulette wheel, recombination, mutation, elitism on distinct designs."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from emsco._base.typing import IntArray, StageArray
from emsco.scoring.pareto import Ranking
from emsco.scoring.scores import Scores
from emsco.search.archive import Archive
from emsco.search.loop import Stop, StopReason
from emsco.search.operators import initial_population, mutate, recombine, round_half_up, select
from emsco.search.settings import SearchSettings


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

    def __init__(
        self, n_features: int, smallest_cost: float, settings: SearchSettings, rng: Generator
    ) -> None:
        self.generation = -1
        self.stop_reason: StopReason | None = None
        self.archive: Archive | None = None  # the paper keeps only the last generation
        self._space = settings.space(n_features)
        self._only_one = self._space.size == 1
        self._smallest_cost = smallest_cost
        self._settings = settings
        self._rng = rng
        self._size = settings.population_size
        self._designs: StageArray = np.zeros((0, n_features), dtype=np.int16)
        self._scores: Scores | None = None
        self._front: tuple[StageArray, Scores] | None = None
        self._asked: StageArray = self._designs
        self._elites: IntArray = np.zeros(0, dtype=np.int64)
        self._same_best = 0

    def ask(self) -> StageArray:
        """Propose designs to score next: the initial population, later the children."""
        settings, space, rng = self._settings, self._space, self._rng
        if self._scores is not None:
            n_children = self._size - len(self._elites)
            parents = select(self._ranking.selection_probabilities, 2 * n_children, rng)
            first, second = self._designs[parents[:n_children]], self._designs[parents[n_children:]]
            children = recombine(first, second, settings.crossover_rate, rng)
            rate = settings.rate(space.n_features)
            self._asked = mutate(children, rate, settings.stage_bias, space, rng)
        elif self._only_one:
            self._asked = np.zeros((1, space.n_features), dtype=np.int16)
        else:
            self._asked = initial_population(
                settings.population_size, space, settings.stage_bias, rng
            )
        return self._asked

    def tell(self, scores: Scores) -> None:
        """Take the scores of the designs last asked for, which completes a generation."""
        before = self.best if self._scores is not None else None
        designs = self._asked
        if self._scores is not None:
            designs = np.concatenate([self._designs[self._elites], designs])
            scores = Scores.concatenate([self._scores[self._elites], scores])
        self._designs, self._scores = designs, scores
        self.generation += 1
        settings = self._settings
        self._ranking = Ranking.from_scores(designs, scores, self._smallest_cost, settings.epsilon)
        distinct = self._ranking.distinct
        first = distinct[self._ranking.level[distinct] == 0]
        # In floats 0.35 · 90 is just below 31.5, which has to round up.
        share = int(round_half_up(round(settings.elite_fraction * len(distinct), 9)))
        self._elites = distinct[: max(share, len(first))]
        self._front = designs[first], scores[first]
        same = before is not None and np.array_equal(before, self.best)
        self._same_best = self._same_best + 1 if same else 0
        self.stop_reason = self._reason_to_stop()
        if self.stop_reason is None:
            # Grow a population that is all elite; shrink a grown one that has room again.
            n_elites, growth = len(self._elites), settings.growth
            if n_elites == self._size:
                self._size += growth
            elif n_elites < self._size - growth and self._size > settings.population_size:
                self._size -= growth

    @property
    def best(self) -> StageArray:
        """The fittest design of the current generation."""
        designs, _ = self.front
        fittest: StageArray = designs[0]
        return fittest

    @property
    def population(self) -> tuple[StageArray, Scores]:
        """All designs of the current generation, with their scores."""
        if self._scores is None:
            raise RuntimeError("tell() the scores of the initial population first.")
        return self._designs, self._scores

    @property
    def front(self) -> tuple[StageArray, Scores]:
        """The distinct non-dominated designs of the current generation, fittest first."""
        if self._front is None:
            raise RuntimeError("tell() the scores of the initial population first.")
        return self._front

    def _reason_to_stop(self) -> StopReason | None:
        settings = self._settings
        if self._only_one:
            return StopReason(Stop.EXHAUSTED, n_designs=1)
        if self.generation >= settings.generations:
            return StopReason(Stop.GENERATIONS, settings.generations)
        if settings.patience is not None and self._same_best >= settings.patience:
            return StopReason(Stop.SAME_BEST, settings.patience)
        if settings.growth == 0 and len(self._elites) == self._size:
            return StopReason(Stop.ELITES, self.generation)
        return None
