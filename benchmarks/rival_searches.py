"""Searches to compare with: random search, GSEMO and NSGA-II, behind the same ask and tell.

They vary designs with the paper's operators. They end when the caller stops asking, or when they
have no new design to offer. They only support spaces without exclusion and without limits on cost.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from emsco._base.typing import FloatArray, StageArray
from emsco._kernels.slots import UNBOUNDED, Slots
from emsco.designs.chromosomes import compress, design_keys
from emsco.designs.space import DesignSpace
from emsco.errors import ParameterError
from emsco.scoring.scores import Scores
from emsco.search.archive import Archive
from emsco.search.loop import Stop, StopReason
from emsco.search.operators import initial_population, mutate, random_designs, recombine

__all__ = ["GSEMO", "NSGA2", "RandomSearch"]

_STAGE_BIAS = 2.0


class _ArchivingSearch:
    """Base of the rivals: an archive of all scored designs, and no end of their own.

    `total_cost` is the cost of everything, by default the sum of `costs`.
    """

    def __init__(
        self,
        costs: FloatArray,
        max_stages: int,
        rng: Generator,
        total_cost: float | None = None,
    ) -> None:
        self.generation = -1
        self.stop_reason: StopReason | None = None
        self._total_cost = float(costs.sum()) if total_cost is None else total_cost
        self.archive = Archive(len(costs), self._total_cost)
        self._n_features = len(costs)
        self._max_stages = max_stages
        self._space = DesignSpace(len(costs), max_stages)
        self._rng = rng
        self._asked: StageArray = self.archive.designs
        self._seen = Slots(UNBOUNDED, n_words=-(-len(costs) // 4))
        self._front: tuple[StageArray, Scores] | None = None

    @property
    def front(self) -> tuple[StageArray, Scores]:
        """The simplest design of each non-dominated objective vector, best balanced first."""
        if self._front is None:
            self._front = self.archive.front()
        return self._front

    def tell(self, scores: Scores) -> None:
        """Take the scores of the designs last asked for, some of which may be old."""
        if not scores.feasible.all():
            raise ParameterError(
                'search must be "exact", "evolution" or "paper" if costs are limited, '
                f"got {type(self).__name__}."
            )
        with self._seen.claim(design_keys(self._asked)) as claim:
            new = claim.new_places
        if new.size:
            self.archive.add(self._asked[new], scores[new])
            self._front = None
        self.generation += 1

    def _start(self, n_designs: int) -> StageArray:
        if min(self._n_features, self._max_stages) == 1:
            return np.zeros((n_designs, self._n_features), dtype=np.int16)
        return initial_population(n_designs, self._space, _STAGE_BIAS, self._rng)


class RandomSearch(_ArchivingSearch):
    """Draws designs with uniform genes and a uniform number of stages."""

    def __init__(
        self,
        costs: FloatArray,
        max_stages: int,
        rng: Generator,
        batch: int = 300,
        total_cost: float | None = None,
    ) -> None:
        super().__init__(costs, max_stages, rng, total_cost)
        self._batch = batch

    def ask(self) -> StageArray:
        """Draw the next random designs."""
        self._asked = random_designs(self._batch, self._space, self._rng)
        return self._asked


class GSEMO(_ArchivingSearch):
    """Picks members of the archive, redraws each gene with probability 1/n, keeps the front.

    `batch` children are bred before their scores are known; 1 is the algorithm as published.
    """

    def __init__(
        self,
        costs: FloatArray,
        max_stages: int,
        rng: Generator,
        batch: int = 10,
        total_cost: float | None = None,
    ) -> None:
        super().__init__(costs, max_stages, rng, total_cost)
        self._batch = batch

    def ask(self) -> StageArray:
        """Draw a random design first, then mutants of the archive's members."""
        if self.generation < 0:
            self._asked = self._start(1)
            return self._asked
        members, _ = self.front
        parents = members[self._rng.integers(len(members), size=self._batch)]
        redrawn = self._rng.random(parents.shape) < 1 / self._n_features
        highest = np.minimum(parents.max(axis=1, keepdims=True) + 1, self._max_stages - 1)
        genes = self._rng.integers(0, highest + 1, size=parents.shape)
        self._asked = compress(np.where(redrawn, genes, parents))
        return self._asked


class NSGA2(_ArchivingSearch):
    """NSGA-II of pymoo, with the paper's recombination and mutation."""

    def __init__(
        self,
        costs: FloatArray,
        max_stages: int,
        rng: Generator,
        population_size: int = 300,
        total_cost: float | None = None,
    ) -> None:
        super().__init__(costs, max_stages, rng, total_cost)
        self._algorithm = self._set_up(population_size)
        self._infills: Any = None

    def ask(self) -> StageArray:
        """Ask pymoo for offspring; if it finds no new ones, stop."""
        self._infills = self._algorithm.ask()
        if self._infills is None:
            self.stop_reason = StopReason(Stop.EXHAUSTED, n_designs=len(self._seen))
            self._asked = self._asked[:0]
        else:
            self._asked = self._infills.get("X").astype(np.int16)
        return self._asked

    def tell(self, scores: Scores) -> None:
        """Hand the objectives to pymoo, which minimises."""
        if self._infills is None:
            return
        objectives = [-scores.coverage, -scores.accuracy, scores.cost / self._total_cost]
        self._infills.set("F", np.column_stack(objectives))
        self._infills.apply(lambda one: one.evaluated.update({"F"}))
        self._algorithm.tell(infills=self._infills)
        super().tell(scores)

    def _set_up(self, population_size: int) -> Any:
        from pymoo.algorithms.moo import nsga2
        from pymoo.core.crossover import Crossover
        from pymoo.core.mutation import Mutation
        from pymoo.core.problem import Problem

        search = self

        class Recombination(Crossover):  # type: ignore[misc]  # pymoo has no types
            def __init__(self) -> None:
                super().__init__(2, 1, prob=1.0)

            def _do(self, _problem: Any, X: Any, **_: Any) -> Any:
                first, second = X.astype(np.int16)
                return recombine(first, second, 0.8, search._rng)[None]

        class BetaBinomial(Mutation):  # type: ignore[misc]
            def _do(self, _problem: Any, X: Any, **_: Any) -> Any:
                rate = 1 / search._n_features
                stages = compress(X.astype(np.int16))
                return mutate(stages, rate, _STAGE_BIAS, search._space, search._rng)

        algorithm = nsga2.NSGA2(
            pop_size=population_size,
            sampling=self._start(population_size),
            crossover=Recombination(),
            mutation=BetaBinomial(prob=1.0),
            eliminate_duplicates=True,
            seed=int(self._rng.integers(2**31)),
        )
        space = Problem(n_var=self._n_features, n_obj=3, xl=0, xu=self._max_stages - 1, vtype=int)
        algorithm.setup(space, termination=("n_gen", 2**31))
        return algorithm
