"""Exact search from beginning to end: first designs, all models, then the whole front."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from time import perf_counter

from numpy.random import Generator

from emsco._base.typing import StageArray
from emsco.designs.space import DesignSpace
from emsco.errors import InterruptedWarning
from emsco.scoring.pareto import best_balanced_first
from emsco.scoring.scores import Scores
from emsco.search.exact import chains, walk
from emsco.search.exact.front import ExactFront, ExactProgress, ExactTies, TimeLimitError
from emsco.search.exact.spaces import SingleThresholdSpace, ThresholdSpace
from emsco.search.links import evolve, start_evolution
from emsco.search.loop import SearchRecord, SearchResult, Stop, StopReason
from emsco.search.problem import Problem
from emsco.search.progress import SearchProgress
from emsco.search.settings import SearchSettings

# Designs; in a larger space, exact search first evolves a good front.
_LARGE = 10**8
_LARGE_WITH_THRESHOLDS = 10**10  # a walk finds good designs by itself


def prove_front(
    problem: Problem,
    settings: SearchSettings,
    rng: Generator,
    time_limit: float | None,
    progress: SearchProgress,
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
    progress.begin("first designs", first.generations)
    search = start_evolution(problem, first, rng)
    warm = evolve(search, problem, first, time_limit, progress)
    if warm.stop_reason != search.stop_reason:  # the time limit or Ctrl-C
        return _unproven(warm, warm.stop_reason, space.size)
    check = _Deadline(progress, started, time_limit)
    try:
        subsets, front = _find(problem, space, warm.scores, check)
    except TimeLimitError as limit:
        return _unproven(warm, StopReason(Stop.TIME_LIMIT, seconds=limit.seconds), space.size)
    except KeyboardInterrupt:
        _warn_of_interruption()
        return _unproven(warm, StopReason(Stop.INTERRUPTED), space.size)
    if front.stopped is None and not len(front.designs):
        nothing = StopReason(Stop.NOTHING_FEASIBLE, n_settled=front.n_settled)
        return replace(warm, stop_reason=nothing)
    if front.stopped is None:
        return _proven(problem, subsets, front, warm, perf_counter() - started)
    if front.stopped.is_interrupted:
        _warn_of_interruption()
    reason = replace(front.stopped, n_settled=front.n_settled, n_designs=space.size)
    if len(front.designs):
        search.archive.add(front.designs, problem.evaluator.score(front.designs))
    best = search.archive.front()
    last = _last_record(problem, best, front, warm, perf_counter() - started)
    return SearchResult.from_archive(search.archive, (*warm.records, last), reason)


@dataclass(frozen=True, slots=True)
class _Deadline:
    """Passes progress on, and raises once the time limit is over."""

    progress: SearchProgress
    started: float
    time_limit: float | None

    def __call__(self, done: ExactProgress | None = None) -> None:
        if done:
            self.progress.exact(done)
        if self.time_limit is not None and perf_counter() > self.started + self.time_limit:
            raise TimeLimitError(self.time_limit)


def _find(
    problem: Problem, space: DesignSpace, known: Scores, check: _Deadline
) -> tuple[SingleThresholdSpace | ThresholdSpace, ExactFront]:
    """Find the front by labels of chains, or by a walk if stages have thresholds of their own."""
    n_jobs = problem.n_jobs
    if problem.evaluator.grid.is_single:
        single = SingleThresholdSpace.from_evaluator(problem.evaluator, space, check)
        check.progress.begin("exact", problem.n_features - single.tail)
        return single, chains.find_front(single, known, problem.memory_limit, n_jobs, check)
    several = ThresholdSpace.from_evaluator(problem.evaluator, space, check)
    check.progress.begin("walk", 100)
    return several, walk.walk_front(several, known, n_jobs, check)


def _warn_of_interruption() -> None:
    message = "Search interrupted; the best designs so far are kept, but not proven."
    warnings.warn(message, InterruptedWarning, stacklevel=8)


def _unproven(warm: SearchResult, reason: StopReason, n_designs: int) -> SearchResult:
    """Result of the first designs alone: exact search has settled none."""
    return replace(warm, stop_reason=replace(reason, n_settled=0, n_designs=n_designs))


def _last_record(
    problem: Problem,
    best: tuple[StageArray, Scores],
    front: ExactFront,
    warm: SearchResult,
    seconds: float,
) -> SearchRecord:
    """Record the end of an exact search as one more generation."""
    generation = warm.records[-1].generation + 1
    record = SearchRecord.from_front(generation, *best, problem.evaluator, seconds)
    n_subsets = 2**problem.n_features - 1
    return replace(record, n_designs=front.n_settled, n_subsets=n_subsets)


def _proven(
    problem: Problem,
    subsets: SingleThresholdSpace | ThresholdSpace,
    front: ExactFront,
    warm: SearchResult,
    seconds: float,
) -> SearchResult:
    """Result of a complete exact search, the best balanced design first."""
    subsets.forget()
    scores = problem.evaluator.score(front.designs)
    order = best_balanced_first(front.designs, scores, problem.evaluator.costs.total)
    designs, scores, n_tied = front.designs[order], scores[order], front.n_tied[order]
    is_single = isinstance(subsets, SingleThresholdSpace)
    return SearchResult(
        designs,
        scores,
        (*warm.records, _last_record(problem, (designs, scores), front, warm, seconds)),
        StopReason(Stop.PROVEN, n_settled=front.n_settled),
        n_tied,
        ties=ExactTies(
            find=chains.tied_designs if is_single else walk.tied_designs,
            space=subsets,
            designs=designs,
            scores=scores,
            n_tied=n_tied,
            memory_limit=problem.memory_limit,
        ),
        proven=True,
    )
