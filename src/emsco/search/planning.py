"""Which search to run, how long exact search would take, and running it to its end."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Protocol

import numpy as np
from numpy.random import Generator

from emsco._base.checks import refused
from emsco._base.typing import FloatArray, StageArray
from emsco.designs.space import DesignSpace
from emsco.errors import Hint, InterruptedWarning, NoSuchDesign, Parameter, Remedy
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import SAME_COST, best_balanced_first
from emsco.scoring.scores import Scores
from emsco.search.evolution import EvolutionSearch
from emsco.search.exact.front import ExactFront, ExactProgress, TimeLimitError, find_front
from emsco.search.exact.landscape import Landscape
from emsco.search.exact.ties import LandscapeTies
from emsco.search.loop import SearchRecord, SearchResult, run_search
from emsco.search.paper import PaperSearch
from emsco.search.settings import SearchSettings
from emsco.search.stopping import Stop, StopReason

__all__ = ["Problem", "SearchPlan", "Watcher", "plan_search"]

# Seconds on one core, good to a factor of a few: benchmarks/search.py, landscapes and every.
_PER_DESIGN = 15e-9
_PER_DESIGN_EXCLUDING = 45e-9  # where features may be left out, bounds are weaker
_PER_CHAIN = 40e-9
_GROWTH = 4.5  # kinds of chains, by feature, where stages are not limited
_SECONDS = 10.0  # that "auto" gives to exact search
_MOMENT = 3.0  # seconds that nobody need be told of
_DAY = 86_400.0
_FEW_FITS = 1023  # subsets that "auto" fits for a proof, however long a fit takes
_MOST_FEATURES = 30
_MOST_WEIGHT = 2**31
_LARGE = 10**8  # designs from which on exact search first looks for a good front


class Watcher(Protocol):
    """Who wants to see how a search goes."""

    def begin(self, what: str, total: int) -> None:
        """Something begins that has so many steps."""

    def generation(self, record: SearchRecord) -> None:
        """A generation is complete."""

    def exact(self, progress: ExactProgress) -> None:
        """A part of an exact search is done."""


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """What a search is given: an evaluator, the costs, and how much it may use.

    Parameters
    ----------
    evaluator : Evaluator
    costs : ndarray of shape (n_features,)
    seconds_per_fit : float or None
        How long a subset takes to fit on one core; None where nobody knows.
    capacity : int
        Subsets that fit into the memory of the bank.
    memory_limit : int
        Bytes that an exact search may take beside the bank.
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
        """How many features there are."""
        return len(self.costs)


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """The search to run: "exact", "evolution" or "paper"; and what there is to say about it.

    `why` is the library's reason, where it chose; `takes` is about how long a search will take that
    was asked for and is no matter of a moment.
    """

    kind: str
    settings: SearchSettings
    why: str = ""
    takes: str = ""

    def run(
        self,
        problem: Problem,
        rng: Generator,
        time_limit: float | None,
        watcher: Watcher,
    ) -> SearchResult:
        """Run the search to its end, the time limit or Ctrl-C.

        Raises
        ------
        NoSuchDesign
            Where no design that was found is within the limits of costs.
        """
        if self.kind == "exact":
            result = _run_exact(problem, self.settings, rng, time_limit, watcher)
        else:
            watcher.begin(self.kind, self.settings.generations)
            search = self._search(problem, rng)
            result = run_search(search, problem.evaluator, time_limit, watcher.generation)
        _check_found(problem, result)
        return replace(result, stop_reason=replace(result.stop_reason, note=self.why))

    def _search(self, problem: Problem, rng: Generator) -> PaperSearch | EvolutionSearch:
        if self.kind == "paper":
            costs = problem.evaluator.costs
            return PaperSearch(problem.n_features, costs.smallest, self.settings, rng)
        return _evolution(problem, self.settings, rng)


def plan_search(
    search: str, problem: Problem, settings: SearchSettings, time_limit: float | None = None
) -> SearchPlan:
    """What "auto", "exact", "evolution" or "paper" means for a problem.

    Raises
    ------
    ParameterError
        Where "exact" was asked for and is out of reach, or where a limit of costs excludes every
        design.
    """
    designs = settings.space(problem.n_features)
    _check_limits(problem, designs)
    if search in ("evolution", "paper"):
        return SearchPlan(search, settings)
    seconds = _exact_seconds(problem, designs)
    obstacle = _obstacle(problem, designs, seconds)
    space = f"{_readable(designs.size)} designs"
    time = f"take {_duration(seconds / problem.n_jobs)}"
    if search == "exact":
        if obstacle:
            raise refused(
                "search",
                'be "evolution", "paper" or "auto" here',
                search,
                got=f'"exact", which would have to settle {space} and {obstacle}, and {time}',
                hint=(
                    "fewer features or stages, or more ",
                    Parameter("memory_limit"),
                    ", bring it into reach",
                ),
            )
        return SearchPlan("exact", settings, takes=_takes(problem, space, seconds))
    if problem.seconds_per_fit is None:
        return _plan_by_fits(problem, settings, obstacle)
    on_one_core = f"take {_duration(seconds)} on one core"
    late = time_limit is not None and seconds / problem.n_jobs > time_limit
    if obstacle or late or seconds > _SECONDS:
        would = obstacle or on_one_core
        why = f"evolution was chosen because exact search over {space} would {would}"
        return SearchPlan("evolution", settings, why)
    why = f"exact search was chosen because it should {on_one_core}"
    return SearchPlan("exact", settings, why)


