"""The loop outside every search: ask, score, tell, record; stop when told to or when time is up."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Protocol, Self

import numpy as np

from emsco._base.typing import IntArray, StageArray
from emsco.errors import InterruptedWarning
from emsco.scoring.evaluator import Evaluator
from emsco.scoring.pareto import TiedDesigns
from emsco.scoring.scores import Scores
from emsco.search.archive import Archive
from emsco.search.stopping import Stop, StopReason

__all__ = ["Search", "SearchRecord", "SearchResult", "run_search"]


class Search(Protocol):
    """What a search offers to the loop."""

    generation: int
    stop_reason: StopReason | None

    @property
    def archive(self) -> Archive | None:
        """All non-dominated designs seen, where the search keeps them."""

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

    @classmethod
    def from_front(
        cls,
        generation: int,
        designs: StageArray,
        scores: Scores,
        evaluator: Evaluator,
        seconds: float,
    ) -> Self:
        """The state of a search whose front these designs are, best first."""
        return cls(
            generation=generation,
            best=designs[0],
            best_scores=scores[np.zeros(1, dtype=np.int64)],
            n_front=len(designs),
            n_designs=evaluator.n_designs,
            n_subsets=evaluator.n_subsets,
            seconds=seconds,
        )


@dataclass(frozen=True, slots=True, eq=False)
class SearchResult:
    """What a search found, how it went, and why it ended.

    `n_tied` and `ties` tell how many designs share the objectives of each one found, and which,
    by its position; None where `designs` lists all of them. `proven` says that no design of the
    whole space is better.
    """

    designs: StageArray
    scores: Scores
    records: tuple[SearchRecord, ...]
    stop_reason: StopReason
    n_tied: IntArray | None = None
    ties: Callable[[int], Iterator[StageArray]] | None = None
    proven: bool = False

    @classmethod
    def of_archive(
        cls, archive: Archive, records: tuple[SearchRecord, ...], stop_reason: StopReason
    ) -> Self:
        """The front of everything that a search has seen."""
        tied = TiedDesigns(archive.ties())
        return cls(*archive.front(), records, stop_reason, tied.counts, tied)


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
    reason: StopReason | None = None
    try:
        while reason is None:
            search.tell(evaluator.score(search.ask()))
            front = search.front  # of a whole generation, should the next one be interrupted
            records.append(
                SearchRecord.from_front(
                    search.generation, *front, evaluator, perf_counter() - started
                )
            )
            if report:
                report(records[-1])
            reason = search.stop_reason
            if reason is None and time_limit is not None and perf_counter() - started > time_limit:
                reason = StopReason(Stop.TIME_LIMIT, seconds=time_limit)
    except KeyboardInterrupt:
        if not records:
            raise
        reason = StopReason(Stop.INTERRUPTED, records[-1].generation)
        message = f"Search {reason}; what it has found so far is kept."
        warnings.warn(message, InterruptedWarning, stacklevel=5)
    if search.archive is not None:
        return SearchResult.of_archive(search.archive, tuple(records), reason)
    return SearchResult(*front, tuple(records), reason)
