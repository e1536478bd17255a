"""The problem that a search is given, and the interface for watching its progress."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from numpy.random import Generator

from emsco._base.typing import FloatArray
from emsco.scoring.evaluator import Evaluator
from emsco.search.evolution import EvolutionSearch
from emsco.search.exact.front import ExactProgress
from emsco.search.linking import Linker, chains_between
from emsco.search.loop import SearchRecord, SearchResult, run_search
from emsco.search.settings import SearchSettings


class Watcher(Protocol):
    """Receives progress updates from a search."""

    def begin(self, what: str, total: int) -> None:
        """Note that a phase of `total` steps begins."""

    def generation(self, record: SearchRecord) -> None:
        """Note that a generation is complete."""

    def exact(self, progress: ExactProgress) -> None:
        """Note how far an exact search is."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """The input of a search: an evaluator, feature costs and limits on time and memory.

    Parameters
    ----------
    evaluator : Evaluator
    costs : ndarray of shape (n_features,)
    seconds_per_fit : float or None
        Estimated time to fit one model on one core; None if unknown.
    capacity : int
        Models that fit into the memory of the bank.
    memory_limit : int
        Bytes that an exact search may use beside the bank.
    n_jobs : int
    """

    evaluator: Evaluator
    costs: FloatArray
    seconds_per_fit: float | None
    capacity: int
    memory_limit: int
    n_jobs: int

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.costs)


def new_evolution(problem: Problem, settings: SearchSettings, rng: Generator) -> EvolutionSearch:
    """Start an evolution on a problem."""
    evaluator = problem.evaluator
    return EvolutionSearch(
        problem.costs,
        settings,
        rng,
        evaluator.costs.total,
        evaluator.per_row,
        evaluator.grid,
    )


def evolve(
    search: EvolutionSearch,
    problem: Problem,
    settings: SearchSettings,
    time_limit: float | None,
    watcher: Watcher,
) -> SearchResult:
    """Run an evolution to its end; chains of its subsets are made between generations."""
    evaluator, between = problem.evaluator, None
    if evaluator.metric == "accuracy":
        linker = Linker(evaluator, settings.space(problem.n_features, evaluator.grid))
        between = chains_between(search, evaluator, linker)
    return run_search(search, evaluator, time_limit, watcher.generation, between)
