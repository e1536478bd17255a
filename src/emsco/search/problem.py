"""The problem that a search is given, and limits that no design of it can keep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emsco._base.typing import FloatArray
from emsco.designs.space import DesignSpace
from emsco.errors import NoSuchDesign, ParameterError
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import SAME_COST
from emsco.search.loop import SearchResult


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

    def check_limits(self, designs: DesignSpace) -> None:
        """Refuse a limit that every design of a space exceeds."""
        limits, total = self.evaluator.limits, self.evaluator.costs.total
        if limits.worst is not None and not designs.allow_exclusion and total > limits.most_paid():
            raise ParameterError(
                f"constraints['max_worst_cost'] must be at least {total:g}, because every design "
                f"buys all features in the end, got {limits.worst:g}; allow_exclusion lets designs "
                "leave features out."
            )
        cheapest = self.costs.min() if designs.first is None else self.costs[designs.first]
        cheapest_stage = float(cheapest) + self.evaluator.costs.evaluation
        why = "the cost of the cheapest first stage"
        _check_limit("max_mean_cost", limits.mean, limits.most_spent(1), cheapest_stage, why)
        _check_limit("max_worst_cost", limits.worst, limits.most_paid(), cheapest_stage, why)
        if not limits.has_delays:
            return
        delays = self.evaluator.costs.delays
        soonest = float(delays.min() if designs.first is None else delays[designs.first])
        mean, worst = limits.mean_delay, limits.worst_delay
        why = "the delay of the fastest first stage"
        _check_limit("max_mean_delay", mean, mean, soonest, why)
        _check_limit("max_worst_delay", worst, worst, soonest, why)
        if not designs.allow_exclusion:
            why = "the slowest delay, as every design buys all features in the end"
            _check_limit("max_worst_delay", worst, worst, float(delays.max()), why)

    def check_result(self, result: SearchResult) -> None:
        """Refuse designs above the limits."""
        scores, evaluator = result.scores, self.evaluator
        if scores.feasible.all():  # a search keeps others only while it has none of these
            return
        nearest = int(np.argmin(scores.beyond))
        one = slice(nearest, nearest + 1)
        worst = evaluator.worst_costs(result.designs[one])[0]
        waits = ""
        if evaluator.limits.has_delays:
            mean_delay, worst_delay = evaluator.delays(result.designs[one], scores.exits[one])
            waits = (
                f", a mean delay of {mean_delay[0]:g} and a worst-case delay of {worst_delay[0]:g}"
            )
        raise NoSuchDesign(
            f"a design must have {evaluator.limits}, but the nearest found has a mean cost of "
            f"{scores.cost[nearest]:g} and a worst-case cost of {worst:g}{waits}; "
            f"{result.stop_reason}."
        )


def _check_limit(
    name: str, limit: float | None, rounded_up: float | None, smallest: float, why: str
) -> None:
    """Refuse a limit if no design has less than `smallest`.

    `rounded_up` is the limit with room for rounding.
    """
    if limit is not None and rounded_up is not None and smallest * (1 - SAME_COST) > rounded_up:
        raise ParameterError(
            f"constraints[{name!r}] must be at least {smallest:g}, {why}, got {limit:g}."
        )