def _takes(problem: Problem, space: str, seconds: float) -> str:
    """About how long an exact search takes; empty where that is a moment."""
    if problem.seconds_per_fit is None:
        return f"exact search over {space} fits {2**problem.n_features - 1:,} subsets first"
    if (seconds := seconds / problem.n_jobs) <= _MOMENT:
        return ""
    cores = "one core" if problem.n_jobs == 1 else f"{problem.n_jobs} cores"
    return f"exact search over {space} should take {_duration(seconds)} on {cores}"


def _plan_by_fits(problem: Problem, settings: SearchSettings, obstacle: str) -> SearchPlan:
    """What "auto" means where nobody knows how long a fit takes: few subsets are all fitted."""
    n_subsets = 2**problem.n_features - 1
    if obstacle or n_subsets > _FEW_FITS:
        would = obstacle or f"fit {n_subsets:,} subsets"
        why = f"evolution was chosen because exact search would {would}"
        return SearchPlan("evolution", settings, why)
    why = f"exact search was chosen because there are {n_subsets:,} subsets to fit, and no more"
    return SearchPlan("exact", settings, why)


def _check_limits(problem: Problem, designs: DesignSpace) -> None:
    """Refuse a limit that every design exceeds, whatever its rows do."""
    limits, costs = problem.evaluator.limits, problem.costs
    total = problem.evaluator.costs.total
    if limits.worst is not None and not designs.allow_exclusion and total > limits.most_paid():
        raise refused(
            "constraints['max_worst_cost']",
            f"be at least {total:g}, since every design buys everything in the end",
            limits.worst,
            got=f"{limits.worst:g}",
            hint=Hint(Remedy.ALLOW_EXCLUSION),
        )
    cheapest = costs.min() if designs.first is None else costs[designs.first]
    least = float(cheapest) + total - float(costs.sum())
    for name, limit, most in (
        ("max_mean_cost", limits.mean, limits.most_spent(1)),
        ("max_worst_cost", limits.worst, limits.most_paid()),
    ):
        if limit is not None and least * (1 - SAME_COST) > most:
            raise refused(
                f"constraints[{name!r}]",
                f"be at least {least:g}, which the cheapest first stage costs",
                limit,
                got=f"{limit:g}",
            )


def _check_found(problem: Problem, result: SearchResult) -> None:
    """Refuse designs past the limits of costs, which a search keeps while it has no others."""
    if result.scores.feasible.all():
        return
    nearest = int(np.argmin(result.scores.beyond))
    mean = result.scores.cost[nearest]
    worst = problem.evaluator.worst_costs(result.designs[nearest : nearest + 1])[0]
    raise NoSuchDesign(
        f"a design must have {problem.evaluator.limits}, and the nearest found has a mean cost of "
        f"{mean:g} and a worst-case cost of {worst:g}; {result.stop_reason}."
    )


def _evolution(problem: Problem, settings: SearchSettings, rng: Generator) -> EvolutionSearch:
    evaluator = problem.evaluator
    return EvolutionSearch(problem.costs, settings, rng, evaluator.costs.total, evaluator.per_row)


def _exact_seconds(problem: Problem, space: DesignSpace) -> float:
    """A rough estimate for one core: fits of all subsets, and designs or kinds of chains."""
    n_features = min(problem.n_features, 400)  # past which floats run out, and everyone's time
    space = replace(space, n_features=n_features, first=space.first and 0)
    fits = 2.0**n_features * (problem.seconds_per_fit or 0.0)
    per_design = _PER_DESIGN_EXCLUDING if space.allow_exclusion else _PER_DESIGN
    designs = min(space.size, 10**300) * per_design
    chains = _GROWTH**n_features * _PER_CHAIN
    return fits + min(designs, chains)


def _obstacle(problem: Problem, space: DesignSpace, seconds: float) -> str:
    """Why exact search is out of reach; empty where it is not."""
    n_features = problem.n_features
    n_subsets = 2**n_features - 1
    if n_features > _MOST_FEATURES:
        return f"fit {_readable(n_subsets)} subsets of {n_features} features"
    if n_subsets > problem.capacity:
        held = f"memory_limit holds {problem.capacity:,}"
        return f"keep {n_subsets:,} subsets of {n_features} features, of which {held}"
    n_bytes = Landscape.n_bytes(n_features, problem.evaluator.bank.n_words)
    if n_bytes > problem.memory_limit:
        return f"hold {n_bytes:,} bytes of bits, and memory_limit is {problem.memory_limit:,}"
    if (space.max_stages + space.allow_exclusion) ** (n_features + 1) >= 2**62:
        return f"need chromosomes of {n_features} genes and {space.max_stages} stages in 62 bits"
    if problem.evaluator.bank.n_rows >= _MOST_WEIGHT:
        return f"count rows whose weights add up to {problem.evaluator.bank.n_rows:,} in 31 bits"
    return "need more than a day" if seconds > _DAY else ""


