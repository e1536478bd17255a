"""Whether exact search is within reach: its estimated time, its obstacles, and their wording."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from emsco.designs.space import DesignSpace
from emsco.errors import Parameter
from emsco.search.exact.landscape import Landscape
from emsco.search.exact.terrain import Terrain
from emsco.search.problem import Problem

__all__ = ["Reach", "duration", "exact_seconds", "readable"]

# Seconds on one core, good to a factor of a few: benchmarks/search.py, landscapes and every.
_PER_DESIGN = 15e-9
_PER_DESIGN_EXCLUDING = 45e-9  # bounds are weaker if designs may leave features out
_PER_CHAIN = 40e-9
# With thresholds, per last subset, and per word of its rows and threshold: section thresholds.
_PER_SUBSET = 15e-9
_PER_WORD = 2e-9
_GROWTH = 4.5  # factor of kinds of chains per feature, with any number of stages
_DAY = 86_400.0
_MOST_FEATURES = 30
_MOST_WEIGHT = 2**31


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
        own = exact_seconds(problem, space), _obstacle(problem, space)
        return cls(space.size, *own, not problem.evaluator.grid.is_single)

    @property
    def is_possible(self) -> bool:
        """Whether exact search meets no obstacle and ends within a day."""
        return not self.obstacle and self.seconds <= _DAY

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
    def remedy(self) -> tuple[str | Parameter, ...]:
        """What brings exact search within reach."""
        fewer = "use fewer features or stages, "
        if self.has_thresholds:
            fewer = f"{fewer}one number as "
            return fewer, Parameter("min_confidence"), ", or raise ", Parameter("memory_limit")
        return f"{fewer}or raise ", Parameter("memory_limit")

    @property
    def note(self) -> str:
        """Why evolution is used instead, in a few words."""
        if self.is_possible:
            return f"exact search over {self.designs} would {self._time}"
        # The size is reason enough, unless a larger memory_limit would do.
        reason = self.designs if self.seconds > _DAY else f"it would {self.obstacle}"
        return f"exact search is out of reach: {reason}"

    @property
    def _time(self) -> str:
        return f"take {duration(self.seconds)} on one core"


def exact_seconds(problem: Problem, space: DesignSpace) -> float:
    """Estimate the time on one core: to fit all models, and to settle designs or chains."""
    n_features = min(problem.n_features, 400)  # with more, floats overflow
    space = replace(space, n_features=n_features, first=space.first and 0)
    fitting = 2.0**n_features * (problem.seconds_per_fit or 0.0)
    n_designs = min(space.size, 10**300)
    if not problem.evaluator.grid.is_single:
        n_words = problem.evaluator.bank.n_words * (space.n_last + 2)
        return fitting + n_designs / space.n_last * (_PER_SUBSET + n_words * _PER_WORD)
    per_design = _PER_DESIGN_EXCLUDING if space.allow_exclusion else _PER_DESIGN
    designs = n_designs * per_design
    chains = _GROWTH**n_features * _PER_CHAIN
    return fitting + min(designs, chains)


def _obstacle(problem: Problem, space: DesignSpace) -> str:
    """Demand that exact search cannot meet, after the word "would"; empty if there is none."""
    n_features = problem.n_features
    n_subsets = 2**n_features - 1
    if n_features > _MOST_FEATURES:
        return f"fit {readable(n_subsets)} models for {n_features} features"
    if n_subsets > problem.capacity:
        return f"keep {n_subsets:,} models where memory_limit holds {problem.capacity:,}"
    grid, n_words = problem.evaluator.grid, problem.evaluator.bank.n_words
    n_bytes = Landscape.n_bytes(n_features, n_words)
    has_codes = (space.max_stages + space.allow_exclusion) ** (n_features + 1) < 2**62
    if not grid.is_single:
        n_bytes = Terrain.n_bytes(n_features, grid.n_levels, n_words)
        has_codes = Terrain.has_codes(n_features, space.deepest, grid.n_levels)
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


def duration(seconds: float) -> str:
    """Write a duration in the largest unit of which it has two or more."""
    if seconds < 1:
        return "a second or less"
    if seconds > 1e15 * _DAY:
        return "more than 10^12 years"
    units = (("years", 365.25 * _DAY), ("days", _DAY), ("hours", 3600.0), ("minutes", 60.0))
    for name, length in units:
        if seconds >= 2 * length:
            return f"about {seconds / length:,.0f} {name}"
    return "about 1 second" if round(seconds) == 1 else f"about {seconds:.0f} seconds"
