"""Why a search ended: facts that code can ask for, and the sentence made of them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

__all__ = ["Stop", "StopReason"]


class Stop(StrEnum):
    """What can end a search."""

    GENERATIONS = "generations"  # all of them have run
    SAME_BEST = "same best"  # patience of the paper's loop
    SAME_FRONT = "same front"  # patience of evolution
    ELITES = "elites"  # the population holds nothing else
    EXHAUSTED = "exhausted"  # every design has been scored
    PROVEN = "proven"
    NOTHING_FEASIBLE = "nothing feasible"  # an exact search found no design within the limits
    TIME_LIMIT = "time limit"
    MEMORY_LIMIT = "memory limit"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class StopReason:
    """Why a search ended.

    Attributes
    ----------
    cause : Stop
    generations : int or None
        How many had run, or for how many nothing had changed.
    seconds : float or None
        The time limit.
    n_settled, n_designs : int or None
        Designs that an exact search had settled, and designs in its space.
    detail : str
        The limit of memory in words.
    note : str
        Why the library chose this search, where it did.

    Examples
    --------
    >>> str(StopReason(Stop.GENERATIONS, generations=150))
    'all 150 generations have run'
    >>> str(StopReason(Stop.TIME_LIMIT, seconds=2, n_settled=10, n_designs=100))
    'the time limit of 2 s was reached, so the front is not proven (10 of 100 designs are settled)'
    """

    cause: Stop
    generations: int | None = None
    seconds: float | None = None
    n_settled: int | None = None
    n_designs: int | None = None
    detail: str = ""
    note: str = ""

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended the search."""
        return self.cause is Stop.INTERRUPTED

    def __str__(self) -> str:
        """The reason as one sentence, without a full stop."""
        sentence = self._sentence()
        if self.cause in _EARLY and self.n_settled is not None:
            settled = f"{self.n_settled:,} of {self.n_designs:,} designs are settled"
            sentence += f", so the front is not proven ({settled})"
        return f"{sentence}; {self.note}" if self.note else sentence

    def to_dict(self) -> dict[str, Any]:
        """Plain values: the cause by name, and the sentence."""
        return {"cause": self.cause.value, "sentence": str(self)}

    def _sentence(self) -> str:
        match self.cause:
            case Stop.GENERATIONS:
                return f"all {self.generations} generations have run"
            case Stop.SAME_BEST:
                return f"the fittest design has stayed the same for {self.generations} generations"
            case Stop.SAME_FRONT:
                return f"the front has stayed the same for {self.generations} generations"
            case Stop.ELITES:
                after = f"after {self.generations} generations"
                return f"the population was full of elite designs {after}"
            case Stop.EXHAUSTED if self.n_designs == 1:
                return "only one design exists"
            case Stop.EXHAUSTED:
                return f"all {self.n_designs:,} designs have been scored"
            case Stop.PROVEN:
                return f"the front is proven: all {self.n_settled:,} designs are settled"
            case Stop.NOTHING_FEASIBLE:
                return f"all {self.n_settled:,} designs are settled"
            case Stop.TIME_LIMIT:
                return f"the time limit of {self.seconds:g} s was reached"
            case Stop.MEMORY_LIMIT:
                return self.detail
            case Stop.INTERRUPTED:
                after = "" if self.generations is None else f" after {self.generations} generations"
                return f"interrupted{after}"


_EARLY = (Stop.TIME_LIMIT, Stop.MEMORY_LIMIT, Stop.INTERRUPTED)
