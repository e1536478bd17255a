"""EMSCO on rows in three parts: one bank to choose designs on, one to test them on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from emsco._typing import AnyArray, FloatArray, IntArray
from emsco.costs import FeatureCosts
from emsco.experiments.records import Objectives
from emsco.parameters import check_choice
from emsco.pareto import Ranking, best_balanced_first
from emsco.progress import SearchProgress
from emsco.scoring import Evaluator
from emsco.search.loop import SearchResult
from emsco.search.paper import PaperSettings
from emsco.search.planning import Problem, plan_search
from emsco.subsets.bank import SubsetBank
from emsco.training import StageRecipe, TrainingData

__all__ = ["RULES", "Choice", "Parts", "SplitBanks", "default_stages"]

RULES = ("fittest", "balanced")
_MEMORY = 2**29
_PROOF_MEMORY = 2**31  # that kinds of chains may take while a front is proven


def default_stages(n_features: int) -> int:
    """Most stages of the paper's designs: half the features, rounded up, at most 10."""
    return max(1, min((n_features + 1) // 2, 10))


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """A table with labels and costs, and which rows to fit on, to choose on and to test on.

    Rows may have weights, which then count in fits and in all figures.
    """

    X: Any
    y: AnyArray
    costs: FeatureCosts
    train: IntArray
    val: IntArray
    test: IntArray
    weights: FloatArray | None = None

    def rows(self, part: str) -> tuple[Any, ...]:
        """Rows and labels of "train", "val" or "test", and weights where there are any."""
        which = getattr(self, check_choice("part", part, ("train", "val", "test")))
        rows = self.X[which] if isinstance(self.X, np.ndarray) else self.X.take(which)
        found = rows, self.y[which]
        return found if self.weights is None else (*found, self.weights[which])


@dataclass(frozen=True, slots=True)
class Choice:
    """A design by one rule: what it does on the rows that chose it, and on the test rows."""

    rule: str
    validation: Objectives
    test: Objectives


class SplitBanks:
    """Searches any number of times on one split, at any thresholds, and fits no subset twice.

    Parameters
    ----------
    parts : Parts
    n_jobs : int
        Threads.
    """

    def __init__(self, parts: Parts, n_jobs: int = 1) -> None:
        data = TrainingData.of(parts.X, parts.y, parts.weights, parts.costs, "refuse")
        recipe = StageRecipe(None, None, None, _MEMORY, n_jobs, 0)
        self._n_jobs = n_jobs
        self._costs = parts.costs
        self._per_row = data.per_row
        # A bank's fits depend on its training rows alone: both have the same classifiers.
        self._val = recipe.open_bank(data, [(parts.train, parts.val)])
        self._test = recipe.open_bank(data, [(parts.train, parts.test)])

    def search(
        self,
        search: str,
        settings: PaperSettings,
        min_confidence: float,
        rng: np.random.Generator,
        time_limit: float | None = None,
    ) -> SearchResult:
        """Designs that one search finds on the validation rows.

        Raises
        ------
        ParameterError
            Where "exact" is out of reach.
        """
        evaluator = self._evaluator(self._val, settings.max_stages, min_confidence)
        may_prove = search in ("auto", "exact")
        problem = Problem(
            evaluator,
            self._costs.costs,
            seconds_per_fit=self._val.engine.seconds_per_fit() if may_prove else 0.0,
            capacity=self._val.capacity,
            memory_limit=_PROOF_MEMORY,
            n_jobs=self._n_jobs,
        )
        plan = plan_search(search, problem, settings, time_limit)
        return plan.run(problem, rng, time_limit, SearchProgress(shown=False))

    def choose(self, result: SearchResult, rule: str, min_confidence: float) -> Choice:
        """The design that a rule deploys, tested."""
        position = self._position(result, check_choice("rule", rule, RULES))
        design = result.designs[position : position + 1]
        most = int(design.max()) + 1
        tested = self._evaluator(self._test, most, min_confidence).score(design)
        validated = Objectives.of_scores(result.scores, position)
        return Choice(rule, validated, Objectives.of_scores(tested, 0))

    def _position(self, result: SearchResult, rule: str) -> int:
        if rule == "balanced":
            order = best_balanced_first(result.designs, result.scores, self._costs.total)
        else:  # our searches list the best balanced first, so the fittest has to be looked for
            costs = self._costs.costs
            smallest = float(costs[costs > 0].min())
            order = Ranking.of(result.designs, result.scores, smallest).order
        return int(order[0])

    def _evaluator(self, bank: SubsetBank, max_stages: int, min_confidence: float) -> Evaluator:
        return Evaluator(
            bank, self._costs, min_confidence, bank.n_rows, max_stages, per_row=self._per_row
        )