def _run_exact(
    problem: Problem,
    settings: SearchSettings,
    rng: Generator,
    time_limit: float | None,
    watcher: Watcher,
) -> SearchResult:
    """Score some designs, fit all subsets, find the whole front.

    What the scored designs dominate need not be looked at, and should the time run out they are
    what is known.
    """
    started = perf_counter()
    deadline = np.inf if time_limit is None else started + time_limit
    space = settings.space(problem.n_features)
    n_designs = space.size
    large = n_designs > _LARGE
    first = replace(settings, generations=settings.generations if large else 0, patience=None)
    watcher.begin("first designs", first.generations)
    search = _evolution(problem, first, rng)
    evaluator = problem.evaluator
    warm = run_search(search, evaluator, time_limit, watcher.generation)
    if warm.stop_reason != search.stop_reason:  # the time limit or Ctrl-C
        return _unproven(warm, warm.stop_reason, n_designs)

    def check(progress: ExactProgress | None = None) -> None:
        if progress:
            watcher.exact(progress)
        if perf_counter() > deadline:
            raise TimeLimitError(time_limit or 0.0)

    try:
        landscape = Landscape.from_evaluator(evaluator, space, check)
        watcher.begin("exact", problem.n_features - landscape.tail)
        found = find_front(landscape, warm.scores, problem.memory_limit, problem.n_jobs, check)
    except TimeLimitError as limit:
        return _unproven(warm, StopReason(Stop.TIME_LIMIT, seconds=limit.seconds), n_designs)
    except KeyboardInterrupt:
        _warn_of_interruption()
        return _unproven(warm, StopReason(Stop.INTERRUPTED), n_designs)
    if found.stopped is None and not len(found.designs):
        nothing = StopReason(Stop.NOTHING_FEASIBLE, n_settled=found.n_settled)
        return replace(warm, stop_reason=nothing)
    if found.stopped is None:
        return _proven(problem, landscape, found, warm, perf_counter() - started)
    if found.stopped.is_interrupted:
        _warn_of_interruption()
    archive = search.archive
    had = {design.tobytes() for design in archive.designs}
    new = [i for i, design in enumerate(found.designs) if design.tobytes() not in had]
    if new:
        archive.add(found.designs[new], evaluator.score(found.designs[new]))
    reason = replace(found.stopped, n_settled=found.n_settled, n_designs=n_designs)
    last = _last_record(problem, archive.front(), found, warm, perf_counter() - started)
    return SearchResult.of_archive(archive, (*warm.records, last), reason)


def _warn_of_interruption() -> None:
    message = "Search interrupted; what it has found so far is kept, not proven."
    warnings.warn(message, InterruptedWarning, stacklevel=6)


def _unproven(warm: SearchResult, reason: StopReason, n_designs: int) -> SearchResult:
    """What was known before exact search settled any design."""
    return replace(warm, stop_reason=replace(reason, n_settled=0, n_designs=n_designs))


def _last_record(
    problem: Problem,
    front: tuple[StageArray, Scores],
    found: ExactFront,
    warm: SearchResult,
    seconds: float,
) -> SearchRecord:
    """How an exact search ended, as the generation after the last of its first designs."""
    generation = warm.records[-1].generation + 1
    record = SearchRecord.from_front(generation, *front, problem.evaluator, seconds)
    n_subsets = 2**problem.n_features - 1
    return replace(record, n_designs=found.n_settled, n_subsets=n_subsets)


def _proven(
    problem: Problem,
    landscape: Landscape,
    found: ExactFront,
    warm: SearchResult,
    seconds: float,
) -> SearchResult:
    landscape.forget()
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
        LandscapeTies(landscape, designs, scores, n_tied, problem.memory_limit),
        proven=True,
    )


def _readable(number: int) -> str:
    """All digits of a number, or its magnitude where they are too many."""
    return f"{number:,}" if number < 10**15 else f"about 10^{int(math.log10(number))}"


def _duration(seconds: float) -> str:
    """Seconds in the largest unit of which they make two or more."""
    if seconds < 1:
        return "a second or less"
    if seconds > 1e15 * _DAY:
        return "more than 10^12 years"
    units = (("years", 365.25 * _DAY), ("days", _DAY), ("hours", 3600.0), ("minutes", 60.0))
    for name, length in units:
        if seconds >= 2 * length:
            return f"about {seconds / length:,.0f} {name}"
    return "about 1 second" if round(seconds) == 1 else f"about {seconds:.0f} seconds"
