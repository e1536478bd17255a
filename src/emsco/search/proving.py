"""Exact search from beginning to end: first designs, all models, then the whole front."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from time import perf_counter

from numpy.random import Generator

from emsco._base.typing import IntArray, StageArray
from emsco.designs.space import DesignSpace
from emsco.errors import InterruptedWarning
from emsco.scoring.pareto import best_balanced_first
from emsco.scoring.scores import Scores
from emsco.search.archive import Archive
from emsco.search.exact.front import ExactFront, ExactProgress, TimeLimitError, find_front
from emsco.search.exact.landscape import Landscape
from emsco.search.exact.terrain import Terrain
from emsco.search.exact.ties import LandscapeTies
from emsco.search.exact.walk import TerrainTies, walk_front
from emsco.search.loop import SearchRecord, SearchResult, Stop, StopReason
from emsco.search.problem import Problem, Watcher, evolve, new_evolution
from emsco.search.settings import SearchSettings

# Designs; in a larger space, exact search first evolves a good front.
_LARGE = 10**8
_LARGE_WITH_THRESHOLDS = 10**10  # a walk finds good designs by itself


def prove_front(
    problem: Problem,
    settings: SearchSettings,
    rng: Generator,
    time_limit: float | None,
    watcher: Watcher,
) -> SearchResult:
    """Score some first designs, fit all models, find the whole front.

    Exact search skips everything that the first designs dominate. If time runs out, they are
    the result.
    """
    started = perf_counter()
    space = settings.space(problem.n_features, problem.evaluator.grid)
    large = _LARGE if problem.evaluator.grid.is_single else _LARGE_WITH_THRESHOLDS
    generations = settings.generations if space.size > large else 0
    first = replace(settings, generations=generations, patience=None)
    watcher.begin("first designs", first.generations)
    search = new_evolution(problem, first, rng)
    warm = evolve(search, problem, first, time_limit, watcher)
    if warm.stop_reason != search.stop_reason:  # the time limit or Ctrl-C
        return _unproven(warm, warm.stop_reason, space.size)
    check = _Deadline(watcher, started, time_limit)
    try:
        ground, found = _find(problem, space, warm.scores, check)
    except TimeLimitError as limit:
        return _unproven(warm, StopReason(Stop.TIME_LIMIT, seconds=limit.seconds), space.size)
    except KeyboardInterrupt:
        _warn_of_interruption()
        return _unproven(warm, StopReason(Stop.INTERRUPTED), space.size)
    if found.stopped is None and not len(found.designs):
        nothing = StopReason(Stop.NOTHING_FEASIBLE, n_settled=found.n_settled)
        return replace(warm, stop_reason=nothing)
    if found.stopped is None:
        return _proven(problem, ground, found, warm, perf_counter() - started)
    if found.stopped.is_interrupted:
        _warn_of_interruption()
    reason = replace(found.stopped, n_settled=found.n_settled, n_designs=space.size)
    _add_found(search.archive, found.designs, problem)
    last = _last_record(problem, search.archive.front(), found, warm, perf_counter() - started)
    return SearchResult.from_archive(search.archive, (*warm.records, last), reason)


@dataclass(frozen=True, slots=True)
class _Deadline:
    """Passes progress on, and raises once the time limit is over."""

    watcher: Watcher
    started: float
    time_limit: float | None

    def __call__(self, progress: ExactProgress | None = None) -> None:
        if progress:
            self.watcher.exact(progress)
        if self.time_limit is not None and perf_counter() > self.started + self.time_limit:
            raise TimeLimitError(self.time_limit)


def _find(
    problem: Problem, space: DesignSpace, known: Scores, check: _Deadline
) -> tuple[Landscape | Terrain, ExactFront]:
    """Find the front by labels of chains, or by a walk if stages have thresholds of their own."""
    watcher, evaluator = check.watcher, problem.evaluator
    if evaluator.grid.is_single:
        landscape = Landscape.from_evaluator(evaluator, space, check)
        watcher.begin("exact", problem.n_features - landscape.tail)
        found = find_front(landscape, known, problem.memory_limit, problem.n_jobs, check)
        return landscape, found
    terrain = Terrain.from_evaluator(evaluator, space, check)
    watcher.begin("walk", 100)
    return terrain, walk_front(terrain, known, problem.n_jobs, check)


def _ties(
    problem: Problem,
    ground: Landscape | Terrain,
    designs: StageArray,
    scores: Scores,
    n_tied: IntArray,
) -> LandscapeTies | TerrainTies:
    """Return what lists the ties of a proven front."""
    if isinstance(ground, Terrain):
        return TerrainTies(ground, designs, scores, n_tied)
    return LandscapeTies(ground, designs, scores, n_tied, problem.memory_limit)


def _add_found(archive: Archive, designs: StageArray, problem: Problem) -> None:
    """Add designs of a stopped exact search to the first designs."""
    if len(designs):
        archive.add(designs, problem.evaluator.score(designs))


def _warn_of_interruption() -> None:
    message = "Search interrupted; the best designs so far are kept, but not proven."
    warnings.warn(message, InterruptedWarning, stacklevel=8)


def _unproven(warm: SearchResult, reason: StopReason, n_designs: int) -> SearchResult:
    """Result of the first designs alone: exact search has settled none."""
    return replace(warm, stop_reason=replace(reason, n_settled=0, n_designs=n_designs))


def _last_record(
    problem: Problem,
    front: tuple[StageArray, Scores],
    found: ExactFront,
    warm: SearchResult,
    seconds: float,
) -> SearchRecord:
    """Record the end of an exact search as one more generation."""
    generation = warm.records[-1].generation + 1
    record = SearchRecord.from_front(generation, *front, problem.evaluator, seconds)
    n_subsets = 2**problem.n_features - 1
    return replace(record, n_designs=found.n_settled, n_subsets=n_subsets)


def _proven(
    problem: Problem,
    ground: Landscape | Terrain,
    found: ExactFront,
    warm: SearchResult,
    seconds: float,
) -> SearchResult:
    """Result of a complete exact search, the best balanced design first."""
    ground.forget()
    scores = problem.evaluator.score(found.designs)
    order = best_balanced_first(found.designs, scores, problem.evaluator.costs.total)
    designs, scores, n_tied = found.designs[order], scores[order], found.n_tied[order]
    last = _last_record(problem, (designs, scores), found, warm, seconds)
    return SearchResult(
        designs,
        scores,
        (*warm.records, last),
        StopReason(Stop.PROVEN, n_settled=found.n_settled),
        n_tied,
        _ties(problem, ground, designs, scores, n_tied),
        proven=True,
    )
