"""Choose a search, forecast its time, and run it to its end: evolution, or a proof of the front."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from time import perf_counter

from numpy.random import Generator

from emsco._base.objectives import metric_name
from emsco._base.text import DAY, duration
from emsco._base.typing import StageArray
from emsco.designs.space import DesignSpace
from emsco.errors import InterruptedWarning, ParameterError
from emsco.scoring.pareto import best_balanced_first
from emsco.scoring.scores import Scores
from emsco.search.exact import chains, walk
from emsco.search.exact.proof import (
    ExactFront,
    ExactProgress,
    ExactTies,
    LongerThanPlannedError,
    TimeLimitError,
)
from emsco.search.exact.spaces import SingleThresholdSpace, ThresholdSpace
from emsco.search.links import evolve, start_evolution
from emsco.search.loop import SearchRecord, SearchResult, Stop, StopReason, run_search
from emsco.search.paper import PaperLoop
from emsco.search.problem import Problem
from emsco.search.progress import SearchProgress
from emsco.search.settings import SearchSettings

# Seconds on one core, good to a factor of a few: lab/REPORT.md.
_PER_DESIGN = 15e-9
_PER_DESIGN_EXCLUDING = 45e-9  # bounds are weaker if designs may leave features out
_PER_CHAIN = 40e-9
# With thresholds, per subset that a walk tries, and per word of its rows and threshold. Of all
# chains, a walk tries about one in the square root of the thresholds: docs/how/search.md.
_PER_SUBSET = 15e-9
_PER_WORD = 2e-9
_GROWTH = 4.5  # factor of kinds of chains per feature, with any number of stages
_MOST_FEATURES = 30
_MOST_WEIGHT = 2**31
MAX_EXACT = 10.0  # seconds, most that "auto" plans for exact search
_LONGER = 2  # times as long, and it gives a walk up and evolves designs instead
_MOMENT = 3.0  # seconds; a shorter search needs no forecast
_FEW_FITS = 1023  # models that "auto" fits for a proof, even if the time of a fit is unknown
# Designs; in a larger space, exact search first evolves a good front.
_LARGE = 10**8
_LARGE_WITH_THRESHOLDS = 10**10  # a walk finds good designs by itself


@dataclass(frozen=True, slots=True)
class Reach:
    """How far exact search is from being possible.

    Attributes
    ----------
    n_designs : int
    seconds : float
        Estimated time on one core.
    obstacle : str
        Demand that exact search cannot meet; empty if there is none.
    has_thresholds : bool
        Whether designs differ in thresholds too, which makes many more of them.
    """

    n_designs: int
    seconds: float
    obstacle: str
    has_thresholds: bool = False

    @classmethod
    def from_problem(cls, problem: Problem, space: DesignSpace) -> Reach:
        """Estimate the reach of exact search on a problem."""
        return cls(
            n_designs=space.size,
            seconds=exact_seconds(problem, space),
            obstacle=_obstacle(problem, space),
            has_thresholds=not problem.evaluator.grid.is_single,
        )

    @property
    def is_possible(self) -> bool:
        """Whether exact search meets no obstacle and ends within a day."""
        return not self.obstacle and self.seconds <= DAY

    @property
    def designs(self) -> str:
        """Size of the space in words."""
        return f"{readable(self.n_designs)} designs"

    @property
    def demand(self) -> str:
        """Everything that exact search would have to do, after the word "would"."""
        settle = f"settle {self.designs}"
        others = f"{settle}, {self.obstacle}" if self.obstacle else settle
        return f"{others} and {self._time}"

    @property
    def remedy(self) -> str:
        """What brings exact search within reach."""
        one_threshold = "one number as min_confidence, " if self.has_thresholds else ""
        return f"use fewer features or stages, {one_threshold}or raise memory_limit"

    @property
    def note(self) -> str:
        """Why evolution is used instead, in a few words."""
        if self.is_possible:
            return f"exact search over {self.designs} would {self._time}"
        # The size is reason enough, unless a larger memory_limit would do.
        reason = self.designs if self.seconds > DAY else f"it would {self.obstacle}"
        return f"exact search is out of reach: {reason}"

    @property
    def _time(self) -> str:
        return f"take {duration(self.seconds)} on one core"


def exact_seconds(problem: Problem, space: DesignSpace) -> float:
    """Estimate the time on one core: to fit all models, and to settle designs or chains."""
    n_features = min(problem.n_features, 400)  # with more, floats overflow
    space = replace(space, n_features=n_features, first=None if space.first is None else 0)
    fitting = 2.0**n_features * (problem.seconds_per_fit or 0.0)
    n_designs = min(space.size, 10**300)
    if not problem.evaluator.grid.is_single:
        n_tried = n_designs / space.n_last / math.sqrt(max(space.n_early, space.n_last))
        return fitting + n_tried * _seconds_per_subset(problem)
    per_design = _PER_DESIGN_EXCLUDING if space.allow_exclusion else _PER_DESIGN
    designs = n_designs * per_design
    chains = _GROWTH**n_features * _PER_CHAIN
    return fitting + min(designs, chains)


def _seconds_per_subset(problem: Problem) -> float:
    """Estimate the time that a walk takes to try a subset at all levels."""
    n_words = problem.evaluator.bank.n_words * (problem.evaluator.grid.n_levels + 2)
    return _PER_SUBSET + n_words * _PER_WORD


def _obstacle(problem: Problem, space: DesignSpace) -> str:
    """Demand that exact search cannot meet, after the word "would"; empty if there is none."""
    n_features = problem.n_features
    n_subsets = 2**n_features - 1
    if n_features > _MOST_FEATURES:
        return f"fit {readable(n_subsets)} models for {n_features} features"
    if n_subsets > problem.capacity:
        return f"keep {n_subsets:,} models where memory_limit holds {problem.capacity:,}"
    grid, n_words = problem.evaluator.grid, problem.evaluator.bank.n_words
    n_bytes = SingleThresholdSpace.n_bytes(n_features, n_words)
    has_codes = (space.max_stages + space.allow_exclusion) ** (n_features + 1) < 2**62
    if not grid.is_single:
        n_bytes = ThresholdSpace.n_bytes(n_features, grid.n_levels, n_words)
        has_codes = ThresholdSpace.has_codes(n_features, space.deepest, grid.n_levels)
        has_codes &= space.size < 2**62
    if n_bytes > problem.memory_limit:
        return f"keep {n_bytes:,} bytes of bits where memory_limit is {problem.memory_limit:,}"
    if not has_codes:
        return f"need more than 62 bits for {n_features} features in {space.max_stages} stages"
    if problem.evaluator.bank.n_rows >= _MOST_WEIGHT:
        return f"need more than 31 bits for a row weight of {problem.evaluator.bank.n_rows:,}"
    return ""


def readable(number: int) -> str:
    """Write a number with all its digits, or as a power of ten if they are too many."""
    return f"{number:,}" if number < 10**15 else f"about 10^{int(math.log10(number))}"


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """The search to run, and words about it.

    Attributes
    ----------
    kind : {"exact", "evolution", "paper"}
    settings : SearchSettings
    note : str
        Why "auto" did not choose exact search. It becomes the note of the stop reason.
    forecast : str
        Estimated time of an exact search, for the progress bar.
    max_tried : int or None
        Subsets that an exact search may try before evolution takes its place; None: all.
    """

    kind: str
    settings: SearchSettings
    note: str = ""
    forecast: str = ""
    max_tried: int | None = None

    def run(
        self,
        problem: Problem,
        rng: Generator,
        time_limit: float | None,
        progress: SearchProgress,
        whole_limit: float | None = None,
    ) -> SearchResult:
        """Run the search to its end, the time limit or Ctrl-C.

        Messages name `whole_limit`, if `time_limit` is a share of it.

        Raises
        ------
        NoSuchDesign
            If no design found is within the limits.
        """
        if self.kind == "exact":
            result = prove_front(problem, self.settings, rng, time_limit, progress, self.max_tried)
        else:
            progress.begin(self.kind, self.settings.generations)
            if self.kind == "evolution":
                search = start_evolution(problem, self.settings, rng)
                result = evolve(search, problem, self.settings, time_limit, progress)
            else:
                smallest = problem.evaluator.costs.smallest
                paper = PaperLoop(problem.n_features, smallest, self.settings, rng)
                result = run_search(paper, problem.evaluator, time_limit, progress.generation)
        if whole_limit is not None and result.stop_reason.cause is Stop.TIME_LIMIT:
            reason = replace(result.stop_reason, seconds=whole_limit)
            result = replace(result, stop_reason=reason)
        problem.check_result(result)
        note = self.note or result.stop_reason.note
        return replace(result, stop_reason=replace(result.stop_reason, note=note))


def plan_search(
    search: str, problem: Problem, settings: SearchSettings, time_limit: float | None = None
) -> SearchPlan:
    """Choose the search that "auto", "exact", "evolution" or "paper" means for a problem.

    Raises
    ------
    ParameterError
        If "exact" is out of reach, or no design can be within the limits.
    """
    metric = problem.evaluator.metric
    check_provable(search, metric, has_delays=problem.evaluator.limits.has_delays)
    designs = settings.space(problem.n_features, problem.evaluator.grid)
    problem.check_limits(designs)
    if search in ("evolution", "paper"):
        return SearchPlan(search, settings)
    if metric != "accuracy":
        return _without_proof(search, settings, metric_name(metric))
    if problem.evaluator.limits.has_delays:
        return _without_proof(search, settings, "limits on delays")
    if problem.evaluator.prices is not None:
        return _without_proof(search, settings, "prices that differ from row to row")
    reach = Reach.from_problem(problem, designs)
    if search == "exact":
        if not reach.is_possible:
            raise ParameterError(
                'search must be "evolution", "paper" or "auto" here, got "exact", which would '
                f"{reach.demand}; {reach.remedy}."
            )
        return SearchPlan("exact", settings, forecast=_forecast(problem, reach, _MOMENT))
    n_subsets = 2**problem.n_features - 1
    late = time_limit is not None and reach.seconds / problem.n_jobs > time_limit
    note = ""
    if not reach.is_possible:
        note = reach.note
    elif problem.seconds_per_fit is None and n_subsets > _FEW_FITS:
        note = f"exact search would fit {n_subsets:,} models"
    elif late or reach.seconds > MAX_EXACT:
        note = reach.note
    if note:
        return SearchPlan("evolution", settings, note)
    max_tried = None
    if reach.has_thresholds:
        max_tried = int(_LONGER * MAX_EXACT / _seconds_per_subset(problem))
    return SearchPlan("exact", settings, forecast=_forecast(problem, reach), max_tried=max_tried)


def _without_proof(search: str, settings: SearchSettings, what: str) -> SearchPlan:
    """Plan an evolution where exact search does not support something; refuse "exact" itself."""
    if search == "exact":
        raise ParameterError(
            f'search must be "evolution", "paper" or "auto" with {what}, got {search!r}.'
        )
    return SearchPlan("evolution", settings, f"exact search does not support {what}")


def check_provable(search: str, metric: str, *, has_delays: bool = False) -> None:
    """Refuse to prove a front of a metric that needs more than accepted and correct rows.

    With limits on delays, `has_delays`, no front can be proven either.
    """
    if search == "exact" and metric != "accuracy":
        raise ParameterError(
            f'search must be "evolution", "paper" or "auto" with metric "{metric}", got "exact".'
        )
    if search == "exact" and has_delays:
        raise ParameterError(
            'search must be "evolution", "paper" or "auto" with limits on delays, got "exact".'
        )


def _forecast(problem: Problem, reach: Reach, moment: float = 0.0) -> str:
    """Estimated time of an exact search; empty if it takes no longer than `moment` seconds."""
    if problem.seconds_per_fit is None:
        return f"exact search over {reach.designs} fits {2**problem.n_features - 1:,} models first"
    if (seconds := reach.seconds / problem.n_jobs) <= moment:
        return ""
    said = f"exact search over {reach.designs} should take {duration(reach.seconds)} on one core"
    here = duration(seconds)
    if here == duration(reach.seconds):
        return said
    return f"{said}, {here} on {problem.n_jobs}"


def prove_front(
    problem: Problem,
    settings: SearchSettings,
    rng: Generator,
    time_limit: float | None,
    progress: SearchProgress,
    max_tried: int | None = None,
) -> SearchResult:
    """Score some first designs, fit all models, find the whole front.

    Exact search skips everything that the first designs dominate. If time runs out, they are
    the result. If a walk tries more than `max_tried` subsets, evolution goes on from what it found.
    The number of subsets does not depend on the machine, so the same data lead to the same search.
    """
    started = perf_counter()
    space = settings.space(problem.n_features, problem.evaluator.grid)
    large = _LARGE if problem.evaluator.grid.is_single else _LARGE_WITH_THRESHOLDS
    generations = settings.generations if space.size > large else 0
    # The better the first designs, the more is skipped: they are searched for to the end.
    first = replace(settings, generations=generations, patience=max(1, generations))
    progress.begin("first designs", first.generations)
    search = start_evolution(problem, first, rng)
    warm = evolve(search, problem, first, time_limit, progress)
    if warm.stop_reason != search.stop_reason:  # the time limit or Ctrl-C
        return _unproven(warm, warm.stop_reason, space.size)

    def check(done: ExactProgress | None = None) -> None:
        if done:
            progress.exact(done)
            if max_tried is not None and done.n_tried > max_tried:
                raise LongerThanPlannedError
        if time_limit is not None and perf_counter() > started + time_limit:
            raise TimeLimitError(time_limit)

    subsets: SingleThresholdSpace | ThresholdSpace
    n_jobs, known = problem.n_jobs, warm.scores
    try:
        # Labels of chains, or a walk if stages have thresholds of their own.
        if problem.evaluator.grid.is_single:
            subsets = SingleThresholdSpace.from_evaluator(problem.evaluator, space, check)
            progress.begin("exact", problem.n_features - subsets.tail)
            front = chains.find_front(subsets, known, problem.memory_limit, n_jobs, check)
        else:
            subsets = ThresholdSpace.from_evaluator(problem.evaluator, space, check)
            progress.begin("walk", 100)
            front = walk.walk_front(subsets, known, n_jobs, check)
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
    if front.stopped.cause is Stop.LONGER_THAN_PLANNED:
        return _evolved_instead(problem, settings, rng, started, time_limit, progress, front)
    if front.stopped.is_interrupted:
        _warn_of_interruption()
    reason = replace(front.stopped, n_settled=front.n_settled, n_designs=space.size)
    if len(front.designs):
        search.archive.add(front.designs, problem.evaluator.score(front.designs))
    best = search.archive.front()
    last = _last_record(problem, best, front, warm, perf_counter() - started)
    return SearchResult.from_archive(search.archive, (*warm.records, last), reason)


def _evolved_instead(
    problem: Problem,
    settings: SearchSettings,
    rng: Generator,
    started: float,
    time_limit: float | None,
    progress: SearchProgress,
    front: ExactFront,
) -> SearchResult:
    """Evolve designs after a walk that was given up; those it found take part."""
    progress.begin("evolution", settings.generations)
    search = start_evolution(problem, settings, rng)
    if len(front.designs):
        search.archive.add(front.designs, problem.evaluator.score(front.designs))
    rest = None if time_limit is None else max(0.0, started + time_limit - perf_counter())
    result = evolve(search, problem, settings, rest, progress)
    space = settings.space(problem.n_features, problem.evaluator.grid)
    given_up = f"given up after {100 * front.n_settled / space.size:.0f} % of the designs"
    note = f"exact search took longer than planned, and was {given_up}"
    return replace(result, stop_reason=replace(result.stop_reason, note=note))


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
