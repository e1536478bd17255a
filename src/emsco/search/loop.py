"""The loop outside every search: ask, score, tell, record; stop when told to or when time is up."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol

from emsco._typing import StageArray
from emsco.scoring import Evaluator, Scores

__all__ = ["Search", "SearchRecord", "SearchResult", "run_search"]


class Search(Protocol):
    """What a search offers to the loop."""

    generation: int
    stop_reason: str | None

    @property
    def front(self) -> tuple[StageArray, Scores]:
        """The designs found so far that no other design found dominates, best first."""

    def ask(self) -> StageArray:
        """Designs to score next."""

    def tell(self, scores: Scores) -> None:
        """Take their scores."""


@dataclass(frozen=True, slots=True, eq=False)
class SearchRecord:
    """State of a search after one generation."""

    generation: int
    best: StageArray
    best_scores: Scores
    n_front: int
    n_designs: int
    n_subsets: int
    seconds: float


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """What a search found, how it went, and why it ended."""

    designs: StageArray
    scores: Scores
    records: tuple[SearchRecord, ...]
    stop_reason: str


def run_search(
    search: Search,
    evaluator: Evaluator,
    time_limit: float | None = None,
    report: Callable[[SearchRecord], None] | None = None,
) -> SearchResult:
    """Drive `search` to its end, the time limit, or Ctrl-C.

    Ctrl-C ends the search early and keeps what it has found; before the first generation is
    scored there is nothing to keep, and KeyboardInterrupt goes on to the caller.
    """
    records: list[SearchRecord] = []
    front: tuple[StageArray, Scores]
    started = perf_counter()
    reason = None
    try:
        while reason is None:
            search.tell(evaluator.score(search.ask()))
            front = search.front  # of a whole generation, should the next one be interrupted
            records.append(_record(search, front, evaluator, perf_counter() - started))
            if report:
                report(records[-1])
            reason = search.stop_reason
            if reason is None and time_limit is not None and perf_counter() - started > time_limit:
                reason = f"the time limit of {time_limit:g} s was reached"
    except KeyboardInterrupt:
        if not records:
            raise
        reason = f"interrupted after {records[-1].generation} generations"
        warnings.warn(f"Search {reason}; what it has found so far is kept.", stacklevel=4)
    return SearchResult(*front, tuple(records), reason)


def _record(
    search: Search, front: tuple[StageArray, Scores], evaluator: Evaluator, seconds: float
) -> SearchRecord:
    designs, scores = front
    return SearchRecord(
        generation=search.generation,
        best=designs[0],
        best_scores=scores[[0]],  # type: ignore[index]
        n_front=len(designs),
        n_designs=evaluator.n_designs,
        n_subsets=evaluator.n_subsets,
        seconds=seconds,
    )
