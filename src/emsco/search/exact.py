"""Exact search: fit the model of every subset, and prove that no design beats the front.

The proof is a sum. Each design of the space is counted once, as *settled*: when its objectives are
noted, or when a chain that it begins with is given up because a known design beats all that can
follow, or another chain does (`emsco._kernels.labels` says how). In the end the count is the size
of the space, and of what was noted nothing beats the front.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from time import perf_counter
from typing import TYPE_CHECKING

from numpy.random import Generator

from emsco.errors import InterruptedWarning
from emsco.scoring.pareto import best_balanced_first
from emsco.search.labels import LabelFront, Stopped, front_of_chains
from emsco.search.linking import evolve, start_evolution
from emsco.search.loop import SearchRecord, SearchResult, Stop, StopReason
from emsco.search.progress import SearchProgress
from emsco.search.subsets import Subsets

if TYPE_CHECKING:
    from emsco.search.plan import SearchPlan

# Designs; in a larger space, a good front is evolved first where time may run out.
_LARGE = 10**9


def prove_front(
    plan: SearchPlan, rng: Generator, progress: SearchProgress, time_limit: float | None
) -> SearchResult:
    """Score some first designs, fit all models, find the whole front.

    If it stops early, the first designs and what it has found are the result. If it tries more
    than `plan.max_tried` labels, evolution goes on from there. Their number does not depend on the
    machine, so the same data lead to the same search.
    """
    started, evaluator, settings = perf_counter(), plan.evaluator, plan.settings
    space, max_tried = plan.space, plan.max_tried
    may_be_cut = time_limit is not None and space.size > _LARGE
    generations = settings.generations if may_be_cut else 0
    first = replace(settings, generations=generations, patience=max(1, generations))
    progress.begin("first designs", generations)
    search = start_evolution(evaluator, first, rng)
    warm = evolve(search, evaluator, time_limit, progress)

    def check(reached: LabelFront | None = None) -> None:
        if reached:
            progress.exact(reached)
            if max_tried is not None and reached.n_tried > max_tried:
                raise Stopped(StopReason(Stop.LONGER_THAN_PLANNED))
        if time_limit is not None and perf_counter() > started + time_limit:
            raise Stopped(StopReason(Stop.TIME_LIMIT))

    found = LabelFront(stopped=warm.stop_reason)
    if warm.stop_reason == search.stop_reason:  # neither the time limit nor Ctrl-C
        try:
            subsets = Subsets.all(evaluator, space, check)
            progress.begin("exact", space.n_features)
            n_jobs = evaluator.bits.n_jobs
            found = front_of_chains(subsets, warm.scores, plan.memory_limit, n_jobs, check)
        except Stopped as end:
            found = replace(found, stopped=end.reason)
        except KeyboardInterrupt:
            found = replace(found, stopped=StopReason(Stop.INTERRUPTED))
        if found.stopped and found.stopped.is_interrupted:
            message = "Search interrupted; the best designs so far are kept, but not proven."
            warnings.warn(message, InterruptedWarning, stacklevel=7)
    stopped, designs = found.stopped, found.designs
    if stopped and stopped.cause is Stop.LONGER_THAN_PLANNED:
        progress.begin("evolution", settings.generations)
        first_designs, first_scores = search.archive.front()
        search = start_evolution(evaluator, settings, rng)
        search.archive.add(first_designs, first_scores)
        if designs:
            search.archive.add(designs, evaluator.score(designs))
        rest = time_limit and max(0.0, started + time_limit - perf_counter())
        result = evolve(search, evaluator, rest, progress)
        share = f"given up after {found.n_settled / space.size:.0%} of the designs"
        note = f"exact search took longer than planned, and was {share}"
        return replace(result, stop_reason=replace(result.stop_reason, note=note))
    complete = StopReason(Stop.PROVEN if designs else Stop.NOTHING_FEASIBLE)
    reason = replace(stopped or complete, n_settled=found.n_settled, n_designs=space.size)
    if not designs:
        return replace(warm, stop_reason=reason)
    scores = evaluator.score(designs)
    if stopped:
        search.archive.add(designs, scores)
        result = SearchResult.from_archive(search.archive, warm.records, reason)
    else:
        result = SearchResult(designs, scores, warm.records, reason, found.n_tied, proven=True)
        result = result.take(best_balanced_first(designs, scores, evaluator.costs.total))
    # The end of an exact search counts as one more generation.
    generation, seconds = warm.records[-1].generation + 1, perf_counter() - started
    best = result.designs, result.scores
    last = SearchRecord.from_front(generation, *best, evaluator, seconds)
    last = replace(last, n_designs=found.n_settled, n_subsets=2**space.n_features - 1)
    return replace(result, records=(*warm.records, last))
