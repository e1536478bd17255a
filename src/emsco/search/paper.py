"""The paper's loop: roulette wheel, recombination, mutation, elitism on distinct designs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from emsco._base.typing import IntArray, StageArray
from emsco.designs.space import DesignSpace
from emsco.scoring.pareto import Ranking
from emsco.scoring.scores import Scores
from emsco.search.archive import Archive
from emsco.search.operators import initial_population, mutate, recombine, round_half_up, select

__all__ = ["PaperSearch", "PaperSettings"]


@dataclass(frozen=True, slots=True)
class PaperSettings:
    """Parameters of the paper's loop, under its symbols |G|, max_iter, m̂, r̂, b, β, ε, inc and g.

    `allow_exclusion` and `first`, which the paper has not, are those of `DesignSpace`.
    """

    max_stages: int
    mutation_rate: float
    population_size: int = 300
    generations: int = 150
    crossover_rate: float = 0.8
    elite_fraction: float = 0.2
    stage_bias: float = 2.0
    epsilon: float = 0.01
    growth: int = 0
    patience: int | None = None
    allow_exclusion: bool = False
    first: int | None = None

    def space(self, n_features: int) -> DesignSpace:
        """The designs to search, given how many features there are."""
        return DesignSpace(n_features, self.max_stages, self.allow_exclusion, self.first)


class PaperSearch:
    """EMSCO as published, made precise: ask() for designs, tell() their scores.

    Parameters
    ----------
    n_features : int
    smallest_cost : float
        The smallest feature cost above 0.
    settings : PaperSettings
    rng : numpy.random.Generator

    Attributes
    ----------
    generation : int
        How many generations have followed the initial population.
    stop_reason : str or None
        Why the search has ended; None while it has not.
    """

    def __init__(
        self, n_features: int, smallest_cost: float, settings: PaperSettings, rng: Generator
    ) -> None:
        self.generation = -1
        self.stop_reason: str | None = None
        self.archive: Archive | None = None  # the paper keeps the last generation, no more
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
        """Designs to score next: the initial population, then each generation's children."""
        if self._scores is None:
            self._asked = self._first_population()
        else:
            self._asked = self._children(self._size - len(self._elites))
        return self._asked

    def tell(self, scores: Scores) -> None:
        """Take the scores of the designs last asked for; the next generation is then complete."""
        before = self.best if self._scores is not None else None
        if self._scores is None:
            self._designs, self._scores = self._asked, scores
        else:
            self._designs = np.concatenate([self._designs[self._elites], self._asked])
            self._scores = Scores.concatenate([self._scores[self._elites], scores])
        self.generation += 1
        self._rank()
        same = before is not None and np.array_equal(before, self.best)
        self._same_best = self._same_best + 1 if same else 0
        self.stop_reason = self._reason_to_stop()
        if self.stop_reason is None:
            self._resize()

    @property
    def best(self) -> StageArray:
        """The fittest design of the current generation."""
        designs, _ = self.front
        fittest: StageArray = designs[0]
        return fittest

    @property
    def population(self) -> tuple[StageArray, Scores]:
        """All designs of the current generation, with their scores."""
        return self._designs, self._known_scores

    @property
    def front(self) -> tuple[StageArray, Scores]:
        """The distinct non-dominated designs of the current generation, fittest first."""
        if self._front is None:
            raise RuntimeError("tell() the scores of the initial population first.")
        return self._front

    @property
    def _known_scores(self) -> Scores:
        if self._scores is None:
            raise RuntimeError("tell() the scores of the initial population first.")
        return self._scores

    def _first_population(self) -> StageArray:
        if self._only_one:
            return np.zeros((1, self._space.n_features), dtype=np.int16)
        return initial_population(
            self._settings.population_size, self._space, self._settings.stage_bias, self._rng
        )

    def _children(self, n_children: int) -> StageArray:
        shares = self._ranking.selection_probabilities
        parents = select(shares, 2 * n_children, self._rng)
        first, second = self._designs[parents[:n_children]], self._designs[parents[n_children:]]
        settings = self._settings
        children = recombine(first, second, settings.crossover_rate, self._rng)
        return mutate(children, settings.mutation_rate, settings.stage_bias, self._space, self._rng)

    def _rank(self) -> None:
        self._ranking = Ranking.from_scores(
            self._designs, self._known_scores, self._smallest_cost, self._settings.epsilon
        )
        distinct = self._ranking.distinct
        first = distinct[self._ranking.level[distinct] == 0]
        exact = round(self._settings.elite_fraction * len(distinct), 9)  # 0.35 · 90 is 31.5
        share = int(round_half_up(exact))
        self._elites = distinct[: max(share, len(first))]
        self._front = self._designs[first], self._known_scores[first]

    def _reason_to_stop(self) -> str | None:
        settings = self._settings
        if self._only_one:
            return "only one design exists"
        if self.generation >= settings.generations:
            return f"all {settings.generations} generations have run"
        if settings.patience is not None and self._same_best >= settings.patience:
            return f"the fittest design has stayed the same for {settings.patience} generations"
        if settings.growth == 0 and len(self._elites) == self._size:
            return f"the population was full of elite designs after {self.generation} generations"
        return None

    def _resize(self) -> None:
        """Grow a population that is all elite; shrink one that has grown and has room again."""
        growth = self._settings.growth
        if len(self._elites) == self._size:
            self._size += growth
        elif (
            len(self._elites) < self._size - growth and self._size > self._settings.population_size
        ):
            self._size -= growth
