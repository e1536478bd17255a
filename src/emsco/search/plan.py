"""Choose a search, say how long a proof would take, and run it to its end."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from emsco._base.objectives import metric_name
from emsco._base.text import DAY, duration
from emsco.designs.space import DesignSpace
from emsco.errors import NoSuchDesign, ParameterError
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import SAME_COST
from emsco.scoring.scores import CostLimits
from emsco.search.exact import prove_front
from emsco.search.linking import evolve, start_evolution
from emsco.search.loop import SearchResult, Stop, run_search
from emsco.search.paper import PaperLoop
from emsco.search.progress import SearchProgress
from emsco.search.settings import SearchSettings
from emsco.search.subsets import Subsets

# Seconds on one core, good to a factor of a few: lab/REPORT.md.
_PER_DESIGN = 15e-9
_PER_DESIGN_EXCLUDING = 45e-9  # bounds are weaker if designs may leave features out
_PER_CHAIN = 40e-9
_GROWTH = 4.5  # factor of kinds of chains per feature, with any number of stages
# Per label that is tried with a larger subset: for each level of a stage before the last, and for
# each word of rows at each level. With several thresholds, of all chains about one in four square
# roots of their number is tried: docs/how/exact.md.
_PER_LEVEL, _PER_WORD = 20e-9, 2e-9
_MOST_FEATURES = 30
_MOST_ROWS, _MOST_DESIGNS = 2**31, 2**62
MAX_EXACT = 10.0  # seconds, most that "auto" plans for exact search
_LONGER = 2  # times as long, and "auto" gives it up and evolves designs instead
_FEW_FITS = 1023  # models that "auto" fits for a proof, even if the time of a fit is unknown


@dataclass(frozen=True, slots=True, eq=False)
class SearchPlan:
    """A search to run, and words about it.

    Attributes
    ----------
    evaluator : Evaluator
    settings : SearchSettings
        Of "exact", "evolution" or "paper".
    memory_limit : int
        Bytes that an exact search may use beside bits and models.
    note : str
        Why "auto" did not choose exact search. It becomes the note of the stop reason.
    forecast : str
        Estimated time of an exact search, for the progress bar.
    max_tried : int or None
        Labels that an exact search may try before evolution takes its place; None: all.
    """

    evaluator: Evaluator
    settings: SearchSettings
    memory_limit: int
    note: str = ""
    forecast: str = ""
    max_tried: int | None = None

    @property
    def space(self) -> DesignSpace:
        """The designs to search."""
        return self.settings.space(len(self.evaluator.costs.names), self.evaluator.grid)

    @property
    def exactly(self) -> str:
        """An exact search in words."""
        return f"exact search over {_readable(self.space.size)} designs"

    def run(
        self,
        rng: Generator,
        progress: SearchProgress,
        time_limit: float | None = None,
        whole_limit: float | None = None,
    ) -> SearchResult:
        """Run the search to its end, the time limit or Ctrl-C.

        Messages name `whole_limit`, if `time_limit` is a share of it.

        Raises
        ------
        NoSuchDesign
            If no design found is within the limits.
        """
        evaluator, settings = self.evaluator, self.settings
        if settings.kind == "exact":
            result = prove_front(self, rng, progress, time_limit)
        else:
            progress.begin(settings.kind, settings.generations)
            if settings.kind == "evolution":
                search = start_evolution(evaluator, settings, rng)
                result = evolve(search, evaluator, time_limit, progress)
            else:
                costs = evaluator.costs
                paper = PaperLoop(len(costs.names), costs.smallest, settings, rng)
                result = run_search(paper, evaluator, time_limit, progress.generation)
        reason = result.stop_reason
        if reason.cause is Stop.TIME_LIMIT:
            reason = replace(reason, seconds=whole_limit or time_limit)
        result = replace(result, stop_reason=replace(reason, note=self.note or reason.note))
        self._check_feasible(result)
        return result

    def obstacle(self, time_limit: float | None) -> str:
        """Say what keeps exact search from running, or "auto" from choosing it; else empty."""
        evaluator, space, bits = self.evaluator, self.space, self.evaluator.bits
        if evaluator.metric != "accuracy":
            return f"exact search does not support {metric_name(evaluator.metric)}"
        if evaluator.limits.has_delays:
            return "exact search does not support limits on delays"
        if evaluator.costs.prices:
            return "exact search does not support prices that differ from row to row"
        n_features, n_subsets = space.n_features, 2**space.n_features - 1
        would = f"{self.exactly} would"
        if n_features > _MOST_FEATURES:
            return f"{would} fit {_readable(n_subsets)} models"
        if n_subsets > bits.capacity:
            return f"{would} keep {n_subsets:,} models where memory_limit holds {bits.capacity:,}"
        n_bytes = Subsets.n_bytes(n_features, evaluator.grid.n_levels, bits.n_words)
        if n_bytes > self.memory_limit:
            return f"{would} keep {n_bytes:,} bytes where memory_limit is {self.memory_limit:,}"
        if space.size >= _MOST_DESIGNS or bits.n_rows >= _MOST_ROWS:
            return f"{would} need larger whole numbers than there are"
        seconds, most = self.exact_seconds, DAY
        if self.settings.kind == "auto":
            if n_subsets > _FEW_FITS and bits.bank.engine.seconds_per_fit() is None:
                return f"{would} fit {n_subsets:,} models"
            most = min(MAX_EXACT, math.inf if time_limit is None else time_limit * bits.n_jobs)
        return f"{would} take {duration(seconds)} on one core" if seconds > most else ""

    @property
    def exact_seconds(self) -> float:
        """Estimated time on one core: to fit all models, and to settle designs or chains."""
        space, per_fit = self.space, self.evaluator.bits.bank.engine.seconds_per_fit()
        fitting = 2.0**space.n_features * (per_fit or 0.0)
        if not self.evaluator.grid.is_single:
            rarely = 4 * math.sqrt(max(space.n_early, space.n_last))
            return fitting + space.size / space.n_last / rarely * self.seconds_per_label
        per_design = _PER_DESIGN_EXCLUDING if space.allow_exclusion else _PER_DESIGN
        return fitting + min(space.size * per_design, _GROWTH**space.n_features * _PER_CHAIN)

    @property
    def seconds_per_label(self) -> float:
        """Estimated time to try a label with a larger subset, at all levels."""
        grid, n_words = self.evaluator.grid, self.evaluator.bits.n_words
        return _PER_LEVEL * (len(grid.early) + 1) + _PER_WORD * n_words * grid.n_levels

    def check_limits(self) -> None:
        """Refuse a limit that every design of the space exceeds."""
        limits, costs, space = self.evaluator.limits, self.evaluator.costs, self.space
        first = slice(None) if space.first is None else [space.first]
        cheapest = worst_cost = costs.alone[first].min() + costs.evaluation
        soonest = worst_delay = costs.delays[first].min()
        if not space.allow_exclusion:  # every design buys everything in the end
            worst_cost, worst_delay = costs.total, costs.delays.max()
        for name, limit, least in (
            ("max_mean_cost", limits.mean, cheapest),
            ("max_worst_cost", limits.worst, worst_cost),
            ("max_mean_delay", limits.mean_delay, soonest),
            ("max_worst_delay", limits.worst_delay, worst_delay),
        ):
            if limit is not None and least * (1 - SAME_COST) > limit:
                raise ParameterError(
                    f"constraints[{name!r}] must be at least {least:g} here, as no design has "
                    f"less, got {limit:g}."
                )

    def _check_feasible(self, result: SearchResult) -> None:
        """Refuse designs above the limits; a search keeps them only while it has no others."""
        scores, evaluator = result.scores, self.evaluator
        if scores.feasible.all():
            return
        nearest = [int(np.argmin(scores.excess))]
        design = result.designs[nearest]
        needed = evaluator.limited(design, scores[nearest])[:, 0].tolist()
        needed = needed if evaluator.limits.has_delays else needed[:2]
        raise NoSuchDesign(
            f"a design must have {evaluator.limits}, but the nearest found needs "
            f"{CostLimits(*needed)}; {result.stop_reason}."
        )


def plan_search(
    evaluator: Evaluator,
    settings: SearchSettings,
    memory_limit: int,
    time_limit: float | None = None,
) -> SearchPlan:
    """Plan the search of some settings; "auto" becomes "exact" or "evolution".

    Raises
    ------
    ParameterError
        If "exact" is out of reach, or no design can be within the limits.
    """
    plan = SearchPlan(evaluator, settings, memory_limit)
    plan.check_limits()
    if settings.kind in ("evolution", "paper"):
        return plan
    is_auto = settings.kind == "auto"
    if obstacle := plan.obstacle(time_limit):
        if is_auto:
            return replace(plan, settings=replace(settings, kind="evolution"), note=obstacle)
        raise ParameterError(
            f'search must be "evolution", "paper" or "auto" here, got "exact": {obstacle}.'
        )
    forecast, max_tried = "", None
    if evaluator.bits.bank.engine.seconds_per_fit() is not None:
        seconds = plan.exact_seconds / evaluator.bits.n_jobs
        forecast = f"{plan.exactly} should take {duration(seconds)}"
    if is_auto:
        max_tried = int(_LONGER * MAX_EXACT / plan.seconds_per_label)
    exact = replace(settings, kind="exact")
    return replace(plan, settings=exact, forecast=forecast, max_tried=max_tried)


def _readable(number: int) -> str:
    """Write a number with all its digits, or as a power of ten if they are too many."""
    return f"{number:,}" if number < 10**15 else f"about 10^{int(math.log10(number))}"
