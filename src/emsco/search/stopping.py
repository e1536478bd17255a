"""Why a search ended: facts for code, and a sentence for people."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from emsco._base.text import counted

__all__ = ["Stop", "StopReason"]


class Stop(Enum):
    """Causes that end a search."""

    GENERATIONS = "generations"  # all generations have run
    SAME_BEST = "same best"  # patience of the paper's loop
    SAME_FRONT = "same front"  # patience of evolution
    ELITES = "elites"  # the population consists of elites only
    EXHAUSTED = "exhausted"  # every design has been scored
    PROVEN = "proven"
    SETTLED = "settled"  # proven for the models of the search; others came after it
    NOTHING_FEASIBLE = "nothing feasible"  # exact search: no design is within the limits
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
        Generations that had run, or generations without a change.
    seconds : float or None
        The time limit.
    n_settled, n_designs : int or None
        Designs that an exact search had settled, and designs in its space.
    detail : str
        The memory limit in words.
    note : str
        Why "auto" did not choose exact search; else empty.

    Examples
    --------
    >>> str(StopReason(Stop.GENERATIONS, generations=150))
    'all 150 generations have run'
    >>> str(StopReason(Stop.TIME_LIMIT, seconds=2, n_settled=10, n_designs=100))
    'the time limit of 2 s was reached, so the front is not proven (10 of 100 designs are settled)'
    >>> str(StopReason(Stop.GENERATIONS, generations=150, note="exact search is out of reach"))
    'all 150 generations have run (exact search is out of reach)'
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
        """Put the reason into one sentence, without a full stop."""
        sentence = self._sentence()
        if self.cause in _EARLY and self.n_settled is not None:
            settled = f"{self.n_settled:,} of {self.n_designs:,} designs are settled"
            sentence += f", so the front is not proven ({settled})"
        return f"{sentence} ({self.note})" if self.note else sentence

    def _sentence(self) -> str:
        generations = counted(self.generations or 0, "generation")
        match self.cause:
            case Stop.GENERATIONS if self.generations == 1:
                return "its one generation has run"
            case Stop.GENERATIONS:
                return f"all {generations} have run"
            case Stop.SAME_BEST:
                return f"the fittest design has stayed the same for {generations}"
            case Stop.SAME_FRONT:
                return f"the front has stayed the same for {generations}"
            case Stop.ELITES:
                return f"the population was full of elite designs after {generations}"
            case Stop.EXHAUSTED if self.n_designs == 1:
                return "only one design exists"
            case Stop.EXHAUSTED:
                return f"all {self.n_designs:,} designs have been scored"
            case Stop.PROVEN:
                return f"the front is proven: all {self.n_settled:,} designs are settled"
            case Stop.SETTLED:
                return f"all {self.n_settled:,} designs are settled, with the models of the search"
            case Stop.NOTHING_FEASIBLE:
                return f"all {self.n_settled:,} designs are settled"
            case Stop.TIME_LIMIT:
                return f"the time limit of {self.seconds:g} s was reached"
            case Stop.MEMORY_LIMIT:
                return self.detail
            case Stop.INTERRUPTED:
                return "interrupted" + ("" if self.generations is None else f" after {generations}")


_EARLY = (Stop.TIME_LIMIT, Stop.MEMORY_LIMIT, Stop.INTERRUPTED)
