"""Choose a search, forecast its time, and run it to its end."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from emsco._base.checks import refused
from emsco._base.objectives import metric_name
from emsco.designs.space import DesignSpace
from emsco.errors import Hint, NoSuchDesign, Parameter, Remedy
from emsco.scoring.pareto import SAME_COST
from emsco.search.loop import SearchResult, run_search
from emsco.search.paper import PaperSearch
from emsco.search.problem import Problem, Watcher, evolve, new_evolution
from emsco.search.proving import prove_front
from emsco.search.reach import Reach, duration
from emsco.search.settings import SearchSettings
from emsco.search.stopping import Stop

__all__ = ["SearchPlan", "check_provable", "plan_search"]

_SECONDS = 10.0  # most that "auto" spends on exact search
_MOMENT = 3.0  # seconds; a shorter search needs no forecast
_FEW_FITS = 1023  # models that "auto" fits for a proof, even if the time of a fit is unknown


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
    """

    kind: str
    settings: SearchSettings
    note: str = ""
    forecast: str = ""

    def run(
        self,
        problem: Problem,
        rng: Generator,
        time_limit: float | None,
        watcher: Watcher,
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
            result = prove_front(problem, self.settings, rng, time_limit, watcher)
        else:
            watcher.begin(self.kind, self.settings.generations)
            result = self._run_generations(problem, rng, time_limit, watcher)
        if whole_limit is not None and result.stop_reason.cause is Stop.TIME_LIMIT:
            reason = replace(result.stop_reason, seconds=whole_limit)
            result = replace(result, stop_reason=reason)
        _check_found(problem, result)
        return replace(result, stop_reason=replace(result.stop_reason, note=self.note))

    def _run_generations(
        self, problem: Problem, rng: Generator, time_limit: float | None, watcher: Watcher
    ) -> SearchResult:
        if self.kind == "evolution":
            search = new_evolution(problem, self.settings, rng)
            return evolve(search, problem, self.settings, time_limit, watcher)
        smallest = problem.evaluator.costs.smallest
        paper = PaperSearch(problem.n_features, smallest, self.settings, rng)
        return run_search(paper, problem.evaluator, time_limit, watcher.generation)


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
    _check_limits(problem, designs)
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
        _check_possible(reach)
        return SearchPlan("exact", settings, forecast=_forecast(problem, reach, _MOMENT))
    if problem.seconds_per_fit is None:
        note = _too_many_fits(problem, reach)
    else:
        late = time_limit is not None and reach.seconds / problem.n_jobs > time_limit
        note = reach.note if late or reach.seconds > _SECONDS or not reach.is_possible else ""
    if note:
        return SearchPlan("evolution", settings, note)
    return SearchPlan("exact", settings, forecast=_forecast(problem, reach))


def _without_proof(search: str, settings: SearchSettings, what: str) -> SearchPlan:
    """Plan an evolution where exact search does not support something; refuse "exact" itself."""
    if search == "exact":
        raise refused("search", f'be "evolution", "paper" or "auto" with {what}', search)
    return SearchPlan("evolution", settings, f"exact search does not support {what}")


def check_provable(search: str, metric: str, *, has_delays: bool = False) -> None:
    """Refuse to prove a front of a metric that needs more than accepted and correct rows.

    With limits on delays, `has_delays`, no front can be proven either.
    """
    if search == "exact" and metric != "accuracy":
        others = 'be "evolution", "paper" or "auto" with '
        rule = (others, Parameter("metric"), f' "{metric}"')
        raise refused("search", rule, search, got='"exact"')
    if search == "exact" and has_delays:
        delayed = 'be "evolution", "paper" or "auto" with limits on delays'
        raise refused("search", delayed, search, got='"exact"')


def _check_possible(reach: Reach) -> None:
    if not reach.is_possible:
        raise refused(
            "search",
            'be "evolution", "paper" or "auto" here',
            "exact",
            got=f'"exact", which would {reach.demand}',
            hint=reach.remedy,
        )


def _forecast(problem: Problem, reach: Reach, moment: float = 0.0) -> str:
    """Estimated time of an exact search; empty if it takes no longer than `moment` seconds."""
    if problem.seconds_per_fit is None:
        return f"exact search over {reach.designs} fits {2**problem.n_features - 1:,} models first"
    if (seconds := reach.seconds / problem.n_jobs) <= moment:
        return ""
    cores = "one core" if problem.n_jobs == 1 else f"{problem.n_jobs} cores"
    return f"exact search over {reach.designs} should take {duration(seconds)} on {cores}"


def _too_many_fits(problem: Problem, reach: Reach) -> str:
    """Why exact search is not used, if the time of a fit is unknown; empty if it is."""
    n_subsets = 2**problem.n_features - 1
    if not reach.is_possible:
        return reach.note
    return f"exact search would fit {n_subsets:,} models" if n_subsets > _FEW_FITS else ""


def _check_limits(problem: Problem, designs: DesignSpace) -> None:
    """Refuse a limit that every design exceeds."""
    limits, costs = problem.evaluator.limits, problem.costs
    total = problem.evaluator.costs.total
    if limits.worst is not None and not designs.allow_exclusion and total > limits.most_paid():
        raise refused(
            "constraints['max_worst_cost']",
            f"be at least {total:g}, because every design buys all features in the end",
            limits.worst,
            got=f"{limits.worst:g}",
            hint=Hint(Remedy.ALLOW_EXCLUSION),
        )
    cheapest = costs.min() if designs.first is None else costs[designs.first]
    least = float(cheapest) + problem.evaluator.costs.evaluation
    for name, limit, most in (
        ("max_mean_cost", limits.mean, limits.most_spent(1)),
        ("max_worst_cost", limits.worst, limits.most_paid()),
    ):
        if limit is not None and least * (1 - SAME_COST) > most:
            raise refused(
                f"constraints[{name!r}]",
                f"be at least {least:g}, the cost of the cheapest first stage",
                limit,
                got=f"{limit:g}",
            )
    if limits.has_delays:
        _check_delays(problem, designs)


def _check_delays(problem: Problem, designs: DesignSpace) -> None:
    """Refuse a limit on delays that every design exceeds."""
    limits, delays = problem.evaluator.limits, problem.evaluator.costs.delays
    soonest = float(delays.min() if designs.first is None else delays[designs.first])
    slowest = 0.0 if designs.allow_exclusion else float(delays.max())
    first = "the delay of the fastest first stage"
    for name, limit, least, why in (
        ("max_mean_delay", limits.mean_delay, soonest, first),
        ("max_worst_delay", limits.worst_delay, soonest, first),
        (
            "max_worst_delay",
            limits.worst_delay,
            slowest,
            "the slowest delay, as every design buys all features in the end",
        ),
    ):
        if limit is not None and least * (1 - SAME_COST) > limit:
            raise refused(
                f"constraints[{name!r}]", f"be at least {least:g}, {why}", limit, got=f"{limit:g}"
            )


def _check_found(problem: Problem, result: SearchResult) -> None:
    """Refuse designs above the limits."""
    if result.scores.feasible.all():  # a search keeps others only while it has none of these
        return
    nearest = int(np.argmin(result.scores.beyond))
    mean = result.scores.cost[nearest]
    evaluator, one = problem.evaluator, slice(nearest, nearest + 1)
    worst = evaluator.worst_costs(result.designs[one])[0]
    waits = ""
    if evaluator.limits.has_delays:
        delays = evaluator.delays(result.designs[one], result.scores.exits[one])
        waits = f", a mean delay of {delays[0][0]:g} and a worst-case delay of {delays[1][0]:g}"
    raise NoSuchDesign(
        f"a design must have {evaluator.limits}, but the nearest found has a mean cost of "
        f"{mean:g} and a worst-case cost of {worst:g}{waits}; {result.stop_reason}."
    )
